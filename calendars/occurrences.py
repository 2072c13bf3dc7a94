"""Change, cancel and restore single occurrences of a series, and check where they may be moved."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from calendars.body_text import BODY, complete_body
from calendars.errors import CalendarError, Gone
from calendars.event_times import Times, apply_changes
from calendars.expansion import localize, wall_times
from calendars.locking import Revision, check_version, save
from calendars.models import DETAILS, YEARS, Event, EventException
from calendars.validation import check_changes
from recurrence.wire import graph

INSTANT_FIELDS = ["start_at", "end_at"]
WRITTEN_FIELDS = [*INSTANT_FIELDS, "is_cancelled", "changes", "revision", "updated_at"]
TIME_NAMES = ("start", "end", "is_all_day")
BATCH = 500  # rows that are written or deleted at once


class Occurrences:
    """The exceptions of a locked series: read once, changed in memory, and written together by `write`.

    A change that raises CalendarError changes nothing.
    """

    def __init__(self, event: Event):
        self.event = event
        self.rows = {row.original_day: row for row in event.exceptions.all()}
        self.changed_days: set[date] = set()

    def get_exception(self, day: date, revision: Revision | None = None) -> EventException:
        """Return the exception of `day`, or a new row for an occurrence without one.

        Raises Gone if the series has no such occurrence, or it is cancelled, and ChangedSince for another `revision`.
        """
        if not self.event.is_series or day.year not in YEARS or self.event.series.occurrence_on(day) is None:
            raise Gone
        row = self.rows.get(day) or EventException(event=self.event, original_day=day, revision=0)
        if row.is_cancelled:
            raise Gone
        check_version((self.event.master_revision, row.revision), revision)
        return row

    def change(self, day: date, changes: Mapping[str, Any], revision: Revision | None = None) -> None:
        """Change the occurrence of `day`.  It must stay strictly between the days of its neighbours."""
        self._change(self.get_exception(day, revision), changes)

    def uncancel(self, day: date, changes: Mapping[str, Any]) -> None:
        """Bring a cancelled occurrence back as its series has it, with `changes`."""
        self._change(self.rows[day], changes)

    def _change(self, row: EventException, changes: Mapping[str, Any]) -> None:
        if changes.get("recurrence") is not None:
            raise CalendarError("belongs to a series, not to one of its occurrences", path="recurrence")
        details, event, day = check_changes(changes), self.event, row.original_day
        before = {} if row.is_cancelled else row.changes
        series_times, old_times = times_of(event, day, {}), times_of(event, day, before)
        time_changes = {name: changes[name] for name in TIME_NAMES if name in changes}
        new_times = apply_changes(old_times, time_changes, event.tzinfo)
        if new_times.end - new_times.start > graph.LONGEST:
            message = f"must be at most {graph.LONGEST.days} days after the start"
            raise CalendarError(message, path="end", code="out_of_range")
        if row.is_cancelled or new_times.start.date() != old_times.start.date():
            self.require_between_neighbours(day, new_times.start.date())

        series_values = {name: getattr(event, name) for name in DETAILS} | as_changes(series_times)
        new_values = complete_body(details, series_values | before) | as_changes(new_times)
        unchanged = {name: value for name, value in before.items() if name not in new_values}
        differing = {name for name, value in new_values.items() if value != series_values[name]}
        if differing & set(BODY):
            differing |= set(BODY)
        changed = unchanged | {name: value for name, value in new_values.items() if name in differing}
        if row.is_cancelled or changed != before:
            row.is_cancelled, row.changes = False, changed
            self._upsert(row)

    def cancel(self, day: date, revision: Revision | None = None) -> None:
        """Cancel the occurrence of `day`.  Raises Gone and ChangedSince as `get_exception` does."""
        row = self.get_exception(day, revision)
        row.is_cancelled = True
        self._upsert(row)

    def restore(self, day: date) -> None:
        """Remove all changes and a cancellation of the occurrence.  Raises Gone if it has no exception."""
        row = self.rows.get(day)
        if row is None:
            raise Gone("this occurrence is as its series has it")
        if row.is_cancelled or "start" in row.changes:
            self.require_between_neighbours(day, day)
        row.is_cancelled, row.changes = False, {}
        self._upsert(row)

    def require_between_neighbours(self, day: date, new_day: date) -> None:
        """Raise CalendarError unless `new_day` is strictly between the present days of the neighbours of `day`."""
        before = self._neighbour(day, self.event.series.day_before)
        after = self._neighbour(day, self.event.series.day_after)
        if (before and new_day <= before) or (after and new_day >= after):
            allowed = " and ".join(f"{word} {each}" for word, each in (("after", before), ("before", after)) if each)
            message = f"must be {allowed}, the days of the neighbouring occurrences, not on {new_day}"
            raise CalendarError(message, path="start", code="crosses_a_neighbour")

    def write(self, now: datetime) -> None:
        """Write all changes, and save the event.  An occurrence that no longer differs loses its row."""
        if not self.changed_days:
            return
        updated: list[EventException] = []
        created: list[EventException] = []
        obsolete: list[int] = []
        for day in sorted(self.changed_days):
            row = self.rows[day]
            if row.is_cancelled or row.changes:
                _set_instants(row)
                row.revision, row.updated_at = self.event.revision + 1, now
                (updated if row.pk else created).append(row)
            else:
                obsolete.append(self.rows.pop(day).pk)
        EventException.objects.bulk_create(created, BATCH)
        EventException.objects.bulk_update(updated, WRITTEN_FIELDS, BATCH)
        for position in range(0, len(obsolete), BATCH):
            EventException.objects.filter(pk__in=obsolete[position : position + BATCH]).delete()
        self.changed_days.clear()
        save(self.event, now, series=False)

    def _upsert(self, row: EventException) -> None:
        self.rows[row.original_day] = row
        self.changed_days.add(row.original_day)

    def _neighbour(self, day: date, step: Callable[[date], date | None]) -> date | None:
        """Return the present day of the next occurrence in the direction of `step`, without cancelled ones; or None."""
        while (found := step(day)) is not None:
            row = self.rows.get(found)
            if row is None or not row.is_cancelled:
                return datetime.fromisoformat(row.changes["start"]).date() if row and "start" in row.changes else found
            day = found
        return None


def times_of(event: Event, day: date, changes: Mapping[str, Any]) -> Times:
    """Return the times of the occurrence with the original day `day`, after `changes`."""
    start, end, is_all_day = wall_times(event, day, changes)
    return Times(start, end, event.tzinfo, event.start_zone_name, event.end_zone_name, is_all_day)


def as_changes(times: Times) -> dict[str, Any]:
    return {"start": times.start.isoformat(), "end": times.end.isoformat(), "is_all_day": times.is_all_day}


def localize_all(event: Event) -> bool:
    """Update `start_at` and `end_at` of all exceptions after the zone of the event changed.

    Return True if one of them is different now.
    """
    changed = []
    for exception in event.exceptions.all():
        before = exception.start_at, exception.end_at
        exception.event = event
        _set_instants(exception)
        if (exception.start_at, exception.end_at) != before:
            changed.append(exception)
    EventException.objects.bulk_update(changed, INSTANT_FIELDS, BATCH)
    return bool(changed)


def _set_instants(exception: EventException) -> None:
    event, day = exception.event, exception.original_day
    localized = localize(event, day, *wall_times(event, day, exception.changes), UTC, event.details)
    exception.start_at, exception.end_at = localized.start, localized.end
