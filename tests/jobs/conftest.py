import pytest
import time_machine

from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.execution import Worker
from tests.conftest import NOW, utc
from tests.jobs.arm_client import ArmClient

START = utc("2026-01-05T08:00:00Z")


@pytest.fixture
def arm(token) -> ArmClient:
    """A client of the owner, in the form of the resource manager."""
    return ArmClient(token)


@pytest.fixture
def at_now():
    """Stop the clock at NOW, the time at which the fixtures create their rows."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def calls():
    with HttpPool(CallLimiter(limit=100, per_host=50)) as calls:
        yield calls


@pytest.fixture
def work(calls):
    """Return a function that carries out runs, reloads them, and returns how many of them were started."""

    def work(*runs, at=START, **fields):
        worker = Worker("worker", calls, lambda: at, **fields)
        begun = worker.start_runs([str(run.pk) for run in runs])
        worker.run_until_idle()
        for run in runs:
            run.refresh_from_db()
        return begun

    return work
