"""Describe in words what clock changes do to fire times."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from recurrence.composites import Bounded
from recurrence.english_words import clock, listed
from recurrence.language import ENGLISH
from recurrence.rules import QuartzSchedule, WallClock
from recurrence.schedules import Schedule, just_before
from recurrence.zones import DAY, EPOCH, SECOND, Gap, Skipped, instant_at, instants_at, skipped

MOST_LISTED = 3  # wall times in one sentence


def clock_changes(schedule: Schedule, fires: Sequence[datetime], since: datetime) -> list[str]:
    """Return a text for each fire time: what a clock change did to it; mostly the text is empty.

    `fires` are all fire times after `since` up to the last one, earliest first.  A skipped wall time is described at
    the fire time that takes its place, or at the next one if the wall time is left out.
    """
    wall, since = _wall_clock(schedule, since)
    if wall is None or wall.zone is UTC:
        return [""] * len(fires)
    return [_format(wall, before, fire) for before, fire in zip((since, *fires), fires, strict=False)]


def _wall_clock(schedule: Schedule, since: datetime) -> tuple[WallClock | None, datetime]:
    """Return the rule in wall times inside `schedule`, if any, and the instant after which it counts."""
    match schedule:
        case Bounded(inner, start, _):
            return _wall_clock(inner, since if start is None else max(since, just_before(start)))
        case QuartzSchedule(zoned):
            return zoned, since
        case WallClock():
            return schedule, since
    return None, since


def _format(wall: WallClock, since: datetime, fire: datetime) -> str:
    parts = []
    for gap in skipped(wall.zone, since, fire):
        wall_times = [*islice(wall.wall_times(gap.first, gap.beyond), MOST_LISTED + 1)]
        if wall_times and wall.gap is Gap.SKIP:
            parts.append(_skipped_text(wall_times, gap))
        elif wall_times and (fire == gap.at or (wall.gap is Gap.SHIFT and _is_shifted(fire, wall_times, gap))):
            is_own_time = wall.gap is Gap.END and any(wall.wall_times(gap.beyond, gap.beyond + 1))
            what = "also takes the place of" if is_own_time else "moved from"
            parts.append(f"{what} {_times_text(wall_times, gap)}, which clocks skip")
    if parts[1:]:
        parts = [f"{parts[0]}, and so on {len(parts) - 1} more times"]
    which = instants_at(wall.zone, fire)
    if which:
        parts.append(f"{_clock(_wall_time(wall, fire))} happens twice; this is the {('first', 'second')[which - 1]}")
    return "; ".join(parts)


def _is_shifted(fire: datetime, wall_times: list[int], gap: Skipped) -> bool:
    """Return True if `fire` is the instant to which the last of the skipped wall times was shifted."""
    return timedelta(seconds=wall_times[-1] - gap.first) == fire - gap.at


def _skipped_text(wall_times: list[int], gap: Skipped) -> str:
    day = instant_at(wall_times[0])
    date = ENGLISH.format_date(day) if day else ""
    verb, it = ("is", "it") if len(wall_times) == 1 else ("are", "them")
    return f"{_times_text(wall_times, gap)} on {date} {verb} left out: clocks skip {it}"


def _times_text(wall_times: list[int], gap: Skipped) -> str:
    if len(wall_times) > MOST_LISTED:
        return f"its times from {_clock(gap.first)} to {_clock(gap.beyond)}"
    return listed(map(_clock, wall_times))


def _clock(wall_time: int) -> str:
    return clock(wall_time % DAY)


def _wall_time(wall: WallClock, instant: datetime) -> int:
    return (instant.astimezone(wall.zone).replace(tzinfo=UTC) - EPOCH) // SECOND
