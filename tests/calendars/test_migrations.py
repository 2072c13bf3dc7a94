"""Migrations that rename fields, forwards and backwards."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from calendars.models import Event
from tests.calendars.conftest import recurrence

BEFORE = "0005_body_texts"
NEW_NAMES = {
    "first_at": "covers_from",
    "ends_at": "covers_until",
    "shelf": "time_bucket",
    "series_revision": "master_revision",
}


@pytest.fixture
def migrate(transactional_db):
    """Return a function that migrates calendars to `name`, or to the newest migration, and returns the models."""

    def migrate(name: str | None = None):
        executor = MigrationExecutor(connection)
        targets = executor.loader.graph.leaf_nodes() if name is None else [("calendars", name)]
        executor.migrate(targets)
        return MigrationExecutor(connection).loader.project_state(targets).apps

    yield migrate
    migrate()


@pytest.mark.parametrize("changes", [{}, {"recurrence": recurrence(count=5)}, {"recurrence": recurrence()}])
def test_renamed_fields_keep_their_values(migrate, make_event, changes):
    event = make_event(**changes)
    Event.objects.update(master_revision=7)
    values = Event.objects.values_list(*NEW_NAMES.values()).get()

    old = migrate(BEFORE).get_model("calendars", "Event").objects
    assert old.values_list(*NEW_NAMES).get() == values
    old.update(series_revision=8)
    migrate()

    assert Event.objects.values_list(*NEW_NAMES.values()).get() == (*values[:3], 8)
    assert list(Event.objects.overlapping(event.start_at, event.end_at)) == [event]


def test_renamed_index_of_time_buckets_keeps_its_columns(migrate):
    assert index_columns() == {"event_time_bucket": ["calendar_id", "time_bucket"]}
    migrate(BEFORE)
    assert index_columns() == {"event_shelf": ["calendar_id", "shelf"]}
    migrate()
    assert index_columns() == {"event_time_bucket": ["calendar_id", "time_bucket"]}


def index_columns() -> dict[str, list[str]]:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, Event._meta.db_table)
    return {name: found[name]["columns"] for name in ("event_shelf", "event_time_bucket") if name in found}
