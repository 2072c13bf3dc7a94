"""What migrations make of rows that are there."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

SCHEMA, DATA = ("jobs", "0003_certificate_expiry"), ("jobs", "0004_certificate_expiries")


def migrated(*targets):
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets))
    return executor.loader.project_state(list(targets)).apps


@pytest.fixture
def back_to_the_newest(transactional_db):
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def proved_by(*expiries):
    """Requests with client certificates: of the action, and of its error action."""
    own, *others = [
        {"request": {"authentication": {"type": "ClientCertificate", "certificateExpirationDate": expiry}}}
        for expiry in expiries
    ]
    return {"type": "Http", **own, **({"errorAction": {"type": "Http", **others[0]}} if others else {})}


def test_certificates_that_were_stored_before_get_their_expiry(back_to_the_newest):
    actions = migrated(SCHEMA).get_model("jobs", "Action").objects
    plain = actions.create(document={"type": "StorageQueue", "queueMessage": {}}).pk
    one = actions.create(document=proved_by("2030-01-02T00:00:00Z")).pk
    both = actions.create(document=proved_by("2031-01-02T00:00:00Z", "2029-01-02T00:00:00Z")).pk

    expiries = dict(migrated(DATA).get_model("jobs", "Action").objects.values_list("pk", "certificate_expires_at"))

    assert expiries == {plain: None, one: datetime(2030, 1, 2, tzinfo=UTC), both: datetime(2029, 1, 2, tzinfo=UTC)}
