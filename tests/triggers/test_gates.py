"""Gates: dispatch asks them which jobs may start, and creates held runs for the others."""

import pytest
from django.db import connection

from jobs.models import Job, Run
from tests.conftest import utc
from triggers.dispatch import claim_ready, dispatch_due
from triggers.gates import Hold
from triggers.models import Trigger

pytestmark = pytest.mark.django_db

START = utc("2026-01-05T08:00:00Z")
HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}


class Closed:
    """Hold every job whose name begins with "shut"."""

    asked: list[tuple[list[int], int]] = []

    def holds(self, job_ids, now):
        self.asked.append((sorted(job_ids), len(connection.savepoint_ids)))  # each test is in one transaction
        shut = Job.objects.filter(pk__in=job_ids, name__startswith="shut").values_list("pk", flat=True)
        return {job_id: Hold("closed", f"closed at {now:%H:%M}") for job_id in shut}


class Shut:
    def holds(self, job_ids, now):
        return {job_id: Hold("shut", "shut") for job_id in job_ids}


@pytest.fixture
def gates(settings):
    Closed.asked.clear()

    def use(*names):
        settings.TRIGGER_GATES = [f"{__name__}.{name}" for name in names]

    return use


def reasons():
    return dict(Run.objects.values_list("job_name", "reason"))


def test_run_held_by_a_gate_is_not_published(gates, make_job):
    gates("Closed")
    make_job("open", schedule=HOURLY)
    shut = make_job("shut", schedule=HOURLY)

    published = dispatch_due(START)

    held = Run.objects.get(job=shut)
    assert (held.state, held.hold_key, held.reason) == (Run.State.HELD, "closed", "closed at 08:00")
    assert (held.fire_at, held.occurrence, held.finished_at) == (START, 1, None)
    waiting = Run.objects.get(job__name="open")
    assert [run.id for run in published] == [waiting.pk]
    assert (waiting.state, waiting.hold_key, waiting.reason) == (Run.State.WAITING, None, "")
    assert [run.id for run in claim_ready(utc("2027-01-01T00:00Z"))] == [waiting.pk]


def test_trigger_of_held_runs_continues_to_fire(gates, make_job):
    gates("Shut")
    job = make_job(schedule=HOURLY)

    dispatch_due(START)
    dispatch_due(utc("2026-01-05T09:00:00Z"))

    assert Run.objects.filter(state=Run.State.HELD).count() == 2
    trigger = Trigger.objects.get(job=job)
    assert (trigger.fire_count, trigger.next_fire_at) == (2, utc("2026-01-05T10:00:00Z"))


def test_reason_is_that_of_the_first_gate_that_holds(gates, make_job):
    make_job("shut", schedule=HOURLY)
    make_job("open", schedule=HOURLY)

    gates("Closed", "Shut")
    dispatch_due(START)
    assert reasons() == {"shut": "closed at 08:00", "open": "shut"}


def test_job_does_not_end_while_its_last_run_is_held(gates, make_job):
    gates("Shut")
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"})

    dispatch_due(START)

    job.refresh_from_db()
    assert (job.state, Run.objects.get().is_last) == (Job.State.ENABLED, True)


def test_gates_are_called_in_the_transaction_and_only_for_jobs_that_fire(gates, make_job):
    gates("Closed")
    job = make_job("open", schedule=HOURLY)
    make_job("late", schedule={"startTime": "2026-01-05T07:00:00Z", "recurrence": {"frequency": "Day"}}, misfire="skip")

    dispatch_due(START)
    dispatch_due(START)

    assert Closed.asked == [([job.pk], 1)]
    assert Run.objects.get(job__name="late").state == Run.State.MISSED


def test_no_run_is_held_without_gates(gates, make_job):
    gates()
    make_job("shut", schedule=HOURLY)

    assert len(dispatch_due(START)) == 1
