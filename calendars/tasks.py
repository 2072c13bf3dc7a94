"""What workers do for calendars, as Celery tasks: read the clock, call one function of the core."""

from celery import shared_task
from django.utils import timezone

from calendars import pruning


@shared_task
def prune() -> None:
    """Forget what readers of changes have seen long ago."""
    pruning.prune(timezone.now())
