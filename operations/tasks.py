"""The Celery tasks of operations.  Each reads the clock and calls functions of the core."""

import uuid
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from operations import service, stopping

TIME_SLICE = timedelta(seconds=20)  # after this time a worker releases the operation, so that other tasks come first


@shared_task
def carry_out(operation_id: str) -> None:
    if stopping.is_requested():
        return  # no worker has leased the operation: `rescue` sends the message again
    ends_at = timezone.now() + TIME_SLICE
    service.carry_out(
        uuid.UUID(operation_id), timezone.now, lambda: stopping.is_requested() or timezone.now() >= ends_at
    )


@shared_task(name="operations.tasks.watch")
def rescue() -> None:
    now = timezone.now()
    service.rescue(now)
    service.prune(now)
