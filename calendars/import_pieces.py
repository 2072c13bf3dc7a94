"""What an iCalendar file says, by UID: the events that each component becomes, and changes of single occurrences.

It knows nothing of the events that are here already.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext

from calendars import vevents
from calendars.components import Component
from calendars.import_report import Line, Status
from calendars.models import Calendar
from calendars.repetition import Allowance, Repetition, Span, first_day_of, repeated, series_of
from calendars.times import WallTime
from calendars.vevents import Refused, VEvent, Zones
from recurrence.series import Series

OWN = "#quando-"  # in the UID of what the file has no UID for
ECHO = 200  # characters of a summary that a report shows


@dataclass(frozen=True, slots=True)
class Piece:
    """One event that a component becomes; `start` is what clocks show then where it is one of several."""

    uid: str
    changes: dict[str, Any]
    start: datetime | None = None


@dataclass(slots=True)
class Entry:
    """A component that was understood, and what the report says of it; `is_done` when that is all."""

    line: Line
    said: VEvent
    is_done: bool = False

    def finish(self, event_id: UUID | None, status: Status, *notes: str) -> None:
        self.line.event_id, self.line.status, self.is_done = event_id, status, True
        self.line.notes += notes


@dataclass(slots=True)
class Group:
    """What a file says under one UID: an event or a series with its pieces, and what became of its occurrences."""

    uid: str
    master: Entry | None = None
    pieces: list[Piece] = field(default_factory=list)
    others: list[Entry] = field(default_factory=list)

    def refuse(self, reason: str) -> None:
        if self.master is not None:
            self.master.line.refuse(reason)
        for entry in self.others:
            entry.line.refuse(gettext("Its series is refused."))


def understood(files: list[Component], calendar: Calendar, now: datetime, lines: list[Line]) -> list[Group]:
    """What the files say, as far as it can be understood; each component gets one of `lines`.  No database."""
    allowance = Allowance()
    groups = [group for file in files for group in groups_of(file, calendar, now, lines)]
    return [group for group in groups if is_whole(group, now, allowance)]


def groups_of(file: Component, calendar: Calendar, now: datetime, lines: list[Line]) -> Iterable[Group]:
    zones = Zones.of(file, calendar.owner.time_zone, now)
    is_cancelled = file.text("METHOD").strip().upper() == "CANCEL"
    groups: dict[str, Group] = {}
    for part in file.parts:
        if part.name == "VTIMEZONE":
            continue
        line = Line(part.line, part.name[:ECHO], vevents.uid_of(part), part.text("SUMMARY")[:ECHO])
        lines.append(line)
        try:
            entry = Entry(line, read(part, zones, is_cancelled))
        except Refused as refused:
            line.refuse(str(refused))
            continue
        line.notes += entry.said.notes
        group = groups.setdefault(entry.said.uid, Group(entry.said.uid))
        if entry.said.recurrence_id is not None:
            group.others.append(entry)
        elif group.master is None:
            group.master = entry
        else:
            line.refuse(gettext("Its UID is that of the event in line %(line)d.") % {"line": group.master.line.line})
    return groups.values()


def read(part: Component, zones: Zones, is_cancelled: bool) -> VEvent:
    """Raises Refused."""
    if part.name != "VEVENT":
        raise Refused(gettext("Only events are taken."))
    if part.faults:
        raise Refused(gettext("It cannot be read: %(faults)s.") % {"faults": "; ".join(part.faults[:3])})
    return vevents.read(part, zones, is_cancelled=is_cancelled)


def is_whole(group: Group, now: datetime, allowance: Allowance) -> bool:
    """Whether there is something to take, which is put into pieces; if not, that is refused."""
    if group.master is None:
        return True
    try:
        if group.master.said.is_cancelled:
            raise Refused(gettext("It is cancelled."))
        group.pieces += pieces_of(group.master, now, allowance)
        if not group.pieces:
            raise Refused(gettext("It has no occurrence."))
    except Refused as refused:
        group.refuse(str(refused))
        return False
    return True


# What an event of the file becomes


def pieces_of(entry: Entry, now: datetime, allowance: Allowance) -> Iterator[Piece]:
    """The events, each with a UID of its own.  Raises Refused."""
    said, notes = entry.said, entry.line.notes
    allowance.require_events()
    span = Span(said.start.wall, said.end.on(said.start.zone), said.start.zone)
    repetition = Repetition() if said.rule is None else repeated(said.rule, span, now, allowance)
    notes += repetition.notes
    for number, document in enumerate(repetition.series):
        allowance.take_event()
        uid = said.uid if number == 0 else f"{said.uid}{OWN}{number + 1}"
        changes = at(said, span, datetime.combine(first_day_of(document), span.start.time()))
        yield Piece(uid, changes | {"recurrence": document})
    starts = [datetime.combine(day, span.start.time()) for day in repetition.days]
    if repetition.first != span.start.date():
        starts.append(span.start)
        if repetition.first is not None:
            notes.append(gettext("Its start is no day of its rule: it is a single event."))
    is_alone = not repetition.series and starts == [span.start]
    left_out = starts_left_out(said)
    for start in starts:
        allowance.take_event()
        if not left_out & {start, start.date()}:
            uid = said.uid if is_alone else further_uid(said.uid, start.date())
            yield Piece(uid, single(at(said, span, start)), None if said.rule is None else start)
    extra = {first.on(span.zone): (first, last) for first, last in said.besides}
    series = [series_of(document, span) for document in repetition.series] if extra else []
    known = {*starts, *left_out}
    for start, (first, last) in extra.items():
        allowance.take_event()
        if not known & {start, start.date()} and not is_given(series, span, start):
            changes = said.changes | {"start": first.wall_time, "end": last.wall_time}
            yield Piece(further_uid(said.uid, start.date() if first.is_date else start), single(changes), start)
    if extra:
        notes.append(gettext("Its extra dates are single events."))


def further_uid(uid: str, when: date) -> str:
    """Of an event that the file has no UID for: of a day, or of one of several times on it."""
    return f"{uid}{OWN}{when:%Y%m%dT%H%M%S}" if isinstance(when, datetime) else f"{uid}{OWN}{when:%Y%m%d}"


def at(said: VEvent, span: Span, start: datetime) -> dict[str, Any]:
    """What the file says, with another start of the same length."""
    name = said.start.zone_name
    times = {"start": WallTime(start, name), "end": WallTime(start + (span.end - span.start), name)}
    return said.changes if start == span.start else said.changes | times


def single(changes: dict[str, Any]) -> dict[str, Any]:
    return changes | {"recurrence": None}


def starts_left_out(said: VEvent) -> set[date]:
    """What clocks show at the starts that the file leaves out, or dates: all of that day."""
    days = {each.wall.date() for each in said.without if each.is_date or said.start.is_date}
    return days | {each.on(said.start.zone) for each in said.without if not each.is_date}


def is_given(series: list[Series], span: Span, start: datetime) -> bool:
    """Whether one of the series has an occurrence with this start."""
    return start.time() == span.start.time() and any(each.on(start.date()) for each in series)
