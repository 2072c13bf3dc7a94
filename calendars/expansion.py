"""Expand events to their occurrences in a window, with exceptions applied.

This takes two queries, however many events and exceptions there are.  No series is expanded beyond the window.
The details of an event or an exception can have a megabyte.  So a list that shows some of the occurrences expands them
without LONG_DETAILS first, and then loads those of the occurrences that it shows.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import chain
from typing import Any

from django.db.models import Q

from calendars.event_rows import EventSummary
from calendars.ids import ItemId
from calendars.json_members import WithoutMembers
from calendars.models import DETAILS, EARLIEST, LATEST, ONE_DAY, YEARS, Details, Event, EventException, EventQuerySet
from recurrence.wire.graph import LONGEST
from recurrence.zones import instant_of

NOTHING = timedelta(0)
NO_DAY = date.min
MIDNIGHT = time()
EventLike = Event | EventSummary
LONG_DETAILS = ("body", "body_text", "locations", "categories", "attendees")
ROWS_AT_ONCE = 50  # whose long details are in memory together
KEYS = 30_000  # in one query: the limit of SQLite is 32,766 values


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A single event, or one occurrence of a series.

    `day` is its original day in the series, or None for a single event.  `start` and `end` are in UTC.  An all-day
    occurrence has `days`: the first day, and the day after the last.  Its `start` and `end` are the midnights of
    these days in the requested zone.  `exception` is None unless the occurrence differs from its series.
    """

    event: Event | Any  # or an EventSummary, for pages that need no more
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
        """Return the start in UTC that the series gives the occurrence; None for a single event."""
        if self.day is None or self.exception is None:
            return None if self.day is None else self.start
        regular = self.event.series.occurrence_on(self.day)
        return None if regular is None else regular.start

    @property
    def revision_pair(self) -> tuple[int, int]:
        """Return a value that changes with this occurrence, but not with another occurrence of its series."""
        if self.day is None:
            return self.event.revision_pair
        return self.event.master_revision, self.exception.revision if self.exception else 0


def occurrences(
    events: EventQuerySet, start: datetime, end: datetime, zone: tzinfo, *, viewer, cancelled: bool = False
) -> list[Occurrence]:
    """Return the occurrences of `events` that overlap [start, end), earliest first.

    All-day occurrences lie between midnights in `zone`.  An occurrence without length belongs to the window that
    contains its start.  Of private events of other people, `viewer` sees only the times.  Cancelled occurrences are
    included only with `cancelled`.  The window is cut to the years in which events can begin.
    """
    start, end = max(start, EARLIEST), min(end, LATEST)
    rows = list(events.overlapping(start, end).select_related("calendar"))
    exceptions = exceptions_in([event for event in rows if event.is_series], start, end)
    expanded = (each for event in rows for each in expand(event, exceptions[event.pk], start, end, zone, viewer))
    return sorted((each for each in expanded if cancelled or not each.is_cancelled), key=sort_key)


def sort_key(each: Occurrence) -> tuple:
    """Return the sort key: the start, all-day first, the longest first, the subject."""
    length = each.end - each.start
    return each.start, each.days is None, -length, each.details.subject, each.event.pk, each.day or NO_DAY


def without_long_details(events: EventQuerySet) -> list[Event]:
    """Return the events with empty LONG_DETAILS, to be expanded; see `load_long_details`."""
    rows = list(events.defer(*LONG_DETAILS))
    for row in rows:
        row.body = row.body_text = ""
        row.locations, row.categories, row.attendees = [], [], []
    return rows


def load_long_details(found: Iterable[Occurrence], viewer) -> Iterator[Occurrence]:
    """Yield the occurrences with all of their details.

    These are loaded for ROWS_AT_ONCE events and exceptions together, with two queries.  An occurrence whose event or
    exception was deleted in the meantime is yielded as it is.
    """
    for some in split_by_rows(found):
        events = Event.objects.select_related("calendar__owner").in_bulk({each.event.pk for each in some})
        exceptions = EventException.objects.in_bulk({each.exception.pk for each in some if each.exception})
        for each in some:
            event, exception = events.get(each.event.pk), exceptions.get(each.exception.pk) if each.exception else None
            if event is None or (exception is None and each.exception is not None):
                yield each
                continue
            details = details_for(viewer, event, details_of(event, exception))
            yield replace(each, event=event, exception=exception, details=details)


def split_by_rows(found: Iterable[Occurrence]) -> Iterator[list[Occurrence]]:
    """Yield the occurrences in lists which together have at most ROWS_AT_ONCE events and exceptions each."""
    some: list[Occurrence] = []
    rows: set[Any] = set()
    for each in found:
        own = {each.event.pk} | ({each.exception.pk} if each.exception else set())
        if some and len(rows | own) > ROWS_AT_ONCE:
            yield some
            some, rows = [], set()
        some.append(each)
        rows |= own
    if some:
        yield some


