"""The kinds of work that operations do.  Who owns what an operation is about registers its work here."""

from datetime import datetime
from typing import Protocol

from operations.models import Operation


class OperationFailed(Exception):
    """The work cannot be done.  `code` is for programs, in Pascal case; the message for people."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code
        self.message = message


class Work(Protocol):
    """What an operation does, in steps that each take a moment; every method is called in a transaction."""

    def step(self, operation: Operation, now: datetime) -> int:
        """Do a piece and return how much of the whole is done by then, in percent: 100 ends the operation.

        May keep what it needs for the next step in `operation.notes`.  Raises OperationFailed.
        """

    def undo(self, operation: Operation, now: datetime) -> None:
        """Put back what can be, as the operation has failed or was cancelled."""


_works: dict[str, Work] = {}


def register(kind: str, work: Work) -> None:
    _works[kind] = work


def work_of(operation: Operation) -> Work:
    """Raises OperationFailed for a kind that nobody knows any more."""
    work = _works.get(operation.kind)
    if work is None:
        raise OperationFailed("UnknownOperation", f"nothing here does {operation.kind!r} any more")
    return work
