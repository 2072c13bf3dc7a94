"""Compare the fire times of two schedules in a window: which are added, removed and moved."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
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
    """Compare the fire times of two schedules in the same window, as `compare_fires` does."""
    end = min(before.end, after.end)
    old, new = ({fire for fire in each.fires if fire < end} for each in (before, after))
    return compare_fires(old, new, after.zone, end)


def compare_fires(old: Set[datetime], new: Set[datetime], zone: tzinfo, end: datetime) -> Comparison:
    """Compare the fire times of two schedules before `end`.

    Removed and added fire times between the same two unchanged ones are moves, in this order: those of the same day in
    the zone, those with the same time of day, and all that are left if they are equally many.
    """
    added: list[datetime] = []
    removed: list[datetime] = []
    moved: list[Move] = []
    unchanged = old & new
    for is_unchanged, group in groupby(sorted(old | new), unchanged.__contains__):
        if not is_unchanged:
            fires = list(group)
            lost, found, moves = _pair([f for f in fires if f in old], [f for f in fires if f in new], zone)
            added += found
            removed += lost
            moved += moves
    return Comparison(tuple(added), tuple(removed), tuple(moved), len(unchanged), end)


def _pair(
    removed: Sequence[datetime], added: Sequence[datetime], zone: tzinfo
) -> tuple[list[datetime], list[datetime], list[Move]]:
    """Return the fire times that stay removed, those that stay added, and the moves, earliest first."""
    lost, found, moves = _pair_by(lambda fire: to_zone(fire, zone).date(), removed, added)
    lost, found, others = _pair_by(lambda fire: to_zone(fire, zone).time(), lost, found)
    moves += others
    if len(lost) == len(found):
        moves += map(Move, lost, found)
        lost, found = [], []
    return lost, found, sorted(moves, key=lambda move: move.before)


def _pair_by(
    key: Callable[[datetime], date | time], removed: Sequence[datetime], added: Sequence[datetime]
) -> tuple[list[datetime], list[datetime], list[Move]]:
    """Pair fire times with the same key in order.  Return those that are left on each side, and the moves."""
    added_by_key: dict[date | time, deque[datetime]] = defaultdict(deque)
    for fire in added:
        added_by_key[key(fire)].append(fire)
    lost, moves = [], []
    for fire in removed:
        if same := added_by_key[key(fire)]:
            moves.append(Move(fire, same.popleft()))
        else:
            lost.append(fire)
    return lost, sorted(fire for fires in added_by_key.values() for fire in fires), moves
