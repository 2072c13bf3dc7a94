"""Remove what readers of changes have seen once they do not come back for it; calendars themselves are never pruned."""

from datetime import datetime, timedelta

from calendars.models import SyncState
from jobs.pruning import remove

KEEP = timedelta(days=30)


def prune(now: datetime) -> None:
    remove(SyncState, SyncState.objects.filter(created_at__lt=now - KEEP).order_by("created_at"))
