"""Accept an operation, carry it out step by step, cancel it, and end it when its worker has died.

The row is the truth: a message only tells a worker to look.  Each step, the progress that it made and the heartbeat
are one transaction, and so are the last step and the end: what an operation says has happened can be seen.
Source: the published contract of asynchronous operations of the resource manager.
"""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import Subscription, User
from operations.models import Operation
from operations.work import OperationFailed, work_of

logger = logging.getLogger(__name__)

DONE = 100
BATCH = 100
WORKER_LOST = "WorkerLost"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and the ids under which they will look for it."""

    user: User | None = None
    correlation_id: str = ""
    client_request_id: str = ""


class AlreadyGoing(Exception):
    """Another operation is open on the same target; nothing was changed."""

    def __init__(self, operation: Operation):
        super().__init__(f"{operation.kind} of {operation.target} is {operation.state}")
        self.operation = operation


def accept(
    subscription: Subscription,
    kind: str,
    *,
    target: str,
    target_key: str,
    place: str,
    caller: Caller,
    now: datetime,
    notes: dict | None = None,
) -> Operation:
    """Write an operation down, as part of the caller's transaction; a worker hears of it after the commit.

    Raises AlreadyGoing while one is open on the same `target_key`.
    """
    try:
        with transaction.atomic():
            operation = Operation.objects.create(
                subscription=subscription,
                kind=kind,
                target=target,
                target_key=target_key,
                place=place,
                notes=notes or {},
                asked_by=caller.user,
                correlation_id=caller.correlation_id,
                client_request_id=caller.client_request_id,
                published_at=now,
                created_at=now,
            )
    except IntegrityError:
        going = going_on(target_key)
        if going is None:  # it has just ended
            raise
        raise AlreadyGoing(going) from None
    logger.info("accepted operation %s: %s (correlation %s)", operation.pk, operation, caller.correlation_id)
    transaction.on_commit(lambda: publish(operation.pk))
    return operation


def going_on(target_key: str) -> Operation | None:
    return Operation.objects.open().filter(target_key=target_key).first()


def publish(operation_id: uuid.UUID) -> None:
    """Tell a worker.  Losing the message loses nothing: `watch` sends another."""
    from operations.tasks import carry_out as message

    try:
        message.delay(str(operation_id))
    except message.OperationalError as error:
        logger.warning("the broker takes no message about operation %s: %s", operation_id, error)


def carry_out(operation_id: uuid.UUID, clock: Callable[[], datetime], is_stopping: Callable[[], bool]) -> None:
    """Do the operation's steps until it ends, another worker has it, or this one `is_stopping`."""
    token = take(operation_id, clock())
    if token is None:
        return
    while _step(operation_id, token, clock()):
        if is_stopping():
            release(operation_id, token, clock())
            return


def take(operation_id: uuid.UUID, now: datetime) -> uuid.UUID | None:
    """Claim an operation for this worker; None when it is somebody else's, or over."""
    token = uuid.uuid4()
    free = Operation.objects.filter(pk=operation_id, state__in=Operation.OPEN, lease_token=None)
    taken = free.update(state=Operation.State.RUNNING, lease_token=token, heartbeat_at=now)
    Operation.objects.filter(pk=operation_id, started_at=None, lease_token=token).update(started_at=now)
    return token if taken else None


def release(operation_id: uuid.UUID, token: uuid.UUID, now: datetime) -> None:
    """Leave an operation where it is for another worker to go on with."""
    with transaction.atomic():
        held = Operation.objects.filter(pk=operation_id, state=Operation.State.RUNNING, lease_token=token)
        if held.update(state=Operation.State.ACCEPTED, lease_token=None, published_at=now):
            transaction.on_commit(lambda: publish(operation_id))


def _step(operation_id: uuid.UUID, token: uuid.UUID, now: datetime) -> bool:
    """Do one step; False when there is nothing more to do for this worker."""
    try:
        with transaction.atomic():
            operation = _held(operation_id, token)
            if operation is None:
                return False
            if operation.cancel_asked_at is not None:
                _end(operation, Operation.State.CANCELED, now, "OperationCanceled", "It was cancelled on request.")
                return False
            operation.percent = min(work_of(operation).step(operation, now), DONE)
            operation.heartbeat_at = now
            if operation.percent < DONE:
                operation.save(update_fields=["percent", "notes", "heartbeat_at"])
                return True
            _finish(operation, Operation.State.SUCCEEDED, now)
            return False
    except OperationFailed as failure:
        _fail(operation_id, token, failure.code, failure.message, now)
    except Exception:
        logger.exception("operation %s failed", operation_id)
        _fail(operation_id, token, "InternalError", "The work failed for a reason of our own; the log has it.", now)
    return False


def _held(operation_id: uuid.UUID, token: uuid.UUID) -> Operation | None:
    rows = Operation.objects.select_for_update(no_key=True)
    return rows.filter(pk=operation_id, state=Operation.State.RUNNING, lease_token=token).first()


def _fail(operation_id: uuid.UUID, token: uuid.UUID, code: str, message: str, now: datetime) -> None:
    with transaction.atomic():
        operation = _held(operation_id, token)
        if operation is not None:
            _end(operation, Operation.State.FAILED, now, code, message)


def _end(operation: Operation, state: Operation.State, now: datetime, code: str, message: str) -> None:
    """End an operation that did not succeed, and put back what can be."""
    try:
        with transaction.atomic():
            work_of(operation).undo(operation, now)
    except Exception:
        logger.exception("what operation %s has begun could not be put back", operation.pk)
    operation.error_code, operation.error_message = code, message
    _finish(operation, state, now)


def _finish(operation: Operation, state: Operation.State, now: datetime) -> None:
    operation.state, operation.finished_at, operation.lease_token = state, now, None
    operation.save()
    logger.info("operation %s: %s is %s (correlation %s)", operation.pk, operation, state, operation.correlation_id)


def cancel(operation: Operation, now: datetime) -> bool:
    """Ask an open operation to end before its next step; False when it is over already.

    One that no worker has taken up ends at once.
    """
    with transaction.atomic():
        row = Operation.objects.select_for_update(no_key=True).get(pk=operation.pk)
        if not row.is_open:
            return False
        if row.cancel_asked_at is None:
            row.cancel_asked_at = now
            row.save(update_fields=["cancel_asked_at"])
        if row.lease_token is None:
            _end(row, Operation.State.CANCELED, now, "OperationCanceled", "It was cancelled on request.")
    return True


def watch(now: datetime) -> None:
    """End what dead workers have left, and tell workers again of what no one has taken up."""
    for operation_id in list(Operation.objects.abandoned(now).values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            operation = Operation.objects.abandoned(now).select_for_update(no_key=True).filter(pk=operation_id).first()
            if operation is not None:
                message = "The worker that was at it has died; what it had not done yet is not done."
                _end(operation, Operation.State.FAILED, now, WORKER_LOST, message)
    for operation_id in list(Operation.objects.unheard(now).values_list("pk", flat=True)[:BATCH]):
        if Operation.objects.unheard(now).filter(pk=operation_id).update(published_at=now):
            publish(operation_id)


def prune(now: datetime) -> None:
    """Forget operations that ended longer ago than OPERATION_RETENTION_HOURS."""
    kept_since = now - timedelta(hours=settings.OPERATION_RETENTION_HOURS)
    Operation.objects.filter(finished_at__lt=kept_since).delete()
