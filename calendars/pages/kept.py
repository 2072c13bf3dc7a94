"""What calendars bring in a window, kept in this process until they change.

A calendar's revision grows with every change of it and in it, so what was laid out for one holds as long as that does.
When it has changed, what each of its events brought holds for those of which everything is as it was.
Who may see a calendar is asked each time.  Nobody changes what is kept: it is for pages, which only read.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain
from threading import Lock
from typing import NamedTuple
from uuid import UUID

from calendars.briefs import HAS_EXCEPTIONS, Brief, Look, Row, rows_in
from calendars.expansion import Occurrence, exceptions_in, lay_out, order
from calendars.models import EARLIEST, LATEST

MOST = 40_000  # events and occurrences, in all windows together


@dataclass(frozen=True, slots=True)
class Shelf:
    """A calendar, and whether its owner is who looks at it: others see less of what is private."""

    calendar: Look
    is_own: bool


class Window(NamedTuple):
    start: datetime
    end: datetime
    zone: tzinfo
    cancelled: bool


@dataclass(frozen=True, slots=True)
class Laid:
    """A calendar in a window: what each event brings, and all of it, earliest first."""

    version: str
    by_event: dict[Row, list[Occurrence]]
    found: list[Occurrence]

    def __len__(self) -> int:
        return len(self.by_event) + len(self.found)


class Kept:
    """Windows of calendars, those that were not asked for longest given up first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[tuple, Laid] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def get(self, key: tuple) -> Laid | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def keep(self, key: tuple, laid: Laid) -> None:
        with self._lock:
            self._count += 1 + len(laid) - (1 + len(self._found.pop(key)) if key in self._found else 0)
            self._found[key] = laid
            while self._count > self._most:
                self._count -= 1 + len(self._found.popitem(last=False)[1])


KEPT = Kept(MOST)


def occurrences_in(
    versions: Mapping[Shelf, str], viewer, start: datetime, end: datetime, zone: tzinfo, *, cancelled: bool
) -> dict[UUID, list[Occurrence]]:
    """What each calendar brings in [start, end), as `expansion.occurrences` has it: with two queries for all that are
    not kept in this version."""
    window = Window(max(start, EARLIEST), min(end, LATEST), zone, cancelled)
    laid = {shelf: KEPT.get((shelf, window)) for shelf in versions}
    changed = [shelf for shelf, was in laid.items() if was is None or was.version != versions[shelf]]
    rows = rows_in([shelf.calendar.id for shelf in changed], window.start, window.end) if changed else {}
    exceptions = exceptions_in(with_exceptions(changed, rows), window.start, window.end)
    for shelf in changed:
        was = laid[shelf]
        before = {} if was is None else was.by_event
        by_event = brought(shelf.calendar, rows.get(shelf.calendar.id, ()), before, exceptions, window, viewer)
        found = sorted(chain.from_iterable(by_event.values()), key=order)
        laid[shelf] = anew = Laid(versions[shelf], by_event, found)
        KEPT.keep((shelf, window), anew)
    return {shelf.calendar.id: each.found for shelf, each in laid.items() if each and each.found}


def with_exceptions(shelves: Iterable[Shelf], rows: Mapping[UUID, Sequence[Row]]) -> list[Brief]:
    return [
        Brief.of(shelf.calendar, row)
        for shelf in shelves
        for row in rows.get(shelf.calendar.id, ())
        if row[HAS_EXCEPTIONS]
    ]


def brought(
    calendar: Look, rows: Iterable[Row], before: Mapping[Row, list[Occurrence]], exceptions, window: Window, viewer
) -> dict[Row, list[Occurrence]]:
    """What each event brings; one without exceptions that is as it was `before` brings the same."""
    by_event = {}
    for row in rows:
        found = None if row[HAS_EXCEPTIONS] else before.get(row)
        if found is None:
            event = Brief.of(calendar, row)
            own = exceptions[event.pk] if row[HAS_EXCEPTIONS] else {}
            all_of_it = lay_out(event, own, window.start, window.end, window.zone, viewer)
            found = [each for each in all_of_it if window.cancelled or not each.is_cancelled]
        by_event[row] = found
    return by_event


def merged(windows: Iterable[list[Occurrence]]) -> list[Occurrence]:
    """All of them, earliest first."""
    found = list(windows)
    return found[0] if len(found) == 1 else sorted(chain.from_iterable(found), key=order)
