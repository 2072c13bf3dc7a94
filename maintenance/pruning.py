"""Forget maintenance that is over, as long ago as runs are forgotten.  The numbers of views stay."""

from datetime import datetime, timedelta

from django.conf import settings

from jobs.pruning import remove
from maintenance.models import Notice


def prune(now: datetime) -> None:
    """Remove notices that ended RETENTION_DAYS ago, with their steps."""
    cutoff = now - timedelta(days=settings.RETENTION_DAYS)
    remove(Notice, Notice.objects.filter(ended_at__lt=cutoff).order_by("ended_at"))
