"""Runs: what they do, when their job ends with them, and what happens when their job is stopped."""

import uuid
from datetime import timedelta

import pytest

from jobs.actions import AttemptResult
from jobs.models import Attempt, Job, Run
from jobs.worker.execution import Worker
from jobs.worker.leasing import LEASE, lease
from jobs.worker.results import record
from tests.conftest import NOW
from tests.jobs.conftest import START
from tests.jobs.runs import (
    HOUR,
    ONCE,
    TWICE_MORE,
    attempts_of,
    counters,
    dispatched,
    states,
    the_run,
)
from triggers.deletion import delete_job
from triggers.scheduling import save_collection, set_job_state

pytestmark = pytest.mark.django_db


# One run


def test_run_calls_its_target_and_stores_the_response(calling, target, work):
    job = calling()
    run = the_run()

    assert work(run) == 1

    (call,) = target.calls
    (attempt,) = attempts_of(run)
    assert (call.method, call.path, call.headers["Idempotency-Key"]) == ("GET", "/ok", str(run.pk))
    assert (run.state, run.started_at, run.finished_at) == (Run.State.SUCCEEDED, START, START)
    assert (run.lease_token, run.leased_until) == (None, None)
    assert (attempt.number, attempt.state, attempt.status_code) == (1, Attempt.State.SUCCEEDED, 200)
    assert (attempt.response_body, attempt.worker, attempt.job) == ("ok", "worker", job)
    assert ["Content-Length", "2"] in attempt.response_headers
    assert counters(job) == (1, 0, 0)
    assert job.last_execution_at == START


def test_attempt_is_stored_before_its_call_is_sent(calling, target):
    calling()
    run = the_run()

    (leased,) = lease([str(run.pk)], "worker", START)

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert target.calls == []
    assert (run.state, run.attempt_count, run.leased_until) == (Run.State.RUNNING, 1, START + LEASE)
    assert (attempt.state, attempt.started_at, leased.attempt) == (Attempt.State.RUNNING, START, attempt)


def test_second_message_about_a_run_starts_nothing(calling, target, work):
    calling()
    run = the_run()
    lease([str(run.pk)], "worker", START)

    assert work(run) == 0
    assert target.calls == []


def test_a_message_about_an_ended_run_starts_nothing(calling, target, work):
    calling()
    run = the_run()
    work(run)

    assert work(run) == 0
    assert len(target.calls) == 1


def test_message_about_a_deleted_run_starts_nothing(calls):
    assert Worker("worker", calls, lambda: NOW).start_runs([str(uuid.uuid4())]) == 0


def test_runs_of_a_message_are_carried_out_together(calling, target, work):
    for number in range(5):
        calling(path="/slow/0.3", name=f"job-{number}")
    runs = dispatched()

    work(*runs)

    arrivals = [call.arrived_at for call in target.calls]
    assert {run.state for run in runs} == {Run.State.SUCCEEDED}
    assert max(arrivals) - min(arrivals) < timedelta(seconds=0.3)


def test_each_result_is_recorded_as_soon_as_its_call_ends(calling, work):
    calling(name="a-fast"), calling(name="b-slow", path="/slow/20")
    fast, slow = dispatched()
    seen = []

    def is_fast_recorded():
        seen.append(tuple(Run.objects.order_by("job_name").values_list("state", flat=True)))
        return seen[-1] == (Run.State.SUCCEEDED, Run.State.RUNNING)  # then stop, without waiting for the slow run

    work(fast, slow, is_stopping=is_fast_recorded)

    assert fast.state == Run.State.SUCCEEDED
    assert seen[-1] == (Run.State.SUCCEEDED, Run.State.RUNNING)


# The end of a job


def test_a_job_is_completed_by_its_last_run(calling, work):
    job = calling(schedule=ONCE)

    work(the_run())

    job.refresh_from_db()
    assert (job.state, job.finished_at) == (Job.State.COMPLETED, START)


