"""The handlers of operations, by kind.  The app that owns the target of an operation registers its handler here."""

from datetime import datetime
from typing import Protocol

from operations.models import Operation


class OperationFailed(Exception):
    """The operation cannot be carried out.  `code` is for programs, in Pascal case; `message` is for people."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code
        self.message = message


class WorkerNotReady(Exception):
    """This worker cannot do the step now, but another worker can.  The operation waits for the next message."""


class OperationHandler(Protocol):
    """The work of one kind of operation, in short steps.  Every method is called in a transaction."""

    def step(self, operation: Operation, now: datetime) -> int:
        """Do one step.  Return how much of the operation is done then, in percent; 100 ends the operation.

        The step may store data for the next step in `operation.state_data`.  Raises OperationFailed and WorkerNotReady.
        """

    def undo(self, operation: Operation, now: datetime) -> None:
        """Undo what can be undone, after the operation has failed or was cancelled."""


_handlers: dict[str, OperationHandler] = {}
_not_cancellable: set[str] = set()  # kinds


def register(kind: str, handler: OperationHandler, *, is_cancellable: bool = True) -> None:
    """Register the handler of a kind.

    `is_cancellable` False: users cannot cancel these operations, because stored values would stay wrong.
    """
    _handlers[kind] = handler
    if not is_cancellable:
        _not_cancellable.add(kind)


def is_cancellable(operation: Operation) -> bool:
    """Return True if users may cancel operations of this kind."""
    return operation.kind not in _not_cancellable


def handler_for(operation: Operation) -> OperationHandler:
    """Return the handler of the operation's kind.  Raises OperationFailed if no handler is registered any more."""
    handler = _handlers.get(operation.kind)
    if handler is None:
        raise OperationFailed(
            "UnknownOperation", f"this version does not support operations of the kind {operation.kind!r}"
        )
    return handler
