"""The format `rrule`: a start and a rule of iCalendar (RFC 5545, 3.3.10), as python-dateutil reads it.

A rule with the time of day of the start is a series with lengths, as in a calendar.  Other rules have several times of
day, or count hours, minutes or seconds; they have fire times only.  These rules count in wall times, as dateutil does,
so their answers do not depend on the zone; a `clockChange` says what happens when clocks are changed.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, tzinfo

from recurrence.bits import mask_of, members
from recurrence.composites import Bounded
from recurrence.dateutil_rule import DateutilDays, no_budget
from recurrence.days import LAST_DAY
from recurrence.periodic import MAX_CYCLE, CountedDays, PeriodicRule, Periods
from recurrence.schedules import FIRST_INSTANT, Schedule, just_before
from recurrence.series import MARGIN, Series
from recurrence.times import ALL_HOURS, ALL_MINUTES
from recurrence.wire import clocks, graph, json_values, rrule
from recurrence.wire.clocks import SERIES_POLICY, Clocks, in_zone, read_clocks, render_clocks
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed
from recurrence.year_days import DayChoice, YearDays
from recurrence.zones import EPOCH, SECOND, missing_days

HOUR, MINUTE = 3600, 60  # seconds
UNITS = {"HOURLY": HOUR, "MINUTELY": MINUTE, "SECONDLY": 1}
FREQUENCIES = (*UNITS, *rrule.FREQUENCIES)
TIME_PARTS = ("BYHOUR", "BYMINUTE", "BYSECOND")
ALL_SECONDS = ALL_MINUTES
PATH = "rrule"
MEMBERS: json_values.Known = {
    **dict.fromkeys(("start", "end"), graph.DATE_TIME_MEMBERS),
    **dict.fromkeys((PATH, "exdates", "rdates")),
    **clocks.MEMBERS,
}


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile `start` and `end` as in an event of Graph, `rrule`, and the lists of dates `exdates` and `rdates`.

    Without an end the occurrences have no length.  A rule that has ended is no error; the result has a warning.
    Raises WireError.
    """
    schedule, clocks = _read(definition)
    warnings = json_values.warnings_of_unknown(definition, MEMBERS)
    if schedule.after(just_before(created_at)) is None:
        warnings.append("It will not fire again.")
    return Parsed(schedule, None, clocks.zone, tuple(warnings), may_never_fire=True)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with its times, rule and dates in canonical form.  Raises WireError where `parse` would."""
    _, clocks = _read(definition)
    answer: dict[str, object] = {}
    for name in ("start", "end"):
        if definition.get(name) is not None:
            wall, zone_name, _ = graph.read_date_time(definition[name], name)
            answer[name] = {"dateTime": wall.isoformat(), "timeZone": zone_name}
    answer[PATH] = rrule.written(rrule.read_parts(definition[PATH], PATH, FREQUENCIES))
    for name in ("exdates", "rdates"):
        if days := _dates(definition.get(name), name):
            answer[name] = [day.isoformat() for day in sorted(days)]
    return answer | render_clocks(definition, clocks)


def _read(definition: Mapping[str, object]) -> tuple[Schedule, Clocks]:
    faults = Faults()
    span = faults.read(graph.read_span, {"end": definition.get("start"), **_without_nulls(definition)})
    parts = faults.read(_parts, definition.get(PATH))
    exdates, rdates = (faults.read(_dates, definition.get(name), name) for name in ("exdates", "rdates"))
    own_zone = span[2] if span else None
    clocks = faults.read(read_clocks, definition, own_zone=own_zone, default=SERIES_POLICY)
    faults.refuse()
    start, end, zone, _ = span
    if _has_time_of_start(parts, start):
        return clocks.schedule_of_series(_series(definition[PATH], start, end, zone, exdates, rdates)), clocks
    if end != start:
        message = "must be left out: only rules with the time of day of the start have an end"
        raise WireError("end", "not_allowed", message)
    rule = _periodic_rule(parts, start, zone, exdates, rdates)
    schedule = in_zone(rule, zone, clocks.clock_change, is_interval=parts["FREQ"] in UNITS)
    until = rrule.read_until(parts.get("UNTIL", ""))
    if isinstance(until, datetime) and until.tzinfo and not rdates:
        schedule = Bounded(schedule, until=until)
    if schedule.after(FIRST_INSTANT) is None:
        raise WireError(PATH, "never_fires", "has no fire time before its end")
    return clocks.bounded(schedule), clocks


def _without_nulls(definition: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in definition.items() if value is not None}


def _dates(value: object, path: str) -> frozenset[date]:
    items = [] if value is None or value == [] else json_values.items(value, path)
    return frozenset(json_values.each(items, json_values.day))


def _parts(rule: object) -> dict[str, str]:
    if rule is None:
        raise WireError(PATH, "required", "is required")
    return rrule.read_parts(rule, PATH, FREQUENCIES)


def _has_time_of_start(parts: Mapping[str, str], start: datetime) -> bool:
    own = dict(zip(TIME_PARTS, (start.hour, start.minute, start.second), strict=True))
    return parts["FREQ"] not in UNITS and all(
        rrule.integers(parts, name) in ([], [number]) for name, number in own.items()
    )


# Rules with the time of day of the start


def _series(
    rule: object, start: datetime, end: datetime, zone: tzinfo, exdates: frozenset[date], rdates: frozenset[date]
) -> Series:
    series = rrule.read(rule, start, end, zone, exdates, rdates)
    if isinstance(series.days, DateutilDays) and series.days.count and series.last is None:
        raise _too_far()
    return series


def _too_far() -> WireError:
    message = "must have a COUNT that ends within a hundred years of the start; UNTIL can name a later end"
    return WireError(PATH, "out_of_range", message)


# Rules with other times


def _periodic_rule(
    parts: Mapping[str, str], start: datetime, zone: tzinfo, exdates: frozenset[date], rdates: frozenset[date]
) -> PeriodicRule:
    """Return the rule in wall times, taken as if they were in UTC."""
    if not MARGIN < start.toordinal() <= LAST_DAY - MARGIN:
        raise WireError("start", "out_of_range", "must be a time at which clocks everywhere show a year from 1 to 9999")
    first = _wall_second(start)
    missing = frozenset(map(date.fromordinal, missing_days(zone)))
    periods = _periods(parts, start, first)
    rule = PeriodicRule(_days(parts, start.date(), zone), periods, first, None, exdates | missing)
    last = _last(parts, rule, start)
    until = rrule.read_until(parts.get("UNTIL", ""))
    if isinstance(until, datetime) and until.tzinfo and rdates:  # added days are not bounded by an instant
        with suppress(OverflowError):  # at the end of the calendar
            last = _wall_second(until.astimezone(zone))
    return replace(rule, last=last, added=rdates)


def _periods(parts: Mapping[str, str], start: datetime, first: int) -> Periods:
    """Return the times of a day.  A rule by days or longer periods has its times in every hour that BYHOUR names."""
    frequency = parts["FREQ"]
    unit, interval = (UNITS[frequency], int(parts.get("INTERVAL", 1))) if frequency in UNITS else (HOUR, 1)
    hours = _mask(parts, "BYHOUR", ALL_HOURS if frequency in UNITS else 1 << start.hour)
    minutes = _mask(parts, "BYMINUTE", 1 << start.minute if unit == HOUR else ALL_MINUTES)
    seconds = _mask(parts, "BYSECOND", ALL_SECONDS if unit == 1 else 1 << start.second)
    if unit == HOUR:
        allowed, within = (
            hours,
            [minute * MINUTE + second for minute in members(minutes) for second in members(seconds)],
        )
    elif unit == MINUTE:
        allowed, within = _in_each(hours, minutes, 60), [*members(seconds)]
    else:
        allowed, within = _in_each(hours, _in_each(minutes, seconds, 60), HOUR), [0]
    within = _at_positions(parts, within, hours.bit_count() if frequency not in UNITS else 1)
    try:
        return Periods(unit, interval, first // unit, allowed, tuple(within))
    except ValueError:
        message = f"must have an INTERVAL whose times of day repeat within {MAX_CYCLE:,} days, with BYHOUR or BYMINUTE"
        raise WireError(PATH, "out_of_range", message) from None


def _mask(parts: Mapping[str, str], name: str, default: int) -> int:
    numbers = rrule.integers(parts, name)
    if numbers[-1:] == [60]:
        raise WireError(PATH, "out_of_range", f"{name} must be 0 to 59: clocks here have no leap seconds")
    return mask_of(numbers) if numbers else default


def _in_each(outer: int, inner: int, size: int) -> int:
    """Return a mask with `inner` at each member of `outer`, which stand `size` bits apart."""
    return sum(inner << size * each for each in members(outer))


def _at_positions(parts: Mapping[str, str], within: list[int], hours: int) -> list[int]:
    """Return the times within a period that BYSETPOS chooses; of rules by days or longer periods it chooses days."""
    positions = rrule.integers(parts, "BYSETPOS")
    if not positions or (parts["FREQ"] not in UNITS and len(within) * hours == 1):
        return within
    if parts["FREQ"] not in UNITS:
        raise WireError(PATH, "not_allowed", "BYSETPOS cannot stand together with several times of day")
    size = len(within)
    chosen = sorted({each - 1 if each > 0 else size + each for each in positions if abs(each) <= size})
    if not chosen:
        raise WireError(PATH, "never_fires", "has no time at the positions of BYSETPOS")
    return [within[each] for each in chosen]


def _days(parts: Mapping[str, str], start: date, zone: tzinfo) -> CountedDays:
    """Return the days of a rule, by arithmetic where possible.  Raises WireError if there are none."""
    is_counted = parts["FREQ"] in UNITS
    ignored = ("COUNT", "INTERVAL", "BYSETPOS") if is_counted else ("COUNT",)
    parts = {name: value for name, value in parts.items() if name not in ignored}
    if is_counted:
        parts["FREQ"] = "DAILY"
    found = rrule.arithmetic_days(parts, start, zone) or _year_days(parts, start)
    return found or rrule.dateutil_days(parts, start, None, frozenset(), frozenset(), PATH, no_budget)


def _year_days(parts: Mapping[str, str], start: date) -> YearDays | None:
    """Return the days of a rule that each year chooses alone, or None.

    Like dateutil, a rule that names no days takes those of the start.
    """
    weekdays = rrule.weekdays_of(parts)
    if int(parts.get("INTERVAL", 1)) > 1 or "BYSETPOS" in parts or any(number for number, _ in weekdays):
        return None
    months, month_days, year_days, weeks = (
        frozenset(rrule.integers(parts, name)) for name in ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")
    )
    chosen = frozenset(day for _, day in weekdays)
    frequency = parts["FREQ"]
    if not (month_days or year_days or weeks or chosen):
        months = months or frozenset([start.month] if frequency == "YEARLY" else [])
        month_days = frozenset([start.day] if frequency in ("MONTHLY", "YEARLY") else [])
        chosen = frozenset([start.weekday()] if frequency == "WEEKLY" else [])
    week_start = rrule.WEEKDAYS.index(parts.get("WKST", "MO"))
    return YearDays(start, DayChoice(months, month_days, chosen, year_days, weeks, week_start))


def _last(parts: Mapping[str, str], rule: PeriodicRule, start: datetime) -> int | None:
    """Return the last wall time of a rule, of COUNT or of UNTIL; None: the rule has no end, or UNTIL is an instant."""
    until = rrule.read_until(parts.get("UNTIL", ""))
    if isinstance(until, datetime):
        return None if until.tzinfo else _wall_second(until)
    if until is not None:
        return _wall_second(datetime.combine(until, time.max))
    if "COUNT" not in parts:
        return None
    count = int(parts["COUNT"])
    if isinstance(rule.days, DateutilDays):
        far = min(start.date(), rrule.FAR_BEFORE_THE_END) + rrule.FARTHEST_COUNTED
        if rule.days.count_before(far) * rule.periods.count(0) <= count:
            raise _too_far()
    if rule.after(FIRST_INSTANT) is None:
        return None
    try:
        return rule.nth(count)
    except OverflowError:
        message = "must have a smaller COUNT with an INTERVAL that does not divide a day; UNTIL can name the end"
        raise WireError(PATH, "out_of_range", message) from None


def _wall_second(wall: datetime) -> int:
    return (wall.replace(tzinfo=UTC) - EPOCH) // SECOND
