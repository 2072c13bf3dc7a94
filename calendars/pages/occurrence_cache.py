"""Cache of the occurrences of calendars in a window, in the memory of this process.

The revision of a calendar grows with every change in it, so an entry is valid for as long as its revision. After a
change of the calendar, the entry still serves events that did not change. Who may see a calendar is checked at each
request. Callers only read cached occurrences and never change them.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain
from threading import Lock
from typing import NamedTuple
from uuid import UUID

from calendars.event_rows import HAS_EXCEPTIONS, CalendarSummary, EventSummary, Row, load_rows
from calendars.expansion import Occurrence, exceptions_in, expand, sort_key
from calendars.models import EARLIEST, LATEST

MOST = 40_000  # events and occurrences in all entries together


@dataclass(frozen=True, slots=True)
class CalendarKey:
    """A calendar, and whether its owner is the viewer. Other viewers see less of private events."""

    calendar: CalendarSummary
    is_own: bool


class Window(NamedTuple):
    start: datetime
    end: datetime
    zone: tzinfo
    with_cancelled: bool


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A calendar in a window: its occurrences by event, and all of them, earliest first."""

    version: str
    by_event: dict[Row, list[Occurrence]]
    occurrences: list[Occurrence]

    def __len__(self) -> int:
        return len(self.by_event) + len(self.occurrences)


class OccurrenceCache:
    """LRU cache of expanded calendar windows, limited by the number of events and occurrences."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[tuple, CacheEntry] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def get(self, key: tuple) -> CacheEntry | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: tuple, entry: CacheEntry) -> None:
        with self._lock:
            self._count += 1 + len(entry) - (1 + len(self._entries.pop(key)) if key in self._entries else 0)
            self._entries[key] = entry
            while self._count > self._most:
                self._count -= 1 + len(self._entries.popitem(last=False)[1])


CACHE = OccurrenceCache(MOST)


def occurrences_in(
    versions: Mapping[CalendarKey, str], viewer, start: datetime, end: datetime, zone: tzinfo, *, cancelled: bool
) -> dict[UUID, list[Occurrence]]:
    """Return the occurrences in [start, end) by calendar, in the order of `expansion.occurrences`.

    Two queries load all calendars that are not cached in this version. Calendars without occurrences are left out.
    """
    window = Window(max(start, EARLIEST), min(end, LATEST), zone, cancelled)
    entries = {key: CACHE.get((key, window)) for key in versions}
    changed = [key for key, old in entries.items() if old is None or old.version != versions[key]]
    rows = load_rows([key.calendar.id for key in changed], window.start, window.end) if changed else {}
    exceptions = exceptions_in(events_with_exceptions(changed, rows), window.start, window.end)
    for key in changed:
        old = entries[key]
        old_by_event = {} if old is None else old.by_event
        by_event = expand_changed(key.calendar, rows.get(key.calendar.id, ()), old_by_event, exceptions, window, viewer)
        found = sorted(chain.from_iterable(by_event.values()), key=sort_key)
        entries[key] = entry = CacheEntry(versions[key], by_event, found)
        CACHE.put((key, window), entry)
    return {key.calendar.id: each.occurrences for key, each in entries.items() if each and each.occurrences}


def events_with_exceptions(keys: Iterable[CalendarKey], rows: Mapping[UUID, Sequence[Row]]) -> list[EventSummary]:
    """Return the events that have exceptions."""
    return [
        EventSummary.from_row(key.calendar, row)
        for key in keys
        for row in rows.get(key.calendar.id, ())
        if row[HAS_EXCEPTIONS]
    ]


def expand_changed(
    calendar: CalendarSummary,
    rows: Iterable[Row],
    old_by_event: Mapping[Row, list[Occurrence]],
    exceptions,
    window: Window,
    viewer,
) -> dict[Row, list[Occurrence]]:
    """Return the occurrences of each event. Unchanged events without exceptions keep their cached occurrences."""
    by_event = {}
    for row in rows:
        found = None if row[HAS_EXCEPTIONS] else old_by_event.get(row)
        if found is None:
            event = EventSummary.from_row(calendar, row)
            own = exceptions[event.pk] if row[HAS_EXCEPTIONS] else {}
            expanded = expand(event, own, window.start, window.end, window.zone, viewer)
            found = [each for each in expanded if window.with_cancelled or not each.is_cancelled]
        by_event[row] = found
    return by_event


def merge_sorted(windows: Iterable[list[Occurrence]]) -> list[Occurrence]:
    """Return the occurrences of all lists, earliest first."""
    found = list(windows)
    return found[0] if len(found) == 1 else sorted(chain.from_iterable(found), key=sort_key)
