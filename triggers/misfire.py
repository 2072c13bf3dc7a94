"""Decide which fire times of a due trigger run, and which are recorded as missed.  Pure: the caller brings `now`.

A trigger that is visited in time has one fire time that has come.  After an outage there may be many, and then those
that are later than the threshold have misfired:

* fire_once runs the newest of all that have come; when some are still in time, those run and no late one does.  A job
  is thus caught up once.
* fire_all runs them in order, up to FIRE_ALL_LIMIT; the oldest beyond it are missed.
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
STEPS = 10_000  # fire times walked at one visit; a trigger that is further behind is visited again


@dataclass(frozen=True, slots=True)
class Missed:
    """Fire times that do not run: `count` of them, from `first` to `last`."""

    first: datetime
    last: datetime
    count: int = 1


@dataclass(frozen=True, slots=True)
class FirePlan:
    """What one visit to a due trigger does: run `fires`, record `missed`, wait until `next_fire_at`.

    `next_fire_at` is None when it never fires again, and not later than now when the visit did not get to the end.
    """

    fires: tuple[datetime, ...]
    missed: tuple[Missed, ...]
    next_fire_at: datetime | None

    @property
    def last(self) -> datetime | None:
        """The latest fire time that is dealt with; missed ones lie before those that run."""
        return self.fires[-1] if self.fires else self.missed[-1].last if self.missed else None


def plan_fires(
    schedule: Schedule,
    due_at: datetime,
    now: datetime,
    policy: str,
    threshold: timedelta,
    fires_left: int | None = None,
) -> FirePlan:
    """Plan a visit at `now` to a trigger that is due since `due_at`; `fires_left` is its run budget, None: no limit."""
    come, next_fire_at = _walk(schedule, due_at, now)
    oldest_in_time = now - threshold
    if next_fire_at is not None and next_fire_at <= now and come[-1] < oldest_in_time:
        kept = FIRE_ALL_LIMIT if policy == Trigger.Misfire.FIRE_ALL else 1
        return FirePlan((), _recorded(come[:-kept]), come[-kept])  # the newest are still to be found
    first = _first_to_fire(come, oldest_in_time, policy)
    return _within_budget(tuple(come[first:]), _recorded(come[:first]), next_fire_at, fires_left)


def _walk(schedule: Schedule, due_at: datetime, now: datetime) -> tuple[list[datetime], datetime | None]:
    """The fire times from `due_at` up to `now`, at most STEPS, and the one after them."""
    come: list[datetime] = []
    fire: datetime | None = due_at
    while fire is not None and fire <= now and len(come) < STEPS:
        come.append(fire)
        fire = schedule.after(fire)
    return come, fire


def _first_to_fire(come: Sequence[datetime], oldest_in_time: datetime, policy: str) -> int:
    """The index of the first fire time that runs; all from there on do."""
    in_time = next((index for index, fire in enumerate(come) if fire >= oldest_in_time), len(come))
    if policy == Trigger.Misfire.FIRE_ALL:
        return min(in_time, max(0, len(come) - FIRE_ALL_LIMIT))
    if policy == Trigger.Misfire.FIRE_ONCE:
        return min(in_time, len(come) - 1)
    return in_time


def _recorded(times: Sequence[datetime]) -> tuple[Missed, ...]:
    if len(times) > SINGLE_LIMIT:
        return (Missed(times[0], times[-1], len(times)),)
    return tuple(Missed(fire, fire) for fire in times)


def _within_budget(
    fires: tuple[datetime, ...], missed: tuple[Missed, ...], next_fire_at: datetime | None, fires_left: int | None
) -> FirePlan:
    """A trigger whose budget is used up has no further fire times, not even missed ones."""
    if fires_left is not None and len(fires) >= fires_left:
        return FirePlan(fires[:fires_left], missed, None)
    return FirePlan(fires, missed, next_fire_at)
