"""Read the days of calendar series, of Outlook and of iCalendar, for a translation."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from recurrence.cron import ALL_MONTHS
from recurrence.days import EveryNDays, MonthDay, NthOfWeekdays, NumberedRule, Weekly
from recurrence.schedules import FIRST_INSTANT
from recurrence.series import Series, series_in
from recurrence.translation.pattern import (
    DEFAULT_MEMBERS,
    EVERY_DAY,
    MONTHS_A_YEAR,
    Context,
    Days,
    DaySets,
    Interval,
    Pattern,
    day_or_last,
    days_of_position,
    months_from,
    start_if_ahead,
    weekdays_mask,
)
from recurrence.wire.clocks import SERIES_POLICY, Clocks, read_clocks
from recurrence.wire.zone_names import iana_name
from recurrence.zones import DAY, EPOCH_DAY, instant_at, latest_instant_of

OUTLOOK_MEMBERS = {**DEFAULT_MEMBERS, "all": "recurrence.pattern", "zone": "start.timeZone", "length": "end"}


def read_outlook(definition: Mapping[str, object], context: Context) -> Pattern | None:
    series = series_in(context.parsed.schedule)
    assert series is not None
    days, months, interval = days_of_rule(series.days) or (EVERY_DAY, ALL_MONTHS, None)
    minutes, second = divmod(series.start, 60)
    hour, minute = divmod(minutes, 60)
    return Pattern(
        1 << hour,
        1 << minute,
        1 << second,
        days,
        months,
        interval=interval,
        length=series.length,
        **clocks_of_series(definition, context, last_start(series)),
        members=OUTLOOK_MEMBERS,
    )


def days_of_rule(rule: NumberedRule) -> tuple[Days, int, Interval | None] | None:
    """Return days, months and interval of a rule by arithmetic; None for another rule."""
    match rule:
        case EveryNDays(_, number):
            return EVERY_DAY, ALL_MONTHS, _interval(number, "day")
        case Weekly(_, weekdays, number, week_start):
            return DaySets(weekdays=weekdays_mask(weekdays)), ALL_MONTHS, _interval(number, "week", week_start)
        case MonthDay(start, day, step):
            months, interval = months_of(start.month, step)
            is_one_month = interval is not None and step % MONTHS_A_YEAR == 0
            return day_or_last(day, 1 << start.month if is_one_month else months), months, interval
        case NthOfWeekdays(start, weekdays, number, step):
            return days_of_position(weekdays, number), *months_of(start.month, step)
    return None


def months_of(month: int, step: int) -> tuple[int, Interval | None]:
    """Return the months of each `step`-th month from `month` on; a step that does not divide a year is an interval."""
    if MONTHS_A_YEAR % step:
        return ALL_MONTHS, _interval(step, "month")
    return months_from(month, step), None


def _interval(number: int, unit: str, week_start: int = 0) -> Interval | None:
    return Interval(number, unit, week_start) if number > 1 else None


def last_start(series: Series) -> datetime | None:
    """Return the last instant at which the last occurrence of a series may start; None: it has no end."""
    last = series.last_occurrence
    if last is None:
        return None
    wall = instant_at((last.day.toordinal() - EPOCH_DAY) * DAY + series.start)
    return None if wall is None else latest_instant_of(wall.replace(tzinfo=None), series.zone)


def clocks_of_series(definition: Mapping[str, object], context: Context, last: datetime | None) -> dict[str, Any]:
    """Return the properties of a pattern that all series read alike; `last` is its last start."""
    zone = context.parsed.zone
    clocks: Clocks = read_clocks(definition, own_zone=zone, default=SERIES_POLICY)
    ends = [end for end in (clocks.end, last) if end is not None]
    start = context.parsed.schedule.after(FIRST_INSTANT) or clocks.start
    return {
        "zone": iana_name(str(zone), "timeZone"),
        "clock_change": clocks.clock_change,
        "is_stepping": False,
        "start": start_if_ahead(start, context.now),
        "end": min(ends, default=None),
    }
