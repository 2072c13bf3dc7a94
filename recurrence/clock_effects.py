"""What the clock changes of a zone do to the fire times of a schedule."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import islice, pairwise

from recurrence.clock_changes import wall_clock_of
from recurrence.composites import Skipping, WithExtras
from recurrence.counting import count_within
from recurrence.english_words import clock, listed
from recurrence.language import ENGLISH
from recurrence.open_days import OnOpenDays
from recurrence.rules import WallClock
from recurrence.schedules import Schedule, between, just_after, just_before
from recurrence.zones import DAY, EPOCH, SECOND, Fold, Gap, instant_at, offset_period_at

MOST_LISTED = 3  # wall times in one sentence
NEIGHBOURHOOD = timedelta(minutes=90)  # before and after a change, where the fire times of an interval are looked at
STEPS = 100  # such fire times on each side


class Effect(StrEnum):
    """What happens with the wall times of a schedule that clocks skip or show twice."""

    LEFT_OUT = "leftOut"  # they do not fire
    MOVED = "moved"  # they fire later
    DOUBLED = "doubled"  # they fire both times
    NONE = "none"  # they fire once, or an interval goes on evenly


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """A clock change of a zone at an instant.  Offsets are seconds; wall times are as in `recurrence.zones`."""

    zone: tzinfo
    at: datetime
    offset_before: int
    offset_after: int

    @property
    def is_gap(self) -> bool:
        """True if clocks go forward and skip wall times; False if they go back and show wall times twice."""
        return self.offset_after > self.offset_before

    @property
    def day(self) -> date:
        """The day on the clocks of the zone."""
        return self.at.astimezone(self.zone).date()

    @property
    def first(self) -> int:
        """The first wall time that is skipped or repeated."""
        return (self.at - EPOCH) // SECOND + min(self.offset_before, self.offset_after)

    @property
    def beyond(self) -> int:
        """The wall time after the last one that is skipped or repeated."""
        return (self.at - EPOCH) // SECOND + max(self.offset_before, self.offset_after)


@dataclass(frozen=True, slots=True)
class ClockEffect:
    """The effect of a clock change on a schedule, and a sentence about it."""

    change: ZoneChange
    effect: Effect
    text: str


def changes_of(zone: tzinfo, start: datetime, end: datetime) -> Iterator[ZoneChange]:
    """Yield the clock changes of a zone in [start, end), earliest first."""
    if zone is UTC:
        return
    second, beyond = (just_before(start) - EPOCH) // SECOND, -((EPOCH - end) // SECOND)
    while (period := offset_period_at(zone, second)).end < beyond:
        at = instant_at(period.end)
        if at is not None and period.after != period.offset:
            yield ZoneChange(zone, at, period.offset, period.after)
        second = period.end


def effects_of(schedule: Schedule, start: datetime, end: datetime) -> list[ClockEffect]:
    """Return the effects of the clock changes in [start, end) on a schedule, earliest first.

    A change has an effect if the schedule has a wall time that it skips or repeats.  The effect may be NONE.  A
    schedule that does not follow clocks has no effects.
    """
    wall, since = wall_clock_of(schedule, just_before(start))
    if wall is None:
        return []
    changes = changes_of(wall.zone, max(start, just_after(since)), end)
    return [effect for change in changes if (effect := _effect_of(schedule, wall, change))]


def effects_within_count(
    effects: Iterable[ClockEffect], schedule: Schedule, since: datetime, fires_left: int | None
) -> list[ClockEffect]:
    """Return the effects of changes that come before the last run.

    The schedule fires `fires_left` more times, the first time at or after `since`; None: without end.
    """
    if fires_left is None:
        return list(effects)
    return [effect for effect in effects if count_within(schedule, since, effect.change.at) < fires_left]


def _effect_of(schedule: Schedule, wall: WallClock, change: ZoneChange) -> ClockEffect | None:
    wall_times = [*islice(wall.wall_times(change.first, change.beyond), MOST_LISTED + 1)]
    if not wall_times or schedule.after(just_before(change.at)) is None or _leaves_out(schedule, change.day):
        return None
    effect = Effect.NONE if _is_even(schedule, change) else _rule_of(wall, change)
    return ClockEffect(change, effect, _sentence(wall, change, wall_times, effect))


def _leaves_out(schedule: Schedule, day: date) -> bool:
    """Return True if a schedule skips this day, or moves its fire times to another day."""
    while isinstance(schedule, Skipping | OnOpenDays | WithExtras):
        if isinstance(schedule, Skipping) and day in schedule.days:
            return True
        if isinstance(schedule, OnOpenDays) and schedule.closed.is_closed(day):
            return True
        schedule = schedule.schedule
    return False


def _rule_of(wall: WallClock, change: ZoneChange) -> Effect:
    if change.is_gap:
        return Effect.LEFT_OUT if wall.gap is Gap.SKIP else Effect.MOVED
    return Effect.DOUBLED if wall.fold is Fold.BOTH else Effect.NONE


def _is_even(schedule: Schedule, change: ZoneChange) -> bool:
    """Return True if the fire times around the change are evenly spaced in elapsed time, as those of an interval."""
    first = schedule.after(just_before(change.at - NEIGHBOURHOOD))
    second = first and schedule.after(first)
    if first is None or second is None:
        return False
    gap = second - first
    reach = min(NEIGHBOURHOOD, STEPS * gap)
    fires = [*between(schedule, change.at - reach, change.at + reach)]
    distances = {later - earlier for earlier, later in pairwise([change.at - reach, *fires, change.at + reach])}
    return max(distances) <= gap and {later - earlier for earlier, later in pairwise(fires)} == {gap}


def _sentence(wall: WallClock, change: ZoneChange, wall_times: list[int], effect: Effect) -> str:
    day = instant_at((change.at - EPOCH) // SECOND + change.offset_before)
    date = ENGLISH.format_date(day) if day else ""
    low, high = clock(change.first % DAY), clock(change.beyond % DAY)
    move = f"forward from {low} to {high}" if change.is_gap else f"back from {high} to {low}"
    is_one = len(wall_times) == 1
    are_listed = len(wall_times) <= MOST_LISTED
    times = listed(clock(each % DAY) for each in wall_times) if are_listed else f"the times from {low} to {high}"
    what = _gap_text(wall, change, wall_times, is_one) if change.is_gap else _fold_text(wall, is_one)
    if effect is Effect.NONE and wall.fold is Fold.BOTH:
        what = "goes on at the same interval" if is_one else "go on at the same interval"
    return f"Clocks in {wall.zone} go {move} on {date}: {times} {what}."


def _gap_text(wall: WallClock, change: ZoneChange, wall_times: list[int], is_one: bool) -> str:
    if wall.gap is Gap.SKIP:
        return "is left out" if is_one else "are left out"
    if wall.gap is Gap.END:
        return f"{'fires' if is_one else 'fire once,'} at {clock(change.beyond % DAY)}"
    if not is_one:
        return "fire later by the size of the gap"
    shifted = wall_times[0] + change.offset_after - change.offset_before
    return f"fires at {clock(shifted % DAY)}"


def _fold_text(wall: WallClock, is_one: bool) -> str:
    happens, fires = ("happens", "fires") if is_one else ("happen", "fire")
    which = {Fold.FIRST: "the first time", Fold.SECOND: "the second time", Fold.BOTH: "both times"}[wall.fold]
    return f"{happens} twice and {fires} {which}"
