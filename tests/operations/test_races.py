"""Callers and workers who come at the same moment.

Each has a connection of its own.  On SQLite one waits for the other; on PostgreSQL row locks alone hold them apart.
"""

import time
from collections import Counter
from datetime import timedelta
from threading import Barrier, Event, Thread
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from jobs.actions.result import AttemptResult
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from jobs.worker import polling
from jobs.worker.leasing import lease, renew
from jobs.worker.rescue import release_leases
from jobs.worker.results import record
from operations import service, tasks
from operations.models import Operation
from operations.service import AlreadyRunning, Caller
from tests.jobs.arm_client import ArmClient
from triggers.collection_operations import CollectionOperation

pytestmark = pytest.mark.django_db(transaction=True)

PAUSE_S = 0.4
JOB = {"properties": {"action": {"type": "Http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}}}}


@pytest.fixture(autouse=True)
def no_messages(monkeypatch):
    monkeypatch.setattr(tasks.carry_out, "delay", lambda operation_id: None)


def all_at_once(*works) -> list:
    """Begin the works together; return what each returned, or raised."""
    results: list = [None] * len(works)
    barrier = Barrier(len(works))

    def run(place, work):
        try:
            barrier.wait(10)
            results[place] = work()
        except Exception as error:
            results[place] = error
        finally:
            connection.close()

    threads = [Thread(target=run, args=(place, work)) for place, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def carry_out(operation):
    return lambda: service.carry_out(operation.pk, timezone.now, lambda: False)


@pytest.fixture
def call(token):
    """An order that a thread of its own gives, with the status that it was answered with."""

    def make(method: str, path: str = "", body: object = None):
        def order() -> int:
            client = ArmClient(token)
            return client.call(method, client.collection() + path, body).status_code

        return order

    return make


def test_many_deletions_at_once_are_one_operation(call, collection):
    assert all_at_once(*[call("DELETE")] * 8) == [202] * 8
    assert Operation.objects.count() == 1


def test_of_different_orders_one_kind_is_accepted(call, collection):
    kinds = {"delete": call("DELETE"), "enable": call("POST", "/enable"), "disable": call("POST", "/disable")}

    answers = all_at_once(*list(kinds.values()) * 3)

    operation = Operation.objects.get()
    accepted = list(kinds).index(operation.kind.removeprefix("collection."))
    assert Counter(answers) == {202: 3, 409: 6}
    assert {answers[accepted + 3 * turn] for turn in range(3)} == {202}


def test_many_workers_do_an_operation_once(call, collection, many_jobs, monkeypatch):
    call("DELETE")()
    operation = Operation.objects.get()
    done = []
    step = CollectionOperation.step

    def counted(self, *arguments):
        done.append(1)
        return step(self, *arguments)

    monkeypatch.setattr(CollectionOperation, "step", counted)

    assert all_at_once(*[carry_out(operation)] * 6) == [None] * 6

    operation.refresh_from_db()
    assert (operation.state, len(done), Job.objects.count()) == ("succeeded", 4, 0)


@pytest.mark.parametrize("turn", range(3))
def test_a_cancellation_meets_the_end_and_one_of_them_wins(call, collection, many_jobs, turn):
    call("DELETE")()
    operation = Operation.objects.get()

    results = all_at_once(carry_out(operation), lambda: service.cancel(operation, timezone.now()))

    operation.refresh_from_db()
    assert results[0] is None
    assert operation.state in ("succeeded", "canceled")
    assert JobCollection.objects.exists() == (operation.state == "canceled")
    if operation.state == "canceled":
        assert results[1] is True
        assert JobCollection.objects.get().state == "enabled"
    assert not Operation.objects.open().exists()


def test_what_is_written_while_a_collection_goes_is_refused_or_goes_with_it(call, collection, many_jobs):
    call("DELETE")()
    operation = Operation.objects.get()
    writers = [call("PUT", f"/jobs/new-{number}", JOB) for number in range(4)]

    results = all_at_once(carry_out(operation), *writers, call("PUT", "", {}), call("DELETE"))

    operation.refresh_from_db()
    assert operation.state == "succeeded"
    assert set(results[1:5]) <= {409, 404}
    assert results[5] in (409, 201)  # afterwards the name is free
    assert results[6] in (202, 404)
    assert not Job.objects.exists()


def test_an_order_that_meets_a_cancellation_waits_for_it(call, collection, make_job, monkeypatch):
    """The one holds the collection and wants the operation's row, the other holds that and wants the collection."""
    make_job()
    call("POST", "/disable")()
    operation = Operation.objects.get()
    midway, undo = Event(), CollectionOperation.undo

    def lingering(self, *arguments):
        midway.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        undo(self, *arguments)

    monkeypatch.setattr(CollectionOperation, "undo", lingering)

    def order():
        midway.wait(5)
        return call("POST", "/enable")()

    cancelled, answer = all_at_once(lambda: service.cancel(operation, timezone.now()), order)

    assert cancelled is True
    assert answer in (202, 409)
    operation.refresh_from_db()
    assert operation.state == "canceled"


def test_a_watch_at_the_end_of_a_step_leaves_the_worker_at_work(call, collection, many_jobs, monkeypatch):
    """The watch waits for the step's lock, and then sees the heartbeat that the step has made."""
    call("DELETE")()
    operation = Operation.objects.get()
    long_ago = timezone.now() - timedelta(minutes=10)
    token = service.lease(operation.pk, long_ago)
    midway, step = Event(), CollectionOperation.step

    def lingering(self, *arguments):
        midway.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        return step(self, *arguments)

    monkeypatch.setattr(CollectionOperation, "step", lingering)

    def watch():
        midway.wait(5)
        service.rescue(timezone.now())

    went_on, _ = all_at_once(lambda: service._step(operation.pk, token, timezone.now), watch)

    operation.refresh_from_db()
    assert (went_on, operation.state) == (True, "running")


WRITES = {
    "record": lambda leased, now: record([(each, AttemptResult(succeeded=True, message="")) for each in leased], now),
    "renew": renew,
    "hand back": release_leases,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_worker_at_runs_of_jobs_that_are_being_deleted_waits_in_no_circle(call, make_job, monkeypatch, write):
    """The run of the job that goes first is not the first of those that the worker wants."""
    jobs = [make_job(name, schedule=None) for name in ("first", "second")]
    for job, number in zip(jobs, (2, 1), strict=True):
        Run.objects.filter(pk=run_now(job, timezone.now()).pk).update(id=UUID(int=number))
    leased = lease([str(UUID(int=number)) for number in (1, 2)], "worker", timezone.now())
    call("DELETE")()
    operation, midway, stop = Operation.objects.get(), Event(), polling.stop_polling

    def lingering(*arguments):
        midway.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        stop(*arguments)

    monkeypatch.setattr(polling, "stop_polling", lingering)

    def work():
        midway.wait(5)
        write(leased, timezone.now())

    assert all_at_once(carry_out(operation), work) == [None, None]

    operation.refresh_from_db()
    assert (operation.state, Job.objects.count()) == ("succeeded", 0)


def test_one_of_many_accepts_is_written(subscription):
    def accept():
        try:
            values = {"target": "it", "target_key": "one", "location": "global", "caller": Caller()}
            return service.create(subscription, "test.count", now=timezone.now(), **values).pk
        except AlreadyRunning as going:
            return going.operation.pk

    results = all_at_once(*[accept] * 8)

    assert set(results) == {Operation.objects.get().pk}
