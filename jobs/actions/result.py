"""The input of an attempt (`Context`) and its output (`AttemptResult`)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Context:
    """The attempt and the run that an action is carried out for.

    The target receives these data, so that it can distinguish a repeat from a new run.
    """

    run_id: UUID
    attempt: int  # from 1
    fire_at: datetime
    now: datetime  # when the attempt begins; signatures and expiry times count from here
    job_name: str
    collection_name: str
    region: str = ""  # the collection's location
    signing_secrets: tuple[str, ...] = ()  # of the job, newest first; if empty, requests are not signed

    def __repr__(self) -> str:
        return f"<Context of attempt {self.attempt} at run {self.run_id}>"


class PollSource(StrEnum):
    """What is polled to learn the state of an operation."""

    STATUS = "status"  # the status of the operation, at the address in Azure-AsyncOperation
    LOCATION = "location"  # an address that answers 202 until it returns the result of the request
    RESOURCE = "resource"  # the resource of the PUT or PATCH, with its provisioningState


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that a request has begun and that has not ended.  The address may hold a key."""

    source: PollSource
    address: str

    def __repr__(self) -> str:
        return f"<Operation by {self.source}>"


class PollFailure(StrEnum):
    """The kind of cause why a poll could not read its operation: temporary, or probably permanent."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt or of a poll; it may be pending.

    `message` is a sentence; `body` is the beginning of an HTTP response body, as text.
    """

    succeeded: bool
    message: str
    status_code: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    may_retry: bool = True  # False: another attempt would fail in the same way, so the run fails at once
    retry_after: timedelta | None = None  # how long the target asks to wait
    operation: Operation | None = None  # the pending operation, which is to be polled
    poll_failure: PollFailure | None = None  # set for a failed poll: the state of its operation is unknown
    status: str = ""  # status of the operation, in the target's word
    percent: float | None = None  # progress of the operation, 0 to 100

    @property
    def is_pending(self) -> bool:
        return self.operation is not None or self.poll_failure is not None


class CallRefused(Exception):
    """An attempt cannot begin, now or later.  The message is a sentence for its history."""


def refused(message: str) -> AttemptResult:
    """Return the result of an attempt that was not begun and never can be."""
    return AttemptResult(succeeded=False, message=message, may_retry=False)
