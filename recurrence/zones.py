"""Convert wall times and instants, and find the hours that a zone skips or repeats.

Within a period in which a zone keeps one offset, a wall time is an instant plus the offset.  Between two periods clocks
jump forward (a gap: wall times that never show) or back (a fold: wall times that show twice).
Instants are whole seconds since 1970-01-01 in UTC.  Wall times are whole seconds since 1970-01-01 as clocks show them.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta, tzinfo
from enum import Enum
from functools import lru_cache
from itertools import pairwise

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = date(1970, 1, 1).toordinal()
DAY = 86_400  # seconds
FIRST_SECOND = (1 - EPOCH_DAY) * DAY  # of the calendar
ENDLESS = 10**12  # seconds: beyond the last year of a date
SECOND = timedelta(seconds=1)
NOTHING = timedelta(0)
LINE_CROSSINGS = (1800, 2100)  # [start, end) of the years that are searched for crossings of the date line
LONGEST_DST = 4 * 3600  # seconds

StableRange = tuple[datetime, datetime, timedelta]  # start (included), end (not included), the offset from UTC


class Gap(Enum):
    """What happens with a wall time that clocks skip."""

    SKIP = "skip"  # it does not happen
    END = "end"  # it happens when the gap ends; several happen once
    SHIFT = "shift"  # it moves forward: as far after the gap's beginning as it lies within the gap


class Fold(Enum):
    """What happens with a wall time that clocks show twice: the first, the second or both count."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class OffsetPeriod:
    """The instants in [start, end), in which the zone keeps `offset`; `before` and `after` are the neighbours' offsets.

    All are seconds.
    """

    start: int
    end: int
    offset: int
    before: int
    after: int


def day_and_second(instant: datetime) -> tuple[date, int]:
    """Return the day of an instant in UTC and its second of that day, rounded up: 86400 after the last whole one."""
    second = instant.hour * 3600 + instant.minute * 60 + instant.second
    return instant.date(), second + (instant.microsecond > 0)


def instant_at(second: int) -> datetime | None:
    """Return the instant `second` seconds after the beginning of 1970; None outside the years of a datetime."""
    try:
        return EPOCH + timedelta(seconds=second)
    except OverflowError:
        return None


def instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """Return the instant at which clocks in `zone` show `wall`, in UTC.

    A wall time that clocks skip is taken with the offset before the gap.  Of one that they show twice the first counts
    (RFC 5545, 3.3.5).  Raises OverflowError at both ends of the calendar.
    """
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def earliest_instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """Return the first instant at which clocks in `zone` show `wall` or, if they skip it, the end of the gap, in UTC.

    Raises OverflowError at both ends of the calendar.
    """
    first, second = instant_of(wall, zone), _second_instant_of(wall, zone)
    return first if first <= second else _instant(offset_period_at(zone, (first - EPOCH) // SECOND).start)


def latest_instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """Return the last instant at which clocks in `zone` show `wall`, in UTC.

    A wall time that clocks skip is taken with the offset before the gap.  Raises OverflowError at both ends of the
    calendar.
    """
    return max(instant_of(wall, zone), _second_instant_of(wall, zone))


@lru_cache(maxsize=4096)
def start_of_day(day: int, zone: tzinfo) -> datetime:
    """Return the first instant of the day with this ordinal; for a day after the last one the last instant."""
    if day > date.max.toordinal():
        return datetime.max.replace(tzinfo=UTC)
    midnight = datetime.combine(date.fromordinal(max(day, 1)), time())
    try:
        return instant_of(midnight, zone)
    except OverflowError:  # the first day begins before the first instant
        return midnight.replace(tzinfo=UTC)


def parts_of_day(day: int, zone: tzinfo) -> Iterator[tuple[datetime, datetime, timedelta]]:
    """Yield the parts [start, end) of the day with this ordinal in which `zone` keeps one offset, and the offset."""
    low = (day - EPOCH_DAY) * DAY
    second = max(low - DAY, FIRST_SECOND)
    while second < low + 2 * DAY:
        period = offset_period_at(zone, second)
        start, end = max(period.start, low - period.offset), min(period.end, low + DAY - period.offset)
        if start < end:
            beyond = instant_at(end) or datetime.max.replace(tzinfo=UTC)
            yield _instant(max(start, FIRST_SECOND)), beyond, timedelta(seconds=period.offset)
        second = period.end


def to_zone(instant: datetime, zone: tzinfo) -> datetime:
    """Return the instant on the clocks of `zone`; in UTC where these leave the years of a datetime."""
    try:
        return instant.astimezone(zone)
    except OverflowError:
        return instant.astimezone(UTC)


def offset_period_at(zone: tzinfo, instant: int) -> OffsetPeriod:
    """Return the period that holds `instant`; a long one may be cut short, at least a year away from `instant`."""
    day = date.fromordinal(min(instant // DAY + EPOCH_DAY, date.max.toordinal()))
    starts, periods = _periods_around(zone, day.year)
    return periods[bisect_right(starts, instant) - 1]


@lru_cache(maxsize=4096)
def stable_range_at(zone: tzinfo, year: int) -> tuple[StableRange, ...]:
    """Return the stable ranges in and near `year`: times without a gap or a fold, each with its offset.

    At each instant in a range [start, end) clocks show a wall time that they show at no other instant.
    """
    # a day away from the ends of the examined years: a change on the next day might repeat the wall times of this day
    first, last = _first_second(max(year - 1, MINYEAR + 1)) + DAY, _first_second(min(year + 2, MAXYEAR)) - DAY
    parts = []
    for period in _periods_around(zone, year)[1]:
        low = max(period.start + abs(period.offset - period.before), first)
        high = min(period.end - abs(period.offset - period.after), last)
        if low < high and high > _first_second(year):
            parts.append((_instant(low), _instant(high), timedelta(seconds=period.offset)))
    return tuple(parts)


def repeated_by(zone: tzinfo, instant: datetime) -> timedelta:
    """Return how long after `instant` clocks show its wall time a second time; zero if they do not."""
    for low, high, _ in stable_range_at(zone, instant.year):
        if low <= instant < high:
            return NOTHING
    second = (instant - EPOCH) // SECOND
    period = offset_period_at(zone, second)
    back = max(period.offset - period.after, 0)
    return timedelta(seconds=back if second >= period.end - back else 0)


def instants_at(zone: tzinfo, instant: datetime) -> int:
    """Return 1 or 2 if clocks show the wall time of `instant` twice and this is the first or second time; else 0."""
    if repeated_by(zone, instant):
        return 1
    second = (instant - EPOCH) // SECOND
    period = offset_period_at(zone, second)
    return 2 if second < period.start + period.before - period.offset else 0


@lru_cache(maxsize=1024)
def missing_days(zone: tzinfo) -> frozenset[int]:
    """Return the ordinals of the days that `zone` skipped when it crossed the date line; most zones have none.

    A year with such a day has very different offsets at its ends: no zone has crossed the line twice within a year.
    """
    offsets = [_offset(zone, _first_second(year)) for year in range(*LINE_CROSSINGS)]
    jumps = [LINE_CROSSINGS[0] + n for n, (old, new) in enumerate(pairwise(offsets)) if new - old > DAY - LONGEST_DST]
    gaps = [(each.end + each.offset, each.end + each.after) for y in jumps for each in _periods_around(zone, y)[1]]
    return frozenset(day + EPOCH_DAY for first, beyond in gaps for day in range(-(-first // DAY), beyond // DAY))


@dataclass(frozen=True, slots=True)
class Skipped:
    """The wall times in [first, beyond), which clocks skip when they are put forward at the instant `at`."""

    at: datetime
    first: int
    beyond: int


def skipped(zone: tzinfo, since: datetime, until: datetime) -> Iterator[Skipped]:
    """Yield the gaps between `since` (not included) and `until` (included), earliest first."""
    second, last = (since - EPOCH) // SECOND, (until - EPOCH) // SECOND
    while (period := offset_period_at(zone, second)).end <= last:
        if period.after > period.offset:
            yield Skipped(_instant(period.end), period.end + period.offset, period.end + period.after)
        second = period.end


def clock_shift(zone: tzinfo, start: datetime, end: datetime) -> timedelta:
    """Return by how much clocks in `zone` are moved between two instants, both included.

    Moves forward and back add up.
    """
    if zone is UTC:
        return NOTHING
    total, second, last = 0, (start - EPOCH) // SECOND - 1, (end - EPOCH) // SECOND
    while (period := offset_period_at(zone, second)).end <= last:
        total += abs(period.after - period.offset)
        second = period.end
    return timedelta(seconds=total)


def _second_instant_of(wall: datetime, zone: tzinfo) -> datetime:
    return wall.replace(tzinfo=zone, fold=1).astimezone(UTC)


def _instant(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


@lru_cache(maxsize=1024)
def _periods_around(zone: tzinfo, year: int) -> tuple[tuple[int, ...], tuple[OffsetPeriod, ...]]:
    """Return the starts of the periods in `year` and the years next to it, and the periods."""
    first, last = max(year - 1, MINYEAR + 1), min(year + 1, MAXYEAR - 1)
    changes = [change for each in range(first, last + 1) for change in _changes(zone, each)]
    offsets = [_offset(zone, instant) for instant in (_first_second(first), *changes)]

    starts = (-ENDLESS, *changes)
    ends = (*changes, ENDLESS if last == MAXYEAR - 1 else _first_second(last + 1))
    previous_offsets = (offsets[0], *offsets[:-1])
    afters = (*offsets[1:], offsets[-1])
    return starts, tuple(map(OffsetPeriod, starts, ends, offsets, previous_offsets, afters))


@lru_cache(maxsize=4096)
def _changes(zone: tzinfo, year: int) -> tuple[int, ...]:
    """Return the instants at which `zone` changes its offset in `year`, a UTC year.

    The offset is read at every midnight.  Two changes within one day that cancel each other would be missed; no zone
    has such changes.
    """
    midnights = range(_first_second(year), _first_second(year + 1) + 1, DAY)
    offsets = [_offset(zone, midnight) for midnight in midnights]
    return tuple(
        _first_instant_of(zone, offset, midnight - DAY, midnight)
        for midnight, offset, previous in zip(midnights[1:], offsets[1:], offsets, strict=False)
        if offset != previous
    )


def _first_instant_of(zone: tzinfo, offset: int, low: int, high: int) -> int:
    """Return the first instant in (low, high] with `offset`, found by bisection."""
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == offset:
            high = middle
        else:
            low = middle
    return high


def _offset(zone: tzinfo, instant: int) -> int:
    local = (EPOCH + timedelta(seconds=instant)).astimezone(zone)
    return (local.replace(tzinfo=UTC) - EPOCH) // SECOND - instant


def _first_second(year: int) -> int:
    return (date(year, 1, 1).toordinal() - EPOCH_DAY) * DAY
