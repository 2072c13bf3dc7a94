"""Items of Graph as occurrences: single events, series as a whole, and occurrences in a window."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from heapq import merge
from itertools import takewhile

from accounts.models import User
from calendars import expansion
from calendars.expansion import Occurrence, details_for, sort_key
from calendars.models import Event, EventException, EventQuerySet


def as_item(event: Event, viewer: User) -> Occurrence:
    """Return a single event, or a series as its first occurrence.  An all-day event lies between midnights in UTC."""
    details = details_for(viewer, event, event.details)
    return expansion.localize(event, None, event.start, event.end, event.is_all_day, UTC, details)


def items_in_window(events: EventQuerySet, start: datetime, end: datetime, viewer: User) -> Iterator[Occurrence]:
    """Yield the occurrences of `events` in [start, end) as `expansion.occurrences` does, but expand them lazily.

    All-day occurrences lie between midnights in UTC, so that the client's preferred zone does not change the result.
    They are without long details, see `expansion.load_long_details`.
    """
    found = expansion.without_long_details(events.overlapping(start, end).select_related("calendar__owner"))
    series = [event for event in found if event.is_series]
    exceptions = expansion.exceptions_in(series, start, end, with_long_details=False)
    return merge(
        *(expand_event(each, exceptions[each.pk].values(), start, end, viewer) for each in found), key=sort_key
    )


def expand_event(
    event: Event, exceptions: Iterable[EventException], start: datetime, end: datetime, viewer: User
) -> Iterator[Occurrence]:
    by_day = {exception.original_day: exception for exception in exceptions}
    in_window = expansion.expand(event, by_day, start, end, UTC, viewer)  # `expand` yields exceptions last, in no order
    regular = takewhile(lambda each: each.exception is None, in_window)
    changed = [item for item in exceptions_of(event, by_day.values(), viewer) if overlaps(item, start, end)]
    return merge(regular, sorted(changed, key=sort_key), key=sort_key)


def exceptions_of(event: Event, exceptions: Iterable[EventException], viewer: User) -> Iterator[Occurrence]:
    """Yield the occurrences of exceptions that are not cancelled, at their present times."""
    for exception in exceptions:
        if not exception.is_cancelled:
            for occurrence in expansion.apply_exception(event, exception, UTC):
                yield replace(occurrence, details=details_for(viewer, event, occurrence.details))


def overlaps(item: Occurrence, start: datetime, end: datetime) -> bool:
    return item.start < end and (item.end > start or item.start == item.end >= start)


def type_of(item: Occurrence) -> str:
    if item.day is not None:
        return "occurrence" if item.exception is None else "exception"
    return "seriesMaster" if item.event.is_series else "singleInstance"


def change_key(item: Occurrence) -> str:
    return ".".join(map(str, item.revision_pair))


def tag(item: Occurrence) -> str:
    return f'"{change_key(item)}"'


def etag(item: Occurrence) -> str:
    """Return the ETag.  It is weak: it says that the item did not change, not that every byte is the same."""
    return f"W/{tag(item)}"


def changed_at(item: Occurrence) -> datetime:
    return max(item.event.updated_at, item.exception.updated_at) if item.exception else item.event.updated_at
