"""Accept an operation, carry it out step by step, cancel it, and end it when its worker has died.

The row is the source of truth; a message only wakes a worker.  Each step is one transaction with its progress and its
heartbeat.  The last step is one transaction with the end.  So the effects that an operation reports are always visible.
Source: the published contract of asynchronous operations of the resource manager.
"""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Value
from django.db.models.functions import Coalesce

from accounts.models import Subscription, User
from operations.handlers import OperationFailed, WorkerNotReady, handler_for, is_cancellable
from operations.models import Operation

logger = logging.getLogger(__name__)

DONE = 100
BATCH = 100
ACCEPT_TRIES = 3
CANCELED = ("OperationCanceled", "It was cancelled on request.")
INTERNAL_ERROR = (
    "InternalError",
    "The operation failed because of an internal error. Details are in the log of the server.",
)
WORKER_LOST = (
    "WorkerLost",
    "The worker that carried out the operation stopped. The steps that it had not completed were not carried out.",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who requests an operation, and the ids by which the user can find it in logs."""

    user: User | None = None
    correlation_id: str = ""
    client_request_id: str = ""


class NotCancellableError(Exception):
    """Users cannot cancel operations of this kind; nothing was changed."""

    def __init__(self, operation: Operation):
        super().__init__(f"an operation {operation.kind} cannot be cancelled, because stored values would stay wrong")


class AlreadyRunning(Exception):
    """Another operation is open on the same target; nothing was changed."""

    def __init__(self, operation: Operation):
        super().__init__(f"{operation.kind} of {operation.target} is {operation.state}")
        self.operation = operation


def create(
    subscription: Subscription,
    kind: str,
    *,
    target: str,
    target_key: str,
    location: str,
    caller: Caller,
    now: datetime,
    state_data: dict | None = None,
) -> Operation:
    """Create an operation within the caller's transaction, and wake a worker after the commit.

    Raises AlreadyRunning while another operation is open on the same `target_key`.
    """
    operation = Operation(
        subscription=subscription,
        kind=kind,
        target=target,
        target_key=target_key,
        location=location,
        state_data=state_data or {},
        requested_by=caller.user,
        correlation_id=caller.correlation_id,
        client_request_id=caller.client_request_id,
        published_at=now,
        created_at=now,
    )
    for further_tries in reversed(range(ACCEPT_TRIES)):
        try:
            with transaction.atomic():
                operation.save(force_insert=True)
            break
        except IntegrityError:
            existing = find_open(target_key)
            if existing is not None:
                raise AlreadyRunning(existing) from None
            if not further_tries:  # otherwise try again: the other operation has just ended
                raise
    logger.info("accepted %s", describe(operation))
    transaction.on_commit(lambda: publish(operation.pk))
    return operation


def describe(operation: Operation) -> str:
    """Return a text for the log, with the id of the operation and the ids of its caller."""
    ids = f"correlation {operation.correlation_id or '-'}, client request {operation.client_request_id or '-'}"
    return f"operation {operation.pk}, {operation} ({ids})"


def find_open(target_key: str) -> Operation | None:
    return Operation.objects.open().filter(target_key=target_key).first()


def publish(operation_id: uuid.UUID) -> None:
    """Send a message that wakes a worker.  A lost message does no harm: `rescue` sends another one."""
    from operations.tasks import carry_out as message

    try:
        message.delay(str(operation_id))
    except message.OperationalError as error:
        logger.warning("the broker takes no message about operation %s: %s", operation_id, error)


def carry_out(operation_id: uuid.UUID, clock: Callable[[], datetime], is_over: Callable[[], bool]) -> None:
    """Do the steps of the operation until it ends, until another worker leases it, or until `is_over` returns True.

    In the last case the operation is released, so that another worker continues it.
    """
    token = lease(operation_id, clock())
    if token is None:
        return
    while _step(operation_id, token, clock):
        if is_over():
            release(operation_id, token, clock())
            return


def lease(operation_id: uuid.UUID, now: datetime) -> uuid.UUID | None:
    """Lease an operation for this worker.  Return the token, or None if another worker has it or it is over."""
    token = uuid.uuid4()
    rows = Operation.objects.open().filter(pk=operation_id, lease_token=None)
    count = rows.update(
        state=Operation.State.RUNNING,
        lease_token=token,
        heartbeat_at=now,
        started_at=Coalesce("started_at", Value(now, output_field=models.DateTimeField())),
    )
    return token if count else None


def release(operation_id: uuid.UUID, token: uuid.UUID, now: datetime) -> None:
    """End the lease of an open operation, and wake another worker to continue it."""
    with transaction.atomic():
        leased = Operation.objects.open().filter(pk=operation_id, lease_token=token)
        if leased.update(lease_token=None, published_at=now):
            transaction.on_commit(lambda: publish(operation_id))


def _step(operation_id: uuid.UUID, token: uuid.UUID, clock: Callable[[], datetime]) -> bool:
    """Do one step.  Return False if this worker has nothing more to do for the operation."""
    try:
        with transaction.atomic():
            operation = _leased(operation_id, token)
            if operation is None:
                return False
            if operation.cancel_requested_at is not None:
                _end(operation, Operation.State.CANCELED, clock(), *CANCELED)
                return False
            operation.percent = max(operation.percent, min(handler_for(operation).step(operation, clock()), DONE))
            if operation.percent == DONE:
                _finish(operation, Operation.State.SUCCEEDED, clock())
                return False
            operation.heartbeat_at = clock()
            operation.save(update_fields=["percent", "state_data", "heartbeat_at"])
            return True
    except WorkerNotReady as reason:
        logger.warning("operation %s waits for another worker: %s", operation_id, reason)
        _leave(operation_id, token, clock())
    except OperationFailed as failure:
        _fail(operation_id, token, failure.code, failure.message, clock())
    except Exception:
        logger.exception("operation %s failed", operation_id)
        _fail(operation_id, token, *INTERNAL_ERROR, clock())
    return False


def _leave(operation_id: uuid.UUID, token: uuid.UUID, now: datetime) -> None:
    """End the lease without a message: a worker that gets one at once could be this one.  `rescue` sends it later."""
    Operation.objects.open().filter(pk=operation_id, lease_token=token).update(lease_token=None, published_at=now)


def _leased(operation_id: uuid.UUID, token: uuid.UUID) -> Operation | None:
    rows = Operation.objects.select_for_update(no_key=True)
    return rows.filter(pk=operation_id, state=Operation.State.RUNNING, lease_token=token).first()


def _fail(operation_id: uuid.UUID, token: uuid.UUID, code: str, message: str, now: datetime) -> None:
    with transaction.atomic():
        operation = _leased(operation_id, token)
        if operation is not None:
            _end(operation, Operation.State.FAILED, now, code, message)


def _end(operation: Operation, state: Operation.State, now: datetime, code: str, message: str) -> None:
    """End an operation that did not succeed, and undo what can be undone."""
    try:
        with transaction.atomic():
            handler_for(operation).undo(operation, now)
    except Exception:
        logger.exception("what operation %s has begun could not be put back", operation.pk)
    operation.error_code, operation.error_message = code, message
    _finish(operation, state, now)


def _finish(operation: Operation, state: Operation.State, now: datetime) -> None:
    operation.state, operation.finished_at, operation.lease_token = state, now, None
    operation.save()
    logger.info("%s: %s", state, describe(operation))


def cancel(operation: Operation, now: datetime) -> bool:
    """Request that an open operation end before its next step.  Return False if it is already over.

    An operation that no worker has leased ends at once.  Raises NotCancellableError for an open operation of a kind
    that users cannot cancel.
    """
    with transaction.atomic():
        row = Operation.objects.select_for_update(no_key=True).get(pk=operation.pk)
        if not row.is_open:
            return False
        if not is_cancellable(row):
            raise NotCancellableError(row)
        row.cancel_requested_at = row.cancel_requested_at or now
        if row.lease_token is None:
            # `_end` first undoes the steps, which locks the target, and then writes this row.  A caller that creates a
            # new operation holds the lock of the target and waits for a row that was written, not for a locked row.
            # So the two do not wait for each other.
            _end(row, Operation.State.CANCELED, now, *CANCELED)
        else:
            row.save(update_fields=["cancel_requested_at"])
    logger.info("asked to cancel %s", describe(row))
    return True


def rescue(now: datetime) -> None:
    """End operations whose worker has died, and send new messages for operations that no worker has leased."""
    for operation_id in list(Operation.objects.abandoned(now).values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            operation = Operation.objects.abandoned(now).select_for_update(no_key=True).filter(pk=operation_id).first()
            if operation is not None:
                _end(operation, Operation.State.FAILED, now, *WORKER_LOST)
    for operation_id in list(Operation.objects.undelivered(now).values_list("pk", flat=True)[:BATCH]):
        if Operation.objects.undelivered(now).filter(pk=operation_id).update(published_at=now):
            publish(operation_id)


def prune(now: datetime) -> None:
    """Delete operations that ended longer ago than OPERATION_RETENTION_HOURS."""
    oldest = now - timedelta(hours=settings.OPERATION_RETENTION_HOURS)
    Operation.objects.filter(finished_at__lt=oldest).delete()
