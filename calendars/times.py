"""When an event is: what a caller writes is held against the rules and against what was there before.  No database.

The rules are those of Graph's pages on event, dateTimeTimeZone and recurrenceRange; where they are silent:

* An event is kept on the clocks of one zone: its start's, or of a series the recurrence's.  What is written in another
  zone is converted into that one; both names are kept as they were written.
* An all-day event is dates: it goes from midnight to midnight, and no conversion moves it.
* A start that is sent without a recurrence takes the series along, with the pattern and the zone that it has.
* A recurrence that is sent without a start begins on its `startDate`, at the time of day that the event has.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, cast

from calendars.errors import CalendarError
from calendars.models import YEARS, Event
from recurrence.series import Series
from recurrence.wire import WireError, graph
from recurrence.wire.reading import shown
from recurrence.wire.zone_names import windows_name, zone_of
from recurrence.zones import instant_of, missing_days

LONGEST = timedelta(days=1825)  # of a single event: five years, as in Exchange; one of a series: graph.LONGEST
ONE_DAY = timedelta(days=1)
MIDNIGHT = time()


@dataclass(frozen=True, slots=True)
class WallTime:
    """What clocks show, and the name of their zone as it was written: IANA's, or the one that Windows gives."""

    wall: datetime
    zone_name: str


@dataclass(frozen=True, slots=True)
class Times:
    """When an event is: `start` and `end` are what clocks in `zone` show, of a series at its first occurrence."""

    start: datetime
    end: datetime
    zone: tzinfo
    start_zone_name: str
    end_zone_name: str
    is_all_day: bool = False
    recurrence: dict[str, Any] | None = None  # Graph's document, as the engine writes it
    series: Series | None = None

    @classmethod
    def of(cls, event: Event) -> "Times":
        return cls(
            event.start,
            event.end,
            event.tzinfo,
            event.start_zone_name,
            event.end_zone_name,
            event.is_all_day,
            event.recurrence,
            event.series if event.is_series else None,
        )

    def give(self, event: Event) -> None:
        event.start, event.end, event.zone = self.start, self.end, str(self.zone)
        event.start_zone_name, event.end_zone_name = self.start_zone_name, self.end_zone_name
        event.is_all_day, event.recurrence = self.is_all_day, self.recurrence

    @property
    def instants(self) -> tuple[datetime, datetime]:
        begins, ends = (instant_of(each, self.zone) for each in (self.start, self.end))
        return begins, max(begins, ends)

    def gives_the_same(self, other: "Times") -> bool:
        """Whether both are series with the same occurrences: the same days, and from the same to the same time.

        A zone under another name is the same one.
        """
        if self.series is None or other.series is None or self.is_all_day != other.is_all_day:
            return False
        ours, theirs = ((each.days, each.start, each.length, each.last) for each in (self.series, other.series))
        return ours == theirs and are_alike(self.zone, other.zone)

    def split(self, day: date) -> tuple["Times", "Times"]:
        """A series up to the day before `day`, which is one of its days but not the first, and from `day` on."""
        recurrence, series = cast(dict, self.recurrence), cast(Series, self.series)
        limits = recurrence["range"]
        first = datetime.combine(day, self.start.time())
        rest = replace(self, start=first, end=first + (self.end - self.start))
        if limits["type"] == "numbered":
            before = count_before(series, day)
            ends: dict[str, object] = {"numberOfOccurrences": before}
            begins = {"numberOfOccurrences": limits["numberOfOccurrences"] - before}
        else:
            ends, begins = {"type": "endDate", "endDate": (day - ONE_DAY).isoformat()}, {}
        return (
            compiled(self, {**recurrence, "range": {**limits, **ends}}),
            compiled(rest, {**recurrence, "range": {**limits, **begins, "startDate": day.isoformat()}}),
        )


def merged(old: Times | None, changes: Mapping[str, Any], zone: tzinfo | None = None) -> Times:
    """When an event is after `changes` (`start`, `end`, `is_all_day`, `recurrence`); without `old` it is a new one.

    It is kept in `zone`, if one is given.  Raises CalendarError.
    """
    with refusing():
        times, recurrence = _written(old, changes, zone), changes.get("recurrence")
        if "recurrence" not in changes and old is not None and old.recurrence is not None:
            limits = {**old.recurrence["range"], "startDate": times.start.date().isoformat()}
            recurrence = {**old.recurrence, "range": limits}
        elif "start" not in changes and (day := _start_date(recurrence)):
            times = _on(day, times, changes)
        _require_order(times)
        return times if recurrence is None else compiled(times, recurrence)


def compiled(times: Times, recurrence: object) -> Times:
    """`times` as a series, with its first occurrence where the engine finds it.  Raises WireError."""
    written = times.start_zone_name if zone_of(times.start_zone_name, "start.timeZone") == times.zone else ""
    found = graph.read(recurrence, times.start, times.end, times.zone, zone_name=written)
    last = found.series.last
    if last is not None and last.year not in YEARS and _range_of(found.document)["type"] == "endDate":
        raise WireError("recurrence.range.endDate", "out_of_range", f"must not be after the year {YEARS[-1]}")
    if found.end.year not in YEARS:
        raise WireError("recurrence", "never_fires", f"must make an occurrence before the end of {YEARS[-1]}")
    return replace(
        times, start=found.start, end=found.end, zone=found.zone, recurrence=found.document, series=found.series
    )


def resumed(recurrence: object, stored: Any, rest: Any, day: date) -> object:
    """What `recurrence` says of the `rest` of a series, which begins on `day`, if it was written for the whole of it.

    A range that repeats the `stored` one means the rest of that; a `startDate` alone means the day.
    """
    limits = _range_of(recurrence)
    if limits == stored["range"]:
        limits = rest["range"]
    elif limits.get("startDate") != stored["range"]["startDate"]:
        return recurrence
    return {**cast(Mapping, recurrence), "range": {**limits, "startDate": day.isoformat()}}


