"""Concurrent requests and workers.

Each thread has its own connection.  On SQLite, one waits for the other; on PostgreSQL, only row locks separate them.
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


def run_together(*works) -> list:
    """Start all functions together; return the result or the exception of each."""
    results: list = [None] * len(works)
    barrier = Barrier(len(works))

    def run(index, work):
        try:
            barrier.wait(10)
            results[index] = work()
        except Exception as error:
            results[index] = error
        finally:
            connection.close()

    threads = [Thread(target=run, args=(index, work)) for index, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def carry_out(operation):
    return lambda: service.carry_out(operation.pk, timezone.now, lambda: False)


@pytest.fixture
def make_call(token):
    """Return a function that makes a request for a separate thread; the request returns the status."""

    def make(method: str, path: str = "", body: object = None):
        def send() -> int:
            client = ArmClient(token)
            return client.call(method, client.collection() + path, body).status_code

        return send

    return make


def test_concurrent_deletions_are_one_operation(make_call, collection):
    assert run_together(*[make_call("DELETE")] * 8) == [202] * 8
    assert Operation.objects.count() == 1


def test_only_one_kind_of_concurrent_requests_is_accepted(make_call, collection):
    kinds = {
        "delete": make_call("DELETE"),
        "enable": make_call("POST", "/enable"),
        "disable": make_call("POST", "/disable"),
    }

    statuses = run_together(*list(kinds.values()) * 3)

    operation = Operation.objects.get()
    accepted = list(kinds).index(operation.kind.removeprefix("collection."))
    assert Counter(statuses) == {202: 3, 409: 6}
    assert {statuses[accepted + 3 * repetition] for repetition in range(3)} == {202}


def test_concurrent_workers_carry_out_an_operation_once(make_call, collection, many_jobs, monkeypatch):
    make_call("DELETE")()
    operation = Operation.objects.get()
    steps = []
    step = CollectionOperation.step

    def counted_step(self, *arguments):
        steps.append(1)
        return step(self, *arguments)

    monkeypatch.setattr(CollectionOperation, "step", counted_step)

    assert run_together(*[carry_out(operation)] * 6) == [None] * 6

    operation.refresh_from_db()
    assert (operation.state, len(steps), Job.objects.count()) == ("succeeded", 4, 0)


@pytest.mark.parametrize("repetition", range(3))
def test_concurrent_cancellation_and_completion_give_one_final_state(make_call, collection, many_jobs, repetition):
    make_call("DELETE")()
    operation = Operation.objects.get()

    results = run_together(carry_out(operation), lambda: service.cancel(operation, timezone.now()))

    operation.refresh_from_db()
    assert results[0] is None
    assert operation.state in ("succeeded", "canceled")
    assert JobCollection.objects.exists() == (operation.state == "canceled")
    if operation.state == "canceled":
        assert results[1] is True
        assert JobCollection.objects.get().state == "enabled"
    assert not Operation.objects.open().exists()


def test_writes_during_a_deletion_are_refused_or_deleted(make_call, collection, many_jobs):
    make_call("DELETE")()
    operation = Operation.objects.get()
    writers = [make_call("PUT", f"/jobs/new-{number}", JOB) for number in range(4)]

    results = run_together(carry_out(operation), *writers, make_call("PUT", "", {}), make_call("DELETE"))

    operation.refresh_from_db()
    assert operation.state == "succeeded"
    assert set(results[1:5]) <= {409, 404}
    assert results[5] in (409, 201)  # after the deletion, the name can be used again
    assert results[6] in (202, 404)
    assert not Job.objects.exists()


def test_request_during_a_cancellation_waits_for_it(make_call, collection, make_job, monkeypatch):
    """The request has locked the collection and needs the operation; the cancellation has the opposite order."""
    make_job()
    make_call("POST", "/disable")()
    operation = Operation.objects.get()
    midway, undo = Event(), CollectionOperation.undo

    def paused(self, *arguments):
        midway.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        undo(self, *arguments)

    monkeypatch.setattr(CollectionOperation, "undo", paused)

    def send():
        midway.wait(5)
        return make_call("POST", "/enable")()

    cancelled, status = run_together(lambda: service.cancel(operation, timezone.now()), send)

    assert cancelled is True
    assert status in (202, 409)
    operation.refresh_from_db()
    assert operation.state == "canceled"


def test_rescue_at_the_end_of_a_step_does_not_end_the_operation(make_call, collection, many_jobs, monkeypatch):
    """The rescue waits for the lock of the step, and then reads the heartbeat of the step."""
    make_call("DELETE")()
    operation = Operation.objects.get()
    long_ago = timezone.now() - timedelta(minutes=10)
    token = service.lease(operation.pk, long_ago)
    midway, step = Event(), CollectionOperation.step

    def paused(self, *arguments):
        midway.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        return step(self, *arguments)

    monkeypatch.setattr(CollectionOperation, "step", paused)

    def rescue():
        midway.wait(5)
        service.rescue(timezone.now())

    has_continued, _ = run_together(lambda: service._step(operation.pk, token, timezone.now), rescue)

    operation.refresh_from_db()
    assert (has_continued, operation.state) == (True, "running")


WRITES = {
    "record": lambda leased, now: record([(each, AttemptResult(succeeded=True, message="")) for each in leased], now),
    "renew": renew,
    "hand back": release_leases,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_worker_and_deletion_of_its_jobs_do_not_deadlock(make_call, make_job, monkeypatch, write):
    """The deletion and the worker lock the runs in different orders."""
    jobs = [make_job(name, schedule=None) for name in ("first", "second")]
    for job, number in zip(jobs, (2, 1), strict=True):
        Run.objects.filter(pk=run_now(job, timezone.now()).pk).update(id=UUID(int=number))
    leased = lease([str(UUID(int=number)) for number in (1, 2)], "worker", timezone.now())
    make_call("DELETE")()
    operation, midway, stop = Operation.objects.get(), Event(), polling.stop_polling

    def paused(*arguments):
        midway.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        stop(*arguments)

    monkeypatch.setattr(polling, "stop_polling", paused)

    def work():
        midway.wait(5)
        write(leased, timezone.now())

    assert run_together(carry_out(operation), work) == [None, None]

    operation.refresh_from_db()
    assert (operation.state, Job.objects.count()) == ("succeeded", 0)


def test_concurrent_acceptance_creates_one_operation(subscription):
    def accept():
        try:
            values = {"target": "it", "target_key": "one", "location": "global", "caller": Caller()}
            return service.create(subscription, "test.count", now=timezone.now(), **values).pk
        except AlreadyRunning as running:
            return running.operation.pk

    results = run_together(*[accept] * 8)

    assert set(results) == {Operation.objects.get().pk}
