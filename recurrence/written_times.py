"""The wall times of a schedule on a day on which clocks skip some of them."""

from dataclasses import dataclass
from datetime import datetime, tzinfo

from recurrence.composites import Bounded, Skipping
from recurrence.rules import WallClock
from recurrence.schedules import Schedule, just_before
from recurrence.zones import DAY, EPOCH, EPOCH_DAY, SECOND, Gap, Skipped, instant_at, skipped, start_of_day


@dataclass(frozen=True, slots=True)
class WrittenTimes:
    """The fire times of `schedule` on the day of a gap, at the wall times that its rule `wall` has, as if in UTC.

    A fire time that the gap has moved is at its own wall time, which clocks skip.
    """

    schedule: Schedule
    wall: WallClock
    gap: Skipped

    def after(self, written: datetime) -> datetime | None:
        """Return the first wall time on the day that is later than `written`; None: there is none."""
        lowest = (written - EPOCH) // SECOND + 1
        beyond = (self.gap.first // DAY + 1) * DAY
        while (wall_time := next(self.wall.wall_times(lowest, beyond), None)) is not None:
            instant = self._instant_of(wall_time)
            fire = self.schedule.after(just_before(instant))
            if fire == instant:
                return instant_at(wall_time)
            if fire is None:
                return None
            lowest = max(wall_time + 1, self._lowest_wall_time(fire))
        return None

    def instant_of(self, written: datetime) -> datetime:
        """Return the fire time that the schedule has for a wall time."""
        return self._instant_of((written - EPOCH) // SECOND)

    def _instant_of(self, wall_time: int) -> datetime:
        gap = self.gap
        if wall_time >= gap.beyond:
            return gap.at + (wall_time - gap.beyond) * SECOND
        if wall_time >= gap.first and self.wall.gap is Gap.END:
            return gap.at
        return gap.at + (wall_time - gap.first) * SECOND

    def _lowest_wall_time(self, fire: datetime) -> int:
        """Return the lowest wall time that can fire at this instant."""
        gap, passed = self.gap, (fire - self.gap.at) // SECOND
        last = gap.beyond - gap.first if self.wall.gap is Gap.SHIFT else 1
        return (gap.first if passed < last else gap.beyond) + passed


def written_times(schedule: Schedule, day: int, zone: tzinfo) -> WrittenTimes | None:
    """Return the wall times on the day with this ordinal; None: a gap moves none of the fire times of that day."""
    wall = _wall_clock_in(schedule)
    if wall is None or wall.gap is Gap.SKIP or wall.zone != zone:
        return None
    midnight = (day - EPOCH_DAY) * DAY
    for gap in skipped(zone, start_of_day(day, zone) - SECOND, start_of_day(day + 1, zone)):
        if midnight <= gap.first and gap.beyond < midnight + DAY:
            return WrittenTimes(schedule, wall, gap)
    return None


def _wall_clock_in(schedule: Schedule) -> WallClock | None:
    while isinstance(schedule, Bounded | Skipping):
        schedule = schedule.schedule
    return schedule if isinstance(schedule, WallClock) else None
