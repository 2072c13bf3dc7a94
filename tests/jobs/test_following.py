"""Runs whose request began an operation: polled when due, by whichever worker, until that ends or nobody waits."""

import json
from datetime import timedelta

import pytest
from django.db import connection

from jobs.actions.outcome import By, Operation, Outcome, Unread
from jobs.calling import Calls
from jobs.cancel import can_be_cancelled, cancel
from jobs.errors import Conflict
from jobs.execution import Worker
from jobs.following import LIMIT, SHARE, TROUBLES, UNWATCHED, WAIT, WAIT_LEAST, WAIT_MOST, Watch, given_up, next_poll
from jobs.leasing import LEASE, host_of, lease
from jobs.models import Attempt, Following, Job, Poll, Run
from jobs.overlap import BUSY
from jobs.pruning import prune
from jobs.reclaiming import reap
from jobs.recording import record
from jobs.room import Room
from scheduler_site.keys import new_encryption_key
from tests.jobs.conftest import START
from tests.jobs.runs import ONCE, TWICE_MORE, attempts_of, counters, dispatched, the_run
from tests.peers.server import Answer
from tests.peers.target import Target
from tests.racing import in_threads
from triggers.deleting import delete_job
from triggers.dispatch import take_ready
from triggers.scheduling import set_job_state

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
GOES_ON = Outcome(True, "The operation goes on.", 200, operation=Operation(By.STATUS, "https://x.example/"))


# When it is polled: decided without a database


@pytest.mark.parametrize(
    "asked, after, wait",
    [
        (None, 0 * SECOND, WAIT),
        (5 * SECOND, 0 * SECOND, 5 * SECOND),
        (0 * SECOND, 0 * SECOND, WAIT_LEAST),
        (1 * SECOND, 30 * SECOND, 1 * SECOND),
        # what has lasted for long is polled less often, whatever the target asks for
        (1 * SECOND, 10 * HOUR, 10 * HOUR / SHARE),
        (999_999_999 * SECOND, 0 * SECOND, WAIT_MOST),
        (30 * DAY, 23.5 * HOUR, 0.5 * HOUR),  # the last poll is at the limit
    ],
)
def test_how_long_it_waits_for_the_next_poll(asked, after, wait):
    outcome = Outcome(True, "", 200, operation=GOES_ON.operation, retry_after=asked)
    now = START + after

    assert next_poll(Watch(START, START + DAY), outcome, now) == now + wait


@pytest.mark.parametrize("limit, most", [(HOUR, 320), (DAY, 520)])
def test_its_polls_are_few_however_often_it_asks_for_them(limit, most):
    watch, polls, now = Watch(START, START + limit), 0, START
    while due_at := next_poll(watch, Outcome(True, "", 200, retry_after=SECOND, operation=GOES_ON.operation), now):
        assert due_at > now
        now, polls = due_at, polls + 1

    assert now == START + limit
    assert polls <= most


@pytest.mark.parametrize("unread", list(Unread))
def test_polls_that_tell_nothing_are_further_and_further_apart_and_come_to_an_end(unread):
    waits, now = [], START
    for troubles in range(1, 100):
        due_at = next_poll(Watch(START, START + DAY, troubles), Outcome(False, "", 503, unread=unread), now)
        if due_at is None:
            break
        waits.append(due_at - now)

    assert len(waits) == TROUBLES[unread] - 1
    assert waits[:2] == [30 * SECOND, 60 * SECOND]
    assert max(waits) <= timedelta(minutes=10)


@pytest.mark.parametrize("outcome", [GOES_ON, Outcome(False, "", 503, unread=Unread.PASSING)])
def test_at_the_limit_nobody_asks_any_more(outcome):
    watch = Watch(START, START + HOUR)

    assert next_poll(watch, outcome, START + HOUR) is None

    end = given_up(watch, outcome, START + HOUR)
    assert (end.succeeded, end.may_retry, end.goes_on) == (False, False, False)
    assert "has not ended within 1 h" in end.message


# A run


