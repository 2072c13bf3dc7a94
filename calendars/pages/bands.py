"""Which jobs are frequent on a day, and the band that sums such a day up.  Pure: it knows neither rows nor triggers."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from math import ceil

from calendars.pages.window import ONE_DAY, midnight

SECOND = timedelta(seconds=1)
HOUR = 3600  # seconds
FEW = 12  # runs of a day that are drawn one by one however close together they are
AN_HOUR = 2  # more than so many in each hour in which it runs at all, and a job is frequent
NOTCHES = 240  # of a day at most


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a zone: the instants [start, end), mostly 24 hours."""

    date: date
    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / SECOND

    @property
    def most_drawn(self) -> int:
        """A job that runs more often on this day is frequent, whenever it does."""
        return max(FEW, AN_HOUR * ceil(self.seconds / HOUR))

    def second(self, instant: datetime) -> int:
        """How long after its beginning."""
        return (instant - self.start) // SECOND


def days_within(start: datetime, end: datetime, zone: tzinfo) -> list[Day]:
    """The days of `zone` that touch [start, end), each as a whole; one that clocks leave out is none."""
    first, last = start.astimezone(zone).date(), end.astimezone(zone).date()
    dates = [first + number * ONE_DAY for number in range((last - first).days + 2)]
    midnights = [midnight(each, zone) for each in dates]
    days = map(Day, dates, midnights, midnights[1:])
    return [day for day in days if max(day.start, start) < min(day.end, end)]


@dataclass(slots=True)
class Tally:
    """What a job does on a day.  Hours are counted from the day's beginning, as elapsed time."""

    done: int = 0  # fire times that are over, whatever became of them
    open: int = 0  # runs that wait or go on
    planned: int = 0
    failed: int = 0
    an_hour: int = AN_HOUR
    ran: dict[int, int] = field(default_factory=dict)  # hours with runs: the second of the day at which the first began
    will: dict[int, int] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)  # hours with held runs
    idle: set[int] = field(default_factory=set)  # hours with fire times that were not run
    fell: set[int] = field(default_factory=set)  # where failures stand, in NOTCHES of the day

    @property
    def total(self) -> int:
        return self.done + self.open + self.planned

    @property
    def past(self) -> int:
        return self.done + self.open

    @property
    def is_frequent(self) -> bool:
        """More often than `an_hour` times in each hour in which it runs at all."""
        hours = self.ran.keys() | self.will.keys() | self.held.keys() | self.idle
        return self.total > FEW and self.total > self.an_hour * len(hours)

    def add_ran(self, second: int) -> None:
        _keep_first(self.ran, second)

    def add_held(self, second: int) -> None:
        _keep_first(self.held, second)

    def add_planned(self, count: int, seconds: Iterable[int]) -> None:
        """`seconds` are the first of each hour, or all."""
        self.planned += count
        for second in seconds:
            _keep_first(self.will, second)

    def add_failed(self, count: int, first: int, last: int, length: float) -> None:
        """`count` failures from the second `first` to the second `last`, as if evenly spread."""
        self.failed += count
        steps = max(count - 1, 1)
        for number in range(min(count, NOTCHES)):
            self.fell.add(int((first + (last - first) * number / steps) / length * NOTCHES))


def _keep_first(hours: dict[int, int], second: int) -> None:
    hour = second // HOUR
    hours[hour] = min(second, hours.get(hour, second))


def fractions(hours: Mapping[int, int], length: float, until: float | None = None) -> tuple[tuple[float, float], ...]:
    """The stretches of hours without a gap, from the first second of each to the end of its last hour, as fractions.

    None goes beyond the second `until`.
    """
    beyond = length if until is None else min(length, until)
    parts: list[tuple[int, float]] = []
    for hour in sorted(hours):
        end = min((hour + 1) * HOUR, beyond)
        if parts and hour - 1 in hours:
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((hours[hour], end))
    return tuple((start / length, max(end, start) / length) for start, end in parts)


def notches(tally: Tally) -> tuple[float, ...]:
    return tuple(place / NOTCHES for place in sorted(tally.fell))


@dataclass(frozen=True, slots=True)
class Stretch:
    """Fire times that one row stands for: `count` of them, the first and the last known."""

    first: datetime
    last: datetime
    count: int

    def before(self, instant: datetime) -> int:
        """How many lie before `instant` if they are evenly spread."""
        if instant <= self.first:
            return 0
        if instant > self.last:
            return self.count
        return min(self.count, -(-(instant - self.first) * (self.count - 1) // (self.last - self.first)))


def index_of(days: Sequence[Day], instant: datetime) -> int:
    return bisect_right(days, instant, key=lambda day: day.start) - 1
