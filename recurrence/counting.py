"""How often a schedule fires in a window: by arithmetic wherever the clocks that it goes by run undisturbed.

`schedules.count` counts from the first fire time of all, and walks where a zone has clocks of its own.  This looks at
the window alone: its cost depends neither on how old the schedule is nor on how often it fires.
"""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo

from recurrence.combine import FirstThen, Limited
from recurrence.cron import CronRule
from recurrence.grids import EveryWithin
from recurrence.rules import CalendarRule, Zoned
from recurrence.schedules import Every, Schedule, between, count, just_after, just_before
from recurrence.wire.quartz import AsQuartz
from recurrence.zones import DAY, calm, day_and_second

ONE_DAY = timedelta(days=1)
FEW_DAYS = timedelta(days=100)  # are looked at one by one


def count_within(schedule: Schedule, start: datetime, end: datetime) -> int:
    """Return how many fire times lie in [start, end)."""
    if end <= start:
        return 0
    match schedule:
        case FirstThen(first, then):
            return int(start <= first < end) + count_within(then, max(start, just_after(first)), end)
        case Limited(inner, first, last):
            beyond = end if last is None else min(end, just_after(last))
            return count_within(inner, start if first is None else max(start, first), beyond)
        case AsQuartz(zoned):
            return _as_clocks_run(schedule, zoned.rule, zoned.zone, start, end)
        case Zoned(rule, zone):
            return _as_clocks_run(schedule, rule, zone, start, end)
        case CalendarRule(zone=zone) if zone is not UTC:
            return _as_clocks_run(schedule, replace(schedule, zone=UTC), zone, start, end)
        case Every() | EveryWithin():
            return schedule.count_before(end) - schedule.count_before(start)
        case CalendarRule() | CronRule() if end - start < FEW_DAYS:
            return _by_day(schedule, start, end)
    return count(schedule, start, end)


def _as_clocks_run(schedule: Schedule, rule: Schedule, zone: tzinfo, start: datetime, end: datetime) -> int:
    """Where clocks run undisturbed, `schedule` is `rule` as they show it; where they change, it is walked."""
    total = 0
    while start < end:
        low, high, offset = next((part for part in calm(zone, start.year) if part[1] > start), (end, end, None))
        low, high = min(max(low, start), end), min(high, end)
        total += sum(1 for _ in between(schedule, start, low))
        if offset is not None:
            total += count_within(rule, low + offset, high + offset)
        start = high
    return total


def _by_day(rule: CalendarRule | CronRule, start: datetime, end: datetime) -> int:
    """A rule in UTC, of which each day has all times or none."""
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
