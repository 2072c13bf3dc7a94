"""Compare the fire times of two schedules in a window: which are added, removed and moved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from heapq import merge
from itertools import groupby

from recurrence.preview import preview
from recurrence.schedules import TICK
from recurrence.wire.parsed import Parsed
from recurrence.zones import to_zone

LIMIT = 5_000  # fire times of each schedule that are compared


@dataclass(frozen=True, slots=True)
class Window:
    """The fire times of a schedule before `end` (not included), earliest first.  `zone` is the schedule's."""

    fires: Sequence[datetime]
    end: datetime
    zone: tzinfo

    @classmethod
    def of(cls, parsed: Parsed, created_at: datetime, start: datetime, end: datetime) -> "Window":
        """Return the fire times in [start, end): at most LIMIT; with more, the window ends after these."""
        fires, more = preview(parsed, created_at=created_at, start=start, end=end, limit=LIMIT)
        return cls(fires, fires[-1] + TICK if more else end, parsed.zone)


@dataclass(frozen=True, slots=True)
class Move:
    """A fire time of the schedule before, and the one that takes its place."""

    before: datetime
    after: datetime


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences in a window, each list earliest first.

    `end` is the end of the window that was compared, not included.
    """

    added: tuple[datetime, ...]
    removed: tuple[datetime, ...]
    moved: tuple[Move, ...]
    unchanged_count: int
    end: datetime


def compare(before: Window, after: Window) -> Comparison:
    """Compare the fire times of two schedules in the same window.

    A removed and an added fire time of the same day, in the zone of `after`, are one move.  So are those that lie
    between the same two unchanged fire times, in order, if as many are removed as added there.
    """
    end = min(before.end, after.end)
    old, new = ({fire for fire in each.fires if fire < end} for each in (before, after))
    added: list[datetime] = []
    removed: list[datetime] = []
    moved: list[Move] = []
    unchanged = old & new
    for is_unchanged, group in groupby(sorted(old | new), unchanged.__contains__):
        if not is_unchanged:
            fires = list(group)
            lost, found, moves = _pair([f for f in fires if f in old], [f for f in fires if f in new], after.zone)
            added += found
            removed += lost
            moved += moves
    return Comparison(tuple(added), tuple(removed), tuple(moved), len(unchanged), end)


def _pair(
    removed: Sequence[datetime], added: Sequence[datetime], zone: tzinfo
) -> tuple[list[datetime], list[datetime], list[Move]]:
    """Return the fire times that stay removed, those that stay added, and the moves, earliest first."""
    lost: list[datetime] = []
    found: list[datetime] = []
    moves: list[Move] = []
    for _, group in groupby(merge(_with_day(removed, zone, False), _with_day(added, zone, True)), lambda each: each[0]):
        day = list(group)
        before, after = ([fire for _, fire, is_added in day if is_added is wanted] for wanted in (False, True))
        pairs = min(len(before), len(after))
        moves += map(Move, before[:pairs], after[:pairs])
        lost += before[pairs:]
        found += after[pairs:]
    if len(lost) == len(found):
        moves += map(Move, lost, found)
        lost, found = [], []
    return lost, found, sorted(moves, key=lambda move: move.before)


def _with_day(fires: Sequence[datetime], zone: tzinfo, is_added: bool) -> Iterator[tuple[date, datetime, bool]]:
    return ((to_zone(fire, zone).date(), fire, is_added) for fire in fires)
