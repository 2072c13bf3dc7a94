"""The long operations on a job collection: delete, enable and disable.

Each is accepted as an operation, and a worker carries the operation out, some jobs at a time.  The collection has its
new state as soon as the operation is accepted, so that no job starts that must not start.  The worker then sets the
next fire times of the triggers.  While a collection is being deleted its state is `deleted`, and it takes no writes.
"""

import logging
import re
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from accounts.models import Subscription
from api.errors import Conflict
from jobs.models import Job, JobCollection
from operations import service
from operations.handlers import OperationFailed, register
from operations.models import Operation
from operations.service import AlreadyRunning, Caller, create
from recurrence.wire import WireError
from triggers import deletion, next_fire
from triggers.models import Trigger

logger = logging.getLogger(__name__)

DELETE, ENABLE, DISABLE = "delete", "enable", "disable"
STATES = {
    DELETE: JobCollection.State.DELETED,
    ENABLE: JobCollection.State.ENABLED,
    DISABLE: JobCollection.State.DISABLED,
}
JOBS_A_STEP = 10  # a job may have a thousand runs, and deletion updates each of these rows


def start_operation(kind: str, collection: JobCollection, caller: Caller, now: datetime) -> Operation:
    """Accept an operation that deletes, enables or disables a collection.

    If an operation of this kind is already open, return it.  Raises Conflict while one of another kind is open, and for
    a collection that is being deleted.
    """
    try:
        with transaction.atomic():
            Subscription.objects.select_for_update(no_key=True).get(pk=collection.subscription_id)
            row = JobCollection.objects.select_for_update(no_key=True).get(pk=collection.pk)
            operation = create(
                row.subscription,
                f"collection.{kind}",
                target=f"{row.resource_group}/{row.name}",
                target_key=target_key(row),
                location=location_of(row),
                caller=caller,
                now=now,
                state_data={
                    "collection": row.pk,
                    "state": row.state,
                    "revision": row.revision,
                    "jobs": row.jobs.count(),
                },
            )
            if row.state != STATES[kind]:
                row.set_state(STATES[kind])
    except AlreadyRunning as error:
        if error.operation.kind == f"collection.{kind}":
            return error.operation
        raise Conflict(f"{error}; wait for its end, or cancel it") from None
    return operation


def start_operations(kind: str, collections: Iterable[JobCollection], caller: Caller, now: datetime) -> None:
    """Accept the operation for all collections, or for none.

    All rows are locked first, in the order that every writer uses.
    """
    collections = list(collections)
    with transaction.atomic():
        for model, ids in (
            (Subscription, [each.subscription_id for each in collections]),
            (JobCollection, [each.pk for each in collections]),
        ):
            list(model.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True).values("pk"))
        for collection in collections:
            start_operation(kind, collection, caller, now)


def find_open_operation(kind: str, collection: JobCollection) -> Operation | None:
    """Return the open operation of this kind on the collection, which `start_operation` would return again, or None."""
    operation = service.find_open(target_key(collection))
    return operation if operation and operation.kind == f"collection.{kind}" else None


def target_key(collection: JobCollection) -> str:
    return f"collection {collection.pk}"


def location_of(collection: JobCollection) -> str:
    """Return the collection's location in the form that addresses use, or "global".

    A stored location may hold any printable characters.
    """
    return re.sub("[^a-z0-9-]", "", collection.location.lower()) or "global"


def collection_of(operation: Operation) -> JobCollection:
    """Return the operation's collection, locked until the transaction ends.  Raises OperationFailed when it is gone."""
    row = JobCollection.objects.select_for_update(no_key=True).filter(pk=operation.state_data["collection"]).first()
    if row is None:
        raise OperationFailed("ResourceNotFound", "the collection is not there any more")
    return row


def progress(done: int, operation: Operation) -> int:
    """Return the progress in percent, at most 99: the last step is separate and reports 100."""
    return min(99, done * 100 // max(operation.state_data["jobs"], 1))


class CollectionOperation:
    """Base of the three kinds.  `state` is the state that the collection got when the operation was accepted."""

    def __init__(self, state: JobCollection.State):
        self.state = state

    def step(self, operation: Operation, now: datetime) -> int:
        # creating or replacing a collection takes the same lock, so that a writer never sees one that is half deleted
        Subscription.objects.select_for_update(no_key=True).get(pk=operation.subscription_id)
        collection = collection_of(operation)
        if collection.state != self.state:
            message = f"the collection's state has been changed to {collection.state} by another request"
            raise OperationFailed("Superseded", message)
        return self.advance(operation, collection, now)

    def advance(self, operation: Operation, collection: JobCollection, now: datetime) -> int:
        raise NotImplementedError

    def undo(self, operation: Operation, now: datetime) -> None:
        """Give the collection its former state back, unless another request has changed the state since.

        Deleted jobs stay deleted; the remaining jobs go on as before.
        """
        collection = collection_of(operation)
        if collection.state == self.state and collection.state != operation.state_data["state"]:
            collection.set_state(operation.state_data["state"])
        try:
            next_fire.recompute_collection(collection, now)
        except WireError:
            logger.exception("a trigger of collection %s cannot be placed", collection.pk)


class Deletion(CollectionOperation):
    def advance(self, operation: Operation, collection: JobCollection, now: datetime) -> int:
        jobs = list(Job.objects.filter(collection=collection).order_by("pk")[:JOBS_A_STEP])
        if not jobs:
            deletion.delete_collection(collection, now)
            return 100
        deletion.remove_jobs(jobs, "the collection was deleted", now)
        return progress(operation.state_data["jobs"] - collection.jobs.count(), operation)


class StateChange(CollectionOperation):
    """Start or stop the jobs of a collection that was enabled or disabled."""

    def advance(self, operation: Operation, collection: JobCollection, now: datetime) -> int:
        state_data = operation.state_data
        remaining = Job.objects.filter(collection=collection, pk__gt=state_data.get("after", 0)).order_by("pk")
        jobs = list(remaining.values_list("pk", flat=True)[:JOBS_A_STEP])
        if not jobs:
            return 100
        try:
            next_fire.set_next_fire_times(Trigger.objects.filter(job__in=jobs, job__state=Job.State.ENABLED), now)
        except WireError as error:
            raise OperationFailed("InvalidTrigger", f"a trigger cannot be followed: {error}") from error
        state_data["after"], state_data["done"] = jobs[-1], state_data.get("done", 0) + len(jobs)
        return progress(state_data["done"], operation)


for kind, work in ((DELETE, Deletion), (ENABLE, StateChange), (DISABLE, StateChange)):
    register(f"collection.{kind}", work(STATES[kind]))
