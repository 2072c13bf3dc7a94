"""Calendar series: one occurrence on each day of a date rule, from one wall time in a zone to another.

Both wall times stay the same when clocks change, so an occurrence may be an hour longer or shorter than others.  A wall
time that clocks skip is taken with the offset before the gap.  Of one that they show twice the first counts.
A day that the zone skipped when it crossed the date line is no occurrence and does not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

from recurrence.composites import Bounded
from recurrence.days import LAST_DAY, NumberedRule
from recurrence.rules import ONE_DAY, QuartzSchedule, WallClock, ZonedRule
from recurrence.schedules import LAST_INSTANT, Schedule, just_after, just_before
from recurrence.zones import (
    DAY,
    EPOCH,
    EPOCH_DAY,
    NOTHING,
    SECOND,
    Fold,
    Gap,
    StableRange,
    day_and_second,
    instant_at,
    instant_of,
    missing_days,
    stable_range_at,
)

NO_RANGE: StableRange = (LAST_INSTANT, LAST_INSTANT, NOTHING)
MARGIN = 2  # days at both ends of the calendar, so that the offset of a zone never leads out of the calendar


def last_day(days: NumberedRule, count: int, zone: tzinfo) -> date | None:
    """Return the day of the `count`-th occurrence; None when it lies beyond the end of the calendar."""
    skipped_days = [date.fromordinal(ordinal) for ordinal in missing_days(zone)]
    number = count
    while (last := days.nth(number)) is not None:
        missing = sum(days.start <= day <= last and days.on_or_after(day) == day for day in skipped_days)
        if number == count + missing:
            return last
        number = count + missing
    return None


class Occurrence(NamedTuple):  # created in half the time of a frozen dataclass; a page may need thousands
    """One occurrence of a series: instants in UTC, and the day that the rule gave it, which identifies it for good."""

    day: date
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Series(WallClock):
    """Occurrences on `days`, which start at the second `start` of the day and end `length` later, in wall time.

    The first is on `days.start`, the last not after the day `last`; None: the series has no end.
    """

    days: NumberedRule
    start: int
    length: timedelta
    zone: tzinfo
    last: date | None = None
    gap: Gap = field(default=Gap.SHIFT, init=False, repr=False, compare=False)
    fold: Fold = field(default=Fold.FIRST, init=False, repr=False, compare=False)
    _first_wall: datetime = field(init=False, repr=False, compare=False)  # a wall time, stored as if it were in UTC
    _last: int = field(init=False, repr=False, compare=False)  # the ordinal of a day
    _missing: frozenset[int] = field(init=False, repr=False, compare=False)  # ordinals of days

    def __post_init__(self) -> None:
        first, latest = self.days.start, LAST_DAY - MARGIN - self.length.days
        object.__setattr__(self, "_first_wall", EPOCH + timedelta(first.toordinal() - EPOCH_DAY, self.start))
        object.__setattr__(self, "_last", min(self.last.toordinal(), latest) if self.last else latest)
        object.__setattr__(self, "_missing", missing_days(self.zone))
        if not 0 <= self.start < DAY:
            raise ValueError(f"start must be a second of the day, not {self.start!r}")
        if self.length < timedelta(0):
            raise ValueError(f"length must not be less than nothing, not {self.length!r}")
        if not MARGIN < first.toordinal() <= self._last:
            raise ValueError(f"last must not be before the first day, which must not be at an end of time, {first!r}")
        if self.occurrence_on(first) is None:
            raise ValueError(f"{first!r} must be a day of the rule, and one that {self.zone} had")

    @property
    def first(self) -> Occurrence:
        return self._occurrence(self.days.start)

    @property
    def last_occurrence(self) -> Occurrence | None:
        """The last occurrence; None when the series has no end."""
        day = None if self.last is None else self.day_before(date.fromordinal(self._last + 1))
        return None if day is None else self._occurrence(day)

    def after(self, instant: datetime) -> datetime | None:
        return self._after_in_zone(instant)

    def count_before(self, instant: datetime) -> int:
        """Return how many occurrences start before `instant`."""
        fire = self.after(just_before(instant))
        found = None if fire is None else self.occurrence_starting_at(fire)
        return self.count_days_before(date.fromordinal(self._last + 1) if found is None else found.day)

    def count_days_before(self, day: date) -> int:
        """Return how many occurrences are on an earlier day than `day`."""
        beyond = min(day, date.fromordinal(self._last + 1))
        missing = (date.fromordinal(ordinal) for ordinal in self._missing)
        return self.days.count_before(beyond) - sum(day < beyond and self._is_rule_day(day) for day in missing)

    def occurrences(self, start: datetime, end: datetime) -> Iterator[Occurrence]:
        """Yield the occurrences that overlap [start, end), by day; one without length if it starts in that window."""
        first = max(start.toordinal() - self.length.days - MARGIN, 1)
        last = min(end.toordinal() + 1, self._last)
        length, missing, origin = self.length, self._missing, self.days.start
        low, high, offset = NO_RANGE
        first_begins = self._first_wall - offset
        for ordinal in self.days.ordinals(first, last):
            day = date.fromordinal(ordinal)
            begins = first_begins + (day - origin)
            ends = begins + length
            if begins < low or ends >= high:
                begins, ends, (low, high, offset) = self._span(day)
                first_begins = self._first_wall - offset
            if begins < end and (ends > start or ends == begins == start) and ordinal not in missing:
                yield Occurrence(day, begins, ends)

    def occurrence_starting_at(self, instant: datetime) -> Occurrence | None:
        """Return the occurrence that starts exactly at `instant`, or None."""
        found = self.occurrences(instant, just_after(instant))
        return next((occurrence for occurrence in found if occurrence.start == instant), None)

    def occurrence_on(self, day: date) -> Occurrence | None:
        """Return the occurrence of the rule on `day`, or None."""
        return self._occurrence(day) if self._is_series_day(day) else None

    def day_before(self, day: date) -> date | None:
        """Return the last day of the series that is earlier than `day`, or None."""
        number = self.days.count_before(min(day, date.fromordinal(self._last + 1)))
        while number:
            found = self.days.nth(number)
            if found is None or found.toordinal() not in self._missing:
                return found
            number -= 1
        return None

    def day_after(self, day: date) -> date | None:
        """Return the first day of the series that is later than `day`, or None."""
        while day.toordinal() < self._last:
            found = self.days.on_or_after(day + ONE_DAY)
            if found is None or found.toordinal() > self._last:
                return None
            if found.toordinal() not in self._missing:
                return found
            day = found
        return None

    def _is_series_day(self, day: date) -> bool:
        ordinal = day.toordinal()
        return ordinal <= self._last and ordinal not in self._missing and self._is_rule_day(day)

    def _is_rule_day(self, day: date) -> bool:
        return self.days.on_or_after(day) == day

    def _occurrence(self, day: date) -> Occurrence:
        begins, ends, _ = self._span(day)
        return Occurrence(day, begins, ends)

    def _span(self, day: date) -> tuple[datetime, datetime, StableRange]:
        """Return the instants at which an occurrence starts and ends, and the stable range around it.

        The neighbours of the occurrence may lie in the same range.  If clocks skip the start, the end may lie before
        the start; then the end is the start.
        """
        first_wall = self._first_wall + (day - self.days.start)
        for part in stable_range_at(self.zone, first_wall.year):
            low, high, offset = part
            begins = first_wall - offset
            ends = begins + self.length
            if low <= begins and ends < high:
                return begins, ends, part
        wall = first_wall.replace(tzinfo=None)
        begins = instant_of(wall, self.zone)
        return begins, max(begins, instant_of(wall + self.length, self.zone)), NO_RANGE

    def _wall_time_on_or_after(self, wall_time: int) -> int | None:
        day, second = divmod(wall_time, DAY)
        ordinal = max(day + EPOCH_DAY + (second > self.start), 1)
        if ordinal > self._last:
            return None
        earliest = date.fromordinal(ordinal)
        found = earliest if self._is_series_day(earliest) else self.day_after(earliest)
        return None if found is None else (found.toordinal() - EPOCH_DAY) * DAY + self.start


@dataclass(frozen=True, slots=True)
class SeriesWallTimes:
    """The wall times at which the occurrences of a series start, as if they were in UTC."""

    series: Series

    def after(self, instant: datetime) -> datetime | None:
        wall = self.series._wall_time_on_or_after((instant - EPOCH) // SECOND + 1)
        return None if wall is None else instant_at(wall)

    def count_before(self, instant: datetime) -> int:
        day, second = day_and_second(instant)
        return self.series.count_days_before(day if second <= self.series.start else day + ONE_DAY)


def series_in(schedule: Schedule) -> Series | None:
    """Return the series whose occurrences a schedule has; None: it is not made of a series."""
    match schedule:
        case Series():
            return schedule
        case SeriesWallTimes(series):
            return series
        case Bounded(inner) | ZonedRule(inner) | QuartzSchedule(inner):
            return series_in(inner)
    return None


def occurrence_starting_at(schedule: Schedule, fire: datetime) -> Occurrence | None:
    """Return the occurrence that begins at a fire time; None: the schedule is not made of a series.

    A fire time that a clock change moved or repeated is the start of an occurrence of the same length.
    """
    series = series_in(schedule)
    if series is None:
        return None
    return series.occurrence_starting_at(fire) or Occurrence(
        fire.astimezone(series.zone).date(), fire, fire + series.length
    )
