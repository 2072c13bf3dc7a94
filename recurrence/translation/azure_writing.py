"""Write Azure recurrences."""

from datetime import timedelta

from recurrence.bits import lowest, mask_of, members
from recurrence.cron import ALL_YEARS
from recurrence.times import ALL_HOURS
from recurrence.translation.cron_writing import Definition, shown_days
from recurrence.translation.elapsed import days_pattern
from recurrence.translation.pattern import (
    Context,
    DayOrLast,
    DaySets,
    Elapsed,
    Interval,
    MonthDays,
    NearestWorkday,
    NthWeekdays,
    Pattern,
    Position,
    Single,
    Source,
    month_step,
    weekday_numbers,
)
from recurrence.wire import azure
from recurrence.wire.clocks import Preset, rendered_clock_change, rendered_instant
from recurrence.wire.crontab import ALL_WEEKDAYS

MINUTES_AN_HOUR = 60
MINUTE = timedelta(minutes=1)
UNITS = (("Hour", 60), ("Minute", 1))
FREQUENCIES = {"day": "Day", "week": "Week", "month": "Month"}


def write_azure(source: Source, context: Context) -> Definition | None:
    match source:
        case Single(at, member, zone):
            if at < context.now:
                context.lose(f"{member}: it has passed, and an Azure job would run at once")
                return None
            return {"startTime": rendered_instant(at), **_display_zone(zone)}
        case Elapsed():
            return _write_elapsed(source, context)
    return _write_pattern(source, context)


