"""The order of row locks, which prevents deadlocks.

1. Collections, in the order of their keys.  The lock allows one writer at a time in a collection, and none while the
   collection is being deleted.  To move a job, both of its collections are locked.  A transaction that read a job
   before the job was moved is refused, because the lock of the new collection could violate the order.
2. Runs, in the order of their keys (`Run.objects.lock_ordered`); the runs of all jobs concerned in one statement.
3. Jobs, in the order of their keys.

Code that takes only unlocked rows never waits and needs no order: leases, beats, pruning.
"""

from collections.abc import Collection, Container, Iterable

from api.errors import Conflict
from jobs.models import Job, JobCollection


def lock_collection(collection_id: int) -> JobCollection:
    """Lock and return the collection: no other transaction can write to it until this one ends.

    Raises Conflict while the collection is being deleted.
    """
    collection = JobCollection.objects.select_for_update(no_key=True).get(pk=collection_id)
    if collection.state == JobCollection.State.DELETED:
        raise Conflict(f"collection {collection.name!r} is being deleted")
    return collection


def lock_collections(ids: Iterable[int]) -> dict[int, JobCollection]:
    """Lock several collections in the order of their keys, each as `lock_collection` does; return them by key."""
    return {collection_id: lock_collection(collection_id) for collection_id in sorted(set(ids))}


def lock_collections_of(jobs: Collection[Job]) -> dict[int, JobCollection]:
    """Lock the collections of these jobs; return them by key.

    Raises Conflict when a job has been moved: the lock of its new collection could come earlier in the order.
    """
    locked = lock_collections(job.collection_id for job in jobs)
    for job in Job.objects.filter(pk__in=[job.pk for job in jobs]).exclude(collection__in=list(locked)):
        refuse_moved(job, locked)
    return locked


def refuse_moved(job: Job, locked: Container[int]) -> None:
    """Raise Conflict if a job, which was read after the locks were taken, is not in a locked collection."""
    if job.collection_id not in locked:
        raise Conflict(f"job {job.name!r} has been moved to another collection meanwhile; try again")


def lock_jobs(job_ids: Iterable[int | None]) -> None:
    """Lock the jobs in the order of their keys.  A single job needs no lock: its update locks it.

    None stands for a deleted job.
    """
    if len(ids := {job_id for job_id in job_ids if job_id is not None}) > 1:
        list(Job.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True).values_list("pk"))
