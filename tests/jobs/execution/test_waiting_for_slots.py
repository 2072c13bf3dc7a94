"""Runs wait in a worker, or in the database, until there is a slot for their calls."""

from datetime import timedelta

import pytest
from django.db import DatabaseError

from accounts.models import Subscription
from jobs.models import Job, JobCollection, Run
from jobs.worker import overlap
from jobs.worker.execution import BACKOFF_STEP, MAX_BACKOFF_STEPS, MAX_WAIT_FOR_SLOT
from jobs.worker.leasing import lease
from tests.jobs.conftest import START
from tests.jobs.runs import DAY, INTERVAL, TWICE_MORE, counters, dispatched, states, take, the_run
from tests.peers.server import eventually
from tests.peers.target import Target
from triggers.dispatch import REPUBLISH, claim_ready, dispatch_due
from triggers.scheduling import set_job_state

pytestmark = pytest.mark.django_db


def test_runs_wait_in_the_worker_for_a_slot_and_then_begin(calling, target, make_worker):
    for number in range(5):
        calling(path="/slow/0.1", name=f"job-{number}")
    runs = dispatched()
    worker = make_worker(per_host=2)

    assert take(worker, *runs) == 2
    assert sorted(states(*runs)) == [Run.State.RUNNING] * 2 + [Run.State.WAITING] * 3
    worker.run_until_idle()

    assert states(*runs) == [Run.State.SUCCEEDED] * 5
    assert max_concurrent_calls(target.calls, timedelta(seconds=0.1)) == 2
    assert {run.publish_after for run in runs} == {START + REPUBLISH}  # no other worker got a message


def max_concurrent_calls(calls, min_duration):
    """Return how many calls, of at least `min_duration` each, were open at the same time."""
    arrivals = [call.arrived_at for call in calls]
    return max(sum(arrival <= other < arrival + min_duration * 0.9 for other in arrivals) for arrival in arrivals)


def test_run_that_waited_too_long_for_a_slot_is_postponed(calling, target, make_worker, clock):
    calling("/slow/20", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1)
    take(worker, first)
    take(worker, second)

    clock.now += MAX_WAIT_FOR_SLOT
    worker.step(wait_s=0)

    second.refresh_from_db()
    assert (second.state, second.attempt_count, second.started_at) == (Run.State.WAITING, 0, None)
    assert second.publish_after == clock.now + BACKOFF_STEP
    assert not second.attempts.exists()
    assert ready_at(second.publish_after) == [second.pk]


def ready_at(now):
    return [run.id for run in claim_ready(now)]


@pytest.mark.parametrize(
    "wait_s, absence",
    [
        (2.01, 3 * BACKOFF_STEP),  # in steps, so that many runs come back in one batch
        (4, 4 * BACKOFF_STEP),
        (3600, MAX_BACKOFF_STEPS * BACKOFF_STEP),
    ],
)
def test_run_of_a_slow_host_is_postponed_at_once(calling, make_worker, monkeypatch, wait_s, absence):
    calling("/slow/20", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1)
    monkeypatch.setattr(worker.calls.limiter, "seconds_per_slot", lambda host: wait_s)
    monkeypatch.setattr(worker.calls.limiter, "reserve_slot", lambda host: wait_s)

    take(worker, first)
    take(worker, second)

    assert states(first, second) == [Run.State.RUNNING, Run.State.WAITING]
    assert second.publish_after == START + absence


def test_postponed_run_is_carried_out_when_it_is_published_again(calling, make_worker, clock):
    calling("/slow/0.2", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1)
    take(worker, first)
    take(worker, second)
    clock.now += MAX_WAIT_FOR_SLOT
    worker.step(wait_s=0)
    worker.run_until_idle()

    assert take(worker, second) == 1
    worker.run_until_idle()

    assert states(first, second) == [Run.State.SUCCEEDED] * 2


def test_retry_without_a_slot_stays_a_retry(calling, make_worker, clock, work):
    job = calling("/status/500", policy=TWICE_MORE)
    run = the_run()
    work(run)
    calling("/slow/20", name="other")
    (other,) = Run.objects.filter(pk__in=[run.id for run in dispatch_due(START)])
    clock.now += INTERVAL
    worker = make_worker(per_host=1)
    take(worker, other)
    take(worker, run)

    clock.now += MAX_WAIT_FOR_SLOT
    worker.step(wait_s=0)

    run.refresh_from_db()
    assert (run.state, run.attempt_count, run.not_before) == (Run.State.RETRYING, 1, START + INTERVAL)
    assert run.publish_after >= clock.now + BACKOFF_STEP
    assert counters(job) == (1, 1, 0)


