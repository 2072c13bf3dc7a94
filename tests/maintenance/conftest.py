import pytest
import time_machine

from tests.conftest import NOW
from tests.maintenance.machines import Machine, machine


@pytest.fixture
def unlimited(settings):
    """Machines may poll as often as a test likes."""
    settings.METADATA_REQUESTS_PER_SECOND = 0


@pytest.fixture
def clock():
    """It is the first day of 2026, and time goes on."""
    with time_machine.travel(NOW) as traveller:
        yield traveller


@pytest.fixture
def db2(clock, unlimited, subscription) -> Machine:
    """One of the databases, which polls."""
    return machine(subscription, "db-2", "databases")


@pytest.fixture
def db3(clock, unlimited, subscription) -> Machine:
    """The other one."""
    return machine(subscription, "db-3", "databases")
