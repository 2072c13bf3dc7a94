"""Forget maintenance that is over, as long ago as runs are forgotten.  The numbers of views stay."""

from datetime import datetime, timedelta

from django.conf import settings

from jobs.pruning import remove
from maintenance.models import Affected, Approval, Notice, Work

HANGING = (Work, Approval, Affected)  # on a notice, and on a run or a resource, which may go at the same moment


def prune(now: datetime) -> None:
    """Remove notices that ended RETENTION_DAYS ago, with their steps, and what hangs on them before."""
    cutoff = now - timedelta(days=settings.RETENTION_DAYS)
    for model in HANGING:
        remove(model, model.objects.filter(notice__ended_at__lt=cutoff).order_by("pk"))
    bare = Notice.objects.filter(ended_at__lt=cutoff, work=None, approvals=None, affected=None)
    remove(Notice, bare.order_by("ended_at"))
