"""What calendars bring in a window, kept in this process until they change.

A calendar's revision grows with every change of it and in it, so what was laid out for one holds as long as that does.
Who may see a calendar is asked each time.  Nobody changes what is kept: it is for pages, which only read.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain
from threading import Lock
from uuid import UUID

from calendars.expansion import Occurrence, occurrences, order
from calendars.models import Event

MOST = 20_000  # occurrences, in all windows together


@dataclass(frozen=True, slots=True)
class Shelf:
    """A calendar as it is by now, and whether its owner is who looks at it: others see less of what is private."""

    calendar: UUID
    version: str
    is_own: bool


class Kept:
    """Windows of calendars, those that were not asked for longest given up first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[tuple, list[Occurrence]] = OrderedDict()
        self._count = 0
        self._lock = Lock()

    def get(self, key: tuple) -> list[Occurrence] | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def keep(self, key: tuple, found: list[Occurrence]) -> None:
        with self._lock:
            self._count += 1 + len(found) - (1 + len(self._found.pop(key)) if key in self._found else 0)
            self._found[key] = found
            while self._count > self._most:
                self._count -= 1 + len(self._found.popitem(last=False)[1])


KEPT = Kept(MOST)


def occurrences_in(
    shelves: Sequence[Shelf], viewer, start: datetime, end: datetime, zone: tzinfo, *, cancelled: bool
) -> dict[UUID, list[Occurrence]]:
    """What each calendar brings in [start, end), as `expansion.occurrences` has it: with two queries for all that is
    not kept."""
    keys = {shelf.calendar: (shelf, start, end, str(zone), cancelled) for shelf in shelves}
    found = {calendar: KEPT.get(key) for calendar, key in keys.items()}
    missing: dict[UUID, list[Occurrence]] = {calendar: [] for calendar, kept in found.items() if kept is None}
    if missing:
        events = Event.objects.filter(calendar__in=list(missing))
        for each in occurrences(events, start, end, zone, viewer=viewer, cancelled=cancelled):
            missing[each.event.calendar_id].append(each)
        for calendar, fresh in missing.items():
            KEPT.keep(keys[calendar], fresh)
    return {calendar: kept for calendar, kept in (found | missing).items() if kept}


def merged(windows: Iterable[list[Occurrence]]) -> list[Occurrence]:
    """All of them, earliest first."""
    found = list(windows)
    return found[0] if len(found) == 1 else sorted(chain.from_iterable(found), key=order)
