"""`custom_lock_key` in a trigger's data map: runs with equal keys never run at the same time."""

from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection

from accounts.models import Subscription
from api.errors import Invalid
from jobs.actions import AttemptResult
from jobs.models import JobCollection, Run
from jobs.run_now import run_now
from jobs.worker.leasing import LEASE, lease
from jobs.worker.overlap import BUSY, ORGANIZATION, TAKEN
from jobs.worker.rescue import rescue_expired
from jobs.worker.results import record
from tests.conftest import ACTION, utc
from triggers.dispatch import dispatch_due
from triggers.scheduling import LOCK_KEY_LIMIT

pytestmark = pytest.mark.django_db

START = utc("2026-01-05T08:00:00Z")
HOUR = timedelta(hours=1)
KEY = {"custom_lock_key": "mint.scheduler.__ORG_ID__.charge_daily@@@management"}
RETRY = {"retryType": "Fixed", "retryCount": 1, "retryInterval": "PT15S"}


@pytest.fixture
def locked_pair(make_job, make_trigger):
    """Triggers of two jobs, due at START, with one key."""
    for number in (1, 2):
        job = make_job(f"job-{number}", schedule=None, action=ACTION | {"retryPolicy": RETRY})
        make_trigger(job, f"t{number}", now=START, data_map=KEY, priority=number)


def due(now=START) -> list[str]:
    return [str(run.id) for run in dispatch_due(now)]


def states() -> dict[str, str]:
    return dict(Run.objects.order_by("fire_at", "priority").values_list("trigger_name", "state"))


def test_run_whose_lock_key_is_taken_is_skipped_with_the_reason(locked_pair):
    leased = lease(due(), "worker", START)

    assert [item.run.trigger_name for item in leased] == ["t1"]  # the lower priority number goes first
    assert states() == {"t1": Run.State.RUNNING, "t2": Run.State.SKIPPED}
    loser = Run.objects.get(trigger_name="t2")
    assert (loser.reason, loser.finished_at, loser.blocked_by) == (TAKEN, START, leased[0].run.pk)


def test_run_whose_lock_key_is_taken_by_another_worker_is_skipped(locked_pair):
    first, second = due()
    lease([first], "one", START)

    assert lease([second], "another", START) == []
    assert states() == {"t1": Run.State.RUNNING, "t2": Run.State.SKIPPED}


def test_lock_key_is_free_after_the_end_of_the_run(locked_pair):
    record([(item, AttemptResult(True, "done")) for item in lease(due()[:1], "worker", START)], START)
    Run.objects.exclude(state=Run.State.SUCCEEDED).delete()

    (item,) = lease(due(START + HOUR)[1:], "worker", START + HOUR)

    assert item.run.trigger_name == "t2"


def test_run_between_two_attempts_holds_its_lock_key(locked_pair):
    first, second = due()
    record([(item, AttemptResult(False, "no")) for item in lease([first], "worker", START)], START)

    assert lease([second], "worker", START) == []

    assert states() == {"t1": Run.State.RETRYING, "t2": Run.State.SKIPPED}


def test_lock_of_a_vanished_worker_ends_with_its_lease(locked_pair):
    first, second = due()
    lease([first], "dead", START)
    Run.objects.filter(pk=first).update(attempt_count=2, failed_count=1)  # its last attempt

    assert rescue_expired(START + LEASE) == 0
    assert rescue_expired(START + LEASE + timedelta(seconds=1)) == 1

    (item,) = lease([second], "worker", START + LEASE + timedelta(seconds=1))
    assert item.run.trigger_name == "t2"


def test_lock_key_replaces_the_lock_of_the_job(make_job, make_trigger):
    """Other runs of the job may run together with a run with a key: the key alone defines what excludes what."""
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"})
    make_trigger(job, now=START, data_map=KEY)

    leased = lease(due(), "worker", START)

    assert sorted(item.run.trigger_name for item in leased) == ["default", "hourly"]
    assert run_now(job, START).lock_key == f"job:{job.pk}"


def test_triggers_of_one_job_without_a_key_share_the_lock_of_the_job(make_job, make_trigger):
    job = make_job(schedule=None)
    make_trigger(job, "one", now=START, priority=1), make_trigger(job, "two", now=START, priority=2)

    lease(due(), "worker", START)

    assert states() == {"one": Run.State.RUNNING, "two": Run.State.SKIPPED}
    assert Run.objects.get(trigger_name="two").reason == BUSY


def test_queue_policy_does_not_apply_to_runs_with_a_lock_key(make_job, make_trigger):
    jobs = [make_job(name, schedule=None, overlap="queue_all") for name in ("a", "b")]
    for job in jobs:
        make_trigger(job, now=START, data_map=KEY)

    lease(due(), "worker", START)

    assert sorted(Run.objects.values_list("state", flat=True)) == [Run.State.RUNNING, Run.State.SKIPPED]


@pytest.mark.parametrize("key", ["mint.__ORG_ID__.x", "the-same-everywhere"])
def test_lock_keys_of_different_subscriptions_are_independent(make_job, make_trigger, key):
    other = JobCollection.objects.create(subscription=Subscription.objects.create(name="other"), name="theirs")
    ours, theirs = make_job("ours", schedule=None), make_job("theirs", schedule=None, in_collection=other)
    for job in (ours, theirs):
        make_trigger(job, now=START, data_map={"custom_lock_key": key})

    assert len(lease(due(), "worker", START)) == 2


def test_placeholder_in_a_lock_key_is_stored_unchanged(make_job, make_trigger, subscription):
    trigger = make_trigger(make_job(), data_map=KEY)

    trigger.refresh_from_db()

    assert trigger.data_map == KEY
    assert trigger.lock_key == f"key:{subscription.pk}:mint.scheduler.{subscription.pk}.charge_daily@@@management"


@pytest.mark.parametrize("data_map", [{}, {"custom_lock_key": ""}, {"custom_lock_key": None}, {"other": 1}])
def test_empty_lock_key_is_no_lock_key(make_job, make_trigger, data_map):
    assert make_trigger(make_job(), data_map=data_map).lock_key is None


def test_longest_lock_key_fits_its_column(make_job, make_trigger):
    key = "x" * (LOCK_KEY_LIMIT - len(ORGANIZATION)) + ORGANIZATION

    assert make_trigger(make_job(), data_map={"custom_lock_key": key}).lock_key.endswith("0001")


def test_lock_key_that_becomes_too_long_is_refused(make_job, make_trigger):
    with pytest.raises(Invalid) as refusal:
        make_trigger(make_job(), data_map={"custom_lock_key": ORGANIZATION * 12})

    assert refusal.value.path == "triggerDataMap.custom_lock_key"


@pytest.mark.django_db(transaction=True)
def test_runs_with_one_lock_key_never_run_together_across_workers(make_job, make_trigger):
    for number in range(8):
        make_trigger(make_job(f"job-{number}", schedule=None), now=START, data_map=KEY)
    ids = due()
    together = Barrier(4)
    taken = []

    def work(number):
        together.wait()
        taken.extend(lease(ids[number::4], f"worker {number}", START))
        connection.close()

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(taken) == 1
    assert Run.objects.filter(state=Run.State.RUNNING).count() == 1
    assert set(Run.objects.filter(state=Run.State.SKIPPED).values_list("reason", flat=True)) == {TAKEN}
    assert Run.objects.filter(state=Run.State.SKIPPED).count() == 7
