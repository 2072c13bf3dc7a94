"""Who writes what is in a collection holds the collection's row: one at a time, and none while it is being deleted."""

from jobs.errors import Conflict
from jobs.models import JobCollection


def lock_collection(collection_id: int) -> JobCollection:
    """The collection, to which nobody else writes until the transaction ends.

    Raises Conflict while it is being deleted.
    """
    collection = JobCollection.objects.select_for_update(no_key=True).get(pk=collection_id)
    if collection.state == JobCollection.State.DELETED:
        raise Conflict(f"collection {collection.name!r} is being deleted")
    return collection
