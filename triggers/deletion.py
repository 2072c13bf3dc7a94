"""Delete jobs and collections.  Finished runs stay for their retention time; waiting runs are cancelled.

Rows are locked in the order of `jobs.locking`, for all jobs at once: one worker may hold runs of several jobs.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from jobs.holds import end_holds
from jobs.locking import lock_collections_of
from jobs.models import Job, JobCollection, Run, RunQuerySet
from jobs.worker import polling

DELETE_TRIES = 5


def delete_job(job: Job, now: datetime) -> None:
    """Delete `job`.

    Raises Conflict when its collection is being deleted with all its jobs, or when the job was moved to another
    collection in the meantime.
    """
    delete_jobs([job], now)


def delete_jobs(jobs: Iterable[Job], now: datetime) -> None:
    """Delete all of the jobs as `delete_job` does, or none."""
    jobs = list(jobs)
    with transaction.atomic():
        lock_collections_of(jobs)
        remove_jobs(jobs, "the job was deleted", now)


def remove_jobs(jobs: Iterable[Job], reason: str, now: datetime) -> None:
    """Delete jobs of collections that the caller has locked; their waiting runs get `reason`."""
    ids = [job.pk for job in jobs]
    _delete(Job.objects.filter(pk__in=ids), Run.objects.filter(job__in=ids), reason, now)


def delete_collection(collection: JobCollection, now: datetime) -> None:
    """Delete `collection` with all of its jobs."""
    runs = Run.objects.filter(job__collection=collection.pk)
    _delete(JobCollection.objects.filter(pk=collection.pk), runs, "the collection was deleted", now)


def _delete(rows: QuerySet, runs: RunQuerySet, reason: str, now: datetime) -> None:
    """Delete `rows`, and detach their `runs`.

    A run that is created at the same moment makes the deletion fail; then the deletion is tried again, up to
    DELETE_TRIES times.
    """
    for further_tries in reversed(range(DELETE_TRIES)):
        try:
            with transaction.atomic():
                open_runs = list(runs.filter(state__in=Run.OPEN).lock_ordered().values_list("pk", "state"))
                polling.stop_polling([pk for pk, state in open_runs if state == Run.State.FOLLOWING], now)
                waiting = runs.filter(state__in=(*Run.PENDING, Run.State.HELD))
                waiting.update(state=Run.State.CANCELLED, reason=reason, hold_key=None, finished_at=now)
                end_holds([pk for pk, state in open_runs if state == Run.State.HELD], now)
                rows.delete()
                if connection.vendor == "postgresql":
                    connection.check_constraints()  # now, not only when an outer transaction ends
            return
        except IntegrityError:
            if not further_tries:
                raise
