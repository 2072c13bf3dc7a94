"""What events bring in a window: series laid out, and what became of single occurrences.

Two queries, however many events and exceptions there are, and nothing is laid out beyond the window.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from django.db.models import Q

from calendars.ids import ItemId
from calendars.models import DETAILS, ONE_DAY, Details, Event, EventException, EventQuerySet
from recurrence.zones import instant_of

NOTHING = timedelta(0)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A single event, or one occurrence of a series.

    `day` is the one that the series gave it (None: a single event); `start` and `end` are in UTC.  An all-day one has
    `days`, the first and the one behind the last; its `start` and `end` are their midnights in the zone that was
    asked for.  `exception` says that it differs from its series.
    """

    event: Event
    day: date | None
    start: datetime
    end: datetime
    details: Details
    days: tuple[date, date] | None = None
    exception: EventException | None = None

    @property
    def id(self) -> ItemId:
        return ItemId(self.event.pk, self.day)

    @property
    def is_all_day(self) -> bool:
        return self.days is not None

    @property
    def is_cancelled(self) -> bool:
        return self.exception is not None and self.exception.is_cancelled

    @property
    def original_start(self) -> datetime | None:
        """Where its series has it; None for a single event."""
        given = None if self.day is None else self.event.series.on(self.day)
        return None if given is None else given.start

    @property
    def revision(self) -> tuple[int, int]:
        """Changes when it does, and not when another occurrence of its series does."""
        if self.day is None:
            return self.event.version
        return self.event.series_revision, self.exception.revision if self.exception else 0


def occurrences(
    events: EventQuerySet, start: datetime, end: datetime, zone: tzinfo, *, viewer, cancelled: bool = False
) -> list[Occurrence]:
    """What `events` bring in [start, end), earliest first; all-day ones where `zone` has their midnights.

    One of no length belongs to the window that holds its start.  `viewer` sees only the times of what others keep
    private.  Cancelled occurrences come along if asked for.
    """
    found = list(events.overlapping(start, end).select_related("calendar"))
    exceptions = exceptions_in([event for event in found if event.is_series], start, end)
    laid_out = (each for event in found for each in lay_out(event, exceptions[event.pk], start, end, zone, viewer))
    return sorted((each for each in laid_out if cancelled or not each.is_cancelled), key=order)


def order(each: Occurrence) -> tuple:
    return each.start, not each.is_all_day, -(each.end - each.start), each.details.subject, str(each.id)


def exceptions_in(series: list[Event], start: datetime, end: datetime) -> defaultdict:
    """By event and original day, the exceptions whose original or present place may touch [start, end)."""
    by_event: defaultdict = defaultdict(dict)
    if not series:
        return by_event
    longest = max(event.end - event.start for event in series)
    original = Q(original_day__gte=(start - longest).date() - ONE_DAY, original_day__lte=end.date() + ONE_DAY)
    present = Q(start_at__lt=end + ONE_DAY, end_at__gte=start - ONE_DAY)
    for exception in EventException.objects.filter(original | present, event__in=[event.pk for event in series]):
        by_event[exception.event_id][exception.original_day] = exception
    return by_event


def lay_out(
    event: Event, exceptions: dict[date, EventException], start: datetime, end: datetime, zone: tzinfo, viewer
) -> Iterator[Occurrence]:
    """What one event brings in the window; `exceptions` are those of its days in and near it."""
    details = details_for(viewer, event, event.details)
    for each in candidates(event, exceptions, start, end, zone, details):
        if each.exception is not None:
            each = replace(each, details=details_for(viewer, event, each.details))
        if each.start < end and (each.end > start or each.start == each.end >= start):
            yield each


def candidates(event, exceptions, start, end, zone, details) -> Iterator[Occurrence]:
    if not event.is_series:
        yield place(event, None, event.start, event.end, event.is_all_day, zone, details)
        return
    margin = 2 * ONE_DAY if event.is_all_day else NOTHING  # who reads them may have midnight up to 26 hours away
    for each in event.series.occurrences(start - margin, end + margin):
        if each.day in exceptions:
            continue
        if event.is_all_day:
            first = datetime.combine(each.day, time())
            yield place(event, each.day, first, first + (event.end - event.start), True, zone, details)
        else:
            yield Occurrence(event, each.day, each.start, each.end, details)
    for exception in exceptions.values():
        yield from changed(event, exception, zone)


def changed(event: Event, exception: EventException, zone: tzinfo) -> Iterator[Occurrence]:
    """The occurrence that an exception is about, where it is now; none where its series has it no more."""
    day = exception.original_day
    if event.series.on(day) is None:
        return
    details = replace(event.details, **{name: value for name, value in exception.changes.items() if name in DETAILS})
    yield place(event, day, *walls_of(event, day, exception.changes), zone, details, exception)


def walls_of(event: Event, day: date, changes: Mapping[str, Any]) -> tuple[datetime, datetime, bool]:
    """What clocks in the event's zone show at the start and the end of an occurrence, and whether it is all-day."""
    first = datetime.combine(day, event.start.time())
    start = datetime.fromisoformat(changes["start"]) if "start" in changes else first
    end = datetime.fromisoformat(changes["end"]) if "end" in changes else first + (event.end - event.start)
    return start, end, changes.get("is_all_day", event.is_all_day)


def place(event, day, start, end, is_all_day, zone, details, exception=None) -> Occurrence:
    """An occurrence from what clocks in the event's zone show at its start and end."""
    if is_all_day:
        days = (start.date(), end.date())
        begins, ends = (instant_of(datetime.combine(each, time()), zone) for each in days)
        return Occurrence(event, day, begins, ends, details, days, exception)
    begins, ends = (instant_of(each, event.tzinfo) for each in (start, end))
    return Occurrence(event, day, begins, max(begins, ends), details, None, exception)


def details_for(viewer, event: Event, details: Details) -> Details:
    return details.veiled() if details.is_private and event.calendar.owner_id != viewer.pk else details


def find(event: Event, day: date | None, zone: tzinfo, *, viewer) -> Occurrence | None:
    """The single event, or the occurrence of a series that was given `day`; None when there is none, or no more.

    A master is none: without a day, a series answers None.
    """
    if (day is None) is event.is_series:
        return None
    if day is None:
        return place(
            event, None, event.start, event.end, event.is_all_day, zone, details_for(viewer, event, event.details)
        )
    exception = event.exceptions.filter(original_day=day).first()
    if exception is not None:
        found = next(changed(event, exception, zone), None)
        if found is None or exception.is_cancelled:
            return None
        return replace(found, details=details_for(viewer, event, found.details))
    if event.series.on(day) is None:
        return None
    return place(event, day, *walls_of(event, day, {}), zone, details_for(viewer, event, event.details))
