"""Processes report that they are alive, so that a page can show whether beats and workers run.

A worker reports from a thread of its own.  So it does not look dead during a long call or without its broker.
"""

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone

from jobs.models import Process

INTERVAL = timedelta(seconds=2)  # see SILENCE_S in jobs/worker/liveness.py

logger = logging.getLogger(__name__)


def own_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def report(kind: str, name: str, queues: Sequence[str], started_at: datetime, now: datetime) -> None:
    """Write into the database that this process is alive at `now`."""
    Process.objects.update_or_create(
        kind=kind, name=name, defaults={"queues": list(queues), "started_at": started_at, "seen_at": now}
    )


def sign_off(kind: str, name: str) -> None:
    Process.objects.filter(kind=kind, name=name).delete()


class Heartbeat:
    """A thread that reports a worker from `start` to `stop`."""

    def __init__(self, name: str, queues: Sequence[str], clock: Callable[[], datetime], interval: timedelta = INTERVAL):
        self.name = name
        self.queues = queues
        self.clock = clock
        self.interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(timeout=self.interval.total_seconds())

    def _beat(self) -> None:
        started_at = self.clock()
        has_failed = False
        while True:
            close_old_connections()
            try:
                report(Process.Kind.WORKER, self.name, self.queues, started_at, self.clock())
                has_failed = False
            except DatabaseError as error:
                if not has_failed:
                    logger.warning("this worker cannot report itself: %s", error)
                has_failed = True
            if self._stopped.wait(self.interval.total_seconds()):
                break
        with contextlib.suppress(DatabaseError):
            sign_off(Process.Kind.WORKER, self.name)
        connection.close()


def start_heartbeat(sender, **_) -> None:
    """Receive Celery's signal `worker_ready`: report the worker for as long as it runs."""
    queues = sorted(queue.name for queue in sender.task_consumer.queues) if sender.task_consumer else []
    sender.heartbeat = Heartbeat(own_name(), queues, timezone.now)
    sender.heartbeat.start()


def stop_heartbeat(sender, **_) -> None:
    """Receive Celery's signal `worker_shutdown`: stop the reports."""
    heartbeat = getattr(sender.consumer, "heartbeat", None)
    if heartbeat is not None:
        heartbeat.stop()
