"""Decide which jobs are frequent on a day, and compute the band of such a day. No database access."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from math import ceil

from calendars.pages.window import ONE_DAY, midnight

SECOND = timedelta(seconds=1)
HOUR = 3600  # seconds
MAX_RUNS_DRAWN = 12  # up to this number, the runs of a day are drawn one by one, however close they are
FREQUENT_PER_HOUR = 2  # a job is frequent with more runs per hour, counting only hours with fire times
MAX_TICKS = 240  # of a day


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a zone: the instants [start, end), usually 24 hours."""

    date: date
    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / SECOND

    @property
    def max_drawn(self) -> int:
        """A job with more runs than this on the day is frequent, whatever their distribution."""
        return max(MAX_RUNS_DRAWN, FREQUENT_PER_HOUR * ceil(self.seconds / HOUR))

    def seconds_until(self, instant: datetime) -> int:
        """Return the seconds from the start of the day to `instant`."""
        return (instant - self.start) // SECOND


def days_within(start: datetime, end: datetime, zone: tzinfo) -> list[Day]:
    """Return the whole days of `zone` that overlap [start, end), without days that the zone skipped."""
    first, last = start.astimezone(zone).date(), end.astimezone(zone).date()
    dates = [first + number * ONE_DAY for number in range((last - first).days + 2)]
    midnights = [midnight(each, zone) for each in dates]
    days = map(Day, dates, midnights, midnights[1:])
    return [day for day in days if max(day.start, start) < min(day.end, end)]


@dataclass(slots=True)
class RunCounts:
    """The runs of a job on one day. Hours are elapsed hours from the start of the day."""

    done_count: int = 0  # past fire times, with any outcome
    open_count: int = 0  # runs that are waiting or going on
    planned_count: int = 0
    failed_count: int = 0
    max_per_hour: int = FREQUENT_PER_HOUR
    run_hours: dict[int, int] = field(default_factory=dict)  # hours with runs, each with the second of its first run
    planned_hours: dict[int, int] = field(default_factory=dict)
    held_hours: dict[int, int] = field(default_factory=dict)  # hours with held runs
    idle_hours: set[int] = field(default_factory=set)  # hours with fire times without a run
    failure_ticks: set[int] = field(default_factory=set)  # positions of failures, in units of 1 / MAX_TICKS of the day

    @property
    def total(self) -> int:
        return self.done_count + self.open_count + self.planned_count

    @property
    def past_count(self) -> int:
        return self.done_count + self.open_count

    @property
    def is_frequent(self) -> bool:
        """True if the job has more than `max_per_hour` runs per hour, counting only hours with fire times.

        Jobs with at most MAX_RUNS_DRAWN runs on the day are not frequent.
        """
        hours = self.run_hours.keys() | self.planned_hours.keys() | self.held_hours.keys() | self.idle_hours
        return self.total > MAX_RUNS_DRAWN and self.total > self.max_per_hour * len(hours)

    def add_run(self, second: int) -> None:
        _keep_first(self.run_hours, second)

    def add_held(self, second: int) -> None:
        _keep_first(self.held_hours, second)

    def add_planned(self, count: int, seconds: Iterable[int]) -> None:
        """Add `count` future fire times. `seconds` are the first of each hour, or all of them."""
        self.planned_count += count
        for second in seconds:
            _keep_first(self.planned_hours, second)

    def add_failures(self, count: int, first: int, last: int, length: float) -> None:
        """Add `count` failures from the second `first` to the second `last`, as if they were evenly spread."""
        self.failed_count += count
        steps = max(count - 1, 1)
        for number in range(min(count, MAX_TICKS)):
            self.failure_ticks.add(int((first + (last - first) * number / steps) / length * MAX_TICKS))


def _keep_first(hours: dict[int, int], second: int) -> None:
    hour = second // HOUR
    hours[hour] = min(second, hours.get(hour, second))


def spans_as_fractions(
    hours: Mapping[int, int], length: float, until: float | None = None
) -> tuple[tuple[float, float], ...]:
    """Return the spans of consecutive hours as fractions of the day.

    A span lasts from the first second of its first hour to the end of its last hour, but not beyond the second
    `until`.
    """
    limit = length if until is None else min(length, until)
    parts: list[tuple[int, float]] = []
    for hour in sorted(hours):
        end = min((hour + 1) * HOUR, limit)
        if parts and hour - 1 in hours:
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((hours[hour], end))
    return tuple((start / length, max(end, start) / length) for start, end in parts)


def tick_positions(counts: RunCounts) -> tuple[float, ...]:
    """Return the positions of failures as fractions of the day, in order."""
    return tuple(tick / MAX_TICKS for tick in sorted(counts.failure_ticks))


@dataclass(frozen=True, slots=True)
class Span:
    """The fire times of one row of missed runs: the first, the last and the number of them."""

    first: datetime
    last: datetime
    count: int

    def count_before(self, instant: datetime) -> int:
        """Return how many fire times lie before `instant` if they are evenly spread."""
        if instant <= self.first:
            return 0
        if instant > self.last:
            return self.count
        return min(self.count, -(-(instant - self.first) * (self.count - 1) // (self.last - self.first)))


def index_of(days: Sequence[Day], instant: datetime) -> int:
    """Return the index of the day that contains `instant`."""
    return bisect_right(days, instant, key=lambda day: day.start) - 1