def test_runs_of_other_hosts_do_not_wait_for_a_slow_host(calling, peer, make_worker):
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


def test_hosts_get_slots_in_turn(calling, peer, make_worker, monkeypatch):
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

    worker.calls.limiter.per_host = 10
    acquire = worker.calls.limiter.acquire
    monkeypatch.setattr(worker.calls.limiter, "acquire", lambda *target: grants and grants.pop() and acquire(*target))
    worker.step(wait_s=0)

    begun = Run.objects.filter(state=Run.State.RUNNING).values_list("job_name", flat=True)
    assert sorted(name[0] for name in begun) == ["a", "a", "b", "b"]


def test_tenants_with_few_waiting_runs_wait_for_a_busy_host_in_the_worker(calling, make_worker, monkeypatch):
    for number in range(5):
        calling("/slow/20", name=f"busy-{number}")
    subscription = Subscription.objects.create(name="other")
    calling(name="other", in_collection=JobCollection.objects.create(subscription=subscription, name="other"))
    *busy, other = dispatched()
    worker = make_worker(per_host=1)
    monkeypatch.setattr(worker.calls.limiter, "seconds_per_slot", lambda host: 0.6)

    take(worker, *busy)
    take(worker, other)

    postponed = Run.objects.exclude(publish_after=START + REPUBLISH)
    # one of the five runs has begun, and three wait for at most two seconds
    assert list(postponed.values_list("job__collection__name", flat=True)) == ["nightly"]


def test_calls_to_all_hosts_have_one_limit(calling, peer, make_worker):
    targets = [peer(Target) for _ in range(4)]
    for number in range(12):
        calling("/slow/0.1", name=f"job-{number}", at=targets[number % 4])
    runs = dispatched()
    worker = make_worker(limit=4)

    take(worker, *runs)
    worker.run_until_idle()

    calls = [call for target in targets for call in target.calls]
    assert set(states(*runs)) == {Run.State.SUCCEEDED}
    assert 2 <= max_concurrent_calls(calls, timedelta(seconds=0.1)) <= 4


def test_run_without_a_slot_does_not_block_other_runs_of_its_job(calling, make_worker, peer):
    """It has not begun, so the other run is not skipped as overlapping."""
    calling("/slow/20", name="a-slow")
    job = calling(name="b-job")
    (slow, first), (_, second) = dispatched(), dispatched(START + DAY)
    worker = make_worker(per_host=1)

    take(worker, slow)
    take(worker, first, second)

    assert states(first, second) == [Run.State.WAITING] * 2
    job.refresh_from_db()
    assert job.state == Job.State.ENABLED


def test_queued_run_does_not_overtake_a_run_without_a_slot(calling, make_worker, clock, peer):
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


def test_run_that_does_not_begin_takes_no_slot(calling, make_worker):
    stopped, job = calling(name="a-stopped"), calling(name="b-busy")
    runs = dispatched()
    (again,) = dispatched(START + DAY)[1:]
    lease([str(runs[1].pk)], "other", START)
    set_job_state(stopped, Job.State.DISABLED, START)
    worker = make_worker(per_host=1)

    assert take(worker, *runs, again) == 0

    assert states(*runs, again) == [Run.State.SKIPPED, Run.State.RUNNING, Run.State.SKIPPED]
    assert worker.calls.limiter.is_empty
    assert job.state == Job.State.ENABLED


def test_slot_is_released_when_the_database_fails(calling, make_worker, monkeypatch):
    calling()
    run = the_run()
    worker = make_worker()

    def fail(*arguments):
        raise DatabaseError("gone")

    monkeypatch.setattr(overlap, "admit", fail)
    with pytest.raises(DatabaseError):
        take(worker, run)

    assert worker.calls.limiter.is_empty


def test_shutdown_leaves_runs_that_wait_for_a_slot_to_other_workers(calling, make_worker, target):
    calling("/slow/20", name="a"), calling(name="b")
    first, second = dispatched()
    worker = make_worker(per_host=1, is_stopping=lambda: bool(target.calls))

    take(worker, first)
    take(worker, second)
    worker.run_until_idle()

    assert states(first, second) == [Run.State.RETRYING, Run.State.WAITING]
    assert second.publish_after == START + REPUBLISH
