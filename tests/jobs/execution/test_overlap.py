"""Overlap policies: runs that are due while another run of their job is still going."""

import pytest

from jobs.actions import AttemptResult
from jobs.models import Attempt, Job, Run
from jobs.run_now import run_now
from jobs.worker import overlap
from jobs.worker.leasing import Leased, lease
from jobs.worker.overlap import BUSY
from jobs.worker.results import record
from tests.jobs.conftest import START
from tests.jobs.runs import DAY, ONCE, TWICE_MORE, attempts_of, states, the_run

pytestmark = pytest.mark.django_db


def overlapping(calling, overlap):
    """Return a run that has begun, and the runs of the next three days."""
    calling(overlap=overlap)
    first = the_run()
    lease([str(first.pk)], "worker", START)
    return first, *(the_run(START + number * DAY) for number in (1, 2, 3))


def test_overlapping_runs_are_skipped_by_default(calling, work):
    first, *others = overlapping(calling, "skip")

    assert work(*others) == 0

    assert states(*others) == [Run.State.SKIPPED] * 3
    assert {(run.reason, run.blocked_by) for run in others} == {(BUSY, first.pk)}
    assert not Attempt.objects.exclude(run=first).exists()


def test_overlapping_runs_run_at_the_same_time_when_allowed(calling, work):
    _, *others = overlapping(calling, "allow")

    assert work(*others, at=START + 3 * DAY) == 3
    assert {run.blocked_by for run in others} == {None}


def test_queue_one_lets_one_run_wait(calling, work):
    _, *others = overlapping(calling, "queue_one")

    assert work(*others, at=START + 3 * DAY) == 0

    assert states(*others) == [Run.State.WAITING, Run.State.SKIPPED, Run.State.SKIPPED]
    assert others[0].publish_after > START + 3 * DAY


def test_run_that_waited_names_the_run_it_waited_for(calling, work):
    first, second, *_ = overlapping(calling, "queue_one")
    now = START + DAY
    work(second, at=now)
    assert (second.state, second.blocked_by) == (Run.State.WAITING, first.pk)

    first.refresh_from_db()
    record([(Leased(first, attempts_of(first)[0]), AttemptResult(True, "done"))], now)
    work(second, at=now)

    assert (second.state, second.blocked_by) == (Run.State.SUCCEEDED, first.pk)


def test_queued_runs_start_one_after_the_other(calling, work):
    first, *others = overlapping(calling, "queue_all")
    now = START + 3 * DAY
    assert work(*others, at=now) == 0
    assert states(*others) == [Run.State.WAITING] * 3

    record([(Leased(first, attempts_of(first)[0]), AttemptResult(True, "done"))], now)
    assert states(first) == [Run.State.RUNNING]  # without the lease token this worker cannot end it
    first.refresh_from_db()
    record([(Leased(first, attempts_of(first)[0]), AttemptResult(True, "done"))], now)

    assert states(first) == [Run.State.SUCCEEDED]
    others[0].refresh_from_db()
    assert others[0].publish_after == now  # published at once, because it is next
    assert work(others[2], others[1], at=now) == 0  # in any order of messages
    for run in others:
        assert work(*others, at=now) == 1
        assert states(run) == [Run.State.SUCCEEDED]


def test_queue_of_runs_has_a_limit(calling, monkeypatch, work):
    monkeypatch.setitem(overlap.PLACES, Job.Overlap.QUEUE_ALL, 2)
    _, *others = overlapping(calling, "queue_all")

    work(*others, at=START + 3 * DAY)

    assert states(*others) == [Run.State.WAITING, Run.State.WAITING, Run.State.SKIPPED]


def test_run_between_two_attempts_still_blocks_others(calling, work):
    calling("/status/500", policy=TWICE_MORE)
    first = the_run()
    work(first)
    second = the_run(START + DAY)

    work(second, at=START + DAY)

    assert states(first, second) == [Run.State.RETRYING, Run.State.SKIPPED]


def test_earlier_of_two_runs_in_a_message_starts(calling, work):
    calling()
    first, second = the_run(), the_run(START + DAY)

    assert work(second, first, at=START + DAY) == 1

    assert states(first, second) == [Run.State.SUCCEEDED, Run.State.SKIPPED]


def test_overlap_policy_applies_to_manual_runs_too(calling, work):
    job = calling()
    lease([str(the_run().pk)], "worker", START)
    by_hand = run_now(job, START)

    work(by_hand)

    assert by_hand.state == Run.State.SKIPPED


def test_a_skipped_last_run_ends_its_job(calling, work):
    job = calling(schedule=ONCE)
    by_hand = run_now(job, START)
    lease([str(by_hand.pk)], "worker", START)

    work(the_run())

    job.refresh_from_db()
    assert job.state == Job.State.COMPLETED
