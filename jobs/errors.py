"""Errors of the core of jobs.  Surfaces turn them into the error bodies of their protocols."""

from api.errors import Conflict


class QuotaExceeded(Conflict):
    """The collection's plan or quota forbids the change."""

    def __init__(self, message: str, *, path: str | None = None):
        super().__init__(message, path=path, code="quota_exceeded")
