"""What carrying out an action needs to know about its run, and what it answers."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Context:
    """Which attempt at which run this is: what the target is told, so that it can tell a repeat from a new run."""

    run_id: UUID
    attempt: int  # from 1
    fire_at: datetime
    now: datetime  # when the attempt begins: what is signed, or expires, counts from here
    job_name: str
    collection_name: str
    region: str = ""  # the collection's location
    signing_secrets: tuple[str, ...] = ()  # of the job, newest first; none: requests are not signed

    def __repr__(self) -> str:
        return f"<Context of attempt {self.attempt} at run {self.run_id}>"


class By(StrEnum):
    """What is polled to learn how an operation goes on."""

    STATUS = "status"  # a status of its own, of which Azure-AsyncOperation is the address
    LOCATION = "location"  # what answers 202 until it answers as the request would have
    RESOURCE = "resource"  # what was put or patched, with its provisioningState


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request has begun and an answer has not ended.  The address may hold a key."""

    by: By
    address: str

    def __repr__(self) -> str:
        return f"<Operation by {self.by}>"


class Unread(StrEnum):
    """Why a poll told nothing of its operation: because of what may pass, or is likely to last."""

    PASSING = "passing"
    LASTING = "lasting"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended, or that it goes on.

    `message` is a sentence; `body` the beginning of an HTTP answer, as text.
    """

    succeeded: bool
    message: str
    status_code: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    may_retry: bool = True  # False: it would fail again in the same way, so the run fails at once
    retry_after: timedelta | None = None  # how long the target asks to be left alone
    operation: Operation | None = None  # that goes on, and is to be polled
    unread: Unread | None = None  # of a poll that told nothing: whether its operation goes on is not known
    status: str = ""  # of the operation, in the target's word
    percent: float | None = None  # of it complete, 0 to 100

    @property
    def goes_on(self) -> bool:
        return self.operation is not None or self.unread is not None


class Refused(Exception):
    """An attempt cannot even begin, and never can; the message is a sentence for its history."""


def refused(message: str) -> Outcome:
    """The outcome of an attempt that was not even begun, and never can be."""
    return Outcome(succeeded=False, message=message, may_retry=False)
