"""What workers do, as Celery tasks: read the clock, call one function of the core.

Messages carry ids of runs and nothing else; losing one loses nothing, and a second one for the same run starts nothing.
"""

import threading
from datetime import timedelta

from celery import shared_task, signals
from django.conf import settings
from django.utils import timezone

from jobs import execution, heartbeat, pruning

draining = threading.Event()  # set once this worker has been told to stop

signals.worker_ready.connect(heartbeat.begin)
signals.worker_shutdown.connect(heartbeat.end)


@signals.worker_shutting_down.connect
def drain(**_) -> None:
    draining.set()


@shared_task(bind=True)
def execute(self, run_ids: list[str]) -> None:
    """Carry out runs.  A worker that is being stopped takes none: they are sent again."""
    if not draining.is_set():
        seconds = timedelta(seconds=settings.DRAIN_SECONDS)
        execution.execute(run_ids, self.request.hostname or "", timezone.now, draining.is_set, seconds)


@shared_task
def reap() -> None:
    """Take runs back from workers that vanished."""
    while execution.reap(timezone.now()) == execution.REAP_BATCH:
        pass


@shared_task
def prune() -> None:
    """Remove history that is older than it is kept, and jobs that ended long ago."""
    pruning.prune(timezone.now())