def count_before(series: Series, day: date) -> int:
    """How many occurrences of a series lie before `day`."""
    never_were = (date.fromordinal(each) for each in missing_days(series.zone))
    missing = sum(each < day and series.days.on_or_after(each) == each for each in never_were)
    return series.days.count_before(day) - missing


def are_alike(zone: tzinfo, other: tzinfo) -> bool:
    """Whether clients that know the names of Windows alone could mean one by the other."""
    name = windows_name(zone)
    return zone == other or (name is not None and name == windows_name(other))


def shown_in(zone: tzinfo, wall: datetime, own: tzinfo) -> datetime:
    """What clocks in `zone` show when those in `own` show `wall`."""
    if zone == own:
        return wall
    return instant_of(wall, own).astimezone(zone).replace(tzinfo=None, fold=0)


def _written(old: Times | None, changes: Mapping[str, Any], zone: tzinfo | None) -> Times:
    """What was written or is left of `old`, on the clocks of the zone in which the event is kept."""
    is_all_day = changes.get("is_all_day", old is not None and old.is_all_day)
    if not isinstance(is_all_day, bool):
        raise CalendarError(f"must be true or false, not {shown(is_all_day)}", path="isAllDay")
    start, end = (_read(changes, name, old) for name in ("start", "end"))
    if is_all_day:
        _require_dates(start, end, "start" in changes and "end" in changes)
    zone = zone or _zone(old, changes, start.zone)
    written = Times(start.wall, end.wall, zone, start.zone_name, end.zone_name, is_all_day)
    if is_all_day:
        return written
    start_wall, end_wall = (shown_in(zone, each.wall, each.zone) for each in (start, end))
    return _as_before(replace(written, start=start_wall, end=end_wall), old)


def _as_before(times: Times, old: Times | None) -> Times:
    """`times` with the readings of `old` where they mean the same.

    What clocks skip is answered as what they show instead, and may come back so.
    """
    if old is None or old.is_all_day or old.zone != times.zone or times.instants[0] != old.instants[0]:
        return times
    end = old.end if times.instants[1] == old.instants[1] else times.end
    return replace(times, start=old.start, end=end)


@dataclass(frozen=True, slots=True)
class _Read:
    wall: datetime
    zone: tzinfo
    zone_name: str


def _read(changes: Mapping[str, Any], name: str, old: Times | None) -> _Read:
    given: WallTime | None = changes.get(name)
    if given is None and (old is None or name in changes):
        raise CalendarError("is required", path=name, code="required")
    if given is None:
        old = cast(Times, old)
        return _Read(getattr(old, name), old.zone, getattr(old, f"{name}_zone_name"))
    if given.wall.year not in YEARS:
        message = f"must be in the years {YEARS[0]} to {YEARS[-1]}, not {given.wall.year}"
        raise CalendarError(message, path=name, code="out_of_range")
    return _Read(given.wall.replace(microsecond=0), zone_of(given.zone_name, f"{name}.timeZone"), given.zone_name)


def _zone(old: Times | None, changes: Mapping[str, Any], zone_of_start: tzinfo) -> tzinfo:
    """Where the event is kept.  A series that is not sent anew stays where it is."""
    if old is not None and old.recurrence is not None and "recurrence" not in changes:
        return old.zone
    name = _range_of(changes.get("recurrence")).get("recurrenceTimeZone")
    return zone_of(name, "recurrence.range.recurrenceTimeZone") if name else zone_of_start


def _range_of(recurrence: object) -> Mapping[str, Any]:
    """The range of a document that nobody has looked at yet; the engine refuses what is none."""
    limits = recurrence.get("range") if isinstance(recurrence, Mapping) else None
    return limits if isinstance(limits, Mapping) else {}


def _start_date(recurrence: object) -> date | None:
    try:
        return date.fromisoformat(_range_of(recurrence).get("startDate"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _on(day: date, times: Times, changes: Mapping[str, Any]) -> Times:
    """The same event on another day; an end that was sent stays where it is."""
    if day.year not in YEARS:
        message = f"must be in the years {YEARS[0]} to {YEARS[-1]}, not {day.year}"
        raise WireError("recurrence.range.startDate", "out_of_range", message)
    start = datetime.combine(day, times.start.time())
    end = times.end if "end" in changes else times.end + (start - times.start)
    return replace(times, start=start, end=end)


def _require_dates(start: _Read, end: _Read, both_sent: bool) -> None:
    for name, each in (("start", start), ("end", end)):
        if each.wall.time() != MIDNIGHT:
            raise CalendarError(f"must be a midnight, as the event is all-day, not {each.wall.time()}", path=name)
    if both_sent and start.zone != end.zone:
        raise CalendarError("must be in the zone of the start, as the event is all-day", path="end.timeZone")


def _require_order(times: Times) -> None:
    if times.end < times.start:
        message = f"must not be before the start, {times.start} {times.zone}, but is {times.end}"
        raise CalendarError(message, path="end", code="ends_before_it_starts")
    if times.is_all_day and times.end == times.start:
        message = "must be a day after the start or more, as the event is all-day"
        raise CalendarError(message, path="end", code="ends_before_it_starts")
    if times.end - times.start > LONGEST:
        raise CalendarError(f"must be at most {LONGEST.days} days after the start", path="end", code="out_of_range")


@contextmanager
def refusing() -> Iterator[None]:
    """Raise what the engine refuses as CalendarError."""
    try:
        yield
    except WireError as error:
        raise CalendarError(error.message, path=error.path, code=error.code) from None
