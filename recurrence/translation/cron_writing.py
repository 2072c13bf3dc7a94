"""Write crontab lines and Quartz expressions."""

from dataclasses import replace

from recurrence.bits import mask_of
from recurrence.cron import ALL_YEARS, FIRST_YEAR, LAST_YEAR
from recurrence.translation.elapsed import as_pattern
from recurrence.translation.pattern import (
    LAST,
    MONTHS_A_YEAR,
    WORKDAYS,
    Context,
    DayOrLast,
    Days,
    DaySets,
    Elapsed,
    MonthDays,
    NearestWorkday,
    NthWeekdays,
    Pattern,
    Position,
    Single,
    Source,
)
from recurrence.wire import crontab, quartz
from recurrence.wire.clocks import Preset, rendered_clock_change, rendered_instant
from recurrence.wire.cron_text import SIGNS, as_interval, format_field, format_times, listed
from recurrence.wire.crontab import ALL_MONTH_DAYS, ALL_WEEKDAYS

Definition = dict[str, object]
POSITIONS = {-1: "last", 1: "first", 2: "second", 3: "third", 4: "fourth"}


def write_cron(source: Source, context: Context) -> Definition | None:
    pattern = _cron_pattern(source, context)
    if pattern is None:
        return None
    number = len(context.losses)
    if pattern.seconds != 1:
        context.lose(pattern.loss_text("seconds", "other seconds than 0 cannot be said in a crontab line"))
    if not isinstance(pattern.days, DaySets):
        context.lose(pattern.loss_text("days", f"{shown_days(pattern.days)} cannot be said in a crontab line"))
    if pattern.years != ALL_YEARS:
        context.lose(pattern.loss_text("years", "a year cannot be said in a crontab line"))
    if len(context.losses) > number or not isinstance(pattern.days, DaySets):
        return None
    times = format_times(pattern.minutes, 60) + format_times(pattern.hours, 24)
    line = crontab.Line(
        pattern.minutes,
        pattern.hours,
        pattern.days.month_days,
        pattern.months,
        pattern.days.weekdays,
        pattern.days.are_alternatives,
        is_stepping=any(sign in times for sign in SIGNS) if pattern.zone == "UTC" else pattern.is_stepping,
    )
    if crontab.parse_line(str(line)).days() != line.days():
        context.lose(pattern.loss_text("days", "days that must fit both day fields cannot be said in a crontab line"))
        return None
    return {"expression": str(line), **clock_members(pattern)}


def write_quartz(source: Source, context: Context) -> Definition | None:
    pattern = _cron_pattern(source, context)
    days = _quartz_days(pattern, context) if pattern else None
    if pattern is None or days is None:
        return None
    fields = [(pattern.seconds, 60), (pattern.minutes, 60), (pattern.hours, 24)]
    if pattern.is_stepping or pattern.zone == "UTC":
        times = [format_times(*each) for each in fields]
        if pattern.zone != "UTC" and not any(sign in text for text in times for sign in SIGNS):
            times[-1] = as_interval(times[-1])
    else:
        times = [listed(mask) for mask, _ in fields]
    texts = [*times, days[0], format_field(pattern.months, 1, 12), days[1]]
    if pattern.years != ALL_YEARS:
        texts.append(format_field(pattern.years << FIRST_YEAR, FIRST_YEAR, LAST_YEAR))
    return {"expression": " ".join(texts), **clock_members(pattern)}


def clock_members(pattern: Pattern) -> Definition:
    answer: Definition = {} if pattern.zone == "UTC" else {"timeZone": pattern.zone}
    if pattern.clock_change is not Preset.CRON and pattern.zone != "UTC":
        answer["clockChange"] = rendered_clock_change(pattern.clock_change)
    bounds = (("startTime", pattern.start), ("endTime", pattern.end))
    return answer | {name: rendered_instant(bound) for name, bound in bounds if bound is not None}


def shown_days(days: Days) -> str:
    """Return a short text of days for a message."""
    match days:
        case MonthDays() | NthWeekdays() | NearestWorkday() if word := _word(days):
            return word
        case Position(weekdays, number) if weekdays == WORKDAYS and number in (1, LAST):
            return "LW" if number == LAST else "1W"
        case MonthDays():
            return "several days, one of them counted from the end,"
        case NthWeekdays(choices) if len(choices) == 1:
            return "a weekday counted from the end, but for the last,"
        case NthWeekdays():
            return "several weekdays of the month by their numbers"
        case Position(_, number):
            return f"the {POSITIONS.get(number, str(number))} of several weekdays of the month"
        case DayOrLast(day):
            return f"day {day}, or the last day of a shorter month,"
    return "days of the month and of the week"


