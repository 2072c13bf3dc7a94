"""Run functions at the same time, each with its own database connection.

On SQLite one function waits for the other; on PostgreSQL they run together, separated only by row locks.
"""

import time
from collections.abc import Callable
from threading import Barrier, Event, Thread

from django.db import connection

PAUSE_S = 0.4  # between the locks of one function and its writes, so that the other function runs in between


def at_once(*works: Callable[[], object]) -> list[Exception]:
    """Call all functions at the same time; return the exceptions that they raised."""
    barrier, raised = Barrier(len(works)), []

    def run(work):
        try:
            barrier.wait(30)
            work()
        except Exception as error:
            raised.append(error)
        finally:
            connection.close()

    threads = [Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised


def linger(midway: Event) -> None:
    """Let the other functions start; on PostgreSQL, wait so that they have time to run."""
    midway.set()
    if connection.vendor == "postgresql":
        time.sleep(PAUSE_S)


def lingering(monkeypatch, module, name: str) -> Event:
    """Patch a function so that its caller waits inside the transaction after each call, see `linger`.

    Return the event that is set when the function has returned.
    """
    event, original = Event(), getattr(module, name)

    def wrapped(*args, **kwargs):
        result = original(*args, **kwargs)
        linger(event)
        return result

    monkeypatch.setattr(module, name, wrapped)
    return event


def by_index(work: Callable[[], object]) -> Callable[[], object]:
    """Return a function that does `work` as with many rows: PostgreSQL finds rows by an index, in its order."""

    def run():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        return work()

    return run


def in_own_connection(function, *arguments):
    try:
        return function(*arguments)
    finally:
        connection.close()


def in_threads(function, *arguments):
    """Call the function once for each argument, at the same time; return the results in the order of completion."""
    barrier, results = Barrier(len(arguments)), []

    def run(argument):
        barrier.wait()
        try:
            results.append(function(argument))
        finally:
            connection.close()

    threads = [Thread(target=run, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
