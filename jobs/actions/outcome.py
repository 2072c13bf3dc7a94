"""What carrying out an action needs to know about its run, and what it answers."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Context:
    """Which attempt at which run this is: what the target is told, so that it can tell a repeat from a new run."""

    run_id: UUID
    attempt: int  # from 1
    fire_at: datetime


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended.  `message` is a sentence; `body` the beginning of an HTTP answer, as text."""

    succeeded: bool
    message: str
    status_code: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    may_retry: bool = True  # False: it would fail again in the same way, so the run fails at once


def refused(message: str) -> Outcome:
    """The outcome of an attempt that was not even begun, and never can be."""
    return Outcome(succeeded=False, message=message, may_retry=False)
