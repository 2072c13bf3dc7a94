"""Placing what overlaps beside or below each other: whole days in rows, hours in lanes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bar:
    """Something on the days from `first` to `last`, both counted from the first day shown and included."""

    first: int
    last: int
    thing: Any


@dataclass(frozen=True, slots=True)
class Block:
    """Something from one minute of the axis to another; what has a lower `rank` is kept where not all find room."""

    start: int
    end: int
    rank: int
    thing: Any


@dataclass(frozen=True, slots=True)
class Placed:
    """Blocks in a lane, of so many: one that is shown, or several that are summed up there."""

    start: int
    end: int
    lane: int
    lanes: int
    things: tuple[Any, ...]
    is_sum: bool = False


def rows_of(bars: Iterable[Bar]) -> list[list[Bar]]:
    """The fewest rows in which no two bars share a day; the earlier and then the longer bar lies above."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: (bar.first, -bar.last)):
        row = next((row for row in rows if row[-1].last < bar.first), None)
        if row is None:
            rows.append([bar])
        else:
            row.append(bar)
    return rows


def side_by_side(blocks: Iterable[Block], most: int) -> Iterator[Placed]:
    """Blocks in lanes, `most` of them and one more for sums of what is left, in the order in which they start."""
    for group in _touching(sorted(blocks, key=lambda block: (block.start, -block.end))):
        lanes, left = _lanes(group, most)
        if left:  # in order of rank, so that what must be seen is
            lanes, left = _lanes(sorted(group, key=lambda block: (block.rank, block.start, -block.end)), most)
            left.sort(key=lambda block: (block.start, -block.end))
        count = len(lanes) + bool(left)
        placed = [
            Placed(block.start, block.end, number, count, (block.thing,))
            for number, lane in enumerate(lanes)
            for block in lane
        ]
        for rest in _touching(left):
            end = max(block.end for block in rest)
            placed.append(Placed(rest[0].start, end, len(lanes), count, tuple(block.thing for block in rest), True))
        yield from sorted(placed, key=lambda each: (each.start, each.lane))


def _lanes(group: list[Block], most: int) -> tuple[list[list[Block]], list[Block]]:
    """Each block in the first lane that has room for it, and what has found none."""
    lanes: list[list[Block]] = []
    left: list[Block] = []
    for block in group:
        lane = next((lane for lane in lanes if all(_are_apart(block, other) for other in lane)), None)
        if lane is not None:
            lane.append(block)
        elif len(lanes) < most:
            lanes.append([block])
        else:
            left.append(block)
    return lanes, left


def _are_apart(one: Block, other: Block) -> bool:
    return one.end <= other.start or other.end <= one.start


def _touching(blocks: list[Block]) -> Iterator[list[Block]]:
    """Runs of blocks, ordered by start, in which each overlaps with one before it."""
    group: list[Block] = []
    end = 0
    for block in blocks:
        if group and block.start >= end:
            yield group
            group = []
        group.append(block)
        end = max(end, block.end) if len(group) > 1 else block.end
    if group:
        yield group
