"""Carrying out runs: who may, what is recorded, and what follows."""

import uuid
from contextlib import ExitStack
from datetime import timedelta
from threading import Barrier, Event, Thread

import pytest
from django.db import DatabaseError, DataError, OperationalError, connection
from django.test.utils import CaptureQueriesContext
from standardwebhooks import Webhook

from jobs import actions, execution, overlap, recording
from jobs.actions import Outcome
from jobs.calling import Calls
from jobs.execution import ABSENCE, ABSENCES, PATIENCE, Worker, insist
from jobs.leasing import LEASE, RENEWAL, Leased, lease, renew
from jobs.models import Action, Attempt, Job, Run
from jobs.overlap import BUSY
from jobs.reclaiming import reap
from jobs.recording import record
from jobs.room import Room
from jobs.run_now import run_now
from jobs.signing import new_secret
from tests.conftest import NOW
from tests.jobs.conftest import START
from tests.peers.server import Answer, eventually
from tests.peers.target import Target
from triggers.deleting import delete_job
from triggers.dispatch import REPUBLISH, dispatch_due, take_ready
from triggers.scheduling import save_collection, set_job_state

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
INTERVAL = timedelta(seconds=15)
ONCE = {"startTime": "2026-01-05T08:00:00Z"}
TWICE_MORE = {"retryType": "Fixed", "retryCount": 2, "retryInterval": "PT15S"}
NO_RETRY = {"retryType": "None"}


