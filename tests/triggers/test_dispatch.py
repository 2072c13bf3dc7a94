"""Dispatching: every due fire time becomes one run, and runs that can start are published to workers."""

from datetime import timedelta
from threading import Barrier, Thread

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Subscription
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from tests.conftest import NOW, utc
from tests.query_plans import add_runs, update_statistics
from triggers import closed_days, dispatch
from triggers.dispatch import BATCH, REPUBLISH, Dispatcher, claim_ready, dispatch_due
from triggers.misfire import SINGLE_LIMIT
from triggers.models import Trigger
from triggers.publisher import ReadyRun

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
START = utc("2026-01-05T08:00:00Z")
HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}
ONCE = {"startTime": "2026-01-05T08:00:00Z"}


class RecordingPublisher:
    """A publisher that is reachable or not, and records the published runs."""

    def __init__(self, reachable=True):
        self.reachable = reachable
        self.runs = []

    def is_reachable(self):
        return self.reachable

    def publish(self, runs):
        if self.reachable:
            self.runs += runs
        return self.reachable


def fire_times(**fields):
    return list(Run.objects.filter(**fields).order_by("fire_at").values_list("fire_at", flat=True))


def trigger_of(job):
    return Trigger.objects.get(job=job)


# Runs


def test_due_fire_time_becomes_a_run(make_job):
    job = make_job(schedule=HOURLY)

    published = dispatch_due(START)

    run = Run.objects.get()
    assert published == [ReadyRun("default", run.pk, run.subscription_id)]
    assert (run.job, run.action, run.subscription) == (job, job.action, job.collection.subscription)
    assert (run.collection_name, run.job_name, run.trigger_name) == ("nightly", "backup", "default")
    assert (run.fire_at, run.occurrence, run.is_last) == (START, 1, False)
    assert (run.state, run.origin, run.queue) == (Run.State.WAITING, Run.Origin.SCHEDULE, "default")
    assert (run.publish_after, run.created_at) == (START + REPUBLISH, START)


def test_trigger_is_not_dispatched_early(make_job):
    make_job(schedule=HOURLY)

    assert dispatch_due(START - timedelta(microseconds=1)) == []
    assert not Run.objects.exists()


def test_a_dispatched_trigger_waits_for_its_next_fire_time(make_job):
    job = make_job(schedule=HOURLY)

    dispatch_due(START)

    trigger = trigger_of(job)
    assert (trigger.previous_fire_at, trigger.next_fire_at, trigger.fire_count) == (START, START + HOUR, 1)


def test_second_pass_dispatches_nothing(make_job):
    make_job(schedule=HOURLY)
    dispatch_due(START)

    assert dispatch_due(START) == []
    assert Run.objects.count() == 1


def test_fire_time_that_is_due_again_creates_no_second_run(make_job):
    job = make_job(schedule=HOURLY)
    dispatch_due(START)
    Trigger.objects.filter(job=job).update(next_fire_at=START)  # as after a clock was set back or a backup was restored

    dispatch_due(START)

    assert fire_times() == [START]


@pytest.mark.parametrize(
    "overlap, key",
    [("allow", None), ("skip", "job:{}"), ("queue_one", "job:{}"), ("queue_all", "job:{}")],
)
def test_only_runs_that_may_overlap_have_no_lock(make_job, overlap, key):
    job = make_job(schedule=HOURLY, overlap=overlap)

    dispatch_due(START)

    assert Run.objects.get().lock_key == (key and key.format(job.pk))


def test_triggers_are_dispatched_in_batches(make_job):
    job = make_job(schedule=HOURLY)
    trigger = trigger_of(job)
    Trigger.objects.bulk_create(
        Trigger(
            job=job,
            name=f"trigger-{number}",
            definition=trigger.definition,
            anchored_at=trigger.anchored_at,
            next_fire_at=START,
        )
        for number in range(BATCH)
    )

    assert len(dispatch_due(START)) == BATCH
    assert len(dispatch_due(START)) == 1
    assert len(dispatch_due(START)) == 0


@pytest.fixture
def make_tenant():
    def make(name: str) -> JobCollection:
        return JobCollection.objects.create(subscription=Subscription.objects.create(name=name), name=name)

    return make