@pytest.fixture
def target(target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    return target


def accepted(target: Target, wait: int | None = 10, **more: str) -> Answer:
    headers = {"Azure-AsyncOperation": f"{target.url}/status", **more}
    return Answer(202, headers | ({} if wait is None else {"Retry-After": str(wait)}), "")


def status(word: str, wait: int | None = 10, **members) -> Answer:
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return Answer(200, headers, json.dumps({"status": word, **members}))


FAILED = status("Failed", None, error={"code": "NoRoom", "message": "The shelf is full."})


@pytest.fixture
def starting(target, make_job):
    """Make a job that begins an operation, whose status is told in turn."""

    def make(*told: Answer, name="rebuild", method="POST", policy=None, limit=None, error_path=None, **fields):
        target.answers["/start"] = [accepted(target)]
        target.answers["/status"] = list(told)
        action = {
            "type": "Http",
            "request": {"uri": f"{target.url}/start", "method": method},
            "follow": True,
            "retryPolicy": policy or {"retryType": "None"},
        }
        if limit:
            action["followLimit"] = limit
        if error_path:
            action["errorAction"] = {"type": "Http", "request": {"uri": target.url + error_path, "method": "POST"}}
        return make_job(name, action=action, **fields)

    return make


def polls_of(run) -> list[Poll]:
    return list(Poll.objects.filter(attempt__run=run).order_by("attempt__number", "number"))


def words_of(run) -> list[str]:
    return [poll.status for poll in polls_of(run)]


def go_on(work, run, most: int = 20) -> None:
    """Work on the run whenever it is due, until it is over."""
    for _ in range(most):
        if not run.is_open:
            return
        assert work(run, at=run.publish_after) == 1
    raise AssertionError("it does not end")


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
    assert attempt.status_code == 202  # its own answer stays
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
    assert not Following.objects.exists()


def test_a_run_fails_with_its_operation_and_says_why(starting, work):
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


def test_a_failed_operation_is_begun_again_as_the_retry_policy_says(starting, target, work):
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
def test_an_operation_that_may_not_have_failed_is_not_begun_again(starting, target, work, end):
    starting(end, policy=TWICE_MORE, error_path="/error")
    run = the_run()

    work(run)
    go_on(work, run)

    assert (run.state, run.attempt_count) == (Run.State.FAILED, 1)
    assert run.reason
    assert len(target.calls_to("/start")) == 1
    assert run.error_run.state == Run.State.WAITING


def test_an_error_action_may_follow_as_well(starting, target, make_job, work):
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


def test_a_poll_that_tells_nothing_is_made_again(starting, work):
    starting(Answer(503), Answer(500), status("Running"), Answer(502), status("Succeeded"))
    run = the_run()

    work(run)
    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED
    assert [poll.status_code for poll in polls_of(run)] == [503, 500, 200, 502, 200]
    assert "'Service Unavailable' instead of a status" in polls_of(run)[0].message


def test_an_operation_that_nothing_is_heard_of_is_given_up(starting, work):
    starting(Answer(503), limit="PT24H")
    run = the_run()

    work(run)
    go_on(work, run)

    assert run.state == Run.State.FAILED
    assert len(polls_of(run)) == TROUBLES[Unread.PASSING]
    assert run.reason.startswith("What becomes of the operation is not known: 10 polls in a row told nothing.")


def test_a_target_that_is_gone_is_given_up_as_well(starting, target, work):
    starting(status("Running"))
    run = the_run()
    work(run)
    target.close()

    go_on(work, run)

    assert run.state == Run.State.FAILED
    assert {poll.status_code for poll in polls_of(run)} == {None}


@pytest.mark.parametrize("limit, last_at", [(None, START + LIMIT), ("PT30S", START + 30 * SECOND)])
def test_what_does_not_end_in_time_has_failed(starting, work, limit, last_at):
    starting(status("Cancelled", 3600), limit=limit, policy=TWICE_MORE)
    run = the_run()

    work(run)
    go_on(work, run)

    assert (run.state, run.finished_at, run.attempt_count) == (Run.State.FAILED, last_at, 1)
    assert "has not ended within" in run.reason
    assert "the last it said was 'Cancelled'" in run.reason  # a word that ends nothing


def test_what_has_ended_is_found_out_although_nobody_asked_in_time(starting, work):
    starting(status("Succeeded"), limit="PT30S")
    run = the_run()
    work(run)

    work(run, at=START + 5 * HOUR)

    assert run.state == Run.State.SUCCEEDED


def test_a_poll_is_not_made_before_it_is_due(starting, target, work):
    starting(status("Succeeded"))
    run = the_run()
    work(run)

    assert work(run, at=START + 9 * SECOND) == 0
    assert target.calls_to("/status") == []


def test_a_poll_is_rung_for_when_it_is_due(starting, work):
    starting(status("Succeeded"))
    run = the_run()
    work(run)

    early, due = take_ready(START + 9 * SECOND), take_ready(START + 10 * SECOND)

    assert [run_id for _, run_id in early] == []
    assert [str(run_id) for _, run_id in due] == [str(run.pk)]


def test_nothing_is_lost_between_two_workers(starting, work):
    starting(status("Running"), status("Succeeded"))
    run = the_run()
    work(run)

    with Calls(Room(limit=10, per_host=10)) as others:
        other = Worker("other", others, lambda: START + 10 * SECOND)
        other.take([str(run.pk)])
        other.settle()
    run.refresh_from_db()
    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED
    assert [poll.worker for poll in polls_of(run)] == ["other", "worker"]


def test_by_location_and_by_resource(starting, target, work):
    """Each is gone to as it was told; a location moves."""
    starting(name="a-location", method="DELETE")
    starting(name="b-resource", method="PUT")
    target.answers["/start"] = [
        Answer(202, {"Location": f"{target.url}/one", "Retry-After": "1"}, ""),
        Answer(201, {"Retry-After": "1"}, json.dumps({"properties": {"provisioningState": "Creating"}})),
        Answer(200, {"Retry-After": "1"}, json.dumps({"properties": {"provisioningState": "Creating"}})),
        Answer(200, {"Retry-After": "1"}, json.dumps({"properties": {"provisioningState": "Succeeded"}})),
    ]
    target.answers["/one"] = [Answer(202, {"Location": f"{target.url}/two", "Retry-After": "1"}, "")]
    target.answers["/two"] = [Answer(202, {"Retry-After": "1"}, ""), Answer(204)]
    by_location, by_resource = dispatched()

    for run in (by_location, by_resource):
        work(run)
    for run in (by_location, by_resource):
        go_on(work, run)

    assert (by_location.state, by_resource.state) == (Run.State.SUCCEEDED, Run.State.SUCCEEDED)
    assert [len(target.calls_to(path)) for path in ("/one", "/two")] == [1, 2]
    assert words_of(by_resource) == ["Creating", "Succeeded"]


def test_its_address_is_stored_encrypted(starting, target, work):
    starting(status("Running"))
    target.answers["/start"] = [
        accepted(target, **{"Azure-AsyncOperation": f"{target.url}/status?key=amber-lantern-77"})
    ]
    work(the_run())

    with connection.cursor() as cursor:
        cursor.execute("SELECT secrets, host FROM jobs_following")
        ((sealed, host),) = cursor.fetchall()
    assert "amber" not in sealed
    assert host == f"127.0.0.1:{target.port}"


def test_an_address_that_no_key_opens_is_a_poll_that_tells_nothing(starting, target, work, settings):
    starting(status("Succeeded"))
    run = the_run()
    work(run)
    keys, settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS, [new_encryption_key()]

    work(run, at=run.publish_after)
    assert run.state == Run.State.FOLLOWING
    assert "credentials cannot be read" in polls_of(run)[0].message

    settings.ENCRYPTION_KEYS = keys
    go_on(work, run)
    assert run.state == Run.State.SUCCEEDED


def test_a_poll_has_its_room_at_the_host_that_it_asks(starting, target, work, peer):
    other = peer(Target)
    starting()
    target.answers["/start"] = [accepted(target, **{"Azure-AsyncOperation": f"{other.url}/status"})]
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "worker", run.publish_after)

    assert host_of(leased.run) == f"127.0.0.1:{other.port}"


