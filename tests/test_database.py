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
def test_database_mark_is_not_set_for_rows_alone(is_marked):
    assert not User.objects.exists()
    assert not is_marked


def test_database_mark_is_not_set_without_rows(is_marked):
    assert not is_marked


@pytest.mark.django_db(transaction=True)
def test_database_mark_is_set_for_real_transactions(is_marked):
    assert is_marked


def test_database_mark_is_set_for_real_transactions_of_a_fixture(transactional_db, is_marked):
    assert is_marked


@pytest.mark.django_db
def test_database_mark_is_set_for_raw_sql_in_a_called_function(is_marked):
    assert read_version()
    assert is_marked


def test_database_mark_is_set_for_raw_sql_in_a_fixture(version, is_marked):
    assert is_marked


@pytest.mark.django_db
def test_database_mark_is_set_for_captured_queries(is_marked):
    with CaptureQueriesContext(connection) as queries:
        User.objects.exists()

    assert len(queries) == 1
    assert is_marked


@pytest.mark.django_db
def test_database_mark_is_set_for_a_constraint(is_marked):
    with pytest.raises(IntegrityError):
        User.objects.bulk_create([User(username="ada"), User(username="ada")])

    assert is_marked


@pytest.mark.django_db
def test_database_mark_is_set_for_a_lock(is_marked):
    assert "select" in str(User.objects.select_for_update().query).lower()
    assert is_marked


def test_database_mark_is_set_for_a_race(is_marked):
    assert at_once(lambda: None) == []
    assert is_marked


@pytest.mark.database
def test_explicit_database_mark_is_kept(is_marked):
    assert is_marked
