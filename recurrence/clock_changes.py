"""What changes of the clocks do to fire times, in words for whoever looks at them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from recurrence.combine import Limited
from recurrence.english import MONTHS, clock, listed
from recurrence.rules import WallClock
from recurrence.schedules import Schedule, just_before
from recurrence.wire.quartz import AsQuartz
from recurrence.zones import DAY, EPOCH, SECOND, Gap, Skipped, instant_at, showing, skipped

MOST_SAID = 3  # readings in one sentence


def clock_changes(schedule: Schedule, fires: Sequence[datetime], since: datetime) -> list[str]:
    """For each of the fire times, which follow each other from `since` on: what a change did to it, mostly nothing.

    A reading that clocks skip is told at the fire time that takes its place, or at the next one if it is left out.
    """
    wall, since = _wall_clock(schedule, since)
    if wall is None or wall.zone is UTC:
        return [""] * len(fires)
    return [_told(wall, before, fire) for before, fire in zip((since, *fires), fires, strict=False)]


def _wall_clock(schedule: Schedule, since: datetime) -> tuple[WallClock | None, datetime]:
    """The rule by the clocks of a zone that is in `schedule`, if any, and from when it counts."""
    match schedule:
        case Limited(inner, start, _):
            return _wall_clock(inner, since if start is None else max(since, just_before(start)))
        case AsQuartz(zoned):
            return zoned, since
        case WallClock():
            return schedule, since
    return None, since


def _told(wall: WallClock, since: datetime, fire: datetime) -> str:
    said = []
    for gap in skipped(wall.zone, since, fire):
        readings = [*islice(wall.readings(gap.first, gap.beyond), MOST_SAID + 1)]
        if readings and wall.gap is Gap.SKIP:
            said.append(_left_out(readings, gap))
        elif readings and (fire == gap.at or (wall.gap is Gap.SHIFT and _takes_the_place(fire, readings, gap))):
            said.append(f"moved from {_clocks(readings, gap)}, which clocks skip")
    if said[1:]:
        said = [f"{said[0]}, and so on {len(said) - 1} more times"]
    which = showing(wall.zone, fire)
    if which:
        said.append(f"{_clock(_reading(wall, fire))} happens twice; this is the {('first', 'second')[which - 1]}")
    return "; ".join(said)


def _takes_the_place(fire: datetime, readings: list[int], gap: Skipped) -> bool:
    return timedelta(seconds=readings[-1] - gap.first) == fire - gap.at


def _left_out(readings: list[int], gap: Skipped) -> str:
    day = instant_at(readings[0])
    date = f"{day.day} {MONTHS[day.month - 1]} {day.year}" if day else ""
    verb, it = ("is", "it") if len(readings) == 1 else ("are", "them")
    return f"{_clocks(readings, gap)} on {date} {verb} left out: clocks skip {it}"


def _clocks(readings: list[int], gap: Skipped) -> str:
    if len(readings) > MOST_SAID:
        return f"its times from {_clock(gap.first)} to {_clock(gap.beyond)}"
    return listed(map(_clock, readings))


def _clock(reading: int) -> str:
    return clock(reading % DAY)


def _reading(wall: WallClock, instant: datetime) -> int:
    return (instant.astimezone(wall.zone).replace(tzinfo=UTC) - EPOCH) // SECOND
