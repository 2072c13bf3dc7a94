"""What ids of events name, as occurrences: single events, series as a whole, and what they bring in a window."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from heapq import merge
from itertools import takewhile

from accounts.models import User
from calendars import expansion
from calendars.expansion import Occurrence, details_for, order
from calendars.models import Event, EventException, EventQuerySet


def whole(event: Event, viewer: User) -> Occurrence:
    """A single event, or a series as if it were its first occurrence; all-day, where UTC has its midnights."""
    details = details_for(viewer, event, event.details)
    return expansion.place(event, None, event.start, event.end, event.is_all_day, UTC, details)


def in_order(events: EventQuerySet, start: datetime, end: datetime, viewer: User) -> Iterator[Occurrence]:
    """What `events` bring in [start, end), as `expansion.occurrences` has it, but laid out only as far as it is read.

    All-day ones lie where UTC has their midnights: where a client wants its times told does not change what it gets.
    """
    found = list(events.overlapping(start, end).select_related("calendar__owner"))
    exceptions = expansion.exceptions_in([event for event in found if event.is_series], start, end)
    return merge(*(laid_out(each, exceptions[each.pk].values(), start, end, viewer) for each in found), key=order)


def laid_out(
    event: Event, exceptions: Iterable[EventException], start: datetime, end: datetime, viewer: User
) -> Iterator[Occurrence]:
    by_day = {exception.original_day: exception for exception in exceptions}
    in_window = expansion.lay_out(event, by_day, start, end, UTC, viewer)  # exceptions come last there, in no order
    as_given = takewhile(lambda each: each.exception is None, in_window)
    changed = [found for found in exceptions_of(event, by_day.values(), viewer) if touches(found, start, end)]
    return merge(as_given, sorted(changed, key=order), key=order)


def exceptions_of(event: Event, exceptions: Iterable[EventException], viewer: User) -> Iterator[Occurrence]:
    """Where those that are not cancelled are now."""
    for exception in exceptions:
        if not exception.is_cancelled:
            for found in expansion.changed(event, exception, UTC):
                yield replace(found, details=details_for(viewer, event, found.details))


def touches(item: Occurrence, start: datetime, end: datetime) -> bool:
    return item.start < end and (item.end > start or item.start == item.end >= start)


def type_of(item: Occurrence) -> str:
    if item.day is not None:
        return "occurrence" if item.exception is None else "exception"
    return "seriesMaster" if item.event.is_series else "singleInstance"


def change_key(item: Occurrence) -> str:
    return ".".join(map(str, item.revision))


def etag(item: Occurrence) -> str:
    return f'W/"{change_key(item)}"'


def changed_at(item: Occurrence) -> datetime:
    return max(item.event.updated_at, item.exception.updated_at) if item.exception else item.event.updated_at