def exceptions_in(
    series: Sequence[EventLike], start: datetime, end: datetime, *, with_long_details: bool = True
) -> defaultdict:
    """Return exceptions by event and original day, if their original or present time may overlap [start, end).

    The result is a superset: the margins allow for zones and long occurrences.  Without `with_long_details`, their
    changes of LONG_DETAILS are left out.
    """
    by_event: defaultdict = defaultdict(dict)
    longest = max((event.end - event.start for event in series), default=NOTHING)
    original = Q(original_day__gte=(start - longest - 2 * ONE_DAY).date(), original_day__lte=(end + 2 * ONE_DAY).date())
    # the second condition follows from the others; with it, the database does not read rows of the distant past
    present = Q(start_at__lt=end + ONE_DAY, start_at__gte=start - LONGEST - ONE_DAY, end_at__gte=start - ONE_DAY)
    keys = [event.pk for event in series]
    rows: Any = EventException.objects.filter(original | present)  # mypy does not know the annotation below
    if not with_long_details:
        rows = rows.defer("changes").annotate(short_changes=WithoutMembers("changes", LONG_DETAILS))
    for n in range(0, len(keys), KEYS):
        for exception in rows.filter(event__in=keys[n : n + KEYS]):
            if not with_long_details:
                exception.changes = exception.short_changes
            by_event[exception.event_id][exception.original_day] = exception
    return by_event


def expand(
    event: EventLike, exceptions: dict[date, EventException], start: datetime, end: datetime, zone: tzinfo, viewer
) -> Iterator[Occurrence]:
    """Yield the occurrences of one event in [start, end), cancelled ones included.

    `exceptions` are the exceptions of the event in and near the window, by original day.  Their occurrences come last,
    in no order.
    """
    details = details_for(viewer, event, event.details)
    if event.is_series and not event.is_all_day:
        for regular in event.series.occurrences(start, end):
            if regular.day not in exceptions:
                yield Occurrence(event, regular.day, regular.start, regular.end, details)
        others: Iterable[Occurrence] = ()
    elif event.is_series:
        others = all_day(event, exceptions, start, end, zone, details)
    else:
        others = [localize(event, None, event.start, event.end, event.is_all_day, zone, details)]
    for each in chain(others, with_exceptions(event, exceptions, zone, viewer)):
        if each.start < end and (each.end > start or each.start == each.end >= start):
            yield each


def all_day(
    event: EventLike, exceptions, start: datetime, end: datetime, zone: tzinfo, details
) -> Iterator[Occurrence]:
    """Yield the all-day occurrences in and near the window, without exceptions.

    Midnight in `zone` can be up to 26 hours away from midnight in the zone of the series.
    """
    length = event.end - event.start
    for regular in event.series.occurrences(start - 2 * ONE_DAY, end + 2 * ONE_DAY):
        if regular.day not in exceptions:
            first = datetime.combine(regular.day, MIDNIGHT)
            yield localize(event, regular.day, first, first + length, True, zone, details)


def with_exceptions(
    event: EventLike, exceptions: dict[date, EventException], zone: tzinfo, viewer
) -> Iterator[Occurrence]:
    for exception in exceptions.values():
        for each in apply_exception(event, exception, zone):
            yield replace(each, details=details_for(viewer, event, each.details))


def apply_exception(event: EventLike, exception: EventException, zone: tzinfo) -> Iterator[Occurrence]:
    """Yield the occurrence with the changes of its exception.  Yield nothing if the series no longer has that day."""
    day = exception.original_day
    if event.series.occurrence_on(day) is None:
        return
    times = wall_times(event, day, exception.changes)
    yield localize(event, day, *times, zone, details_of(event, exception), exception)


def details_of(event: EventLike, exception: EventException | None) -> Details:
    changes = exception.changes if exception else {}
    return replace(event.details, **{name: value for name, value in changes.items() if name in DETAILS})


def wall_times(event: EventLike, day: date, changes: Mapping[str, Any]) -> tuple[datetime, datetime, bool]:
    """Return the wall times of start and end in the event's zone, and whether the occurrence is all-day."""
    first = datetime.combine(day, event.start.time())
    start = datetime.fromisoformat(changes["start"]) if "start" in changes else first
    end = datetime.fromisoformat(changes["end"]) if "end" in changes else first + (event.end - event.start)
    return start, end, changes.get("is_all_day", event.is_all_day)


def localize(event, day, start, end, is_all_day, zone, details, exception=None) -> Occurrence:
    """Return an occurrence from its wall times in the event's zone.

    An all-day occurrence lies between midnights in `zone`.  The end is never before the start in UTC.
    """
    if is_all_day:
        days = (start.date(), end.date())
        start_at, end_at = (instant_of(datetime.combine(each, MIDNIGHT), zone) for each in days)
        return Occurrence(event, day, start_at, end_at, details, days, exception)
    start_at, end_at = (instant_of(each, event.tzinfo) for each in (start, end))
    return Occurrence(event, day, start_at, max(start_at, end_at), details, None, exception)


def details_for(viewer, event: EventLike, details: Details) -> Details:
    """Return `details`, redacted if they are private and `viewer` does not own the calendar."""
    return details.redacted() if details.is_private and event.calendar.owner_id != viewer.pk else details


def find_occurrence(event: Event, day: date | None, zone: tzinfo, *, viewer) -> Occurrence | None:
    """Return the single event, or the occurrence of a series with the original day `day`.

    Return None if it does not exist or was cancelled.  A series without a day gives None, because a series as a whole
    is no occurrence.
    """
    if (day is None) is event.is_series:
        return None
    if day is None:
        return localize(
            event, None, event.start, event.end, event.is_all_day, zone, details_for(viewer, event, event.details)
        )
    exception = event.exceptions.filter(original_day=day).first()
    if exception is not None:
        by_day = {} if exception.is_cancelled else {day: exception}
        return next(with_exceptions(event, by_day, zone, viewer), None)
    if day.year not in YEARS or event.series.occurrence_on(day) is None:
        return None
    return localize(event, day, *wall_times(event, day, {}), zone, details_for(viewer, event, event.details))