def test_the_lock_of_the_job_is_held_while_it_follows(starting, work):
    starting(status("Succeeded"))
    first = the_run()
    work(first)
    second = the_run(START + DAY)

    work(second, at=START + DAY)

    assert (second.state, second.reason) == (Run.State.SKIPPED, BUSY)


def test_who_waits_for_its_end_is_told(starting, work):
    starting(status("Succeeded"), overlap="queue_one", limit="PT24H")
    first = the_run()
    work(first)
    second = the_run(START + DAY)
    work(second, at=START + DAY)
    assert second.state == Run.State.WAITING

    work(first, at=START + DAY + SECOND)

    second.refresh_from_db()
    assert second.publish_after == START + DAY + SECOND


def test_it_goes_on_when_its_job_is_disabled_meanwhile(starting, work):
    job = starting(status("Running"), status("Succeeded"))
    run = the_run()
    work(run)
    set_job_state(job, Job.State.DISABLED, START)

    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED


def test_it_goes_on_as_it_began_when_its_job_is_edited_meanwhile(starting, make_job, target, work):
    job = starting(status("Running"), status("Succeeded"))
    run = the_run()
    work(run)
    queue = {"storageAccount": "acme", "queueName": "later", "sasToken": "silver-canyon-19", "message": "m"}
    make_job(job.name, action={"type": "StorageQueue", "queueMessage": queue})

    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED
    assert len(target.calls_to("/status")) == 2