def test_a_job_is_faulted_when_its_last_run_fails(calling, work):
    job = calling("/status/500", schedule=ONCE)

    work(the_run())

    assert counters(job) == (1, 1, 1)
    assert (job.state, job.finished_at) == (Job.State.FAULTED, START)


def test_recurring_job_stays_enabled_after_a_failure(calling, work):
    job = calling("/status/500")

    work(the_run())

    assert counters(job) == (1, 1, 1)
    assert job.state == Job.State.ENABLED


def test_job_with_a_new_schedule_does_not_end_with_a_run_of_the_old_one(calling):
    job = calling(schedule=ONCE)
    run = the_run()
    (leased,) = lease([str(run.pk)], "worker", START)
    calling(schedule={"startTime": "2026-02-01T00:00:00Z"})

    record([(leased, AttemptResult(True, "done"))], START)

    job.refresh_from_db()
    assert job.state == Job.State.ENABLED


# Stopped jobs


def test_waiting_run_of_a_disabled_job_is_skipped(calling, target, work):
    job = calling(schedule=ONCE)
    run = the_run()
    set_job_state(job, Job.State.DISABLED, START)

    assert work(run) == 0

    job.refresh_from_db()
    assert (run.state, run.reason, run.finished_at) == (Run.State.SKIPPED, "the job was disabled", START)
    assert job.state == Job.State.DISABLED  # it may be enabled again
    assert target.calls == []


def test_run_between_attempts_fails_when_its_job_is_disabled(calling, work):
    job = calling("/status/500", policy=TWICE_MORE, error_path="/error")
    run = the_run()
    work(run)
    set_job_state(job, Job.State.DISABLED, START)

    work(run, at=START + HOUR)

    assert (run.state, run.reason) == (Run.State.FAILED, "the job was disabled")
    assert counters(job) == (1, 1, 0)  # its attempts were not used up
    assert Run.objects.count() == 1  # a disabled job runs nothing, not even its error action


def test_one_time_run_skipped_by_a_disabled_job_runs_when_it_is_enabled(calling, target, work):
    job = calling(schedule=ONCE)
    run = the_run()
    set_job_state(job, Job.State.DISABLED, START)
    work(run)

    set_job_state(job, Job.State.ENABLED, START + HOUR)
    work(the_run(START + HOUR), at=START + HOUR)

    job.refresh_from_db()
    assert job.state == Job.State.COMPLETED
    assert len(target.calls) == 1


def test_one_time_job_that_failed_while_disabled_is_faulted_when_enabled(calling, work):
    job = calling("/status/500", policy=TWICE_MORE, schedule=ONCE)
    run = the_run()
    work(run)
    set_job_state(job, Job.State.DISABLED, START)
    work(run, at=START + HOUR)

    job = set_job_state(job, Job.State.ENABLED, START + HOUR)

    assert job.state == Job.State.FAULTED


def test_running_attempt_of_a_disabled_job_ends_normally(calling):
    job = calling()
    run = the_run()
    (leased,) = lease([str(run.pk)], "worker", START)
    set_job_state(job, Job.State.DISABLED, START)

    record([(leased, AttemptResult(True, "done"))], START)

    assert states(run) == [Run.State.SUCCEEDED]


def test_runs_of_a_disabled_collection_are_skipped(calling, collection, work):
    calling()
    run = the_run()
    collection.state = "disabled"
    save_collection(collection, START)

    work(run)

    assert (run.state, run.reason) == (Run.State.SKIPPED, "the collection was disabled")


def test_running_attempt_of_a_deleted_job_is_recorded(calling):
    job = calling("/status/500", error_path="/error", schedule=ONCE)
    run = the_run()
    (leased,) = lease([str(run.pk)], "worker", START)
    delete_job(job, START)

    record([(leased, AttemptResult(False, "no"))], START)

    assert states(run) == [Run.State.FAILED]
    assert Run.objects.count() == 1
