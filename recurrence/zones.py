"""Wall clocks and instants: the only place that knows of skipped and repeated hours.

Within a stretch of time in which a zone keeps one offset, clocks run evenly and everything is addition.  Between two
stretches clocks jump forward (a gap: readings that never show) or back (a fold: readings that show twice).
Instants and readings are whole seconds since 1970-01-01, counted in UTC and as clocks show them.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo
from enum import Enum
from functools import lru_cache
from itertools import pairwise

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = date(1970, 1, 1).toordinal()
DAY = 86_400  # seconds
ENDLESS = 10**12  # seconds: beyond every year that a date can name
SECOND = timedelta(seconds=1)
NOTHING = timedelta(0)
LINE_CROSSINGS = (1800, 2100)  # years in which places have crossed the date line, with room
LONGEST_DST = 4 * 3600  # seconds

Calm = tuple[datetime, datetime, timedelta]  # from the first instant up to the second, with one offset from UTC


class Gap(Enum):
    """What becomes of a reading that clocks skip."""

    SKIP = "skip"  # it does not happen
    END = "end"  # it happens when the gap ends; several happen once
    SHIFT = "shift"  # it happens as long after the gap's beginning as it stands within the gap


class Fold(Enum):
    """What becomes of a reading that clocks show twice."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Stretch:
    """The instants in [start, end), through which the zone keeps `offset`; `before` and `after` are its neighbours'."""

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
    """Return the instant that is `second` after 1970 began, or None outside the years that a datetime can name."""
    try:
        return EPOCH + timedelta(seconds=second)
    except OverflowError:
        return None


def instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """Return the instant at which clocks in `zone` show `wall`, in UTC; years at the very ends raise OverflowError.

    A reading that they skip is taken with the offset in force before the gap, of one that they show twice the first
    (RFC 5545, 3.3.5).
    """
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def stretch_at(zone: tzinfo, instant: int) -> Stretch:
    """Return the stretch that holds `instant`; a long one may be cut short, at least a year away from it."""
    day = date.fromordinal(min(instant // DAY + EPOCH_DAY, date.max.toordinal()))
    starts, stretches = _stretches_around(zone, day.year)
    return stretches[bisect_right(starts, instant) - 1]


@lru_cache(maxsize=4096)
def calm(zone: tzinfo, year: int) -> tuple[Calm, ...]:
    """The parts of `year` and of what is near in which clocks in `zone` run undisturbed, each with its offset.

    Between two instants of [first, second) every reading shows once, and no other time shows the same.
    """
    # a day within the years that are known, lest a change on the day after them repeats what seems to be calm
    first, last = _first_second(max(year - 1, MINYEAR + 1)) + DAY, _first_second(min(year + 2, MAXYEAR)) - DAY
    parts = []
    for stretch in _stretches_around(zone, year)[1]:
        low = max(stretch.start + abs(stretch.offset - stretch.before), first)
        high = min(stretch.end - abs(stretch.offset - stretch.after), last)
        if low < high and high > _first_second(year):
            parts.append((_instant(low), _instant(high), timedelta(seconds=stretch.offset)))
    return tuple(parts)


def repeated_by(zone: tzinfo, instant: datetime) -> timedelta:
    """How long after `instant` clocks show its reading once more; nothing unless they do."""
    for low, high, _ in calm(zone, instant.year):
        if low <= instant < high:
            return NOTHING
    second = (instant - EPOCH) // SECOND
    stretch = stretch_at(zone, second)
    back = max(stretch.offset - stretch.after, 0)
    return timedelta(seconds=back if second >= stretch.end - back else 0)


def showing(zone: tzinfo, instant: datetime) -> int:
    """1 or 2 when clocks show the reading of `instant` twice, and this is the first or the second time; else 0."""
    if repeated_by(zone, instant):
        return 1
    second = (instant - EPOCH) // SECOND
    stretch = stretch_at(zone, second)
    return 2 if second < stretch.start + stretch.before - stretch.offset else 0


@lru_cache(maxsize=1024)
def missing_days(zone: tzinfo) -> frozenset[int]:
    """The ordinals of the days that never were in `zone`, because it crossed the date line: few, and mostly none.

    A year with one is known by the offsets at its ends, as no zone has crossed the line there and back within one.
    """
    offsets = [_offset(zone, _first_second(year)) for year in range(*LINE_CROSSINGS)]
    jumps = [LINE_CROSSINGS[0] + n for n, (old, new) in enumerate(pairwise(offsets)) if new - old > DAY - LONGEST_DST]
    gaps = [(each.end + each.offset, each.end + each.after) for y in jumps for each in _stretches_around(zone, y)[1]]
    return frozenset(day + EPOCH_DAY for first, beyond in gaps for day in range(-(-first // DAY), beyond // DAY))


@dataclass(frozen=True, slots=True)
class Skipped:
    """The readings in [first, beyond), which clocks skip when they are put forward at the instant `at`."""

    at: datetime
    first: int
    beyond: int


def skipped(zone: tzinfo, since: datetime, until: datetime) -> Iterator[Skipped]:
    """What clocks skip between `since` (not included) and `until` (included), earliest first."""
    second, last = (since - EPOCH) // SECOND, (until - EPOCH) // SECOND
    while (stretch := stretch_at(zone, second)).end <= last:
        if stretch.after > stretch.offset:
            yield Skipped(_instant(stretch.end), stretch.end + stretch.offset, stretch.end + stretch.after)
        second = stretch.end


def _instant(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


@lru_cache(maxsize=1024)
def _stretches_around(zone: tzinfo, year: int) -> tuple[tuple[int, ...], tuple[Stretch, ...]]:
    """The stretches that touch `year` or one of its neighbours, and where each starts."""
    first, last = max(year - 1, MINYEAR + 1), min(year + 1, MAXYEAR - 1)
    changes = [change for each in range(first, last + 1) for change in _changes(zone, each)]
    offsets = [_offset(zone, instant) for instant in (_first_second(first), *changes)]

    starts = (-ENDLESS, *changes)
    ends = (*changes, ENDLESS if last == MAXYEAR - 1 else _first_second(last + 1))
    befores = (offsets[0], *offsets[:-1])
    afters = (*offsets[1:], offsets[-1])
    return starts, tuple(map(Stretch, starts, ends, offsets, befores, afters))


@lru_cache(maxsize=4096)
def _changes(zone: tzinfo, year: int) -> tuple[int, ...]:
    """The first instants of the new offsets that `zone` takes on in `year`, a UTC year.

    Read off at every midnight; two changes within one day that undo each other would be missed, and no zone has any.
    """
    midnights = range(_first_second(year), _first_second(year + 1) + 1, DAY)
    offsets = [_offset(zone, midnight) for midnight in midnights]
    return tuple(
        _first_instant_of(zone, offset, midnight - DAY, midnight)
        for midnight, offset, previous in zip(midnights[1:], offsets[1:], offsets, strict=False)
        if offset != previous
    )


def _first_instant_of(zone: tzinfo, offset: int, low: int, high: int) -> int:
    """Halve (low, high] until the instant at which `offset` comes into force is left."""
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