def test_it_ends_when_its_job_is_deleted(starting, target, work):
    job = starting(status("Running"))
    run = the_run()
    work(run)

    delete_job(job, START + SECOND)

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert run.state == Run.State.CANCELLED
    assert (attempt.state, attempt.message) == (Attempt.State.LOST, UNWATCHED)
    assert not Following.objects.exists()
    assert work(run, at=START + HOUR) == 0


def test_it_ends_when_its_job_is_deleted_during_a_poll(starting, work):
    job = starting(status("Running"))
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "worker", run.publish_after)
    delete_job(job, START + 11 * SECOND)
    record([(leased, GOES_ON)], START + 12 * SECOND)
    run.refresh_from_db()
    assert run.state == Run.State.FOLLOWING

    work(run, at=run.publish_after)

    assert (run.state, run.reason) == (Run.State.FAILED, "the job was deleted")
    assert not Following.objects.exists()
    assert attempts_of(run)[0].state == Attempt.State.LOST


# Cancelling


def test_a_run_that_follows_can_be_cancelled(starting, target, work):
    job = starting(status("Running"), schedule=ONCE)
    run = the_run()
    work(run)

    cancel(run, "cancelled by ada", START + SECOND)

    (attempt,) = attempts_of(run)
    assert (run.state, run.reason, run.finished_at) == (Run.State.CANCELLED, "cancelled by ada", START + SECOND)
    assert (attempt.state, attempt.message, attempt.finished_at) == (Attempt.State.LOST, UNWATCHED, START + SECOND)
    assert work(run, at=START + HOUR) == 0
    assert target.calls_to("/status") == []
    assert counters(job) == (0, 0, 0)


def test_it_can_be_cancelled_during_a_poll_whose_result_changes_nothing_then(starting, work):
    starting(status("Running"))
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "worker", run.publish_after)
    assert can_be_cancelled(run)

    cancel(run, "cancelled by ada", START + 11 * SECOND)
    record([(leased, Outcome(True, "The operation succeeded.", 200, status="Succeeded"))], START + 12 * SECOND)

    run.refresh_from_db()
    (attempt,), (poll,) = attempts_of(run), polls_of(run)
    assert (run.state, run.finished_at) == (Run.State.CANCELLED, START + 11 * SECOND)
    assert attempt.message == UNWATCHED
    assert poll.status == "Succeeded"


def test_an_attempt_that_is_out_cannot_be_cancelled(starting):
    starting()
    run = the_run()
    lease([str(run.pk)], "worker", START)

    assert not can_be_cancelled(run)
    with pytest.raises(Conflict):
        cancel(run, "cancelled by ada", START)


# Workers that stop and vanish


def test_a_poll_whose_worker_vanished_is_made_again(starting, target, work):
    job = starting(status("Succeeded"), delivery="at_most_once")
    run = the_run()
    work(run)
    lease([str(run.pk)], "gone", run.publish_after)
    now = START + 10 * SECOND + LEASE + SECOND

    assert reap(now) == 1

    run.refresh_from_db()
    assert (run.state, run.not_before, run.publish_after, run.lease_token) == (Run.State.FOLLOWING, now, now, None)
    go_on(work, run)
    (attempt,) = attempts_of(run)
    assert (run.state, attempt.state, run.attempt_count) == (Run.State.SUCCEEDED, Attempt.State.SUCCEEDED, 1)
    assert [(poll.worker, poll.status) for poll in polls_of(run)] == [("gone", ""), ("worker", "Succeeded")]
    assert "vanished" in polls_of(run)[0].message
    assert len(target.calls_to("/start")) == 1
    assert counters(job) == (1, 0, 0)


def test_a_poll_that_brings_its_workers_down_comes_to_an_end(starting, work):
    job = starting(status("Running"), limit="PT24H", error_path="/error")
    run = the_run()
    work(run)
    now = run.publish_after
    for _ in range(TROUBLES[Unread.PASSING]):
        assert lease([str(run.pk)], "gone", now)
        now += 2 * LEASE
        assert reap(now) == 1

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert (run.state, run.attempt_count) == (Run.State.FAILED, 1)
    assert "vanished" in run.reason
    assert attempt.state == Attempt.State.LOST
    assert run.error_run.state == Run.State.WAITING
    assert not Following.objects.exists()
    assert counters(job) == (1, 1, 1)


def test_runs_of_both_kinds_are_taken_back_together(starting, work):
    starting(status("Succeeded"), name="a-polled"), starting(name="b-called", policy=TWICE_MORE)
    polled, called = dispatched()
    work(polled)
    lease([str(polled.pk)], "gone", polled.publish_after)
    lease([str(called.pk)], "gone", START)

    assert reap(START + HOUR) == 2

    polled.refresh_from_db(), called.refresh_from_db()
    assert (polled.state, called.state) == (Run.State.FOLLOWING, Run.State.RETRYING)


