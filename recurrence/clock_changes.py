"""Describe in words what clock changes do to fire times."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from recurrence.composites import Bounded, FirstThen, Skipping, WithExtras
from recurrence.english_words import clock, listed
from recurrence.language import ENGLISH
from recurrence.open_days import OnOpenDays
from recurrence.rules import QuartzSchedule, WallClock
from recurrence.schedules import FIRST_INSTANT, Schedule, just_before
from recurrence.zones import DAY, EPOCH, SECOND, Gap, Skipped, instant_at, instants_at, skipped, to_zone

MOST_LISTED = 3  # wall times in one sentence
LONGEST_GAP = timedelta(days=1)


def clock_changes(schedule: Schedule, fires: Sequence[datetime], since: datetime) -> list[str]:
    """Return a text for each fire time: what a clock change did to it; mostly the text is empty.

    `fires` are all fire times after `since` up to the last one, earliest first.  A skipped wall time is described at
    the fire time that takes its place, or at the next one if the wall time is left out.
    """
    wall, since = wall_clock_of(schedule, since)
    if wall is None or wall.zone is UTC:
        return [""] * len(fires)
    return [_format(wall, before, fire) for before, fire in zip((since, *fires), fires, strict=False)]


def wall_clock_of(schedule: Schedule, since: datetime) -> tuple[WallClock | None, datetime]:
    """Return the rule in wall times inside `schedule`, if any, and the instant after which it counts."""
    match schedule:
        case Bounded(inner, start, _):
            return wall_clock_of(inner, since if start is None else max(since, just_before(start)))
        case FirstThen(first, then):
            return wall_clock_of(then, max(since, first))
        case Skipping(inner) | OnOpenDays(inner) | WithExtras(inner):
            return wall_clock_of(inner, since)
        case QuartzSchedule(zoned):
            return zoned, since
        case WallClock():
            return schedule, since
    return None, since


def _format(wall: WallClock, since: datetime, fire: datetime) -> str:
    parts = _shifted_texts(wall, fire) if wall.gap is Gap.SHIFT else _gap_texts(wall, since, fire)
    if parts[1:]:
        parts = [f"{parts[0]}, and so on {len(parts) - 1} more times"]
    which = instants_at(wall.zone, fire)
    if which:
        parts.append(f"{_clock(_wall_time(wall, fire))} happens twice; this is the {('first', 'second')[which - 1]}")
    return "; ".join(parts)


def _gap_texts(wall: WallClock, since: datetime, fire: datetime) -> list[str]:
    """Describe the gaps after `since` whose times are left out, or fire at the end of the gap."""
    parts = []
    for gap in skipped(wall.zone, since, fire):
        wall_times = [*islice(wall.wall_times(gap.first, gap.beyond), MOST_LISTED + 1)]
        if wall_times and wall.gap is Gap.SKIP:
            parts.append(_skipped_text(wall_times, gap))
        elif wall_times and fire == gap.at:
            parts.append(_moved_text(wall, gap.beyond, _times_text(wall_times, gap)))
    return parts


def _shifted_texts(wall: WallClock, fire: datetime) -> list[str]:
    """Describe the wall time in a gap that was shifted to `fire`."""
    parts = []
    for gap in skipped(wall.zone, max(fire, FIRST_INSTANT + LONGEST_GAP) - LONGEST_GAP, fire):
        into = (fire - gap.at) // SECOND
        if gap.first + into < gap.beyond and _has(wall, gap.first + into):
            parts.append(_moved_text(wall, gap.beyond + into, _clock(gap.first + into)))
    return parts


def _moved_text(wall: WallClock, wall_time: int, times: str) -> str:
    """Describe the fire time at `wall_time`, to which skipped times were moved."""
    what = "also takes the place of" if _has(wall, wall_time) else "moved from"
    return f"{what} {times}, which clocks skip"


def _has(wall: WallClock, wall_time: int) -> bool:
    return any(wall.wall_times(wall_time, wall_time + 1))


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
    return (to_zone(instant, wall.zone).replace(tzinfo=UTC) - EPOCH) // SECOND
