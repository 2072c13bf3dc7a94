"""Delete notices that ended long ago, after the same time as runs.  The incarnations of event scopes stay."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef

from jobs.worker.pruning import IsOver, never, remove
from maintenance.models import Approval, Notice, NoticeResource, NoticeRun

# Models with a key to a notice, and to a run or a resource, which may be deleted at the same time
DEPENDENT_MODELS = (NoticeRun, Approval, NoticeResource)


def prune(now: datetime, is_over: IsOver = never) -> bool:
    """Delete notices that ended more than RETENTION_DAYS ago, with their steps.  Delete rows that refer to them first.

    Return True if all is done, as `jobs.worker.pruning.prune` does.
    """
    ended = Notice.objects.filter(ended_at__lt=now - timedelta(days=settings.RETENTION_DAYS))
    dependents = [model.objects.filter(notice__in=ended).order_by() for model in DEPENDENT_MODELS]
    # NOT EXISTS, because joins would read the dependent rows of all notices
    without_dependents = ended.filter(
        *(~Exists(model.objects.filter(notice=OuterRef("pk"))) for model in DEPENDENT_MODELS)
    )
    return all(remove(rows, is_over) for rows in [*dependents, without_dependents.order_by("ended_at")])
