"""How a run that follows an operation ends: with the operation, with an error, or at the limit."""

import pytest

from jobs.actions.result import PollFailure
from jobs.models import AsyncOperation, Attempt, Job, Run
from jobs.worker.polling import LIMIT, MAX_POLL_FAILURES
from tests.jobs.conftest import START
from tests.jobs.following.operations import FAILED, HOUR, SECOND, accepted, go_on, polls_of, status, words_of
from tests.jobs.runs import ONCE, TWICE_MORE, attempts_of, counters, the_run
from tests.peers.server import Answer

pytestmark = pytest.mark.django_db


def test_a_run_follows_its_operation_to_success(starting, target, work):
    job = starting(status("Accepted"), status("Running", 20, percentComplete=40), status("Succeeded"))
    run = the_run()

    work(run)

    assert (run.state, run.not_before, run.publish_after) == (Run.State.FOLLOWING, *[START + 10 * SECOND] * 2)
    assert (run.lease_token, run.leased_until, run.finished_at) == (None, None, None)
    assert target.calls_to("/status") == []
    assert counters(job) == (0, 0, 0)

    go_on(work, run)

    end = START + 40 * SECOND
    (attempt,) = attempts_of(run)
    assert (run.state, run.finished_at, run.reason) == (Run.State.SUCCEEDED, end, "")
    assert (attempt.state, attempt.finished_at, attempt.message) == ("succeeded", end, "The operation succeeded.")
    assert attempt.status_code == 202  # the attempt keeps the response to its own request
    assert ["Retry-After", "10"] in attempt.response_headers
    assert [poll.started_at for poll in polls_of(run)] == [START + wait * SECOND for wait in (10, 20, 40)]
    assert [(poll.number, poll.status, poll.percent, poll.retry_after_s) for poll in polls_of(run)] == [
        (1, "Accepted", None, 10),
        (2, "Running", 40, 20),
        (3, "Succeeded", None, None),
    ]
    assert [poll.body for poll in polls_of(run)][:2] == ["", ""]
    assert '"Succeeded"' in polls_of(run)[2].body
    assert len(target.calls_to("/start")) == 1
    assert counters(job) == (1, 0, 0)
    assert not AsyncOperation.objects.exists()


def test_run_fails_with_its_operation_and_has_its_error_as_reason(starting, work):
    job = starting(status("Running"), FAILED, error_path="/error", schedule=ONCE)
    run = the_run()

    work(run)
    go_on(work, run)

    (attempt,) = attempts_of(run)
    message = "The operation failed with NoRoom: The shelf is full."
    assert (run.state, run.reason) == (Run.State.FAILED, message)
    assert (attempt.state, attempt.message) == (Attempt.State.FAILED, message)
    assert run.error_run.state == Run.State.WAITING
    assert counters(job) == (1, 1, 1)
    assert job.state == Job.State.FAULTED


def test_failed_operation_is_started_again_by_the_retry_policy(starting, target, work):
    job = starting(FAILED, status("Running"), status("Succeeded"), policy=TWICE_MORE)
    run = the_run()

    work(run)
    work(run, at=run.publish_after)
    assert (run.state, run.not_before) == (Run.State.RETRYING, START + 25 * SECOND)
    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED
    assert [attempt.state for attempt in attempts_of(run)] == ["failed", "succeeded"]
    assert [(poll.attempt.number, poll.number) for poll in polls_of(run)] == [(1, 1), (2, 1), (2, 2)]
    assert len(target.calls_to("/start")) == 2
    assert counters(job) == (2, 1, 0)


@pytest.mark.parametrize(
    "end", [status("Canceled", error={"code": "Off", "message": "By Ada."}), Answer(404), Answer(200, {}, "<html>")]
)
def test_operation_that_may_not_have_failed_is_not_started_again(starting, target, work, end):
    starting(end, policy=TWICE_MORE, error_path="/error")
    run = the_run()

    work(run)
    go_on(work, run)

    assert (run.state, run.attempt_count) == (Run.State.FAILED, 1)
    assert run.reason
    assert len(target.calls_to("/start")) == 1
    assert run.error_run.state == Run.State.WAITING


def test_error_action_can_follow_an_operation_too(starting, target, make_job, work):
    request = {"uri": f"{target.url}/start", "method": "POST"}
    down = {"uri": f"{target.url}/status/500", "method": "GET"}
    error_action = {"type": "Http", "request": request, "follow": True}
    target.answers["/start"], target.answers["/status"] = [accepted(target)], [status("Succeeded")]
    action = {"type": "Http", "request": down, "retryPolicy": {"retryType": "None"}, "errorAction": error_action}
    make_job("shelf", action=action)
    run = the_run()
    work(run)

    error_run = run.error_run
    work(error_run)
    go_on(work, error_run)

    assert error_run.state == Run.State.SUCCEEDED
    assert words_of(error_run) == ["Succeeded"]


def test_poll_without_a_status_is_repeated(starting, work):
    starting(Answer(503), Answer(500), status("Running"), Answer(502), status("Succeeded"))
    run = the_run()

    work(run)
    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED
    assert [poll.status_code for poll in polls_of(run)] == [503, 500, 200, 502, 200]
    assert "'Service Unavailable' instead of a status" in polls_of(run)[0].message


def test_operation_without_a_status_in_many_polls_is_given_up(starting, work):
    starting(Answer(503), limit="PT24H")
    run = the_run()

    work(run)
    go_on(work, run)

    assert run.state == Run.State.FAILED
    assert len(polls_of(run)) == MAX_POLL_FAILURES[PollFailure.TEMPORARY]
    assert run.reason.startswith("What becomes of the operation is not known: 10 polls in a row told nothing.")


def test_operation_of_an_unreachable_target_is_given_up_too(starting, target, work):
    starting(status("Running"))
    run = the_run()
    work(run)
    target.close()

    go_on(work, run)

    assert run.state == Run.State.FAILED
    assert {poll.status_code for poll in polls_of(run)} == {None}


@pytest.mark.parametrize("limit, last_at", [(None, START + LIMIT), ("PT30S", START + 30 * SECOND)])
def test_run_fails_when_its_operation_does_not_end_in_time(starting, work, limit, last_at):
    starting(status("Cancelled", 3600), limit=limit, policy=TWICE_MORE)
    run = the_run()

    work(run)
    go_on(work, run)

    assert (run.state, run.finished_at, run.attempt_count) == (Run.State.FAILED, last_at, 1)
    assert "has not ended within" in run.reason
    assert "the last it said was 'Cancelled'" in run.reason  # a status that does not end the operation


def test_late_poll_still_finds_that_the_operation_has_ended(starting, work):
    starting(status("Succeeded"), limit="PT30S")
    run = the_run()
    work(run)

    work(run, at=START + 5 * HOUR)

    assert run.state == Run.State.SUCCEEDED
