"""Celery tasks of calendars.  Each task reads the clock and calls one function of the core."""

from celery import shared_task

from calendars import pruning
from jobs.housekeeping import work_in_pieces


@shared_task
def prune(token: str | None = None) -> None:
    """Delete old states of delta queries, as `calendars.pruning.prune` does."""
    work_in_pieces(prune, token, pruning.prune)
