"""End jobs that will not run any more."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import F

from jobs.locking import lock_jobs
from jobs.models import Job


def finish_jobs(job_ids: Iterable[int | None], state: str, now: datetime) -> None:
    """Give the jobs their final `state`, except jobs that already have one.  None stands for a deleted job."""
    if ids := {job_id for job_id in job_ids if job_id is not None}:
        lock_jobs(ids)
        unfinished = Job.objects.filter(pk__in=ids).exclude(state__in=Job.FINAL)
        unfinished.update(state=state, finished_at=now, revision=F("revision") + 1)
