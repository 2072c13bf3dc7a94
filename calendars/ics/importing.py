"""Import the events of an iCalendar file (RFC 5545) into a calendar, with a report for each component.

Events are identified by their UID, so a second import changes the events of the first one.  If Quando cannot express a
component, it imports an equivalent, and the report says so.  A component without an equivalent is refused; the other
components are imported anyway.

* A rule that one series cannot express becomes several series, or single events.
* Extra dates, and a start that does not match its own rule, become single events.
* An occurrence that was moved onto or beyond its neighbour leaves its series and becomes a single event.
* Nobody is invited; attendees are stored by name.

These further events have their own UIDs, derived from the UID in the file, so that the next import finds them again.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, ngettext

from calendars import editing
from calendars.errors import CalendarError, TooManyEvents
from calendars.event_times import Times, apply_changes
from calendars.expansion import wall_times
from calendars.ics import events as ics_events
from calendars.ics import parser
from calendars.ics.events import IcsTime, ImportRefused, VEvent
from calendars.ics.import_plan import OWN, EventPart, ImportEntry, UidGroup, as_single_event, further_uid, parse_groups
from calendars.ics.import_report import Line, Report, Status
from calendars.locking import lock_calendars
from calendars.models import DETAILS, EDITABLE, PRIVATE, Calendar, Details, Event, EventException
from calendars.occurrences import Occurrences
from recurrence.wire.rrule import rrule_of

LARGEST = 1_048_576  # bytes of a file
MOST_CHANGES = 2_000  # by one import
GROUPS = 200  # groups of components with one UID in one transaction
BATCH = 500  # rows that are read at once
NAMES_OF_UTC = {"UTC", "Etc/GMT"}  # our feeds use the second name for series in UTC


def import_calendar(
    calendar: Calendar, content: str | bytes, now: datetime, *, dry_run: bool = False, viewer=None
) -> Report:
    """Import the file into `calendar`.  A `dry_run` returns the report and changes nothing.

    A large file is imported in several transactions, and other writers have as much time between two of them: SQLite
    lets only one write.  An import that is interrupted can be repeated, because UIDs identify the events.

    `viewer` is the person who imports, by default the owner of the calendar.  Private events of another owner are not
    changed.  Raises CalendarError if the file is not iCalendar, or too large.
    """
    if len(content if isinstance(content, bytes) else content.encode(errors="replace")) > LARGEST:
        raise CalendarError(f"must have at most {LARGEST} bytes", path="file", code="too_large")
    lines: list[Line] = []
    change_count = 0
    for groups in groups_by_transaction(parse_groups(parser.read(content), calendar, now, lines)):
        with transaction.atomic():
            (locked,) = lock_calendars(calendar.pk)
            importer = Import(locked, groups, now, viewer or locked.owner, change_count)
            importer.import_groups()
            if dry_run:
                transaction.set_rollback(True)
        change_count = importer.change_count
    return Report(tuple(sorted(lines, key=lambda line: line.line)), dry_run)


def groups_by_transaction(groups: Sequence[UidGroup]) -> Iterator[Sequence[UidGroup]]:
    """Yield the groups of each transaction, which the caller ends.  Between two of them, other writers have their time.

    The caller must not be in a transaction itself.
    """
    for first in range(0, len(groups), GROUPS):
        started_at = time.monotonic()
        yield groups[first : first + GROUPS]
        if first + GROUPS < len(groups):
            time.sleep(time.monotonic() - started_at)


class Import:
    """The import of some groups of a file into a locked calendar, with the events that are already there."""

    def __init__(self, calendar: Calendar, groups: Sequence[UidGroup], now: datetime, viewer, change_count: int):
        self.calendar, self.groups, self.now, self.viewer = calendar, groups, now, viewer
        self.change_count = change_count  # of the whole file
        self.used_uids: set[str] = set()
        self.new_ids: set[UUID] = set()
        self.uids_by_file_uid: defaultdict[str, set[str]] = defaultdict(set)  # of stored events
        self.events_by_uid: dict[str, Event] = {}
        file_uids = {group.uid for group in groups}
        keys = [
            key
            for uid, key in calendar.events.order_by("-created_at").values_list("uid", "pk")
            if uid.partition(OWN)[0] in file_uids
        ]
        for position in range(0, len(keys), BATCH):
            batch = calendar.events.filter(pk__in=keys[position : position + BATCH]).order_by("-created_at")
            for event in batch.prefetch_related("exceptions"):
                self.index_event(event)

    def index_event(self, event: Event) -> None:
        event.calendar = self.calendar
        self.events_by_uid[event.uid] = event
        self.uids_by_file_uid[event.uid.partition(OWN)[0]].add(event.uid)

    def import_groups(self) -> None:
        for group in self.groups:
            self.import_group(group)

    def import_group(self, group: UidGroup) -> None:
        """Import a group: its master, its overrides, and the deletion of obsolete further events."""
        series = [event for uid in sorted(self.uids_by_file_uid[group.uid]) if (event := self.events_by_uid.get(uid))]
        if group.master is not None:
            try:
                with transaction.atomic():
                    series = self.import_master(group, group.master)
            except (ImportRefused, CalendarError) as error:
                group.refuse(format_error(error))
                return
        remaining = [entry for entry in group.overrides if not entry.is_done]
        self.import_overrides(remaining, [event for event in series if event.is_series])
        if group.master is not None:
            self.delete_obsolete(group, group.master)

    def import_master(self, group: UidGroup, master: ImportEntry) -> list[Event]:
        """Import the master of a group and return its events.  Raises ImportRefused and CalendarError."""
        events, statuses = [], []
        overrides = index_by_start(group.overrides, master.vevent)
        for part in group.parts:
            override = None
            if part.start is not None:
                override = overrides.get(part.start) or overrides.get(part.start.date())
            if override is not None and override.vevent.is_cancelled:
                override.finish(None, Status.UNCHANGED)
                continue
            event, status = self.store(
                part if override is None else replace(part, changes=as_single_event(override.vevent.changes))
            )
            if override is not None:
                override.finish(event.pk, status)
            if event.is_series and self.apply_exclusions(event, master.vevent, group.overrides):
                status = Status.CHANGED if status is Status.UNCHANGED else status
            events.append(event)
            statuses.append(status)
        if not events:
            raise ImportRefused(gettext("It has no occurrence."))
        master.finish(events[0].pk, statuses[0] if len(set(statuses)) == 1 else Status.CHANGED)
        return events

    def store(self, part: EventPart) -> tuple[Event, Status]:
        """Create the event, or change the stored event with the same UID.  Raises ImportRefused and CalendarError."""
        self.used_uids.add(part.uid)
        event = self.events_by_uid.get(part.uid)
        if event is None:
            self.count_change()
            try:
                event, _ = editing.create(self.calendar, part.changes, self.now, uid=part.uid)
            except TooManyEvents:  # it is no change: further imports of the file would refuse the event, too
                self.change_count -= 1
                raise
            self.index_event(event)
            self.new_ids.add(event.pk)
            return event, Status.TAKEN
        self.refuse_private(event)
        changes = diff(event, part.changes)
        if not changes:
            return event, Status.TAKEN if event.pk in self.new_ids else Status.UNCHANGED
        self.count_change()
        event = editing.change(event, changes, self.now)
        self.index_event(event)
        return event, Status.CHANGED

    def apply_exclusions(self, series: Event, vevent: VEvent, overrides: list[ImportEntry]) -> bool:
        """Cancel the occurrences that the file excludes, and restore those without an exception in the file.

        Return True if anything changed.
        """
        excluded = excluded_days(vevent, series)
        if not excluded and (series.pk in self.new_ids or not series.exceptions.all()):
            return False
        with editing.occurrences_of(series, self.now) as occurrences:
            present = dict(occurrences.rows)
            hidden = {day for day, row in present.items() if self.is_hidden(series, row)}
            cancelled = {day for day, row in present.items() if row.is_cancelled}
            changed = {day_of(each.vevent.recurrence_id, series) for each in overrides if each.vevent.recurrence_id}
            for day in sorted(excluded - cancelled - changed - hidden):
                occurrences.cancel(day)
            restored = present.keys() - excluded - changed - hidden
            # first those that were moved, so that others can return to their days
            for day in sorted(restored, key=lambda day: (day in cancelled, day)):
                occurrences.restore(day)
            has_changes = bool(occurrences.changed_days)
            if has_changes:
                self.count_change()
        return has_changes

    def import_overrides(self, entries: list[ImportEntry], series: list[Event]) -> None:
        """Import the components of single occurrences, grouped by series, so that each series is written once."""
        by_series: defaultdict[UUID, list[tuple[ImportEntry, date]]] = defaultdict(list)
        for entry in entries:
            recurrence_id = cast(IcsTime, entry.vevent.recurrence_id)
            event, day = next(((each, day) for each in series if (day := day_of(recurrence_id, each))), (None, None))
            if event is not None and day is not None:
                by_series[event.pk].append((entry, day))
            else:
                note = gettext("Its series has no such occurrence: it is a single event.")
                self.try_import(self.import_single, entry, note)
        for event in series:
            if event.pk in by_series:
                with editing.occurrences_of(event, self.now) as occurrences:
                    for entry, day in by_series[event.pk]:
                        self.try_import(self.import_override, entry, day, occurrences)

    def try_import(self, import_entry: Callable[..., None], entry: ImportEntry, *arguments: Any) -> None:
        """Call `import_entry`; on an error, refuse only this entry."""
        try:
            import_entry(entry, *arguments)
        except (ImportRefused, CalendarError) as error:
            entry.line.refuse(format_error(error))

    def import_override(self, entry: ImportEntry, day: date, occurrences: Occurrences) -> None:
        """Import the component of one occurrence.  Raises ImportRefused and CalendarError, and then changes nothing."""
        vevent, event, row = entry.vevent, occurrences.event, occurrences.rows.get(day)
        self.refuse_private(event)
        if row is not None and self.is_hidden(event, row):
            raise ImportRefused(gettext("It is private to the owner of the calendar."))
        was_cancelled = row is not None and row.is_cancelled
        present = {} if row is None or was_cancelled else row.changes
        changes = {} if vevent.is_cancelled else diff_times(vevent, event, day, present)
        if not changes and vevent.is_cancelled == was_cancelled:
            entry.finish(event.pk, Status.TAKEN if event.pk in self.new_ids else Status.UNCHANGED)
            return
        self.count_change()
        try:
            if vevent.is_cancelled:
                occurrences.cancel(day)
            elif was_cancelled:
                occurrences.uncancel(day, changes)
            else:
                occurrences.change(day, changes)
            entry.finish(event.pk, Status.TAKEN if event.pk in self.new_ids else Status.CHANGED)
        except CalendarError as error:
            if error.code != "crosses_a_neighbour":
                raise
            note = gettext("It was moved onto or beyond its neighbour: it leaves its series and is a single event.")
            self.import_single(entry, note)
            if not was_cancelled:
                occurrences.cancel(day)

    def import_single(self, entry: ImportEntry, note: str) -> None:
        """Import an occurrence as a single event."""
        uid = further_uid(entry.vevent.uid, cast(IcsTime, entry.vevent.recurrence_id).wall.date())
        if not entry.vevent.is_cancelled:
            event, status = self.store(EventPart(uid, as_single_event(entry.vevent.changes)))
            entry.finish(event.pk, status, note)
        elif uid in self.events_by_uid:
            self.delete(uid)
            entry.finish(None, Status.CHANGED)
        else:
            raise ImportRefused(gettext("It cancels an occurrence that is not here."))

    def delete_obsolete(self, group: UidGroup, master: ImportEntry) -> None:
        """Delete further events of this UID from earlier imports that are no longer in the file."""
        obsolete = sorted(
            uid for uid in self.uids_by_file_uid[group.uid] - self.used_uids if OWN in uid and uid in self.events_by_uid
        )
        if not obsolete:
            return
        try:
            with transaction.atomic():
                for uid in obsolete:
                    self.count_change()
                    self.delete(uid)
        except ImportRefused as refused:
            master.line.notes.append(str(refused))
            return
        note = ngettext(
            "%(count)d single event of it is gone.", "%(count)d single events of it are gone.", len(obsolete)
        )
        master.line.notes.append(note % {"count": len(obsolete)})
        if master.line.status is Status.UNCHANGED:
            master.line.status = Status.CHANGED

    def delete(self, uid: str) -> None:
        event = self.events_by_uid.pop(uid)
        self.refuse_private(event)
        editing.delete(event, self.now)

    def refuse_private(self, event: Event) -> None:
        """Raise ImportRefused if the event is private and the viewer does not own the calendar."""
        if event.details.is_private and self.calendar.owner_id != self.viewer.pk:
            raise ImportRefused(gettext("It is private to the owner of the calendar."))

    def is_hidden(self, event: Event, exception: EventException) -> bool:
        """Return True if the exception is private to the owner, and the viewer is another person."""
        sensitivity = exception.changes.get("sensitivity", event.sensitivity)
        return sensitivity in PRIVATE and self.calendar.owner_id != self.viewer.pk

    def count_change(self) -> None:
        """Count a change.  Raises ImportRefused above the limit, because other writers of the calendar have to wait."""
        self.change_count += 1
        if self.change_count > MOST_CHANGES:
            values = {"most": MOST_CHANGES}
            raise ImportRefused(
                gettext("It is beyond the %(most)d changes of one import: import the file again.") % values
            )


# Differences from the stored events


def diff(event: Event, changes: dict[str, Any]) -> dict[str, Any]:
    """Return those of `changes`, the complete values in a file, that differ from the event.  Raises CalendarError."""
    imported = Details(**{name: changes[name] for name in EDITABLE})
    when = {name: value for name, value in changes.items() if name not in EDITABLE}
    stored = Times.from_event(event)
    differing = diff_details(imported, event.details)
    return differing if have_same_times(stored, apply_changes(stored, when)) else differing | when


def diff_times(vevent: VEvent, event: Event, day: date, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in the file that differ from the occurrence of `day` with its stored `changes`."""
    stored = replace(event.details, **{name: value for name, value in changes.items() if name in DETAILS})
    when = vevent.start.in_zone(event.tzinfo), vevent.end.in_zone(event.tzinfo), vevent.start.is_date
    differing = diff_details(vevent.details, stored)
    return differing if wall_times(event, day, changes) == when else differing | vevent.time_changes


