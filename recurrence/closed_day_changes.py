"""Find the fire times that a change of closed days moves, adds or removes, with a bounded amount of work.

Only fire times near days that differ are compared: a fire time moves at most to the next day that is open before and
after the change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice
from typing import Any, Protocol

from recurrence.comparison import compare_fires
from recurrence.schedules import between
from recurrence.wire.parsed import Parsed

DAY = timedelta(days=1)
MAX_DISTANCE = timedelta(days=366)  # from a day that differs to the end of its span
EXAMPLES = 3  # of each kind


class Days(Protocol):
    def is_closed(self, day: date) -> bool: ...


@dataclass(slots=True)
class Changes:
    """The fire times that change in a window: their numbers, and the first EXAMPLES of each kind.

    `is_complete` is False if there were more fire times than could be compared; the numbers are lower bounds then.
    `compared_count` is the number of fire times that were looked at.
    """

    added_count: int = 0
    removed_count: int = 0
    moved_count: int = 0
    added: list[datetime] = field(default_factory=list)
    removed: list[datetime] = field(default_factory=list)
    moved: list[tuple[datetime, datetime]] = field(default_factory=list)
    is_complete: bool = True
    compared_count: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.added_count or self.removed_count or self.moved_count)


def changed_spans(before: Days, after: Days, first: date, last: date) -> list[tuple[date, date]]:
    """Return the ranges of days, both ends included, around the days of [first, last] that differ.

    Each range ends with days that are open before and after the change, so no fire time moves across its ends.
    """
    spans: list[tuple[date, date]] = []
    day = first
    while day <= last:
        if before.is_closed(day) == after.is_closed(day):
            day += DAY
            continue
        start = _common_open_day(before, after, day, -DAY)
        end = _common_open_day(before, after, day, DAY)
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
        day = end + DAY
    return spans


def _common_open_day(before: Days, after: Days, day: date, step: timedelta) -> date:
    found = day
    while (before.is_closed(found) or after.is_closed(found)) and abs(found - day) < MAX_DISTANCE:
        found += step
    return found


def changes(
    before: Parsed, after: Parsed, spans: list[tuple[date, date]], start: datetime, end: datetime, limit: int
) -> Changes:
    """Return the changes of the fire times in [start, end) on the days of `spans`.

    At most `limit` fire times of each schedule are compared.
    """
    found = Changes()
    for span_start, span_end in _instants(spans, after.zone, start, end):
        if found.compared_count >= limit:
            found.is_complete = False
            break
        left = limit - found.compared_count
        old = list(islice(between(before.schedule, span_start, span_end), left))
        new = list(islice(between(after.schedule, span_start, span_end), left))
        found.compared_count += max(len(old), len(new), 1)
        if max(len(old), len(new)) == left:  # a side that was cut off must not look as if it had fewer fire times
            found.is_complete = False
            compared_until = min(fires[-1] for fires in (old, new) if len(fires) == left)
            old, new = ([fire for fire in fires if fire <= compared_until] for fires in (old, new))
        _add(found, set(old), set(new), after.zone, span_end)
    return found


def _instants(
    spans: list[tuple[date, date]], zone: tzinfo, start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    for first, last in spans:
        span_start, span_end = max(start, _midnight(first, zone)), min(end, _midnight(last + DAY, zone))
        if span_start < span_end:
            yield span_start, span_end


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def _add(found: Changes, old: set[datetime], new: set[datetime], zone: tzinfo, end: datetime) -> None:
    """Add the differences of one span."""
    compared = compare_fires(old, new, zone, end)
    found.moved_count += len(compared.moved)
    found.removed_count += len(compared.removed)
    found.added_count += len(compared.added)
    _keep(found.moved, [(each.before, each.after) for each in compared.moved])
    _keep(found.removed, compared.removed)
    _keep(found.added, compared.added)


def _keep(examples: list[Any], more: Sequence[Any]) -> None:
    examples += more[: EXAMPLES - len(examples)]
