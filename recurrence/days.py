"""Rules on dates: sets of days, without a time of day and without a time zone.

Every rule begins with its `start` and repeats in periods of days, weeks or months.  The period that holds `start` is
the first; each `interval`-th one counts.  The cost of an answer does not grow with the age of a rule.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from math import gcd
from typing import Protocol

from recurrence.bits import count_below, lowest, mask_of, members

LAST_DAY = date.max.toordinal()
LAST_MONTH = date.max.year * 12 + 11
CYCLE = 400 * 12  # months after which the Gregorian calendar repeats, weekdays included


class DateRule(Protocol):
    @property
    def start(self) -> date:
        """The day before which the rule has no day."""

    def on_or_after(self, day: date) -> date | None:
        """Return the first day of the rule that is not earlier than `day`; None: there is none."""

    def count_before(self, day: date) -> int:
        """Return how many days of the rule lie before `day`."""


class NumberedRule(DateRule, Protocol):
    """A date rule that can return its n-th day, and all its days in a window."""

    def nth(self, number: int) -> date | None:
        """Return the day with this number; the first day has number 1.  None beyond the last year of the calendar."""

    def ordinals(self, first: int, last: int) -> Iterable[int]:
        """Return the ordinals of the days from `first` to `last`, both included and both at most that of `date.max`."""


@dataclass(frozen=True, slots=True)
class EveryNDays:
    """`start` and each `interval`-th day after it."""

    start: date
    interval: int = 1

    def __post_init__(self) -> None:
        _require_interval(self.interval)

    def on_or_after(self, day: date) -> date | None:
        if day <= self.start:
            return self.start
        ordinal = day.toordinal()
        days_left = (self.start.toordinal() - ordinal) % self.interval
        if not days_left:
            return day
        return date.fromordinal(ordinal + days_left) if ordinal + days_left <= LAST_DAY else None

    def count_before(self, day: date) -> int:
        return max(0, -((self.start.toordinal() - day.toordinal()) // self.interval))

    def nth(self, number: int) -> date | None:
        return _day(self.start.toordinal() + (number - 1) * self.interval)

    def ordinals(self, first: int, last: int) -> Iterable[int]:
        start = self.start.toordinal()
        return range(start if first <= start else first + (start - first) % self.interval, last + 1, self.interval)


@dataclass(frozen=True, slots=True)
class Weekly:
    """The given days (0 is Monday) of each `interval`-th week.  A week begins on the day `week_start`."""

    start: date
    weekdays: frozenset[int]
    interval: int = 1
    week_start: int = 0
    _mask: int = field(init=False, repr=False, compare=False)  # bit 0 is the first day of a week

    def __post_init__(self) -> None:
        _require_interval(self.interval)
        _require_some(self.weekdays, "weekdays", range(7))
        _require_some(frozenset({self.week_start}), "week_start", range(7))
        object.__setattr__(self, "_mask", mask_of((day - self.week_start) % 7 for day in self.weekdays))

    def on_or_after(self, day: date) -> date | None:
        if day < self.start:
            day = self.start
        week, weekday = self._week_and_weekday(day)
        weeks_left = (self._first_week() - week) % self.interval
        later = 0 if weeks_left else self._mask >> weekday
        if later:
            return _day(day.toordinal() + lowest(later))
        return _day(self._first_day(week + (weeks_left or self.interval)) + lowest(self._mask))

    def count_before(self, day: date) -> int:
        if day <= self.start:
            return 0
        return self._count_in_grid(day) - self._count_in_grid(self.start)

    def _count_in_grid(self, day: date) -> int:
        """Return how many days of the rule lie before `day`, from the beginning of the week that holds `start`."""
        week, weekday = self._week_and_weekday(day)
        weeks, rest = divmod(week - self._first_week(), self.interval)
        if rest:
            return (weeks + 1) * len(self.weekdays)
        return weeks * len(self.weekdays) + count_below(self._mask, weekday)

    def nth(self, number: int) -> date | None:
        weeks, rank = divmod(self._count_in_grid(self.start) + number - 1, len(self.weekdays))
        weekday = [*members(self._mask)][rank]
        return _day(self._first_day(self._first_week() + weeks * self.interval) + weekday)

    def ordinals(self, first: int, last: int) -> Iterable[int]:
        first = max(first, self.start.toordinal())
        week = (first - 1 - self.week_start) // 7
        week += (self._first_week() - week) % self.interval
        weekdays = [*members(self._mask)]
        for first_day in range(self._first_day(week), last + 1, 7 * self.interval):
            for weekday in weekdays:
                if first <= first_day + weekday <= last:
                    yield first_day + weekday

    def _week_and_weekday(self, day: date) -> tuple[int, int]:
        """Return the number of the day's week, and how many days after the beginning of that week the day is."""
        return divmod(day.toordinal() - 1 - self.week_start, 7)  # 1 January of year 1 was a Monday

    def _first_week(self) -> int:
        return self._week_and_weekday(self.start)[0]

    def _first_day(self, week: int) -> int:
        return week * 7 + 1 + self.week_start


