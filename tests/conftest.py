"""Valid-by-default objects; a test names only what matters to it."""

from datetime import UTC, datetime

import pytest
from django.core.cache import cache
from django.utils import timezone
from hypothesis import settings as hypothesis_settings
from rest_framework.test import APIClient

from accounts.models import DEFAULT_SUBSCRIPTION_ID, ApiToken, Membership, Role, Subscription, User
from jobs.models import Job, JobCollection
from operations import tracking
from operations.models import Operation
from triggers.definitions import JobDefinition, TriggerDefinition
from triggers.models import Trigger
from triggers.scheduling import save_job, save_trigger

# no test fails on how busy the machine is
hypothesis_settings.register_profile("quando", deadline=None)
hypothesis_settings.load_profile("quando")

pytest_plugins = ["tests.peers.fixtures", "tests.secrets_watch"]

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ACTION = {"type": "Http", "request": {"uri": "http://127.0.0.1:9/hook", "method": "GET"}}


def pytest_collection_modifyitems(items):
    """Browser tests go last: Playwright leaves an event loop in the thread, and no other can run beside it."""
    items.sort(key=lambda item: "browser" in item.path.parts)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.fixture
def subscription(db):
    return Subscription.objects.create(id=DEFAULT_SUBSCRIPTION_ID, name="default")


@pytest.fixture
def make_user(subscription):
    def make(
        username: str, role: Role | None = Role.OWNER, in_subscription: Subscription = subscription, **fields
    ) -> User:
        user = User.objects.create_user(username, password="correct horse", **fields)
        if role is not None:
            Membership.objects.create(subscription=in_subscription, user=user, role=role)
        return user

    return make


@pytest.fixture
def owner(make_user):
    return make_user("ada", is_staff=True, is_superuser=True)


@pytest.fixture
def token(owner):
    """The text of a token of the owner."""
    return ApiToken.objects.issue(owner, "tests")[1]


@pytest.fixture
def collection(subscription):
    return JobCollection.objects.create(subscription=subscription, name="nightly", sku="P20Premium")


@pytest.fixture
def make_job(collection):
    def make(name: str = "backup", action: dict = ACTION, now: datetime = NOW, in_collection=collection, **fields):
        schedule = fields.pop("schedule", {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Day"}})
        definition = JobDefinition(action=action, schedule=schedule, **fields)
        return save_job(in_collection, name, definition, now)[0]

    return make


@pytest.fixture
def make_trigger():
    """Put a trigger beside a job's own schedule; `definition` is without its format."""

    def make(job: Job, name: str = "hourly", format: str = "quartz", now: datetime = NOW, **fields) -> Trigger:
        definition = fields.pop("definition", {"expression": "0 0 * * * ?"})
        return save_trigger(job, name, TriggerDefinition(format=format, definition=definition, **fields), now)[0]

    return make


@pytest.fixture
def carry_out():
    """Do, as a worker would, what operations have been accepted for."""

    def work() -> None:
        for operation in Operation.objects.open():
            tracking.carry_out(operation.pk, timezone.now, lambda: False)

    return work


@pytest.fixture(autouse=True)
def uncounted():
    """Each test starts without counted requests and failed log-ins."""
    cache.clear()


@pytest.fixture
def api_of(db):
    """Make a client of the APIs that signs in with a token's text; without one, with nothing."""

    def make(token: str | None = None) -> APIClient:
        client = APIClient()
        if token:
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        return client

    return make


@pytest.fixture
def api(api_of, token) -> APIClient:
    """A client of the APIs that signs in with the owner's token."""
    return api_of(token)
