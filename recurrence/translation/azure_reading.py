"""Read Azure recurrences for a translation."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from recurrence.bits import mask_of
from recurrence.translation.pattern import (
    DEFAULT_MEMBERS,
    Context,
    Days,
    DaySets,
    Elapsed,
    Interval,
    NthWeekdays,
    Pattern,
    Single,
    days_of_numbers,
    start_if_ahead,
    weekdays_mask,
)
from recurrence.translation.series_reading import months_of
from recurrence.wire import azure
from recurrence.wire.azure import ELAPSED, Frequency
from recurrence.wire.clocks import Preset
from recurrence.wire.zone_names import iana_name

AT_CREATION = "Without a startTime it also runs once when it is created, which the translation does not."
AZURE_MEMBERS = {
    **DEFAULT_MEMBERS,
    "all": "recurrence",
    "end": "recurrence.endTime",
    "seconds": "startTime",
    "years": "startTime",
    "months": "recurrence.interval",
    "interval": "recurrence.interval",
    "count": "recurrence.count",
}
UNITS = {Frequency.DAY: "day", Frequency.WEEK: "week"}
GRIDS = {Frequency.MINUTE: ("minutes", 60, "an hour"), Frequency.HOUR: ("hours", 24, "a day")}


def read_azure(definition: Mapping[str, object], context: Context) -> Pattern | Elapsed | Single | None:
    document = azure.read(definition)
    recurrence, start, clocks = document.recurrence, document.start_time, document.clocks
    zone = iana_name(str(clocks.zone), "timeZone")
    if recurrence is None:
        return Single(max(start or context.now, context.now), "startTime", zone)
    is_elapsed = azure.is_elapsed(recurrence, clocks.zone)
    context.begins_at_creation = start is None and not is_elapsed
    if context.begins_at_creation:
        context.notes.append(AT_CREATION)
    ends = {"end": "endTime"} if clocks.end is not None and clocks.end == document.end_time else {}
    members = {**AZURE_MEMBERS, **ends}
    count = recurrence.count
    if is_elapsed:
        interval = ELAPSED[recurrence.frequency] * (recurrence.interval or 1)
        ahead = start_if_ahead(start, context.now)
        return Elapsed(interval, start or context.now, ahead, document.end_time, count, zone, members)
    in_zone: dict[str, Any] = {
        "start": start_if_ahead(start, context.now),
        "end": document.end_time,
        "zone": zone,
        "clock_change": clocks.clock_change if zone != "UTC" else Preset.CRON,
        "is_stepping": azure.is_interval(recurrence) or zone == "UTC",
        "count": count - 1 if count and start is None else count,
    }
    first = document.first_wall or azure.wall_time(context.now, clocks.zone, "timeZone")
    pattern = _pattern(recurrence, first, start is not None, context)
    return pattern and replace(pattern, **in_zone, members={**members, **pattern.members})


def _pattern(recurrence: azure.Recurrence, first: datetime, has_start: bool, context: Context) -> Pattern | None:
    frequency, number = recurrence.frequency, recurrence.interval or 1
    plan = recurrence.plan or azure.NO_PLAN
    times = azure.times_of(frequency, plan, first, first.second if has_start or not recurrence.plan else 0)
    pattern = Pattern(times.hours, times.minutes, 1 << times.first % 60)
    if frequency in GRIDS:
        return _within_a_day(pattern, frequency, number, first, context)
    if frequency is Frequency.MONTH:
        days, member = _month_days(plan, first)
        months, interval = months_of(first.month, number)
        return replace(pattern, days=days, months=months, interval=interval, members={"days": member})
    interval = Interval(number, UNITS[frequency]) if number > 1 else None
    if frequency is Frequency.DAY:
        return replace(pattern, interval=interval)
    weekdays = weekdays_mask(plan.week_days or [first.weekday()])
    members = {"days": "recurrence.schedule.weekDays"}
    return replace(pattern, days=DaySets(weekdays=weekdays), interval=interval, members=members)


def _month_days(plan: azure.Plan, first: datetime) -> tuple[Days, str]:
    """Return the days of a recurrence by months, and the member that names them."""
    if plan.monthly_occurrences is None:
        return days_of_numbers(plan.month_days or [first.day]), "recurrence.schedule.monthDays"
    every = {day for day, number in plan.monthly_occurrences if number is None}
    numbered = {(day, number) for day, number in plan.monthly_occurrences if number is not None and day not in every}
    days: Days = DaySets(weekdays=weekdays_mask(every))
    if numbered:
        days = NthWeekdays(frozenset(numbered | {(day, None) for day in every}))
    return days, "recurrence.schedule.monthlyOccurrences"


def _within_a_day(
    pattern: Pattern, frequency: Frequency, number: int, first: datetime, context: Context
) -> Pattern | None:
    """Return the pattern of each `number`-th minute or hour with a plan; None: it cannot be translated."""
    unit, size, whole = GRIDS[frequency]
    at = getattr(first, unit.removesuffix("s"))
    if frequency is Frequency.MINUTE and number % 60 == 0:
        pattern = replace(pattern, minutes=pattern.minutes & 1 << first.minute)
        unit, size, whole = GRIDS[Frequency.HOUR]
        at, number = first.hour, number // 60
    if size % number:
        message = f"every {number} {unit}, which do not divide {whole}, cannot be said"
        context.lose(f"recurrence.interval: {message}")
        return None
    grid = mask_of(range(at % number, size, number))
    hours, minutes = (
        (pattern.hours & grid, pattern.minutes) if unit == "hours" else (pattern.hours, pattern.minutes & grid)
    )
    if not (hours and minutes):
        context.lose("recurrence.schedule: it has no fire time")
        return None
    return replace(pattern, hours=hours, minutes=minutes)
