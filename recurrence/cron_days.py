"""The days of a month that a cron rule can name.  Each class is called with the shape of a month and returns its days.

The shape is the weekday of the first day (0 is Monday) and the number of days.  The result is a mask: bit n is day n.
"""

from dataclasses import dataclass

from recurrence.bits import mask_of


@dataclass(frozen=True, slots=True)
class NumberedDays:
    """The days with the numbers in the mask `numbers`."""

    numbers: int

    def __call__(self, first: int, length: int) -> int:
        return self.numbers & ((2 << length) - 1)


@dataclass(frozen=True, slots=True)
class EveryWeekday:
    """All days with one of the weekdays."""

    weekdays: frozenset[int]

    def __call__(self, first: int, length: int) -> int:
        return mask_of(day for weekday in self.weekdays for day in range((weekday - first) % 7 + 1, length + 1, 7))


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """The `number`-th day with the weekday, 1 to 5; 0: the last one.  A month without a fifth one has no such day."""

    weekday: int
    number: int

    def __call__(self, first: int, length: int) -> int:
        earliest = (self.weekday - first) % 7 + 1
        day = earliest + 7 * (self.number - 1) if self.number else earliest + (length - earliest) // 7 * 7
        return 1 << day if day <= length else 0


@dataclass(frozen=True, slots=True)
class OneDay:
    """The day with the number `day`; 0 is the last day of the month, -1 the day before it.

    `is_near`: not that day, but the day from Monday to Friday that is nearest to it and in the same month.
    """

    day: int
    is_near: bool = False

    def __call__(self, first: int, length: int) -> int:
        day = self.day if self.day > 0 else length + self.day
        if not 1 <= day <= length:
            return 0
        return 1 << (_nearest_weekday(day, first, length) if self.is_near else day)


@dataclass(frozen=True, slots=True)
class EitherDays:
    """The days of the month and the days with one of the weekdays."""

    month_days: NumberedDays
    weekdays: EveryWeekday

    def __call__(self, first: int, length: int) -> int:
        return self.month_days(first, length) | self.weekdays(first, length)


@dataclass(frozen=True, slots=True)
class BothDays:
    """The days of the month that have one of the weekdays."""

    month_days: NumberedDays
    weekdays: EveryWeekday

    def __call__(self, first: int, length: int) -> int:
        return self.month_days(first, length) & self.weekdays(first, length)


def _nearest_weekday(day: int, first: int, length: int) -> int:
    """Return the day from Monday to Friday that is nearest to `day` and in the same month."""
    weekday = (first + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day
