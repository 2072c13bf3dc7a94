"""Errors that a core raises for a request of a caller.  Surfaces turn them into the error bodies of their protocols."""

from typing import Any

STATUSES = {"conflict": 409, "is_default": 409, "not_found": 404, "changed_since": 412}


class RequestError(Exception):
    """A request is refused, and nothing was changed.  `path` names the member at fault; None: no single member.

    `others` holds further errors of the same document, each with a path, a code and a message.
    """

    others: tuple[Any, ...] = ()

    def __init__(self, message: str, *, path: str | None = None, code: str = "invalid"):
        super().__init__(message)
        self.message = message
        self.path = path
        self.code = code

    @property
    def status(self) -> int:
        """The HTTP status for our own API."""
        return STATUSES.get(self.code, 400)


class Invalid(RequestError):
    """A member of the document is wrong."""


class Conflict(RequestError):
    """The document is valid, but the current state of the object forbids the change."""

    status = 409

    def __init__(self, message: str, *, path: str | None = None, code: str = "conflict"):
        super().__init__(message, path=path, code=code)
