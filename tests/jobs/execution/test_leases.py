"""Leases: which worker may work on a run, for how long, and what a shutdown leaves to other workers."""

from datetime import timedelta

import pytest

from jobs.actions import AttemptResult
from jobs.models import Attempt, Job, Run
from jobs.worker.execution import Worker
from jobs.worker.leasing import LEASE, RENEWAL, lease, renew
from jobs.worker.rescue import rescue_expired
from jobs.worker.results import record
from tests.jobs.conftest import START
from tests.jobs.runs import NO_RETRY, ONCE, TWICE_MORE, attempts_of, counters, states, the_run

pytestmark = pytest.mark.django_db


# Leases


def test_result_after_the_lease_was_lost_changes_only_its_attempt(calling):
    job = calling("/status/500", policy=TWICE_MORE)
    run = the_run()
    (ours,) = lease([str(run.pk)], "slow worker", START)
    later = START + LEASE + timedelta(seconds=1)
    rescue_expired(later)
    (theirs,) = lease([str(run.pk)], "other worker", later)

    record([(ours, AttemptResult(True, "done", 200))], later)

    run.refresh_from_db()
    late, current = attempts_of(run)
    assert (run.state, run.lease_token) == (Run.State.RUNNING, theirs.run.lease_token)
    assert (late.state, late.status_code) == (Attempt.State.SUCCEEDED, 200)
    assert late.message == "Reported after the run had been given up as lost: done"
    assert current.state == Attempt.State.RUNNING
    assert counters(job) == (1, 1, 0)  # the attempt was counted when it was marked as lost


def test_a_renewed_lease_does_not_expire(calling):
    calling()
    run = the_run()
    leased = lease([str(run.pk)], "worker", START)

    renew(leased, START + RENEWAL)

    assert rescue_expired(START + LEASE + timedelta(seconds=1)) == 0
    assert states(run) == [Run.State.RUNNING]


def test_lease_is_renewed_during_its_call(calling, calls):
    calling("/slow/20")
    run = the_run()
    now = START
    worker = Worker("worker", calls, lambda: now)
    worker.start_runs([str(run.pk)])

    now = START + RENEWAL
    worker.step(wait_s=0)

    run.refresh_from_db()
    assert run.leased_until == START + RENEWAL + LEASE


def test_lost_lease_is_not_renewed(calling):
    calling(policy=TWICE_MORE)
    run = the_run()
    leased = lease([str(run.pk)], "worker", START)
    rescue_expired(START + LEASE * 2)

    renew(leased, START + LEASE * 2)

    run.refresh_from_db()
    assert run.leased_until is None


def test_runs_of_a_vanished_worker_are_retried(calling):
    job = calling(policy=TWICE_MORE)
    run = the_run()
    lease([str(run.pk)], "worker", START)
    now = START + LEASE + timedelta(seconds=1)

    assert rescue_expired(START + LEASE) == 0
    assert rescue_expired(now) == 1

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert (run.state, run.not_before, run.publish_after) == (Run.State.RETRYING, now, now)
    assert (attempt.state, attempt.finished_at) == (Attempt.State.LOST, now)
    assert "worker vanished" in attempt.message
    assert counters(job) == (1, 1, 0)


def test_run_whose_workers_always_vanish_fails_after_its_attempts(calling):
    job = calling(policy=TWICE_MORE, error_path="/error", schedule=ONCE)
    run = the_run()
    now = START
    for _ in range(3):
        assert lease([str(run.pk)], "worker", now)
        now += 2 * LEASE
        rescue_expired(now)

    run.refresh_from_db()
    assert run.state == Run.State.FAILED
    assert run.error_run.state == Run.State.WAITING
    assert counters(job) == (3, 3, 1)
    assert job.state == Job.State.FAULTED


def test_run_with_at_most_once_delivery_is_lost_and_not_retried(calling):
    job = calling(delivery="at_most_once", policy=TWICE_MORE, error_path="/error", schedule=ONCE)
    run = the_run()
    lease([str(run.pk)], "worker", START)

    rescue_expired(START + 2 * LEASE)

    run.refresh_from_db()
    assert (run.state, run.finished_at) == (Run.State.LOST, START + 2 * LEASE)
    assert "vanished" in run.reason
    assert counters(job) == (1, 1, 1)
    assert job.state == Job.State.FAULTED
    assert Run.objects.count() == 1


# Shutdown


def test_shutdown_releases_runs_without_counting_a_failure(calling, target, work):
    job = calling("/slow/20", policy=NO_RETRY)
    run = the_run()

    work(run, is_stopping=lambda: bool(target.calls))

    (attempt,) = attempts_of(run)
    assert (run.state, run.not_before, run.publish_after) == (Run.State.RETRYING, START, START)
    assert (run.lease_token, run.failed_count) == (None, 0)
    assert (attempt.state, attempt.finished_at) == (Attempt.State.LOST, START)
    assert "stopped" in attempt.message
    assert counters(job) == (0, 0, 0)


def test_released_run_is_carried_out_by_the_next_worker(calling, target, work):
    calling("/slow/0.8", policy=NO_RETRY)
    run = the_run()
    work(run, is_stopping=lambda: bool(target.calls))

    assert work(run) == 1

    assert run.state == Run.State.SUCCEEDED
    assert [attempt.number for attempt in attempts_of(run)] == [1, 2]


def test_shutdown_waits_for_calls_until_the_drain_time_is_over(calling, work):
    calling("/slow/0.8")
    run = the_run()

    work(run, is_stopping=lambda: True, drain=timedelta(seconds=5))

    assert run.state == Run.State.SUCCEEDED


def test_shutdown_during_an_at_most_once_attempt_leaves_the_run_lost(calling, target, work):
    calling("/slow/20", delivery="at_most_once")
    run = the_run()

    work(run, is_stopping=lambda: bool(target.calls))

    assert (run.state, run.reason) == (Run.State.LOST, "its worker was stopped during the call")
