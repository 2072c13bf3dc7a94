"""The Celery tasks of maintenance.  Each reads the clock and calls one function of the core."""

from celery import shared_task
from django.utils import timezone

from jobs.housekeeping import work_in_pieces
from maintenance import lifecycle, pruning


@shared_task
def advance() -> None:
    """Start and end notices whose time has come or whose runs have ended; then hold and release runs."""
    lifecycle.run_housekeeping(timezone.now())


@shared_task
def prune(token: str | None = None) -> None:
    """Delete notices that ended longer ago than RETENTION_DAYS."""
    work_in_pieces(prune, token, pruning.prune)
