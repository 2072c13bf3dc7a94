"""Lay out items that overlap: items of whole days in rows, items of hours in lanes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bar:
    """An item of whole days. `first` and `last` are indexes of days in the window; the last day is included."""

    first: int
    last: int
    item: Any


@dataclass(frozen=True, slots=True)
class Block:
    """An item from one minute of the axis to another. If not all fit, items with a lower `rank` are shown."""

    start: int
    end: int
    rank: int
    item: Any


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A lane's entry: one item, or the sum of several items that did not fit. `lanes` is the number of lanes."""

    start: int
    end: int
    lane: int
    lanes: int
    items: tuple[Any, ...]
    is_sum: bool = False


def rows_of(bars: Iterable[Bar]) -> list[list[Bar]]:
    """Return the fewest rows in which no two bars share a day; earlier, then longer bars come first."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: (bar.first, -bar.last)):
        row = next((row for row in rows if row[-1].last < bar.first), None)
        if row is None:
            rows.append([bar])
        else:
            row.append(bar)
    return rows


def assign_lanes(blocks: Iterable[Block], most: int) -> Iterator[PlacedBlock]:
    """Yield blocks in at most `most` lanes, and sums of the other blocks in one more lane, ordered by start."""
    for group in _overlapping_groups(sorted(blocks, key=lambda block: (block.start, -block.end))):
        lanes, unplaced = _fill_lanes(group, most)
        if unplaced:  # once more in the order of rank, so that the lowest ranks are shown
            lanes, unplaced = _fill_lanes(sorted(group, key=lambda block: (block.rank, block.start, -block.end)), most)
            unplaced.sort(key=lambda block: (block.start, -block.end))
        count = len(lanes) + bool(unplaced)
        placed = [
            PlacedBlock(block.start, block.end, number, count, (block.item,))
            for number, lane in enumerate(lanes)
            for block in lane
        ]
        for rest in _overlapping_groups(unplaced):
            end = max(block.end for block in rest)
            placed.append(PlacedBlock(rest[0].start, end, len(lanes), count, tuple(block.item for block in rest), True))
        yield from sorted(placed, key=lambda each: (each.start, each.lane))


def _fill_lanes(group: list[Block], most: int) -> tuple[list[list[Block]], list[Block]]:
    """Put each block into the first lane that is free. Return the lanes, and the blocks that did not fit."""
    lanes: list[list[Block]] = []
    unplaced: list[Block] = []
    for block in group:
        lane = next((lane for lane in lanes if all(_are_apart(block, other) for other in lane)), None)
        if lane is not None:
            lane.append(block)
        elif len(lanes) < most:
            lanes.append([block])
        else:
            unplaced.append(block)
    return lanes, unplaced


def _are_apart(one: Block, other: Block) -> bool:
    return one.end <= other.start or other.end <= one.start


def _overlapping_groups(blocks: list[Block]) -> Iterator[list[Block]]:
    """Yield groups of blocks in which each block overlaps an earlier one. `blocks` are ordered by start."""
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