@dataclass(frozen=True, slots=True)
class MonthDays:
    """The given days, 1 to 31 or -1 (the last) to -31, of each `interval`-th month.

    Days that a month does not have are skipped.
    """

    start: date
    days: frozenset[int]
    interval: int = 1
    _masks: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_interval(self.interval)
        _require_some(self.days, "days", [n for n in range(-31, 32) if n])
        object.__setattr__(self, "_masks", _masks_of_month_days(self.days))

    def on_or_after(self, day: date) -> date | None:
        return _on_or_after_by_month(day, self.start, self.interval, self._masks)

    def count_before(self, day: date) -> int:
        return _count_before_by_month(day, self.start, self.interval, self._masks)


@dataclass(frozen=True, slots=True)
class NthWeekdays:
    """Weekdays of each `interval`-th month by their number: (4, 1) is the first Friday, (4, -1) the last one.

    (4, None) is every Friday.  The fifth from either end is skipped in months that have four.
    """

    start: date
    choices: frozenset[tuple[int, int | None]]
    interval: int = 1
    _masks: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_interval(self.interval)
        numbers: list[int | None] = [None, *(n for n in range(-5, 6) if n)]
        _require_some(self.choices, "choices", [(weekday, n) for weekday in range(7) for n in numbers])
        object.__setattr__(self, "_masks", _masks_of_nth_weekdays(self.choices))

    def on_or_after(self, day: date) -> date | None:
        return _on_or_after_by_month(day, self.start, self.interval, self._masks)

    def count_before(self, day: date) -> int:
        return _count_before_by_month(day, self.start, self.interval, self._masks)


