"""Delete jobs and collections: what they have done stays for its retention time, what still waits is cancelled.

Rows are locked in the order of `jobs.locking`, for all jobs at once: a worker may have runs of several in hand.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from jobs import following
from jobs.locking import lock_collection
from jobs.models import Job, JobCollection, Run, RunQuerySet

DELETE_TRIES = 5


def delete_job(job: Job, now: datetime) -> None:
    """Delete `job`.  Raises Conflict when its collection is being deleted, and the job with it."""
    delete_jobs([job], now)


def delete_jobs(jobs: Iterable[Job], now: datetime) -> None:
    """Delete all of them as `delete_job` does, or none."""
    jobs = list(jobs)
    with transaction.atomic():
        for collection_id in sorted({job.collection_id for job in jobs}):
            lock_collection(collection_id)
        remove_jobs(jobs, "the job was deleted", now)


def remove_jobs(jobs: Iterable[Job], reason: str, now: datetime) -> None:
    """Delete jobs of collections that the caller has locked; `reason` is given to their waiting runs."""
    ids = [job.pk for job in jobs]
    _delete(Job.objects.filter(pk__in=ids), Run.objects.filter(job__in=ids), reason, now)


def delete_collection(collection: JobCollection, now: datetime) -> None:
    """Delete `collection` with all of its jobs."""
    runs = Run.objects.filter(job__collection=collection.pk)
    _delete(JobCollection.objects.filter(pk=collection.pk), runs, "the collection was deleted", now)


def _delete(rows: QuerySet, runs: RunQuerySet, reason: str, now: datetime) -> None:
    """Delete `rows`, whose `runs` lose them.  One that is made meanwhile keeps them from going: then once more."""
    for further_tries in reversed(range(DELETE_TRIES)):
        try:
            with transaction.atomic():
                open_runs = runs.filter(state__in=Run.OPEN).in_turn().values_list("pk", "state")
                following.stop([pk for pk, state in open_runs if state == Run.State.FOLLOWING], now)
                waiting = runs.filter(state__in=(*Run.PENDING, Run.State.HELD))
                waiting.update(state=Run.State.CANCELLED, reason=reason, held_by=None, finished_at=now)
                rows.delete()
                if connection.vendor == "postgresql":
                    connection.check_constraints()  # here, and not at the end of a transaction around this one
            return
        except IntegrityError:
            if not further_tries:
                raise
