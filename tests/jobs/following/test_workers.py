"""Polls whose workers stop, vanish or report too late."""

import pytest

from jobs.actions.result import AttemptResult, PollFailure
from jobs.models import AsyncOperation, Attempt, Run
from jobs.worker.leasing import LEASE, lease
from jobs.worker.polling import MAX_POLL_FAILURES
from jobs.worker.rescue import rescue_expired
from jobs.worker.results import record
from tests.jobs.conftest import START
from tests.jobs.following.operations import GOES_ON, HOUR, SECOND, accepted, go_on, polls_of, status, words_of
from tests.jobs.runs import TWICE_MORE, attempts_of, counters, dispatched, the_run

pytestmark = pytest.mark.django_db


def test_poll_of_a_vanished_worker_is_repeated(starting, target, work):
    job = starting(status("Succeeded"), delivery="at_most_once")
    run = the_run()
    work(run)
    lease([str(run.pk)], "gone", run.publish_after)
    now = START + 10 * SECOND + LEASE + SECOND

    assert rescue_expired(now) == 1

    run.refresh_from_db()
    assert (run.state, run.not_before, run.publish_after, run.lease_token) == (Run.State.FOLLOWING, now, now, None)
    go_on(work, run)
    (attempt,) = attempts_of(run)
    assert (run.state, attempt.state, run.attempt_count) == (Run.State.SUCCEEDED, Attempt.State.SUCCEEDED, 1)
    assert [(poll.worker, poll.status) for poll in polls_of(run)] == [("gone", ""), ("worker", "Succeeded")]
    assert "vanished" in polls_of(run)[0].message
    assert len(target.calls_to("/start")) == 1
    assert counters(job) == (1, 0, 0)


def test_run_whose_polls_always_lose_their_worker_fails(starting, work):
    job = starting(status("Running"), limit="PT24H", error_path="/error")
    run = the_run()
    work(run)
    now = run.publish_after
    for _ in range(MAX_POLL_FAILURES[PollFailure.TEMPORARY]):
        assert lease([str(run.pk)], "gone", now)
        now += 2 * LEASE
        assert rescue_expired(now) == 1

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert (run.state, run.attempt_count) == (Run.State.FAILED, 1)
    assert "vanished" in run.reason
    assert attempt.state == Attempt.State.LOST
    assert run.error_run.state == Run.State.WAITING
    assert not AsyncOperation.objects.exists()
    assert counters(job) == (1, 1, 1)


def test_polled_and_called_runs_are_rescued_together(starting, work):
    starting(status("Succeeded"), name="a-polled"), starting(name="b-called", policy=TWICE_MORE)
    polled, called = dispatched()
    work(polled)
    lease([str(polled.pk)], "gone", polled.publish_after)
    lease([str(called.pk)], "gone", START)

    assert rescue_expired(START + HOUR) == 2

    polled.refresh_from_db(), called.refresh_from_db()
    assert (polled.state, called.state) == (Run.State.FOLLOWING, Run.State.RETRYING)


def test_a_late_result_of_a_poll_changes_nothing(starting, work):
    starting(status("Succeeded"))
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "slow", run.publish_after)
    rescue_expired(START + HOUR)

    record([(leased, AttemptResult(False, "The operation failed.", 200, status="Failed"))], START + HOUR)

    run.refresh_from_db()
    assert run.state == Run.State.FOLLOWING
    assert attempts_of(run)[0].state == Attempt.State.RUNNING
    assert words_of(run) == ["Failed"]


def test_operation_reported_after_the_lease_is_not_followed(starting):
    starting(policy=TWICE_MORE)
    run = the_run()
    (leased,) = lease([str(run.pk)], "slow", START)
    rescue_expired(START + HOUR)

    record([(leased, GOES_ON)], START + HOUR)

    run.refresh_from_db()
    assert run.state == Run.State.RETRYING
    assert not AsyncOperation.objects.exists()
    assert "had been given up as lost" in attempts_of(run)[0].message


def test_shutdown_releases_a_poll(starting, target, work):
    job = starting()
    run = the_run()
    target.answers["/start"] = [accepted(target, **{"Azure-AsyncOperation": f"{target.url}/slow/20"})]
    work(run)

    work(run, at=run.publish_after, is_stopping=lambda: bool(target.calls_to("/slow/20")))

    now = START + 10 * SECOND
    (poll,) = polls_of(run)
    assert (run.state, run.not_before, run.lease_token) == (Run.State.FOLLOWING, now, None)
    assert "stopped during the poll" in poll.message
    assert AsyncOperation.objects.get().failed_poll_count == 0
    assert attempts_of(run)[0].state == Attempt.State.RUNNING
    assert counters(job) == (0, 0, 0)
