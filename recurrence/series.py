"""A calendar series: one occurrence on each day of a date rule, from one reading of the clocks in a zone to another.

Both readings stay what they are when clocks change, so an occurrence may be an hour longer or shorter than others.
A reading that clocks skip is taken with the offset in force before the gap, of one that they show twice the first.
A day that the zone never had, when it crossed the date line, is no occurrence and is not counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

from recurrence.days import LAST_DAY, NumberedRule
from recurrence.rules import ONE_DAY, WallClock
from recurrence.schedules import LAST_INSTANT, just_after, just_before
from recurrence.zones import DAY, EPOCH, EPOCH_DAY, NOTHING, Calm, Fold, Gap, calm, instant_of, missing_days

NO_CALM: Calm = (LAST_INSTANT, LAST_INSTANT, NOTHING)
MARGIN = 2  # days at both ends of the calendar, lest the offset of a zone leads out of it


def last_day(days: NumberedRule, count: int, zone: tzinfo) -> date | None:
    """The day of the occurrence that is `count`-th from the first; None when no calendar reaches so far."""
    never = [date.fromordinal(ordinal) for ordinal in missing_days(zone)]
    number = count
    while (last := days.nth(number)) is not None:
        missing = sum(days.start <= day <= last and days.on_or_after(day) == day for day in never)
        if number == count + missing:
            return last
        number = count + missing
    return None


class Occurrence(NamedTuple):  # which is made in half the time of a frozen dataclass: a page may take thousands
    """One of a series: instants in UTC, and the day that the rule gave it, which names it for good."""

    day: date
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Series(WallClock):
    """Occurrences on `days`, which start at the second `start` of the day and end `length` later, as clocks show them.

    The first is on `days.start`, the last not after the day `last`; None is without end.
    """

    days: NumberedRule
    start: int
    length: timedelta
    zone: tzinfo
    last: date | None = None
    gap: Gap = field(default=Gap.SHIFT, init=False, repr=False, compare=False)
    fold: Fold = field(default=Fold.FIRST, init=False, repr=False, compare=False)
    _first_reading: datetime = field(init=False, repr=False, compare=False)  # as if it were an instant
    _last: int = field(init=False, repr=False, compare=False)  # ordinals of days
    _missing: frozenset[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first, latest = self.days.start, LAST_DAY - MARGIN - self.length.days
        object.__setattr__(self, "_first_reading", EPOCH + timedelta(first.toordinal() - EPOCH_DAY, self.start))
        object.__setattr__(self, "_last", min(self.last.toordinal(), latest) if self.last else latest)
        object.__setattr__(self, "_missing", missing_days(self.zone))
        if not 0 <= self.start < DAY:
            raise ValueError(f"start must be a second of the day, not {self.start!r}")
        if self.length < timedelta(0):
            raise ValueError(f"length must not be less than nothing, not {self.length!r}")
        if not MARGIN < first.toordinal() <= self._last:
            raise ValueError(f"last must not be before the first day, which must not be at an end of time, {first!r}")
        if self.on(first) is None:
            raise ValueError(f"{first!r} must be a day of the rule, and one that {self.zone} had")

    @property
    def first(self) -> Occurrence:
        return self._occurrence(self.days.start)

    @property
    def last_occurrence(self) -> Occurrence | None:
        """None when the series has no end."""
        day = None if self.last is None else self.day_before(date.fromordinal(self._last + 1))
        return None if day is None else self._occurrence(day)

    def after(self, instant: datetime) -> datetime | None:
        return self._after_in_zone(instant)

    def count_before(self, instant: datetime) -> int:
        """Return how many occurrences start before `instant`."""
        fire = self.after(just_before(instant))
        found = None if fire is None else self.starting_at(fire)
        beyond = date.fromordinal(self._last + 1) if found is None else found.day
        missing = (date.fromordinal(ordinal) for ordinal in self._missing)
        return self.days.count_before(beyond) - sum(day < beyond and self._fits(day) for day in missing)

    def occurrences(self, start: datetime, end: datetime) -> Iterator[Occurrence]:
        """Yield what overlaps [start, end), by day: an occurrence without length when it starts in that window."""
        first = max(start.toordinal() - self.length.days - MARGIN, 1)
        last = min(end.toordinal() + 1, self._last)
        length, missing, origin = self.length, self._missing, self.days.start
        low, high, offset = NO_CALM
        first_begins = self._first_reading - offset
        for ordinal in self.days.ordinals(first, last):
            day = date.fromordinal(ordinal)
            begins = first_begins + (day - origin)
            ends = begins + length
            if begins < low or ends >= high:
                begins, ends, (low, high, offset) = self._span(day)
                first_begins = self._first_reading - offset
            if begins < end and (ends > start or ends == begins == start) and ordinal not in missing:
                yield Occurrence(day, begins, ends)

    def starting_at(self, instant: datetime) -> Occurrence | None:
        """Return the occurrence that starts at this very instant."""
        found = self.occurrences(instant, just_after(instant))
        return next((occurrence for occurrence in found if occurrence.start == instant), None)

    def on(self, day: date) -> Occurrence | None:
        """Return the occurrence that the rule gives on `day`."""
        return self._occurrence(day) if self._is_on(day) else None

    def day_before(self, day: date) -> date | None:
        """Return the last day of the series that is earlier than `day`."""
        number = self.days.count_before(min(day, date.fromordinal(self._last + 1)))
        while number:
            found = self.days.nth(number)
            if found is None or found.toordinal() not in self._missing:
                return found
            number -= 1
        return None

    def day_after(self, day: date) -> date | None:
        """Return the first day of the series that is later than `day`."""
        while day.toordinal() < self._last:
            found = self.days.on_or_after(day + ONE_DAY)
            if found is None or found.toordinal() > self._last:
                return None
            if found.toordinal() not in self._missing:
                return found
            day = found
        return None

    def _is_on(self, day: date) -> bool:
        ordinal = day.toordinal()
        return ordinal <= self._last and ordinal not in self._missing and self._fits(day)

    def _fits(self, day: date) -> bool:
        return self.days.on_or_after(day) == day

    def _occurrence(self, day: date) -> Occurrence:
        begins, ends, _ = self._span(day)
        return Occurrence(day, begins, ends)

    def _span(self, day: date) -> tuple[datetime, datetime, Calm]:
        """The instants at which an occurrence starts and ends, and the calm around it, which its neighbours may share.

        An end that clocks show before the start, which they have skipped, comes with the start.
        """
        reading = self._first_reading + (day - self.days.start)
        for part in calm(self.zone, reading.year):
            low, high, offset = part
            begins = reading - offset
            ends = begins + self.length
            if low <= begins and ends < high:
                return begins, ends, part
        wall = reading.replace(tzinfo=None)
        begins = instant_of(wall, self.zone)
        return begins, max(begins, instant_of(wall + self.length, self.zone)), NO_CALM

    def _reading_on_or_after(self, reading: int) -> int | None:
        day, second = divmod(reading, DAY)
        ordinal = max(day + EPOCH_DAY + (second > self.start), 1)
        if ordinal > self._last:
            return None
        day_of_it = date.fromordinal(ordinal)
        found = day_of_it if self._is_on(day_of_it) else self.day_after(day_of_it)
        return None if found is None else (found.toordinal() - EPOCH_DAY) * DAY + self.start
