"""Migrations that rename fields of operations."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from operations.models import Operation
from tests.conftest import utc

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [("operations", "0002_housekeeping")]
NOON = utc("2026-01-05T12:00:00Z")


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


@pytest.fixture
def before():
    """The models before the renaming; afterwards, the database is migrated to the newest state."""
    yield migrate(BEFORE)
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())


def test_values_are_kept_under_the_new_names(before):
    user = before.get_model("accounts", "User").objects.create(username="ada", email="ada@example.com")
    before.get_model("operations", "Operation").objects.create(
        subscription=before.get_model("accounts", "Subscription").objects.create(name="old"),
        kind="collection.delete",
        target="nightly",
        target_key="collection 1",
        place="westeurope",
        notes={"after": 7},
        asked_by=user,
        cancel_asked_at=NOON,
        published_at=NOON,
        created_at=NOON,
    )

    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())

    operation = Operation.objects.get()
    assert (operation.location, operation.state_data) == ("westeurope", {"after": 7})
    assert (operation.requested_by.username, operation.cancel_requested_at) == ("ada", NOON)
    assert [each.pk for each in Operation.objects.about("NIGHTLY").open()] == [operation.pk]
