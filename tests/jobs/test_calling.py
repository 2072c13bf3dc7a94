"""Calls in a separate event loop.  There is no database here: a call that used one would fail."""

import asyncio
import threading
import time
import uuid

import pytest

from jobs import actions
from jobs.actions import AttemptResult
from jobs.encryption import Secrets
from jobs.models import Action, Attempt, Run
from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.leasing import Leased
from tests.conftest import NOW
from tests.peers.server import eventually

SERVICE_BUS = {"namespace": "bus", "message": "hello"}


@pytest.mark.parametrize(
    "action, host",
    [
        ({"type": "Http", "request": {"uri": "http://One.example/path"}}, "one.example:80"),
        ({"type": "Https", "request": {"uri": "https://one.example/?q"}}, "one.example:443"),
        ({"type": "Https", "request": {"uri": "https://one.example:8443"}}, "one.example:8443"),
        ({"type": "Https", "request": {"uri": "https://[2001:DB8::1]/"}}, "2001:db8::1:443"),
        ({"type": "Http", "request": {"uri": "http://[broken"}}, "http://[broken"),  # the call is refused
        ({"type": "StorageQueue", "queueMessage": {"storageAccount": "account", "queueName": "q"}}, "account"),
        ({"type": "ServiceBusQueue", "serviceBusQueueMessage": SERVICE_BUS}, "bus"),
        ({"type": "ServiceBusTopic", "serviceBusTopicMessage": SERVICE_BUS}, "bus"),
    ],
)
def test_slots_are_limited_by_the_host_that_is_called(action, host):
    assert actions.host_of(action) == host


@pytest.fixture
def target(target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    return target


@pytest.fixture
def calls():
    with HttpPool(CallLimiter(limit=100, per_host=50)) as calls:
        yield calls


def leased(uri="http://127.0.0.1:9/", **fields):
    run = Run(pk=uuid.uuid4(), fire_at=NOW, job_name="backup", collection_name="nightly")
    run.action = Action(document={"type": "Http", "request": {"uri": uri, "method": "GET"}})
    return Leased(run, Attempt(run=run, number=1, started_at=NOW), **{"secrets": Secrets()} | fields)


def begin(calls, *items):
    calls.submit({calls.limiter.acquire("host"): item for item in items})


def all_ended(calls, count=1):
    found = []
    eventually(lambda: found.extend(calls.collect_finished(0.1)) or len(found) >= count)
    return found


def test_finished_call_is_collected_with_its_result(calls, target):
    item = leased(f"{target.url}/ok")

    begin(calls, item)

    ((ended, outcome),) = all_ended(calls)
    assert ended is item
    assert (outcome.succeeded, outcome.status_code) == (True, 200)
    assert calls.active_runs() == []


def test_calls_run_at_the_same_time(calls, target):
    began = time.monotonic()

    begin(calls, *(leased(f"{target.url}/slow/0.5") for _ in range(20)))

    assert len(all_ended(calls, 20)) == 20
    assert time.monotonic() - began < 5


def test_collecting_without_finished_calls_returns_nothing_after_the_wait(calls):
    assert calls.collect_finished(wait_s=0.01) == []


async def succeeds(*_):
    return AttemptResult(True, "done")


async def fails(*_):
    return AttemptResult(False, "no")


async def breaks(*_):
    raise ZeroDivisionError


async def hangs(*_):
    await asyncio.Event().wait()


@pytest.mark.parametrize("perform", [succeeds, fails, breaks])
def test_slot_is_released_after_every_result_of_a_call(calls, monkeypatch, perform):
    monkeypatch.setattr(actions, "perform", perform)

    begin(calls, leased(), leased())

    assert len(all_ended(calls, 2)) == 2
    assert calls.limiter.is_empty


def test_cancelled_calls_have_no_result_and_no_slot(calls, monkeypatch):
    monkeypatch.setattr(actions, "perform", hangs)
    items = [leased(), leased()]
    begin(calls, *items)

    calls.cancel_all()

    assert all_ended(calls, 2) == [(item, None) for item in items]
    assert calls.limiter.is_empty


def test_call_with_unreadable_credentials_is_not_sent(calls, target):
    begin(calls, leased(f"{target.url}/ok", secrets=None))

    ((_, outcome),) = all_ended(calls)
    assert (outcome.succeeded, outcome.may_retry) == (False, False)
    assert "ENCRYPTION_KEYS" in outcome.message
    assert target.calls == []


def test_active_runs_are_those_whose_result_is_not_collected(calls, monkeypatch):
    monkeypatch.setattr(actions, "perform", succeeds)
    item = leased()
    begin(calls, item)
    assert eventually(lambda: calls.limiter.free_slots("host") == 50)  # the call has ended

    assert calls.active_runs() == [item]
    all_ended(calls)
    assert calls.active_runs() == []


def test_closing_the_pool_ends_its_calls(monkeypatch):
    monkeypatch.setattr(actions, "perform", hangs)
    with HttpPool(CallLimiter(limit=100, per_host=50)) as calls:
        begin(calls, leased())
        assert "calls" in [thread.name for thread in threading.enumerate()]

    assert "calls" not in [thread.name for thread in threading.enumerate()]
