"""Rules in wall times: days x times x zone, and what becomes of times that clocks skip or repeat."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import chain

from recurrence.days import LAST_DAY, DateRule
from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, Schedule, between, just_before
from recurrence.times import Times
from recurrence.zones import (
    DAY,
    EPOCH,
    EPOCH_DAY,
    Fold,
    Gap,
    OffsetPeriod,
    StableRange,
    day_and_second,
    instant_at,
    offset_period_at,
    repeated_by,
    stable_range_at,
)

ONE_SECOND = timedelta(seconds=1)
ONE_DAY = timedelta(days=1)
FIRST_WALL_TIME = (date.min.toordinal() - EPOCH_DAY) * DAY
MAX_EMPTY_PERIODS = 100  # a rule without a fire time in so many offset periods has only skipped wall times


class WallClock:
    """Base of schedules that name their fire times as wall times in a zone.

    `gap` says what happens with a wall time that clocks skip, `fold` with one that they show twice.  Wall times are
    whole seconds, see `recurrence.zones`.
    """

    __slots__ = ()
    zone: tzinfo
    gap: Gap
    fold: Fold

    def wall_times(self, first: int, beyond: int) -> Iterator[int]:
        """Yield the wall times in [first, beyond), whether clocks show them or not."""
        wall_time = self._wall_time_on_or_after(first)
        while wall_time is not None and wall_time < beyond:
            yield wall_time
            wall_time = self._wall_time_on_or_after(wall_time + 1)

    def _wall_time_on_or_after(self, wall_time: int) -> int | None:
        """Return the first wall time of the schedule that is not earlier than `wall_time`; None: there is none."""
        raise NotImplementedError

    def _after_in_zone(self, instant: datetime) -> datetime | None:
        earliest = (instant - EPOCH) // ONE_SECOND + 1
        for _ in range(MAX_EMPTY_PERIODS):
            period = offset_period_at(self.zone, earliest)
            fire = self._first_in(period, earliest)
            if fire is not None:
                return instant_at(fire)
            wall_time = self._wall_time_on_or_after(period.end + min(period.offset, period.after))
            if wall_time is None:
                return None
            earliest = max(period.end, wall_time - DAY)  # every zone is less than a day away from UTC
        return None

    def _first_in(self, period: OffsetPeriod, earliest: int) -> int | None:
        """Return the first fire time in [earliest, end of the period); `earliest` lies in the period."""
        offset = period.offset
        lowest, beyond = earliest + offset, period.end + offset
        if self.fold is Fold.FIRST and period.before > offset:
            lowest = max(lowest, period.start + period.before)
        if self.fold is Fold.SECOND and period.after < offset:
            beyond = period.end + period.after
        wall_time = self._wall_time_on_or_after(lowest)
        fire = wall_time - offset if wall_time is not None and wall_time < beyond else None

        if period.before < offset and self.gap is not Gap.SKIP:
            skipped = self._wall_time_on_or_after(earliest + period.before)
            if skipped is not None and skipped < period.start + offset:
                if self.gap is Gap.SHIFT:
                    shifted = skipped - period.before
                    return shifted if fire is None else min(fire, shifted)
                if earliest == period.start:
                    return period.start
        return fire


@dataclass(frozen=True, slots=True)
class CalendarRule(WallClock):
    """The times `times` on the days `days`, as wall times in `zone`."""

    days: DateRule
    times: Times
    zone: tzinfo
    gap: Gap = Gap.END
    fold: Fold = Fold.FIRST

    def after(self, instant: datetime) -> datetime | None:
        if self.zone is not UTC:
            return self._after_in_zone(instant)
        instant = instant.astimezone(UTC)
        found = self._on_or_after(instant.date(), instant.hour * 3600 + instant.minute * 60 + instant.second + 1)
        return found and EPOCH + timedelta(found[0].toordinal() - EPOCH_DAY, found[1])

    def count_before(self, instant: datetime) -> int:
        """Return how many fire times lie before `instant`: by arithmetic in UTC, one by one in other zones."""
        if self.zone is not UTC:
            return sum(1 for _ in between(self, FIRST_INSTANT, instant))
        day, second = day_and_second(instant)
        total = self.days.count_before(day) * self.times.per_day
        if self.days.on_or_after(day) == day:
            total += self.times.count_before(second)
        return total

    def _on_or_after(self, day: date, second: int) -> tuple[date, int] | None:
        """Return the first day and second of the day of the rule that are not earlier than these wall times."""
        time = self.times.on_or_after(second)
        if time is None:
            if day == date.max:
                return None
            day, time = day + ONE_DAY, self.times.first
        found = self.days.on_or_after(day)
        if found is None:
            return None
        return found, time if found == day else self.times.first

    def _wall_time_on_or_after(self, wall_time: int) -> int | None:
        day, second = divmod(max(wall_time, FIRST_WALL_TIME), DAY)
        if day + EPOCH_DAY > LAST_DAY:
            return None
        found = self._on_or_after(date.fromordinal(day + EPOCH_DAY), second)
        return found and (found[0].toordinal() - EPOCH_DAY) * DAY + found[1]


def in_zone_by_cron(rule: Schedule, zone: tzinfo, is_interval: bool) -> Schedule:
    """Return the schedule of a cron rule in the wall times of `zone`; clock changes follow the rule of Cronos.

    Times in a gap fire once when the gap ends, fixed times and intervals alike.  A time that clocks show twice fires
    the first time only; that of an interval fires both times.
    """
    if zone is UTC:
        return rule
    return ZonedRule(rule, zone, Gap.END, Fold.BOTH if is_interval else Fold.FIRST)


@dataclass(frozen=True, slots=True)
class ZonedRule(WallClock):
    """The fire times of `rule`, a schedule in UTC, taken as wall times in `zone`."""

    rule: Schedule
    zone: tzinfo
    gap: Gap = Gap.END
    fold: Fold = Fold.FIRST

    def after(self, instant: datetime) -> datetime | None:
        parts = iter(stable_range_at(self.zone, instant.year))
        for low, high, offset in parts:
            if low <= instant < high:
                wall = self.rule.after(instant + offset)
                if wall is None:
                    return None
                fire = wall - offset
                if fire < high:
                    return fire
                # the parts in between have no wall time of the rule, neither a skipped nor a repeated one
                return self._fast_instant(wall, parts) or self._after_in_zone(instant)
        return self._after_in_zone(instant)

    def _fast_instant(self, wall: datetime, parts: Iterator[StableRange]) -> datetime | None:
        """Return the instant of a wall time that lies in one of these parts, or in a stable range of its own year.

        None: the wall time is near a clock change.
        """
        for low, high, offset in chain(parts, stable_range_at(self.zone, wall.year)):
            fire = wall - offset
            if low <= fire < high:
                return fire
        return None

    def _wall_time_on_or_after(self, wall_time: int) -> int | None:
        at = instant_at(wall_time)
        found = None if at is None else self.rule.after(just_before(at))
        return None if found is None else (found - EPOCH) // ONE_SECOND


@dataclass(frozen=True, slots=True)
class QuartzSchedule:
    """Quartz's own rule for clock changes: a skipped time is left out, a repeated one fires the second time.

    Quartz searches by wall times, from the next second on, and takes a repeated wall time for the second one.  So a
    search that begins in the first pass of a repeated hour goes on from the same wall time in the second pass.
    """

    zoned: ZonedRule

    def after(self, instant: datetime) -> datetime | None:
        if instant > LAST_INSTANT - ONE_SECOND:
            return None
        return self.zoned.after(instant + repeated_by(self.zoned.zone, instant + ONE_SECOND))
