"""Schedules made of a calendar and a clock: the form behind every written recurrence that names days and times."""

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import accumulate
from math import gcd

from recurrence.bits import count_below, lowest, mask_of
from recurrence.days import LAST_DAY, DateRule
from recurrence.schedules import FIRST_INSTANT, between, just_before, require_utc
from recurrence.times import Times
from recurrence.zones import DAY, EPOCH, EPOCH_DAY, Fold, Gap, Stretch, stretch_at

ONE_SECOND = timedelta(seconds=1)
ONE_MINUTE = timedelta(minutes=1)
ONE_DAY = timedelta(days=1)
MINUTES_A_DAY = 1440
FIRST_READING = (date.min.toordinal() - EPOCH_DAY) * DAY
BARREN_STRETCHES = 100  # a rule without a fire time through so many changes of the clocks has none but skipped ones


@dataclass(frozen=True, slots=True)
class CalendarRule:
    """The times `times` of the days `days`, as clocks in `zone` show them.

    A reading that clocks skip follows `gap`, one that they show twice follows `fold`.
    """

    days: DateRule
    times: Times
    zone: tzinfo
    gap: Gap = Gap.END
    fold: Fold = Fold.FIRST

    def after(self, instant: datetime) -> datetime | None:
        if self.zone is not UTC:
            return self._after_in_zone(instant)
        instant = instant.astimezone(UTC)
        found = self._on_or_after(instant.date(), instant.hour * 3600 + instant.minute * 60 + instant.second + 1)
        return found and EPOCH + timedelta(found[0].toordinal() - EPOCH_DAY, found[1])

    def count_before(self, instant: datetime) -> int:
        """Return how many fire times lie before `instant`: by arithmetic in UTC, elsewhere by walking them."""
        if self.zone is not UTC:
            return sum(1 for _ in between(self, FIRST_INSTANT, instant))
        day, second = _day_and_second(instant)
        total = self.days.count_before(day) * self.times.per_day
        if self.days.on_or_after(day) == day:
            total += self.times.count_before(second)
        return total

    def _on_or_after(self, day: date, second: int) -> tuple[date, int] | None:
        """The first day and time of day, as clocks show them, not earlier than this one."""
        found = self.days.on_or_after(day)
        if found == day:
            time = self.times.on_or_after(second)
            if time is not None:
                return day, time
            found = self.days.on_or_after(day + ONE_DAY) if day < date.max else None
        return None if found is None else (found, self.times.first)

    def _after_in_zone(self, instant: datetime) -> datetime | None:
        earliest = (instant - EPOCH) // ONE_SECOND + 1
        for _ in range(BARREN_STRETCHES):
            stretch = stretch_at(self.zone, earliest)
            fire = self._first_in(stretch, earliest)
            if fire is not None:
                return _instant(fire)
            reading = self._reading_on_or_after(stretch.end + min(stretch.offset, stretch.after))
            if reading is None:
                return None
            earliest = max(stretch.end, reading - DAY)  # no clock is a day away from UTC
        return None

    def _first_in(self, stretch: Stretch, earliest: int) -> int | None:
        """The first fire time in [earliest, end of the stretch); `earliest` lies in the stretch."""
        offset = stretch.offset
        lowest, beyond = earliest + offset, stretch.end + offset
        if self.fold is Fold.FIRST and stretch.before > offset:
            lowest = max(lowest, stretch.start + stretch.before)
        if self.fold is Fold.SECOND and stretch.after < offset:
            beyond = stretch.end + stretch.after
        reading = self._reading_on_or_after(lowest)
        fire = reading - offset if reading is not None and reading < beyond else None

        if stretch.before < offset and self.gap is not Gap.SKIP:
            skipped = self._reading_on_or_after(earliest + stretch.before)
            if skipped is not None and skipped < stretch.start + offset:
                if self.gap is Gap.SHIFT:
                    shifted = skipped - stretch.before
                    return shifted if fire is None else min(fire, shifted)
                if earliest == stretch.start:
                    return stretch.start
        return fire

    def _reading_on_or_after(self, reading: int) -> int | None:
        day, second = divmod(max(reading, FIRST_READING), DAY)
        if day + EPOCH_DAY > LAST_DAY:
            return None
        found = self._on_or_after(date.fromordinal(day + EPOCH_DAY), second)
        return found and (found[0].toordinal() - EPOCH_DAY) * DAY + found[1]


