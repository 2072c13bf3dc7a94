"""What workers do for maintenance, as Celery tasks: read the clock, call one function of the core."""

from celery import shared_task
from django.utils import timezone

from maintenance.lifecycle import advance as advance_notices


@shared_task
def advance() -> None:
    """Start notices whose time has come, and those whose resources have become idle; hold what is to be held."""
    advance_notices(timezone.now())
