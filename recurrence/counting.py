"""Count the fire times of a schedule in a window, by arithmetic wherever the zone keeps one offset.

`schedules.count` counts from the very first fire time, and steps through the fire times of a zone other than UTC.
This module looks at the window alone: its cost depends neither on the schedule's age nor on its frequency.
"""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo

from recurrence.composites import Bounded, FirstThen
from recurrence.cron import CronRule
from recurrence.elapsed import EveryWithinPeriod
from recurrence.rules import CalendarRule, QuartzSchedule, ZonedRule
from recurrence.schedules import Every, Schedule, between, count, just_after, just_before
from recurrence.zones import DAY, day_and_second, stable_range_at

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
        case QuartzSchedule(zoned):
            return _count_in_zone(schedule, zoned.rule, zoned.zone, start, end)
        case ZonedRule(rule, zone):
            return _count_in_zone(schedule, rule, zone, start, end)
        case CalendarRule(zone=zone) if zone is not UTC:
            return _count_in_zone(schedule, replace(schedule, zone=UTC), zone, start, end)
        case Every() | EveryWithinPeriod():
            return schedule.count_before(end) - schedule.count_before(start)
        case CalendarRule() | CronRule() if end - start < FEW_DAYS:
            return _by_day(schedule, start, end)
    return count(schedule, start, end)


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
