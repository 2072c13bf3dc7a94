"""Jobs are stopped, changed or deleted at the moment at which they are dispatched or carried out.

Two connections compete.  On SQLite the second waits for the first; on PostgreSQL they run together, separated only by
row locks.
"""

import time
from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread

import pytest
from django.db import connection, transaction

from accounts.models import Subscription
from api.errors import Conflict
from jobs.actions.result import AttemptResult
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from jobs.worker import results as worker_results
from jobs.worker.execution import write_with_retry
from jobs.worker.leasing import lease
from tests.conftest import ACTION, NOW, utc
from triggers import dispatch, next_fire
from triggers.definitions import TriggerDefinition
from triggers.deletion import delete_collection, delete_job
from triggers.models import Trigger
from triggers.scheduling import delete_trigger, patch_job, save_collection, save_trigger, set_job_state

pytestmark = pytest.mark.django_db(transaction=True)

DUE = utc("2026-01-05T08:00:00Z")
PAUSE_S = 0.4  # between the locks of one function and its writes, so that the other function runs in between


def at_once(first, second, first_is_midway: Event) -> list[Exception]:
    """Run both in their own connections, the second when the first is midway; return the exceptions they raised."""
    raised = []

    def run(work, after=None):
        try:
            if after:
                after.wait(5)
            work()
        except Exception as error:
            raised.append(error)
        finally:
            connection.close()

    threads = [Thread(target=run, args=(first,)), Thread(target=run, args=(second, first_is_midway))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return raised


@pytest.fixture
def midway(monkeypatch):
    """An event that is set when the dispatcher has locked its triggers; the dispatcher then waits."""
    event = Event()
    plan = dispatch._mark_last

    def lingering(visits):
        event.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        plan(visits)

    monkeypatch.setattr(dispatch, "_mark_last", lingering)
    return event


@pytest.fixture
def decided(monkeypatch):
    """An event that is set when the dispatcher has marked last runs; it waits before it writes them."""
    event = Event()
    plan = dispatch._mark_last

    def lingering(visits):
        plan(visits)
        event.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)

    monkeypatch.setattr(dispatch, "_mark_last", lingering)
    return event


def disable_collection(job):
    collection = JobCollection.objects.get(pk=job.collection_id)
    collection.state = JobCollection.State.DISABLED
    save_collection(collection, DUE)


CHANGES = {
    "disable": lambda job: set_job_state(job, Job.State.DISABLED, DUE),
    "disable its collection": disable_collection,
    "change": lambda job: patch_job(job, {"recurrence": {"interval": 2}}, DUE),
    "run by hand": lambda job: run_now(job, DUE),
    "delete": lambda job: delete_job(job, DUE),
    "delete its collection": lambda job: delete_collection(job.collection, DUE),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_job_can_be_changed_at_the_moment_of_its_dispatch(make_job, midway, change):
    job = make_job()

    raised = at_once(lambda: dispatch.dispatch_due(DUE), lambda: change(job), midway)

    assert raised == []
    assert Run.objects.filter(trigger_name="default").count() == 1


def test_writer_of_one_subscription_does_not_block_dispatch(make_job):
    make_job()
    holds, done = Event(), Event()

    def hold():
        with transaction.atomic():
            subscription = Subscription.objects.select_for_update(no_key=True).get()
            JobCollection.objects.select_for_update(no_key=True).get(subscription=subscription)
            holds.set()
            if connection.vendor == "postgresql":
                assert done.wait(5)

    def dispatch_meanwhile():
        dispatch.dispatch_due(DUE)
        done.set()

    assert at_once(hold, dispatch_meanwhile, holds) == []
    assert Trigger.objects.get().next_fire_at > DUE


@pytest.mark.parametrize("delete", ["delete", "delete its collection"])
def test_job_can_be_deleted_while_its_error_run_is_created(make_job, monkeypatch, delete):
    job = make_job(action={**ACTION, "retryPolicy": {"retryType": "None"}, "errorAction": ACTION})
    run = run_now(job, NOW)
    leased = lease([str(run.pk)], "worker", NOW)
    created = Event()
    create_error_runs = worker_results._create_error_runs

    def lingering(runs, now):
        create_error_runs(runs, now)
        created.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)

    monkeypatch.setattr(worker_results, "_create_error_runs", lingering)
    results = [(leased[0], AttemptResult(False, "no"))]

    raised = at_once(
        lambda: write_with_retry(worker_results.record, results, NOW + timedelta(seconds=1)),
        lambda: CHANGES[delete](job),
        created,
    )

    assert raised == []
    assert not Job.objects.exists()
    assert set(Run.objects.values_list("job", flat=True)) == {None}
    assert Run.objects.get(pk=run.pk).state == Run.State.FAILED


# Triggers in addition to the job's own schedule

HOURLY = TriggerDefinition(format="quartz", definition={"expression": "0 0 * * * ?"})
DAILY = TriggerDefinition(format="quartz", definition={"expression": "0 0 9 * * ?"})
ONCE = {"startTime": "2026-01-05T08:00:00Z"}

