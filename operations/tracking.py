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
from django.db import IntegrityError, models, transaction
from django.db.models import Value
from django.db.models.functions import Coalesce

from accounts.models import Subscription, User
from operations.models import Operation
from operations.work import OperationFailed, work_of

logger = logging.getLogger(__name__)

DONE = 100
BATCH = 100
ACCEPT_TRIES = 3
CANCELED = ("OperationCanceled", "It was cancelled on request.")
INTERNAL_ERROR = ("InternalError", "The work failed for a reason of our own; the log has it.")
WORKER_LOST = ("WorkerLost", "The worker that was at it has died; what it had not done yet is not done.")


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
    operation = Operation(
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
    for further_tries in reversed(range(ACCEPT_TRIES)):
        try:
            with transaction.atomic():
                operation.save(force_insert=True)
            break
        except IntegrityError:
            going = going_on(target_key)
            if going is not None:
                raise AlreadyGoing(going) from None
            if not further_tries:  # else what was in the way has just ended
                raise
    logger.info("accepted %s", described(operation))
    transaction.on_commit(lambda: publish(operation.pk))
    return operation


def described(operation: Operation) -> str:
    """What the log finds an operation by: its own id, and those under which its caller looks for it."""
    ids = f"correlation {operation.correlation_id or '-'}, client request {operation.client_request_id or '-'}"
    return f"operation {operation.pk}, {operation} ({ids})"


def going_on(target_key: str) -> Operation | None:
    return Operation.objects.open().filter(target_key=target_key).first()


def publish(operation_id: uuid.UUID) -> None:
    """Tell a worker.  Losing the message loses nothing: `watch` sends another."""
    from operations.tasks import carry_out as message

    try:
        message.delay(str(operation_id))
    except message.OperationalError as error:
        logger.warning("the broker takes no message about operation %s: %s", operation_id, error)


def carry_out(operation_id: uuid.UUID, clock: Callable[[], datetime], is_over: Callable[[], bool]) -> None:
    """Do the operation's steps until it ends, another worker has it, or this one's turn `is_over`."""
    token = take(operation_id, clock())
    if token is None:
        return
    while _step(operation_id, token, clock):
        if is_over():
            release(operation_id, token, clock())
            return


def take(operation_id: uuid.UUID, now: datetime) -> uuid.UUID | None:
    """Claim an operation for this worker; None when it is somebody else's, or over."""
    token = uuid.uuid4()
    taken = Operation.objects.open().filter(pk=operation_id, lease_token=None)
    count = taken.update(
        state=Operation.State.RUNNING,
        lease_token=token,
        heartbeat_at=now,
        started_at=Coalesce("started_at", Value(now, output_field=models.DateTimeField())),
    )
    return token if count else None


def release(operation_id: uuid.UUID, token: uuid.UUID, now: datetime) -> None:
    """Leave an operation where it is for another worker to go on with."""
    with transaction.atomic():
        held = Operation.objects.open().filter(pk=operation_id, lease_token=token)
        if held.update(lease_token=None, published_at=now):
            transaction.on_commit(lambda: publish(operation_id))


def _step(operation_id: uuid.UUID, token: uuid.UUID, clock: Callable[[], datetime]) -> bool:
    """Do one step; False when there is nothing more to do for this worker."""
    try:
        with transaction.atomic():
            operation = _held(operation_id, token)
            if operation is None:
                return False
            if operation.cancel_asked_at is not None:
                _end(operation, Operation.State.CANCELED, clock(), *CANCELED)
                return False
            operation.percent = max(operation.percent, min(work_of(operation).step(operation, clock()), DONE))
            if operation.percent == DONE:
                _finish(operation, Operation.State.SUCCEEDED, clock())
                return False
            operation.heartbeat_at = clock()
            operation.save(update_fields=["percent", "notes", "heartbeat_at"])
            return True
    except OperationFailed as failure:
        _fail(operation_id, token, failure.code, failure.message, clock())
    except Exception:
        logger.exception("operation %s failed", operation_id)
        _fail(operation_id, token, *INTERNAL_ERROR, clock())
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
    logger.info("%s: %s", state, described(operation))


def cancel(operation: Operation, now: datetime) -> bool:
    """Ask an open operation to end before its next step; False when it is over already.

    One that no worker is at ends at once.
    """
    with transaction.atomic():
        row = Operation.objects.select_for_update(no_key=True).get(pk=operation.pk)
        if not row.is_open:
            return False
        row.cancel_asked_at = row.cancel_asked_at or now
        if row.lease_token is None:
            # written after the undoing, which locks what the operation is about: who asks for a new operation there
            # holds that lock and waits for a row of ours that is written, not for one that is only locked
            _end(row, Operation.State.CANCELED, now, *CANCELED)
        else:
            row.save(update_fields=["cancel_asked_at"])
    logger.info("asked to cancel %s", described(row))
    return True


def watch(now: datetime) -> None:
    """End what dead workers have left, and tell workers again of what no one has taken up."""
    for operation_id in list(Operation.objects.abandoned(now).values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            operation = Operation.objects.abandoned(now).select_for_update(no_key=True).filter(pk=operation_id).first()
            if operation is not None:
                _end(operation, Operation.State.FAILED, now, *WORKER_LOST)
    for operation_id in list(Operation.objects.unheard(now).values_list("pk", flat=True)[:BATCH]):
        if Operation.objects.unheard(now).filter(pk=operation_id).update(published_at=now):
            publish(operation_id)


def prune(now: datetime) -> None:
    """Forget operations that ended longer ago than OPERATION_RETENTION_HOURS."""
    kept_since = now - timedelta(hours=settings.OPERATION_RETENTION_HOURS)
    Operation.objects.filter(finished_at__lt=kept_since).delete()