def test_a_late_result_of_a_poll_changes_nothing(starting, work):
    starting(status("Succeeded"))
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "slow", run.publish_after)
    reap(START + HOUR)

    record([(leased, Outcome(False, "The operation failed.", 200, status="Failed"))], START + HOUR)

    run.refresh_from_db()
    assert run.state == Run.State.FOLLOWING
    assert attempts_of(run)[0].state == Attempt.State.RUNNING
    assert words_of(run) == ["Failed"]


def test_what_began_too_late_is_not_followed(starting):
    starting(policy=TWICE_MORE)
    run = the_run()
    (leased,) = lease([str(run.pk)], "slow", START)
    reap(START + HOUR)

    record([(leased, GOES_ON)], START + HOUR)

    run.refresh_from_db()
    assert run.state == Run.State.RETRYING
    assert not Following.objects.exists()
    assert "had been given up as lost" in attempts_of(run)[0].message


def test_a_shutdown_hands_a_poll_back(starting, target, work):
    job = starting()
    run = the_run()
    target.answers["/start"] = [accepted(target, **{"Azure-AsyncOperation": f"{target.url}/slow/20"})]
    work(run)

    work(run, at=run.publish_after, stopping=lambda: bool(target.calls_to("/slow/20")))

    now = START + 10 * SECOND
    (poll,) = polls_of(run)
    assert (run.state, run.not_before, run.lease_token) == (Run.State.FOLLOWING, now, None)
    assert "stopped during the poll" in poll.message
    assert Following.objects.get().trouble_count == 0
    assert attempts_of(run)[0].state == Attempt.State.RUNNING
    assert counters(job) == (0, 0, 0)


def test_history_goes_with_its_run(starting, work, settings):
    starting(status("Succeeded"))
    run = the_run()
    work(run)
    go_on(work, run)

    prune(START + timedelta(days=settings.RETENTION_DAYS + 1))

    assert not Run.objects.filter(pk=run.pk).exists()
    assert not Poll.objects.exists()


def test_a_run_that_follows_is_not_pruned(starting, work, settings):
    starting(status("Running"))
    run = the_run()
    work(run)

    prune(START + timedelta(days=1000))

    assert Run.objects.filter(pk=run.pk).exists()


def test_polls_of_many_runs_are_a_number_of_queries_that_does_not_grow(starting, work, django_assert_max_num_queries):
    for number in range(20):
        starting(status("Running"), name=f"job-{number}")
    runs = dispatched()
    work(*runs)
    ids = [str(run.pk) for run in runs]

    with django_assert_max_num_queries(14):
        assert len(lease(ids, "worker", START + 10 * SECOND)) == 20


# Races


@pytest.mark.django_db(transaction=True)
def test_one_worker_makes_a_poll(starting, work):
    for number in range(10):
        starting(status("Running"), name=f"job-{number}")
    runs = dispatched()
    work(*runs)
    ids = [str(run.pk) for run in runs]

    answers = in_threads(lambda worker: lease(ids, worker, START + 10 * SECOND), "one", "two", "three")

    taken = [item.run.pk for leased in answers for item in leased]
    assert sorted(taken) == sorted(run.pk for run in runs)
    assert Poll.objects.count() == 10
    assert set(Following.objects.values_list("poll_count", flat=True)) == {1}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ends", [True, False])
def test_cancelling_and_a_poll_that_ends_leave_one_of_two_histories(starting, work, ends):
    for number in range(8):
        starting(status("Running"), name=f"job-{number}")
    runs = dispatched()
    work(*runs)
    leased = lease([str(run.pk) for run in runs], "worker", START + 10 * SECOND)
    outcome = Outcome(True, "The operation succeeded.", 200, status="Succeeded") if ends else GOES_ON
    now = START + 11 * SECOND

    def go(what) -> None:
        if what == "record":
            record([(item, outcome) for item in leased], now)
        else:
            for run in Run.objects.order_by("?"):
                try:
                    cancel(run, "cancelled by ada", now)
                except Conflict:
                    assert ends

    in_threads(go, "record", "cancel")

    for run in Run.objects.all():
        (attempt,) = attempts_of(run)
        assert (run.state, attempt.state) in {("cancelled", "lost")} | ({("succeeded", "succeeded")} if ends else set())
        assert run.lease_token is None
    assert not Following.objects.exists()
