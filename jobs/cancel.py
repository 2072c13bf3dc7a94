"""Call off a run that has not begun, that waits for its next attempt, or that follows what an attempt has begun.

Following just ends: the operation itself is its target's, and may go on.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from jobs import following, overlap
from jobs.errors import Conflict
from jobs.finishing import finish_jobs
from jobs.models import Following, Job, Run

POLLED = Q(Exists(Following.objects.filter(run=OuterRef("pk"))), state=Run.State.RUNNING)
CANCELLABLE = Q(state__in=(*Run.PENDING, Run.State.HELD)) | POLLED


def can_be_cancelled(run: Run) -> bool:
    return Run.objects.filter(CANCELLABLE, pk=run.pk).exists()


def cancel(run: Run, reason: str, now: datetime) -> None:
    """Raises Conflict when a worker has the run, other than for a poll, or it has ended."""
    with transaction.atomic():
        cancelled = Run.objects.filter(CANCELLABLE, pk=run.pk).update(
            state=Run.State.CANCELLED,
            reason=reason[:200],
            not_before=None,
            held_by=None,
            lease_token=None,
            leased_until=None,
            finished_at=now,
        )
        run.refresh_from_db()
        if not cancelled:
            raise Conflict(f"the run is {run.state}: only one that waits can be cancelled")
        following.stop([run.pk], now)
        if run.is_last:
            finish_jobs([run.job_id], Job.State.COMPLETED, now)
        overlap.call_next([run], now)
