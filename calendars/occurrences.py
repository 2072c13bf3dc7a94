"""What became of single occurrences, row by row, and where they may be."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from calendars.details import checked
from calendars.errors import CalendarError, Gone
from calendars.expansion import place, walls_of
from calendars.models import DETAILS, YEARS, Event, EventException
from calendars.times import Times, merged
from calendars.writing import Revision, require, save
from recurrence.wire import graph

PLACED = ["start_at", "end_at"]
WRITTEN = [*PLACED, "is_cancelled", "changes", "revision", "updated_at"]
WHEN = ("start", "end", "is_all_day")
BATCH = 500  # rows that are written or deleted at once


class Occurrences:
    """What became of the occurrences of a series that is held: read once, and written once for all that change.

    A change is made whole, or it raises CalendarError and nothing is different.
    """

    def __init__(self, event: Event):
        self.event = event
        self.rows = {row.original_day: row for row in event.exceptions.all()}
        self.touched: set[date] = set()

    def of(self, day: date, revision: Revision | None = None) -> EventException:
        """What became of one so far; one that is as its series has it gets a new row.  Raises Gone."""
        if not self.event.is_series or day.year not in YEARS or self.event.series.on(day) is None:
            raise Gone
        row = self.rows.get(day) or EventException(event=self.event, original_day=day, revision=0)
        if row.is_cancelled:
            raise Gone
        require((self.event.series_revision, row.revision), revision)
        return row

    def change(self, day: date, changes: Mapping[str, Any], revision: Revision | None = None) -> None:
        """Let the occurrence of `day` differ from its series, strictly between the days of its neighbours."""
        self._change(self.of(day, revision), changes)

    def revive(self, day: date, changes: Mapping[str, Any]) -> None:
        """The same for one that is cancelled: it comes back as its series has it, but for `changes`."""
        self._change(self.rows[day], changes)

    def _change(self, row: EventException, changes: Mapping[str, Any]) -> None:
        if changes.get("recurrence") is not None:
            raise CalendarError("belongs to a series, not to one of its occurrences", path="recurrence")
        details, event, day = checked(changes), self.event, row.original_day
        before = {} if row.is_cancelled else row.changes
        own, was = times_of(event, day, {}), times_of(event, day, before)
        now_at = merged(was, {name: changes[name] for name in WHEN if name in changes}, event.tzinfo)
        if now_at.end - now_at.start > graph.LONGEST:
            message = f"must be at most {graph.LONGEST.days} days after the start"
            raise CalendarError(message, path="end", code="out_of_range")
        if row.is_cancelled or now_at.start.date() != was.start.date():
            self.require_between_neighbours(day, now_at.start.date())

        series_says = {name: getattr(event, name) for name in DETAILS} | as_changes(own)
        says = details | as_changes(now_at)
        kept = {name: value for name, value in before.items() if name not in says}
        changed = kept | {name: value for name, value in says.items() if value != series_says[name]}
        if row.is_cancelled or changed != before:
            row.is_cancelled, row.changes = False, changed
            self._put(row)

    def cancel(self, day: date, revision: Revision | None = None) -> None:
        row = self.of(day, revision)
        row.is_cancelled = True
        self._put(row)

    def restore(self, day: date) -> None:
        """Let the occurrence of `day` be as its series has it.  Raises Gone when it is."""
        row = self.rows.get(day)
        if row is None:
            raise Gone("this occurrence is as its series has it")
        if row.is_cancelled or "start" in row.changes:
            self.require_between_neighbours(day, day)
        row.is_cancelled, row.changes = False, {}
        self._put(row)

    def require_between_neighbours(self, day: date, place: date) -> None:
        """Raise CalendarError unless the occurrence of `day` may be on the day `place`."""
        before = self._neighbour(day, self.event.series.day_before)
        after = self._neighbour(day, self.event.series.day_after)
        if (before and place <= before) or (after and place >= after):
            allowed = " and ".join(f"{word} {each}" for word, each in (("after", before), ("before", after)) if each)
            message = f"must be {allowed}, the days of the neighbouring occurrences, not on {place}"
            raise CalendarError(message, path="start", code="crosses_a_neighbour")

    def write(self, now: datetime) -> None:
        """Store all that has changed; what is as its series has it needs no row."""
        if not self.touched:
            return
        old: list[EventException] = []
        new: list[EventException] = []
        gone: list[int] = []
        for day in sorted(self.touched):
            row = self.rows[day]
            if row.is_cancelled or row.changes:
                _place(row)
                row.revision, row.updated_at = self.event.revision + 1, now
                (old if row.pk else new).append(row)
            else:
                gone.append(self.rows.pop(day).pk)
        EventException.objects.bulk_create(new, BATCH)
        EventException.objects.bulk_update(old, WRITTEN, BATCH)
        for position in range(0, len(gone), BATCH):
            EventException.objects.filter(pk__in=gone[position : position + BATCH]).delete()
        self.touched.clear()
        save(self.event, now, series=False)

    def _put(self, row: EventException) -> None:
        self.rows[row.original_day] = row
        self.touched.add(row.original_day)

    def _neighbour(self, day: date, step: Callable[[date], date | None]) -> date | None:
        """The day on which the next occurrence in one direction is now; one that is cancelled is none."""
        while (found := step(day)) is not None:
            row = self.rows.get(found)
            if row is None or not row.is_cancelled:
                return datetime.fromisoformat(row.changes["start"]).date() if row and "start" in row.changes else found
            day = found
        return None


def times_of(event: Event, day: date, changes: Mapping[str, Any]) -> Times:
    """When the occurrence is that the series gives `day`, once `changes` are made."""
    start, end, is_all_day = walls_of(event, day, changes)
    return Times(start, end, event.tzinfo, event.start_zone_name, event.end_zone_name, is_all_day)


def as_changes(times: Times) -> dict[str, Any]:
    return {"start": times.start.isoformat(), "end": times.end.isoformat(), "is_all_day": times.is_all_day}


def place_all(event: Event) -> None:
    exceptions = list(event.exceptions.all())
    for exception in exceptions:
        exception.event = event
        _place(exception)
    EventException.objects.bulk_update(exceptions, PLACED)


def _place(exception: EventException) -> None:
    event, day = exception.event, exception.original_day
    at = place(event, day, *walls_of(event, day, exception.changes), UTC, event.details)
    exception.start_at, exception.end_at = at.start, at.end
