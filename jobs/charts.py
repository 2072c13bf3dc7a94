"""The geometry of charts: numbers in, shapes for a server-made SVG out.  Knows neither rows nor templates."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

WIDTH = 840.0

# outcomes by the hour: what ran stands on the line, what failed hangs from it
LEFT, BASE, HEIGHT, FALL = 34.0, 130.0, 108.0, 27.0
GAP = 6.0  # between two bars
SLIVER = 2.0  # the least height of a part that is there at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """What became of the runs planned for one hour; `due` are those still to come."""

    label: str = ""
    ran: int = 0
    late: int = 0
    failed: int = 0
    due: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    middle: float
    label: str
    failed: int
    ran: Box | None
    late: Box | None
    fell: Box | None
    due: Box | None


@dataclass(frozen=True, slots=True)
class Chart:
    bars: Sequence[Bar]
    grid: Sequence[tuple[float, str]]  # height of a line, what it stands for
    here: float  # where now is


def hours_chart(hours: Sequence[Hour]) -> Chart:
    """A bar for each hour; now stands before the first hour that has only runs to come."""
    step = _round_step(max((max(hour.ran + hour.late, hour.due) for hour in hours), default=0))
    scale = HEIGHT / (3 * step)
    worst = max((hour.failed for hour in hours), default=0)
    slot = (WIDTH - LEFT) / max(len(hours), 1)
    bars = []
    for place, hour in enumerate(hours):
        x, width = LEFT + GAP / 2 + place * slot, slot - GAP
        late = max(hour.late * scale, SLIVER) if hour.late else 0.0
        ran = max(hour.ran * scale, SLIVER) if hour.ran else 0.0
        gap = 1.5 if late and ran else 0.0
        fell = max(hour.failed / worst * FALL, 4.0) if hour.failed else 0.0
        due = max(hour.due * scale, SLIVER)
        bars.append(
            Bar(
                middle=_px(x + width / 2),
                label=hour.label,
                failed=hour.failed,
                ran=_box(x, BASE - late - gap - ran, width, ran) if ran else None,
                late=_box(x, BASE - late, width, late) if late else None,
                fell=_box(x, BASE + 3, width, fell) if fell else None,
                due=_box(x, BASE - due, width, due) if hour.due else None,
            )
        )
    past = sum(1 for hour in hours if not hour.due)
    grid = [(_px(BASE - number * step * scale), f"{number * step:,}") for number in (1, 2, 3)]
    return Chart(bars, grid, _px(LEFT + past * slot))


def _round_step(top: int) -> int:
    """A third of the scale: 1, 2 or 5 times a power of ten, so that three of them hold `top`."""
    third = max(1, ceil(top / 3))
    unit = 10 ** int(log10(third))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= third)


# the next two hours: a mark for each start, stacked where more start in the same minute

NOW_X, END_X, AXIS = 8.0, 832.0, 54.0
STACK = 9  # marks on top of each other; more are a bar with their number


@dataclass(frozen=True, slots=True)
class Stack:
    x: float
    dots: Sequence[float]  # heights of the marks
    count: int = 0  # said instead of drawn


def stack(minute: float, span: float, count: int) -> Stack:
    """The marks of `count` starts, `minute` minutes from now on a ruler of `span` minutes."""
    x = place(minute, span)
    if count > STACK:
        return Stack(x, (), count)
    return Stack(x, tuple(_px(AXIS - 7 - number * 5.2) for number in range(count)))


def place(minute: float, span: float) -> float:
    return _px(NOW_X + minute / span * (END_X - NOW_X))


def _box(x: float, y: float, width: float, height: float) -> Box:
    return Box(_px(x), _px(y), _px(width), _px(height))


def _px(number: float) -> float:
    return round(number, 1)
