"""Schedules with the same times on each of their days, whose days move to open days: a table of the days of each month.

Such a schedule moves as a whole: its fire times are its times on the days to which its own days move.  So an answer
costs about as much as that of a cron rule.  `recurrence.open_days` answers for every other schedule, and in months in
which a day moves to or from a clock change that needs more care.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Protocol

from recurrence.bits import members
from recurrence.composites import Bounded
from recurrence.cron import FIRST_YEAR, MONTHS, NEVER, CronRule, Days, next_members
from recurrence.days import DateRule, EveryNDays
from recurrence.rules import CalendarRule, ZonedRule
from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, Every, Schedule
from recurrence.series import Series
from recurrence.times import Times
from recurrence.zones import DAY, EPOCH_DAY, Fold, Gap, offset_period_at, start_of_day

MAX_EMPTY_MONTHS = 13  # in a row: the search ends then
MAX_CACHED = 512  # pairs of days of a schedule and open days
FIRST_ANSWER = datetime(FIRST_YEAR, 3, 1, tzinfo=UTC)  # no day of an earlier year moves to a later one
ONE_DAY = timedelta(days=1)
MARGIN = 1  # days between a bound and the answers, because clocks can go back over midnight


class UnknownMonthError(Exception):
    """The days of a month are not known here, or there are too many empty months."""


class OpenDays(Protocol):
    """The days to which a rule moves fire times, see `recurrence.open_days.OpenDays`."""

    zone: tzinfo

    def __hash__(self) -> int: ...

    def open_bits(self, first: int, length: int) -> int: ...

    def target_of(self, day: int) -> int | None: ...

    def sources_of(self, day: int) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True)
class CronDays:
    """The days of a cron rule.  `shapes` are those of its months."""

    days: Days
    shapes: bytes

    def mask(self, number: int) -> int:
        """Return the days of the month with this number, as in `recurrence.cron`: bit n is day n."""
        return self.days.mask(self.shapes[number]) if 0 <= number < MONTHS else 0


@dataclass(frozen=True, slots=True)
class RuleDays:
    """The days of a date rule."""

    rule: DateRule

    def mask(self, number: int) -> int:
        first, length = _month(number)
        start, day = date.fromordinal(first), date.fromordinal(first)
        mask = 0
        while (found := self.rule.on_or_after(day)) is not None and (found - start).days < length:
            mask |= 2 << (found - start).days
            day = found + ONE_DAY
        return mask


@dataclass(frozen=True, slots=True)
class DaysAndTimes:
    """A schedule with all `times` on each of its `days`.  The fire times outside of [start, until] are missing."""

    days: CronDays | RuleDays
    times: Times
    gap: Gap = Gap.END
    fold: Fold = Fold.FIRST
    start: datetime = FIRST_INSTANT
    until: datetime = LAST_INSTANT


def days_and_times(schedule: Schedule, zone: tzinfo) -> DaysAndTimes | None:
    """Return the days and times of a schedule on the clocks of `zone`; None: its times are not the same each day."""
    match schedule:
        case Bounded(inner, start, until):
            found = days_and_times(inner, zone)
            earliest, latest = start or FIRST_INSTANT, until or LAST_INSTANT
            return found and replace(found, start=max(found.start, earliest), until=min(found.until, latest))
        case ZonedRule(CronRule() | CalendarRule() as rule, own_zone, gap, fold) if own_zone == zone:
            found = days_and_times(rule, UTC)
            return found and replace(found, gap=gap, fold=fold)
        case CronRule() if zone is UTC:
            return DaysAndTimes(CronDays(schedule.days, schedule.shapes), schedule.times)
        case CalendarRule(days, times, own_zone, gap, fold) if own_zone == zone:
            return DaysAndTimes(RuleDays(days), times, gap, fold)
        case Every(interval, start) if zone is UTC and not interval % ONE_DAY and not start.microsecond:
            times = Times(1 << start.hour, 1 << start.minute, 1 << start.second)
            return DaysAndTimes(RuleDays(EveryNDays(start.date(), interval.days)), times)
        case Series(days, second) if schedule.zone == zone:
            until = LAST_INSTANT if schedule.last is None else start_of_day(schedule.last.toordinal(), zone)
            times = Times(1 << second // 3600, 1 << second // 60 % 60, 1 << second % 60)
            return DaysAndTimes(RuleDays(days), times, schedule.gap, schedule.fold, until=until)
    return None


class MovedDays(Days):
    """The days to which the days of a schedule move: instead of a table for each shape, one for each month."""

    __slots__ = ("_unknown", "days", "fold", "gap", "open_days")

    def __init__(self, days: CronDays | RuleDays, open_days: OpenDays, gap: Gap, fold: Fold):
        super().__init__("", lambda weekday, length: 0)
        self.days = days
        self.open_days = open_days
        self.gap = gap
        self.fold = fold
        self.tables = [None] * MONTHS
        self._unknown: set[int] = set()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def table(self, number: int) -> bytes:
        """Return a table as `Days.table` does, for the month with this number.  Raises UnknownMonthError."""
        if number in self._unknown:
            raise UnknownMonthError
        first, length = _month(number)
        moves = list(self._moves(number, first, length))
        if self.open_days.zone is not UTC and self._needs_care(first, length, moves):
            self._unknown.add(number)
            raise UnknownMonthError
        mask = self.days.mask(number) & self.open_days.open_bits(first, length) << 1
        for _, target in moves:
            mask |= 2 << target - first
        table = self.tables[number] = next_members(mask, 33)
        return table

    def _moves(self, number: int, first: int, length: int) -> Iterator[tuple[int, int]]:
        """Yield each day that moves to a day of the month, with that day."""
        is_open = self.open_days.open_bits(first, length)
        if not is_open:
            return
        low, _ = self.open_days.sources_of(first + (is_open & -is_open).bit_length() - 1)
        _, high = self.open_days.sources_of(first + is_open.bit_length() - 1)
        for each in range(number - 2, number + 3):  # a day moves by 31 days at most
            begin, days = _month(each)
            if begin + days <= low or begin > high:
                continue
            for position in members(self.days.mask(each) >> 1 & ~self.open_days.open_bits(begin, days)):
                source = begin + position
                if low <= source <= high and (target := self.open_days.target_of(source)) is not None:
                    yield source, target

    def _needs_care(self, first: int, length: int, moves: list[tuple[int, int]]) -> bool:
        """Return True if a clock change treats a moved fire time in another way than one of the schedule itself.

        A moved fire time keeps its written wall time, fires when a gap ends, and fires once.  A clock change over
        midnight puts fire times on another day than the one that is written.
        """
        low = min([first, *map(min, moves)]) - 1
        high = max([first + length, *map(max, moves)]) + 1
        for day, is_gap in _clock_changes(self.open_days.zone, low, high):
            if day is None:
                return True
            if is_gap and self.gap is not Gap.END and any(day in move for move in moves):
                return True
            if not is_gap and self.fold is not Fold.FIRST and any(day == target for _, target in moves):
                return True
        return False


moved_days = lru_cache(maxsize=MAX_CACHED)(MovedDays)


class MovedRule(CronRule):
    """The times `times` on moved days, as wall times, from 1970 to 2099.  `after` can raise UnknownMonthError."""

    __slots__ = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shapes", range(MONTHS))  # each month has its own table

    def _last_month(self) -> int:
        return MONTHS - 1

    def _in_month_after(self, number: int) -> datetime | None:
        for later in range(number + 1, number + 1 + MAX_EMPTY_MONTHS):
            if later >= MONTHS:
                break
            day = (self.days.tables[later] or self.days.table(later))[1]
            if day != NEVER:
                year, month = divmod(later, 12)
                return datetime(FIRST_YEAR + year, month + 1, day, self._hour, self._minute, self._second, 0, UTC)
        raise UnknownMonthError


def moved_schedule(
    schedule: Schedule, open_days: OpenDays
) -> tuple[Callable[[datetime], datetime | None], datetime, datetime] | None:
    """Return `after` of the moved schedule, and the instants [start, end) in which its answers are right.

    None: the times of the schedule are not the same each day.
    """
    found = days_and_times(schedule, open_days.zone)
    if found is None:
        return None
    zone = open_days.zone
    rule = MovedRule(found.times, moved_days(found.days, open_days, found.gap, found.fold))
    moved = rule if zone is UTC else ZonedRule(rule, zone, found.gap, found.fold)
    start, end = max(found.start, FIRST_ANSWER), LAST_INSTANT
    if found.start > FIRST_ANSWER:
        day = found.start.astimezone(zone).toordinal() + MARGIN
        start = start_of_day(max(day, open_days.target_of(day) or day) + 1, zone)
    if found.until < LAST_INSTANT - 2 * ONE_DAY:
        day = found.until.astimezone(zone).toordinal() - MARGIN
        end = start_of_day(min(day, open_days.target_of(day) or day), zone)
    return moved.after, start, end


def _month(number: int) -> tuple[int, int]:
    """Return the ordinal of the first day of a month, and its number of days."""
    year, month = divmod(number, 12)
    first = date(FIRST_YEAR + year, month + 1, 1).toordinal()
    following = date(FIRST_YEAR + (number + 1) // 12, (number + 1) % 12 + 1, 1).toordinal()
    return first, following - first


def _clock_changes(zone: tzinfo, low: int, high: int) -> Iterator[tuple[int | None, bool]]:
    """Yield the days of the clock changes between two days, and whether clocks skip times.

    The day is None for a change that crosses midnight.
    """
    second, last = (low - EPOCH_DAY - 1) * DAY, (high - EPOCH_DAY + 2) * DAY
    while (period := offset_period_at(zone, second)).end < last:
        if period.after != period.offset:
            is_gap = period.after > period.offset
            first, beyond = period.end + min(period.offset, period.after), period.end + max(period.offset, period.after)
            day = first // DAY
            yield day + EPOCH_DAY if (beyond - (not is_gap)) // DAY == day else None, is_gap
        second = period.end
