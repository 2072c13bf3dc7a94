"""Cron rules: sets of seconds, minutes, hours, days, months and years.  A fire time is in all of these sets.

The next member that is not earlier is looked up in a table, not searched.  Each set of times has such a table, and so
have the days of a month.  These depend only on the month's shape: its first weekday and its length.  There are 28
shapes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache

from recurrence.bits import count_below
from recurrence.times import Times

FIRST_YEAR, LAST_YEAR = 1970, 2099
MONTHS = (LAST_YEAR - FIRST_YEAR + 1) * 12
ORIGIN = FIRST_YEAR * 12 + 1  # month m of year y has the number 12 * y + m - ORIGIN
ALL_MONTHS = ((1 << 13) - 1) & ~1  # bit n stands for month n
ALL_YEARS = (1 << (LAST_YEAR - FIRST_YEAR + 1)) - 1  # bit n stands for FIRST_YEAR + n
NEVER = 255  # in a table: there is no next member
IDLE = 28  # the shape of a month that is not in the rule
NO_MONTHS = bytes(12)
NO_DAYS = bytes([NEVER] * 34)

DaysOfShape = Callable[[int, int], int]  # takes first weekday (0 is Monday) and length; returns a mask, bit n is day n


class Days:
    """The days of each month, computed by `of_shape` from the shape of the month.  Equal when their `text` is equal."""

    __slots__ = ("masks", "of_shape", "tables", "text")

    def __init__(self, text: str, of_shape: DaysOfShape):
        self.text = text
        self.of_shape = of_shape
        self.tables: list[bytes | None] = [None] * IDLE + [NO_DAYS]
        self.masks: list[int | None] = [None] * IDLE + [0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Days) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Days({self.text!r})"

    def table(self, shape: int) -> bytes:
        """Return a table from each day, and from the one after the last, to the next day not earlier, or NEVER."""
        table = self.tables[shape]
        if table is None:
            table = self.tables[shape] = next_members(self.mask(shape), 33)
        return table

    def mask(self, shape: int) -> int:
        mask = self.masks[shape]
        if mask is None:
            mask = self.masks[shape] = self.of_shape(shape // 4, shape % 4 + 28)
        return mask


@dataclass(frozen=True, slots=True)
class CronRule:
    """The times `times` on the days `days` of the months and years in the masks, in UTC, from 1970 to 2099."""

    times: Times
    days: Days
    months: int = ALL_MONTHS
    years: int = ALL_YEARS
    shapes: bytes = field(init=False, repr=False, compare=False)  # of each month from 1970 on
    _months: bytes = field(init=False, repr=False, compare=False)
    _years: bytes = field(init=False, repr=False, compare=False)
    _last: int = field(init=False, repr=False, compare=False)  # the number of the last month with a fire time, or -1
    _hours: bytes = field(init=False, repr=False, compare=False)
    _minutes: bytes = field(init=False, repr=False, compare=False)
    _seconds: bytes = field(init=False, repr=False, compare=False)
    _hour: int = field(init=False, repr=False, compare=False)  # the first hour, minute and second
    _minute: int = field(init=False, repr=False, compare=False)
    _second: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        times = self.times
        set_field = object.__setattr__
        set_field(self, "shapes", _shapes(self.months, self.years))
        set_field(self, "_months", next_members(self.months >> 1, 13))  # in these tables 0 is January, and 0 is 1970
        set_field(self, "_years", next_members(self.years, LAST_YEAR - FIRST_YEAR + 2))
        set_field(self, "_last", self._last_month())
        set_field(self, "_hours", next_members(times.hours, 25))
        set_field(self, "_minutes", next_members(times.minutes, 61))
        set_field(self, "_seconds", next_members(times.seconds, 61))
        set_field(self, "_hour", self._hours[0])
        set_field(self, "_minute", self._minutes[0])
        set_field(self, "_second", self._seconds[0])

    def after(self, instant: datetime) -> datetime | None:
        year = instant.year
        month = instant.month
        number = 12 * year + month - ORIGIN
        if number > self._last:
            return None
        if number < 0:
            return self._in_month_after(-1)
        shape = self.shapes[number]
        table = self.days.tables[shape] or self.days.table(shape)
        today = instant.day
        day = table[today]
        if day == today:
            hours = self._hours
            hour = instant.hour
            if hours[hour] == hour:
                minutes = self._minutes
                minute = instant.minute
                if minutes[minute] == minute:
                    second = self._seconds[instant.second + 1]
                    if second != NEVER:
                        return datetime(year, month, day, hour, minute, second, 0, UTC)
                minute = minutes[minute + 1]
                if minute != NEVER:
                    return datetime(year, month, day, hour, minute, self._second, 0, UTC)
            hour = hours[hour + 1]
            if hour != NEVER:
                return datetime(year, month, day, hour, self._minute, self._second, 0, UTC)
            day = table[today + 1]
        if day != NEVER:
            return datetime(year, month, day, self._hour, self._minute, self._second, 0, UTC)
        return self._in_month_after(number)

    def count_before(self, instant: datetime) -> int:
        """Return how many fire times lie before `instant`."""
        number = 12 * instant.year + instant.month - ORIGIN
        days = sum(self._days_of(earlier).bit_count() for earlier in range(max(0, min(number, MONTHS))))
        total = days * self.times.per_day
        if 0 <= number < MONTHS:
            mask = self._days_of(number)
            second = instant.hour * 3600 + instant.minute * 60 + instant.second + (instant.microsecond > 0)
            total += count_below(mask, instant.day) * self.times.per_day
            total += (mask >> instant.day & 1) * self.times.count_before(second)
        return total

    def _in_month_after(self, number: int) -> datetime | None:
        """Return the first fire time in the months after month `number`; None: there is none."""
        months, years, days = self._months, self._years, self.days
        year, month = divmod(number + 1, 12)
        if years[year] == year:
            month = months[month]
        else:
            year, month = years[year], months[0]
        while True:
            if month == NEVER:
                year, month = years[year + 1], months[0]
            number = 12 * year + month
            if number > self._last:
                return None
            shape = self.shapes[number]
            day = (days.tables[shape] or days.table(shape))[1]
            if day != NEVER:
                return datetime(FIRST_YEAR + year, month + 1, day, self._hour, self._minute, self._second, 0, UTC)
            month = months[month + 1]

    def _days_of(self, number: int) -> int:
        return self.days.mask(self.shapes[number])

    def _last_month(self) -> int:
        for number in range(self.years.bit_length() * 12 - 1, -1, -1):
            if self.days.table(self.shapes[number])[1] != NEVER:
                return number
        return -1


@lru_cache(maxsize=4096)
def next_members(mask: int, size: int) -> bytes:
    """Return a table from each number below `size` to the next number in `mask` that is not smaller, or NEVER."""
    table = bytearray([NEVER] * size)
    following = NEVER
    for number in range(size - 1, -1, -1):
        if mask >> number & 1:
            following = number
        table[number] = following
    return bytes(table)


@lru_cache(maxsize=1024)
def _shapes(months: int, years: int) -> bytes:
    """Return the shapes of all months; IDLE for months that are not in the masks."""
    year = bytes(0xFF * (months >> month & 1) for month in range(1, 13))
    chosen = b"".join(year if years >> number & 1 else NO_MONTHS for number in range(MONTHS // 12))
    mask = int.from_bytes(chosen, "big")
    shapes = ALL_SHAPES & mask | ALL_IDLE & ~mask
    return shapes.to_bytes(MONTHS, "big")


def _shape(number: int) -> int:
    year, month = FIRST_YEAR + number // 12, number % 12 + 1
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    return first.weekday() * 4 + (following - first).days - 28


SHAPES = bytes(map(_shape, range(MONTHS)))
ALL_SHAPES, ALL_IDLE = int.from_bytes(SHAPES, "big"), int.from_bytes(bytes([IDLE] * MONTHS), "big")
