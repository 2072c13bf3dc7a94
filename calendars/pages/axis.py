"""The axis of hours next to the columns of a week or a day, correct on days of a clock change.

The axis counts minutes of elapsed time. It contains every wall time that any of its days shows: an hour that one day
shows twice is on the axis twice. The parts of the axis that a day does not have are hatched: clocks skip them on that
day, or show them only once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from calendars.pages.window import ONE_DAY, midnight
from recurrence.zones import EPOCH, SECOND, instant_at, offset_period_at

MINUTE = timedelta(minutes=1)
HOUR = 60  # minutes
DAY = 24 * HOUR
# The longest repetition that the axis inserts. After a longer one (a change of the date line), hours are drawn on top
# of each other.
LONGEST = 3 * HOUR


@dataclass(frozen=True, slots=True)
class Piece:
    """The instants [start, end) during which the axis runs evenly, from `minute` on.

    `is_repeated` means that the same wall times come earlier on that day.
    """

    start: datetime
    end: datetime
    minute: int
    is_repeated: bool

    @property
    def end_minute(self) -> int:
        """The minute of the axis at which the piece ends."""
        return self.minute + (self.end - self.start) // MINUTE


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A clock change at an instant; `offset_before` and `offset_after` are the offsets from UTC."""

    instant: datetime
    offset_before: timedelta
    offset_after: timedelta

    @property
    def is_forward(self) -> bool:
        return self.offset_after > self.offset_before

    @property
    def wall_before(self) -> datetime:
        """The wall time of the change by the offset before it, without a zone."""
        return (self.instant + self.offset_before).replace(tzinfo=None)

    @property
    def wall_after(self) -> datetime:
        """The wall time of the change by the offset after it, without a zone."""
        return (self.instant + self.offset_after).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Column:
    """One day on the axis."""

    day: date
    start: datetime
    end: datetime
    changes: tuple[ClockChange, ...]
    pieces: tuple[Piece, ...]
    missing_ranges: tuple[tuple[int, int], ...]  # ranges of minutes that the day does not have

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    def start_minute(self, instant: datetime) -> int:
        """Return the minute of the axis for something that starts at `instant`."""
        return self._minute(instant, bisect_right(self.pieces, instant, key=lambda piece: piece.start) - 1)

    def end_minute(self, instant: datetime) -> int:
        """Return the minute of the axis for something that ends at `instant`."""
        return self._minute(instant, bisect_left(self.pieces, instant, key=lambda piece: piece.start) - 1)

    def _minute(self, instant: datetime, number: int) -> int:
        if not self.pieces:
            return 0
        piece = self.pieces[max(number, 0)]
        return piece.minute + (min(max(instant, piece.start), piece.end) - piece.start) // MINUTE


@dataclass(frozen=True, slots=True)
class Axis:
    length: int  # minutes
    columns: tuple[Column, ...]
    insertions: tuple[tuple[int, int], ...]  # minute of the day, and the number of minutes repeated there
    zone: tzinfo

    @property
    def is_even(self) -> bool:
        """True if every hour lies at a multiple of 60 minutes from the start of the axis."""
        return all(length % HOUR == 0 and wall % HOUR == 0 for wall, length in self.insertions)

    def hours(self) -> Iterator[tuple[int, int, bool]]:
        """Yield the labels: minute of the axis, minute of the day, and whether the wall time is repeated."""
        for wall in range(0, DAY, HOUR):
            yield _start_minute(wall, self.insertions), wall, False
        for wall, length in self.insertions:
            first = _end_minute(wall, self.insertions)
            yield first, (wall - length) % DAY, True
            for minute in range(first + 1, first + length):
                wall_minute = wall - length + minute - first
                if wall_minute % HOUR == 0:
                    yield minute, wall_minute % DAY, True

    def hours_in_zone(self, zone: tzinfo, column: Column) -> Iterator[tuple[int, datetime]]:
        """Yield the full hours of another zone on that day: the minute of the axis, and the time in that zone."""
        for piece in column.pieces:
            instant = piece.start
            while instant < piece.end:
                wall_time = instant.astimezone(zone)
                excess = wall_time.minute * MINUTE + wall_time.second * SECOND
                if excess:
                    instant += HOUR * MINUTE - excess
                    continue
                yield piece.minute + (instant - piece.start) // MINUTE, wall_time
                instant += HOUR * MINUTE


