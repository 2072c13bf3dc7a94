"""What workers do for maintenance, as Celery tasks: read the clock, call one function of the core."""

from celery import shared_task
from django.utils import timezone

from maintenance import lifecycle, pruning


@shared_task
def advance() -> None:
    """Start and end notices whose time has come or whose runs have ended; hold what is to be held, and let go."""
    lifecycle.keep_house(timezone.now())


@shared_task
def prune() -> None:
    """Forget notices that ended longer ago than history is kept."""
    pruning.prune(timezone.now())
