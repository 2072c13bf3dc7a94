"""Rules that count hours, minutes or seconds on clocks: each n-th one, limited to certain times and days.

Times are wall times, taken as if they were in UTC; `ZonedRule` takes them to a zone.  So twelve hours after 20:00 is
08:00, also in a night in which clocks change.  These are the rules of iCalendar's FREQ=HOURLY, MINUTELY and SECONDLY.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from math import gcd
from typing import Protocol

from recurrence.bits import count_below, lowest, position_of
from recurrence.days import LAST_DAY, DateRule, EveryNDays
from recurrence.zones import DAY, EPOCH, EPOCH_DAY

MAX_CYCLE = 1000  # days
MAX_SKIPPED_DAYS = 1500  # a rule without a fire time on so many of its days is not searched further
MAX_COUNTED_DAYS = 500
FIRST_SECOND = (date.min.toordinal() - EPOCH_DAY) * DAY


@dataclass(frozen=True, slots=True)
class Periods:
    """The times of a day that lie in counted periods, as seconds of the day.

    A period is `unit` seconds long: an hour, a minute or a second.  Each `interval`-th one counts, from the one with
    the number `anchor`; 0 begins with 1970.  `allowed` is a mask of the periods of a day that may count.  The times in
    a period are `within` seconds after its beginning.  The pattern of a day repeats after `cycle` days.
    """

    unit: int
    interval: int
    anchor: int
    allowed: int = field(repr=False)  # up to 86,400 bits
    within: tuple[int, ...]
    per_day: int = field(init=False, repr=False, compare=False)
    cycle: int = field(init=False, repr=False, compare=False)
    allows_all: bool = field(init=False, repr=False, compare=False)
    _days: tuple[int, ...] = field(init=False, repr=False, compare=False)  # of a cycle from 1970 on, those with a time

    def __post_init__(self) -> None:
        if self.unit not in (3600, 60, 1) or self.interval < 1 or not self.within:
            raise ValueError(f"must have a unit, an interval and times within a period, not {self!r}")
        per_day = DAY // self.unit
        cycle = self.interval // gcd(self.interval, per_day)
        allows_all = self.allowed.bit_count() == per_day
        if not allows_all and cycle > MAX_CYCLE:
            raise ValueError(f"the times of a day must repeat within {MAX_CYCLE} days, not after {cycle}")
        object.__setattr__(self, "per_day", per_day)
        object.__setattr__(self, "cycle", cycle)
        object.__setattr__(self, "allows_all", allows_all)
        days = () if allows_all else _days_of_cycle(self.unit, self.interval, self.anchor % self.interval, self.allowed)
        object.__setattr__(self, "_days", days)

    def on_or_after(self, day: int, second: int) -> int | None:
        """Return the first time of a day that is not earlier than `second`, which may be 86400.

        Day 0 is 1 January 1970.
        """
        number, rest = divmod(second, self.unit)
        later = self.mask(day) >> number
        if rest and later & 1:
            position = bisect_left(self.within, rest)
            if position < len(self.within):
                return number * self.unit + self.within[position]
        if rest:
            number, later = number + 1, later >> 1
        return (number + lowest(later)) * self.unit + self.within[0] if later else None

    def next_day(self, day: int) -> int | None:
        """Return the first day with a time that is not earlier than `day`; None: there is none."""
        if self.allows_all:
            return self.next_period(day) // self.per_day
        if not self._days:
            return None
        cycles, rest = divmod(day, self.cycle)
        position = bisect_left(self._days, rest)
        if position == len(self._days):
            cycles, position = cycles + 1, 0
        return cycles * self.cycle + self._days[position]

    def next_period(self, day: int) -> int:
        """Return the number of the first counted period, allowed or not, from the beginning of `day` on."""
        return self.anchor - (self.anchor - day * self.per_day) // self.interval * self.interval

    def count(self, day: int) -> int:
        return self.mask(day).bit_count() * len(self.within)

    def count_before(self, day: int, second: int) -> int:
        """Return how many times of a day are earlier than `second`, which may be 86400."""
        return self.count_in(self.mask(day), second)

    def count_in(self, mask: int, second: int) -> int:
        """Return how many times in the periods of `mask` are earlier than `second`, which may be 86400."""
        number, rest = divmod(second, self.unit)
        return count_below(mask, number) * len(self.within) + (mask >> number & 1) * bisect_left(self.within, rest)

    def nth(self, day: int, number: int) -> int:
        """Return the time of a day that has `number` earlier ones; it must exist."""
        period, rest = divmod(number, len(self.within))
        return position_of(self.mask(day), period) * self.unit + self.within[rest]

    def mask(self, day: int) -> int:
        """Return the counted and allowed periods of a day; bit 0 is the first one."""
        phase = (self.anchor - day * self.per_day) % self.interval
        return _mask_of_day(self.unit, self.interval, phase, self.allowed)


@lru_cache(maxsize=256)
def _mask_of_day(unit: int, interval: int, phase: int, allowed: int) -> int:
    """Return the allowed periods of a day whose first counted period is `phase`."""
    return allowed & _all_of_day(DAY // unit, interval) << phase if phase < DAY // unit else 0


@lru_cache(maxsize=256)
def _all_of_day(per_day: int, interval: int) -> int:
    mask, width = 1, interval
    while width < per_day:
        mask |= mask << width
        width *= 2
    return mask & (1 << per_day) - 1


@lru_cache(maxsize=256)
def _days_of_cycle(unit: int, interval: int, anchor: int, allowed: int) -> tuple[int, ...]:
    """Return the days of the first cycle, from 1 January 1970 on, that have a time."""
    per_day = DAY // unit
    all_of_day = _all_of_day(per_day, interval)
    return tuple(
        day
        for day in range(interval // gcd(interval, per_day))
        if (phase := (anchor - day * per_day) % interval) < per_day and allowed & all_of_day << phase
    )


class CountedDays(DateRule, Protocol):
    """A date rule that can return its n-th day."""

    def nth(self, number: int) -> date | None:
        """Return the day with this number; the first day has number 1.  None beyond the last year of the calendar."""


@dataclass(frozen=True, slots=True)
class PeriodicRule:
    """The times `periods` on the days `days`, from the wall time `first` to `last`, both included.

    Wall times are seconds since 1970, as clocks show them; None: no end.  The days `left_out` have no times.  The days
    `added` have their times too, also before the first and after the last one.
    """

    days: CountedDays
    periods: Periods
    first: int
    last: int | None = None
    left_out: frozenset[date] = frozenset()
    added: frozenset[date] = frozenset()
    _added: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        added = sorted(day.toordinal() - EPOCH_DAY for day in self.added - self.left_out)
        object.__setattr__(self, "_added", tuple(added))

    def after(self, instant: datetime) -> datetime | None:
        earliest = max((instant - EPOCH) // timedelta(seconds=1) + 1, FIRST_SECOND)
        found = [self._of_rule(max(earliest, self.first)), self._of_added(earliest)]
        return min((EPOCH + timedelta(seconds=each) for each in found if each is not None), default=None)

    def nth(self, number: int) -> int | None:
        """Return the `number`-th wall time from `first` on, with days left out and without added days.

        None: it lies beyond the last year of the calendar.  Raises OverflowError if it takes too long to count.
        """
        day, second = divmod(self.first, DAY)
        if self.days.on_or_after(_date(day)) == _date(day):
            before, all_of_day = self.periods.count_before(day, second), self.periods.count(day)
            if number <= all_of_day - before:
                return day * DAY + self.periods.nth(day, before + number - 1)
            number -= all_of_day - before
        found = self._nth_from(day + 1, number)
        return found and found[0] * DAY + self.periods.nth(*found)

    def count_within(self, start: datetime, end: datetime) -> int:
        """Return how many fire times lie in [start, end), counted day by day."""
        earliest, beyond = (-((EPOCH - bound) // timedelta(seconds=1)) for bound in (start, end))
        total = sum(self._count_on(day, earliest, beyond) for day in self._added)
        begin = max(earliest, self.first)
        limit = beyond if self.last is None else min(beyond, self.last + 1)
        day = self._next_day(begin // DAY, self.left_out | self.added)
        while day is not None and day * DAY < limit:
            total += self._count_on(day, begin, limit)
            day = self._next_day(day + 1, self.left_out | self.added)
        return total

    def mask_of(self, day: int) -> int | None:
        """Return the periods that have times on a day; None: the rule begins or ends during that day."""
        begin, last_second = day * DAY, day * DAY + DAY - 1
        if day in self._added:
            return self.periods.mask(day)
        is_outside = last_second < self.first or (self.last is not None and begin > self.last)
        if is_outside or _date(day) in self.left_out or self.days.on_or_after(_date(day)) != _date(day):
            return 0
        is_whole = self.first <= begin and (self.last is None or last_second <= self.last)
        return self.periods.mask(day) if is_whole else None

    def _count_on(self, day: int, earliest: int, beyond: int) -> int:
        """Return how many times of a day lie in [earliest, beyond)."""
        first, second = (min(max(bound - day * DAY, 0), DAY) for bound in (earliest, beyond))
        return max(0, self.periods.count_before(day, second) - self.periods.count_before(day, first))

    def _of_rule(self, earliest: int) -> int | None:
        if self.last is not None and earliest > self.last:
            return None
        day, second = divmod(earliest, DAY)
        found = self._next_day(day, self.left_out)
        time = None if found is None else self.periods.on_or_after(found, second if found == day else 0)
        if found is not None and time is None:
            found = self._next_day(found + 1, self.left_out)
            time = None if found is None else self.periods.on_or_after(found, 0)
        if found is None or time is None or (self.last is not None and found * DAY + time > self.last):
            return None
        return found * DAY + time

    def _of_added(self, earliest: int) -> int | None:
        day, second = divmod(earliest, DAY)
        for each in self._added[bisect_left(self._added, day) :]:
            time = self.periods.on_or_after(each, second if each == day else 0)
            if time is not None:
                return each * DAY + time
        return None

    def _next_day(self, day: int, left_out: frozenset[date] = frozenset()) -> int | None:
        """Return the first day of the rule with a time that is not earlier than `day`; None: there is none."""
        for _ in range(MAX_SKIPPED_DAYS):
            if day + EPOCH_DAY > LAST_DAY:
                return None
            of_rule = self.days.on_or_after(_date(day))
            with_time = None if of_rule is None else self.periods.next_day(of_rule.toordinal() - EPOCH_DAY)
            if of_rule is None or with_time is None:
                return None
            day = with_time
            if with_time == of_rule.toordinal() - EPOCH_DAY:
                if of_rule not in left_out:
                    return day
                day += 1
        return None

    def _nth_from(self, day: int, number: int) -> tuple[int, int] | None:
        """Return the day of the `number`-th time from the beginning of `day` on, and how many times it has before."""
        periods, is_every_day = self.periods, isinstance(self.days, EveryNDays) and self.days.interval == 1
        if is_every_day and periods.allows_all:
            later, rest = divmod(number - 1, len(periods.within))
            day, period = divmod(periods.next_period(day) + later * periods.interval, periods.per_day)
            return (
                (day, periods.count_before(day, period * periods.unit) + rest) if day + EPOCH_DAY <= LAST_DAY else None
            )
        if periods.cycle == 1:
            days, before = divmod(number - 1, periods.count(day))
            found = self.days.nth(self.days.count_before(_date(day)) + days + 1)
            return None if found is None else (found.toordinal() - EPOCH_DAY, before)
        if is_every_day:
            per_cycle = sum(map(periods.count, range(day, day + periods.cycle)))
            cycles, number = divmod(number - 1, per_cycle)
            day, number = day + cycles * periods.cycle, number + 1
        return self._count_from(day, number)

    def _count_from(self, day: int, number: int) -> tuple[int, int] | None:
        for _ in range(MAX_COUNTED_DAYS):
            found = self._next_day(day)
            if found is None:
                return None
            of_day = self.periods.count(found)
            if number <= of_day:
                return found, number - 1
            day, number = found + 1, number - of_day
        raise OverflowError("the end of the count is too far away")


def _date(day: int) -> date:
    return date.fromordinal(day + EPOCH_DAY)
