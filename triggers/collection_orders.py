"""What is long about a job collection: to delete it, to enable and to disable it.

Each is accepted as an operation and done by a worker, some jobs at a time.  The collection has its new state from its
acceptance on, so that none of its jobs begins that is not to; the work places their triggers accordingly.  While a
collection is being deleted its state is `deleted`, and it takes no writes.
"""

import logging
import re
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from accounts.models import Subscription
from jobs.errors import Conflict
from jobs.models import Job, JobCollection
from operations import tracking
from operations.models import Operation
from operations.tracking import AlreadyGoing, Caller, accept
from operations.work import OperationFailed, register
from recurrence.wire import WireError
from triggers import deleting, placing
from triggers.models import Trigger

logger = logging.getLogger(__name__)

DELETE, ENABLE, DISABLE = "delete", "enable", "disable"
STATES = {
    DELETE: JobCollection.State.DELETED,
    ENABLE: JobCollection.State.ENABLED,
    DISABLE: JobCollection.State.DISABLED,
}
JOBS_A_STEP = 10  # each may have a thousand runs, which lose it


def order(kind: str, collection: JobCollection, caller: Caller, now: datetime) -> Operation:
    """Accept to delete, enable or disable a collection; the same again while it goes on answers what is going on.

    Raises Conflict while another of them goes on, and for a collection that is being deleted.
    """
    try:
        with transaction.atomic():
            Subscription.objects.select_for_update(no_key=True).get(pk=collection.subscription_id)
            row = JobCollection.objects.select_for_update(no_key=True).get(pk=collection.pk)
            operation = accept(
                row.subscription,
                f"collection.{kind}",
                target=f"{row.resource_group}/{row.name}",
                target_key=target_key(row),
                place=place_of(row),
                caller=caller,
                now=now,
                notes={"collection": row.pk, "state": row.state, "revision": row.revision, "jobs": row.jobs.count()},
            )
            if row.state != STATES[kind]:
                row.turn(STATES[kind])
    except AlreadyGoing as going:
        if going.operation.kind == f"collection.{kind}":
            return going.operation
        raise Conflict(f"{going}; wait for its end, or cancel it") from None
    return operation


def order_all(kind: str, collections: Iterable[JobCollection], caller: Caller, now: datetime) -> None:
    """Accept it for all of them, or for none.  They are locked at once, in the order in which everybody does."""
    collections = list(collections)
    with transaction.atomic():
        for model, ids in (
            (Subscription, [each.subscription_id for each in collections]),
            (JobCollection, [each.pk for each in collections]),
        ):
            list(model.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True).values("pk"))
        for collection in collections:
            order(kind, collection, caller, now)


def going_on(kind: str, collection: JobCollection) -> Operation | None:
    """The open operation of this kind on the collection, which `order` would answer again."""
    operation = tracking.going_on(target_key(collection))
    return operation if operation and operation.kind == f"collection.{kind}" else None


def target_key(collection: JobCollection) -> str:
    return f"collection {collection.pk}"


def place_of(collection: JobCollection) -> str:
    """The collection's location as addresses have it: a location may hold whatever can be printed."""
    return re.sub("[^a-z0-9-]", "", collection.location.lower()) or "global"


def collection_of(operation: Operation) -> JobCollection:
    """The collection, to which nobody else writes until the transaction ends.  Raises OperationFailed."""
    row = JobCollection.objects.select_for_update(no_key=True).filter(pk=operation.notes["collection"]).first()
    if row is None:
        raise OperationFailed("ResourceNotFound", "the collection is not there any more")
    return row


def percent_of(done: int, operation: Operation) -> int:
    """Below 100: the last step is one of its own."""
    return min(99, done * 100 // max(operation.notes["jobs"], 1))


class CollectionWork:
    """What the kinds have in common.  `state` is what the collection was given when the operation was accepted."""

    def __init__(self, state: JobCollection.State):
        self.state = state

    def step(self, operation: Operation, now: datetime) -> int:
        # who makes or replaces a collection holds this lock, and does so with one that is whole or gone
        Subscription.objects.select_for_update(no_key=True).get(pk=operation.subscription_id)
        collection = collection_of(operation)
        if collection.state != self.state:
            message = f"the collection's state has been changed to {collection.state} by another request"
            raise OperationFailed("Superseded", message)
        return self.go_on(operation, collection, now)

    def go_on(self, operation: Operation, collection: JobCollection, now: datetime) -> int:
        raise NotImplementedError

    def undo(self, operation: Operation, now: datetime) -> None:
        """Give the collection the state that it had, unless another request has given it one since.

        Jobs that are deleted stay so; those that are left go on as before.
        """
        collection = collection_of(operation)
        if collection.state == self.state and collection.state != operation.notes["state"]:
            collection.turn(operation.notes["state"])
        try:
            placing.place_collection(collection, now)
        except WireError:
            logger.exception("a trigger of collection %s cannot be placed", collection.pk)


class Deletion(CollectionWork):
    def go_on(self, operation: Operation, collection: JobCollection, now: datetime) -> int:
        jobs = list(Job.objects.filter(collection=collection).order_by("pk")[:JOBS_A_STEP])
        if not jobs:
            deleting.delete_collection(collection, now)
            return 100
        deleting.remove_jobs(jobs, "the collection was deleted", now)
        return percent_of(operation.notes["jobs"] - collection.jobs.count(), operation)


class Switch(CollectionWork):
    """Start or stop the jobs of a collection that was enabled or disabled."""

    def go_on(self, operation: Operation, collection: JobCollection, now: datetime) -> int:
        notes = operation.notes
        later = Job.objects.filter(collection=collection, pk__gt=notes.get("after", 0)).order_by("pk")
        jobs = list(later.values_list("pk", flat=True)[:JOBS_A_STEP])
        if not jobs:
            return 100
        try:
            placing.place(Trigger.objects.filter(job__in=jobs, job__state=Job.State.ENABLED), now)
        except WireError as error:
            raise OperationFailed("InvalidTrigger", f"a trigger cannot be followed: {error}") from error
        notes["after"], notes["done"] = jobs[-1], notes.get("done", 0) + len(jobs)
        return percent_of(notes["done"], operation)


for kind, work in ((DELETE, Deletion), (ENABLE, Switch), (DISABLE, Switch)):
    register(f"collection.{kind}", work(STATES[kind]))