class OnceAMonth:
    """One day of each `interval`-th month.  Base of rules whose `_masks` have exactly one day for each shape."""

    __slots__ = ()
    start: date
    interval: int
    _masks: tuple[int, ...]

    def on_or_after(self, day: date) -> date | None:
        return _on_or_after_by_month(day, self.start, self.interval, self._masks)

    def count_before(self, day: date) -> int:
        if day <= self.start:
            return 0
        months, rest = divmod(_month_number(day) - _month_number(self.start), self.interval)
        return months + (rest > 0 or self._day_in(_month_number(day)) < day.day) - self._missed()

    def nth(self, number: int) -> date | None:
        month = _month_number(self.start) + (number - 1 + self._missed()) * self.interval
        return date(month // 12, month % 12 + 1, self._day_in(month)) if month <= LAST_MONTH else None

    def ordinals(self, first: int, last: int) -> Iterable[int]:
        first = max(first, self.start.toordinal())
        month = _month_number(date.fromordinal(first))
        month += (_month_number(self.start) - month) % self.interval
        while month <= LAST_MONTH:
            ordinal = date(month // 12, month % 12 + 1, self._day_in(month)).toordinal()
            if ordinal > last:
                return
            if ordinal >= first:
                yield ordinal
            month += self.interval

    def _missed(self) -> int:
        """Return 1 if the day of the first month lies before `start`, else 0."""
        return int(self._day_in(_month_number(self.start)) < self.start.day)

    def _day_in(self, month: int) -> int:
        return self._masks[SHAPES[month % CYCLE]].bit_length()


@dataclass(frozen=True, slots=True)
class MonthDay(OnceAMonth):
    """The given day of each `interval`-th month; in a month with fewer days, its last day."""

    start: date
    day: int
    interval: int = 1
    _masks: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_interval(self.interval)
        _require_some(frozenset({self.day}), "day", range(1, 32))
        object.__setattr__(self, "_masks", _masks_of_month_day(self.day))


@dataclass(frozen=True, slots=True)
class NthOfWeekdays(OnceAMonth):
    """The `number`-th of all days with one of the weekdays in each `interval`-th month.

    The second of Thursday and Friday is the second day in the month that is one or the other, and -1 the last one.
    """

    start: date
    weekdays: frozenset[int]
    number: int
    interval: int = 1
    _masks: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_interval(self.interval)
        _require_some(self.weekdays, "weekdays", range(7))
        _require_some(frozenset({self.number}), "number", [n for n in range(-4, 5) if n])  # every month has these
        object.__setattr__(self, "_masks", _masks_of_nth_of(self.weekdays, self.number))


def _day(ordinal: int) -> date | None:
    return date.fromordinal(ordinal) if ordinal <= LAST_DAY else None


def _require_interval(interval: int) -> None:
    if interval < 1:
        raise ValueError(f"interval must be at least 1, not {interval!r}")


def _require_some(chosen: frozenset[object], name: str, allowed: Sequence[object]) -> None:
    if not chosen or not chosen.issubset(allowed):
        raise ValueError(f"{name} must be some of {allowed!r}, not {chosen!r}")


# A month has a number: the months since the beginning of year 0.  Its days depend only on its shape: the weekday of its
# first day and its length.  There are 28 shapes, so a rule needs at most 28 day masks (bit 0 is the first day).


def _shape_of(month: int) -> int:
    first = date(2000 + month // 12, month % 12 + 1, 1)  # 2000 begins a cycle, as 2000 * 12 is a multiple of it
    following = date(2000 + (month + 1) // 12, (month + 1) % 12 + 1, 1)
    return first.weekday() * 4 + (following - first).days - 28


SHAPES = bytes(_shape_of(month) for month in range(CYCLE))


def _masks(is_chosen: Callable[[int, int, int], bool]) -> tuple[int, ...]:
    """Return the day mask of every shape; `is_chosen` takes the day of the month, the weekday and the length."""
    return tuple(
        mask_of(day - 1 for day in range(1, length + 1) if is_chosen(day, (first_weekday + day - 1) % 7, length))
        for first_weekday in range(7)
        for length in range(28, 32)
    )


@lru_cache(maxsize=1024)
def _masks_of_month_days(days: frozenset[int]) -> tuple[int, ...]:
    return _masks(lambda day, weekday, length: day in days or day - length - 1 in days)


@lru_cache(maxsize=1024)
def _masks_of_nth_weekdays(choices: frozenset[tuple[int, int | None]]) -> tuple[int, ...]:
    def is_chosen(day: int, weekday: int, length: int) -> bool:
        numbers = (None, (day - 1) // 7 + 1, -((length - day) // 7) - 1)
        return any((weekday, number) in choices for number in numbers)

    return _masks(is_chosen)


@lru_cache(maxsize=31)
def _masks_of_month_day(chosen: int) -> tuple[int, ...]:
    return _masks(lambda day, weekday, length: day == min(chosen, length))


@lru_cache(maxsize=1024)
def _masks_of_nth_of(weekdays: frozenset[int], number: int) -> tuple[int, ...]:
    def is_chosen(day: int, weekday: int, length: int) -> bool:
        if weekday not in weekdays:
            return False
        if number > 0:
            return number == sum((weekday - n) % 7 in weekdays for n in range(day))
        return number == -sum((weekday + n) % 7 in weekdays for n in range(length - day + 1))

    return _masks(is_chosen)


def _on_or_after_by_month(day: date, start: date, interval: int, masks: tuple[int, ...]) -> date | None:
    if day < start:
        day = start
    month = day.year * 12 + day.month - 1
    months_left = (_month_number(start) - month) % interval if interval > 1 else 0
    mask = 0 if months_left else masks[SHAPES[month % CYCLE]] >> (day.day - 1) << (day.day - 1)
    if not mask:
        first = month + (months_left or interval)
        for month in range(first, first + _cycle(interval), interval):
            mask = masks[SHAPES[month % CYCLE]]
            if mask:
                break
        if not mask or month > LAST_MONTH:
            return None
    return date(month // 12, month % 12 + 1, (mask & -mask).bit_length())  # its lowest bit is the first day


def _count_before_by_month(day: date, start: date, interval: int, masks: tuple[int, ...]) -> int:
    if day <= start:
        return 0
    first, month = _month_number(start), _month_number(day)
    cycles, rest = divmod(month - first, _cycle(interval))

    total = -count_below(masks[SHAPES[first % CYCLE]], start.day - 1)
    if cycles:
        total += cycles * _count_in_months(range(first, first + _cycle(interval), interval), masks)
    total += _count_in_months(range(month - rest, month, interval), masks)
    if (month - first) % interval == 0:
        total += count_below(masks[SHAPES[month % CYCLE]], day.day - 1)
    return total


def _count_in_months(months: range, masks: tuple[int, ...]) -> int:
    return sum(masks[SHAPES[month % CYCLE]].bit_count() for month in months)


def _month_number(day: date) -> int:
    return day.year * 12 + day.month - 1


@lru_cache(maxsize=64)
def _cycle(interval: int) -> int:
    """Return after how many months each `interval`-th month has the same calendar again."""
    return CYCLE * interval // gcd(CYCLE, interval)
