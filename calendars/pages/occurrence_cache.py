"""Cache of the occurrences of calendars in a window, in the memory of this process.

The revision of a calendar grows with every change in it, so an entry is valid for as long as its revision. After a
change of the calendar, the entry still serves events that did not change. Who may see a calendar is checked at each
request. Callers only read cached occurrences and never change them.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import chain, islice, takewhile
from threading import Lock
from typing import NamedTuple
from uuid import UUID

from calendars.event_rows import HAS_EXCEPTIONS, CalendarSummary, EventSummary, Row, load_rows
from calendars.expansion import Occurrence, exceptions_in, expand, sort_key
from calendars.models import EARLIEST, LATEST

MOST = 40_000  # events and occurrences in all entries together
MAX_EVENTS, MAX_OCCURRENCES = 2_000, 10_000  # of one page, see docs/limits.md
MARGIN_DAYS = 8  # more than the margins of `exceptions_in` on both sides together


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
    """A calendar in a window: its occurrences by event, and those that are shown, earliest first.

    `by_event` contains the events in the order of `load_rows`, with cancelled occurrences. If `is_cut`, it contains
    only as many events as a page may have.
    """

    version: str
    by_event: dict[Row, list[Occurrence]]
    shown: list[Occurrence]
    is_cut: bool = False

    def __len__(self) -> int:
        return len(self.by_event) + sum(map(len, self.by_event.values()))


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


class Budget:
    """How many events and occurrences a page can still have."""

    def __init__(self) -> None:
        self.events, self.occurrences = MAX_EVENTS, MAX_OCCURRENCES

    @property
    def is_untouched(self) -> bool:
        return self.events == MAX_EVENTS

    def take(self, occurrences: int) -> bool:
        """Take an event with so many occurrences. Return False if that is too much."""
        if self.events < 1 or self.occurrences < occurrences:
            return False
        self.events -= 1
        self.occurrences -= occurrences
        return True


class ExceptionBatches:
    """Exceptions of events, loaded in batches of about MAX_OCCURRENCES: usually all of them with one query."""

    def __init__(self, events: Iterable[EventSummary], window: Window) -> None:
        self._waiting = deque(events)
        self._window = window
        self._loaded: dict = {}

    def get(self, event: EventSummary) -> dict:
        """Return the exceptions of an event. The events are asked for in their order."""
        if event.pk not in self._loaded:
            batch = self._next_batch()
            by_event = exceptions_in(batch, self._window.start, self._window.end)
            self._loaded = {each.pk: by_event[each.pk] for each in batch}
        return self._loaded[event.pk]

    def _next_batch(self) -> list[EventSummary]:
        """Return the next events. An event can have one exception on each day of the window and its margins."""
        batch: list[EventSummary] = []
        days, longest = (self._window.end - self._window.start).days + MARGIN_DAYS, 0
        while self._waiting:
            longest = max(longest, (self._waiting[0].end - self._waiting[0].start).days)
            if batch and (len(batch) + 1) * (days + longest) > MAX_OCCURRENCES:
                break
            batch.append(self._waiting.popleft())
        return batch


@dataclass(frozen=True, slots=True)
class Found:
    """The occurrences of a page by calendar. Calendars without occurrences are left out.

    `event_count` is the number of expanded events. `complete` contains the calendars of which all events are expanded.
    """

    by_calendar: dict[UUID, list[Occurrence]]
    complete: set[UUID]
    event_count: int


def occurrences_in(
    versions: Mapping[CalendarKey, str], viewer, start: datetime, end: datetime, zone: tzinfo, *, cancelled: bool
) -> Found:
    """Return the occurrences in [start, end) by calendar, in the order of `expansion.occurrences`.

    At most MAX_EVENTS events and MAX_OCCURRENCES occurrences, with the cancelled ones, are expanded. The viewer's own
    calendars come first, each in the order of `versions`. The events of a calendar are ordered by start. So the same
    events are left out each time.

    Two queries load all calendars that are not cached in this version, unless there are more events than that.
    """
    window = Window(max(start, EARLIEST), min(end, LATEST), zone, cancelled)
    keys = sorted(versions, key=lambda key: not key.is_own)
    entries = {key: CACHE.get((key, window)) for key in keys}
    changed = [key for key, old in entries.items() if old is None or old.version != versions[key]]
    rows = load_rows([key.calendar.id for key in changed], window.start, window.end, MAX_EVENTS) if changed else {}
    exceptions = ExceptionBatches(events_with_exceptions(changed, rows), window)
    budget, found = Budget(), Found({}, set(), 0)
    for key in keys:
        entry, is_cacheable = entries[key], budget.is_untouched
        if entry is not None and entry.version == versions[key]:
            entry = cut_entry(entry, budget, window)
        else:
            old_by_event = {} if entry is None else entry.by_event
            own = rows.get(key.calendar.id, ())
            by_event = expand_changed(key.calendar, own, old_by_event, exceptions, window, viewer, budget)
            entry = new_entry(versions[key], by_event, window, is_cut=len(by_event) < len(own))
            if is_cacheable or not entry.is_cut:
                CACHE.put((key, window), entry)
        if entry.shown:
            found.by_calendar[key.calendar.id] = entry.shown
        if entry.is_cut:
            break
        found.complete.add(key.calendar.id)
    return replace(found, event_count=MAX_EVENTS - budget.events)


def new_entry(version: str, by_event: dict[Row, list[Occurrence]], window: Window, *, is_cut: bool) -> CacheEntry:
    expanded = chain.from_iterable(by_event.values())
    shown = sorted((each for each in expanded if window.with_cancelled or not each.is_cancelled), key=sort_key)
    return CacheEntry(version, by_event, shown, is_cut)


def cut_entry(entry: CacheEntry, budget: Budget, window: Window) -> CacheEntry:
    """Return the entry with as many of its events as the budget allows."""
    taken = dict(takewhile(lambda item: budget.take(len(item[1])), entry.by_event.items()))
    return entry if len(taken) == len(entry.by_event) else new_entry(entry.version, taken, window, is_cut=True)


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
    exceptions: ExceptionBatches,
    window: Window,
    viewer,
    budget: Budget,
) -> dict[Row, list[Occurrence]]:
    """Return the occurrences of the first events, as many as the budget allows.

    Unchanged events without exceptions keep their cached occurrences.
    """
    by_event: dict[Row, list[Occurrence]] = {}
    for row in rows:
        found = None if row[HAS_EXCEPTIONS] else old_by_event.get(row)
        if found is None:
            event = EventSummary.from_row(calendar, row)
            own = exceptions.get(event) if row[HAS_EXCEPTIONS] else {}
            expanded = expand(event, own, window.start, window.end, window.zone, viewer)
            found = list(islice(expanded, budget.occurrences + 1))
        if not budget.take(len(found)):
            break
        by_event[row] = found
    return by_event


def merge_sorted(windows: Iterable[list[Occurrence]]) -> list[Occurrence]:
    """Return the occurrences of all lists, earliest first."""
    found = list(windows)
    return found[0] if len(found) == 1 else sorted(chain.from_iterable(found), key=sort_key)
