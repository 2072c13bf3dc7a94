"""Take the events of an iCalendar file (RFC 5545) into a calendar, with a report of each component.

Events are known by their UID, so a second import changes what the first one made.  Where Quando cannot say what the
file says, the nearest that means the same is taken and the report says so; what has no such is refused, and the rest is
taken all the same.

* A rule that is no series of ours becomes several series, or single events.
* Extra dates, and a start that does not fit its own rule, are single events.
* What was moved onto or beyond its neighbour leaves its series and is a single event.
* Nobody is invited; attendees are kept by name.

Such further events have a UID of their own, made from that of the file: the next import finds them again.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, ngettext

from calendars import components, editing, vevents
from calendars.components import Component
from calendars.errors import CalendarError
from calendars.models import Calendar, Event
from calendars.repetition import Repetition, Span, first_day_of, repeated, series_of
from calendars.times import WallTime
from calendars.vevents import Moment, Refused, VEvent, Zones
from calendars.writing import hold

LARGEST = 1_048_576  # bytes of a file
MOST_CHANGES = 5_000  # that a file may make
OWN = "#quando-"  # in the UID of what the file has no UID for
ECHO = 200  # characters of a summary that a report shows


class Status(Enum):
    TAKEN = "taken"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(slots=True)
class Line:
    """What became of one component, which begins in line `line` of the file; `notes` are whole sentences."""

    line: int
    component: str
    uid: str
    summary: str
    status: Status = Status.UNCHANGED
    notes: list[str] = field(default_factory=list)
    event_id: UUID | None = None

    def refuse(self, reason: str) -> None:
        self.status, self.event_id = Status.REFUSED, None
        self.notes = [*self.notes, reason]


@dataclass(frozen=True, slots=True)
class Report:
    lines: tuple[Line, ...]
    dry_run: bool

    def count(self, status: Status) -> int:
        return sum(line.status is status for line in self.lines)


def import_calendar(
    calendar: Calendar, content: str | bytes, now: datetime, *, dry_run: bool = False, viewer=None
) -> Report:
    """Take what the file has into `calendar`, all in one transaction; a `dry_run` leaves everything as it was.

    `viewer`, by default the calendar's owner, is who imports: what the owner keeps private from them stays as it is.
    Raises CalendarError for what is no iCalendar file, or too large a one.
    """
    if len(content if isinstance(content, bytes) else content.encode(errors="replace")) > LARGEST:
        raise CalendarError(f"must have at most {LARGEST} bytes", path="file", code="too_large")
    files = components.read(content)
    with transaction.atomic():
        (held,) = hold(calendar.pk)
        importer = Import(held, now, viewer or held.owner)
        for each in files:
            importer.take_file(each)
        if dry_run:
            transaction.set_rollback(True)
    return Report(tuple(sorted(importer.lines, key=lambda line: line.line)), dry_run)


@dataclass(frozen=True, slots=True)
class Piece:
    """One event that a component becomes; `start` is what clocks show then where it is one of several."""

    uid: str
    changes: dict[str, Any]
    start: datetime | None = None


@dataclass(slots=True)
class Entry:
    """A component that was understood, and what the report says of it; `done` when that is all."""

    line: Line
    said: VEvent
    done: bool = False

    def finish(self, event_id: UUID | None, status: Status, *notes: str) -> None:
        self.line.event_id, self.line.status, self.done = event_id, status, True
        self.line.notes += notes


class Import:
    def __init__(self, calendar: Calendar, now: datetime, viewer):
        self.calendar, self.now, self.viewer = calendar, now, viewer
        self.lines: list[Line] = []
        self.known: dict[str, UUID] = dict(calendar.events.order_by("-created_at").values_list("uid", "pk"))
        self.further: defaultdict[str, set[str]] = defaultdict(set)  # by the UID that they were made from
        for uid in self.known:
            self.further[uid.partition(OWN)[0]].add(uid)
        self.used: set[str] = set()
        self.new: set[UUID] = set()  # events that this import has made
        self.changes = 0

    def take_file(self, file: Component) -> None:
        zones = Zones.of(file, self.calendar.owner.time_zone, self.now)
        is_cancelled = file.text("METHOD").strip().upper() == "CANCEL"
        groups: defaultdict[str, list[Entry]] = defaultdict(list)
        for part in file.parts:
            if part.name != "VTIMEZONE" and (entry := self.understood(part, zones, is_cancelled)):
                groups[entry.said.uid].append(entry)
        for entries in groups.values():
            self.take_group(entries)

    def understood(self, part: Component, zones: Zones, is_cancelled: bool) -> Entry | None:
        line = Line(part.line, part.name[:ECHO], vevents.uid_of(part), part.text("SUMMARY")[:ECHO])
        self.lines.append(line)
        try:
            if part.name != "VEVENT":
                raise Refused(gettext("Only events are taken."))
            if part.faults:
                raise Refused(gettext("It cannot be read: %(faults)s.") % {"faults": "; ".join(part.faults[:3])})
            said = vevents.read(part, zones, is_cancelled=is_cancelled)
        except Refused as refused:
            line.refuse(str(refused))
            return None
        line.notes += said.notes
        return Entry(line, said)

    # One UID: an event or a series, and what became of its occurrences

    def take_group(self, entries: list[Entry]) -> None:
        masters = [entry for entry in entries if entry.said.recurrence_id is None]
        others = [entry for entry in entries if entry.said.recurrence_id is not None]
        for entry in masters[1:]:
            first = {"line": masters[0].line.line}
            entry.line.refuse(gettext("Its UID is that of the event in line %(line)d.") % first)
        events = self.events_of(entries[0].said.uid)
        if masters:
            try:
                with transaction.atomic():
                    events = self.take_master(masters[0], others)
            except (Refused, CalendarError) as error:
                masters[0].line.refuse(sentence(error))
                for entry in others:
                    entry.line.refuse(gettext("Its series is refused."))
                return
        for entry in others:
            if not entry.done:
                self.try_change(entry, events)
        if masters:
            self.remove_the_rest(masters[0])

    def events_of(self, uid: str) -> list[Event]:
        """What earlier imports have made of the UID."""
        keys = [self.known[each] for each in (uid, *self.further[uid]) if each in self.known]
        return list(self.calendar.events.filter(pk__in=keys).select_related("calendar"))

    def take_master(self, entry: Entry, others: list[Entry]) -> list[Event]:
        """Returns the events that it becomes.  Raises Refused and CalendarError."""
        if entry.said.is_cancelled:
            raise Refused(gettext("It is cancelled."))
        events, statuses = [], []
        for piece in pieces_of(entry, self.now):
            other = next((each for each in others if is_about(each.said, piece, entry.said)), None)
            if other is not None and other.said.is_cancelled:
                other.finish(None, Status.UNCHANGED)
                continue
            event, status = self.put(piece if other is None else replace(piece, changes=single(other.said.changes)))
            if other is not None:
                other.finish(event.pk, status)
            if event.is_series:
                status = self.leave_out(event, status, entry.said, [each.said for each in others])
            events.append(event)
            statuses.append(status)
        if not events:
            raise Refused(gettext("It has no occurrence."))
        entry.finish(events[0].pk, statuses[0] if len(set(statuses)) == 1 else Status.CHANGED)
        return events

    def put(self, piece: Piece) -> tuple[Event, Status]:
        """Make the event, or make it what the file says."""
        self.used.add(piece.uid)
        self.count()
        key = self.known.get(piece.uid)
        if key is None:
            event, _ = editing.create(self.calendar, piece.changes, self.now, uid=piece.uid)
            self.known[piece.uid] = event.pk
            self.further[piece.uid.partition(OWN)[0]].add(piece.uid)
            self.new.add(event.pk)
            return event, Status.TAKEN
        event = self.calendar.events.select_related("calendar").get(pk=key)
        self.refuse_private(event)
        before = event.revision
        event = editing.change(event, piece.changes, self.now)
        return event, self.status_of(event, before)

    def leave_out(self, series: Event, status: Status, said: VEvent, others: list[VEvent]) -> Status:
        """Cancel what the file leaves out, and restore what it has as the series has it."""
        before = series.revision
        wanted = {day for each in said.without if (day := day_left_out(each, series))}
        touched = {day for each in others if each.recurrence_id and (day := day_of(each.recurrence_id, series))}
        present = {each.original_day: each for each in series.exceptions.all()}
        for day in sorted(wanted - {day for day, each in present.items() if each.is_cancelled}):
            self.count()
            editing.cancel_occurrence(series, day, self.now)
        for day in sorted(present.keys() - wanted - touched):
            editing.restore_occurrence(series, day, self.now)
        now_at = self.status_of(series, before)
        return status if now_at is Status.UNCHANGED else now_at

    def try_change(self, entry: Entry, events: list[Event]) -> None:
        try:
            with transaction.atomic():
                self.take_change(entry, events)
        except (Refused, CalendarError) as error:
            entry.line.refuse(sentence(error))

    def take_change(self, entry: Entry, events: list[Event]) -> None:
        """What became of one occurrence.  Raises Refused and CalendarError."""
        said, given = entry.said, entry.said.recurrence_id
        assert given is not None
        series = next((each for each in events if each.is_series and day_of(given, each)), None)
        if series is None:
            note = gettext("Its series has no such occurrence: it is a single event.")
            self.take_alone(entry, note)
            return
        self.refuse_private(series)
        self.count()
        day, before = day_of(given, series), revision_of(series)
        assert day is not None
        exception = series.exceptions.filter(original_day=day).first()
        was_cancelled = exception is not None and exception.is_cancelled
        if said.is_cancelled:
            if not was_cancelled:
                editing.cancel_occurrence(series, day, self.now)
            entry.finish(series.pk, self.status_of(series, before))
            return
        try:
            with transaction.atomic():
                if was_cancelled:
                    editing.restore_occurrence(series, day, self.now)
                editing.change_occurrence(series, day, said.changes, self.now)
        except CalendarError as error:
            if error.code != "crosses_a_neighbour":
                raise
            if not was_cancelled:
                editing.cancel_occurrence(series, day, self.now)
            note = gettext("It was moved onto or beyond its neighbour: it leaves its series and is a single event.")
            self.take_alone(entry, note)
            return
        entry.finish(series.pk, self.status_of(series, before))

    def take_alone(self, entry: Entry, note: str) -> None:
        """An occurrence as an event of its own."""
        given = entry.said.recurrence_id
        assert given is not None
        uid = further_uid(entry.said.uid, given.wall.date())
        if not entry.said.is_cancelled:
            event, status = self.put(Piece(uid, single(entry.said.changes)))
            entry.finish(event.pk, status, note)
        elif uid in self.known:
            self.delete(uid)
            entry.finish(None, Status.CHANGED)
        else:
            raise Refused(gettext("It cancels an occurrence that is not here."))

    def remove_the_rest(self, master: Entry) -> None:
        """Delete what earlier imports have made of the UID, and the file does not say any more."""
        rest = sorted(uid for uid in self.further[master.said.uid] - self.used if OWN in uid and uid in self.known)
        for uid in rest:
            self.delete(uid)
        if rest:
            said = ngettext(
                "%(count)d single event of it is gone.", "%(count)d single events of it are gone.", len(rest)
            )
            master.line.notes.append(said % {"count": len(rest)})
            if master.line.status is Status.UNCHANGED:
                master.line.status = Status.CHANGED

    def delete(self, uid: str) -> None:
        event = self.calendar.events.select_related("calendar").get(pk=self.known.pop(uid))
        self.refuse_private(event)
        editing.delete(event, self.now)

    def refuse_private(self, event: Event) -> None:
        if event.details.is_private and self.calendar.owner_id != self.viewer.pk:
            raise Refused(gettext("It is private to the owner of the calendar."))

    def count(self) -> None:
        self.changes += 1
        if self.changes > MOST_CHANGES:
            raise Refused(gettext("The file makes more than %(most)d changes.") % {"most": MOST_CHANGES})

    def status_of(self, event: Event, before: int) -> Status:
        if event.pk in self.new:
            return Status.TAKEN
        return Status.UNCHANGED if revision_of(event) == before else Status.CHANGED


def sentence(error: Exception) -> str:
    if not isinstance(error, CalendarError):
        return str(error)
    said = f"{error.path}: {error.message}" if error.path else error.message
    return gettext("It cannot be taken: %(error)s.") % {"error": said}


def revision_of(event: Event) -> int:
    return Event.objects.values_list("revision", flat=True).get(pk=event.pk)


# What an event of the file becomes


def pieces_of(entry: Entry, now: datetime) -> Iterator[Piece]:
    """The events, each with a UID of its own.  Raises Refused."""
    said, notes = entry.said, entry.line.notes
    span = Span(said.start.wall, said.end.on(said.start.zone), said.start.zone)
    repetition = Repetition() if said.rule is None else repeated(said.rule, span, now)
    notes += repetition.notes
    for number, document in enumerate(repetition.series):
        uid = said.uid if number == 0 else f"{said.uid}{OWN}{number + 1}"
        changes = at(said, span, datetime.combine(first_day_of(document), span.start.time()))
        yield Piece(uid, changes | {"recurrence": document})
    starts = [datetime.combine(day, span.start.time()) for day in repetition.days]
    if repetition.first != span.start.date():
        starts.append(span.start)
        if repetition.first is not None:
            notes.append(gettext("Its start is no day of its rule: it is a single event."))
    is_alone = not repetition.series and starts == [span.start]
    for start in starts:
        if not is_left_out(said, start):
            uid = said.uid if is_alone else further_uid(said.uid, start.date())
            yield Piece(uid, single(at(said, span, start)), None if said.rule is None else start)
    extra = {first.on(span.zone): (first, last) for first, last in said.besides}
    for start, (first, last) in extra.items():
        if start not in starts and not is_left_out(said, start) and not is_given(repetition, span, start):
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


def is_left_out(said: VEvent, start: datetime) -> bool:
    whole_days = {each.wall.date() for each in said.without if each.is_date or said.start.is_date}
    return start.date() in whole_days or start in {
        each.on(said.start.zone) for each in said.without if not each.is_date
    }


def is_given(repetition: Repetition, span: Span, start: datetime) -> bool:
    """Whether one of the series has an occurrence with this start."""
    return start.time() == span.start.time() and any(
        series_of(document, span).on(start.date()) for document in repetition.series
    )


# Which occurrence is meant


def is_about(other: VEvent, piece: Piece, master: VEvent) -> bool:
    """Whether a change of an occurrence is one of this single event."""
    given = other.recurrence_id
    if given is None or piece.start is None:
        return False
    if given.is_date or master.start.is_date:
        return given.wall.date() == piece.start.date()
    return given.on(master.start.zone) == piece.start


def day_of(given: Moment, event: Event) -> date | None:
    """The day of the occurrence that a RECURRENCE-ID names; None when the series has none."""
    wall = given.wall if event.is_all_day else given.on(event.tzinfo)
    return wall.date() if event.series.on(wall.date()) else None


def day_left_out(given: Moment, event: Event) -> date | None:
    """The day of the occurrence that an EXDATE names; None when the series has none at that time."""
    wall = given.wall if event.is_all_day else given.on(event.tzinfo)
    is_there = event.is_all_day or given.is_date or wall.time() == event.start.time()
    return wall.date() if is_there and event.series.on(wall.date()) else None