def _write_elapsed(source: Elapsed, context: Context) -> Definition | None:
    days = None if source.first.microsecond else days_pattern(source)
    if days is not None:
        return _write_pattern(days, context)
    minutes, rest = divmod(source.interval, MINUTE)
    if rest:
        context.lose(f"{source.members.get('interval')}: an Azure recurrence has no shorter unit than a minute")
        return None
    frequency, size = next(each for each in UNITS if minutes % each[1] == 0)
    recurrence: Definition = {"frequency": frequency, "interval": minutes // size}
    if source.count is not None:
        recurrence["count"] = source.count
    if source.end is not None:
        recurrence["endTime"] = rendered_instant(source.end)
    first = max(source.first, source.start) if source.start else source.first
    return {"startTime": rendered_instant(first), "recurrence": recurrence, **_display_zone(source.zone)}


def _display_zone(zone: str) -> Definition:
    return {} if zone == "UTC" else {"timeZone": zone}


def _write_pattern(pattern: Pattern, context: Context) -> Definition | None:
    step = month_step(pattern.months)
    days = pattern.days
    is_foreign = isinstance(days, Position | DayOrLast | NearestWorkday)
    has_both = isinstance(days, DaySets) and days.are_both_limited
    is_wrong_week = _depends_on_week_start(pattern)
    refusals = [
        (pattern.seconds != 1, "seconds", "other seconds than 0 cannot be said in an Azure recurrence"),
        (pattern.years != ALL_YEARS, "years", "a year cannot be said in an Azure recurrence"),
        (is_foreign, "days", f"{shown_days(days)} cannot be said in an Azure recurrence"),
        (has_both, "days", "days of the month and of the week cannot be said in one Azure recurrence"),
        (step is None, "months", "months that are not equally far apart cannot be said in an Azure recurrence"),
        (is_wrong_week, "interval", "weeks that do not begin on Monday cannot be said in an Azure recurrence"),
    ]
    refused = [pattern.loss_text(what, message) for is_refused, what, message in refusals if is_refused]
    if refused or step is None:
        context.lose(*refused)
        return None
    first = context.first_fire()
    if first is None:
        context.lose(pattern.loss_text("start", "it does not fire again"))
        return None
    if pattern.length:
        context.lose(pattern.loss_text("length", "the length of an occurrence cannot be said"))
    recurrence = _recurrence(pattern, step)
    if pattern.count is not None:
        recurrence["count"] = pattern.count
    if pattern.end is not None:
        recurrence["endTime"] = rendered_instant(pattern.end)
    return {"startTime": rendered_instant(first), "recurrence": recurrence, **_clocks(pattern, recurrence)}


def _depends_on_week_start(pattern: Pattern) -> bool:
    """Return True if weeks with an interval begin on another day than Monday, and have several days."""
    interval, days = pattern.interval, pattern.days
    if interval is None or interval.unit != "week" or not isinstance(days, DaySets):
        return False
    return interval.week_start != 0 and days.weekdays.bit_count() > 1


def _clocks(pattern: Pattern, recurrence: Definition) -> Definition:
    """Return the zone and the clock change.

    If Azure's members do not show whether the pattern is an interval, the preset `cron` is replaced by its policy.
    """
    if pattern.zone == "UTC":
        return {}
    clock_change = pattern.clock_change
    read = azure.read({"recurrence": recurrence}).recurrence
    if clock_change is Preset.CRON and read and azure.is_interval(read) is not pattern.is_stepping:
        clock_change = pattern.policy
    named = {} if clock_change is Preset.CRON else {"clockChange": rendered_clock_change(clock_change)}
    return {"timeZone": pattern.zone, **named}


def _recurrence(pattern: Pattern, step: int) -> Definition:
    if pattern.is_every_day and step == 1:
        return _within_a_day(pattern)
    plan: Definition = {"hours": [*members(pattern.hours)], "minutes": [*members(pattern.minutes)]}
    interval = pattern.interval or Interval(step, "month")
    days = pattern.days
    match days:
        case MonthDays(numbers):
            plan["monthDays"] = sorted(numbers, key=lambda number: (number < 0, number))
        case NthWeekdays(choices):
            ordered = sorted(choices, key=lambda each: (each[0], each[1] or 0))
            plan["monthlyOccurrences"] = [_occurrence(day, number) for day, number in ordered]
        case DaySets(month_days, weekdays) if weekdays == ALL_WEEKDAYS and interval.unit == "month":
            plan["monthDays"] = [*members(month_days)]
        case DaySets(_, weekdays) if weekdays != ALL_WEEKDAYS:
            names = [azure.WEEKDAYS[day] for day in weekday_numbers(weekdays)]
            if interval.unit == "week" or (pattern.interval is None and step == 1):
                interval = Interval(interval.number, "week")
                plan = {"weekDays": names, **plan}
            else:
                plan["monthlyOccurrences"] = [{"day": day} for day in names]
    every: Definition = {} if interval.number == 1 else {"interval": interval.number}
    if interval.unit == "day" and pattern.has_one_time and pattern.zone == "UTC":  # then those of the startTime
        return {"frequency": "Day", **every}
    return {"frequency": FREQUENCIES[interval.unit], **every, "schedule": plan}


def _occurrence(day: int, number: int | None) -> Definition:
    return {"day": azure.WEEKDAYS[day]} if number is None else {"day": azure.WEEKDAYS[day], "Occurrence": number}


def _within_a_day(pattern: Pattern) -> Definition:
    """Return the recurrence; the members that it leaves out follow from the startTime, which is the first fire time.

    In a zone a clock change may have moved that fire time, so nothing is left out.
    """
    minutes = pattern.minutes.bit_count()
    if pattern.hours == ALL_HOURS and pattern.zone != "UTC":  # minutes without a plan would be elapsed time
        return {"frequency": "Hour", "schedule": {"minutes": [*members(pattern.minutes)]}}
    if pattern.hours == ALL_HOURS:
        step = MINUTES_AN_HOUR // minutes
        if minutes == 1:
            return {"frequency": "Hour"}
        if pattern.minutes == mask_of(range(lowest(pattern.minutes), MINUTES_AN_HOUR, step)) and minutes * step == 60:
            return {"frequency": "Minute", "interval": step}
        return {"frequency": "Hour", "schedule": {"minutes": [*members(pattern.minutes)]}}
    if minutes == pattern.hours.bit_count() == 1 and pattern.zone == "UTC":
        return {"frequency": "Day"}
    return {
        "frequency": "Day",
        "schedule": {"hours": [*members(pattern.hours)], "minutes": [*members(pattern.minutes)]},
    }