def diff_details(imported: Details, stored: Details) -> dict[str, Any]:
    imported = ics_events.fill_defaults(imported, stored)
    return {name: value for name in EDITABLE if (value := getattr(imported, name)) != getattr(stored, name)}


def have_same_times(stored: Times, imported: Times) -> bool:
    """Return True if both mean the same times, even with different names of UTC or equivalent recurrences."""
    if (stored.start, stored.end, stored.is_all_day) != (imported.start, imported.end, imported.is_all_day):
        return False
    if (
        not stored.is_all_day
        and stored.zone != imported.zone
        and {str(stored.zone), str(imported.zone)} != NAMES_OF_UTC
    ):
        return False
    if stored.series is None or imported.series is None:
        return stored.series is imported.series
    stored_rule, imported_rule = (
        rrule_of(each, is_all_day=stored.is_all_day) for each in (stored.series, imported.series)
    )
    return stored_rule == imported_rule


def format_error(error: Exception) -> str:
    if not isinstance(error, CalendarError):
        return str(error)
    message = f"{error.path}: {error.message}" if error.path else error.message
    return gettext("It cannot be taken: %(error)s.") % {"error": message}


# Find the occurrence that a component names


def index_by_start(overrides: list[ImportEntry], master: VEvent) -> dict[date, ImportEntry]:
    """Return the overrides by the wall time of their RECURRENCE-ID in the zone of the master, or by its date."""
    found: dict[date, ImportEntry] = {}
    for entry in overrides:
        recurrence_id = cast(IcsTime, entry.vevent.recurrence_id)
        is_of_a_day = recurrence_id.is_date or master.start.is_date
        found.setdefault(recurrence_id.wall.date() if is_of_a_day else recurrence_id.in_zone(master.start.zone), entry)
    return found


def day_of(recurrence_id: IcsTime, event: Event) -> date | None:
    """Return the original day of the occurrence that a RECURRENCE-ID names; None if the series has no such day."""
    wall = recurrence_id.wall if event.is_all_day else recurrence_id.in_zone(event.tzinfo)
    return wall.date() if event.series.occurrence_on(wall.date()) else None


def excluded_days(vevent: VEvent, event: Event) -> set[date]:
    """Return the days of the occurrences that EXDATEs name, without those that do not match an occurrence."""
    series, zone, time, found = event.series, event.tzinfo, event.start.time(), set()
    for excluded in vevent.exdates:
        wall = excluded.wall if event.is_all_day else excluded.in_zone(zone)
        if (event.is_all_day or excluded.is_date or wall.time() == time) and series.occurrence_on(wall.date()):
            found.add(wall.date())
    return found
