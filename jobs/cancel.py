"""Cancel a run that has not begun, that waits for its next attempt, or that follows an operation.

The operation itself is not cancelled: it belongs to the target and may go on.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from api.errors import Conflict
from jobs.finishing import finish_jobs
from jobs.holds import end_holds
from jobs.models import AsyncOperation, Job, Run
from jobs.worker import overlap, polling

POLLED = Q(Exists(AsyncOperation.objects.filter(run=OuterRef("pk"))), state=Run.State.RUNNING)
CANCELLABLE = Q(state__in=(*Run.PENDING, Run.State.HELD)) | POLLED


def can_be_cancelled(run: Run) -> bool:
    return Run.objects.filter(CANCELLABLE, pk=run.pk).exists()


def cancel(run: Run, reason: str, now: datetime) -> None:
    """Cancel the run.  Raises Conflict if the run has ended, or if a worker has it for anything other than a poll."""
    with transaction.atomic():
        cancelled = Run.objects.filter(CANCELLABLE, pk=run.pk).update(
            state=Run.State.CANCELLED,
            reason=reason[:200],
            not_before=None,
            hold_key=None,
            lease_token=None,
            leased_until=None,
            finished_at=now,
        )
        run.refresh_from_db()
        if not cancelled:
            raise Conflict(f"the run is {run.state}: only one that waits can be cancelled")
        polling.stop_polling([run.pk], now)
        end_holds([run.pk], now)
        if run.is_last:
            finish_jobs([run.job_id], Job.State.COMPLETED, now)
        overlap.release_next([run], now)
