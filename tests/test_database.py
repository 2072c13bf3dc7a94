"""The plugin in tests/database.py marks tests that depend on the database; each test here checks its own mark."""

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from tests.racing import at_once


@pytest.fixture
def is_marked(request) -> bool:
    return request.node.get_closest_marker("database") is not None


@pytest.fixture
def version(db) -> str:
    return read_version()


def read_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return str(cursor.fetchone())


@pytest.mark.django_db
def test_rows_alone_do_not_touch_it(is_marked):
    assert not User.objects.exists()
    assert not is_marked


def test_no_row_does_not_touch_it(is_marked):
    assert not is_marked


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_ends_touches_it(is_marked):
    assert is_marked


def test_a_transaction_that_ends_in_a_fixture_touches_it(transactional_db, is_marked):
    assert is_marked


@pytest.mark.django_db
def test_raw_sql_in_a_function_that_a_test_calls_touches_it(is_marked):
    assert read_version()
    assert is_marked


def test_raw_sql_in_a_fixture_touches_it(version, is_marked):
    assert is_marked


@pytest.mark.django_db
def test_captured_queries_touch_it(is_marked):
    with CaptureQueriesContext(connection) as queries:
        User.objects.exists()

    assert len(queries) == 1
    assert is_marked


@pytest.mark.django_db
def test_a_constraint_touches_it(is_marked):
    with pytest.raises(IntegrityError):
        User.objects.bulk_create([User(username="ada"), User(username="ada")])

    assert is_marked


@pytest.mark.django_db
def test_a_lock_touches_it(is_marked):
    assert "select" in str(User.objects.select_for_update().query).lower()
    assert is_marked


def test_a_race_touches_it(is_marked):
    assert at_once(lambda: None) == []
    assert is_marked


@pytest.mark.database
def test_a_mark_by_hand_stays(is_marked):
    assert is_marked
