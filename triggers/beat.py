"""The beat: `celery -A scheduler_site beat` runs this scheduler.  Any number of beats may run; none is the leader.

The entries of django-celery-beat are for housekeeping only, and can be edited in the admin.  Schedules of users are
never among these entries.  A beat holds no triggers in memory: one query of an index finds the next moment.
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
    close_old_connections,
    connection,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django_celery_beat.schedulers import DatabaseScheduler

from jobs import outages
from jobs.errors import DATABASE_OUTAGE
from jobs.models import Process
from jobs.worker import heartbeat
from jobs.worker.liveness import WorkerMonitor
from operations import stopping
from recurrence import zone_data
from triggers import zone_updates
from triggers.dispatch import Dispatcher
from triggers.notify import CHANNEL
from triggers.publisher import RunPublisher

logger = logging.getLogger(__name__)

SHORTEST_WAIT_S = 0.01  # while another beat dispatches the due triggers
LONGEST_WAIT_S = 0.5  # between two passes: finds changes for which no notification arrived
OUTAGE_WAIT_S = 1.0  # between attempts while the database is away
REPORT_INTERVAL = timedelta(seconds=2)
CATCH_UP_PASSES = 20  # passes in a row before housekeeping runs again


class TriggerScheduler(DatabaseScheduler):
    """The scheduler of a beat: runs housekeeping entries as its parent does, and dispatches triggers between them."""

    def __init__(self, app, *args, lazy: bool = False, clock: Callable[[], datetime] = timezone.now, **kwargs):
        self.clock = clock
        self.publisher = RunPublisher(app)
        self.dispatcher = Dispatcher(self.publisher)
        self.listener = Listener()
        self.worker_monitor = WorkerMonitor()
        self.started_at = clock()
        self._reported_at: datetime | None = None
        self._pass_recorded_at: datetime | None = None
        self._database_is_away = False
        self._has_applied_zone_data = False
        super().__init__(app, *args, lazy=lazy, **kwargs)
        if not lazy:
            gc.freeze()  # the code stays loaded; a search through it for garbage would delay a pass by tens of ms

    def install_default_entries(self, data) -> None:
        """Install no entries: there are no results to clean up."""

    @property
    def producer(self):
        return self.publisher.producer

    def apply_entry(self, entry, producer=None) -> None:
        """Send a housekeeping task, or leave the task out while the broker is away: the next one does its work too."""
        if self.publisher.is_reachable():
            super().apply_entry(entry, producer=producer)

    def tick(self, *args, **kwargs) -> float:
        """Dispatch due triggers, send due entries, then wait for the next fire time.

        Return 0, so that the caller does not wait.  The wait is in here because a notification can end it.  Nothing
        could end a sleep of the caller.
        """
        if stopping.is_requested():
            raise SystemExit
        try:
            self._apply_zone_data()
            wakes_at = self._dispatch()
            while super().tick(*args, **kwargs) == 0:
                pass
            if self._database_is_away:
                self._database_is_away = False
                logger.info("the database answers again")
            self.listener.wait(self._seconds_until(wakes_at))
        except DATABASE_OUTAGE as error:
            if not self._database_is_away:
                self._database_is_away = True
                logger.error("the database does not answer, so nothing is dispatched: %s", error)
            close_old_connections()
            time.sleep(OUTAGE_WAIT_S)
        return 0

    def close(self) -> None:
        self.listener.close()
        with contextlib.suppress(DatabaseError):
            heartbeat.sign_off(Process.Kind.BEAT, heartbeat.own_name())
        super().close()
        self.publisher.close()

    def _apply_zone_data(self) -> None:
        """At the first tick, have stored times recomputed if they were computed with other time zone data."""
        if not self._has_applied_zone_data:
            zone_updates.apply_data(zone_data.current(), self.clock())
            self._has_applied_zone_data = True

    def _dispatch(self) -> datetime | None:
        for _ in range(CATCH_UP_PASSES):
            self._record_pass(self.clock())
            self._report(self.clock())
            self.worker_monitor.check(self.clock(), time.monotonic())
            wakes_at = self.dispatcher.run(self.clock())
            if wakes_at is None or wakes_at > self.clock() or stopping.is_requested():
                break
        return wakes_at

    def _record_pass(self, now: datetime) -> None:
        """Record the pass that begins, unless this beat recorded one less than REPORT_INTERVAL ago."""
        if self._pass_recorded_at is not None and timedelta(0) <= now - self._pass_recorded_at < REPORT_INTERVAL:
            return
        if outage := outages.record_pass(now):
            logger.warning("no pass was made from %s to %s", outage.started_at, outage.ended_at)
        self._pass_recorded_at = now

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
    """Waits for a given time or, on PostgreSQL, until a notification arrives, whichever is first."""

    def __init__(self) -> None:
        self._connection: BaseDatabaseWrapper | None = None  # a separate one: a wait must not block other queries

    def wait(self, seconds: float) -> None:
        if connection.vendor != "postgresql":
            time.sleep(seconds)
            return
        try:
            for _ in self._listening().notifies(timeout=seconds, stop_after=1):
                pass
        except (psycopg.OperationalError, *DATABASE_OUTAGE):
            self.close()  # the next wait connects again; until then the regular passes are enough
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
