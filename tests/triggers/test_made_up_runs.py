"""Made-up runs of `fire_all`: they run one after the other, with every overlap policy."""

import random
from collections import Counter
from datetime import timedelta
from threading import Barrier, Lock, Thread

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from jobs.actions import AttemptResult
from jobs.models import Job, Run
from jobs.worker.leasing import lease
from jobs.worker.overlap import BUSY, QUEUE_CHECK, TAKEN
from jobs.worker.results import record
from tests.conftest import ACTION
from tests.query_plans import add_runs
from tests.triggers.rows import HOUR, MINUTE, START
from triggers.dispatch import dispatch_due

pytestmark = pytest.mark.django_db

HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}
BACK = START + 3 * HOUR + 2 * MINUTE  # when a scheduler that stopped before START runs again
RETRY = {"retryType": "Fixed", "retryCount": 1, "retryInterval": "PT15S"}
POLICIES = Job.Overlap.values


@pytest.fixture
def make_late(make_job):
    """Return a function that creates a job with made-up runs for the fire times of four hours."""

    def make(overlap: str = "skip", **fields) -> Job:
        job = make_job(schedule=HOURLY, overlap=overlap, misfire="fire_all", **fields)
        dispatch_due(BACK)
        return job

    return make


def waiting() -> list[str]:
    return [str(pk) for pk in Run.objects.filter(state__in=Run.PENDING).values_list("pk", flat=True)]


def begin(now=BACK, ids=None) -> list:
    """Lease the waiting runs, given newest first."""
    return lease(ids or waiting()[::-1], "worker", now)


def end(items, now=BACK, outcome=None) -> None:
    record([(item, outcome or AttemptResult(True, "done")) for item in items], now)


def states_by_hour() -> dict[int, str]:
    """Return the states of the runs by their hours since START."""
    rows = Run.objects.order_by("fire_at").values_list("fire_at", "state")
    return {int((fire_at - START) / HOUR): state for fire_at, state in rows}


@pytest.mark.parametrize("overlap", POLICIES)
def test_made_up_runs_run_one_after_the_other_in_the_order_of_their_fire_times(make_late, overlap):
    make_late(overlap)

    for hour in range(4):
        (item,) = begin()
        assert item.run.fire_at == START + hour * HOUR
        assert begin() == []
        end([item])

    assert set(states_by_hour().values()) == {Run.State.SUCCEEDED}


def test_made_up_run_that_is_retried_blocks_the_next_one(make_late):
    make_late(action=ACTION | {"retryPolicy": RETRY})
    end(begin(), outcome=AttemptResult(False, "no"))

    assert begin() == []

    assert states_by_hour() == {0: "retrying", 1: "waiting", 2: "waiting", 3: "waiting"}


@pytest.mark.parametrize("overlap", ["queue_one", "queue_all", "skip"])
def test_made_up_runs_wait_for_an_earlier_run(make_job, overlap):
    make_job(schedule=HOURLY, overlap=overlap, misfire="fire_all")
    dispatch_due(START)
    (before,) = begin(START)
    dispatch_due(BACK)

    assert begin() == []
    end([before])

    assert [item.run.fire_at for item in begin()] == [START + HOUR]


@pytest.mark.parametrize(
    "overlap, state, reason",
    [
        ("skip", Run.State.SKIPPED, BUSY),
        ("queue_one", Run.State.WAITING, ""),  # made-up runs do not count toward the queue limit
        ("queue_all", Run.State.WAITING, ""),
        ("allow", Run.State.RUNNING, ""),
    ],
)
def test_new_run_follows_the_overlap_policy(make_late, overlap, state, reason):
    make_late(overlap)
    begin()
    now = START + 4 * HOUR
    dispatch_due(now)

    begin(now)

    new = Run.objects.get(fire_at=now)
    assert (new.state, new.reason) == (state, reason)
    assert [states_by_hour()[hour] for hour in range(4)] == ["running", "waiting", "waiting", "waiting"]


def test_queued_new_run_runs_after_the_made_up_runs(make_late):
    make_late("queue_one")
    now = START + 4 * HOUR
    dispatch_due(now)

    order = []
    while items := begin(now):
        order += [item.run.fire_at for item in items]
        end(items, now)

    assert order == [START + hour * HOUR for hour in range(5)]


def test_new_run_does_not_start_between_two_made_up_runs(make_late):
    make_late("skip")
    end(begin())
    now = START + 4 * HOUR
    dispatch_due(now)
    new = Run.objects.get(fire_at=now)

    assert begin(now, [str(new.pk)]) == []

    new.refresh_from_db()
    assert (new.state, new.reason) == (Run.State.SKIPPED, BUSY)
    assert new.blocked_by == Run.objects.get(fire_at=START + HOUR).pk
    assert [item.run.fire_at for item in begin(now)] == [START + HOUR]


def test_new_run_of_another_job_with_the_same_lock_key_starts_between_two_made_up_runs(make_job, make_trigger):
    job, other = make_job("one", schedule=None), make_job("two", schedule=None)
    key = {"custom_lock_key": "shared"}
    make_trigger(job, now=START, data_map=key, misfire="fire_all")
    dispatch_due(BACK)
    end(begin())
    make_trigger(other, now=BACK, data_map=key)
    dispatch_due(START + 4 * HOUR)
    new = Run.objects.get(job=other)

    assert [item.run.pk for item in begin(START + 4 * HOUR, [str(new.pk)])] == [new.pk]


