"""After a failure: further attempts, and the error action."""

from datetime import timedelta

import pytest

from jobs import actions
from jobs.models import Action, Job, Run
from tests.jobs.conftest import START
from tests.jobs.runs import INTERVAL, NO_RETRY, ONCE, TWICE_MORE, attempts_of, counters, dispatched, the_run
from tests.peers.server import Answer

pytestmark = pytest.mark.django_db


# Retries


def test_every_retry_is_an_attempt_of_the_same_run(calling, target, work):
    job = calling("/status/503", policy=TWICE_MORE)
    run = the_run()

    for number in range(3):
        work(run, at=START + number * INTERVAL)

    attempts = attempts_of(run)
    assert [attempt.number for attempt in attempts] == [1, 2, 3]
    assert [attempt.started_at for attempt in attempts] == [START, START + INTERVAL, START + 2 * INTERVAL]
    assert {attempt.status_code for attempt in attempts} == {503}
    assert (run.state, run.finished_at) == (Run.State.FAILED, START + 2 * INTERVAL)
    assert [call.headers["X-Scheduler-Attempt"] for call in target.calls] == ["1", "2", "3"]
    assert {call.headers["Idempotency-Key"] for call in target.calls} == {str(run.pk)}
    assert counters(job) == (3, 3, 1)


def test_retry_does_not_start_before_its_interval_is_over(calling, target, work):
    calling("/status/503", policy=TWICE_MORE)
    run = the_run()
    work(run)

    assert (run.state, run.not_before, run.publish_after) == (Run.State.RETRYING, START + INTERVAL, START + INTERVAL)
    assert work(run, at=START + INTERVAL - timedelta(milliseconds=1)) == 0
    assert len(target.calls) == 1
    assert work(run, at=START + INTERVAL) == 1


def test_retry_after_of_a_target_delays_the_retry(calling, target, work):
    target.answers["/busy"] = [Answer(503, {"Retry-After": "60"})]
    calling("/busy", policy=TWICE_MORE)
    run = the_run()

    work(run)

    assert (run.not_before, run.publish_after) == (START + timedelta(seconds=60), START + timedelta(seconds=60))


def test_each_run_of_a_batch_is_retried_by_its_own_policy(calling, work):
    for number, interval in enumerate(("PT15S", "PT30S", "PT1M")):
        calling("/status/500", name=f"job-{number}", policy=TWICE_MORE | {"retryInterval": interval})
    runs = dispatched()

    work(*runs)

    assert [run.not_before - START for run in runs] == [INTERVAL, 2 * INTERVAL, 4 * INTERVAL]


def test_run_succeeds_when_a_retry_succeeds(calling, target, work):
    job = calling("/status/503", policy=TWICE_MORE, schedule=ONCE)
    run = the_run()
    work(run)
    Action.objects.filter(pk=run.action_id).update(
        document={"type": "Http", "request": {"uri": f"{target.url}/ok", "method": "GET"}}
    )

    work(run, at=START + INTERVAL)

    assert run.state == Run.State.SUCCEEDED
    assert counters(job) == (2, 1, 0)
    assert job.state == Job.State.COMPLETED


def test_attempt_that_can_never_succeed_is_not_retried(calling, work):
    job = calling(policy=TWICE_MORE)
    run = the_run()
    Action.objects.update(document={"type": "Http", "request": {"uri": "ftp://127.0.0.1/", "method": "GET"}})

    work(run)

    (attempt,) = attempts_of(run)
    assert run.state == Run.State.FAILED
    assert "cannot be called" in attempt.message
    assert counters(job) == (1, 1, 1)


def test_exception_in_an_action_is_a_failed_attempt(calling, monkeypatch, work):
    async def broken(*arguments):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(actions, "perform", broken)
    calling()
    run = the_run()

    work(run)

    assert run.state == Run.State.FAILED
    assert attempts_of(run)[0].message == "The action could not be carried out (ZeroDivisionError)."


def test_action_that_does_not_end_is_stopped(calling, monkeypatch, work):
    monkeypatch.setattr("jobs.worker.calls.ATTEMPT_LIMIT_S", 0.1)
    calling("/slow/20")
    run = the_run()

    work(run)

    assert run.state == Run.State.FAILED
    assert "did not end" in attempts_of(run)[0].message


# Error actions


def test_a_failed_run_is_followed_by_its_error_action(calling, target, work):
    job = calling("/status/500", error_path="/error")
    run = the_run()
    work(run)

    error_run = run.error_run
    assert (error_run.origin, error_run.state) == (Run.Origin.ERROR_ACTION, Run.State.WAITING)
    assert (error_run.fire_at, error_run.publish_after, error_run.occurrence) == (START, START, run.occurrence)
    assert (error_run.lock_key, error_run.is_last, error_run.trigger_name) == (None, False, None)
    work(error_run)

    assert error_run.state == Run.State.SUCCEEDED
    (call,) = target.calls_to("/error")
    assert (call.method, call.headers["Idempotency-Key"]) == ("POST", str(error_run.pk))
    assert counters(job) == (1, 1, 1)  # only the job's own action is counted; the occurrence stays faulted


def test_an_error_action_follows_only_when_the_retries_are_used_up(calling, work):
    calling("/status/500", policy=TWICE_MORE, error_path="/error")
    run = the_run()

    work(run)

    assert not Run.objects.filter(parent=run).exists()


def test_failed_error_action_has_no_error_action_and_is_not_counted(calling, work):
    job = calling("/status/500", error_path="/status/501", schedule=ONCE)
    run = the_run()
    work(run)
    error_run = run.error_run

    work(error_run)

    assert error_run.state == Run.State.FAILED
    assert Run.objects.count() == 2
    assert counters(job) == (1, 1, 1)
    assert job.state == Job.State.FAULTED


@pytest.mark.parametrize(
    "error_policy, attempts",
    [(None, 3), (NO_RETRY, 1)],  # the policy of the main action, or its own
)
def test_error_action_is_retried_by_its_policy(calling, error_policy, attempts, work):
    calling("/status/500", policy=TWICE_MORE, error_path="/status/501", error_policy=error_policy)
    run = the_run()
    for number in range(3):
        work(run, at=START + number * INTERVAL)
    error_run = run.error_run

    for number in range(3, 9):
        work(error_run, at=START + number * INTERVAL)

    assert len(attempts_of(error_run)) == attempts
