"""Compute the times of an event from the changes of a caller and the stored times.  No database.

The rules are those of Graph's pages on event, dateTimeTimeZone and recurrenceRange.  Where those pages say nothing:

* An event is stored in wall times of one zone: the zone of its start, or for a series the zone of its recurrence.
  Times in another zone are converted to this zone; the names of both zones are stored as they were written.
* An all-day event consists of dates: it lasts from midnight to midnight, and no conversion moves it.
* A start without a recurrence moves the series, which keeps its pattern and its zone.
* A recurrence without a start begins on its `startDate`, at the event's time of day.
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
from recurrence.wire.json_values import shown
from recurrence.wire.zone_names import windows_name, zone_of
from recurrence.zones import instant_of, missing_days

LONGEST = timedelta(days=1825)  # of a single event: five years, as in Exchange; one of a series: graph.LONGEST
ONE_DAY = timedelta(days=1)
MIDNIGHT = time()


@dataclass(frozen=True, slots=True)
class WallTime:
    """A wall time and the name of its zone as it was written: the IANA name or the Windows name."""

    wall: datetime
    zone_name: str


@dataclass(frozen=True, slots=True)
class Times:
    """The times of an event: wall times in `zone`; for a series, the wall times of its first occurrence."""

    start: datetime
    end: datetime
    zone: tzinfo
    start_zone_name: str
    end_zone_name: str
    is_all_day: bool = False
    recurrence: dict[str, Any] | None = None  # Graph's document, as the engine writes it
    series: Series | None = None

    @classmethod
    def from_event(cls, event: Event) -> "Times":
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

    def apply_to(self, event: Event) -> None:
        event.start, event.end, event.zone = self.start, self.end, str(self.zone)
        event.start_zone_name, event.end_zone_name = self.start_zone_name, self.end_zone_name
        event.is_all_day, event.recurrence = self.is_all_day, self.recurrence

    @property
    def instants(self) -> tuple[datetime, datetime]:
        start_at, end_at = (instant_of(each, self.zone) for each in (self.start, self.end))
        return start_at, max(start_at, end_at)

    def has_same_occurrences(self, other: "Times") -> bool:
        """Return True if both are series with the same occurrences: the same days and times of day.

        Two zones are the same if they share a Windows name.
        """
        if self.series is None or other.series is None or self.is_all_day != other.is_all_day:
            return False
        ours, theirs = ((each.days, each.start, each.length, each.last) for each in (self.series, other.series))
        return ours == theirs and same_windows_zone(self.zone, other.zone)

    def split(self, day: date) -> tuple["Times", "Times"]:
        """Return the series until the day before `day`, and the series from `day` on.

        `day` is one of its days, but not the first.  A count is split between the two.
        """
        recurrence, series = cast(dict, self.recurrence), cast(Series, self.series)
        limits = recurrence["range"]
        first = datetime.combine(day, self.start.time())
        rest = replace(self, start=first, end=first + (self.end - self.start))
        if limits["type"] == "numbered":
            before = count_before(series, day)
            head_range: dict[str, object] = {"numberOfOccurrences": before}
            tail_range = {"numberOfOccurrences": limits["numberOfOccurrences"] - before}
        else:
            head_range, tail_range = {"type": "endDate", "endDate": (day - ONE_DAY).isoformat()}, {}
        return (
            with_series(self, {**recurrence, "range": {**limits, **head_range}}),
            with_series(rest, {**recurrence, "range": {**limits, **tail_range, "startDate": day.isoformat()}}),
        )


def apply_changes(old: Times | None, changes: Mapping[str, Any], zone: tzinfo | None = None) -> Times:
    """Return the times after `changes` (`start`, `end`, `is_all_day`, `recurrence`).  `old` is None for a new event.

    With `zone`, the result has wall times in this zone.  Raises CalendarError.
    """
    with refuse_when():
        times, recurrence = _read_times(old, changes, zone), changes.get("recurrence")
        if "recurrence" not in changes and old is not None and old.recurrence is not None:
            limits = {**old.recurrence["range"], "startDate": times.start.date().isoformat()}
            recurrence = {**old.recurrence, "range": limits}
        elif "start" not in changes and (day := _start_date(recurrence)):
            times = _on(day, times, changes)
        _require_order(times)
        if recurrence is None:
            return times
        new = with_series(times, recurrence)
        if "recurrence" in changes:
            _require_count(new, old)
        return new


def with_series(times: Times, recurrence: object) -> Times:
    """Return `times` as a series that starts at its first occurrence, as the engine finds it.  Raises WireError."""
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


def rebase_recurrence(recurrence: object, stored: Any, rest: Any, day: date) -> object:
    """Return `recurrence` with its range adapted to the `rest` of a series, which begins on `day`.

    A range that equals the `stored` range of the whole series, perhaps with another zone, becomes the range of the
    rest.  Any other range with the stored `startDate` starts on `day`.  Any other `recurrence` is returned unchanged.
    """
    limits = _range_of(recurrence)
    zone = {name: limits[name] for name in ("recurrenceTimeZone",) if name in limits}
    if limits == {**stored["range"], **zone}:
        limits = {**rest["range"], **zone}
    elif limits.get("startDate") != stored["range"]["startDate"]:
        return recurrence
    return {**cast(Mapping, recurrence), "range": {**limits, "startDate": day.isoformat()}}


def count_before(series: Series, day: date) -> int:
    """Return the number of occurrences of a series before `day`, without days that its zone skipped."""
    skipped_days = (date.fromordinal(each) for each in missing_days(series.zone))
    missing = sum(each < day and series.days.on_or_after(each) == each for each in skipped_days)
    return series.days.count_before(day) - missing


def same_windows_zone(zone: tzinfo, other: tzinfo) -> bool:
    """Return True if the zones are equal or have the same Windows name.

    Clients that know only the names of Windows cannot tell such zones apart.
    """
    name = windows_name(zone)
    return zone == other or (name is not None and name == windows_name(other))


def convert_wall(zone: tzinfo, wall: datetime, own: tzinfo) -> datetime:
    """Convert the wall time `wall` in the zone `own` to a wall time in `zone`."""
    if zone == own:
        return wall
    return instant_of(wall, own).astimezone(zone).replace(tzinfo=None, fold=0)


def _read_times(old: Times | None, changes: Mapping[str, Any], zone: tzinfo | None) -> Times:
    """Return the times from `changes`, completed from `old`, as wall times in the zone of the event."""
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
    start_wall, end_wall = (convert_wall(zone, each.wall, each.zone) for each in (start, end))
    return _keep_zone_name(replace(written, start=start_wall, end=end_wall), old)


def _keep_zone_name(times: Times, old: Times | None) -> Times:
    """Return `times` with the wall times of `old` where they mean the same instants.

    A wall time in a gap is shown to clients as the time after the gap, and a client may send that time back.
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
    wall_time: WallTime | None = changes.get(name)
    if wall_time is None and (old is None or name in changes):
        raise CalendarError("is required", path=name, code="required")
    if wall_time is None:
        old = cast(Times, old)
        return _Read(getattr(old, name), old.zone, getattr(old, f"{name}_zone_name"))
    if wall_time.wall.year not in YEARS:
        message = f"must be in the years {YEARS[0]} to {YEARS[-1]}, not {wall_time.wall.year}"
        raise CalendarError(message, path=name, code="out_of_range")
    return _Read(
        wall_time.wall.replace(microsecond=0), zone_of(wall_time.zone_name, f"{name}.timeZone"), wall_time.zone_name
    )


