"""Who locks what, and in which order, lest two wait for each other.

First the collection, several in the order of their keys: who writes what is in it is alone, and nobody does while it is
being deleted.  Then runs, in the order of their keys (`Run.objects.in_turn`), those of all jobs in question at once.
Last jobs, in the order of theirs.  Who takes only what is free waits for nobody and needs no order: a lease, a beat,
pruning.
"""

from collections.abc import Iterable

from jobs.errors import Conflict
from jobs.models import Job, JobCollection


def lock_collection(collection_id: int) -> JobCollection:
    """The collection, to which nobody else writes until the transaction ends.

    Raises Conflict while it is being deleted.
    """
    collection = JobCollection.objects.select_for_update(no_key=True).get(pk=collection_id)
    if collection.state == JobCollection.State.DELETED:
        raise Conflict(f"collection {collection.name!r} is being deleted")
    return collection


def lock_jobs(job_ids: Iterable[int | None]) -> None:
    """Lock the jobs, unless it is a single one, which is locked by its change; None stands for one that is gone."""
    if len(ids := {job_id for job_id in job_ids if job_id is not None}) > 1:
        list(Job.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True).values_list("pk"))
