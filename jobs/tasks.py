"""What workers do, as Celery tasks: read the clock, call one function of the core.

Messages carry ids of runs and nothing else; losing one loses nothing, and a second one for the same run starts nothing.
"""

import gc
import resource
import sys
import threading
from datetime import timedelta

from celery import shared_task, signals
from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from jobs import heartbeat, pruning, reclaiming
from jobs.actions import task
from jobs.calling import Calls
from jobs.execution import Worker
from jobs.room import Room

OWN_FILES = 200  # open files that a worker has besides those of calls
SWITCH_S = 0.001  # the thread that makes calls is busy: those that wait for the database get their turn sooner
CLOSE_WITHIN_S = 10.0  # after the drain time: what is not recorded by then is left to be reaped

draining = threading.Event()  # set once this worker has been told to stop
workers: list[Worker] = []  # the one of this process, once it is ready

signals.worker_ready.connect(heartbeat.begin)
signals.worker_shutdown.connect(heartbeat.end)


@signals.task_prerun.connect
def drop_stale_connection(**_) -> None:
    close_old_connections()


@signals.worker_ready.connect
def begin(sender, **_) -> None:
    gc.freeze()  # the code stays loaded, so nobody looks through it for garbage
    sys.setswitchinterval(SWITCH_S)
    allow_files(settings.CALLS + OWN_FILES)
    calls = Calls(Room(settings.CALLS, settings.CALLS_PER_HOST, narrow={task.HOST: settings.TASK_THREADS}))
    worker = Worker(sender.hostname, calls, timezone.now, draining.is_set, timedelta(seconds=settings.DRAIN_SECONDS))
    worker.start()
    workers.append(worker)


@signals.worker_shutting_down.connect
def drain(**_) -> None:
    draining.set()


@signals.worker_shutdown.connect
def end(**_) -> None:
    """No task runs any more."""
    draining.set()
    while workers:
        workers.pop().close(settings.DRAIN_SECONDS + CLOSE_WITHIN_S)


def allow_files(needed: int) -> None:
    """Raise the number of files that this process may have open, as far as it is allowed to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed, hard), hard))


@shared_task
def execute(run_ids: list[str]) -> None:
    """Carry out runs.  A worker that is being stopped takes none: they are sent again."""
    if not draining.is_set():
        workers[0].take(run_ids)


@shared_task
def reap() -> None:
    """Take runs back from workers that vanished."""
    while reclaiming.reap(timezone.now()) == reclaiming.REAP_BATCH:
        pass


@shared_task
def prune() -> None:
    """Remove history that is older than it is kept, and jobs that ended long ago."""
    pruning.prune(timezone.now())
