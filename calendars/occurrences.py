"""What became of single occurrences, row by row, and where they may be."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from calendars.errors import CalendarError, Gone
from calendars.expansion import place, walls_of
from calendars.models import YEARS, Event, EventException
from calendars.times import Times
from calendars.writing import Revision, require, save


def occurrence(event: Event, day: date, revision: Revision | None) -> EventException:
    """What became of the occurrence so far; one that is as its series has it gets a new row.  Raises Gone."""
    if not event.is_series or day.year not in YEARS or event.series.on(day) is None:
        raise Gone
    exception = event.exceptions.filter(original_day=day).first()
    if exception is None:
        exception = EventException(event=event, original_day=day, revision=0)
    if exception.is_cancelled:
        raise Gone
    exception.event = event
    require((event.series_revision, exception.revision), revision)
    return exception


def times_of(event: Event, day: date, changes: Mapping[str, Any]) -> Times:
    """When the occurrence is that the series gives `day`, once `changes` are made."""
    start, end, is_all_day = walls_of(event, day, changes)
    return Times(start, end, event.tzinfo, event.start_zone_name, event.end_zone_name, is_all_day)


def as_changes(times: Times) -> dict[str, Any]:
    return {"start": times.start.isoformat(), "end": times.end.isoformat(), "is_all_day": times.is_all_day}


def store(exception: EventException, now: datetime) -> None:
    """Write what became of an occurrence; one that is as its series has it needs no row."""
    event = exception.event
    if exception.is_cancelled or exception.changes:
        _place(exception)
        exception.revision = event.revision + 1
        exception.updated_at = now
        exception.save()
    elif exception.pk:
        exception.delete()
    save(event, now, series=False)


def _place(exception: EventException) -> None:
    event, day = exception.event, exception.original_day
    at = place(event, day, *walls_of(event, day, exception.changes), UTC, event.details)
    exception.start_at, exception.end_at = at.start, at.end


def place_all(event: Event) -> None:
    exceptions = list(event.exceptions.all())
    for exception in exceptions:
        exception.event = event
        _place(exception)
    EventException.objects.bulk_update(exceptions, ["start_at", "end_at"])


def require_between_neighbours(event: Event, day: date, place: date) -> None:
    """Raise CalendarError unless the occurrence of `day` may be on the day `place`."""
    became = {
        original: (is_cancelled, start)
        for original, is_cancelled, start in event.exceptions.values_list(
            "original_day", "is_cancelled", "changes__start"
        )
    }
    before = _neighbour(day, event.series.day_before, became)
    after = _neighbour(day, event.series.day_after, became)
    if (before and place <= before) or (after and place >= after):
        allowed = " and ".join(f"{word} {each}" for word, each in (("after", before), ("before", after)) if each)
        message = f"must be {allowed}, the days of the neighbouring occurrences, not on {place}"
        raise CalendarError(message, path="start", code="crosses_a_neighbour")


def _neighbour(
    day: date, step: Callable[[date], date | None], became: Mapping[date, tuple[bool, str | None]]
) -> date | None:
    """The day on which the next occurrence in one direction is now; one that is cancelled is none."""
    while (found := step(day)) is not None:
        is_cancelled, start = became.get(found, (False, None))
        if not is_cancelled:
            return datetime.fromisoformat(start).date() if start else found
        day = found
    return None
