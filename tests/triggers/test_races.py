"""Somebody stops, changes or deletes a job at the very moment at which it is dispatched or carried out.

Two connections compete.  On SQLite the second waits for the first; on PostgreSQL they run together, held apart by row
locks alone.
"""

import time
from datetime import timedelta
from threading import Event, Thread

import pytest
from django.db import connection, transaction

from accounts.models import Subscription
from jobs import recording
from jobs.actions.outcome import Outcome
from jobs.execution import insist
from jobs.leasing import lease
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from tests.conftest import ACTION, NOW, utc
from triggers import dispatch
from triggers.models import Trigger
from triggers.scheduling import delete_collection, delete_job, patch_job, save_collection, set_job_state

pytestmark = pytest.mark.django_db(transaction=True)

DUE = utc("2026-01-05T08:00:00Z")
PAUSE_S = 0.4  # between the locks of the one and what it writes, so that the other comes in between


def at_once(first, second, first_is_midway: Event) -> list[Exception]:
    """Run both in connections of their own, the second once the first is midway; return what they raised."""
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
    """Set once the dispatcher holds its triggers; it then lingers."""
    event = Event()
    plan = dispatch._mark_last

    def lingering(visits):
        event.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        plan(visits)

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
def test_a_change_at_the_moment_of_dispatch_disturbs_neither(make_job, midway, change):
    job = make_job()

    raised = at_once(lambda: dispatch.dispatch_due(DUE), lambda: change(job), midway)

    assert raised == []
    assert Run.objects.filter(trigger_name="default").count() == 1


def test_one_tenants_writer_does_not_hold_up_dispatch(make_job):
    make_job()
    holds, done = Event(), Event()

    def hold():
        with transaction.atomic():
            subscription = Subscription.objects.select_for_update(no_key=True).get()
            JobCollection.objects.select_for_update(no_key=True).get(subscription=subscription)
            holds.set()
            if connection.vendor == "postgresql":
                assert done.wait(5)

    def pass_by():
        dispatch.dispatch_due(DUE)
        done.set()

    assert at_once(hold, pass_by, holds) == []
    assert Trigger.objects.get().next_fire_at > DUE


@pytest.mark.parametrize("delete", ["delete", "delete its collection"])
def test_a_job_can_be_deleted_while_its_error_action_is_ordered(make_job, monkeypatch, delete):
    job = make_job(action={**ACTION, "retryPolicy": {"retryType": "None"}, "errorAction": ACTION})
    run = run_now(job, NOW)
    leased = lease([str(run.pk)], "worker", NOW)
    ordered = Event()
    order = recording._order_error_actions

    def lingering(runs, now):
        order(runs, now)
        ordered.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)

    monkeypatch.setattr(recording, "_order_error_actions", lingering)
    results = [(leased[0], Outcome(False, "no"))]

    raised = at_once(
        lambda: insist(recording.record, results, NOW + timedelta(seconds=1)),
        lambda: CHANGES[delete](job),
        ordered,
    )

    assert raised == []
    assert not Job.objects.exists()
    assert set(Run.objects.values_list("job", flat=True)) == {None}
    assert Run.objects.get(pk=run.pk).state == Run.State.FAILED