def test_queue_of_made_up_runs_is_found_by_an_index(make_late):
    add_runs(make_late("skip"))
    end(begin())
    dispatch_due(START + 4 * HOUR)
    new = Run.objects.get(fire_at=START + 4 * HOUR)

    with CaptureQueriesContext(connection) as captured:
        begin(START + 4 * HOUR, [str(new.pk)])

    [query] = [each["sql"] for each in captured if "UNION ALL" in each["sql"]]
    with connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {query}")
        plan = str(cursor.fetchall())
    assert "run_made_up" in plan
    assert "run_lock" in plan


def test_made_up_run_released_from_a_hold_still_waits_for_earlier_ones(make_late):
    make_late("skip")
    (first,) = begin()
    held = Run.objects.get(fire_at=START + HOUR)
    Run.objects.filter(pk=held.pk).update(reason="")  # as after the end of a hold

    assert begin(BACK, [str(held.pk)]) == []

    held.refresh_from_db()
    assert (held.state, held.blocked_by) == (Run.State.WAITING, first.run.pk)


def test_fire_time_in_time_runs_after_the_late_ones_found_with_it(make_job):
    make_job(schedule=HOURLY, misfire="fire_all")
    dispatch_due(START + 2 * HOUR)

    for _ in range(3):
        end(begin())

    assert states_by_hour() == dict.fromkeys(range(3), Run.State.SUCCEEDED)


def test_fire_times_in_time_are_not_made_up(make_job, make_trigger):
    job = make_job(schedule=None)
    make_trigger(job, definition={"expression": "*/10 * * * * ?"}, now=START, misfire="fire_all")
    dispatch_due(START + timedelta(seconds=20))

    begin()

    assert sorted(Run.objects.values_list("state", "reason")) == [("running", ""), ("skipped", BUSY), ("skipped", BUSY)]


@pytest.mark.parametrize("misfire", ["fire_once", "skip"])
def test_other_misfire_policies_create_no_made_up_runs(make_job, misfire):
    make_job(schedule=HOURLY, misfire=misfire)

    dispatch_due(BACK)

    assert not Run.objects.filter(is_made_up=True).exists()


def test_made_up_runs_of_a_trigger_with_a_lock_key_queue_for_that_key(make_job, make_trigger):
    job, other = make_job("one", schedule=None), make_job("two", schedule=None)
    key = {"custom_lock_key": "shared"}
    make_trigger(job, now=START, data_map=key, misfire="fire_all")
    make_trigger(other, now=START + 3 * HOUR, data_map=key)
    dispatch_due(BACK)

    (first,) = begin()
    assert first.run.fire_at == START
    assert Run.objects.get(job=other).reason == TAKEN  # a new run that finds its key taken is skipped
    end([first])

    assert [item.run.fire_at for item in begin()] == [START + HOUR]


def test_end_of_a_made_up_run_publishes_the_next_one_at_once(make_late):
    make_late()
    items = begin()
    assert Run.objects.ready(BACK + QUEUE_CHECK / 2).count() == 0

    end(items, BACK + MINUTE / 30)

    assert [run.fire_at for run in Run.objects.ready(BACK + MINUTE / 30)] == [START + HOUR]


def test_made_up_run_has_a_reason_until_it_ends(make_late):
    make_late()
    assert set(Run.objects.values_list("reason", flat=True)) == {"made up for, after the runs before it"}

    end(begin(), outcome=AttemptResult(False, "no", may_retry=False))

    assert Run.objects.get(fire_at=START).reason == ""


def test_last_made_up_run_ends_its_job(make_job):
    counted = HOURLY | {"recurrence": {"frequency": "Hour", "count": 3}}
    job = make_job(schedule=counted, misfire="fire_all")
    dispatch_due(BACK)

    for _ in range(3):
        assert Job.objects.get().state == Job.State.ENABLED
        end(begin())

    job.refresh_from_db()
    assert job.state == Job.State.COMPLETED


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("overlap", POLICIES)
def test_several_workers_run_made_up_runs_in_order(make_late, overlap):
    make_late(overlap)
    dispatch_due(START + 3 * HOUR)  # no new fire time
    log, guard, together = [], Lock(), Barrier(4)

    def work(name):
        together.wait()
        try:
            while ids := waiting():
                random.Random(name).shuffle(ids)
                try:
                    items = lease(ids, name, BACK)
                except OperationalError:  # SQLite allows one writer at a time
                    continue
                for item in items:
                    with guard:
                        log.append((item.run.fire_at, "begins"))
                    with guard:
                        log.append((item.run.fire_at, "ends"))
                    end([item])
        finally:
            connection.close()

    threads = [Thread(target=work, args=(f"worker {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert log == [(START + hour * HOUR, what) for hour in range(4) for what in ("begins", "ends")]
    assert Counter(states_by_hour().values()) == {Run.State.SUCCEEDED: 4}
