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
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, ngettext

from calendars import components, editing, vevents
from calendars.errors import CalendarError
from calendars.expansion import walls_of
from calendars.import_pieces import OWN, Entry, Group, Piece, further_uid, single, understood
from calendars.import_report import Line, Report, Status
from calendars.models import DETAILS, PRIVATE, Calendar, Details, Event, EventException
from calendars.occurrences import Occurrences
from calendars.times import Times, merged
from calendars.vevents import Moment, Refused, VEvent
from calendars.writing import hold
from recurrence.wire.rrule import rrule_of

LARGEST = 1_048_576  # bytes of a file
MOST_CHANGES = 2_000  # in one transaction
BATCH = 500  # rows that are read at once
NAMES_OF_UTC = {"UTC", "Etc/GMT"}  # the second is that which our feeds give to series


def import_calendar(
    calendar: Calendar, content: str | bytes, now: datetime, *, dry_run: bool = False, viewer=None
) -> Report:
    """Take what the file has into `calendar`, all in one transaction; a `dry_run` leaves everything as it was.

    `viewer`, by default the calendar's owner, is who imports: what the owner keeps private from them stays as it is.
    Raises CalendarError for what is no iCalendar file, or too large a one.
    """
    if len(content if isinstance(content, bytes) else content.encode(errors="replace")) > LARGEST:
        raise CalendarError(f"must have at most {LARGEST} bytes", path="file", code="too_large")
    lines: list[Line] = []
    groups = understood(components.read(content), calendar, now, lines)
    with transaction.atomic():
        (held,) = hold(calendar.pk)
        importer = Import(held, groups, now, viewer or held.owner)
        for group in groups:
            importer.take(group)
        if dry_run:
            transaction.set_rollback(True)
    return Report(tuple(sorted(lines, key=lambda line: line.line)), dry_run)