TRIGGER_CHANGES = {
    "save it unchanged": lambda trigger: save_trigger(trigger.job, "hourly", HOURLY, DUE),
    "disable it": lambda trigger: save_trigger(trigger.job, "hourly", replace(HOURLY, enabled=False), DUE),
    "give it another schedule": lambda trigger: save_trigger(trigger.job, "hourly", DAILY, DUE),
    "delete it": lambda trigger: delete_trigger(trigger, DUE),
    "save another": lambda trigger: save_trigger(trigger.job, "other", DAILY, DUE),
}


@pytest.mark.parametrize("change", TRIGGER_CHANGES, ids=TRIGGER_CHANGES)
def test_trigger_can_be_changed_at_the_moment_of_its_dispatch(make_job, make_trigger, midway, change):
    trigger = make_trigger(make_job(schedule=None), now=DUE)

    raised = at_once(lambda: dispatch.dispatch_due(DUE), lambda: TRIGGER_CHANGES[change](trigger), midway)

    assert raised == []
    assert list(Run.objects.values_list("trigger_name", "fire_at")) == [("hourly", DUE)]
    next_fire_at = dict(Trigger.objects.values_list("name", "next_fire_at")).get("hourly")
    assert (
        next_fire_at
        == {
            "save it unchanged": DUE + timedelta(hours=1),
            "disable it": None,
            "give it another schedule": DUE + timedelta(hours=1),
            "delete it": None,
            "save another": DUE + timedelta(hours=1),
        }[change]
    )


def test_job_that_gets_a_trigger_while_its_last_run_is_created_does_not_end_with_it(make_job, decided):
    job = make_job(schedule=ONCE)

    raised = at_once(
        lambda: dispatch.dispatch_due(DUE), lambda: save_trigger(job, "hourly", HOURLY, DUE + timedelta(1)), decided
    )

    assert raised == []
    assert not Run.objects.get().is_last


def test_job_that_loses_its_other_trigger_while_its_last_run_is_created_ends_with_it(make_job, make_trigger, decided):
    trigger = make_trigger(make_job(schedule=ONCE), now=DUE + timedelta(minutes=1))

    raised = at_once(lambda: dispatch.dispatch_due(DUE), lambda: delete_trigger(trigger, DUE), decided)

    assert raised == []
    assert Run.objects.get().is_last
    assert Job.objects.get().state == Job.State.ENABLED


def test_saving_a_trigger_while_the_last_run_ends_does_not_deadlock(make_job, monkeypatch):
    job = make_job(schedule=ONCE)
    dispatch.dispatch_due(DUE)
    leased = lease([str(Run.objects.get().pk)], "worker", DUE)
    owned = Event()
    own = worker_results.lock_owned

    def lingering(items):
        found = own(items)
        owned.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        return found

    monkeypatch.setattr(worker_results, "lock_owned", lingering)

    raised = at_once(
        lambda: worker_results.record([(leased[0], AttemptResult(True, "done"))], DUE),
        lambda: save_trigger(job, "hourly", HOURLY, DUE),
        owned,
    )

    assert [type(error) for error in raised] in ([], [Conflict])  # the job may have ended by then, which is a conflict
    assert Job.objects.get().state == Job.State.COMPLETED
    assert Trigger.objects.filter(name="hourly").exists() is False


def test_two_workers_that_record_runs_of_the_same_jobs_do_not_deadlock(make_job, monkeypatch):
    """The job that ends is not the first one whose counters change."""
    jobs = [make_job(name, schedule=None, overlap="allow") for name in ("a", "b")]
    run_ids = [[str(run_now(job, NOW).pk) for job in jobs] for _ in range(2)]
    Run.objects.filter(pk=run_ids[0][1]).update(is_last=True)
    by_worker = [lease(ids, "worker", NOW) for ids in run_ids]
    finished, finish = Event(), worker_results.finish_jobs

    def lingering(job_ids, *args):
        job_ids = list(job_ids)
        finish(job_ids, *args)
        if job_ids:
            finished.set()
            if connection.vendor == "postgresql":
                time.sleep(PAUSE_S)

    monkeypatch.setattr(worker_results, "finish_jobs", lingering)

    def write(leased):
        return lambda: worker_results.record([(each, AttemptResult(True, "done")) for each in leased], NOW)

    assert at_once(*map(write, by_worker), finished) == []
    assert [(job.state, job.execution_count) for job in Job.objects.order_by("name")] == [
        (Job.State.ENABLED, 2),
        (Job.State.COMPLETED, 2),
    ]


@pytest.mark.parametrize("second", [HOURLY, DAILY], ids=["the same", "another"])
def test_concurrent_saves_of_one_trigger_leave_one_row(make_job, monkeypatch, second):
    job = make_job(schedule=None)
    saves, place = Event(), next_fire.set_next_fire_time

    def lingering(trigger, now):
        saves.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        place(trigger, now)

    monkeypatch.setattr(next_fire, "set_next_fire_time", lingering)

    raised = at_once(
        lambda: save_trigger(job, "hourly", HOURLY, NOW), lambda: save_trigger(job, "hourly", second, NOW), saves
    )

    assert raised == []
    assert Trigger.objects.get().definition in (HOURLY.definition, second.definition)
