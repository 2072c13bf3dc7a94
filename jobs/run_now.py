"""Run a job by hand: one extra occurrence, recorded and counted, that does not change the schedule."""

from datetime import datetime

from django.db import IntegrityError, transaction

from api.errors import Conflict, Invalid
from jobs.models import Job, JobCollection, Run
from jobs.worker.overlap import job_lock_key

KEY_LENGTH = 100


def run_now(job: Job, now: datetime, key: str | None = None) -> Run:
    """Create a run of `job` that is due now, and return it; the next pass of a beat publishes it to a worker.

    With a `key` the call is idempotent: the same key returns the run of the first call.
    Raises Conflict unless the job and its collection are enabled.
    """
    if key is not None and not 1 <= len(key) <= KEY_LENGTH:
        raise Invalid(f"a key has 1 to {KEY_LENGTH} characters, not {len(key)}", path="key", code="out_of_range")
    if reason := not_runnable_reason(job):
        raise Conflict(reason)
    try:
        with transaction.atomic():
            return Run.objects.create(
                subscription_id=job.collection.subscription_id,
                job=job,
                action_id=job.action_id,
                collection_name=job.collection.name,
                job_name=job.name,
                origin=Run.Origin.MANUAL,
                manual_key=key,
                fire_at=now,
                publish_after=now,
                lock_key=job_lock_key(job.pk, job.overlap),
            )
    except IntegrityError:
        return Run.objects.get(job=job, manual_key=key)


def not_runnable_reason(job: Job) -> str:
    """Return why a run of the job cannot be created now; empty if it can."""
    if job.state != Job.State.ENABLED:
        return f"job {job.name!r} is {job.state}: only an enabled job can be run"
    if job.collection.state != JobCollection.State.ENABLED:
        return f"collection {job.collection.name!r} is {job.collection.state}: its jobs cannot be run"
    return ""
