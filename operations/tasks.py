"""What workers do for operations, as Celery tasks: read the clock, call one function of the core."""

import threading
import uuid

from celery import shared_task, signals
from django.utils import timezone

from operations import tracking

stopping = threading.Event()  # set once this worker has been told to stop


@signals.worker_shutting_down.connect
def stop(**_) -> None:
    stopping.set()


@shared_task
def carry_out(operation_id: str) -> None:
    if not stopping.is_set():
        tracking.carry_out(uuid.UUID(operation_id), timezone.now, stopping.is_set)


@shared_task
def watch() -> None:
    tracking.watch(timezone.now())
    tracking.prune(timezone.now())
