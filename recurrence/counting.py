"""Count the fire times of a schedule in a window, by arithmetic wherever the zone keeps one offset.

`schedules.count` counts from the very first fire time, and steps through the fire times of a zone other than UTC.
This module looks at the window alone: its cost depends neither on the schedule's age nor on its frequency.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo

from recurrence.composites import Bounded, FirstThen, Skipping, WithExtras
from recurrence.cron import CronRule
from recurrence.elapsed import EveryWithinPeriod
from recurrence.open_days import Moves, OnOpenDays, local_day
from recurrence.periodic import PeriodicRule
from recurrence.rules import CalendarRule, QuartzSchedule, ZonedRule
from recurrence.schedules import Every, Schedule, between, count, just_after, just_before
from recurrence.times import Times
from recurrence.zones import DAY, EPOCH, EPOCH_DAY, NOTHING, SECOND, day_and_second, stable_range_at, start_of_day

ONE_DAY = timedelta(days=1)
FEW_DAYS = timedelta(days=100)  # in a shorter window the days are counted one by one


def count_within(schedule: Schedule, start: datetime, end: datetime) -> int:
    """Return how many fire times lie in [start, end)."""
    if end <= start:
        return 0
    match schedule:
        case FirstThen(first, then):
            return int(start <= first < end) + count_within(then, max(start, just_after(first)), end)
        case Bounded(inner, first, last):
            beyond = end if last is None else min(end, just_after(last))
            return count_within(inner, start if first is None else max(start, first), beyond)
        case Skipping(inner):
            left_out = schedule.ranges_within(start, end)
            return count_within(inner, start, end) - sum(count_within(inner, low, high) for low, high in left_out)
        case WithExtras(inner):
            extras = schedule.within(start, end)
            new = sum(inner.after(just_before(extra)) != extra for extra in extras)
            return count_within(inner, start, end) + new
        case OnOpenDays():
            return _count_on_open_days(schedule, start, end)
        case QuartzSchedule(zoned):
            return _count_in_zone(schedule, zoned.rule, zoned.zone, start, end)
        case ZonedRule(rule, zone):
            return _count_in_zone(schedule, rule, zone, start, end)
        case CalendarRule(zone=zone) if zone is not UTC:
            return _count_in_zone(schedule, replace(schedule, zone=UTC), zone, start, end)
        case PeriodicRule():
            return schedule.count_within(start, end)
        case Every() | EveryWithinPeriod():
            return schedule.count_before(end) - schedule.count_before(start)
        case CalendarRule() | CronRule() if end - start < FEW_DAYS:
            return _by_day(schedule, start, end)
    return count(schedule, start, end)


def _count_on_open_days(schedule: OnOpenDays, start: datetime, end: datetime) -> int:
    """Count by arithmetic on open days that no fire time joins, and one by one on the other open days."""
    total = 0
    while start < end:
        day = local_day(start, schedule.zone)
        low, high = schedule.days.settled_run_around(day)
        if low <= start < high:
            total += count_within(schedule.schedule, start, min(high, end))
        else:
            high = max(start_of_day(day + 1, schedule.zone), just_after(start))
            total += _count_on_day(schedule, day, start, min(high, end))
        start = high
    return total


def _count_on_day(schedule: OnOpenDays, day: int, start: datetime, end: datetime) -> int:
    """Count the fire times in [start, end), which lies within one day that other days' fire times may join."""
    if not schedule.days.is_open(day):
        return 0
    target = schedule.days.target(day)
    if target.moves is not None:
        moves = ((target.start, target.end, NOTHING), *target.moves)
        low, high = min(first for first, _, _ in moves), max(last for _, last, _ in moves)
        inner = _within(schedule.schedule, low, high)
        if isinstance(inner, Every):
            return _count_intervals(inner, moves, start, end)
        periodic = _periodic_of(inner, schedule.zone)
        days = range(target.first - EPOCH_DAY, target.last - EPOCH_DAY + 1)
        if periodic is not None:
            found = _count_periods(periodic, days, start - target.start, end - target.start)
            if found is not None:
                return found
        times = _times_of(inner, schedule.zone)
        if times is not None:
            return _count_times(inner, times, moves, start - target.start, end - target.start)
    return len(schedule.fires_on(day, start, end))