def _zone(old: Times | None, changes: Mapping[str, Any], zone_of_start: tzinfo) -> tzinfo:
    """Return the zone in which the event is stored.  A series keeps its zone unless a recurrence is sent."""
    if old is not None and old.recurrence is not None and "recurrence" not in changes:
        return old.zone
    name = _range_of(changes.get("recurrence")).get("recurrenceTimeZone")
    return zone_of(name, "recurrence.range.recurrenceTimeZone") if name else zone_of_start


def _range_of(recurrence: object) -> Mapping[str, Any]:
    """Return `recurrence["range"]` of an unvalidated document, or {}.  The engine validates the document later."""
    limits = recurrence.get("range") if isinstance(recurrence, Mapping) else None
    return limits if isinstance(limits, Mapping) else {}


def _start_date(recurrence: object) -> date | None:
    try:
        return date.fromisoformat(_range_of(recurrence).get("startDate"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _on(day: date, times: Times, changes: Mapping[str, Any]) -> Times:
    """Return `times` with the start moved to `day`.  The end moves too, unless `changes` contain it."""
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


def _require_count(new: Times, old: Times | None) -> None:
    """Raise WireError if the count is above the limit for new series.  A stored count may stay."""
    excess = graph.excess_of(cast(dict, new.recurrence))
    counts = [each and each.recurrence and each.recurrence["range"]["numberOfOccurrences"] for each in (new, old)]
    if excess is not None and counts[0] != counts[1]:
        raise excess


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
def refuse_when() -> Iterator[None]:
    """Turn a WireError of the engine, raised inside the block, into a CalendarError."""
    try:
        yield
    except WireError as error:
        raise CalendarError(error.message, path=error.path, code=error.code) from None
