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
    """Turn off the limit on how often machines may poll."""
    settings.METADATA_REQUESTS_PER_SECOND = 0


@pytest.fixture
def clock():
    """Set the clock to the first day of 2026; time runs on."""
    with time_machine.travel(NOW) as traveller:
        yield traveller


@pytest.fixture
def db2(clock, unlimited, subscription) -> Machine:
    """A machine of the group `databases`."""
    return machine(subscription, "db-2", "databases")


@pytest.fixture
def db3(clock, unlimited, subscription) -> Machine:
    """Another machine of the group `databases`."""
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
        announcement = Announcement(fields.pop("event_type", EventType.REBOOT), resources, **fields)
        return lifecycle.announce(resources[0].subscription, announcement, "ada", timezone.now())

    return make


@pytest.fixture
def sign_in_as(client, make_user):
    """Return a function that signs in a new user with a role in the default subscription; None: no membership."""

    def sign_in(role: Role | None):
        client.force_login(make_user("mira", role))
        return client

    return sign_in
