"""Convert an iCalendar file to a plan, grouped by UID: the events to create, and changes of single occurrences.

The plan does not depend on the events that are already in the calendar.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext

from calendars.event_times import WallTime
from calendars.ics import events
from calendars.ics.events import ImportRefused, VEvent, Zones
from calendars.ics.import_report import Line, Status
from calendars.ics.parser import Component
from calendars.ics.recurrence import Allowance, Repetition, Span, first_day_of, read_recurrence, series_of
from calendars.models import Calendar
from recurrence.series import Series

OWN = "#quando-"  # in the UID of events that have no UID of their own in the file
ECHO = 200  # characters of a summary in a report


@dataclass(frozen=True, slots=True)
class EventPart:
    """One event to import from a component.

    `start` is its wall time if the component becomes several single events; otherwise it is None.
    """

    uid: str
    changes: dict[str, Any]
    start: datetime | None = None


@dataclass(slots=True)
class ImportEntry:
    """A parsed component with its line of the report.  `is_done` is True once the line is complete."""

    line: Line
    vevent: VEvent
    is_done: bool = False

    def finish(self, event_id: UUID | None, status: Status, *notes: str) -> None:
        self.line.event_id, self.line.status, self.is_done = event_id, status, True
        self.line.notes += notes


@dataclass(slots=True)
class UidGroup:
    """All components of a file with one UID: an event or a series, its parts, and overrides of occurrences."""

    uid: str
    master: ImportEntry | None = None
    parts: list[EventPart] = field(default_factory=list)
    overrides: list[ImportEntry] = field(default_factory=list)

    def refuse(self, reason: str) -> None:
        if self.master is not None:
            self.master.line.refuse(reason)
        for entry in self.overrides:
            entry.line.refuse(gettext("Its series is refused."))


def parse_groups(files: list[Component], calendar: Calendar, now: datetime, lines: list[Line]) -> list[UidGroup]:
    """Return the groups that can be imported, and append one line for each component to `lines`.  No database."""
    allowance = Allowance()
    groups = [group for file in files for group in groups_of(file, calendar, now, lines)]
    return [group for group in groups if split_into_parts(group, now, allowance)]


def groups_of(file: Component, calendar: Calendar, now: datetime, lines: list[Line]) -> Iterable[UidGroup]:
    zones = Zones.from_file(file, calendar.owner.time_zone, now)
    is_cancelled = file.get_text("METHOD").strip().upper() == "CANCEL"
    groups: dict[str, UidGroup] = {}
    for part in file.subcomponents:
        if part.name == "VTIMEZONE":
            continue
        line = Line(part.line, part.name[:ECHO], events.uid_of(part), part.get_text("SUMMARY")[:ECHO])
        lines.append(line)
        try:
            entry = ImportEntry(line, read(part, zones, is_cancelled))
        except ImportRefused as refused:
            line.refuse(str(refused))
            continue
        line.notes += entry.vevent.notes
        group = groups.setdefault(entry.vevent.uid, UidGroup(entry.vevent.uid))
        if entry.vevent.recurrence_id is not None:
            group.overrides.append(entry)
        elif group.master is None:
            group.master = entry
        else:
            line.refuse(gettext("Its UID is that of the event in line %(line)d.") % {"line": group.master.line.line})
    return groups.values()


def read(part: Component, zones: Zones, is_cancelled: bool) -> VEvent:
    """Return the event of a component.  Raises ImportRefused for other components, and for errors in it."""
    if part.name != "VEVENT":
        raise ImportRefused(gettext("Only events are taken."))
    if part.errors:
        raise ImportRefused(gettext("It cannot be read: %(faults)s.") % {"faults": "; ".join(part.errors[:3])})
    return events.read(part, zones, is_cancelled=is_cancelled)


def split_into_parts(group: UidGroup, now: datetime, allowance: Allowance) -> bool:
    """Fill `group.parts` from its master.  Return False, and refuse the group, if there is nothing to import."""
    if group.master is None:
        return True
    try:
        if group.master.vevent.is_cancelled:
            raise ImportRefused(gettext("It is cancelled."))
        group.parts += parts_of(group.master, now, allowance)
        if not group.parts:
            raise ImportRefused(gettext("It has no occurrence."))
    except ImportRefused as refused:
        group.refuse(str(refused))
        return False
    return True


# Split an event of the file into parts


def parts_of(entry: ImportEntry, now: datetime, allowance: Allowance) -> Iterator[EventPart]:
    """Yield the events that the component becomes, each with its own UID.  Raises ImportRefused."""
    vevent, notes = entry.vevent, entry.line.notes
    allowance.require_events()
    span = Span(vevent.start.wall, vevent.end.in_zone(vevent.start.zone), vevent.start.zone)
    repetition = Repetition() if vevent.rule is None else read_recurrence(vevent.rule, span, now, allowance)
    notes += repetition.notes
    for number, document in enumerate(repetition.series):
        allowance.take_event()
        uid = vevent.uid if number == 0 else f"{vevent.uid}{OWN}{number + 1}"
        changes = changes_moved_to(vevent, span, datetime.combine(first_day_of(document), span.start.time()))
        yield EventPart(uid, changes | {"recurrence": document})
    starts = [datetime.combine(day, span.start.time()) for day in repetition.days]
    if repetition.first != span.start.date():
        starts.append(span.start)
        if repetition.first is not None:
            notes.append(gettext("Its start is no day of its rule: it is a single event."))
    is_alone = not repetition.series and starts == [span.start]
    excluded = excluded_starts(vevent)
    for start in starts:
        allowance.take_event()
        if not excluded & {start, start.date()}:
            uid = vevent.uid if is_alone else further_uid(vevent.uid, start.date())
            yield EventPart(
                uid, as_single_event(changes_moved_to(vevent, span, start)), None if vevent.rule is None else start
            )
    extra = {first.in_zone(span.zone): (first, last) for first, last in vevent.extra_periods}
    series = [series_of(document, span) for document in repetition.series] if extra else []
    known = {*starts, *excluded}
    for start, (first, last) in extra.items():
        allowance.take_event()
        if not known & {start, start.date()} and not is_given(series, span, start):
            changes = vevent.changes | {"start": first.wall_time, "end": last.wall_time}
            yield EventPart(
                further_uid(vevent.uid, start.date() if first.is_date else start), as_single_event(changes), start
            )
    if extra:
        notes.append(gettext("Its extra dates are single events."))


def further_uid(uid: str, when: date) -> str:
    """Return the UID of an event without its own UID in the file: for a day, or for a time on the day."""
    return f"{uid}{OWN}{when:%Y%m%dT%H%M%S}" if isinstance(when, datetime) else f"{uid}{OWN}{when:%Y%m%d}"


def changes_moved_to(vevent: VEvent, span: Span, start: datetime) -> dict[str, Any]:
    """Return all changes of the event in the file, moved to `start` with the same length."""
    name = vevent.start.zone_name
    times = {"start": WallTime(start, name), "end": WallTime(start + (span.end - span.start), name)}
    return vevent.changes if start == span.start else vevent.changes | times


def as_single_event(changes: dict[str, Any]) -> dict[str, Any]:
    return changes | {"recurrence": None}


def excluded_starts(vevent: VEvent) -> set[date]:
    """Return the EXDATEs as wall times in the zone of the start, or as dates, which exclude all of that day."""
    days = {each.wall.date() for each in vevent.exdates if each.is_date or vevent.start.is_date}
    return days | {each.in_zone(vevent.start.zone) for each in vevent.exdates if not each.is_date}


def is_given(series: list[Series], span: Span, start: datetime) -> bool:
    """Return True if one of the series has an occurrence with this start."""
    return start.time() == span.start.time() and any(each.occurrence_on(start.date()) for each in series)
