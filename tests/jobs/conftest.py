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
    """The owner, calling in the resource manager's form."""
    return ArmClient(token)


@pytest.fixture
def at_now():
    """The clock stands at NOW, which is when the fixtures' rows are made."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def calls():
    with HttpPool(CallLimiter(limit=100, per_host=50)) as calls:
        yield calls


@pytest.fixture
def work(calls):
    """Do the work of a message about runs, which are read again afterwards; return how many of them were begun."""

    def work(*runs, at=START, **fields):
        worker = Worker("worker", calls, lambda: at, **fields)
        begun = worker.start_runs([str(run.pk) for run in runs])
        worker.run_until_idle()
        for run in runs:
            run.refresh_from_db()
        return begun

    return work
