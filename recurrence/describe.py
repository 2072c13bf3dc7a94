"""Describe schedules in English."""

from datetime import UTC, datetime, timedelta, tzinfo

from recurrence.bits import lowest, mask_of, members
from recurrence.composites import Bounded, FirstThen
from recurrence.cron import CronRule
from recurrence.days import DateRule, MonthDays, NthWeekdays
from recurrence.describe_cron import describe_cron
from recurrence.describe_series import describe_date_rule, describe_series, with_count
from recurrence.elapsed import EveryWithinPeriod
from recurrence.english_words import ORDINALS, WEEKDAYS, clock, each, listed, ordinal, past_the_hour
from recurrence.language import ENGLISH
from recurrence.rules import CalendarRule, QuartzSchedule, ZonedRule
from recurrence.schedules import TICK, Every, Once, Schedule
from recurrence.series import Series
from recurrence.times import ALL_HOURS, ALL_MINUTES, Times
from recurrence.wire.parsed import Parsed

UNITS = (  # longest first
    (timedelta(weeks=1), "week"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (timedelta(seconds=1), "second"),
    (timedelta(milliseconds=1), "millisecond"),
    (TICK, "microsecond"),
)
MOST_LISTED = 6  # times of a day; more are summarized


def describe(parsed: Parsed) -> str:
    """Return one phrase, without a capital letter or a full stop, such as "every day at 05:00 UTC, 10 times"."""
    return with_count(_schedule(parsed.schedule, parsed.zone), parsed.count)


def _schedule(schedule: Schedule, zone: tzinfo) -> str:
    match schedule:
        case Once(at):
            return f"once on {_instant(at, zone)}"
        case Every():
            return _every(schedule, zone)
        case CalendarRule():
            return _calendar_rule(schedule)
        case Series():
            return describe_series(schedule)
        case EveryWithinPeriod():
            return _every_within(schedule)
        case CronRule():
            return describe_cron(schedule, zone)
        case ZonedRule(rule, own_zone):
            return _schedule(rule, own_zone)
        case QuartzSchedule(zoned):
            return _schedule(zoned, zone)
        case FirstThen(first, then):
            return f"on {_instant(first, zone)}, then {_schedule(then, zone)}"
        case Bounded(inner, start, until):
            has_own_start = not isinstance(inner, CronRule | ZonedRule | QuartzSchedule)
            from_start = "" if start is None or has_own_start else f", from {_instant(start, zone)}"
            return _schedule(inner, zone) + from_start + (f", until {_instant(until, zone)}" if until else "")
    raise TypeError(f"no words for {schedule!r}")


def _every(schedule: Every, zone: tzinfo) -> str:
    interval, start = schedule.interval, schedule.start.astimezone(zone)
    unit, name = next((unit, name) for unit, name in UNITS if not interval % unit)
    words = each(interval // unit, name)
    if zone is UTC and name == "week":  # in other zones a clock change would move the wall time
        return f"{words} on {WEEKDAYS[start.weekday()]} at {clock(_second_of_day(start))} UTC"
    if zone is UTC and name == "day":
        return f"{words} at {clock(_second_of_day(start))} UTC"
    if words == "every hour":
        return f"every hour at {past_the_hour(start.minute, start.second)} {zone}"
    return f"{words} from {_instant(schedule.start, zone)}"


def _calendar_rule(rule: CalendarRule) -> str:
    days, times = _days(rule.days), _times(rule.times)
    if rule.times.per_day <= MOST_LISTED:
        return f"{days} {times} {rule.zone}"
    if days == "every day":
        return f"{times} {rule.zone}"
    return f"{days}, {times} {rule.zone}"


def _every_within(rule: EveryWithinPeriod) -> str:
    times = rule.times
    words = f"{each(rule.interval, 'minute' if rule.period == 1 else 'hour')} from {_instant(rule.start, UTC)}"
    if times.minutes not in (ALL_MINUTES, 1 << rule.start.minute):
        words += f", {'only ' if rule.period == 1 else ''}at {_minutes(times)}"
    if times.hours != ALL_HOURS:
        words += f", only in {_hours(times.hours)}"
    return words


# Days


def _days(rule: DateRule) -> str:
    match rule:
        case MonthDays(_, days, interval):
            return f"{each(interval, 'month')} on {_month_days(days)}"
        case NthWeekdays(_, choices, interval):
            return f"{each(interval, 'month')} on {_nth_weekdays(choices)}"
    return describe_date_rule(rule)


def _month_days(days: frozenset[int]) -> str:
    counted = [ordinal(day) for day in sorted(days) if day > 0]
    from_the_end = [_day_from_the_end(-day) for day in sorted(days) if day < 0]
    return ("the " if counted else "") + listed(counted + from_the_end)


def _day_from_the_end(number: int) -> str:
    return "the last day" if number == 1 else f"the {ordinal(number)} day from the end"


def _nth_weekdays(choices: frozenset[tuple[int, int | None]]) -> str:
    every = [f"every {WEEKDAYS[day]}" for day in range(7) if (day, None) in choices]
    numbers = [*range(1, 6), *range(-5, 0)]
    return listed(every + [_nth_weekday(n, WEEKDAYS[day]) for n in numbers for day in range(7) if (day, n) in choices])


def _nth_weekday(number: int, weekday: str) -> str:
    if number == -1:
        return f"the last {weekday}"
    return f"the {ORDINALS[number]} {weekday}" if number > 0 else f"the {ORDINALS[-number]} {weekday} from the end"


# Times


def _times(times: Times) -> str:
    if times.per_day <= MOST_LISTED:
        return f"at {listed(map(clock, times))}"
    seconds = [*times]
    between = f"between {clock(seconds[0])} and {clock(seconds[-1])}"
    minutes = times.minutes.bit_count()
    step = 60 // minutes
    if not _is_contiguous(times.hours) or times.seconds.bit_count() > 1:
        return f"{times.per_day} times a day {between}"
    if minutes <= MOST_LISTED:
        return f"every hour at {_minutes(times)}" + ("" if times.hours == ALL_HOURS else f" {between}")
    if minutes * step == 60 and times.minutes == mask_of(range(lowest(times.minutes), 60, step)):
        return f"{each(step, 'minute')} {between}"
    return f"{times.per_day} times a day {between}"


def _minutes(times: Times) -> str:
    if times.minutes.bit_count() > MOST_LISTED:
        return f"{times.minutes.bit_count()} minutes of the hour"
    second = lowest(times.seconds)
    return listed(past_the_hour(minute, second) for minute in members(times.minutes))


def _hours(hours: int) -> str:
    numbers = [*members(hours)]
    if len(numbers) > 2 and _is_contiguous(hours):
        return f"the hours {numbers[0]:02} to {numbers[-1]:02}"
    return f"{'the hour' if len(numbers) == 1 else 'the hours'} {listed(f'{hour:02}' for hour in numbers)}"


def _is_contiguous(mask: int) -> bool:
    shifted = mask >> lowest(mask)
    return not shifted & (shifted + 1)


def _second_of_day(wall: datetime) -> int:
    return wall.hour * 3600 + wall.minute * 60 + wall.second


def _instant(instant: datetime, zone: tzinfo) -> str:
    wall = instant.astimezone(zone)
    return f"{ENGLISH.format_date(wall)} at {clock(_second_of_day(wall))} {zone}"
