"""Migrations that rename models and fields."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.models import User
from maintenance.models import (
    EventScope,
    JobMaintenancePolicy,
    Notice,
    NoticeResource,
    NoticeRun,
    Transition,
    UserEventScope,
)
from tests.conftest import ACTION, utc

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [("maintenance", "0002_housekeeping"), ("jobs", "0015_made_up_runs")]
EIGHT = utc("2026-01-05T08:00:00Z")


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


def migrate_to_newest():
    return migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())


@pytest.fixture
def before():
    """The models before the renaming; afterwards, the database is migrated to the newest state."""
    yield migrate(BEFORE)
    migrate_to_newest()


def make_rows(apps) -> None:
    """Create a row in each table that was renamed, or that has a renamed column."""

    def make(app, model, **values):
        return apps.get_model(app, model).objects.create(**values)

    subscription = make("accounts", "Subscription", name="old")
    collection = make("jobs", "JobCollection", subscription=subscription, name="old")
    job = make("jobs", "Job", collection=collection, name="old", action=make("jobs", "Action", document=ACTION))
    resource = make("maintenance", "Resource", subscription=subscription, name="db-2", digest="x", created_at=EIGHT)
    notice = make(
        "maintenance",
        "Notice",
        subscription=subscription,
        event_type="Reboot",
        not_before=EIGHT,
        announced_at=EIGHT,
        keep_open=True,
        running_at_start=["old"],
    )
    make("maintenance", "Affected", notice=notice, resource=resource, name="db-2")
    make("maintenance", "Transition", notice=notice, at=EIGHT, status="scheduled", actor="ada", note="approved")
    make("maintenance", "Work", notice=notice, step="start", job_name="old")
    make("maintenance", "View", subscription=subscription, key="resource db-2", incarnation=7)
    user = make("accounts", "User", username="ada", email="ada@example.com")
    make("maintenance", "Overview", user=user, digest="d" * 64, incarnation=9)
    make(
        "maintenance",
        "Heed",
        job=job,
        resource_names=["db-2"],
        during="hold",
        after="drop",
        lead=timedelta(minutes=5),
        run_on=["start"],
    )


def test_rows_are_kept_under_the_new_names(before):
    make_rows(before)

    migrate_to_newest()

    notice = Notice.objects.get()
    assert (notice.end_manually, notice.runs_at_start) == (True, ["old"])
    assert NoticeResource.objects.values_list("notice", "resource__name", "name").get() == (notice.pk, "db-2", "db-2")
    assert Transition.objects.values_list("notice", "detail").get() == (notice.pk, "approved")
    assert NoticeRun.objects.values_list("notice", "phase", "job_name").get() == (notice.pk, "start", "old")
    assert EventScope.objects.values_list("scope_key", "incarnation").get() == ("resource db-2", 7)
    user = User.objects.get(username="ada")
    assert UserEventScope.objects.values_list("user", "scope_digest", "incarnation").get() == (user.pk, "d" * 64, 9)
    policy = JobMaintenancePolicy.objects.get(job__name="old")
    assert (policy.on_notice, policy.on_end, policy.run_at_phases) == ("hold", "drop", ["start"])
    assert (policy.resource_names, policy.lead_time) == (["db-2"], timedelta(minutes=5))


def test_old_names_are_restored_on_reverse_migration(before):
    make_rows(before)
    migrate_to_newest()

    old = migrate(BEFORE)

    policy = old.get_model("maintenance", "Heed").objects.get()
    assert (policy.during, policy.after, policy.run_on) == ("hold", "drop", ["start"])
    assert old.get_model("maintenance", "View").objects.get().key == "resource db-2"
    assert old.get_model("maintenance", "Work").objects.get().step == "start"
