"""Jobs that call a real target, and workers that carry them out."""

from contextlib import ExitStack

import pytest

from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.execution import Worker
from tests.jobs.conftest import START
from tests.jobs.runs import NO_RETRY


@pytest.fixture
def target(target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    return target


@pytest.fixture
def calling(target, make_job):
    """Return a function that creates a job that calls a path of the target."""

    def make(path="/ok", name="backup", policy=NO_RETRY, error_path=None, error_policy=None, at=target, **fields):
        action = {"type": "Http", "request": {"uri": at.url + path, "method": "GET"}, "retryPolicy": policy}
        if error_path:
            action["errorAction"] = {"type": "Http", "request": {"uri": target.url + error_path, "method": "POST"}}
        if error_policy:
            action["errorAction"]["retryPolicy"] = error_policy
        return make_job(name, action=action, **fields)

    return make


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
    """Return a function that creates a worker with `limit` call slots; its calls end with the test."""
    with ExitStack() as stack:

        def make(limit=100, per_host=50, **fields):
            calls = stack.enter_context(HttpPool(CallLimiter(limit, per_host)))
            return Worker("worker", calls, clock, **fields)

        yield make