def axis_of(days: Iterable[date], zone: tzinfo) -> Axis:
    spans = [(day, midnight(day, zone), midnight(day + ONE_DAY, zone)) for day in days]
    changes = [tuple(changes_in(zone, start, end)) for _, start, end in spans]
    inserted: dict[int, int] = {}
    for (day, _, _), found in zip(spans, changes, strict=True):
        for change in found:
            repeated = (change.offset_before - change.offset_after) // MINUTE
            if 0 < repeated <= LONGEST:
                wall = _minute_of(change.wall_before, day)
                inserted[wall] = max(repeated, inserted.get(wall, 0))
    insertions = tuple(sorted(inserted.items()))
    length = DAY + sum(inserted.values())
    columns = []
    for (day, start, end), found in zip(spans, changes, strict=True):
        pieces = tuple(_pieces(day, start, end, zone, found, insertions))
        columns.append(Column(day, start, end, found, pieces, tuple(_gaps(pieces, length))))
    return Axis(length, tuple(columns), insertions, zone)


def changes_in(zone: tzinfo, start: datetime, end: datetime) -> Iterator[ClockChange]:
    """Yield the clock changes in [start, end), earliest first."""
    second, last = (start - EPOCH) // SECOND - 1, (end - EPOCH) // SECOND
    while (period := offset_period_at(zone, second)).end < last:
        at = instant_at(period.end)
        if at is not None and period.after != period.offset:
            yield ClockChange(at, timedelta(seconds=period.offset), timedelta(seconds=period.after))
        second = period.end


def _pieces(
    day: date,
    start: datetime,
    end: datetime,
    zone: tzinfo,
    changes: tuple[ClockChange, ...],
    insertions: tuple[tuple[int, int], ...],
) -> Iterator[Piece]:
    """Yield the pieces of a day, divided at its clock changes and at the insertions of the axis."""
    change_instants = [change.instant for change in changes if start < change.instant < end]
    shown_until = 0  # the latest minute of the day that clocks have shown
    for first, until in zip([start, *change_instants], [*change_instants, end], strict=True):
        wall = _minute_of(first.astimezone(zone).replace(tzinfo=None), day)
        repeated = shown_until - wall
        if 0 < repeated <= LONGEST and first != start:
            middle = min(first + repeated * MINUTE, until)
            yield Piece(first, middle, _end_minute(shown_until, insertions), True)
            first, wall = middle, shown_until
        shown_until = max(shown_until, wall + (until - first) // MINUTE)
        for stop in [at for at, _ in insertions if wall < at < wall + (until - first) // MINUTE]:
            yield Piece(first, first + (stop - wall) * MINUTE, _start_minute(wall, insertions), False)
            first, wall = first + (stop - wall) * MINUTE, stop
        if first < until:
            yield Piece(first, until, _start_minute(wall, insertions), False)


def _gaps(pieces: tuple[Piece, ...], length: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the axis that no piece covers."""
    covered = 0
    for piece in sorted(pieces, key=lambda piece: piece.minute):
        if piece.minute > covered:
            yield covered, piece.minute
        covered = max(covered, piece.end_minute)
    if covered < length:
        yield covered, length


def _start_minute(wall: int, insertions: tuple[tuple[int, int], ...]) -> int:
    """Return the minute of the axis for something that starts at the wall time `wall`, in minutes of the day."""
    return wall + sum(length for at, length in insertions if at <= wall)


def _end_minute(wall: int, insertions: tuple[tuple[int, int], ...]) -> int:
    """Return the minute of the axis for something that ends at the wall time `wall`, in minutes of the day."""
    return wall + sum(length for at, length in insertions if at < wall)


def _minute_of(wall_time: datetime, day: date) -> int:
    """Return the minutes from the start of `day` to a wall time, which may be on a neighbouring day."""
    return (wall_time.toordinal() - day.toordinal()) * DAY + wall_time.hour * HOUR + wall_time.minute
