import pytest
import time_machine
from django.utils import timezone

from accounts.models import Role
from maintenance import lifecycle
from maintenance import resources as maintenance_resources
from maintenance.lifecycle import Announcement
from maintenance.models import EventType, Notice, Resource
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


@pytest.fixture
def browser(client, owner):
    client.force_login(owner)
    return client


@pytest.fixture
def make_resource(subscription):
    def make(name: str = "db-2", scope_group: str = "db", in_subscription=subscription, **labels: str) -> Resource:
        return maintenance_resources.register(in_subscription, name, scope_group, labels, timezone.now())[0]

    return make


@pytest.fixture
def make_notice(subscription):
    def make(*resources: Resource, **fields) -> Notice:
        wanted = Announcement(fields.pop("event_type", EventType.REBOOT), resources, **fields)
        return lifecycle.announce(resources[0].subscription, wanted, "ada", timezone.now())

    return make


@pytest.fixture
def people(client, make_user):
    """Sign somebody in who has the role in the default subscription; None: who is a member of none."""

    def sign_in(role: Role | None):
        client.force_login(make_user("mira", role))
        return client

    return sign_in
