"""Celery tasks of the workers: read the clock and call one function of the core.

Messages carry ids of runs or the token of a lease.  A lost message loses no work, and a second message for the same run
starts nothing.
"""

import gc
import resource
import sys
from datetime import timedelta

from celery import shared_task, signals
from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from jobs.actions import task
from jobs.housekeeping import work_in_pieces
from jobs.worker import heartbeat, pruning, rescue
from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.execution import Worker
from operations import stopping

OWN_FILES = 200  # open files that a worker needs in addition to those of calls
SWITCH_S = 0.001  # the thread for calls is busy: with a short interval, threads that use the database wait less
CLOSE_WITHIN_S = 10.0  # after the drain time; runs that are not recorded by then are rescued later

workers: list[Worker] = []  # the worker of this process, once it is ready

signals.worker_ready.connect(heartbeat.start_heartbeat)
signals.worker_shutdown.connect(heartbeat.stop_heartbeat)


@signals.task_prerun.connect
def drop_stale_connection(**_) -> None:
    close_old_connections()


@signals.worker_ready.connect
def start_worker(sender, **_) -> None:
    gc.freeze()  # loaded code stays, so the garbage collector need not scan it
    sys.setswitchinterval(SWITCH_S)
    allow_files(settings.CALLS + OWN_FILES)
    calls = HttpPool(
        CallLimiter(settings.CALLS, settings.CALLS_PER_HOST, host_limits={task.HOST: settings.TASK_THREADS})
    )
    worker = Worker(
        heartbeat.own_name(), calls, timezone.now, stopping.is_requested, timedelta(seconds=settings.DRAIN_SECONDS)
    )
    worker.start()
    workers.append(worker)


@signals.worker_shutdown.connect
def stop_worker(**_) -> None:
    """Stop the worker of this process; no task runs at this point."""
    stopping.request()
    while workers:
        workers.pop().close(settings.DRAIN_SECONDS + CLOSE_WITHIN_S)


def allow_files(needed: int) -> None:
    """Raise the limit of open files to `needed`, or to the hard limit if that is lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed, hard), hard))


@shared_task
def execute(run_ids: list[str]) -> None:
    """Carry out runs.  A worker that is being stopped takes no runs: they are published again."""
    if not stopping.is_requested():
        workers[0].start_runs(run_ids)


@shared_task
def reap() -> None:
    """Take runs back from workers that vanished."""
    rescue.rescue_all(timezone.now())


@shared_task
def prune(token: str | None = None) -> None:
    """Remove history after its retention time, and jobs that ended long ago."""
    work_in_pieces(prune, token, pruning.prune)
