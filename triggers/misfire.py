"""Decide which fire times of a due trigger run, and which are recorded as missed.  Pure: the caller passes `now`.

A trigger that is dispatched in time has one due fire time.  After an outage there may be many.  Then those that are
later than the threshold have misfired:

* fire_once runs the newest of all due fire times.  When some are still in time, those run and no late one does.  Thus
  at most one run makes up for the late ones.
* fire_all runs them in order, up to FIRE_ALL_LIMIT; the oldest beyond the limit are missed.
* skip runs those that are still in time; the late ones are missed.

A missed fire time does not use up the run budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from recurrence.schedules import Schedule
from triggers.models import Trigger

FIRE_ALL_LIMIT = 100
SINGLE_LIMIT = 1000  # more missed fire times than this become one row with a count
STEPS = 10_000  # fire times examined in one pass; a trigger that is further behind is due again in the next pass


@dataclass(frozen=True, slots=True)
class MissedRange:
    """Fire times that do not run: `count` of them, from `first` to `last`, both included."""

    first: datetime
    last: datetime
    count: int = 1


@dataclass(frozen=True, slots=True)
class FirePlan:
    """What one pass does with a due trigger: run `fires`, record `missed`, wait until `next_fire_at`.

    `next_fire_at` is None when the trigger never fires again.  It is not later than now when the pass stopped at STEPS.
    """

    fires: tuple[datetime, ...]
    missed: tuple[MissedRange, ...]
    next_fire_at: datetime | None

    @property
    def last_fire_at(self) -> datetime | None:
        """The latest fire time of the plan, None if there is none; missed ones lie before those that run."""
        return self.fires[-1] if self.fires else self.missed[-1].last if self.missed else None


def plan_fires(
    schedule: Schedule,
    due_at: datetime,
    now: datetime,
    policy: str,
    threshold: timedelta,
    fires_left: int | None = None,
) -> FirePlan:
    """Plan what a pass at `now` does with a trigger that is due since `due_at`.

    `fires_left` is the trigger's run budget; None: no limit.
    """
    due_times, next_fire_at = _due_times(schedule, due_at, now)
    oldest_in_time = now - threshold
    if next_fire_at is not None and next_fire_at <= now and due_times[-1] < oldest_in_time:
        postponed = FIRE_ALL_LIMIT if policy == Trigger.Misfire.FIRE_ALL else 1
        # the next pass finds the newest fire times and decides about the postponed ones
        return FirePlan((), _bounded(due_times[:-postponed]), due_times[-postponed])
    first = _first_to_fire(due_times, oldest_in_time, policy)
    return _within_budget(tuple(due_times[first:]), _bounded(due_times[:first]), next_fire_at, fires_left)


def _due_times(schedule: Schedule, due_at: datetime, now: datetime) -> tuple[list[datetime], datetime | None]:
    """Return the fire times in [due_at, now], at most STEPS, and the one after them."""
    due_times: list[datetime] = []
    fire: datetime | None = due_at
    while fire is not None and fire <= now and len(due_times) < STEPS:
        due_times.append(fire)
        fire = schedule.after(fire)
    return due_times, fire


def _first_to_fire(due_times: Sequence[datetime], oldest_in_time: datetime, policy: str) -> int:
    """Return the index of the first fire time that runs; all after it run too."""
    first_in_time = next((index for index, fire in enumerate(due_times) if fire >= oldest_in_time), len(due_times))
    if policy == Trigger.Misfire.FIRE_ALL:
        return min(first_in_time, max(0, len(due_times) - FIRE_ALL_LIMIT))
    if policy == Trigger.Misfire.FIRE_ONCE:
        return min(first_in_time, len(due_times) - 1)
    return first_in_time


def _bounded(times: Sequence[datetime]) -> tuple[MissedRange, ...]:
    if len(times) > SINGLE_LIMIT:
        return (MissedRange(times[0], times[-1], len(times)),)
    return tuple(MissedRange(fire, fire) for fire in times)


def _within_budget(
    fires: tuple[datetime, ...], missed: tuple[MissedRange, ...], next_fire_at: datetime | None, fires_left: int | None
) -> FirePlan:
    """Limit the plan to the run budget.

    A trigger whose budget is used up has no further fire times, not even missed ones.
    """
    if fires_left is not None and len(fires) >= fires_left:
        return FirePlan(fires[:fires_left], missed, None)
    return FirePlan(fires, missed, next_fire_at)
