"""One after the other: who changes what notices show, and who asks what they hold.

A run that is made while a notice begins to hold its job would be held by nobody.  So on PostgreSQL an advisory lock
lets those that change notices be alone, and those that make runs only beside each other.  On SQLite a transaction that
writes has the whole database to itself anyway.

Rows are locked in one order, lest two wait for each other: collections, then this lock, then notices, views and runs
(these in the order of their keys), then jobs.  Dispatch comes to it with triggers in hand, which nobody here wants.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from jobs.models import JobCollection

KEY = 0x4D41494E54  # of the lock, among all that use this database


@contextmanager
def alone(collections: Iterable[int] = ()) -> Iterator[None]:
    """A transaction beside which nobody changes notices, makes runs that they might hold, or edits the collections."""
    with transaction.atomic():
        if ids := set(collections):
            list(JobCollection.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True).values("pk"))
        _lock("pg_advisory_xact_lock")
        yield


def beside() -> None:
    """Let what is held now be held until the end of this transaction, and what is not, not."""
    _lock("pg_advisory_xact_lock_shared")


def _lock(function: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s)", [KEY])