@pytest.fixture
def make_due_triggers(make_job):
    def make(count: int, in_collection, due_at=START, name="many", **fields) -> Job:
        job = make_job(name, schedule=HOURLY, in_collection=in_collection, overlap="allow", now=due_at)
        trigger = trigger_of(job)
        fields = {"definition": trigger.definition, "anchored_at": due_at, "next_fire_at": due_at} | fields
        Trigger.objects.bulk_create(Trigger(job=job, name=f"trigger-{number}", **fields) for number in range(count))
        trigger.delete()
        return job

    return make


def test_many_due_triggers_of_a_subscription_do_not_delay_those_of_another(make_due_triggers, collection, make_tenant):
    make_due_triggers(2 * BATCH, collection)
    other_job = make_due_triggers(3, make_tenant("other"), due_at=START + SECOND)

    dispatch_due(START + SECOND)

    assert Run.objects.filter(job=other_job).count() == 3
    assert Run.objects.exclude(job=other_job).count() == BATCH


def test_many_waiting_runs_of_a_subscription_do_not_delay_those_of_another(make_due_triggers, collection, make_tenant):
    make_due_triggers(2 * BATCH, collection)
    other_job = make_due_triggers(3, make_tenant("other"))
    while dispatch_due(START):
        pass

    claimed = claim_ready(START + REPUBLISH)

    assert {run.id for run in claimed} >= set(Run.objects.filter(job=other_job).values_list("pk", flat=True))
    assert len({run.id for run in claimed}) == len(claimed)
    assert len(claimed) <= BATCH + 3


