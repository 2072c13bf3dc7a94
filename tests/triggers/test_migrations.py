"""Migrations of databases in which a job had one trigger, forward and back."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.conftest import ACTION, utc
from triggers.dispatch import dispatch_due
from triggers.models import Trigger
from triggers.scheduling import delete_trigger

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [("triggers", "0002_housekeeping"), ("jobs", "0004_certificate_expiries")]
START = utc("2026-01-05T08:00:00Z")


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


def migrate_to_newest():
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())


def index_definition() -> str:
    table = Trigger._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT sql FROM sqlite_master WHERE name = 'trigger_due' AND tbl_name = %s", [table])
        else:
            cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'trigger_due'")
        (text,) = cursor.fetchone()
    return text.replace('"', "")


def old_job(apps, queue="default"):
    subscription = apps.get_model("accounts", "Subscription").objects.create(name="old")
    collection = apps.get_model("jobs", "JobCollection").objects.create(subscription=subscription, name="old")
    action = apps.get_model("jobs", "Action").objects.create(document=ACTION)
    job = apps.get_model("jobs", "Job").objects.create(collection=collection, name="old", action=action)
    apps.get_model("triggers", "Trigger").objects.create(
        job=job,
        definition={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Day"}},
        anchored_at=START - timedelta(days=9),
        next_fire_at=START,
        queue=queue,
    )
    return job


def test_triggers_keep_their_values_when_the_database_is_migrated_back_and_forth(make_job, make_trigger):
    """One test, because each migration in one direction takes seconds."""
    additional = make_trigger(make_job(), now=START)
    apps = migrate(BEFORE)
    job = old_job(apps, queue="reports")

    migrate_to_newest()

    restored = Trigger.objects.get(name="hourly")
    assert (restored.pk, restored.format) == (additional.pk, "quartz")
    assert restored.definition == {"expression": "0 0 * * * ?"}
    owner = restored.job
    delete_trigger(restored, START)
    assert owner.triggers.count() == 1
    owner.delete()

    trigger = Trigger.objects.get(job=job.pk)
    assert (trigger.name, trigger.format, trigger.group) == ("default", "azure", "reports")
    assert (trigger.enabled, trigger.priority, trigger.data_map, trigger.lock_key) == (True, 5, {}, None)
    assert trigger.created_at
    assert trigger.updated_at
    assert [run.queue for run in dispatch_due(START)] == ["reports"]
    assert "next_fire_at, priority, id) WHERE" in index_definition()

    next_fire_at = Trigger.objects.get(job=job.pk).next_fire_at
    Trigger.objects.update(group="imports", priority=1)
    try:
        trigger = migrate(BEFORE).get_model("triggers", "Trigger").objects.get(job=job.pk)
        assert (trigger.queue, trigger.next_fire_at) == ("imports", next_fire_at)
        assert not hasattr(trigger, "priority")
        assert "next_fire_at, id) WHERE" in index_definition()
    finally:
        migrate_to_newest()
