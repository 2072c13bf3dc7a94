"""The beat: `celery -A scheduler_site beat` runs this scheduler.  Any number of beats may run; none is the leader.

django-celery-beat's own entries are housekeeping only, and stay editable in the admin; schedules of users are never
among them.  A beat holds none of those in memory: the next moment is one look at an index.
"""

import contextlib
import gc
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import psycopg
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django_celery_beat.schedulers import DatabaseScheduler

from jobs import heartbeat
from jobs.models import Process
from triggers.bell import Bell
from triggers.dispatch import Dispatcher
from triggers.wake import CHANNEL

logger = logging.getLogger(__name__)

SHORTEST_WAIT_S = 0.01  # when another beat is at what is due
LONGEST_WAIT_S = 0.5  # a pass is never further away: what no notice tells of is noticed then
OUTAGE_WAIT_S = 1.0  # between looks while the database is away
REPORT_INTERVAL = timedelta(seconds=2)
CATCH_UP_PASSES = 20  # passes in a row before housekeeping has its turn again


class TriggerScheduler(DatabaseScheduler):
    """Runs housekeeping entries as its parent does, and dispatches triggers between them."""

    def __init__(self, app, *args, lazy: bool = False, clock: Callable[[], datetime] = timezone.now, **kwargs):
        self.clock = clock
        self.bell = Bell(app)
        self.dispatcher = Dispatcher(self.bell)
        self.listener = Listener()
        self.started_at = clock()
        self._reported_at: datetime | None = None
        self._database_is_away = False
        super().__init__(app, *args, lazy=lazy, **kwargs)
        if not lazy:
            gc.freeze()  # the code stays loaded: looking through it for garbage would hold up a pass for tens of ms

    def install_default_entries(self, data) -> None:
        """None: there are no results to clean up."""

    @property
    def producer(self):
        return self.bell.producer

    def apply_entry(self, entry, producer=None) -> None:
        """Send a housekeeping task; while the broker is away it is left out, for the next one does its work too."""
        if self.bell.is_reachable():
            super().apply_entry(entry, producer=producer)

    def tick(self, *args, **kwargs) -> float:
        """Do what is due, then wait for what comes next; the caller has nothing to wait for.

        The parent would be asked again only after a sleep that nothing can end, so the waiting is in here.
        """
        try:
            wakes_at = self._dispatch()
            while super().tick(*args, **kwargs) == 0:
                pass
            self._report(self.clock())
            if self._database_is_away:
                self._database_is_away = False
                logger.info("the database answers again")
            self.listener.wait(self._seconds_until(wakes_at))
        except (OperationalError, InterfaceError) as error:
            if not self._database_is_away:
                self._database_is_away = True
                logger.error("the database does not answer, so nothing is dispatched: %s", error)
            close_old_connections()
            time.sleep(OUTAGE_WAIT_S)
        return 0

    def close(self) -> None:
        """May come from a signal, in the middle of anything."""
        self.listener.close()
        if not connection.in_atomic_block:
            with contextlib.suppress(DatabaseError):
                heartbeat.sign_off(Process.Kind.BEAT, heartbeat.own_name())
        super().close()
        self.bell.close()

    def _dispatch(self) -> datetime | None:
        for _ in range(CATCH_UP_PASSES):
            wakes_at = self.dispatcher.run(self.clock())
            if wakes_at is None or wakes_at > self.clock():
                break
        return wakes_at

    def _report(self, now: datetime) -> None:
        if self._reported_at is None or now - self._reported_at >= REPORT_INTERVAL:
            heartbeat.report(Process.Kind.BEAT, heartbeat.own_name(), [], self.started_at, now)
            self._reported_at = now

    def _seconds_until(self, moment: datetime | None) -> float:
        if moment is None:
            return LONGEST_WAIT_S
        seconds = (moment - self.clock()).total_seconds()
        return min(max(seconds, SHORTEST_WAIT_S), LONGEST_WAIT_S)


class Listener:
    """Waits until a time is over or, on PostgreSQL, until somebody says that something changed."""

    def __init__(self) -> None:
        self._connection: BaseDatabaseWrapper | None = None  # of its own: the others must not be blocked by waiting

    def wait(self, seconds: float) -> None:
        if connection.vendor != "postgresql":
            time.sleep(seconds)
            return
        try:
            for _ in self._listening().notifies(timeout=seconds, stop_after=1):
                pass
        except (psycopg.OperationalError, OperationalError, InterfaceError):
            self.close()  # the next wait connects anew; looking regularly is enough until then
            time.sleep(seconds)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _listening(self) -> psycopg.Connection:
        if self._connection is None:
            self._connection = connections.create_connection(DEFAULT_DB_ALIAS)
            with self._connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
        return self._connection.connection