class Import:
    """Puts what files say into a calendar that nobody else writes meanwhile."""

    def __init__(self, calendar: Calendar, groups: list[Group], now: datetime, viewer):
        self.calendar, self.now, self.viewer = calendar, now, viewer
        self.changes = 0
        self.used: set[str] = set()
        self.new: set[UUID] = set()
        self.further: defaultdict[str, set[str]] = defaultdict(set)  # UIDs by that which they were made from
        self.events: dict[str, Event] = {}
        wanted = {group.uid for group in groups}
        keys = [
            key
            for uid, key in calendar.events.order_by("-created_at").values_list("uid", "pk")
            if uid.partition(OWN)[0] in wanted
        ]
        for position in range(0, len(keys), BATCH):
            batch = calendar.events.filter(pk__in=keys[position : position + BATCH]).order_by("-created_at")
            for event in batch.prefetch_related("exceptions"):
                self.keep(event)

    def keep(self, event: Event) -> None:
        event.calendar = self.calendar
        self.events[event.uid] = event
        self.further[event.uid.partition(OWN)[0]].add(event.uid)

    def take(self, group: Group) -> None:
        series = [event for uid in sorted(self.further[group.uid]) if (event := self.events.get(uid))]
        if group.master is not None:
            try:
                with transaction.atomic():
                    series = self.take_master(group, group.master)
            except (Refused, CalendarError) as error:
                group.refuse(sentence(error))
                return
        left = [entry for entry in group.others if not entry.is_done]
        self.take_changes(left, [each for each in series if each.is_series])
        if group.master is not None:
            self.remove_the_rest(group, group.master)

    def take_master(self, group: Group, master: Entry) -> list[Event]:
        """Returns the events that it becomes.  Raises Refused and CalendarError."""
        events, statuses = [], []
        changed = by_start(group.others, master.said)
        for piece in group.pieces:
            other = None
            if piece.start is not None:
                other = changed.get(piece.start) or changed.get(piece.start.date())
            if other is not None and other.said.is_cancelled:
                other.finish(None, Status.UNCHANGED)
                continue
            event, status = self.put(piece if other is None else replace(piece, changes=single(other.said.changes)))
            if other is not None:
                other.finish(event.pk, status)
            if event.is_series and self.leave_out(event, master.said, group.others):
                status = Status.CHANGED if status is Status.UNCHANGED else status
            events.append(event)
            statuses.append(status)
        if not events:
            raise Refused(gettext("It has no occurrence."))
        master.finish(events[0].pk, statuses[0] if len(set(statuses)) == 1 else Status.CHANGED)
        return events

    def put(self, piece: Piece) -> tuple[Event, Status]:
        """Make the event, or make it what the file says."""
        self.used.add(piece.uid)
        event = self.events.get(piece.uid)
        if event is None:
            self.count()
            event, _ = editing.create(self.calendar, piece.changes, self.now, uid=piece.uid)
            self.keep(event)
            self.new.add(event.pk)
            return event, Status.TAKEN
        self.refuse_private(event)
        changes = what_differs(event, piece.changes)
        if not changes:
            return event, Status.TAKEN if event.pk in self.new else Status.UNCHANGED
        self.count()
        event = editing.change(event, changes, self.now)
        self.keep(event)
        return event, Status.CHANGED

    def leave_out(self, series: Event, said: VEvent, others: list[Entry]) -> bool:
        """Cancel what the file leaves out, and restore what it has as the series has it; tell whether there was any."""
        wanted = days_left_out(said, series)
        if not wanted and (series.pk in self.new or not series.exceptions.all()):
            return False
        with editing.occurrences_of(series, self.now) as occurrences:
            present = dict(occurrences.rows)
            kept = {day for day, row in present.items() if self.is_kept(series, row)}
            cancelled = {day for day, row in present.items() if row.is_cancelled}
            changed = {day_of(each.said.recurrence_id, series) for each in others if each.said.recurrence_id}
            for day in sorted(wanted - cancelled - changed - kept):
                occurrences.cancel(day)
            restored = present.keys() - wanted - changed - kept
            for day in sorted(restored, key=lambda day: (day in cancelled, day)):  # what was moved makes room
                occurrences.restore(day)
            is_any = bool(occurrences.touched)
            if is_any:
                self.count()
        return is_any

    def take_changes(self, entries: list[Entry], series: list[Event]) -> None:
        """What became of single occurrences, those of each series together."""
        by_series: defaultdict[UUID, list[tuple[Entry, date]]] = defaultdict(list)
        for entry in entries:
            given = cast(Moment, entry.said.recurrence_id)
            event, day = next(((each, day) for each in series if (day := day_of(given, each))), (None, None))
            if event is not None and day is not None:
                by_series[event.pk].append((entry, day))
            else:
                note = gettext("Its series has no such occurrence: it is a single event.")
                self.attempt(self.take_alone, entry, note)
        for event in series:
            if event.pk in by_series:
                with editing.occurrences_of(event, self.now) as occurrences:
                    for entry, day in by_series[event.pk]:
                        self.attempt(self.take_change, entry, day, occurrences)

    def attempt(self, take: Callable[..., None], entry: Entry, *how: Any) -> None:
        try:
            take(entry, *how)
        except (Refused, CalendarError) as error:
            entry.line.refuse(sentence(error))

    def take_change(self, entry: Entry, day: date, occurrences: Occurrences) -> None:
        """What became of one occurrence.  Raises Refused and CalendarError, and has changed nothing then."""
        said, event, row = entry.said, occurrences.event, occurrences.rows.get(day)
        self.refuse_private(event)
        if row is not None and self.is_kept(event, row):
            raise Refused(gettext("It is private to the owner of the calendar."))
        was_cancelled = row is not None and row.is_cancelled
        present = {} if row is None or was_cancelled else row.changes
        changes = {} if said.is_cancelled else what_is_otherwise(said, event, day, present)
        if not changes and said.is_cancelled == was_cancelled:
            entry.finish(event.pk, Status.TAKEN if event.pk in self.new else Status.UNCHANGED)
            return
        self.count()
        try:
            if said.is_cancelled:
                occurrences.cancel(day)
            elif was_cancelled:
                occurrences.revive(day, changes)
            else:
                occurrences.change(day, changes)
            entry.finish(event.pk, Status.TAKEN if event.pk in self.new else Status.CHANGED)
        except CalendarError as error:
            if error.code != "crosses_a_neighbour":
                raise
            note = gettext("It was moved onto or beyond its neighbour: it leaves its series and is a single event.")
            self.take_alone(entry, note)
            if not was_cancelled:
                occurrences.cancel(day)

    def take_alone(self, entry: Entry, note: str) -> None:
        """An occurrence as an event of its own."""
        uid = further_uid(entry.said.uid, cast(Moment, entry.said.recurrence_id).wall.date())
        if not entry.said.is_cancelled:
            event, status = self.put(Piece(uid, single(entry.said.changes)))
            entry.finish(event.pk, status, note)
        elif uid in self.events:
            self.delete(uid)
            entry.finish(None, Status.CHANGED)
        else:
            raise Refused(gettext("It cancels an occurrence that is not here."))

    def remove_the_rest(self, group: Group, master: Entry) -> None:
        """Delete what earlier imports have made of the UID, and the file does not say any more."""
        rest = sorted(uid for uid in self.further[group.uid] - self.used if OWN in uid and uid in self.events)
        if not rest:
            return
        try:
            with transaction.atomic():
                for uid in rest:
                    self.count()
                    self.delete(uid)
        except Refused as refused:
            master.line.notes.append(str(refused))
            return
        said = ngettext("%(count)d single event of it is gone.", "%(count)d single events of it are gone.", len(rest))
        master.line.notes.append(said % {"count": len(rest)})
        if master.line.status is Status.UNCHANGED:
            master.line.status = Status.CHANGED

    def delete(self, uid: str) -> None:
        event = self.events.pop(uid)
        self.refuse_private(event)
        editing.delete(event, self.now)

    def refuse_private(self, event: Event) -> None:
        if event.details.is_private and self.calendar.owner_id != self.viewer.pk:
            raise Refused(gettext("It is private to the owner of the calendar."))

    def is_kept(self, event: Event, exception: EventException) -> bool:
        """Whether an occurrence is private to the owner, who is somebody else."""
        sensitivity = exception.changes.get("sensitivity", event.sensitivity)
        return sensitivity in PRIVATE and self.calendar.owner_id != self.viewer.pk

    def count(self) -> None:
        """Raises Refused for one change too many: who writes a calendar keeps others waiting."""
        self.changes += 1
        if self.changes > MOST_CHANGES:
            said = {"most": MOST_CHANGES}
            raise Refused(gettext("It is beyond the %(most)d changes of one import: import the file again.") % said)


