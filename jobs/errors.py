"""Errors of the core of jobs.  Surfaces turn them into the error bodies of their protocols."""

from django.db import InterfaceError, InternalError, OperationalError

from api.errors import Conflict

# what an outage of the database raises.  InternalError: the server refuses writes, as after a failover to a standby
DATABASE_OUTAGE = (OperationalError, InterfaceError, InternalError)


class QuotaExceeded(Conflict):
    """The collection's plan or quota forbids the change."""

    def __init__(self, message: str, *, path: str | None = None):
        super().__init__(message, path=path, code="quota_exceeded")
