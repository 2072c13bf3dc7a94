"""What events bring in a window: series laid out, and what became of single occurrences.

Two queries, however many events and exceptions there are, and nothing is laid out beyond the window.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import chain
from typing import Any

from django.db.models import Q

from calendars.briefs import Brief
from calendars.ids import ItemId
from calendars.models import DETAILS, EARLIEST, LATEST, ONE_DAY, YEARS, Details, Event, EventException, EventQuerySet
from recurrence.wire.graph import LONGEST
from recurrence.zones import instant_of

NOTHING = timedelta(0)
NO_DAY = date.min
MIDNIGHT = time()
Master = Event | Brief
KEYS = 30_000  # in one query: SQLite takes 32,766 values


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A single event, or one occurrence of a series.

    `day` is the one that the series gave it (None: a single event); `start` and `end` are in UTC.  An all-day one has
    `days`, the first and the one behind the last; its `start` and `end` are their midnights in the zone that was
    asked for.  `exception` says that it differs from its series.
    """

    event: Event | Any  # or a Brief, for pages that read no more of it
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
        if self.day is None or self.exception is None:
            return None if self.day is None else self.start
        given = self.event.series.on(self.day)
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
    private.  Cancelled occurrences come along if asked for.  Nothing is brought by years that no event can begin in.
    """
    start, end = max(start, EARLIEST), min(end, LATEST)
    found = list(events.overlapping(start, end).select_related("calendar"))
    exceptions = exceptions_in([event for event in found if event.is_series], start, end)
    laid_out = (each for event in found for each in lay_out(event, exceptions[event.pk], start, end, zone, viewer))
    return sorted((each for each in laid_out if cancelled or not each.is_cancelled), key=order)


def order(each: Occurrence) -> tuple:
    length = each.end - each.start
    return each.start, each.days is None, -length, each.details.subject, each.event.pk, each.day or NO_DAY


def exceptions_in(series: Sequence[Master], start: datetime, end: datetime) -> defaultdict:
    """By event and original day, the exceptions whose original or present place may touch [start, end)."""
    by_event: defaultdict = defaultdict(dict)
    longest = max((event.end - event.start for event in series), default=NOTHING)
    original = Q(original_day__gte=(start - longest - 2 * ONE_DAY).date(), original_day__lte=(end + 2 * ONE_DAY).date())
    # the second condition follows from the others, and keeps what is long past from being read
    present = Q(start_at__lt=end + ONE_DAY, start_at__gte=start - LONGEST - ONE_DAY, end_at__gte=start - ONE_DAY)
    keys = [event.pk for event in series]
    for n in range(0, len(keys), KEYS):
        for exception in EventException.objects.filter(original | present, event__in=keys[n : n + KEYS]):
            by_event[exception.event_id][exception.original_day] = exception
    return by_event


def lay_out(
    event: Master, exceptions: dict[date, EventException], start: datetime, end: datetime, zone: tzinfo, viewer
) -> Iterator[Occurrence]:
    """What one event brings in the window; `exceptions` are those of its days in and near it."""
    details = details_for(viewer, event, event.details)
    if event.is_series and not event.is_all_day:
        for given in event.series.occurrences(start, end):
            if given.day not in exceptions:
                yield Occurrence(event, given.day, given.start, given.end, details)
        near: Iterable[Occurrence] = ()
    elif event.is_series:
        near = all_day(event, exceptions, start, end, zone, details)
    else:
        near = [place(event, None, event.start, event.end, event.is_all_day, zone, details)]
    for each in chain(near, differing(event, exceptions, zone, viewer)):
        if each.start < end and (each.end > start or each.start == each.end >= start):
            yield each


def all_day(event: Master, exceptions, start: datetime, end: datetime, zone: tzinfo, details) -> Iterator[Occurrence]:
    """Occurrences in and near the window: who reads them may have midnight up to 26 hours from where the series has."""
    length = event.end - event.start
    for given in event.series.occurrences(start - 2 * ONE_DAY, end + 2 * ONE_DAY):
        if given.day not in exceptions:
            first = datetime.combine(given.day, MIDNIGHT)
            yield place(event, given.day, first, first + length, True, zone, details)


def differing(event: Master, exceptions: dict[date, EventException], zone: tzinfo, viewer) -> Iterator[Occurrence]:
    for exception in exceptions.values():
        for each in changed(event, exception, zone):
            yield replace(each, details=details_for(viewer, event, each.details))


def changed(event: Master, exception: EventException, zone: tzinfo) -> Iterator[Occurrence]:
    """The occurrence that an exception is about, where it is now; none where its series has it no more."""
    day = exception.original_day
    if event.series.on(day) is None:
        return
    details = replace(event.details, **{name: value for name, value in exception.changes.items() if name in DETAILS})
    yield place(event, day, *walls_of(event, day, exception.changes), zone, details, exception)


def walls_of(event: Master, day: date, changes: Mapping[str, Any]) -> tuple[datetime, datetime, bool]:
    """What clocks in the event's zone show at the start and the end of an occurrence, and whether it is all-day."""
    first = datetime.combine(day, event.start.time())
    start = datetime.fromisoformat(changes["start"]) if "start" in changes else first
    end = datetime.fromisoformat(changes["end"]) if "end" in changes else first + (event.end - event.start)
    return start, end, changes.get("is_all_day", event.is_all_day)


def place(event, day, start, end, is_all_day, zone, details, exception=None) -> Occurrence:
    """An occurrence from what clocks in the event's zone show at its start and end."""
    if is_all_day:
        days = (start.date(), end.date())
        begins, ends = (instant_of(datetime.combine(each, MIDNIGHT), zone) for each in days)
        return Occurrence(event, day, begins, ends, details, days, exception)
    begins, ends = (instant_of(each, event.tzinfo) for each in (start, end))
    return Occurrence(event, day, begins, max(begins, ends), details, None, exception)


def details_for(viewer, event: Master, details: Details) -> Details:
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
        found = {} if exception.is_cancelled else {day: exception}
        return next(differing(event, found, zone, viewer), None)
    if day.year not in YEARS or event.series.on(day) is None:
        return None
    return place(event, day, *walls_of(event, day, {}), zone, details_for(viewer, event, event.details))