@dataclass(frozen=True, slots=True)
class EveryWithin:
    """Each `interval`-th minute or hour (`period`: 1 or 60 minutes), counted from the one that holds `start`, as far
    as `times` allow: of an hour the listed minutes, of the day the listed hours, in UTC.

    Minutes or hours are counted as elapsed time, so from one day to the next the pattern moves.  It comes back after
    at most 1000 days for an interval of at most 1000; the days of that cycle which hold a fire time are found once.
    """

    period: int
    interval: int
    start: datetime
    times: Times
    _allowed: int = field(init=False, repr=False, compare=False)
    _days: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _counts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_utc(self.start, "start")
        if self.period not in (1, 60):
            raise ValueError(f"period must be 1 or 60 minutes, not {self.period!r}")
        if self.interval < 1:
            raise ValueError(f"interval must be at least 1, not {self.interval!r}")
        if self.times.seconds.bit_count() != 1:
            raise ValueError(f"times must stand at one second of the minute, not {self.times!r}")
        allowed = mask_of(time // 60 for time in self.times)
        cycle = _cycle(allowed, self.period, self.interval, self._anchor % MINUTES_A_DAY)
        object.__setattr__(self, "_allowed", allowed)
        object.__setattr__(self, "_days", cycle[0])
        object.__setattr__(self, "_counts", cycle[1])

    def after(self, instant: datetime) -> datetime | None:
        if not self._days:
            return None
        elapsed = max(instant, just_before(self.start)) - EPOCH
        day = elapsed.days - self._anchor // MINUTES_A_DAY
        minute = self._minutes_before(elapsed.seconds + 1)
        today = self._mask(day) >> minute
        if today:
            return self._fire(day, minute + lowest(today))
        cycles, position = divmod(day + 1, _cycle_length(self.period * self.interval))
        index = bisect_left(self._days, position)
        if index == len(self._days):
            cycles, index = cycles + 1, 0
        day = cycles * _cycle_length(self.period * self.interval) + self._days[index]
        return self._fire(day, lowest(self._mask(day)))

    def count_before(self, instant: datetime) -> int:
        if instant <= self.start:
            return 0
        return self._count_in_grid(instant) - self._count_in_grid(self.start)

    @property
    def _anchor(self) -> int:
        """The first minute, since 1970, of the period that holds `start`."""
        return (self.start - EPOCH) // ONE_MINUTE // self.period * self.period

    def _mask(self, day: int) -> int:
        """The minutes of a fire time on `day`, counted from the day of the anchor."""
        return self._allowed & _grid(self.period, self.interval, self._anchor % MINUTES_A_DAY - day * MINUTES_A_DAY)

    def _minutes_before(self, second: int) -> int:
        """How many minutes of a day have their fire time before `second`."""
        return -((self.times.first % 60 - second) // 60)

    def _fire(self, day: int, minute: int) -> datetime | None:
        minutes = (self._anchor // MINUTES_A_DAY + day) * MINUTES_A_DAY + minute
        return _instant(minutes * 60 + self.times.first % 60)

    def _count_in_grid(self, instant: datetime) -> int:
        """How many fire times the pattern has before `instant`, from the beginning of the day of the anchor."""
        date_, second = _day_and_second(instant)
        day = date_.toordinal() - EPOCH_DAY - self._anchor // MINUTES_A_DAY
        cycles, position = divmod(day, _cycle_length(self.period * self.interval))
        total = cycles * self._counts[-1] + self._counts[bisect_left(self._days, position)]
        return total + count_below(self._mask(day), self._minutes_before(second))


@lru_cache(maxsize=256)
def _cycle(allowed: int, period: int, interval: int, anchor: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The days of one cycle that hold fire times, and how many the cycle holds before each of them and in all."""
    days, counts = [], []
    for day in range(_cycle_length(period * interval)):
        fires = (allowed & _grid(period, interval, anchor - day * MINUTES_A_DAY)).bit_count()
        if fires:
            days.append(day)
            counts.append(fires)
    return tuple(days), tuple(accumulate(counts, initial=0))


def _cycle_length(minutes: int) -> int:
    """Days after which a grid of so many minutes meets the same times of day again."""
    return minutes // gcd(minutes, MINUTES_A_DAY)


def _grid(period: int, interval: int, first: int) -> int:
    """The minutes of a day that lie in a counted period, when `first` minutes after midnight one begins."""
    return _grid_from_midnight(period, interval) << (first % (period * interval))


@lru_cache(maxsize=2048)
def _grid_from_midnight(period: int, interval: int) -> int:
    return mask_of(
        minute for begin in range(0, MINUTES_A_DAY, period * interval) for minute in range(begin, begin + period)
    )


def _day_and_second(instant: datetime) -> tuple[date, int]:
    """The day and the second of the day, rounded up, of an instant in UTC: 86400 after the last whole second."""
    second = instant.hour * 3600 + instant.minute * 60 + instant.second
    return instant.date(), second + (instant.microsecond > 0)


def _instant(second: int) -> datetime | None:
    try:
        return EPOCH + timedelta(seconds=second)
    except OverflowError:  # before the first or past the last year that a datetime can name
        return None
