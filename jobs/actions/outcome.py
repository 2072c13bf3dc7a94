"""What carrying out an action needs to know about its run, and what it answers."""

from dataclasses import dataclass
from datetime import datetime, timedelta
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended.  `message` is a sentence; `body` the beginning of an HTTP answer, as text."""

    succeeded: bool
    message: str
    status_code: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    may_retry: bool = True  # False: it would fail again in the same way, so the run fails at once
    retry_after: timedelta | None = None  # how long the target asks to be left alone


class Refused(Exception):
    """An attempt cannot even begin, and never can; the message is a sentence for its history."""


def refused(message: str) -> Outcome:
    """The outcome of an attempt that was not even begun, and never can be."""
    return Outcome(succeeded=False, message=message, may_retry=False)
