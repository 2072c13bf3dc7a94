"""What is long about a job collection: to delete it, to enable and to disable it.

Each is accepted as an operation and done by a worker, some jobs at a time.  While a collection is being deleted its
state is `deleted`: it takes no writes, and none of its jobs runs.
"""

from datetime import datetime

from django.db import transaction

from accounts.models import Subscription
from jobs.errors import Conflict
from jobs.models import Job, JobCollection
from operations.models import Operation
from operations.tracking import AlreadyGoing, Caller, accept
from operations.work import OperationFailed, register
from triggers import scheduling
from triggers.models import Trigger

DELETE, ENABLE, DISABLE = "delete", "enable", "disable"
STATES = {ENABLE: JobCollection.State.ENABLED, DISABLE: JobCollection.State.DISABLED}
JOBS_A_STEP = 50


def order(kind: str, collection: JobCollection, target: str, caller: Caller, now: datetime) -> Operation:
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
                target=target,
                target_key=target_key(row),
                place=row.location.replace(" ", "").lower() or "global",
                caller=caller,
                now=now,
                notes={"collection": row.pk, "state": row.state, "jobs": row.jobs.count()},
            )
            if kind == DELETE:
                JobCollection.objects.filter(pk=row.pk).update(state=JobCollection.State.DELETED, updated_at=now)
    except AlreadyGoing as going:
        if going.operation.kind == f"collection.{kind}":
            return going.operation
        raise Conflict(f"{going}; wait for its end, or cancel it") from None
    return operation


def target_key(collection: JobCollection) -> str:
    return f"collection {collection.pk}"


def collection_of(operation: Operation) -> JobCollection:
    row = JobCollection.objects.select_for_update(no_key=True).filter(pk=operation.notes["collection"]).first()
    if row is None:
        raise OperationFailed("ResourceNotFound", "the collection is not there any more")
    return row


def percent_of(done: int, operation: Operation) -> int:
    """Below 100: the last step is one of its own."""
    return min(99, done * 100 // max(operation.notes["jobs"], 1))


class Deletion:
    def step(self, operation: Operation, now: datetime) -> int:
        collection = collection_of(operation)
        jobs = list(Job.objects.filter(collection=collection).order_by("pk")[:JOBS_A_STEP])
        if not jobs:
            scheduling.delete_collection(collection, now)
            return 100
        for job in jobs:
            scheduling.remove_job(job, "the collection was deleted", now)
        return percent_of(operation.notes["jobs"] - collection.jobs.count(), operation)

    def undo(self, operation: Operation, now: datetime) -> None:
        """What is deleted stays so; what is left goes on as before."""
        collection = collection_of(operation)
        collection.state = operation.notes["state"]
        collection.save(update_fields=["state", "updated_at"])
        scheduling.place_collection(collection, now)


class Switch:
    """Give a collection its state, then start or stop its jobs."""

    def __init__(self, state: JobCollection.State):
        self.state = state

    def step(self, operation: Operation, now: datetime) -> int:
        collection = collection_of(operation)
        notes = operation.notes
        if collection.state != self.state:
            collection.state = self.state
            collection.save(update_fields=["state", "updated_at"])
        later = Job.objects.filter(collection=collection, pk__gt=notes.get("after", 0)).order_by("pk")
        jobs = list(later.values_list("pk", flat=True)[:JOBS_A_STEP])
        if not jobs:
            return 100
        enabled = Trigger.objects.filter(job__in=jobs, job__state=Job.State.ENABLED)
        scheduling.place(enabled, now)
        notes["after"], notes["done"] = jobs[-1], notes.get("done", 0) + len(jobs)
        return percent_of(notes["done"], operation)

    def undo(self, operation: Operation, now: datetime) -> None:
        collection = collection_of(operation)
        collection.state = operation.notes["state"]
        collection.save(update_fields=["state", "updated_at"])
        scheduling.place_collection(collection, now)


register(f"collection.{DELETE}", Deletion())
register(f"collection.{ENABLE}", Switch(JobCollection.State.ENABLED))
register(f"collection.{DISABLE}", Switch(JobCollection.State.DISABLED))
