"""What workers do for operations, as Celery tasks: read the clock, call one function of the core."""

import threading
import uuid
from datetime import timedelta

from celery import shared_task, signals
from django.utils import timezone

from operations import tracking

TURN = timedelta(seconds=20)  # after which a worker lets other work go first

stopping = threading.Event()  # set once this worker has been told to stop


@signals.worker_shutting_down.connect
def stop(**_) -> None:
    stopping.set()


@shared_task
def carry_out(operation_id: str) -> None:
    if stopping.is_set():
        return  # nobody has it: `watch` sends the message again
    ends_at = timezone.now() + TURN
    tracking.carry_out(uuid.UUID(operation_id), timezone.now, lambda: stopping.is_set() or timezone.now() >= ends_at)


@shared_task
def watch() -> None:
    now = timezone.now()
    tracking.watch(now)
    tracking.prune(now)