def _cron_pattern(source: Source, context: Context) -> Pattern | None:
    """Return what crontab lines and Quartz expressions have in common; None: they cannot say it."""
    match source:
        case Single():
            return _only(source, context)
        case Elapsed():
            if source.count is not None:
                context.lose(f"{source.members['count']}: an end after a number of times cannot be said")
            pattern = as_pattern(source, context)
        case Pattern():
            pattern = source
            if pattern.count is not None:
                context.lose(pattern.loss_text("count", "an end after a number of times cannot be said"))
            if pattern.length:
                context.lose(pattern.loss_text("length", "the length of an occurrence cannot be said"))
    return pattern and _without_interval(pattern, context)


def _only(source: Single, context: Context) -> Pattern | None:
    at = source.at
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        context.lose(f"{source.member}: a year after {LAST_YEAR} cannot be said")
        return None
    if at.microsecond:
        context.lose(f"{source.member}: a fraction of a second cannot be said")
    return Pattern(
        1 << at.hour,
        1 << at.minute,
        1 << at.second,
        DaySets(month_days=1 << at.day),
        1 << at.month,
        1 << at.year - FIRST_YEAR,
        members={"all": source.member},
    )


def _without_interval(pattern: Pattern, context: Context) -> Pattern | None:
    """Return the pattern with an interval of days as days of the month, which is a loss; None: not even that."""
    interval = pattern.interval
    if interval is None:
        return pattern
    number, unit, first = interval.number, interval.unit, context.first_fire()
    if unit == "month":
        reason = "" if number > MONTHS_A_YEAR else ", which do not divide a year,"
        context.lose(pattern.loss_text("interval", f"every {number} months{reason} cannot be said"))
        return None
    if unit == "week":
        context.lose(pattern.loss_text("interval", f"every {number} weeks cannot be said"))
        return None
    message = f"every {number} days, on from one month to the next, cannot be said"
    if number > 31 or first is None:
        context.lose(pattern.loss_text("interval", message))
        return None
    context.lose(pattern.loss_text("interval", f"{message}: the count begins anew in each month"))
    day = first.astimezone(context.parsed.zone).day
    month_days = mask_of(range((day - 1) % number + 1, 32, number))
    return replace(pattern, days=DaySets(month_days=month_days), interval=None)


def _quartz_days(pattern: Pattern, context: Context) -> tuple[str, str] | None:
    """Return the two day fields; None: Quartz cannot say the days."""
    days = pattern.days
    if not isinstance(days, DaySets):
        word = "" if isinstance(days, DayOrLast) else _word(days)
        if not word:
            context.lose(pattern.loss_text("days", f"{shown_days(days)} cannot be said"))
            return None
        is_of_week = any(name in word for name in quartz.WEEKDAY_NAMES)
        return ("?", word) if is_of_week else (word, "?")
    if days.are_both_limited:
        message = (
            "days of the month or of the week cannot be said in one Quartz expression: take one trigger for each"
            if days.are_alternatives
            else "days that must fit both day fields cannot be said in a Quartz expression"
        )
        context.lose(pattern.loss_text("days", message))
        return None
    if days.weekdays != ALL_WEEKDAYS:
        return "?", format_field(days.weekdays, 0, 6, quartz.WEEKDAY_NAMES)
    return ("*" if days.month_days == ALL_MONTH_DAYS else format_field(days.month_days, 1, 31)), "?"


def _word(days: Days) -> str:
    """Return a form of Quartz with L, W or #; empty if there is none."""
    match days:
        case NearestWorkday(word):
            return word
        case MonthDays(numbers) if len(numbers) == 1:
            before = -min(numbers) - 1
            return f"L-{before}" if before else "L"
        case Position(weekdays, number) if weekdays == WORKDAYS and number in (1, LAST):
            return "LW" if number == LAST else "1W"
        case NthWeekdays(choices) if len(choices) == 1:
            ((day, nth),) = choices
            name = quartz.WEEKDAY_NAMES[(day + 1) % 7]
            if nth is not None and nth >= LAST:
                return f"{name}L" if nth == LAST else f"{name}#{nth}"
    return ""
