"""Fixtures for objects that are valid by default; a test gives only the values that matter to it."""

import gc
from datetime import UTC, datetime

import pytest
import time_machine
from django.apps import apps
from django.core.cache import cache
from django.db import connection
from django.db.models import AutoField
from django.utils import timezone
from hypothesis import settings as hypothesis_settings
from rest_framework.test import APIClient
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from accounts.models import DEFAULT_SUBSCRIPTION_ID, ApiToken, Membership, Role, Subscription, User
from jobs.models import Job, JobCollection
from operations import service
from operations.models import Operation
from recurrence.zone_data import ZoneData
from tests.zone_trees import make_tree, use_zones, use_zones_of_machine
from triggers.definitions import JobDefinition, TriggerDefinition
from triggers.models import Trigger
from triggers.scheduling import save_job, save_trigger

# no test fails because the machine is busy
hypothesis_settings.register_profile("quando", deadline=None)
hypothesis_settings.load_profile("quando")

pytest_plugins = ["tests.peers.fixtures", "tests.secrets_watch", "tests.database", "tests.flush"]

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# the time at which each test starts: a Wednesday, not close to the start of a day, week or month, or to a clock change
WEDNESDAY = datetime(2026, 11, 4, 12, 32, tzinfo=UTC)
ACTION = {"type": "Http", "request": {"uri": "http://127.0.0.1:9/hook", "method": "GET"}}


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Exclude the collected tests from garbage collection: they live as long as the process, and are very many."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    """Run browser tests last: Playwright leaves an event loop in the thread, and no other loop can run there."""
    items.sort(key=lambda item: "browser" in item.path.parts)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.fixture(autouse=True)
def fixed_start():
    """Start each test at the same instant, so that it passes at any hour; time runs on from there.

    Other programs read the machine's clock.  For tests in which they compare times, a fixture with the same name does
    not change the time.
    """
    with time_machine.travel(WEDNESDAY):
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Start the ids of each table at a different number.

    No test passes, or fails, because an id happens to be equal to a constant or to the id of a row in another table.
    """
    tables = sorted(model._meta.db_table for model in apps.get_models() if isinstance(model._meta.pk, AutoField))
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for number, table in enumerate(tables, start=1):
            if connection.vendor == "sqlite":
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, 1000 * number])
            else:
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, 1000 * number])


@pytest.fixture(autouse=True, scope="session")
def static_files_found_once():
    """Search for the static files once, not again for the middleware of each client that a test creates."""
    search = WhiteNoiseMiddleware.add_files_from_finders
    found: dict[str, StaticFile] = {}

    def add_found_files(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            search(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add_found_files)
        yield


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
    """The text of an API token of the owner."""
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
    """Return a function that adds a trigger to a job; `definition` does not include the format."""

    def make(job: Job, name: str = "hourly", format: str = "quartz", now: datetime = NOW, **fields) -> Trigger:
        definition = fields.pop("definition", {"expression": "0 0 * * * ?"})
        return save_trigger(job, name, TriggerDefinition(format=format, definition=definition, **fields), now)[0]

    return make


@pytest.fixture
def carry_out():
    """Return a function that carries out all accepted operations, as a worker does."""

    def work() -> None:
        for operation in Operation.objects.open():
            service.carry_out(operation.pk, timezone.now, lambda: False)

    return work


@pytest.fixture
def start_with_zones(tmp_path):
    """Return a function that lets this process use time zone data as if it had started with it.

    Its arguments are the version, and for each changed zone the zone whose rules it has.
    """

    def start(version: str, zones: dict[str, str] | None = None) -> ZoneData:
        path = tmp_path / version
        return use_zones(path if path.exists() else make_tree(path, version, zones).path)

    yield start
    use_zones_of_machine()


@pytest.fixture(autouse=True)
def uncounted():
    """Start each test without counted requests and failed sign-ins."""
    cache.clear()


@pytest.fixture
def api_of(db):
    """Return a function that creates a client of the APIs; it signs in with the text of a token, if there is one."""

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
