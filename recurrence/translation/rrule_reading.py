"""Read rules of iCalendar for a translation."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta

from recurrence.bits import mask_of
from recurrence.composites import Bounded
from recurrence.cron import ALL_MONTHS
from recurrence.periodic import PeriodicRule
from recurrence.rules import QuartzSchedule, ZonedRule
from recurrence.schedules import Schedule, between
from recurrence.series import series_in
from recurrence.times import ALL_HOURS, ALL_MINUTES
from recurrence.translation.pattern import (
    DEFAULT_MEMBERS,
    EVERY_DAY,
    Context,
    Days,
    DaySets,
    Elapsed,
    Interval,
    NthWeekdays,
    Pattern,
    days_of_numbers,
    months_from,
    weekdays_mask,
)
from recurrence.translation.series_reading import clocks_of_series, days_of_rule, last_start
from recurrence.wire import graph, rrule
from recurrence.wire.clocks import rendered_instant
from recurrence.wire.common import base_of
from recurrence.wire.crontab import ALL_WEEKDAYS
from recurrence.wire.rrule_schedule import FREQUENCIES, PATH, UNITS
from recurrence.zones import instant_at, latest_instant_of, parts_of_day

RRULE_MEMBERS = {**DEFAULT_MEMBERS, "all": PATH, "zone": "start.timeZone", "length": "end"}
MOST_ADDED = 1000  # instants for the member `extras`
PERIODS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "month"}
PLACES = {"HOURLY": 1, "MINUTELY": 2, "SECONDLY": 3}  # how many of hours, minutes and seconds are counted
FOREIGN_PARTS = ("BYSETPOS", "BYYEARDAY", "BYWEEKNO")


def read_rrule(definition: Mapping[str, object], context: Context) -> Pattern | Elapsed | None:
    parts = rrule.read_parts(definition[PATH], PATH, FREQUENCIES)
    start, _, _ = graph.read_date_time(definition["start"], "start")
    pattern = _elapsed(parts, start, definition, context) or _pattern(parts, start, definition, context)
    if pattern is not None:
        _add_dates(definition, context)
    return pattern


def _pattern(
    parts: Mapping[str, str], start: datetime, definition: Mapping[str, object], context: Context
) -> Pattern | None:
    times = _times(parts, start, context)
    days = times and _days(parts, start, context)
    if times is None or days is None:
        return None
    series = series_in(context.parsed.schedule)
    chosen, months, interval = days
    hours, minutes, seconds = times
    clocks = clocks_of_series(definition, context, _last(parts, definition, context))
    clocks["is_stepping"] = parts["FREQ"] in UNITS
    return Pattern(
        hours,
        minutes,
        seconds,
        chosen,
        months,
        interval=interval,
        length=series.length if series else timedelta(0),
        members=RRULE_MEMBERS,
        **clocks,
    )


def _elapsed(
    parts: Mapping[str, str], start: datetime, definition: Mapping[str, object], context: Context
) -> Elapsed | None:
    """Return a rule in UTC that counts hours, minutes or seconds which do not divide a day; None for another rule."""
    frequency, number = parts["FREQ"], int(parts.get("INTERVAL", 1))
    if frequency not in UNITS or any(name.startswith("BY") for name in parts) or str(context.parsed.zone) != "UTC":
        return None
    if 86_400 % (seconds := number * UNITS[frequency]) == 0:
        return None
    clocks = clocks_of_series(definition, context, _last(parts, definition, context))
    first = context.parsed.schedule.after(start.replace(tzinfo=context.parsed.zone) - timedelta(seconds=1))
    if first is None:
        return None
    return Elapsed(
        timedelta(seconds=seconds), first, clocks["start"], clocks["end"], members={**RRULE_MEMBERS, "interval": PATH}
    )


def _times(parts: Mapping[str, str], start: datetime, context: Context) -> tuple[int, int, int] | None:
    """Return the masks of hours, minutes and seconds; None: other formats cannot say them."""
    frequency = parts["FREQ"]
    names = ("BYHOUR", "BYMINUTE", "BYSECOND")
    counted = PLACES.get(frequency, 0)
    own = (start.hour, start.minute, start.second)
    masks = [ALL_HOURS, ALL_MINUTES, ALL_MINUTES]
    for place, name in enumerate(names):
        numbers = rrule.integers(parts, name)
        if numbers:
            masks[place] = mask_of(numbers)
        elif place >= counted:
            masks[place] = 1 << own[place]
    number, place = int(parts.get("INTERVAL", 1)), counted - 1
    while counted and number > 1:
        size = (24, 60, 60)[place]
        if place and number % size == 0:  # each 120th minute is each second hour
            masks[place] &= 1 << own[place]
            number, place = number // size, place - 1
            continue
        if size % number:
            context.lose(f"{PATH}: INTERVAL={parts['INTERVAL']} does not divide {_period(place)}, and cannot be said")
            return None
        masks[place] &= mask_of(range(own[place] % number, size, number))
        break
    hours, minutes, seconds = masks
    return hours, minutes, seconds


def _period(place: int) -> str:
    return ("a day", "an hour", "a minute")[place]


def _days(parts: Mapping[str, str], start: datetime, context: Context) -> tuple[Days, int, Interval | None] | None:
    """Return days, months and interval; None: other formats cannot say them."""
    frequency = parts["FREQ"]
    is_counted = frequency in UNITS
    if not is_counted:
        found = rrule.arithmetic_days(parts, start.date(), context.parsed.zone)
        known = days_of_rule(found) if found else None
        if known:
            return known
    foreign = [name for name in FOREIGN_PARTS if name in parts]
    if foreign:
        context.lose(*(f"{PATH}: {name} cannot be said" for name in foreign))
        return None
    days, months = _chosen_days(parts, start), rrule.integers(parts, "BYMONTH")
    if days is None:
        context.lose(f"{PATH}: BYDAY and BYMONTHDAY with these numbers cannot be said")
        return None
    number = 1 if is_counted else int(parts.get("INTERVAL", 1))
    if frequency == "YEARLY" and not months and "BYMONTHDAY" not in parts and "BYDAY" not in parts:
        months = [start.month]
    mask = mask_of(months) if months else ALL_MONTHS
    if number == 1:
        return days, mask, None
    if frequency == "MONTHLY" and 12 % number == 0:
        mask &= months_from(start.month, number)
        return (days, mask, None) if mask else None
    is_yearly = frequency == "YEARLY"
    if (months and not (is_yearly and len(months) == 1)) or (is_yearly and not months):
        context.lose(f"{PATH}: INTERVAL={number} with these parts cannot be said")
        return None
    has_other_days = days != EVERY_DAY if frequency == "DAILY" else "BYMONTHDAY" in parts
    if frequency in ("DAILY", "WEEKLY") and has_other_days:
        context.lose(f"{PATH}: INTERVAL={number} with BYDAY or BYMONTHDAY cannot be said")
        return None
    week_start = rrule.WEEKDAYS.index(parts.get("WKST", "MO"))
    return days, ALL_MONTHS, Interval(number * (12 if is_yearly else 1), PERIODS[frequency], week_start)


def _chosen_days(parts: Mapping[str, str], start: datetime) -> Days | None:
    """Return the days that BYDAY and BYMONTHDAY choose, or those of the start; None: not in one of our forms."""
    frequency = parts["FREQ"]
    numbers, weekdays = rrule.integers(parts, "BYMONTHDAY"), rrule.weekdays_of(parts)
    if not numbers and not weekdays:
        if frequency == "WEEKLY":
            return DaySets(weekdays=weekdays_mask([start.weekday()]))
        return DaySets(month_days=1 << start.day) if frequency in ("MONTHLY", "YEARLY") else EVERY_DAY
    if any(number for number, _ in weekdays):
        is_in_month = frequency == "MONTHLY" or "BYMONTH" in parts
        if numbers or not is_in_month or any(abs(number or 0) > 5 for number, _ in weekdays):
            return None
        return NthWeekdays(frozenset((day, number) for number, day in weekdays))
    chosen = weekdays_mask(day for _, day in weekdays) if weekdays else ALL_WEEKDAYS
    if not numbers:
        return DaySets(weekdays=chosen)
    if min(numbers) > 0:
        return DaySets(mask_of(numbers), chosen)
    return None if weekdays else days_of_numbers(numbers)


# The end, and single days


def _last(parts: Mapping[str, str], definition: Mapping[str, object], context: Context) -> datetime | None:
    """Return the last instant at which a rule with COUNT or UNTIL may fire; None: it has no end."""
    until = rrule.read_until(parts.get("UNTIL", ""))
    zone = context.parsed.zone
    if isinstance(until, datetime) and until.tzinfo:
        return until
    if until is not None:
        wall = until if isinstance(until, datetime) else datetime.combine(until, time(23, 59, 59))
        return latest_instant_of(wall, zone)
    if "COUNT" not in parts:
        return None
    series = series_in(context.parsed.schedule)
    if series is not None:
        if definition.get("rdates"):  # added days are not counted
            start, _, _ = graph.read_date_time(definition["start"], "start")
            series = rrule.read(definition[PATH], start, start, zone)
        return last_start(series)
    rule = _periodic_in(context.parsed.schedule)
    last = instant_at(rule.last) if rule and rule.last is not None else None
    return last and latest_instant_of(last.replace(tzinfo=None), zone)


def _periodic_in(schedule: Schedule) -> PeriodicRule | None:
    match schedule:
        case PeriodicRule():
            return schedule
        case Bounded(inner) | ZonedRule(inner) | QuartzSchedule(inner):
            return _periodic_in(inner)
    return None


def _add_dates(definition: Mapping[str, object], context: Context) -> None:
    """Add the removed days to `skips`, and the fire times on the added days to `extras`."""
    context.skips |= {str(day) for day in _list(definition, "exdates")}
    schedule, zone = base_of(context.parsed.schedule), context.parsed.zone
    for text in _list(definition, "rdates"):
        for begins, ends, _ in parts_of_day(date.fromisoformat(str(text)).toordinal(), zone):
            fires = between(schedule, begins, ends)
            context.extras |= {rendered_instant(fire) for fire in fires if fire >= context.now}
    if len(context.extras) > MOST_ADDED:
        context.lose(f"rdates: more than {MOST_ADDED} added times cannot be said")
        context.extras.clear()


def _list(definition: Mapping[str, object], name: str) -> list[object]:
    value = definition.get(name)
    return list(value) if isinstance(value, list) else []
