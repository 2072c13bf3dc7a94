"""Describe schedules in English."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo

from recurrence.bits import lowest, members
from recurrence.composites import Bounded, FirstThen, Skipping, WithExtras
from recurrence.cron import CronRule
from recurrence.days import DateRule, MonthDays, NthWeekdays
from recurrence.describe_cron import describe_cron
from recurrence.describe_series import describe_date_rule, describe_series, with_count
from recurrence.describe_times import MOST_CLOCKS, describe_hours, describe_minutes, describe_times_in, parts_of
from recurrence.elapsed import EveryWithinPeriod
from recurrence.english_words import MONTHS, ORDINALS, WEEKDAYS, clock, each, listed, ordinal, past_the_hour
from recurrence.language import ENGLISH
from recurrence.open_days import OnOpenDays, Rule
from recurrence.periodic import PeriodicRule
from recurrence.rules import CalendarRule, QuartzSchedule, ZonedRule
from recurrence.schedules import TICK, Every, Once, Schedule
from recurrence.series import Series, SeriesWallTimes
from recurrence.solar import SolarEvent, SolarRule
from recurrence.times import ALL_HOURS, ALL_MINUTES, Times
from recurrence.wire.parsed import Parsed
from recurrence.year_days import DayChoice, YearDays
from recurrence.zones import EPOCH, NOTHING, SECOND, to_zone

UNITS = (  # longest first
    (timedelta(weeks=1), "week"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (timedelta(seconds=1), "second"),
    (timedelta(milliseconds=1), "millisecond"),
    (TICK, "microsecond"),
)
SOLAR_EVENTS = {SolarEvent.NOON: "solar noon", SolarEvent.MIDNIGHT: "solar midnight"}  # the others are clear
HOUR = 3600  # seconds
UNITS_OF_PERIODS = {HOUR: "hour", 60: "minute", 1: "second"}
MOST_EXCEPTIONS = 3  # dates and times that are left out or added; of more the number is given
ON_OPEN_DAYS = {
    Rule.SKIP: "on open days of {}",
    Rule.BEFORE: "moved from closed days of {} to the open day before",
    Rule.AFTER: "moved from closed days of {} to the next open day",
    Rule.NEAREST: "moved from closed days of {} to the nearest open day",
}


def describe(parsed: Parsed) -> str:
    """Return one phrase, without a capital letter or a full stop, such as "every day at 05:00 UTC, 10 times"."""
    phrase = with_count(_schedule(parsed.schedule, parsed.zone), parsed.count)
    return f"{phrase}, up to {_length(parsed.jitter)} later" if parsed.jitter else phrase


def _schedule(schedule: Schedule, zone: tzinfo) -> str:
    match schedule:
        case Once(at):
            return f"once on {_instant(at, zone)}"
        case Every():
            return _every(schedule, zone)
        case CalendarRule():
            return _on_days(schedule.days, schedule.times, zone if schedule.zone is UTC else schedule.zone)
        case PeriodicRule():
            return _periodic(schedule, zone)
        case Series():
            return describe_series(schedule)
        case SeriesWallTimes(series):
            return describe_series(series)
        case EveryWithinPeriod():
            return _every_within(schedule, zone)
        case CronRule():
            return describe_cron(schedule, zone)
        case ZonedRule(rule, own_zone):
            return _schedule(rule, own_zone)
        case QuartzSchedule(zoned):
            return _schedule(zoned, zone)
        case SolarRule():
            return _solar(schedule)
        case FirstThen(first, then):
            return f"on {_instant(first, zone)}, then {_schedule(then, zone)}"
        case Bounded(inner, start, until):
            is_from_start = isinstance(_rule(inner), Every | CalendarRule | EveryWithinPeriod)
            from_start = "" if start is None or is_from_start else f", from {_instant(start, zone)}"
            return _schedule(inner, zone) + from_start + (f", until {_instant(until, zone)}" if until else "")
        case Skipping(inner, days, instants):
            return f"{_schedule(inner, zone)}, except {_exceptions(days, instants, zone)}"
        case OnOpenDays(inner, rule=rule, calendar=calendar):
            return f"{_schedule(inner, zone)}, {ON_OPEN_DAYS[rule].format(calendar)}"
        case WithExtras(inner, instants):
            return f"{_schedule(inner, zone)}, and {_exceptions((), instants, zone)}"
    raise TypeError(f"no words for {schedule!r}")


def _exceptions(days: Iterable[date], instants: Iterable[datetime], zone: tzinfo) -> str:
    """Return dates and times that are left out or added: "on 24 December 2026", or their number."""
    dates = [ENGLISH.format_date(day) for day in sorted(days)]
    times = [_instant(instant, zone) for instant in sorted(instants)]
    if len(dates) + len(times) <= MOST_EXCEPTIONS:
        return f"on {listed(dates + times)}"
    numbers = [(len(dates), "on", "date"), (len(times), "at", "time")]
    return listed(f"{word} {number} {unit}{'s' * (number > 1)}" for number, word, unit in numbers if number)


def _length(length: timedelta) -> str:
    """Return a length such as "90 minutes" in the largest unit that it is a whole number of."""
    unit, name = next((unit, name) for unit, name in UNITS if not length % unit)
    number = length // unit
    return f"{number} {name}{'s' * (number > 1)}"


def _rule(schedule: Schedule) -> Schedule:
    match schedule:
        case QuartzSchedule(zoned):
            return zoned.rule
        case ZonedRule(rule):
            return rule
    return schedule


def _every(schedule: Every, zone: tzinfo) -> str:
    interval, start = schedule.interval, to_zone(schedule.start, zone)
    unit, name = next((unit, name) for unit, name in UNITS if not interval % unit)
    words = each(interval // unit, name)
    if zone is UTC and name == "week":  # in other zones a clock change would move the wall time
        return f"{words} on {WEEKDAYS[start.weekday()]} at {clock(_second_of_day(start))} UTC"
    if zone is UTC and name == "day":
        return f"{words} at {clock(_second_of_day(start))} UTC"
    if words == "every hour":
        return f"every hour at {past_the_hour(start.minute, start.second)} {zone}"
    return f"{words} from {_instant(schedule.start, zone)}"


def _on_days(rule: DateRule, times: Times, zone: tzinfo) -> str:
    days, at = _days(rule), describe_times_in(times, zone)
    if times.per_day <= MOST_CLOCKS:
        return f"{days} {at}"
    return at if days == "every day" else f"{days}, {at}"


def _periodic(rule: PeriodicRule, zone: tzinfo) -> str:
    periods = rule.periods
    if periods.unit == HOUR and periods.interval == 1 and not periods.allows_all:
        minutes, seconds = ({each // size % 60 for each in periods.within} for size in (60, 1))
        words = _on_days(rule.days, Times.of(members(periods.allowed), minutes, seconds), zone)
    else:
        words = f"{each(periods.interval, UNITS_OF_PERIODS[periods.unit])} from {_wall_time(rule.first)} {zone}"
        if periods.within not in ((0,), (rule.first % periods.unit,)):
            words += f", {len(periods.within)} times each"
        if not periods.allows_all:
            words += ", only at some times of the day"
        if _days(rule.days) != "every day":
            words += f", only {_days(rule.days)}"
    if rule.left_out:
        words += f", except {len(rule.left_out)} {'day' if len(rule.left_out) == 1 else 'days'}"
    if rule.added:
        words += f", plus {len(rule.added)} extra {'day' if len(rule.added) == 1 else 'days'}"
    return words if rule.last is None else f"{words}, until {_wall_time(rule.last)}"


def _every_within(rule: EveryWithinPeriod, zone: tzinfo) -> str:
    """Describe a rule whose times are wall times in `zone`."""
    times = rule.times
    start = f"{ENGLISH.format_date(rule.start)} at {clock(_second_of_day(rule.start))} {zone}"
    words = f"{each(rule.interval, 'minute' if rule.period == 1 else 'hour')} from {start}"
    if times.minutes not in (ALL_MINUTES, 1 << rule.start.minute):
        minutes = describe_minutes(parts_of(times.minutes), lowest(times.seconds))
        words += f", {'only ' if rule.period == 1 else ''}{minutes}"
    if times.hours != ALL_HOURS:
        words += f", only in {describe_hours(parts_of(times.hours))}"
    return words


def _solar(rule: SolarRule) -> str:
    event = SOLAR_EVENTS.get(rule.event, rule.event.value)
    place = f"{event} at {rule.latitude:g}, {rule.longitude:g}"
    if not rule.offset:
        return f"at {place}"
    seconds = abs(rule.offset) // SECOND
    numbers = (seconds // 3600, seconds // 60 % 60, seconds % 60)
    parts = [
        f"{number} {unit}{'' if number == 1 else 's'}"
        for number, unit in zip(numbers, ("hour", "minute", "second"), strict=True)
        if number
    ]
    return f"{listed(parts)} {'after' if rule.offset > NOTHING else 'before'} {place}"


# Days


def _days(rule: DateRule) -> str:
    match rule:
        case MonthDays(_, days, interval):
            return f"{each(interval, 'month')} on {_month_days(days)}"
        case NthWeekdays(_, choices, interval):
            return f"{each(interval, 'month')} on {_nth_weekdays(choices)}"
        case YearDays(_, choice):
            return _year_days(choice)
    return describe_date_rule(rule)


def _year_days(choice: DayChoice) -> str:
    parts = []
    if choice.weekdays:
        parts.append(f"on {listed(WEEKDAYS[day] for day in sorted(choice.weekdays))}")
    if choice.month_days:
        parts.append(f"on {_month_days(choice.month_days)}")
    if choice.year_days:
        parts.append(f"on the days {listed(map(str, sorted(choice.year_days)))} of the year")
    if choice.weeks:
        parts.append(f"in the weeks {listed(map(str, sorted(choice.weeks)))}")
    if choice.months:
        parts.append(f"in {listed(MONTHS[month - 1] for month in sorted(choice.months))}")
    return " ".join(parts)


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


def _second_of_day(wall: datetime) -> int:
    return wall.hour * 3600 + wall.minute * 60 + wall.second


def _wall_time(wall_time: int) -> str:
    wall = EPOCH + timedelta(seconds=wall_time)
    return f"{ENGLISH.format_date(wall)} at {clock(_second_of_day(wall))}"


def _instant(instant: datetime, zone: tzinfo) -> str:
    wall = to_zone(instant, zone)
    return f"{ENGLISH.format_date(wall)} at {clock(_second_of_day(wall))} {wall.tzinfo}"
