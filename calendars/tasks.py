"""Celery tasks of calendars.  Each task reads the clock and calls one function of the core."""

from celery import shared_task

from calendars import pruning
from jobs.housekeeping import work_in_pieces
from triggers.closed_days import renew_event_days


@shared_task
def prune(token: str | None = None) -> None:
    """Delete old states of delta queries, as `calendars.pruning.prune` does."""
    work_in_pieces(prune, token, pruning.prune)


@shared_task
def renew_closed_days(token: str | None = None) -> None:
    """Take over changes of events that close days, as `triggers.closed_days.renew_event_days` does."""
    work_in_pieces(renew_closed_days, token, renew_event_days)
