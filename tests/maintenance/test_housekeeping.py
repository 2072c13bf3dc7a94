"""Periodic tasks of maintenance."""

import pytest
from django.core.management import call_command
from django_celery_beat.models import PeriodicTask

from scheduler_site.celery import app as product


@pytest.mark.django_db(transaction=True)
def test_maintenance_tasks_are_scheduled_by_the_migrations():
    entries = PeriodicTask.objects.filter(task__startswith="maintenance.")
    call_command("migrate", "maintenance", "0001", verbosity=0)
    assert not entries.exists()

    call_command("migrate", "maintenance", verbosity=0)

    planned = {task.task: str(task.schedule.run_every) for task in entries.all()}
    assert planned == {"maintenance.tasks.advance": "0:00:05", "maintenance.tasks.prune": "1:00:00"}
    assert set(entries.values_list("queue", flat=True)) == {"housekeeping"}


def test_maintenance_tasks_are_registered(db):
    product.loader.import_default_modules()

    assert {"maintenance.tasks.advance", "maintenance.tasks.prune"} <= set(product.tasks)
