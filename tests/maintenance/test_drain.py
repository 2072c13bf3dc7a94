"""Draining: a notice waits until no run uses its resources, and no new run starts meanwhile."""

import pytest

from jobs.models import Run
from jobs.run_now import run_now
from maintenance import holds as maintenance_holds
from maintenance import lifecycle
from maintenance.lifecycle import CLOCK, IDLE, advance
from maintenance.models import Notice
from tests.maintenance.notices import (
    EIGHT,
    HOUR,
    HOURLY,
    MINUTE,
    OPERATOR,
    announce,
    cancel,
    dispatch,
    end,
    holds,
    note,
    resource,
    set_policy,
    start,
    started_phases,
    states,
    status,
    steps,
)

pytestmark = pytest.mark.django_db

SCHEDULED, STARTED = Notice.Status.SCHEDULED, Notice.Status.STARTED
NINE = EIGHT + HOUR


@pytest.fixture
def db2(subscription):
    return resource(subscription)


@pytest.fixture
def job(make_job):
    """A job with a policy for the resource and with a running run."""
    job = make_job(schedule=HOURLY)
    set_policy(job)
    dispatch(EIGHT)
    Run.objects.update(state=Run.State.RUNNING, started_at=EIGHT)
    return job


def drain(*resources, **members) -> Notice:
    return announce(*resources, now=EIGHT, approve_when_idle=True, **{"not_before": EIGHT + 2 * HOUR, **members})


def test_draining_notice_starts_immediately_if_nothing_runs(db2, make_job):
    set_policy(make_job())

    notice = drain(db2)

    assert steps(notice) == [(SCHEDULED, OPERATOR), (STARTED, IDLE)]


@pytest.mark.parametrize("state", Run.BEGUN)
def test_draining_notice_starts_when_the_last_run_has_ended(db2, job, state):
    run = Run.objects.get()
    Run.objects.update(state=state)
    notice = drain(db2)

    advance(EIGHT + MINUTE)
    assert status(notice) == SCHEDULED
    end(run)
    advance(EIGHT + 2 * MINUTE)

    assert (status(notice), notice.started_at) == (STARTED, EIGHT + 2 * MINUTE)
    assert (steps(notice)[-1], note(notice)) == ((STARTED, IDLE), "nothing was running any more")
    assert notice.runs_at_start == []


def test_draining_notice_holds_new_runs_and_the_latest_runs_afterwards(db2, job, make_job):
    other = make_job("other", schedule=HOURLY, now=EIGHT)
    set_policy(other)
    run = Run.objects.get()
    dispatch(EIGHT)  # the run of the other job waits for a worker
    notice = drain(db2)
    dispatch(NINE)

    assert states(job=other) == {"08:00": "held", "09:00": "held"}
    assert states(job=job) == {"08:00": "running", "09:00": "held"}
    end(run)
    advance(NINE)
    assert status(notice) == STARTED
    assert states(job=other) == {
        "08:00": "skipped",
        "09:00": "waiting",
    }  # the policy does not hold runs during the maintenance itself


def test_job_with_a_hold_policy_stays_held_after_the_start(db2, job):
    holds(job)
    notice = drain(db2)
    dispatch(NINE)
    end(Run.objects.get(fire_at=EIGHT))

    advance(NINE)

    assert (status(notice), states()["09:00"]) == (STARTED, "held")


def test_draining_notice_starts_at_its_time_and_records_the_running_jobs(db2, job):
    notice = drain(db2, not_before=NINE)
    dispatch(NINE)

    advance(NINE)

    assert (status(notice), notice.runs_at_start) == (STARTED, ["backup"])
    assert steps(notice)[-1] == (STARTED, CLOCK)
    assert states() == {"08:00": "running", "09:00": "waiting"}


def test_draining_notice_can_be_approved_earlier(db2, job):
    notice = drain(db2)

    start(notice, EIGHT)

    assert (status(notice), notice.runs_at_start) == (STARTED, ["backup"])


def test_draining_notice_waits_for_manual_runs(db2, job):
    end(Run.objects.get())
    run = run_now(job, EIGHT)
    notice = drain(db2)

    assert (status(notice), Run.objects.get(pk=run.pk).state) == (SCHEDULED, Run.State.WAITING)
    end(run)
    advance(EIGHT)
    assert status(notice) == STARTED


def test_draining_notice_waits_for_runs_of_its_announce_phase(db2, make_job):
    set_policy(make_job("prepare"), run_at_phases=["announce"])

    notice = drain(db2)

    assert (status(notice), started_phases()) == (SCHEDULED, ["announce"])
    end(Run.objects.get())
    advance(EIGHT)
    assert status(notice) == STARTED


def test_draining_notice_ignores_runs_of_other_resources(db2, job, make_job):
    end(Run.objects.get())
    other_job = make_job("elsewhere", schedule=HOURLY, now=EIGHT)
    set_policy(other_job, "web")
    dispatch(EIGHT)

    notice = drain(db2)

    assert (status(notice), states(job=other_job)) == (STARTED, {"08:00": "waiting"})


def test_cancelled_draining_notice_releases_all_runs(db2, job):
    notice = drain(db2)
    dispatch(NINE)

    cancel(notice, NINE)

    assert states() == {"08:00": "running", "09:00": "waiting"}


def test_draining_can_be_turned_on_and_off_later(db2, job):
    notice = announce(db2, now=EIGHT, not_before=NINE + HOUR)
    dispatch(NINE)
    assert states()["09:00"] == "waiting"

    lifecycle.change(notice, {"approve_when_idle": True}, OPERATOR, NINE)
    assert states()["09:00"] == "held"
    lifecycle.change(notice, {"approve_when_idle": False}, OPERATOR, NINE)
    assert states()["09:00"] == "waiting"


def test_draining_takes_the_same_number_of_queries_for_any_number_of_runs(
    db2, job, make_job, django_assert_num_queries, django_assert_max_num_queries
):
    drain(db2)
    with django_assert_max_num_queries(4) as few:
        advance(EIGHT)
    for number in range(10):
        set_policy(make_job(f"job-{number}"))
    with django_assert_num_queries(len(few)):
        advance(EIGHT)


def test_policy_matches_a_draining_notice(db2, job):
    notice = drain(db2)

    assert [policy.job for policy in maintenance_holds.matching_policies([notice])[notice.pk]] == [job]
