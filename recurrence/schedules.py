"""Schedules: the interface of all of them, functions that work with any, and the two simplest schedules.

Instants are aware datetimes whose tzinfo is `datetime.UTC`.  Nothing here reads the clock.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable

TICK = timedelta(microseconds=1)  # the smallest step between two instants
FIRST_INSTANT = datetime.min.replace(tzinfo=UTC)
LAST_INSTANT = datetime.max.replace(tzinfo=UTC)


class Schedule(Protocol):
    """A value that knows when something happens.  Equal when it means the same, and without state."""

    def after(self, instant: datetime) -> datetime | None:
        """Return the first fire time strictly later than `instant` (both aware, UTC); None: never again."""


@runtime_checkable
class Counted(Schedule, Protocol):
    """A schedule that counts its fire times by arithmetic."""

    def count_before(self, instant: datetime) -> int:
        """Return how many fire times lie before `instant`, from the very first one on."""


def between(schedule: Schedule, start: datetime, end: datetime) -> Iterator[datetime]:
    """Yield the fire times in [start, end), earliest first."""
    fire = schedule.after(just_before(start))
    while fire is not None and fire < end:
        yield fire
        fire = schedule.after(fire)


def count(schedule: Schedule, start: datetime, end: datetime) -> int:
    """Return how many fire times lie in [start, end): by arithmetic for a `Counted` schedule, else one by one."""
    if end <= start:
        return 0
    if isinstance(schedule, Counted):
        return schedule.count_before(end) - schedule.count_before(start)
    return sum(1 for _ in between(schedule, start, end))


def just_before(instant: datetime) -> datetime:
    """Return the instant one tick earlier, so that `after` of it includes `instant`; FIRST_INSTANT stays the same."""
    return instant if instant <= FIRST_INSTANT else instant - TICK


def just_after(instant: datetime) -> datetime:
    """Return the instant one tick later; LAST_INSTANT stays the same."""
    return instant if instant >= LAST_INSTANT else instant + TICK


def require_utc(instant: datetime, name: str) -> None:
    if instant.tzinfo is not UTC:
        raise ValueError(f"{name} must be an aware datetime in UTC, not {instant!r}")


@dataclass(frozen=True, slots=True)
class Once:
    """A single fire time."""

    at: datetime

    def __post_init__(self) -> None:
        require_utc(self.at, "at")

    def after(self, instant: datetime) -> datetime | None:
        return self.at if instant < self.at else None

    def count_before(self, instant: datetime) -> int:
        return int(self.at < instant)


@dataclass(frozen=True, slots=True)
class Every:
    """`start`, and again each time that `interval` of elapsed time has passed, without end.

    Elapsed time ignores clocks: where clocks change, every 24 hours is not every day at nine.
    """

    interval: timedelta
    start: datetime

    def __post_init__(self) -> None:
        require_utc(self.start, "start")
        if self.interval < TICK:
            raise ValueError(f"interval must be longer than nothing, not {self.interval!r}")

    def after(self, instant: datetime) -> datetime | None:
        if instant < self.start:
            return self.start
        try:
            return self.start + ((instant - self.start) // self.interval + 1) * self.interval
        except OverflowError:  # after the last year of a datetime
            return None

    def count_before(self, instant: datetime) -> int:
        return max(0, -((self.start - instant) // self.interval))
