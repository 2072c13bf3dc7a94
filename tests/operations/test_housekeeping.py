"""Periodic tasks of operations."""

import pytest
from django.core.management import call_command
from django_celery_beat.models import PeriodicTask

from scheduler_site.celery import app as product


@pytest.mark.django_db(transaction=True)
def test_operations_task_is_scheduled_by_the_migrations():
    entries = PeriodicTask.objects.filter(task__startswith="operations.")
    call_command("migrate", "operations", "0001", verbosity=0)
    assert not entries.exists()

    call_command("migrate", "operations", verbosity=0)

    entry = entries.get()
    assert (entry.task, str(entry.schedule.run_every), entry.queue) == (
        "operations.tasks.watch",
        "0:00:15",
        "housekeeping",
    )


def test_operations_tasks_are_registered(db):
    product.loader.import_default_modules()

    assert {"operations.tasks.watch", "operations.tasks.carry_out"} <= set(product.tasks)