@pytest.fixture
def target(target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    return target


@pytest.fixture
def calling(target, make_job):
    """Make a job that calls a path of the target."""

    def make(path="/ok", name="backup", policy=NO_RETRY, error_path=None, error_policy=None, at=target, **fields):
        action = {"type": "Http", "request": {"uri": at.url + path, "method": "GET"}, "retryPolicy": policy}
        if error_path:
            action["errorAction"] = {"type": "Http", "request": {"uri": target.url + error_path, "method": "POST"}}
        if error_policy:
            action["errorAction"]["retryPolicy"] = error_policy
        return make_job(name, action=action, **fields)

    return make


def dispatched(at=START):
    """The runs of a dispatch, earliest first."""
    ids = [run_id for _, run_id in dispatch_due(at)]
    return list(Run.objects.filter(pk__in=ids).order_by("fire_at", "job_name"))


def the_run(at=START):
    (run,) = dispatched(at)
    return run


def attempts_of(run):
    return list(run.attempts.order_by("number"))


def counters(job):
    job.refresh_from_db()
    return job.execution_count, job.failure_count, job.faulted_count


# One run


def test_a_run_calls_its_target_and_keeps_the_answer(calling, target, work):
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


def test_the_attempt_is_written_down_before_its_call_goes_out(calling, target):
    calling()
    run = the_run()

    (leased,) = lease([str(run.pk)], "worker", START)

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert target.calls == []
    assert (run.state, run.attempt_count, run.leased_until) == (Run.State.RUNNING, 1, START + LEASE)
    assert (attempt.state, attempt.started_at, leased.attempt) == (Attempt.State.RUNNING, START, attempt)


def test_a_second_message_starts_nothing(calling, target, work):
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


def test_a_message_about_a_run_that_is_gone_starts_nothing(calls):
    assert Worker("worker", calls, lambda: NOW).take([str(uuid.uuid4())]) == 0


def test_runs_of_a_message_are_carried_out_together(calling, target, work):
    for number in range(5):
        calling(path="/slow/0.3", name=f"job-{number}")
    runs = dispatched()

    work(*runs)

    arrivals = [call.arrived_at for call in target.calls]
    assert {run.state for run in runs} == {Run.State.SUCCEEDED}
    assert max(arrivals) - min(arrivals) < timedelta(seconds=0.3)


def test_each_result_is_recorded_when_it_comes(calling, work):
    calling(name="a-fast"), calling(name="b-slow", path="/slow/20")
    fast, slow = dispatched()
    seen = []

    def look():
        seen.append(tuple(Run.objects.order_by("job_name").values_list("state", flat=True)))
        return seen[-1] == (Run.State.SUCCEEDED, Run.State.RUNNING)  # then stop: the slow one is not waited for

    work(fast, slow, stopping=look)

    assert fast.state == Run.State.SUCCEEDED
    assert seen[-1] == (Run.State.SUCCEEDED, Run.State.RUNNING)


# Room


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make_worker(clock):
    """Make a worker with room for so many calls; its calls end with the test."""
    with ExitStack() as stack:

        def make(limit=100, per_host=50, **fields):
            calls = stack.enter_context(Calls(Room(limit, per_host)))
            return Worker("worker", calls, clock, **fields)

        yield make


def take(worker, *runs):
    return worker.take([str(run.pk) for run in runs])


def test_runs_wait_here_for_room_and_then_begin(calling, target, make_worker):
    for number in range(5):
        calling(path="/slow/0.1", name=f"job-{number}")
    runs = dispatched()
    worker = make_worker(per_host=2)

    assert take(worker, *runs) == 2
    assert sorted(states(*runs)) == [Run.State.RUNNING] * 2 + [Run.State.WAITING] * 3
    worker.settle()

    assert states(*runs) == [Run.State.SUCCEEDED] * 5
    assert most_at_once(target.calls, timedelta(seconds=0.1)) == 2
    assert {run.publish_after for run in runs} == {START + REPUBLISH}  # nobody else was told


def most_at_once(calls, took):
    """How many calls were out at the same time, each of which took so long at least."""
    arrivals = [call.arrived_at for call in calls]
    return max(sum(arrival <= other < arrival + took * 0.9 for other in arrivals) for arrival in arrivals)


def test_a_run_that_has_waited_long_enough_is_put_off(calling, target, make_worker, clock):
    calling("/slow/20", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1)
    take(worker, first)
    take(worker, second)

    clock.now += PATIENCE
    worker.step(wait_s=0)

    second.refresh_from_db()
    assert (second.state, second.attempt_count, second.started_at) == (Run.State.WAITING, 0, None)
    assert second.publish_after == clock.now + ABSENCE
    assert not second.attempts.exists()
    assert ready_at(second.publish_after) == [second.pk]


def ready_at(now):
    return [run_id for _, run_id in take_ready(now)]


@pytest.mark.parametrize(
    "wait_s, absence",
    [
        (2.01, 3 * ABSENCE),  # in steps, so that many come back together
        (4, 4 * ABSENCE),
        (3600, ABSENCES * ABSENCE),
    ],
)
def test_a_run_whose_host_is_known_to_be_slow_is_put_off_at_once(calling, make_worker, monkeypatch, wait_s, absence):
    calling("/slow/20", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1)
    monkeypatch.setattr(worker.calls.room, "pace_s", lambda host: wait_s)
    monkeypatch.setattr(worker.calls.room, "promise", lambda host: wait_s)

    take(worker, first)
    take(worker, second)

    assert states(first, second) == [Run.State.RUNNING, Run.State.WAITING]
    assert second.publish_after == START + absence


def test_a_run_that_was_put_off_is_done_when_it_comes_again(calling, make_worker, clock):
    calling("/slow/0.2", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1)
    take(worker, first)
    take(worker, second)
    clock.now += PATIENCE
    worker.step(wait_s=0)
    worker.settle()

    assert take(worker, second) == 1
    worker.settle()

    assert states(first, second) == [Run.State.SUCCEEDED] * 2


def test_a_retry_without_room_stays_a_retry(calling, make_worker, clock, work):
    job = calling("/status/500", policy=TWICE_MORE)
    run = the_run()
    work(run)
    calling("/slow/20", name="other")
    (other,) = Run.objects.filter(pk__in=[run_id for _, run_id in dispatch_due(START)])
    clock.now += INTERVAL
    worker = make_worker(per_host=1)
    take(worker, other)
    take(worker, run)

    clock.now += PATIENCE
    worker.step(wait_s=0)

    run.refresh_from_db()
    assert (run.state, run.attempt_count, run.not_before) == (Run.State.RETRYING, 1, START + INTERVAL)
    assert run.publish_after >= clock.now + ABSENCE
    assert counters(job) == (1, 1, 0)


def test_runs_of_other_hosts_do_not_wait_for_a_slow_one(calling, peer, make_worker):
    quick = peer(Target)
    for number in range(4):
        calling("/slow/20", name=f"slow-{number}"), calling(name=f"quick-{number}", at=quick)
    runs = dispatched()
    worker = make_worker(per_host=2)

    take(worker, *runs)
    assert eventually(lambda: worker.step(0.05) or len(quick.calls) == 4)
    worker.step(0.2)

    assert Run.objects.filter(job_name__startswith="quick", state=Run.State.SUCCEEDED).count() == 4
    assert Run.objects.filter(job_name__startswith="slow", state=Run.State.RUNNING).count() == 2


def test_hosts_get_places_in_turn(calling, peer, make_worker, monkeypatch):
    other = peer(Target)
    for number in range(4):
        calling("/slow/20", name=f"a-{number}")
    for number in range(2):
        calling("/slow/20", name=f"b-{number}", at=other)
    runs = dispatched()
    worker = make_worker(per_host=1)
    take(worker, *runs[:4])
    take(worker, *runs[4:])
    grants = [True, True]

    worker.calls.room.per_host = 10
    take_place = worker.calls.room.take
    monkeypatch.setattr(worker.calls.room, "take", lambda *target: grants and grants.pop() and take_place(*target))
    worker.step(wait_s=0)

    begun = Run.objects.filter(state=Run.State.RUNNING).values_list("job_name", flat=True)
    assert sorted(name[0] for name in begun) == ["a", "a", "b", "b"]


def test_there_is_a_limit_for_all_hosts(calling, peer, make_worker):
    targets = [peer(Target) for _ in range(4)]
    for number in range(12):
        calling("/slow/0.1", name=f"job-{number}", at=targets[number % 4])
    runs = dispatched()
    worker = make_worker(limit=4)

    take(worker, *runs)
    worker.settle()

    calls = [call for target in targets for call in target.calls]
    assert set(states(*runs)) == {Run.State.SUCCEEDED}
    assert 2 <= most_at_once(calls, timedelta(seconds=0.1)) <= 4


def test_a_run_without_room_does_not_make_another_of_its_job_wait(calling, make_worker, peer):
    """It has not begun, so neither is the other one skipped as overlapping."""
    calling("/slow/20", name="a-slow")
    job = calling(name="b-job")
    (slow, first), (_, second) = dispatched(), dispatched(START + DAY)
    worker = make_worker(per_host=1)

    take(worker, slow)
    take(worker, first, second)

    assert states(first, second) == [Run.State.WAITING] * 2
    job.refresh_from_db()
    assert job.state == Job.State.ENABLED


def test_a_queued_run_does_not_overtake_one_without_room(calling, make_worker, clock, peer):
    calling("/slow/20", name="a-slow")
    calling(name="b-job", overlap="queue_all")
    (slow, first), (_, second) = dispatched(), dispatched(START + DAY)
    clock.now = START + DAY
    worker = make_worker(per_host=1)
    take(worker, slow)
    take(worker, first)
    elsewhere = make_worker()

    assert take(elsewhere, second) == 0

    assert states(first, second) == [Run.State.WAITING] * 2


def test_room_is_kept_for_no_run_that_does_not_begin(calling, make_worker):
    stopped, job = calling(name="a-stopped"), calling(name="b-busy")
    runs = dispatched()
    (again,) = dispatched(START + DAY)[1:]
    lease([str(runs[1].pk)], "other", START)
    set_job_state(stopped, Job.State.DISABLED, START)
    worker = make_worker(per_host=1)

    assert take(worker, *runs, again) == 0

    assert states(*runs, again) == [Run.State.SKIPPED, Run.State.RUNNING, Run.State.SKIPPED]
    assert worker.calls.room.is_empty
    assert job.state == Job.State.ENABLED


def test_room_is_given_back_when_the_database_fails(calling, make_worker, monkeypatch):
    calling()
    run = the_run()
    worker = make_worker()

    def fail(*arguments):
        raise DatabaseError("gone")

    monkeypatch.setattr(overlap, "admit", fail)
    with pytest.raises(DatabaseError):
        take(worker, run)

    assert worker.calls.room.is_empty


def test_a_shutdown_leaves_runs_that_wait_for_room_to_others(calling, make_worker, target):
    calling("/slow/20", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1, stopping=lambda: bool(target.calls))

    take(worker, first)
    take(worker, second)
    worker.settle()

    assert states(first, second) == [Run.State.RETRYING, Run.State.WAITING]
    assert second.publish_after == START + REPUBLISH


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


def test_a_recurring_job_goes_on_after_a_failure(calling, work):
    job = calling("/status/500")

    work(the_run())

    assert counters(job) == (1, 1, 1)
    assert job.state == Job.State.ENABLED


def test_a_job_that_was_given_a_new_schedule_meanwhile_does_not_end(calling):
    job = calling(schedule=ONCE)
    run = the_run()
    (leased,) = lease([str(run.pk)], "worker", START)
    calling(schedule={"startTime": "2026-02-01T00:00:00Z"})

    record([(leased, Outcome(True, "done"))], START)

    job.refresh_from_db()
    assert job.state == Job.State.ENABLED


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


def test_a_retry_waits_for_its_moment(calling, target, work):
    calling("/status/503", policy=TWICE_MORE)
    run = the_run()
    work(run)

    assert (run.state, run.not_before, run.publish_after) == (Run.State.RETRYING, START + INTERVAL, START + INTERVAL)
    assert work(run, at=START + INTERVAL - timedelta(milliseconds=1)) == 0
    assert len(target.calls) == 1
    assert work(run, at=START + INTERVAL) == 1


def test_a_target_may_ask_to_be_left_alone_for_longer(calling, target, work):
    target.answers["/busy"] = [Answer(503, {"Retry-After": "60"})]
    calling("/busy", policy=TWICE_MORE)
    run = the_run()

    work(run)

    assert (run.not_before, run.publish_after) == (START + timedelta(seconds=60), START + timedelta(seconds=60))


def test_runs_of_a_batch_are_tried_again_each_by_its_own_policy(calling, work):
    for number, interval in enumerate(("PT15S", "PT30S", "PT1M")):
        calling("/status/500", name=f"job-{number}", policy=TWICE_MORE | {"retryInterval": interval})
    runs = dispatched()

    work(*runs)

    assert [run.not_before - START for run in runs] == [INTERVAL, 2 * INTERVAL, 4 * INTERVAL]


def test_a_retry_that_succeeds_ends_the_run_well(calling, target, work):
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


def test_what_can_never_succeed_is_not_tried_again(calling, work):
    job = calling(policy=TWICE_MORE)
    run = the_run()
    Action.objects.update(document={"type": "Http", "request": {"uri": "ftp://127.0.0.1/", "method": "GET"}})

    work(run)

    (attempt,) = attempts_of(run)
    assert run.state == Run.State.FAILED
    assert "cannot be called" in attempt.message
    assert counters(job) == (1, 1, 1)


def test_an_action_that_breaks_is_a_failed_attempt(calling, monkeypatch, work):
    async def broken(*arguments):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(actions, "perform", broken)
    calling()
    run = the_run()

    work(run)

    assert run.state == Run.State.FAILED
    assert attempts_of(run)[0].message == "The action could not be carried out (ZeroDivisionError)."


def test_an_action_that_does_not_end_is_cut_off(calling, monkeypatch, work):
    monkeypatch.setattr("jobs.calling.ATTEMPT_LIMIT_S", 0.1)
    calling("/slow/20")
    run = the_run()

    work(run)

    assert run.state == Run.State.FAILED
    assert "did not end" in attempts_of(run)[0].message


# Credentials


BASIC = {"type": "Basic", "username": "ada", "password": "swordfish"}


def test_credentials_are_read_for_the_call_and_never_written_to_history(make_job, target, work):
    request = {"uri": f"{target.url}/ok", "method": "GET", "authentication": BASIC}
    make_job(action={"type": "Http", "request": request})
    run = the_run()

    work(run)

    assert target.calls[0].headers["Authorization"] == "Basic YWRhOnN3b3JkZmlzaA=="
    assert "swordfish" not in str([vars(attempt) for attempt in attempts_of(run)])


def test_credentials_of_an_error_action_are_its_own(make_job, target, work):
    action = {
        "type": "Http",
        "request": {"uri": f"{target.url}/status/500", "method": "GET"},
        "retryPolicy": NO_RETRY,
        "errorAction": {
            "type": "Http",
            "request": {"uri": f"{target.url}/error", "method": "GET", "authentication": BASIC},
        },
    }
    make_job(action=action)
    run = the_run()
    work(run)

    work(run.error_run)

    main, error = target.calls
    assert "Authorization" not in main.headers
    assert error.headers["Authorization"] == "Basic YWRhOnN3b3JkZmlzaA=="


def test_credentials_that_cannot_be_read_fail_their_run_alone(make_job, calling, target, work):
    request = {"uri": f"{target.url}/ok", "method": "GET", "authentication": BASIC}
    sealed = make_job("a-sealed", action={"type": "Http", "request": request})
    calling(name="b-open")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_action SET secrets = 'written with another key' WHERE id = %s", [sealed.action_id])
    runs = dispatched()

    work(*runs)

    assert [run.state for run in runs] == [Run.State.FAILED, Run.State.SUCCEEDED]
    assert "ENCRYPTION_KEYS" in attempts_of(runs[0])[0].message


def test_requests_are_signed_with_the_secrets_that_are_valid_at_the_moment(calling, target, work):
    job = calling()
    for now in (START - 3 * HOUR, START - 2 * HOUR, START):
        newest = new_secret(job, overlap=HOUR, now=now)
    run = the_run()

    work(run)

    (call,) = target.calls
    assert (call.headers["webhook-id"], call.headers["webhook-timestamp"]) == (str(run.pk), str(int(START.timestamp())))
    assert len(call.headers["webhook-signature"].split()) == 2  # the first has expired
    signature = Webhook(newest).sign(str(run.pk), START, "")
    assert call.headers["webhook-signature"].startswith(signature)


def test_requests_of_other_jobs_are_not_signed(calling, target, work):
    new_secret(calling(name="a"), overlap=HOUR, now=START)
    calling(name="b", path="/other")

    work(*dispatched())

    (call,) = target.calls_to("/other")
    assert "webhook-id" not in call.headers


def test_a_signing_secret_that_cannot_be_read_fails_its_run_alone(calling, target, work):
    new_secret(calling(name="a"), overlap=HOUR, now=START)
    calling(name="b")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_signingsecret SET secrets = 'written with another key'")
    runs = dispatched()

    work(*runs)

    assert [run.state for run in runs] == [Run.State.FAILED, Run.State.SUCCEEDED]
    assert "ENCRYPTION_KEYS" in attempts_of(runs[0])[0].message


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
    assert counters(job) == (2, 1, 1)  # its attempt is an execution; the occurrence stays a faulted one


def test_an_error_action_follows_only_when_the_retries_are_used_up(calling, work):
    calling("/status/500", policy=TWICE_MORE, error_path="/error")
    run = the_run()

    work(run)

    assert not Run.objects.filter(parent=run).exists()


def test_an_error_action_has_no_error_action_and_faults_nothing(calling, work):
    job = calling("/status/500", error_path="/status/501", schedule=ONCE)
    run = the_run()
    work(run)
    error_run = run.error_run

    work(error_run)

    assert error_run.state == Run.State.FAILED
    assert Run.objects.count() == 2
    assert counters(job) == (2, 2, 1)
    assert job.state == Job.State.FAULTED


@pytest.mark.parametrize(
    "error_policy, attempts",
    [(None, 3), (NO_RETRY, 1)],  # that of the main action, or its own
)
def test_an_error_action_is_tried_again_by_its_policy(calling, error_policy, attempts, work):
    calling("/status/500", policy=TWICE_MORE, error_path="/status/501", error_policy=error_policy)
    run = the_run()
    for number in range(3):
        work(run, at=START + number * INTERVAL)
    error_run = run.error_run

    for number in range(3, 9):
        work(error_run, at=START + number * INTERVAL)

    assert len(attempts_of(error_run)) == attempts


# Overlap


def overlapping(calling, overlap):
    """A run that has begun, and one of each of the next three days."""
    calling(overlap=overlap)
    first = the_run()
    lease([str(first.pk)], "worker", START)
    return first, *(the_run(START + number * DAY) for number in (1, 2, 3))


def states(*runs):
    for run in runs:
        run.refresh_from_db()
    return [run.state for run in runs]


def test_overlapping_runs_are_skipped_by_default(calling, work):
    first, *others = overlapping(calling, "skip")

    assert work(*others) == 0

    assert states(*others) == [Run.State.SKIPPED] * 3
    assert {run.reason for run in others} == {BUSY}
    assert not Attempt.objects.exclude(run=first).exists()


def test_overlapping_runs_go_side_by_side_when_allowed(calling, work):
    _, *others = overlapping(calling, "allow")

    assert work(*others, at=START + 3 * DAY) == 3


def test_one_run_may_wait_for_its_turn(calling, work):
    _, *others = overlapping(calling, "queue_one")

    assert work(*others, at=START + 3 * DAY) == 0

    assert states(*others) == [Run.State.WAITING, Run.State.SKIPPED, Run.State.SKIPPED]
    assert others[0].publish_after > START + 3 * DAY


def test_queued_runs_start_one_after_the_other(calling, work):
    first, *others = overlapping(calling, "queue_all")
    now = START + 3 * DAY
    assert work(*others, at=now) == 0
    assert states(*others) == [Run.State.WAITING] * 3

    record([(Leased(first, attempts_of(first)[0]), Outcome(True, "done"))], now)
    assert states(first) == [Run.State.RUNNING]  # without the token it is not ours to end
    first.refresh_from_db()
    record([(Leased(first, attempts_of(first)[0]), Outcome(True, "done"))], now)

    assert states(first) == [Run.State.SUCCEEDED]
    others[0].refresh_from_db()
    assert others[0].publish_after == now  # told at once that its turn has come
    assert work(others[2], others[1], at=now) == 0  # whatever the order of messages
    for run in others:
        assert work(*others, at=now) == 1
        assert states(run) == [Run.State.SUCCEEDED]


def test_the_queue_has_an_end(calling, monkeypatch, work):
    monkeypatch.setitem(overlap.PLACES, Job.Overlap.QUEUE_ALL, 2)
    _, *others = overlapping(calling, "queue_all")

    work(*others, at=START + 3 * DAY)

    assert states(*others) == [Run.State.WAITING, Run.State.WAITING, Run.State.SKIPPED]


def test_a_run_between_two_attempts_still_holds_its_place(calling, work):
    calling("/status/500", policy=TWICE_MORE)
    first = the_run()
    work(first)
    second = the_run(START + DAY)

    work(second, at=START + DAY)

    assert states(first, second) == [Run.State.RETRYING, Run.State.SKIPPED]


def test_of_two_runs_in_a_message_the_earlier_starts(calling, work):
    calling()
    first, second = the_run(), the_run(START + DAY)

    assert work(second, first, at=START + DAY) == 1

    assert states(first, second) == [Run.State.SUCCEEDED, Run.State.SKIPPED]


def test_a_run_by_hand_obeys_the_policy_too(calling, work):
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


# Stopped jobs


def test_a_run_that_waits_while_its_job_is_disabled_is_skipped(calling, target, work):
    job = calling(schedule=ONCE)
    run = the_run()
    set_job_state(job, Job.State.DISABLED, START)

    assert work(run) == 0

    job.refresh_from_db()
    assert (run.state, run.reason, run.finished_at) == (Run.State.SKIPPED, "the job was disabled", START)
    assert job.state == Job.State.DISABLED  # it may be started again
    assert target.calls == []


def test_a_run_between_attempts_of_a_disabled_job_fails(calling, work):
    job = calling("/status/500", policy=TWICE_MORE, error_path="/error")
    run = the_run()
    work(run)
    set_job_state(job, Job.State.DISABLED, START)

    work(run, at=START + HOUR)

    assert (run.state, run.reason) == (Run.State.FAILED, "the job was disabled")
    assert counters(job) == (1, 1, 0)  # its attempts were not used up
    assert Run.objects.count() == 1  # a disabled job runs nothing, not even its error action


def test_a_one_time_run_that_a_stop_skipped_is_made_up_for(calling, target, work):
    job = calling(schedule=ONCE)
    run = the_run()
    set_job_state(job, Job.State.DISABLED, START)
    work(run)

    set_job_state(job, Job.State.ENABLED, START + HOUR)
    work(the_run(START + HOUR), at=START + HOUR)

    job.refresh_from_db()
    assert job.state == Job.State.COMPLETED
    assert len(target.calls) == 1


def test_a_one_time_job_that_failed_when_it_was_stopped_is_faulted_once_enabled(calling, work):
    job = calling("/status/500", policy=TWICE_MORE, schedule=ONCE)
    run = the_run()
    work(run)
    set_job_state(job, Job.State.DISABLED, START)
    work(run, at=START + HOUR)

    job = set_job_state(job, Job.State.ENABLED, START + HOUR)

    assert job.state == Job.State.FAULTED


def test_an_attempt_that_runs_while_its_job_is_disabled_ends_normally(calling):
    job = calling()
    run = the_run()
    (leased,) = lease([str(run.pk)], "worker", START)
    set_job_state(job, Job.State.DISABLED, START)

    record([(leased, Outcome(True, "done"))], START)

    assert states(run) == [Run.State.SUCCEEDED]


def test_runs_of_a_disabled_collection_are_skipped(calling, collection, work):
    calling()
    run = the_run()
    collection.state = "disabled"
    save_collection(collection, START)

    work(run)

    assert (run.state, run.reason) == (Run.State.SKIPPED, "the collection was disabled")


def test_the_history_of_a_deleted_job_is_completed(calling):
    job = calling("/status/500", error_path="/error", schedule=ONCE)
    run = the_run()
    (leased,) = lease([str(run.pk)], "worker", START)
    delete_job(job, START)

    record([(leased, Outcome(False, "no"))], START)

    assert states(run) == [Run.State.FAILED]
    assert Run.objects.count() == 1


# Leases


def test_a_result_after_the_lease_was_taken_away_changes_only_its_attempt(calling):
    job = calling("/status/500", policy=TWICE_MORE)
    run = the_run()
    (ours,) = lease([str(run.pk)], "slow worker", START)
    later = START + LEASE + timedelta(seconds=1)
    reap(later)
    (theirs,) = lease([str(run.pk)], "other worker", later)

    record([(ours, Outcome(True, "done", 200))], later)

    run.refresh_from_db()
    late, current = attempts_of(run)
    assert (run.state, run.lease_token) == (Run.State.RUNNING, theirs.run.lease_token)
    assert (late.state, late.status_code) == (Attempt.State.SUCCEEDED, 200)
    assert late.message == "Reported after the run had been given up as lost: done"
    assert current.state == Attempt.State.RUNNING
    assert counters(job) == (1, 1, 0)  # the attempt was counted when it was given up


def test_a_renewed_lease_does_not_expire(calling):
    calling()
    run = the_run()
    leased = lease([str(run.pk)], "worker", START)

    renew(leased, START + RENEWAL)

    assert reap(START + LEASE + timedelta(seconds=1)) == 0
    assert states(run) == [Run.State.RUNNING]


def test_a_lease_is_renewed_while_its_call_is_out(calling, calls):
    calling("/slow/20")
    run = the_run()
    now = START
    worker = Worker("worker", calls, lambda: now)
    worker.take([str(run.pk)])

    now = START + RENEWAL
    worker.step(wait_s=0)

    run.refresh_from_db()
    assert run.leased_until == START + RENEWAL + LEASE


def test_a_lease_that_was_taken_away_is_not_renewed(calling):
    calling(policy=TWICE_MORE)
    run = the_run()
    leased = lease([str(run.pk)], "worker", START)
    reap(START + LEASE * 2)

    renew(leased, START + LEASE * 2)

    run.refresh_from_db()
    assert run.leased_until is None


def test_runs_of_a_worker_that_vanished_are_tried_again(calling):
    job = calling(policy=TWICE_MORE)
    run = the_run()
    lease([str(run.pk)], "worker", START)
    now = START + LEASE + timedelta(seconds=1)

    assert reap(START + LEASE) == 0
    assert reap(now) == 1

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert (run.state, run.not_before, run.publish_after) == (Run.State.RETRYING, now, now)
    assert (attempt.state, attempt.finished_at) == (Attempt.State.LOST, now)
    assert "worker vanished" in attempt.message
    assert counters(job) == (1, 1, 0)


def test_a_run_that_brings_its_workers_down_ends_failed(calling):
    job = calling(policy=TWICE_MORE, error_path="/error", schedule=ONCE)
    run = the_run()
    now = START
    for _ in range(3):
        assert lease([str(run.pk)], "worker", now)
        now += 2 * LEASE
        reap(now)

    run.refresh_from_db()
    assert run.state == Run.State.FAILED
    assert run.error_run.state == Run.State.WAITING
    assert counters(job) == (3, 3, 1)
    assert job.state == Job.State.FAULTED


def test_at_most_once_means_lost_and_not_again(calling):
    job = calling(delivery="at_most_once", policy=TWICE_MORE, error_path="/error", schedule=ONCE)
    run = the_run()
    lease([str(run.pk)], "worker", START)

    reap(START + 2 * LEASE)

    run.refresh_from_db()
    assert (run.state, run.finished_at) == (Run.State.LOST, START + 2 * LEASE)
    assert "vanished" in run.reason
    assert counters(job) == (1, 1, 1)
    assert job.state == Job.State.FAULTED
    assert Run.objects.count() == 1


# Shutdown


def test_a_shutdown_hands_runs_back_without_counting_a_failure(calling, target, work):
    job = calling("/slow/20", policy=NO_RETRY)
    run = the_run()

    work(run, stopping=lambda: bool(target.calls))

    (attempt,) = attempts_of(run)
    assert (run.state, run.not_before, run.publish_after) == (Run.State.RETRYING, START, START)
    assert (run.lease_token, run.failed_count) == (None, 0)
    assert (attempt.state, attempt.finished_at) == (Attempt.State.LOST, START)
    assert "stopped" in attempt.message
    assert counters(job) == (0, 0, 0)


def test_a_run_that_was_handed_back_is_done_by_the_next_worker(calling, target, work):
    calling("/slow/0.8", policy=NO_RETRY)
    run = the_run()
    work(run, stopping=lambda: bool(target.calls))

    assert work(run) == 1

    assert run.state == Run.State.SUCCEEDED
    assert [attempt.number for attempt in attempts_of(run)] == [1, 2]


def test_calls_get_the_drain_time_to_end(calling, work):
    calling("/slow/0.8")
    run = the_run()

    work(run, stopping=lambda: True, drain=timedelta(seconds=5))

    assert run.state == Run.State.SUCCEEDED


def test_a_shutdown_during_an_attempt_that_may_not_be_repeated_leaves_it_lost(calling, target, work):
    calling("/slow/20", delivery="at_most_once")
    run = the_run()

    work(run, stopping=lambda: bool(target.calls))

    assert (run.state, run.reason) == (Run.State.LOST, "its worker was stopped during the call")


# The database


def test_a_result_that_cannot_be_written_does_not_keep_others_from_it(calling, make_worker, monkeypatch, caplog):
    for name in ("a", "b", "c"):
        calling(name=name)
    runs = dispatched()

    async def perform(action, secrets, context, session):
        return Outcome(True, "done", 10**6 if context.job_name == "b" else 200)  # too large for its column

    monkeypatch.setattr(actions, "perform", perform)
    monkeypatch.setattr("jobs.recording._save", refusing(lambda attempt: attempt.status_code > 999))
    worker = make_worker()

    take(worker, *runs)
    worker.settle()

    assert states(*runs) == [Run.State.SUCCEEDED, Run.State.RUNNING, Run.State.SUCCEEDED]
    assert "record of a run has failed" in caplog.text


def refusing(is_wrong):
    """What a database does that is stricter than SQLite."""
    save = recording._save

    def strict(attempts):
        if any(is_wrong(attempt) for attempt in attempts):
            raise DataError("out of range")
        save(attempts)

    return strict


@pytest.mark.django_db(transaction=True)
def test_a_worker_records_from_a_thread_of_its_own(calling):
    for number in range(5):
        calling(name=f"job-{number}")
    runs = dispatched()
    worker = Worker("worker", Calls(Room(100, 50)), lambda: START)
    worker.start()

    take(worker, *runs)
    worker.close(within_s=10)

    assert set(states(*runs)) == {Run.State.SUCCEEDED}


@pytest.mark.django_db(transaction=True)
def test_the_thread_that_records_outlives_what_goes_wrong(calling, monkeypatch, caplog):
    calling(name="a"), calling(name="b")
    first, second = dispatched()
    failures = [ZeroDivisionError("broken")]

    def once_broken(*arguments):
        if failures:
            raise failures.pop()
        record(*arguments)

    monkeypatch.setattr(execution, "record", once_broken)
    worker = Worker("worker", Calls(Room(100, 50)), lambda: START)
    worker.start()

    take(worker, first)
    assert eventually(lambda: not failures)
    take(worker, second)
    worker.close(within_s=10)

    assert states(first, second) == [Run.State.RUNNING, Run.State.SUCCEEDED]


def test_a_result_is_written_when_the_database_is_back(monkeypatch):
    monkeypatch.setattr(execution.time, "sleep", lambda seconds: None)
    written, failures = [], [OperationalError("gone"), OperationalError("still gone")]

    def write(items, now):
        if failures:
            raise failures.pop()
        written.append(items)

    insist(write, ["result"], NOW)

    assert written == [["result"]]


def test_a_batch_costs_the_same_queries_whatever_its_size(calling):
    def cost():
        ids = [str(run.pk) for run in dispatched()]
        with CaptureQueriesContext(connection) as queries:
            leased = lease(ids, "worker", START)
            record([(item, Outcome(True, "done")) for item in leased], START)
        return len(queries)

    calling(name="single")
    for_one = cost()
    for number in range(20):
        calling(name=f"job-{number}")

    assert cost() == for_one + 1  # several jobs are locked in order before they are counted for
    assert Run.objects.filter(state=Run.State.SUCCEEDED).count() == 21


# Competition


@pytest.mark.django_db(transaction=True)
def test_messages_that_come_at_the_same_time_are_taken_together(calling, make_worker, monkeypatch):
    for number in range(4):
        calling(name=f"job-{number}")
    runs = dispatched()
    worker = make_worker()
    begins, goes_on = Event(), Event()
    sizes = []

    def slow_lease(run_ids, *arguments):
        sizes.append(len(run_ids))
        begins.set()
        assert goes_on.wait(10)
        return lease(run_ids, *arguments)

    monkeypatch.setattr(execution, "lease", slow_lease)
    first = Thread(target=in_own_connection, args=(take, worker, runs[0]))
    first.start()
    assert begins.wait(10)
    others = [Thread(target=in_own_connection, args=(take, worker, run)) for run in runs[1:]]
    for thread in others:
        thread.start()
    assert eventually(lambda: len(worker._next.run_ids) == 3)
    goes_on.set()
    for thread in (first, *others):
        thread.join()
    worker.settle()

    assert sizes == [1, 3]
    assert set(states(*runs)) == {Run.State.SUCCEEDED}


def in_own_connection(function, *arguments):
    try:
        return function(*arguments)
    finally:
        connection.close()


def in_threads(function, *arguments):
    """Call the function once for each argument, at the same time, and return the answers."""
    together, answers = Barrier(len(arguments)), []

    def go(argument):
        together.wait()
        try:
            answers.append(function(argument))
        finally:
            connection.close()

    threads = [Thread(target=go, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.django_db(transaction=True)
def test_two_workers_take_a_run_once(calling):
    for number in range(30):
        calling(name=f"job-{number}")
    ids = [str(run.pk) for run in dispatched()]

    answers = in_threads(lambda worker: lease(ids, worker, START), "one", "two", "three")

    taken = [item.run.pk for leased in answers for item in leased]
    assert len(answers) == 3
    assert len(taken) == len(set(taken)) == 30
    assert Attempt.objects.count() == 30


@pytest.mark.django_db(transaction=True)
def test_runs_of_a_job_never_overlap_across_workers(calling):
    jobs = [calling(name=f"job-{number}") for number in range(10)]
    days = [[str(run.pk) for run in dispatched(START + number * DAY)] for number in range(4)]

    # each worker has another day of all jobs, in another order: they collide on every key
    answers = in_threads(
        lambda number: lease(days[number][:: (-1) ** number], f"worker {number}", START + 4 * DAY), *range(4)
    )

    assert len(answers) == 4
    for job in jobs:
        assert job.runs.filter(state=Run.State.RUNNING).count() == 1
        assert job.runs.filter(state=Run.State.SKIPPED).count() == 3


@pytest.mark.django_db(transaction=True)
def test_workers_that_count_for_the_same_jobs_do_not_block_each_other(calling):
    jobs = [calling(name=f"job-{number}", overlap="allow") for number in range(10)]
    for number in range(4):
        dispatched(START + number * DAY)
    batches = [
        lease([str(run.pk) for run in Run.objects.filter(fire_at=START + number * DAY)], "worker", START + 4 * DAY)
        for number in range(4)
    ]

    in_threads(
        lambda batch: record([(item, Outcome(True, "done")) for item in batch], START + 4 * DAY),
        *[batch[:: (-1) ** number] for number, batch in enumerate(batches)],
    )

    assert {counters(job) for job in jobs} == {(4, 0, 0)}
