"""Write simple triggers, single moments, rules of iCalendar and events of Outlook."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta

from recurrence.bits import members
from recurrence.cron import ALL_MONTHS, ALL_YEARS
from recurrence.days import EveryNDays, MonthDay, NthOfWeekdays, NumberedRule, Weekly
from recurrence.times import ALL_HOURS, ALL_MINUTES
from recurrence.translation.azure_writing import write_azure
from recurrence.translation.cron_writing import Definition, shown_days, write_cron, write_quartz
from recurrence.translation.elapsed import as_pattern, days_pattern, interval_of
from recurrence.translation.pattern import (
    LAST,
    SHORTEST_MONTHS,
    Context,
    DayOrLast,
    DaySets,
    Elapsed,
    Interval,
    MonthDays,
    NthWeekdays,
    Pattern,
    Position,
    Single,
    Source,
    month_step,
    weekday_numbers,
)
from recurrence.wire import graph, rrule
from recurrence.wire.clocks import SERIES_POLICY, rendered_clock_change, rendered_instant
from recurrence.wire.crontab import ALL_MONTH_DAYS, ALL_WEEKDAYS
from recurrence.wire.simple import MILLISECOND
from recurrence.wire.zone_names import zone_of
from recurrence.zones import NOTHING, instant_of

EVERY = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY"}
OUTLOOK = "in an Outlook recurrence"
RULE = "in a rule of iCalendar"


def write(to: str, source: Source, context: Context) -> Definition | None:
    """Return the definition in the format `to`; None: it cannot say the schedule, and the losses say why."""
    if to != "quartz" and isinstance(source, Pattern) and source.years != ALL_YEARS:
        source = _as_single(source, context) or source
    return WRITERS[to](source, context)


# Elapsed time and single moments


def _once(source: Source, context: Context) -> Definition | None:
    single = _as_single(source, context)
    if single is None:
        context.lose(f"{_path(source)}: more than one fire time, or none, cannot be said")
        return None
    return {"at": rendered_instant(single.at), **_zone(single.zone)}


def _simple(source: Source, context: Context) -> Definition | None:
    single = _as_single(source, context)
    if single is not None:
        return {"startTime": rendered_instant(single.at), **_zone(single.zone)}
    if isinstance(source, Pattern):
        interval, first = interval_of(source), context.first_fire()
        if interval is None or first is None:
            what = "that are not equally far apart" if source.zone == "UTC" else "that follow the clocks of a zone"
            context.lose(source.loss_text("all", f"fire times {what} cannot be said by an interval"))
            return None
        if source.length:
            context.lose(source.loss_text("length", "the length of an occurrence cannot be said"))
        source = Elapsed(interval, first, None, source.end, source.count)
    assert isinstance(source, Elapsed)
    milliseconds, rest = divmod(source.interval, MILLISECOND)
    if rest:
        context.lose(f"{_path(source)}: an interval with a fraction of a millisecond cannot be said")
        return None
    first = source.first
    if source.count is not None and first < context.now:  # only runs from now on count
        first += -((first - context.now) // source.interval) * source.interval
    answer: Definition = {"startTime": rendered_instant(first), "interval": milliseconds}
    if source.count is not None:
        answer["repeatCount"] = source.count - 1
    if source.last is not None:
        answer["endTime"] = rendered_instant(source.last + MILLISECOND)
    return answer | _zone(source.zone)


def _as_single(source: Source, context: Context) -> Single | None:
    """Return the only fire time from now on; None: there are more, or none."""
    if isinstance(source, Single):
        return source
    first = context.first_fire()
    if first is None or (source.count != 1 and context.parsed.schedule.after(first) is not None):
        return None
    return Single(first, _path(source), "UTC" if context.parsed.zone is UTC else str(context.parsed.zone))


def _path(source: Source) -> str:
    return source.member if isinstance(source, Single) else source.members.get("all", "expression")


def _zone(name: str) -> Definition:
    return {} if name == "UTC" else {"timeZone": name}


# Series


def _rrule(source: Source, context: Context) -> Definition | None:
    match source:
        case Single():
            return _one_day(source, context, lambda start: {"start": start, "rrule": "FREQ=DAILY;COUNT=1"})
        case Elapsed() if days_pattern(source) is None:
            return _counted_rule(source, context)
    pattern = source if isinstance(source, Pattern) else as_pattern(source, context)
    begin = _begin(pattern, RULE, context) if pattern else None
    if pattern is None or begin is None:
        return None
    parts = _parts(pattern)
    if parts is None:
        context.lose(pattern.loss_text("days", f"{shown_days(pattern.days)} cannot be said {RULE}"))
        return None
    if pattern.count is not None:
        parts["COUNT"] = str(pattern.count)
    return {**_span(begin, pattern), "rrule": rrule.written(parts), **_clocks(pattern, begin)}


def _parts(pattern: Pattern) -> dict[str, str] | None:
    """Return the parts of a rule; None: there is none."""
    interval, days = pattern.interval or Interval(1, "month"), pattern.days
    parts: dict[str, str] = {"FREQ": EVERY[interval.unit]}
    match days:
        case DaySets(_, _, True):
            return None
        case DaySets(month_days, weekdays):
            parts |= {} if month_days == ALL_MONTH_DAYS else {"BYMONTHDAY": _listed(members(month_days))}
            parts |= {} if weekdays == ALL_WEEKDAYS else {"BYDAY": _weekdays(weekday_numbers(weekdays))}
            if pattern.interval is None and "BYMONTHDAY" not in parts:
                parts["FREQ"] = "WEEKLY" if "BYDAY" in parts else "DAILY"
        case MonthDays(numbers):
            parts["BYMONTHDAY"] = _listed(sorted(numbers, key=lambda number: (number < 0, number)))
        case NthWeekdays(choices):
            ordered = sorted(choices, key=lambda each: (each[1] or 0, each[0]))
            parts["BYDAY"] = ",".join(f"{number or ''}{rrule.WEEKDAYS[day]}" for day, number in ordered)
        case Position(weekdays, number):
            parts |= {"BYDAY": _weekdays(sorted(weekdays)), "BYSETPOS": str(number)}
        case DayOrLast(day):
            parts |= {"BYMONTHDAY": _listed(range(28, day + 1)), "BYSETPOS": "-1"}
        case _:
            return None
    if pattern.months != ALL_MONTHS:
        parts["BYMONTH"] = _listed(members(pattern.months))
        if parts["FREQ"] == "MONTHLY" and pattern.months.bit_count() == 1:
            parts["FREQ"] = "YEARLY"
    if interval.number > 1:
        parts["INTERVAL"] = str(interval.number)
        parts |= {"WKST": rrule.WEEKDAYS[interval.week_start]} if interval.unit == "week" else {}
    return parts | _times(pattern, parts)


def _times(pattern: Pattern, parts: Mapping[str, str]) -> dict[str, str]:
    """Return the parts for the times of the day, and a FREQ by hours or minutes where that is shorter."""
    if pattern.has_one_time:
        return {}
    found = {
        "BYHOUR": _listed(members(pattern.hours)),
        "BYMINUTE": _listed(members(pattern.minutes)),
        "BYSECOND": _listed(members(pattern.seconds)),
    }
    if pattern.hours == ALL_HOURS and isinstance(pattern.days, DaySets) and pattern.interval is None:
        found |= {"FREQ": "HOURLY"}
        del found["BYHOUR"]
        if pattern.minutes == ALL_MINUTES:
            found |= {"FREQ": "MINUTELY"}
            del found["BYMINUTE"]
    elif pattern.hours.bit_count() == 1:
        del found["BYHOUR"]
    if pattern.minutes.bit_count() == 1:
        del found["BYMINUTE"]
    if pattern.seconds.bit_count() == 1:
        del found["BYSECOND"]
    return found


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _weekdays(days: list[int]) -> str:
    return ",".join(rrule.WEEKDAYS[day] for day in days)


def _counted_rule(source: Elapsed, context: Context) -> Definition | None:
    """Return a rule in UTC that counts hours, minutes or seconds."""
    seconds, rest = divmod(source.interval, timedelta(seconds=1))
    if rest or source.first.microsecond:
        context.lose(f"{_path(source)}: fractions of a second cannot be said {RULE}")
        return None
    unit, size = next(each for each in (("HOURLY", 3600), ("MINUTELY", 60), ("SECONDLY", 1)) if seconds % each[1] == 0)
    first = source.first
    if source.count is not None and first < context.now:
        first += -((first - context.now) // source.interval) * source.interval
    parts = {"FREQ": unit} | ({"INTERVAL": str(seconds // size)} if seconds > size else {})
    parts |= {"COUNT": str(source.count)} if source.count is not None else {}
    answer: Definition = {"start": _date_time(first.replace(tzinfo=None), "UTC"), "rrule": rrule.written(parts)}
    start = source.start if source.start and source.start > first else None
    bounds = {"startTime": start, "endTime": source.end}
    return answer | {name: rendered_instant(bound) for name, bound in bounds.items() if bound is not None}


def _outlook(source: Source, context: Context) -> Definition | None:
    if isinstance(source, Single):
        return _one_day(source, context, _one_event)
    pattern = source if isinstance(source, Pattern) else days_pattern(source)
    if pattern is None or not pattern.has_one_time:
        context.lose(f"{_path(source)}: more than one time of the day cannot be said {OUTLOOK}")
        return None
    begin = _begin(pattern, OUTLOOK, context)
    if begin is None:
        return None
    rule = _rule(pattern, begin.date(), context)
    recurrence = None if rule is None else graph.pattern_of(rule)
    if recurrence is None:
        if rule is not None or not context.losses:
            context.lose(pattern.loss_text("days", f"{shown_days(pattern.days)} cannot be said {OUTLOOK}"))
        return None
    limits: Definition = {"type": "noEnd", "startDate": begin.date().isoformat()}
    if pattern.count is not None:
        limits |= {"type": "numbered", "numberOfOccurrences": pattern.count}
    span = _span(begin, pattern)
    members = {"recurrence": {"pattern": recurrence, "range": limits}, **_clocks(pattern, begin)}
    return {"start": span["start"], "end": span.get("end", span["start"]), **members}


def _rule(pattern: Pattern, first: date, context: Context) -> NumberedRule | None:
    """Return the days as a rule of Outlook; None: there is none, and a loss may say why."""
    days, interval, step = pattern.days, pattern.interval, month_step(pattern.months)
    if step is None:
        message = f"months that are not equally far apart cannot be said {OUTLOOK}"
        context.lose(pattern.loss_text("months", message))
        return None
    if isinstance(days, DaySets) and days.month_days == ALL_MONTH_DAYS and step == 1:
        return _days_or_weeks(days, interval, first)
    months = interval.number if interval else step
    match days:
        case DaySets(month_days, weekdays) if weekdays == ALL_WEEKDAYS and month_days.bit_count() == 1:
            day = month_days.bit_length() - 1
            if day <= min(SHORTEST_MONTHS[month - 1] for month in members(pattern.months)):
                return MonthDay(first, day, months)
            message = f"day {day} only of the months that have it cannot be said {OUTLOOK}"
            context.lose(pattern.loss_text("days", message))
        case MonthDays(numbers) if numbers == {LAST}:
            return MonthDay(first, 31, months)
        case DayOrLast(number):
            return MonthDay(first, number, months)
        case NthWeekdays(choices) if len(choices) == 1:
            ((weekday, nth),) = choices
            return _nth(first, frozenset({weekday}), nth, months)
        case Position(chosen, position):
            return _nth(first, chosen, position, months)
    return None


def _days_or_weeks(days: DaySets, interval: Interval | None, first: date) -> NumberedRule | None:
    number, week_start = (interval.number, interval.week_start) if interval else (1, 0)
    if days.weekdays == ALL_WEEKDAYS and (interval is None or interval.unit == "day"):
        return EveryNDays(first, number)
    if interval is None or interval.unit == "week":
        return Weekly(first, frozenset(weekday_numbers(days.weekdays)), number, week_start)
    return None


def _nth(first: date, weekdays: frozenset[int], number: int | None, months: int) -> NthOfWeekdays | None:
    is_known = number is not None and number in graph.NAMES_OF_NUMBERS
    return NthOfWeekdays(first, weekdays, number or 0, months) if is_known else None


def _one_day(source: Single, context: Context, write: Callable[[dict[str, str]], Definition]) -> Definition | None:
    zone = zone_of(source.zone, "timeZone")
    if source.at.microsecond:
        context.lose(f"{source.member}: a fraction of a second cannot be said")
    try:
        wall = source.at.astimezone(zone).replace(tzinfo=None, fold=0, microsecond=0)
    except OverflowError:
        context.lose(f"{source.member}: a time at the end of the calendar cannot be said")
        return None
    is_same = instant_of(wall, zone) == source.at.replace(microsecond=0)
    if not is_same:  # the second time that clocks show it
        wall = source.at.replace(tzinfo=None, microsecond=0)
    return write(_date_time(wall, source.zone if is_same else "UTC"))


def _one_event(start: dict[str, str]) -> Definition:
    limits = {"type": "numbered", "numberOfOccurrences": 1, "startDate": start["dateTime"][:10]}
    return {"start": start, "end": start, "recurrence": {"pattern": {"type": "daily", "interval": 1}, "range": limits}}


def _begin(pattern: Pattern, words: str, context: Context) -> datetime | None:
    """Return the wall time with which a series begins; None: there is no fire time, or it has limits by years.

    The first fire time may have been moved when clocks were changed.  Then it is the first time of that day.
    """
    if pattern.years != ALL_YEARS:
        context.lose(pattern.loss_text("years", f"a year cannot be said {words}"))
        return None
    first = context.first_fire()
    if first is None:
        context.lose(pattern.loss_text("start", "it does not fire again"))
        return None
    wall = first.astimezone(zone_of(pattern.zone, "timeZone")).replace(tzinfo=None, fold=0, microsecond=0)
    is_nominal = (
        pattern.hours >> wall.hour & 1 and pattern.minutes >> wall.minute & 1 and pattern.seconds >> wall.second & 1
    )
    return wall if is_nominal else datetime.combine(wall.date(), time(*pattern.first_time))


def _span(begin: datetime, pattern: Pattern) -> Definition:
    span: Definition = {"start": _date_time(begin, pattern.zone)}
    if pattern.length != NOTHING:
        span["end"] = _date_time(begin + pattern.length, pattern.zone)
    return span


def _date_time(wall: datetime, zone: str) -> dict[str, str]:
    return {"dateTime": wall.isoformat(), "timeZone": zone}


def _clocks(pattern: Pattern, begin: datetime) -> Definition:
    """Return the clock change if it is not that of series, and the bounds that the series itself does not have."""
    answer: Definition = {}
    if pattern.zone != "UTC" and pattern.policy != SERIES_POLICY:
        answer["clockChange"] = rendered_clock_change(pattern.policy)
    if pattern.start is not None and pattern.start > instant_of(begin, zone_of(pattern.zone, "timeZone")):
        answer["startTime"] = rendered_instant(pattern.start)
    if pattern.end is not None:
        answer["endTime"] = rendered_instant(pattern.end)
    return answer


WRITERS: Mapping[str, Callable[[Source, Context], Definition | None]] = {
    "azure": write_azure,
    "cron": write_cron,
    "quartz": write_quartz,
    "simple": _simple,
    "once": _once,
    "outlook": _outlook,
    "rrule": _rrule,
    "solar": lambda source, context: context.lose(f"{_path(source)}: only the format solar follows the sun"),
}
