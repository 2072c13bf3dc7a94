"""Cron rules: sets of seconds, minutes, hours, days, months and years, of which a fire time is in all.

"The next one that is not earlier" is looked up, not searched: a set of times has a table of its next members, and so
have the days of a month, which depend on its shape only, its first weekday and its length.  There are 28 shapes.
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
NEVER = 99  # in a table: there is no next one
IDLE = 28  # the shape of a month that a rule leaves out
LONGEST_WAIT = 255  # months; what fits a byte.  A farther month is reached in several steps
NO_DAYS = bytes([NEVER] * 34)

DaysOfShape = Callable[[int, int], int]  # of the first weekday, 0 is Monday, and the length: a mask, bit n is day n


class Days:
    """Days of months, each found from the shape of its month by `of_shape`; equal when their `text` is."""

    __slots__ = ("of_shape", "tables", "text")

    def __init__(self, text: str, of_shape: DaysOfShape):
        self.text = text
        self.of_shape = of_shape
        self.tables: list[bytes | None] = [None] * IDLE + [NO_DAYS]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Days) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Days({self.text!r})"

    def table(self, shape: int) -> bytes:
        """For each day, and for the one after the last: the next one that is not earlier, or NEVER."""
        made = self.tables[shape]
        if made is None:
            made = self.tables[shape] = _table(self.mask(shape), 33)
        return made

    def mask(self, shape: int) -> int:
        return self.of_shape(shape // 4, shape % 4 + 28) if shape != IDLE else 0


@dataclass(frozen=True, slots=True)
class CronRule:
    """The times `times` of the days `days` of the months and years in the masks, in UTC, from 1970 to 2099."""

    times: Times
    days: Days
    months: int = ALL_MONTHS
    years: int = ALL_YEARS
    _shapes: bytes = field(init=False, repr=False, compare=False)  # of each month from 1970 on
    _waits: bytes = field(init=False, repr=False, compare=False)  # from each month, the one before 1970 first
    _last: int = field(init=False, repr=False, compare=False)  # the number of the last month with a fire time, or -1
    _hours: bytes = field(init=False, repr=False, compare=False)
    _minutes: bytes = field(init=False, repr=False, compare=False)
    _seconds: bytes = field(init=False, repr=False, compare=False)
    _hour: int = field(init=False, repr=False, compare=False)  # the first of each
    _minute: int = field(init=False, repr=False, compare=False)
    _second: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        times = self.times
        keep = object.__setattr__
        keep(self, "_shapes", _shapes(self.months, self.years))
        keep(self, "_waits", _waits(self.months, self.years))
        keep(self, "_last", self._last_month())
        keep(self, "_hours", _table(times.hours, 25))
        keep(self, "_minutes", _table(times.minutes, 61))
        keep(self, "_seconds", _table(times.seconds, 61))
        keep(self, "_hour", self._hours[0])
        keep(self, "_minute", self._minutes[0])
        keep(self, "_second", self._seconds[0])

    def after(self, instant: datetime) -> datetime | None:
        year = instant.year
        month = instant.month
        number = 12 * year + month - ORIGIN
        if number > self._last:
            return None
        if number < 0:
            return self._in_month_after(-1)
        shape = self._shapes[number]
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
        """The first fire time of the months after this one."""
        waits, shapes, days, last = self._waits, self._shapes, self.days, self._last
        while True:
            number += waits[number + 1]
            if number > last:
                return None
            shape = shapes[number]
            day = (days.tables[shape] or days.table(shape))[1]
            if day != NEVER:
                year = FIRST_YEAR + number // 12
                return datetime(year, number % 12 + 1, day, self._hour, self._minute, self._second, 0, UTC)

    def _days_of(self, number: int) -> int:
        return self.days.mask(self._shapes[number])

    def _last_month(self) -> int:
        for number in range(self.years.bit_length() * 12 - 1, -1, -1):
            if self.days.table(self._shapes[number])[1] != NEVER:
                return number
        return -1


@lru_cache(maxsize=4096)
def _table(mask: int, size: int) -> bytes:
    """For each number below `size`: the next one in `mask` that is not smaller, or NEVER."""
    table = bytearray([NEVER] * size)
    following = NEVER
    for number in range(size - 1, -1, -1):
        if mask >> number & 1:
            following = number
        table[number] = following
    return bytes(table)


@lru_cache(maxsize=1024)
def _shapes(months: int, years: int) -> bytes:
    """The shapes of all months; IDLE for those that are not in the masks."""
    return bytes(
        shape if months >> (number % 12 + 1) & 1 and years >> (number // 12) & 1 else IDLE
        for number, shape in enumerate(SHAPES)
    )


@lru_cache(maxsize=1024)
def _waits(months: int, years: int) -> bytes:
    """For each month, from the one before the first on: how far the next in the masks is, or `LONGEST_WAIT`."""
    waits = bytearray()
    wait = LONGEST_WAIT
    for shape in reversed(_shapes(months, years)):
        wait = 1 if shape != IDLE else min(wait + 1, LONGEST_WAIT)
        waits.append(wait)
    return bytes([LONGEST_WAIT, *waits][::-1])


def _shape(number: int) -> int:
    year, month = FIRST_YEAR + number // 12, number % 12 + 1
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    return first.weekday() * 4 + (following - first).days - 28


SHAPES = bytes(map(_shape, range(MONTHS)))