# What is otherwise here


def what_differs(event: Event, changes: dict[str, Any]) -> dict[str, Any]:
    """What of `changes`, which are all that a file says, an event says otherwise.  Raises CalendarError."""
    said = Details(**{name: changes[name] for name in DETAILS})
    when = {name: value for name, value in changes.items() if name not in DETAILS}
    present = Times.of(event)
    found = details_that_differ(said, event.details)
    return found if are_the_same(present, merged(present, when)) else found | when


def what_is_otherwise(said: VEvent, event: Event, day: date, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says of an occurrence that differs from its series in `changes`, and is otherwise here."""
    ours = replace(event.details, **{name: value for name, value in changes.items() if name in DETAILS})
    when = said.start.on(event.tzinfo), said.end.on(event.tzinfo), said.start.is_date
    found = details_that_differ(said.details, ours)
    return found if walls_of(event, day, changes) == when else found | said.when


def details_that_differ(said: Details, ours: Details) -> dict[str, Any]:
    said = vevents.completed(said, ours)
    return {name: value for name in DETAILS if (value := getattr(said, name)) != getattr(ours, name)}


def are_the_same(ours: Times, theirs: Times) -> bool:
    """Whether both mean the same, though a zone, an end or a pattern may have more than one name."""
    if (ours.start, ours.end, ours.is_all_day) != (theirs.start, theirs.end, theirs.is_all_day):
        return False
    if not ours.is_all_day and ours.zone != theirs.zone and {str(ours.zone), str(theirs.zone)} != NAMES_OF_UTC:
        return False
    if ours.series is None or theirs.series is None:
        return ours.series is theirs.series
    our_rule, their_rule = (rrule_of(each, is_all_day=ours.is_all_day) for each in (ours.series, theirs.series))
    return our_rule == their_rule


def sentence(error: Exception) -> str:
    if not isinstance(error, CalendarError):
        return str(error)
    said = f"{error.path}: {error.message}" if error.path else error.message
    return gettext("It cannot be taken: %(error)s.") % {"error": said}


# Which occurrence is meant


def by_start(others: list[Entry], master: VEvent) -> dict[date, Entry]:
    """Changes of single events, by what clocks show at the starts that they are of, or by the days."""
    found: dict[date, Entry] = {}
    for entry in others:
        given = cast(Moment, entry.said.recurrence_id)
        is_of_a_day = given.is_date or master.start.is_date
        found.setdefault(given.wall.date() if is_of_a_day else given.on(master.start.zone), entry)
    return found


def day_of(given: Moment, event: Event) -> date | None:
    """The day of the occurrence that a RECURRENCE-ID names; None when the series has none."""
    wall = given.wall if event.is_all_day else given.on(event.tzinfo)
    return wall.date() if event.series.on(wall.date()) else None


def days_left_out(said: VEvent, event: Event) -> set[date]:
    """The days of the occurrences that EXDATEs name; none where the series has none at that time."""
    series, zone, time, found = event.series, event.tzinfo, event.start.time(), set()
    for given in said.without:
        wall = given.wall if event.is_all_day else given.on(zone)
        if (event.is_all_day or given.is_date or wall.time() == time) and series.on(wall.date()):
            found.add(wall.date())
    return found
