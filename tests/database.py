"""A pytest plugin that marks tests that depend on the behaviour of the database.

`make test` runs these tests on PostgreSQL as well.  The plugin derives the mark from the functions that a test and its
fixtures use, so that nobody can forget it.  A test of values that databases refuse or order differently, such as a text
with a NUL, sets `pytest.mark.database` itself.
"""

import sqlite3
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType

import psycopg
import pytest
from django.db import Error, close_old_connections, connection, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test.utils import CaptureQueriesContext

from tests import racing

# for transactions that really end, in threads or after a test; not for query counts, which are equal on all databases
FIXTURES = {"transactional_db", "django_db_serialized_rollback", "django_capture_on_commit_callbacks"}
MODULES = {transaction, sqlite3, psycopg, racing}
OBJECTS = (connection, connections, close_old_connections, CaptureQueriesContext, MigrationExecutor)
METHODS = {"select_for_update", "explain", "raw"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and touches_database(item):
            item.add_marker("database")


def touches_database(item: pytest.Function) -> bool:
    mark = item.get_closest_marker("django_db")
    if (mark and mark.kwargs.get("transaction")) or FIXTURES & set(item.fixturenames):
        return True
    definitions = (each[-1] for each in item._fixtureinfo.name2fixturedefs.values())
    # a fixture of the session prepares all tests, so it says nothing about one of them
    fixtures = (definition.func for definition in definitions if definition.scope != "session")
    return any(uses_database(function, set()) for function in (item.function, *fixtures))


def uses_database(function: Callable, seen: set[Callable]) -> bool:
    """Return True if the function, or a function of the tests that it calls, uses the database other than by models."""
    function = getattr(function, "__wrapped__", function)
    if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith("tests."):
        return False
    seen.add(function)
    names = set(names_in(function.__code__))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    return bool(METHODS & names) or any(is_of_database(value) or uses_database(value, seen) for value in values)


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def is_of_database(value: object) -> bool:
    if isinstance(value, ModuleType):
        return value in MODULES
    if isinstance(value, type) and issubclass(value, Error):
        return True
    return any(value is each for each in OBJECTS) or getattr(value, "__module__", "") == racing.__name__