def _count_intervals(every: Every, moves: Moves, start: datetime, end: datetime) -> int:
    """Count the fire times in [start, end) of an interval, joined by those of other days that move there."""
    interval = every.interval
    begins: dict[timedelta, datetime] = {}  # by phase, the first fire time with it
    for low, high, distance in moves:
        if every.start < high:
            phase = (every.start + distance - EPOCH) % interval
            begin = max(every.start, low) + distance
            begins[phase] = min(begins.get(phase, begin), begin)
    windows = ((phase, max(start, begin)) for phase, begin in begins.items() if begin < end)
    return sum((phase - (begin - EPOCH)) // interval - (phase - (end - EPOCH)) // interval for phase, begin in windows)


def _periodic_of(schedule: Schedule, zone: tzinfo) -> PeriodicRule | None:
    match schedule:
        case ZonedRule(PeriodicRule() as rule, own_zone) if own_zone == zone:
            return rule
        case PeriodicRule() if zone is UTC:
            return schedule
    return None


def _count_periods(rule: PeriodicRule, days: Iterable[int], start: timedelta, end: timedelta) -> int | None:
    """Count times in [start, end) since midnight that the rule has on any of the days.

    None: the rule begins or ends during one of the days.
    """
    mask = 0
    for day in days:
        own = rule.mask_of(day)
        if own is None:
            return None
        mask |= own
    return rule.periods.count_in(mask, -(-end // SECOND)) - rule.periods.count_in(mask, -(-start // SECOND))


def _count_times(schedule: Schedule, times: Times, moves: Moves, start: timedelta, end: timedelta) -> int:
    """Count times in [start, end) since midnight for a schedule that has on each day all its `times` or none."""
    for low, high, _ in moves:
        fire = schedule.after(just_before(low))
        if fire is not None and fire < high:
            return times.count_before(-(-end // SECOND)) - times.count_before(-(-start // SECOND))
    return 0


def _times_of(schedule: Schedule, zone: tzinfo) -> Times | None:
    """Return the times that a schedule has on the days of `zone`, on each day all or none; None: it varies."""
    match schedule:
        case ZonedRule(CalendarRule() | CronRule() as rule, own_zone) if own_zone == zone:
            return rule.times
        case CalendarRule(zone=own_zone) if own_zone == zone:
            return schedule.times
        case CronRule() if zone is UTC:
            return schedule.times
    return None


def _within(schedule: Schedule, start: datetime, end: datetime) -> Schedule:
    """Return the schedule without bounds and skips that do not matter in [start, end)."""
    match schedule:
        case Bounded(inner, first, last) if (first or start) <= start and (last or end) >= end:
            return _within(inner, start, end)
        case Skipping(inner) if not schedule.ranges_within(start, end):
            return _within(inner, start, end)
        case QuartzSchedule(zoned):
            return zoned
    return schedule


def _count_in_zone(schedule: Schedule, rule: Schedule, zone: tzinfo, start: datetime, end: datetime) -> int:
    """Count in [start, end) the fire times of `schedule`, which is `rule` in the wall times of `zone`.

    While the zone keeps one offset, count `rule` by arithmetic; around clock changes step through `schedule`.
    """
    total = 0
    while start < end:
        low, high, offset = next(
            (part for part in stable_range_at(zone, start.year) if part[1] > start), (end, end, None)
        )
        low, high = min(max(low, start), end), min(high, end)
        total += sum(1 for _ in between(schedule, start, low))
        if offset is not None:
            total += count_within(rule, low + offset, high + offset)
        start = high
    return total


def _by_day(rule: CalendarRule | CronRule, start: datetime, end: datetime) -> int:
    """Count the fire times of a rule in UTC, which has on each day all its times or none."""
    times, last_day, beyond = rule.times, *day_and_second(end)
    total = 0
    fire = rule.after(just_before(start))
    while fire is not None and fire < end:
        day = fire.date()
        first = 0 if day > start.date() else day_and_second(start)[1]
        total += times.count_before(beyond if day == last_day else DAY) - times.count_before(first)
        if day == last_day:
            break
        fire = rule.after(just_before(datetime.combine(day, time(), UTC) + ONE_DAY))
    return total
