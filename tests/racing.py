"""Several who are at work at the same moment, each in a connection of their own.

On SQLite one waits for the other; on PostgreSQL they run together, held apart by row locks alone.
"""

import time
from collections.abc import Callable
from threading import Barrier, Event, Thread

from django.db import connection

PAUSE_S = 0.4  # between the locks of the one and what it writes, so that the other comes in between


def at_once(*works: Callable[[], object]) -> list[Exception]:
    """Do all at once; return what they raised."""
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
    """Tell the others that they may come now, and on PostgreSQL give them time to."""
    midway.set()
    if connection.vendor == "postgresql":
        time.sleep(PAUSE_S)


def lingering(monkeypatch, module, name: str) -> Event:
    """An event that is set when the function has done its work; whoever called it then lingers in its transaction."""
    event, real = Event(), getattr(module, name)

    def wrapped(*args, **kwargs):
        result = real(*args, **kwargs)
        linger(event)
        return result

    monkeypatch.setattr(module, name, wrapped)
    return event


def by_index(work: Callable[[], object]) -> Callable[[], object]:
    """The work as it is done where there are many rows: they are found by an index, in its order."""

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
    """Call the function once for each argument, at the same time, and return the answers."""
    together, answers = Barrier(len(arguments)), []

    def go(argument):
        together.wait()
        try:
            answers.append(function(argument))
        finally:
            connection.close()

    threads = [Thread(target=go, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
