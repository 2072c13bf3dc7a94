"""Describe schedules in English words."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, tzinfo

from recurrence.bits import lowest, mask_of, members
from recurrence.composites import Bounded, FirstThen
from recurrence.cron import CronRule
from recurrence.dateutil_rule import DateutilDays
from recurrence.days import DateRule, EveryNDays, MonthDay, MonthDays, NthOfWeekdays, NthWeekdays, Weekly
from recurrence.describe_cron import describe_cron
from recurrence.elapsed import EveryWithinPeriod
from recurrence.english_words import MONTHS, ORDINALS, WEEKDAYS, clock, each, listed, ordinal, past_the_hour
from recurrence.rules import CalendarRule, ZonedRule
from recurrence.schedules import TICK, Every, Once, Schedule
from recurrence.series import Series
from recurrence.times import ALL_HOURS, ALL_MINUTES, Times
from recurrence.wire.parsed import Parsed
from recurrence.wire.quartz import QuartzSchedule
from recurrence.zones import DAY, missing_days

UNITS = (  # longest first
    (timedelta(weeks=1), "week"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (timedelta(seconds=1), "second"),
    (timedelta(milliseconds=1), "millisecond"),
)
MOST_LISTED = 6  # times of a day; more are summarized
ONE_DAY = timedelta(days=1)
ONE_SECOND = timedelta(seconds=1)
MONTHS_A_YEAR = 12
SHORTEST_MONTH = 28
SETS_OF_WEEKDAYS = {
    frozenset(range(7)): "day",
    frozenset(range(5)): "weekday",
    frozenset({5, 6}): "weekend day",
}


def describe(parsed: Parsed) -> str:
    """Return one phrase, without a capital letter or a full stop, such as "every day at 05:00 UTC, 10 times"."""
    words = _schedule(parsed.schedule, parsed.zone)
    if parsed.count is None:
        return words
    return f"{words}, once" if parsed.count == 1 else f"{words}, {parsed.count} times"


def describe_days(series: Series) -> str:
    """Return the days of a series and its end, without times: "every week on Monday, until 31 December 2026"."""
    return _until(f"{_days(series.days)}{_exceptions(series)}", series.last)


def exceptions(series: Series) -> tuple[int, int]:
    """Return the number of days removed from the rule of a series, and the number of days added to it.

    Days that the zone skipped at the date line do not count.
    """
    days = series.days
    if not isinstance(days, DateutilDays):
        return 0, 0
    missing = missing_days(series.zone)
    return sum(day.toordinal() not in missing for day in days.exdates), len(days.rdates)


def _schedule(schedule: Schedule, zone: tzinfo) -> str:
    match schedule:
        case Once(at):
            return f"once on {_instant(at, zone)}"
        case Every():
            return _every(schedule, zone)
        case CalendarRule():
            return _calendar_rule(schedule)
        case Series():
            return _until(f"{_days(schedule.days)}{_span(schedule)}{_exceptions(schedule)}", schedule.last)
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
            words = _schedule(inner, zone)
            if start is not None and isinstance(
                inner, CronRule | ZonedRule | QuartzSchedule
            ):  # other rules have their own start
                words += f", from {_instant(start, zone)}"
            return words if until is None else f"{words}, until {_instant(until, zone)}"
    raise TypeError(f"no words for {schedule!r}")


def _every(schedule: Every, zone: tzinfo) -> str:
    interval, start = schedule.interval, schedule.start.astimezone(zone)
    unit, name = next((each for each in UNITS if not interval % each[0]), (TICK, "microsecond"))
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
        case EveryNDays(_, interval):
            return each(interval, "day")
        case Weekly(_, weekdays, interval, week_start):
            return _weekly(weekdays, interval, week_start)
        case MonthDay(start, day, interval):
            return _month_day(start, day, interval)
        case NthOfWeekdays(start, weekdays, number, interval):
            return _nth_of_weekdays(start, weekdays, number, interval)
        case DateutilDays():
            return f"by the rule {rule.rule}"
        case MonthDays(_, days, interval):
            return f"{each(interval, 'month')} on {_month_days(days)}"
        case NthWeekdays(_, choices, interval):
            return f"{each(interval, 'month')} on {_nth_weekdays(choices)}"
    raise TypeError(f"no words for {rule!r}")


def _weekly(weekdays: frozenset[int], interval: int, week_start: int) -> str:
    """Describe weekdays.

    With `interval > 1`, list the days from the start of the week, because it decides which days share a week.
    """
    if len(weekdays) == 7:
        return "every day" if interval == 1 else f"every day of {each(interval, 'week')}"
    if weekdays == {0, 1, 2, 3, 4}:
        return f"{each(interval, 'week')} from Monday to Friday"
    begin = week_start if interval > 1 else 0
    in_order = sorted(weekdays, key=lambda day: (day - begin) % 7)
    return f"{each(interval, 'week')} on {listed(WEEKDAYS[day] for day in in_order)}"


def _month_day(start: date, day: int, interval: int) -> str:
    if interval % MONTHS_A_YEAR == 0:
        return f"{each(interval // MONTHS_A_YEAR, 'year')} on {_day_of_year(start.month, day)}"
    words = each(interval, "month")
    if day == 31:
        return f"{words} on the last day"
    return f"{words} on the {ordinal(day)}" + (" or, if there is none, the last day" if day > SHORTEST_MONTH else "")


def _day_of_year(month: int, day: int) -> str:
    name, (_, length) = MONTHS[month - 1], monthrange(2000, month)  # a leap year
    if length == 29 and day >= length:
        return "the last day of February" if day > length else "29 February or, if there is none, 28 February"
    return f"{min(day, length)} {name}"


def _nth_of_weekdays(start: date, weekdays: frozenset[int], number: int, interval: int) -> str:
    nth = "last" if number == -1 else f"{ORDINALS[abs(number)]}" + (" to last" if number < 0 else "")
    day = SETS_OF_WEEKDAYS.get(weekdays) or listed((WEEKDAYS[day] for day in sorted(weekdays)), "or")
    if interval % MONTHS_A_YEAR == 0:
        return f"{each(interval // MONTHS_A_YEAR, 'year')} on the {nth} {day} of {MONTHS[start.month - 1]}"
    return f"{each(interval, 'month')} on the {nth} {day}"


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


def _span(series: Series) -> str:
    if series.start == 0 and series.length and not series.length % ONE_DAY:
        days = series.length // ONE_DAY
        return ", all day" if days == 1 else f" for {days} days"
    if not series.length:
        return f" at {clock(series.start)} {series.zone}"
    later, end = divmod(series.start + series.length // ONE_SECOND, DAY)
    words = f" from {clock(series.start)} to {clock(end)}"
    if later:
        words += " the next day" if later == 1 else f" {later} days later"
    return f"{words} {series.zone}"


def _exceptions(series: Series) -> str:
    left_out, added = exceptions(series)
    words = f", except {left_out} day{'' if left_out == 1 else 's'}" if left_out else ""
    return f"{words}, plus {added} extra day{'' if added == 1 else 's'}" if added else words


def _until(words: str, last: date | None) -> str:
    return words if last is None else f"{words}, until {last.day} {MONTHS[last.month - 1]} {last.year}"


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
    return f"{wall.day} {MONTHS[wall.month - 1]} {wall.year} at {clock(_second_of_day(wall))} {zone}"
