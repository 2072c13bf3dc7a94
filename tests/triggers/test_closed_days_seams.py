"""Schedules with closed days: jobs that wait for an open day, and clients that send back what they read."""

import pytest

from jobs.models import Job, Run
from operations.service import Caller
from tests.conftest import ACTION, NOW, utc
from tests.triggers.rows import carry_out_pending
from triggers import closed_days
from triggers.dispatch import dispatch_due
from triggers.models import ClosedDays, Trigger
from triggers.scheduling import patch_job

pytestmark = [pytest.mark.django_db, pytest.mark.database]

CLOSED = {"calendar": "offices", "rule": "skip"}


@pytest.fixture
def calendar(subscription) -> ClosedDays:
    return closed_days.create(subscription, "offices", {"weekend": ["sunday"]}, NOW)


def close(calendar: ClosedDays, day: str, now=NOW) -> None:
    document = {**calendar.document, "dates": [{"date": day}]}
    with closed_days.locked(calendar) as stored:
        closed_days.change(stored, document, stored.name, Caller(), now)


def test_job_whose_only_run_is_closed_waits_for_an_open_day(make_job, calendar):
    schedule = {"at": "2026-01-05T08:00:00Z", "closedDays": CLOSED}
    job = make_job(schedule=schedule, format="once")
    close(calendar, "2026-01-05")

    patch_job(job, {}, NOW, overlap="allow")

    assert Job.objects.get(pk=job.pk).state == Job.State.ENABLED
    assert Trigger.objects.get(job=job).next_fire_at is None


def test_run_before_closed_days_does_not_end_the_job(make_job, calendar):
    schedule = {"startTime": "2026-01-05T08:00:00Z", "interval": 86_400_000, "repeatCount": 1, "closedDays": CLOSED}
    job = make_job(schedule=schedule, format="simple")
    close(calendar, "2026-01-06")

    dispatch_due(utc("2026-01-05T08:00:00Z"))
    carry_out_pending(utc("2026-01-05T08:00:01Z"))

    assert Run.objects.get().is_last is False
    assert Job.objects.get(pk=job.pk).state == Job.State.ENABLED


def test_changed_rule_for_clock_changes_keeps_the_rest_of_the_count(make_job):
    schedule = {
        "startTime": "2026-01-05T08:00:00Z",
        "timeZone": "Europe/Berlin",
        "recurrence": {"frequency": "Day", "count": 5},
    }
    job = make_job(schedule=schedule)
    dispatch_due(utc("2026-01-05T08:00:00Z"))

    patch_job(job, {"schedule": {"clockChange": "quartz"}}, utc("2026-01-05T09:00:00Z"))

    trigger = Trigger.objects.get(job=job)
    assert (trigger.fires_left, trigger.definition["clockChange"]) == (4, "quartz")


def test_single_run_with_extras_and_without_a_start_is_refused_by_its_start_time(api, collection):
    schedule = {"format": "azure", "skips": ["2030-01-01"]}
    body = {"collection": collection.pk, "name": "once", "action": ACTION, "schedule": schedule, "runNow": False}

    response = api.post("/api/jobs", body)

    assert (response.status_code, response.json()["error"]["target"]) == (400, "schedule.startTime")
