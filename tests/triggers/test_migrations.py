"""Migrations of databases in which a job had one trigger, forward and back."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from jobs.models import Job
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


@pytest.fixture
def before(db):
    """The models before the migration; the newest migrations are restored at the end."""
    yield migrate(BEFORE)
    migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())


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


def test_migrated_trigger_continues_to_fire(before):
    job = old_job(before, queue="reports")

    migrate_to_newest()

    trigger = Trigger.objects.get(job=job.pk)
    assert (trigger.name, trigger.format, trigger.group) == ("default", "azure", "reports")
    assert (trigger.enabled, trigger.priority, trigger.data_map, trigger.lock_key) == (True, 5, {}, None)
    assert trigger.created_at
    assert trigger.updated_at
    assert [run.queue for run in dispatch_due(START)] == ["reports"]
    assert "next_fire_at, priority, id) WHERE" in index_definition()


def test_reverse_migration_keeps_the_fields_of_the_older_version(before):
    job = old_job(before)
    migrate_to_newest()
    Trigger.objects.update(group="reports", priority=1)

    apps = migrate(BEFORE)

    trigger = apps.get_model("triggers", "Trigger").objects.get(job=job.pk)
    assert (trigger.queue, trigger.next_fire_at) == ("reports", START)
    assert not hasattr(trigger, "priority")
    assert "next_fire_at, id) WHERE" in index_definition()


def test_additional_trigger_survives_a_reverse_and_a_new_migration(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)

    migrate(BEFORE)
    migrate_to_newest()

    restored = Trigger.objects.get(name="hourly")
    assert (restored.pk, restored.format, restored.definition) == (trigger.pk, "quartz", {"expression": "0 0 * * * ?"})
    delete_trigger(restored, START)
    assert Job.objects.get().triggers.count() == 1
