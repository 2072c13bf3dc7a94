"""Days that a year chooses by its months, days of the month, weekdays, days of the year and weeks.

These are the days of iCalendar's FREQ=DAILY with the parts BYMONTH, BYMONTHDAY, BYDAY, BYYEARDAY and BYWEEKNO.  They
depend only on the shape of the year: the weekday of 1 January, its length, and the length of the year before.  They are
a bit mask; bit 0 is 1 January.
"""

from calendar import isleap, monthrange
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from recurrence.bits import count_below, lowest, mask_of, position_of

MAX_EMPTY_YEARS = 40  # 29 February on a given weekday comes at least once in so many years
CYCLE = 400  # years: the calendar repeats, weekdays included
CYCLE_START = 2000
MOST_OF_WEEK = 4  # days


@dataclass(frozen=True, slots=True)
class DayChoice:
    """A day is chosen if each set holds it; an empty set holds every day.

    Months are 1 to 12, weekdays 0 (Monday) to 6.  Days of the month and of the year, and weeks, are counted from 1, or
    from the end (-1).  A week begins on the weekday `week_start`, and belongs to the year with most of its days.
    """

    months: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    year_days: frozenset[int] = frozenset()
    weeks: frozenset[int] = frozenset()
    week_start: int = 0


@dataclass(frozen=True, slots=True)
class YearDays:
    """The chosen days from `start` on."""

    start: date
    choice: DayChoice

    def on_or_after(self, day: date) -> date | None:
        day = max(day, self.start)
        first = _days_before(day)
        for year in range(day.year, min(day.year + MAX_EMPTY_YEARS, date.max.year) + 1):
            later = self._mask(year) >> first << first
            if later:
                return _day(year, lowest(later))
            first = 0
        return None

    def count_before(self, day: date) -> int:
        return self._count_in_years(day) - self._count_in_years(self.start) if day > self.start else 0

    def nth(self, number: int) -> date | None:
        """Return the day with this number; the first day has number 1.  None beyond the last year of the calendar."""
        per_cycle = self._count_in_cycle(CYCLE)
        if not per_cycle:
            return None
        cycles, rest = divmod(self._count_in_years(self.start) + number - 1, per_cycle)
        for year in range(cycles * CYCLE + 1, min((cycles + 1) * CYCLE, date.max.year) + 1):
            days = self._mask(year)
            if rest < days.bit_count():
                return _day(year, position_of(days, rest))
            rest -= days.bit_count()
        return None

    def _count_in_years(self, day: date) -> int:
        """Return how many chosen days lie before `day`, from the year 1 on."""
        cycles, years = divmod(day.year - 1, CYCLE)
        total = cycles * self._count_in_cycle(CYCLE) + self._count_in_cycle(years)
        return total + count_below(self._mask(day.year), _days_before(day))

    def _count_in_cycle(self, years: int) -> int:
        return sum(self._mask(year).bit_count() for year in range(1, years + 1))

    def _mask(self, year: int) -> int:
        return _mask_of_year(self.choice, SHAPES[year % CYCLE])


def _days_before(day: date) -> int:
    """Return the number of days of the year before `day`."""
    return day.timetuple().tm_yday - 1


def _day(year: int, position: int) -> date:
    return date.fromordinal(date(year, 1, 1).toordinal() + position)


def _shapes() -> tuple[int, ...]:
    """Return for each year of a cycle the first year of the cycle with the same shape."""
    first: dict[tuple[int, bool, bool], int] = {}
    years = range(CYCLE_START, CYCLE_START + CYCLE)
    return tuple(first.setdefault((date(year, 1, 1).weekday(), isleap(year), isleap(year - 1)), year) for year in years)


SHAPES = _shapes()


@lru_cache(maxsize=1024)
def _mask_of_year(choice: DayChoice, year: int) -> int:
    length, weekday = _length(year), date(year, 1, 1).weekday()
    mask = (1 << length) - 1
    if choice.months or choice.month_days:
        mask &= _in_months(choice, year)
    if choice.weekdays:
        mask &= mask_of(day for each in choice.weekdays for day in range((each - weekday) % 7, length, 7))
    if choice.year_days:
        mask &= mask_of(_positions(choice.year_days, length))
    return mask & _in_weeks(choice, year) if choice.weeks else mask


def _in_months(choice: DayChoice, year: int) -> int:
    mask = begin = 0
    for month in range(1, 13):
        length = monthrange(year, month)[1]
        if not choice.months or month in choice.months:
            days = mask_of(_positions(choice.month_days, length)) if choice.month_days else (1 << length) - 1
            mask |= days << begin
        begin += length
    return mask


def _positions(numbers: Iterable[int], length: int) -> Iterator[int]:
    """Yield the positions, from 0 on, of numbers from 1 to `length`, or from -1 (the last) on; others are left out."""
    return (number - 1 if number > 0 else length + number for number in numbers if abs(number) <= length)


def _in_weeks(choice: DayChoice, year: int) -> int:
    """Return the days in the chosen weeks.

    As in dateutil, days in the first week of the next year are chosen by 1 only, not by a number from the end.
    """
    first, beyond = _first_week(choice, year), _length(year) + _first_week(choice, year + 1)
    last_year = (first + _length(year - 1) - _first_week(choice, year - 1)) // 7
    weeks = [first + 7 * week for week in _positions(choice.weeks, (beyond - first) // 7)]
    if not choice.weeks.isdisjoint((last_year, -1)):
        weeks.append(first - 7)
    if 1 in choice.weeks:
        weeks.append(beyond)
    return mask_of(day for begin in weeks for day in range(max(begin, 0), begin + 7))


def _first_week(choice: DayChoice, year: int) -> int:
    """Return the position of the first day of the first week, which can lie in the year before."""
    days_before = (date(year, 1, 1).weekday() - choice.week_start) % 7
    return -days_before if days_before < MOST_OF_WEEK else 7 - days_before


def _length(year: int) -> int:
    return 365 + isleap(year)
