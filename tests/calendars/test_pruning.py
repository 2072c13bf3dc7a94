"""Pruning: old sync states are deleted, calendars and events are not."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django_celery_beat.models import PeriodicTask

from calendars.models import Calendar, Event, SyncState
from calendars.pruning import prune
from scheduler_site.celery import app as product
from tests.conftest import NOW


def make_state(calendar, age_days: float) -> SyncState:
    return SyncState.objects.create(
        user=calendar.owner,
        calendar=calendar,
        start_at=NOW,
        end_at=NOW,
        created_at=NOW - timedelta(days=age_days),
    )


def test_sync_state_is_deleted_after_thirty_days(calendar):
    make_state(calendar, 30.01)
    young = make_state(calendar, 29.99)

    prune(NOW)

    assert list(SyncState.objects.all()) == [young]


def test_old_events_are_not_pruned(calendar, weekly):
    make_state(calendar, 31)

    prune(NOW + timedelta(days=36_500))

    assert Event.objects.get() == weekly
    assert Calendar.objects.get() == calendar


@pytest.mark.django_db(transaction=True)
def test_pruning_task_is_scheduled_by_the_migrations():
    entries = PeriodicTask.objects.filter(task="calendars.tasks.prune")
    call_command("migrate", "calendars", "0002", verbosity=0)
    assert not entries.exists()

    call_command("migrate", "calendars", verbosity=0)

    entry = entries.get()
    assert (str(entry.schedule.run_every), entry.queue) == ("1:00:00", "housekeeping")


def test_pruning_task_is_registered_on_the_housekeeping_queue(db):
    product.loader.import_default_modules()

    assert "calendars.tasks.prune" in product.tasks
    assert product.amqp.router.route({}, "calendars.tasks.prune")["queue"].name == "housekeeping"
