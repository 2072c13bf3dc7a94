"""Errors of the cores.  Surfaces turn them into the error bodies of their protocols."""

from typing import Any


class JobError(Exception):
    """A request of a caller is refused; nothing was changed.  `path` names the faulty member, if there is one.

    `others` holds further faults of the same document, each with a path, a code and a message.
    """

    others: tuple[Any, ...] = ()

    def __init__(self, message: str, *, path: str | None = None, code: str = "invalid"):
        super().__init__(message)
        self.message = message
        self.path = path
        self.code = code


class Invalid(JobError):
    """A member of the document is wrong."""


class Conflict(JobError):
    """The document is valid, but the current state of the object forbids the change."""

    def __init__(self, message: str, *, path: str | None = None, code: str = "conflict"):
        super().__init__(message, path=path, code=code)


class QuotaExceeded(Conflict):
    """The collection's plan or quota forbids the change."""

    def __init__(self, message: str, *, path: str | None = None):
        super().__init__(message, path=path, code="quota_exceeded")
