"""A pytest plugin that empties the database after a test whose transactions really end, in less time than Django does.

Django empties every table and creates all content types and permissions again.  The plugin deletes the rows of those
tables that have rows, and keeps the content types and permissions.  If a test has changed these, Django does its work.
"""

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import TransactionTestCase

KEPT = (ContentType, Permission)

flush_all_tables = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # private
kept_rows: list[list[tuple]] = []


def pytest_configure() -> None:
    TransactionTestCase._fixture_teardown = flush_used_tables  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> None:
    with django_db_blocker.unblock():
        remember_kept_rows()


def remember_kept_rows() -> None:
    kept_rows[:] = read_kept_rows()


def read_kept_rows() -> list[list[tuple]]:
    return [list(model._base_manager.order_by("pk").values_list()) for model in KEPT]


def flush_used_tables(case: TransactionTestCase) -> None:
    if read_kept_rows() != kept_rows:
        flush_all_tables(case)
        remember_kept_rows()
        return
    with transaction.atomic(), connection.cursor() as cursor:  # the constraints are checked at the end
        for table in used_tables(cursor):
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")


def used_tables(cursor) -> list[str]:
    """Return the tables of models that have rows, without those that are kept."""
    kept = {model._meta.db_table for model in KEPT}
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - kept
    quote = connection.ops.quote_name
    cursor.execute(
        " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {quote(table)})" for table in tables)
    )
    return [table for (table,) in cursor.fetchall()]
