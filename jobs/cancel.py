"""Call off a run that has not begun, or that waits for its next attempt."""

from datetime import datetime

from django.db import transaction

from jobs.errors import Conflict
from jobs.finishing import finish_jobs
from jobs.models import Job, Run


def cancel(run: Run, reason: str, now: datetime) -> None:
    """Raises Conflict when a worker has the run, or it has ended."""
    with transaction.atomic():
        pending = Run.objects.filter(pk=run.pk, state__in=Run.PENDING)
        cancelled = pending.update(state=Run.State.CANCELLED, reason=reason[:200], not_before=None, finished_at=now)
        run.refresh_from_db()
        if not cancelled:
            raise Conflict(f"the run is {run.state}: only one that waits can be cancelled")
        if run.is_last:
            finish_jobs([run.job_id], Job.State.COMPLETED, now)
        if run.lock_key and run.job_id:  # whoever waits for this run's end looks again
            waiting = Run.objects.filter(job_id=run.job_id, lock_key=run.lock_key, state=Run.State.WAITING)
            waiting.update(publish_after=now)
