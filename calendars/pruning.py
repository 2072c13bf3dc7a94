"""Delete old states of delta queries, which no client uses any more.  Calendars and events are never pruned."""

from datetime import datetime, timedelta

from calendars.models import SyncState
from jobs.worker.pruning import IsOver, never, remove

KEEP = timedelta(days=30)


def prune(now: datetime, is_over: IsOver = never) -> bool:
    """Delete rows older than KEEP.  Return True if all are deleted, as `jobs.worker.pruning.prune` does."""
    return remove(SyncState.objects.filter(created_at__lt=now - KEEP).order_by("created_at"), is_over)
