"""Migrations of existing rows."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

BEFORE, DATA = ("accounts", "0002_viewer_settings"), ("accounts", "0004_one_account_per_email")
ACCOUNTS = [
    ("left", "Team@example.com", False),
    ("ada", "team@example.com", True),
    ("grace", "TEAM@example.com", True),
    ("bob", "bob@example.com", False),
    ("nora", "", True),
    ("olga", "", True),
]


def migrate_to(*targets):
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets))
    return executor.loader.project_state(list(targets)).apps


@pytest.fixture
def migrate_back(transactional_db):
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_duplicate_email_is_kept_by_the_oldest_active_account(migrate_back, caplog):
    users = migrate_to(BEFORE).get_model("accounts", "User").objects
    for day, (name, email, is_active) in enumerate(ACCOUNTS, 1):
        users.create(username=name, email=email, is_active=is_active, date_joined=f"2026-01-0{day}T00:00:00Z")

    emails = dict(migrate_to(DATA).get_model("accounts", "User").objects.values_list("username", "email"))

    kept_emails = {"ada": "team@example.com", "bob": "bob@example.com"}
    assert emails == dict.fromkeys(["left", "grace", "nora", "olga"], "") | kept_emails
    assert sorted(record.args for record in caplog.records) == [("grace", "ada"), ("left", "ada")]


def test_idempotency_key_keeps_the_id_of_its_object(migrate_back):
    old = migrate_to(("accounts", "0006_idempotency_keys"))
    user = old.get_model("accounts", "User").objects.create(username="ada", email="ada@example.com")
    old.get_model("accounts", "IdempotencyKey").objects.create(
        user=user, path="/api/jobs", key="k", digest="d", made="7", ends_at="2026-01-05T08:00:00Z"
    )

    new = migrate_to(("accounts", "0007_renamed_field"))

    assert new.get_model("accounts", "IdempotencyKey").objects.values_list("key", "created_id").get() == ("k", "7")
