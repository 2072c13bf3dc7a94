"""Dispatching: every fire time becomes one row, and workers are told of it."""

from datetime import timedelta

import pytest

from jobs.models import Job, Run
from tests.conftest import NOW, utc
from triggers.dispatch import dispatch_due
from triggers.models import Trigger

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}


def fire_times(state=Run.State.WAITING):
    return list(Run.objects.filter(state=state).order_by("fire_at").values_list("fire_at", flat=True))


def test_a_fire_time_that_has_come_becomes_a_run(make_job):
    job = make_job(schedule=HOURLY)

    dispatched = dispatch_due(utc("2026-01-05T08:00:00Z"))

    run = Run.objects.get()
    assert dispatched == [("default", run.pk)]
    assert (run.job, run.action, run.trigger_name) == (job, job.action, "default")
