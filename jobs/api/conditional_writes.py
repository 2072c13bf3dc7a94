"""Conditional writes of jobs and collections: each locks its rows, then checks the conditions of the caller."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction
from rest_framework.request import Request

from api.conditional import Conditions
from jobs.models import Job, JobCollection
from operations.models import Operation
from operations.service import Caller
from triggers import collection_operations, scheduling
from triggers.scheduling import STAY, Destination


@contextmanager
def locked_collection(collection_id: int) -> Iterator[None]:
    """Open a transaction and lock the collection: nobody else can write its jobs and their triggers meanwhile."""
    with transaction.atomic():
        JobCollection.objects.select_for_update(no_key=True).get(pk=collection_id)
        yield


@contextmanager
def locked_job(request: Request, job: Job, to: Destination = STAY) -> Iterator[Job]:
    """Lock the job and yield its current row.  With `to`, the collection that the job is moved to is locked as well.

    Until the transaction ends, nobody else can write them.
    Raise PreconditionFailed if the caller's conditions do not match the job, and what `scheduling.locked_job` raises.
    """
    conditions = Conditions.from_request(request)
    with scheduling.locked_job(job, to) as current:
        conditions.refuse(version_of(current))
        yield current


@contextmanager
def get_if_match(request: Request, job: Job) -> Iterator[Job]:
    """Yield the job if it matches the caller's conditions.

    With conditions, the job is locked and read again: nobody else can write it meanwhile.  Without conditions, `job`
    itself is yielded without a lock.
    Raise PreconditionFailed if the conditions do not match, and what `scheduling.locked_job` raises.
    """
    if not Conditions.from_request(request):
        yield job
        return
    with locked_job(request, job) as current:
        yield current


@contextmanager
def get_collection_if_match(request: Request, found: JobCollection) -> Iterator[JobCollection]:
    """Yield the current row of the collection, locked.

    Until the transaction ends, nobody else can write the collections of its subscription.
    Raise PreconditionFailed if the caller's conditions do not match it, and Conflict while it is being deleted.
    """
    conditions = Conditions.from_request(request)
    with scheduling.locked_for_write(found.subscription_id):
        collection = scheduling.lock_collection(found.pk)
        conditions.refuse(version_of(collection))
        yield collection


def start_collection_operation(
    request: Request, kind: str, found: JobCollection, caller: Caller, now: datetime
) -> Operation:
    """Call `collection_operations.start_operation` if the caller's conditions match the collection.

    While the same operation is running, a repeated request may also name the version with which the operation began.
    """
    conditions = Conditions.from_request(request)
    with scheduling.locked_for_write(found.subscription_id):
        collection = JobCollection.objects.select_for_update(no_key=True).get(pk=found.pk)
        running = collection_operations.find_open_operation(kind, collection)
        if running is None or not conditions.hold(version(collection.pk, running.state_data["revision"])):
            conditions.refuse(version_of(collection))
        return collection_operations.start_operation(kind, collection, caller, now)


def version_of(row: Job | JobCollection) -> str:
    return version(row.pk, row.revision)


def version(id: int, revision: int) -> str:
    return f"{id}-{revision}"
