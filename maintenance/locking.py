"""The lock of maintenance: exclusive for changes of notices, shared for those that make runs.

Without the lock, a run that is made while a notice begins to hold its job would stay free.  On PostgreSQL the lock is
an advisory lock.  A transaction that changes notices takes it in exclusive mode.  Transactions that make runs take it
in shared mode.  On SQLite a transaction that writes has the whole database to itself anyway.

All transactions lock rows in one order, to prevent deadlocks: collections, then this lock, then notices, event scopes
and runs (these in the order of their keys), then jobs.  Dispatch already holds locks on triggers when it takes this
lock; maintenance never locks triggers.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from jobs.models import JobCollection

KEY = 0x4D41494E54  # the key of the advisory lock, unique in this database


@contextmanager
def exclusive_lock(collections: Iterable[int] = ()) -> Iterator[None]:
    """Open a transaction that holds the lock in exclusive mode, and lock the rows of `collections`.

    Until the end of the transaction no other one changes notices, makes runs that notices might hold, or edits these
    collections.
    """
    with transaction.atomic():
        if ids := set(collections):
            list(JobCollection.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True).values("pk"))
        _lock("pg_advisory_xact_lock")
        yield


def shared_lock() -> None:
    """Take the lock in shared mode.  Until this transaction ends, no notice can change which runs are held."""
    _lock("pg_advisory_xact_lock_shared")


def _lock(function: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s)", [KEY])
