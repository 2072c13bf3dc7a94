"""The hours that stand beside a week's or a day's columns, true on days of a clock change.

The axis counts minutes of elapsed time.  It holds every reading that any of the days shows: an hour that one of them
shows twice is there twice.  What a day does not have of it, because clocks skip it there or show it once,
is hatched.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from calendars.pages.window import ONE_DAY, midnight
from recurrence.zones import EPOCH, SECOND, instant_at, stretch_at

MINUTE = timedelta(minutes=1)
HOUR = 60  # minutes
DAY = 24 * HOUR
LONGEST = 3 * HOUR  # that is shown twice; where a place crossed the date line, what came again lies over the first


@dataclass(frozen=True, slots=True)
class Piece:
    """The instants [start, end) through which the axis runs evenly; `again`: their readings were there before."""

    start: datetime
    end: datetime
    minute: int
    again: bool

    @property
    def beyond(self) -> int:
        return self.minute + (self.end - self.start) // MINUTE


@dataclass(frozen=True, slots=True)
class Change:
    """Clocks put from one reading to another, at an instant; the offsets from UTC before and after."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def is_forward(self) -> bool:
        return self.after > self.before

    @property
    def shown(self) -> datetime:
        """The reading at which it happens, without a zone."""
        return (self.at + self.before).replace(tzinfo=None)

    @property
    def becomes(self) -> datetime:
        return (self.at + self.after).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Column:
    """A day on the axis."""

    day: date
    start: datetime
    end: datetime
    changes: tuple[Change, ...]
    pieces: tuple[Piece, ...]
    hatched: tuple[tuple[int, int], ...]  # minutes of the axis that the day does not have

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    def at(self, instant: datetime) -> int:
        """The minute at which something that starts then lies."""
        return self._minute(instant, bisect_right(self.pieces, instant, key=lambda piece: piece.start) - 1)

    def until(self, instant: datetime) -> int:
        """The minute up to which something that ends then lies."""
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
    inserted: tuple[tuple[int, int], ...]  # at which minute of a day's readings, how many come again
    zone: tzinfo

    @property
    def is_even(self) -> bool:
        """Whether every hour of it lies on a whole hour from its top."""
        return all(length % HOUR == 0 and wall % HOUR == 0 for wall, length in self.inserted)

    def hours(self) -> Iterator[tuple[int, int, bool]]:
        """The minute of each label, the minute of the day that clocks show there, and whether they show it again."""
        for wall in range(0, DAY, HOUR):
            yield _lies(wall, self.inserted), wall, False
        for wall, length in self.inserted:
            first = _ends(wall, self.inserted)
            yield first, (wall - length) % DAY, True
            for minute in range(first + 1, first + length):
                reading = wall - length + minute - first
                if reading % HOUR == 0:
                    yield minute, reading % DAY, True

    def hours_of(self, zone: tzinfo, column: Column) -> Iterator[tuple[int, datetime]]:
        """On that day, the minutes at which clocks in another zone show a full hour, and what they show."""
        for piece in column.pieces:
            instant = piece.start
            while instant < piece.end:
                reading = instant.astimezone(zone)
                past = reading.minute * MINUTE + reading.second * SECOND
                if past:
                    instant += HOUR * MINUTE - past
                    continue
                yield piece.minute + (instant - piece.start) // MINUTE, reading
                instant += HOUR * MINUTE


def axis_of(days: Iterable[date], zone: tzinfo) -> Axis:
    spans = [(day, midnight(day, zone), midnight(day + ONE_DAY, zone)) for day in days]
    changes = [tuple(changes_in(zone, start, end)) for _, start, end in spans]
    inserted: dict[int, int] = {}
    for (day, _, _), found in zip(spans, changes, strict=True):
        for change in found:
            back = (change.before - change.after) // MINUTE
            if 0 < back <= LONGEST:
                wall = _minute_of(change.shown, day)
                inserted[wall] = max(back, inserted.get(wall, 0))
    insertions = tuple(sorted(inserted.items()))
    length = DAY + sum(inserted.values())
    columns = []
    for (day, start, end), found in zip(spans, changes, strict=True):
        pieces = tuple(_pieces(day, start, end, zone, found, insertions))
        columns.append(Column(day, start, end, found, pieces, tuple(_gaps(pieces, length))))
    return Axis(length, tuple(columns), insertions, zone)


def changes_in(zone: tzinfo, start: datetime, end: datetime) -> Iterator[Change]:
    """What becomes of clocks in [start, end)."""
    second, last = (start - EPOCH) // SECOND - 1, (end - EPOCH) // SECOND
    while (stretch := stretch_at(zone, second)).end < last:
        at = instant_at(stretch.end)
        if at is not None and stretch.after != stretch.offset:
            yield Change(at, timedelta(seconds=stretch.offset), timedelta(seconds=stretch.after))
        second = stretch.end


def _pieces(
    day: date,
    start: datetime,
    end: datetime,
    zone: tzinfo,
    changes: tuple[Change, ...],
    inserted: tuple[tuple[int, int], ...],
) -> Iterator[Piece]:
    turns = [change.at for change in changes if start < change.at < end]
    shown_up_to = 0  # minute of the day's readings
    for first, beyond in zip([start, *turns], [*turns, end], strict=True):
        wall = _minute_of(first.astimezone(zone).replace(tzinfo=None), day)
        back = shown_up_to - wall
        if 0 < back <= LONGEST and first != start:
            middle = min(first + back * MINUTE, beyond)
            yield Piece(first, middle, _ends(shown_up_to, inserted), True)
            first, wall = middle, shown_up_to
        shown_up_to = max(shown_up_to, wall + (beyond - first) // MINUTE)
        for stop in [at for at, _ in inserted if wall < at < wall + (beyond - first) // MINUTE]:
            yield Piece(first, first + (stop - wall) * MINUTE, _lies(wall, inserted), False)
            first, wall = first + (stop - wall) * MINUTE, stop
        if first < beyond:
            yield Piece(first, beyond, _lies(wall, inserted), False)


def _gaps(pieces: tuple[Piece, ...], length: int) -> Iterator[tuple[int, int]]:
    covered = 0
    for piece in sorted(pieces, key=lambda piece: piece.minute):
        if piece.minute > covered:
            yield covered, piece.minute
        covered = max(covered, piece.beyond)
    if covered < length:
        yield covered, length


def _lies(wall: int, inserted: tuple[tuple[int, int], ...]) -> int:
    """The minute of the axis at which a reading lies, as the start of something."""
    return wall + sum(length for at, length in inserted if at <= wall)


def _ends(wall: int, inserted: tuple[tuple[int, int], ...]) -> int:
    """The minute of the axis at which a reading lies, as the end of something."""
    return wall + sum(length for at, length in inserted if at < wall)


def _minute_of(reading: datetime, day: date) -> int:
    """Minutes from the beginning of `day` to a reading without a zone, which may be of a neighbouring day."""
    return (reading.toordinal() - day.toordinal()) * DAY + reading.hour * HOUR + reading.minute