def test_subscription_without_many_triggers_in_a_full_batch_waits_for_its_turn(
    make_due_triggers, make_tenant, collection
):
    for number in range(10):
        make_due_triggers(BATCH // 10, make_tenant(f"tenant-{number}"))
    last_job = make_due_triggers(1, collection, due_at=START + SECOND)

    assert len(dispatch_due(START + SECOND)) == BATCH
    assert not Run.objects.filter(job=last_job).exists()
    assert len(dispatch_due(START + SECOND)) == 1


def test_triggers_of_searched_formats_get_places_in_a_full_batch(make_due_triggers, collection):
    make_due_triggers(2 * BATCH, collection)
    rule = {"start": {"dateTime": "2026-01-05T08:00:01", "timeZone": "UTC"}, "rrule": "FREQ=DAILY"}
    searched_job = make_due_triggers(
        1, collection, due_at=START + SECOND, name="searched", format="rrule", definition=rule
    )

    dispatch_due(START + SECOND)

    assert Run.objects.filter(job=searched_job).count() == 1


def test_longest_overdue_triggers_are_dispatched_first(make_job, monkeypatch):
    monkeypatch.setattr(dispatch, "BATCH", 1)
    make_job("later", schedule={"startTime": "2026-01-05T08:00:20Z"})
    make_job("sooner", schedule={"startTime": "2026-01-05T08:00:10Z"})

    dispatch_due(START + timedelta(minutes=1))

    assert Run.objects.get().job_name == "sooner"


def test_disabled_job_is_not_due(make_job):
    make_job(schedule=HOURLY, state="disabled")

    assert dispatch_due(START) == []


# The end of a schedule


def test_run_of_a_single_start_is_the_last_of_its_job(make_job):
    job = make_job(schedule=ONCE)

    dispatch_due(START)

    assert Run.objects.get().is_last
    assert trigger_of(job).next_fire_at is None


def test_runs_use_up_the_count_of_a_schedule(make_job):
    job = make_job(schedule={**HOURLY, "recurrence": {"frequency": "Hour", "count": 2}})

    dispatch_due(START)
    assert trigger_of(job).fires_left == 1
    dispatch_due(START + HOUR)

    assert list(Run.objects.order_by("fire_at").values_list("occurrence", "is_last")) == [(1, False), (2, True)]
    assert (trigger_of(job).fires_left, trigger_of(job).next_fire_at) == (0, None)


def test_run_is_not_the_last_while_another_trigger_of_the_job_fires(make_job):
    job = make_job(schedule=ONCE)
    Trigger.objects.create(job=job, name="hourly", definition=HOURLY, anchored_at=NOW, next_fire_at=START + HOUR)

    dispatch_due(START)

    assert not Run.objects.get().is_last


def test_run_is_not_the_last_of_a_job_with_another_trigger_that_has_ended(make_job):
    job = make_job(schedule=ONCE)
    spent = {"expression": "0 0 8 5 1 ? 2026"}
    Trigger.objects.create(job=job, name="spent", format="quartz", definition=spent, anchored_at=NOW)

    dispatch_due(START)

    assert not Run.objects.get().is_last


def test_triggers_due_at_the_same_time_are_ordered_by_priority_lowest_number_first(make_job):
    for name, priority in (("late", 9), ("early", 1), ("middle", 5)):
        Trigger.objects.filter(job=make_job(name, schedule=ONCE)).update(priority=priority)

    ids = [run.id for run in dispatch_due(START)]

    names = dict(Run.objects.values_list("pk", "job_name"))
    assert [names[run_id] for run_id in ids] == ["early", "middle", "late"]


def test_a_job_whose_last_fire_times_are_missed_is_completed(make_job):
    job = make_job(schedule=ONCE, misfire="skip")
    now = START + HOUR

    dispatch_due(now)

    job.refresh_from_db()
    assert Run.objects.get().state == Run.State.MISSED
    assert (job.state, job.finished_at) == (Job.State.COMPLETED, now)


# Missed


def test_missed_fire_times_are_recorded_as_missed_runs(make_job):
    make_job(schedule=HOURLY)
    now = START + 2.5 * HOUR

    published = dispatch_due(now)

    assert fire_times(state=Run.State.MISSED) == [START, START + HOUR]
    assert fire_times(state=Run.State.WAITING) == [START + 2 * HOUR]
    assert len(published) == 1
    missed = Run.objects.filter(state=Run.State.MISSED).first()
    assert (missed.missed_count, missed.missed_until, missed.finished_at, missed.occurrence) == (1, None, now, None)
    assert "misfire threshold" in missed.reason


def test_many_missed_fire_times_become_one_run_with_a_count(make_job):
    make_job(schedule=HOURLY)

    dispatch_due(START + (SINGLE_LIMIT + 1.5) * HOUR)

    missed = Run.objects.get(state=Run.State.MISSED)
    assert missed.missed_count == SINGLE_LIMIT + 1
    assert (missed.fire_at, missed.missed_until) == (START, START + SINGLE_LIMIT * HOUR)
    assert fire_times(state=Run.State.WAITING) == [START + (SINGLE_LIMIT + 1) * HOUR]


def test_missed_fire_times_do_not_count_as_occurrences(make_job):
    job = make_job(schedule={**HOURLY, "recurrence": {"frequency": "Hour", "count": 3}})

    dispatch_due(START + 2.5 * HOUR)

    assert Run.objects.get(state=Run.State.WAITING).occurrence == 1
    assert (trigger_of(job).fire_count, trigger_of(job).fires_left) == (1, 2)


def test_batches_are_smaller_when_triggers_have_many_due_fire_times(make_job, monkeypatch):
    monkeypatch.setattr(dispatch, "TIMES", 10)
    for number in range(3):
        make_job(f"job-{number}", schedule=HOURLY)
    now = START + 9.5 * HOUR  # ten fire times for each trigger

    assert len(dispatch_due(now)) == 1
    assert len(dispatch_due(now)) == 1
    assert len(dispatch_due(now)) == 1


# A schedule that cannot be parsed


def test_trigger_with_an_invalid_schedule_is_stopped_with_a_failed_run_and_others_are_dispatched(make_job, caplog):
    broken, valid = make_job("broken", schedule=HOURLY), make_job("valid", schedule=HOURLY)
    Trigger.objects.filter(job=broken).update(definition={"recurrence": {"frequency": "Fortnight"}})

    published = dispatch_due(START)

    assert [Run.objects.get(pk=run.id).job for run in published] == [valid]
    failed = Run.objects.get(job=broken)
    assert (failed.state, failed.fire_at, failed.finished_at) == (Run.State.FAILED, START, START)
    assert "Fortnight" in failed.reason
    assert trigger_of(broken).next_fire_at is None
    assert "cannot be followed" in caplog.text


# Messages


def test_runs_are_published_after_their_transaction(make_job):
    make_job(schedule=HOURLY)
    publisher = RecordingPublisher()

    wakes_at = Dispatcher(publisher).run(START)

    assert [(run.queue, run.id) for run in publisher.runs] == [("default", Run.objects.get().pk)]
    assert wakes_at == START + REPUBLISH  # when the run would be published again


def test_run_with_a_lost_message_is_published_again(make_job):
    make_job(schedule=HOURLY)
    dispatch_due(START)  # as a process that died before it published the run
    publisher = RecordingPublisher()

    Dispatcher(publisher).run(START + REPUBLISH - timedelta(seconds=1))
    assert publisher.runs == []
    Dispatcher(publisher).run(START + REPUBLISH)

    assert [(run.queue, run.id) for run in publisher.runs] == [("default", Run.objects.get().pk)]
    assert Run.objects.get().publish_after == START + 2 * REPUBLISH


def test_manual_run_is_published_by_the_next_pass(make_job):
    run = run_now(make_job(), NOW)
    publisher = RecordingPublisher()

    Dispatcher(publisher).run(NOW)

    assert publisher.runs == [ReadyRun("default", run.pk, run.subscription_id)]


@pytest.mark.parametrize("state", [state for state in Run.State if state not in Run.PENDING])
def test_only_pending_runs_are_published(make_job, state):
    run = run_now(make_job(), NOW)
    Run.objects.filter(pk=run.pk).update(state=state)

    assert claim_ready(NOW + HOUR) == []


def test_fire_times_become_runs_without_a_broker(make_job):
    make_job(schedule=HOURLY)
    dispatcher = Dispatcher(RecordingPublisher(reachable=False))

    # runs to publish wait for the broker; they are no reason for another pass
    assert dispatcher.run(START) == START + HOUR
    assert fire_times() == [START]
    assert dispatcher.run(START + REPUBLISH) == START + HOUR
    assert Run.objects.get().publish_after == START


def test_pass_without_triggers_has_no_next_wake_time(db):
    assert Dispatcher(RecordingPublisher()).run(NOW) is None


# Cost and competition


@pytest.mark.parametrize("misfire_late", [timedelta(0), 2.5 * HOUR])
def test_number_of_queries_of_a_pass_does_not_depend_on_the_number_of_jobs(make_job, misfire_late):
    dispatcher = Dispatcher(RecordingPublisher())
    make_job("one", schedule=HOURLY)
    with CaptureQueriesContext(connection) as for_one:
        dispatcher.run(START + misfire_late)
    Run.objects.all().delete()
    Trigger.objects.all().delete()
    for number in range(20):
        make_job(f"job-{number}", schedule=HOURLY)

    with CaptureQueriesContext(connection) as for_twenty:
        dispatcher.run(START + misfire_late)

    assert Run.objects.count() >= 20
    assert len(for_twenty) == len(for_one) <= 14


def test_idle_pass_takes_two_queries(make_job, django_assert_num_queries):
    make_job(schedule=HOURLY)

    with django_assert_num_queries(2):
        Dispatcher(RecordingPublisher()).run(NOW)


@pytest.mark.django_db(transaction=True)
def test_concurrent_dispatchers_create_every_run_once(make_job):
    job = make_job(schedule=HOURLY)
    trigger = trigger_of(job)
    total = 3 * BATCH
    Trigger.objects.bulk_create(
        Trigger(
            job=job,
            name=f"trigger-{number}",
            definition=trigger.definition,
            anchored_at=trigger.anchored_at,
            next_fire_at=START,
        )
        for number in range(total - 1)
    )
    publishers = [RecordingPublisher(), RecordingPublisher(), RecordingPublisher()]
    together = Barrier(len(publishers))

    def run_passes(publisher):
        together.wait()
        dispatcher = Dispatcher(publisher)
        while dispatcher.run(START) <= START:
            pass
        connection.close()

    threads = [Thread(target=run_passes, args=(publisher,)) for publisher in publishers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    published = [run.id for publisher in publishers for run in publisher.runs]
    assert Run.objects.count() == len(published) == len(set(published)) == total
    assert set(Trigger.objects.values_list("fire_count", flat=True)) == {1}


def test_dispatching_uses_indexes(make_job):
    job = make_job(schedule=HOURLY)
    same = {"definition": trigger_of(job).definition, "anchored_at": NOW}
    Trigger.objects.bulk_create(
        Trigger(job=job, name=f"trigger-{number}", next_fire_at=START + number * SECOND, **same)
        for number in range(2000)
    )
    update_statistics(Trigger)
    add_runs(job)

    plans = [
        Trigger.objects.due(START)[:BATCH].explain(),
        Run.objects.ready(START)[:BATCH].explain(),
        Run.objects.expired(START).explain(),
        Run.objects.filter(lock_key__in=["job:1"], state__in=[Run.State.RUNNING, Run.State.RETRYING]).explain(),
    ]

    indexes = ["trigger_due", "run_ready", "run_leased", "run_lock"]
    if connection.vendor == "sqlite":  # it cannot match a parameter with the state of a partial index
        indexes[1:] = ["run_by_state"] * 3
    for plan, index in zip(plans, indexes, strict=True):
        assert index in plan


@pytest.mark.parametrize(
    "format, definition",
    [
        (
            "rrule",
            {"start": {"dateTime": "2026-01-05T07:00:00", "timeZone": "UTC"}, "rrule": "FREQ=YEARLY;BYYEARDAY=5"},
        ),
        ("solar", {"event": "noon", "latitude": 52, "longitude": 13, "extras": ["2026-01-05T07:00:00Z"]}),
        ("quartz", {"expression": "0 0 7 ? * MON", "closedDays": {"calendar": "offices", "rule": "skip"}}),
    ],
)
def test_triggers_that_take_long_to_search_leave_time_and_places_to_others(
    make_job, make_trigger, monkeypatch, format, definition
):
    monkeypatch.setattr(dispatch, "BATCH", 3)
    monkeypatch.setattr(dispatch, "MAX_SEARCH_S", 1e-9)
    searched_job = make_job("searched", schedule={"startTime": "2026-02-05T08:00:00Z"})
    closed_days.create(searched_job.collection.subscription, "offices", {"weekend": ["sunday"]}, START)
    for number in range(4):
        make_trigger(searched_job, f"rule-{number}", format=format, definition=definition)
    Trigger.objects.exclude(name="default").update(next_fire_at=START - HOUR, misfire=Trigger.Misfire.FIRE_ALL)
    make_job("later", schedule=HOURLY)

    names = []
    for _ in range(4):
        dispatch_due(START)
        names.append(sorted(Run.objects.values_list("trigger_name", flat=True)))

    assert names[0] == ["default", "rule-0"]
    assert names[3] == ["default", "rule-0", "rule-1", "rule-2", "rule-3"]


def test_run_that_closed_days_move_keeps_its_time_by_the_rule(api, make_job, make_trigger, client, owner):
    api.post("/api/closed-days", {"name": "offices", "weekend": ["saturday", "sunday"]})
    moves = {"expression": "0 0 8 ? * SAT,SUN", "closedDays": {"calendar": "offices", "rule": "after"}}
    job = make_job(schedule=None)
    saturday = utc("2026-01-03T00:00Z")
    make_trigger(job, "moves", definition=moves, now=saturday)
    make_trigger(job, "daily", definition={**moves, "expression": "0 0 8 * * ?"}, now=saturday)
    make_trigger(job, "plain", definition={"expression": "0 0 8 * * ?"}, now=START - HOUR)

    dispatch_due(START)

    moved = dict(Run.objects.filter(fire_at=START).values_list("trigger_name", "moved_from"))
    assert moved == {"moves": utc("2026-01-04T08:00Z"), "daily": None, "plain": None}
    client.force_login(owner)
    with time_machine.travel(START, tick=False):
        page = client.get(f"/admin/jobs/run/{Run.objects.get(trigger_name='moves').pk}/change/", follow=True).text
    assert "moved from yesterday 08:00 by closed days" in page
