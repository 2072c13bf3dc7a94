"""The geometry of charts: turn numbers into shapes for an SVG.  Knows no rows and no templates."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

WIDTH = 840.0

# Results by hour, in one scale: successful and due runs are drawn above the base line, failed, missed and skipped runs
# below it
LEFT, TOP, BOTTOM = 34.0, 22.0, 158.0
BELOW = 3.0  # between the base line and the parts below it
GAP = 6.0  # between two bars
SEAM = 1.5  # between two parts of a bar
MIN_BAR_PX = 2.0  # least height of a part with a count above 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """The results of the runs planned for one hour; `due` counts the runs still to come.

    `words` says the same in text.  `url` is the address of the runs; if it is empty, the bar is not a link.
    """

    label: str = ""
    words: str = ""
    url: str = ""
    ran: int = 0
    late: int = 0
    failed: int = 0
    missed: int = 0
    skipped: int = 0
    due: int = 0

    @property
    def above_base(self) -> int:
        return max(self.ran + self.late, self.due)

    @property
    def below_base(self) -> int:
        return self.failed + self.missed + self.skipped


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a bar; `kind` is the name of the part in Hour."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    hour: Hour
    middle: float
    slot: Box  # the whole column, which reacts to a click
    parts: Sequence[Box]


@dataclass(frozen=True, slots=True)
class Chart:
    bars: Sequence[Bar]
    grid: Sequence[tuple[float, str]]  # height of a line, and its label
    base_y: float  # of the base line
    now_x: float  # of the present moment


def hours_chart(hours: Sequence[Hour]) -> Chart:
    """Return a chart with a bar for each hour.  Now is before the first hour with runs to come."""
    highest = max((hour.above_base for hour in hours), default=0)
    lowest = max((hour.below_base for hour in hours), default=0)
    step = _round_step(highest + lowest)
    above, under = max(1, ceil(highest / step)), ceil(lowest / step)  # lines of the grid
    scale = (BOTTOM - TOP - (BELOW if under else 0)) / ((above + under) * step)
    base = TOP + above * step * scale
    width = (WIDTH - LEFT) / max(len(hours), 1)
    bars = [_bar(hour, LEFT + index * width, width, base, scale) for index, hour in enumerate(hours)]
    past = sum(1 for hour in hours if not hour.due)
    grid = [(_px(base - number * step * scale), f"{number * step:,}") for number in range(1, above + 1)]
    grid += [(_px(base + BELOW + number * step * scale), f"{number * step:,}") for number in range(1, under + 1)]
    return Chart(bars, grid, _px(base), _px(LEFT + past * width))


def _bar(hour: Hour, x: float, width: float, base: float, scale: float) -> Bar:
    parts = []
    foot = base
    for kind, count in (("late", hour.late), ("ran", hour.ran), ("due", hour.due)):
        if count:
            height = max(count * scale, MIN_BAR_PX)
            parts.append(_box(kind, x + GAP / 2, foot - height, width - GAP, height))
            foot -= height + SEAM
    head = base + BELOW
    for kind, count in (("failed", hour.failed), ("missed", hour.missed), ("skipped", hour.skipped)):
        if count:
            height = max(count * scale, MIN_BAR_PX)
            parts.append(_box(kind, x + GAP / 2, head, width - GAP, height))
            head += height + SEAM
    return Bar(hour, _px(x + width / 2), _box("slot", x, TOP, width, BOTTOM - TOP), parts)


def _round_step(top: int) -> int:
    """Return a third of the scale: 1, 2 or 5 times a power of ten, so that three steps reach `top`."""
    third = max(1, ceil(top / 3))
    unit = 10 ** int(log10(third))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= third)


# The next two hours: a mark for each start; several starts in one minute are stacked

NOW_X, END_X, AXIS = 8.0, 832.0, 54.0
STACK = 9  # highest number of stacked marks; more are drawn as a bar with their number


@dataclass(frozen=True, slots=True)
class Stack:
    x: float
    dots: Sequence[float]  # heights of the marks
    count: int = 0  # written as a number instead of marks


def stack_dots(minute: float, span: float, count: int) -> Stack:
    """Return the marks of `count` starts, `minute` minutes from now on an axis of `span` minutes."""
    x = x_position(minute, span)
    if count > STACK:
        return Stack(x, (), count)
    return Stack(x, tuple(_px(AXIS - 7 - number * 5.2) for number in range(count)))


def x_position(minute: float, span: float) -> float:
    return _px(NOW_X + minute / span * (END_X - NOW_X))


def _box(kind: str, x: float, y: float, width: float, height: float) -> Box:
    return Box(kind, _px(x), _px(y), _px(width), _px(height))


def _px(number: float) -> float:
    return round(number, 1)
