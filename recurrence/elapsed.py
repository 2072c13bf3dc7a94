"""Intervals of minutes or hours of elapsed time, limited to certain times of the day."""

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import accumulate
from math import gcd

from recurrence.bits import count_below, lowest, mask_of, members
from recurrence.schedules import just_before, require_utc
from recurrence.times import Times
from recurrence.zones import EPOCH, EPOCH_DAY, day_and_second, instant_at

ONE_MINUTE = timedelta(minutes=1)
MINUTES_A_DAY = 1440


@dataclass(frozen=True, slots=True)
class EveryWithinPeriod:
    """Each `interval`-th minute or hour, counted from the one that holds `start`, at the times in `times`, in UTC.

    `period` is 1 or 60: the length of a minute or an hour in minutes.  `times` lists the allowed minutes of an hour and
    hours of a day.  Elapsed time is counted, so from one day to the next the pattern moves.  It repeats after a cycle
    of at most 1000 days for an interval of at most 1000.  The days of the cycle with a fire time are computed once.
    """

    period: int
    interval: int
    start: datetime
    times: Times
    _grid: "MinuteGrid" = field(init=False, repr=False, compare=False)
    _anchor_day: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_utc(self.start, "start")
        if self.period not in (1, 60):
            raise ValueError(f"period must be 1 or 60 minutes, not {self.period!r}")
        if self.interval < 1:
            raise ValueError(f"interval must be at least 1, not {self.interval!r}")
        if self.times.seconds.bit_count() != 1:
            raise ValueError(f"times must stand at one second of the minute, not {self.times!r}")
        anchor_day, anchor = divmod((self.start - EPOCH) // ONE_MINUTE // self.period * self.period, MINUTES_A_DAY)
        object.__setattr__(self, "_anchor_day", anchor_day)
        object.__setattr__(
            self, "_grid", _grid(self.times.hours, self.times.minutes, self.period, self.interval, anchor)
        )

    def after(self, instant: datetime) -> datetime | None:
        elapsed = max(instant, just_before(self.start)) - EPOCH
        day, minute = elapsed.days - self._anchor_day, self._minutes_before(elapsed.seconds + 1)
        found = self._grid.on_or_after(day, minute)
        if found is None:
            return None
        return instant_at(((found[0] + self._anchor_day) * MINUTES_A_DAY + found[1]) * 60 + self.times.first % 60)

    def count_before(self, instant: datetime) -> int:
        return self._count_in_grid(instant) - self._count_in_grid(self.start) if instant > self.start else 0

    def _count_in_grid(self, instant: datetime) -> int:
        day, second = day_and_second(instant)
        return self._grid.count_before(day.toordinal() - EPOCH_DAY - self._anchor_day, self._minutes_before(second))

    def _minutes_before(self, second: int) -> int:
        """Return how many minutes of a day have their fire time before `second`, a second of the day."""
        return -((self.times.first % 60 - second) // 60)


@dataclass(frozen=True, slots=True)
class MinuteGrid:
    """The minutes of a day in `allowed` that lie in a counted period.

    A counted period begins every `step` minutes.  Day 0 is the day on which the first period begins, `anchor` minutes
    after midnight.
    """

    allowed: int
    periods: int  # the minutes in counted periods, for a day that begins with such a period
    step: int
    anchor: int
    cycle: int  # after so many days the same minutes repeat
    days: tuple[int, ...]  # the days of the first cycle that have a minute
    counts: tuple[int, ...]  # the number of minutes in the cycle before each of `days`, and in the whole cycle

    def on_or_after(self, day: int, minute: int) -> tuple[int, int] | None:
        if not self.days:
            return None
        later = self._minutes(day) >> minute
        if later:
            return day, minute + lowest(later)
        cycles, position = divmod(day + 1, self.cycle)
        index = bisect_left(self.days, position)
        if index == len(self.days):
            cycles, index = cycles + 1, 0
        day = cycles * self.cycle + self.days[index]
        return day, lowest(self._minutes(day))

    def count_before(self, day: int, minute: int) -> int:
        """Return how many minutes lie before this one, from the midnight of day 0 on."""
        cycles, position = divmod(day, self.cycle)
        total = cycles * self.counts[-1] + self.counts[bisect_left(self.days, position)]
        return total + count_below(self._minutes(day), minute)

    def _minutes(self, day: int) -> int:
        return _minutes_of_day(self.allowed, self.periods, self.step, self.anchor, day)


@lru_cache(maxsize=256)
def _grid(hours: int, minutes: int, period: int, interval: int, anchor: int) -> MinuteGrid:
    allowed = mask_of(hour * 60 + minute for hour in members(hours) for minute in members(minutes))
    step = period * interval
    periods = mask_of(minute for begin in range(0, MINUTES_A_DAY, step) for minute in range(begin, begin + period))
    cycle = step // gcd(step, MINUTES_A_DAY)
    fires = [_minutes_of_day(allowed, periods, step, anchor, day).bit_count() for day in range(cycle)]
    days = tuple(day for day, number in enumerate(fires) if number)
    counts = tuple(accumulate((fires[day] for day in days), initial=0))
    return MinuteGrid(allowed, periods, step, anchor, cycle, days, counts)


def _minutes_of_day(allowed: int, periods: int, step: int, anchor: int, day: int) -> int:
    return allowed & periods << (anchor - day * MINUTES_A_DAY) % step
