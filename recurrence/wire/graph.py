"""Recurring events of Microsoft Graph, as Outlook's calendars write them: `start`, `end` and `recurrence`.

The rules are those of the article on recurring events and of the pages on recurrencePattern and recurrenceRange.  Where
they are silent or contradict themselves:

* A series is read on the clocks of `recurrenceTimeZone`, or of the start's zone, and keeps its readings there.
* Its first occurrence is the first day at or after `startDate` that fits the pattern with the interval left out, and
  intervals are counted from it.  What is answered begins with it.
* A day that a month lacks is its last day, 29 February too.
* An index counts through all days that have one of the weekdays.
* Members that a type ignores are held against their fixed sets all the same; numbers have none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import cast

from recurrence.days import LAST_DAY, EveryNDays, MonthDay, NthOfWeekdays, NumberedRule, Weekly
from recurrence.rules import ONE_DAY
from recurrence.schedules import just_before
from recurrence.series import MARGIN, Series, last_day
from recurrence.wire import reading
from recurrence.wire.errors import WireError
from recurrence.wire.parsed import Parsed
from recurrence.wire.zone_names import zone_of
from recurrence.zones import NOTHING, instant_of, missing_days

TYPES = ("daily", "weekly", "absoluteMonthly", "relativeMonthly", "absoluteYearly", "relativeYearly")
WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
INDEXES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
NAMES_OF_NUMBERS = {number: name for name, number in INDEXES.items()}
RANGE_TYPES = ("endDate", "noEnd", "numbered")
NO_DATE = date(1, 1, 1)  # what stands in `endDate` when there is none
LARGEST = 2**31 - 1
LONGEST = timedelta(days=366)  # of one occurrence
MEMBERS = ("start", "end", "recurrence")
PATTERN_MEMBERS = ("type", "interval", "month", "dayOfMonth", "daysOfWeek", "firstDayOfWeek", "index")
RANGE_MEMBERS = ("type", "startDate", "endDate", "recurrenceTimeZone", "numberOfOccurrences")

DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.\d{0,7})?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrence that was understood.  `start` and `end` are the readings of the first occurrence in `zone`.

    `document` says the same in Graph's spelling and with every member, those that do not apply with what Graph writes.
    """

    series: Series
    document: dict[str, object]
    start: datetime
    end: datetime
    zone: tzinfo
    warnings: tuple[str, ...] = ()


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile an event's `start`, `end` and `recurrence`.  One that has ended is no error: the answer warns.

    Raises WireError.
    """
    recurrence = _read_event(definition)
    warnings = [*_unknown(definition, MEMBERS), *recurrence.warnings]
    if recurrence.series.after(just_before(created_at)) is None:
        warnings.append("It will not fire again.")
    return Parsed(recurrence.series, None, recurrence.zone, tuple(warnings), may_never_fire=True)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """The definition with the times of its first occurrence, as clocks show them where the recurrence is read.

    Raises WireError where `parse` would.
    """
    recurrence = _read_event(definition)
    zone = cast(Mapping[str, object], recurrence.document["range"])["recurrenceTimeZone"]
    return {
        "start": {"dateTime": recurrence.start.isoformat(), "timeZone": zone},
        "end": {"dateTime": recurrence.end.isoformat(), "timeZone": zone},
        "recurrence": recurrence.document,
    }


def read_date_time(value: object, path: str) -> tuple[datetime, str, tzinfo]:
    """Read a dateTimeTimeZone: what clocks show, the name of the zone as it was written, and the zone.

    Fractions of a second are dropped.  With an offset it is that instant, shown by the clocks of the zone; without a
    name of the zone it is UTC.
    """
    members = reading.mapping(value, path)
    if members.get("dateTime") is None:
        raise WireError(f"{path}.dateTime", "required", "is required, such as 2026-01-05T08:00:00")
    name = members.get("timeZone")
    zone = zone_of(name, f"{path}.timeZone")
    wall = _wall(members["dateTime"], zone, f"{path}.dateTime")
    return wall, "UTC" if name is None else str(name), zone


def read_span(definition: Mapping[str, object]) -> tuple[datetime, datetime, tzinfo, str]:
    """Read the dateTimeTimeZones `start` and `end`, and the zone of the start and its name.

    Both are what clocks in that zone show, also of an end that was written in another one.
    """
    start, name, zone = read_date_time(definition["start"], "start")
    end, _, zone_of_end = read_date_time(definition["end"], "end")
    return start, end if zone_of_end == zone else _moved(end, zone_of_end, zone, "end"), zone, name


def read(
    recurrence: object, start: datetime, end: datetime, zone: tzinfo, path: str = "recurrence", zone_name: str = ""
) -> Recurrence:
    """Read a patternedRecurrence of an event from `start` to `end`, as clocks in `zone` show them.

    `zone_name` is what `zone` was called.  Raises WireError, also for an end before the start.
    """
    members = reading.mapping(recurrence, path)
    pattern_members, range_members = (_part(members, name, path) for name in ("pattern", "range"))
    pattern = _read_pattern(pattern_members, f"{path}.pattern")
    limits = _read_range(range_members, f"{path}.range")
    length = length_of(start, end)
    if limits.zone is not None and limits.zone != zone:
        start, end = _moved(start, zone, limits.zone, "start"), _moved(end, zone, limits.zone, "end")
        zone, length = limits.zone, max(end - start, NOTHING)  # clocks may have skipped the start, but not the end
    if limits.start != start.date():
        message = f"must be the date of the start in {zone}, {start.date()}, not {limits.start}"
        raise WireError(f"{path}.range.startDate", "not_allowed", message)

    series = _series(pattern, limits, start, length, zone, path)
    start = datetime.combine(series.days.start, start.time())
    return Recurrence(
        series,
        {"pattern": _rendered_pattern(pattern), "range": _rendered_range(limits, series, zone_name or str(zone))},
        start,
        start + series.length,
        zone,
        (*_unknown(pattern_members, PATTERN_MEMBERS), *_unknown(range_members, RANGE_MEMBERS)),
    )


def length_of(start: datetime, end: datetime) -> timedelta:
    """Return how long one occurrence is.  Raises WireError for an end before the start, and one too far away."""
    if not NOTHING <= end - start <= LONGEST:
        raise WireError("end", "out_of_range", f"must be at most {LONGEST.days} days after the start, and not before")
    return end - start


def series_of(days: NumberedRule, start: datetime, length: timedelta, zone: tzinfo, last: date | None) -> Series:
    """Return the series on `days` with the time of day of `start`.  Raises WireError at the ends of the calendar."""
    if not MARGIN < days.start.toordinal() <= LAST_DAY - MARGIN - length.days:
        raise WireError("start", "out_of_range", "must be a time at which clocks everywhere show a year from 1 to 9999")
    return Series(days, start.hour * 3600 + start.minute * 60 + start.second, length, zone, last)


def pattern_of(days: NumberedRule) -> dict[str, object] | None:
    """Return the pattern of a recurrence that begins on `days.start` and is on these days; None: Graph has none."""
    match days:
        case EveryNDays(_, interval):
            pattern = Pattern("daily", interval)
        case Weekly(_, weekdays, interval, week_start):
            pattern = Pattern("weekly", interval, _names(weekdays), WEEKDAYS[(week_start + 1) % 7])
        case MonthDay(start, day, months) if months % 12:
            pattern = Pattern("absoluteMonthly", months, day_of_month=day)
        case MonthDay(start, day, months):
            pattern = Pattern("absoluteYearly", months // 12, day_of_month=day, month=start.month)
        case NthOfWeekdays(start, weekdays, number, months) if number in NAMES_OF_NUMBERS:
            index = NAMES_OF_NUMBERS[number]
            if months % 12:
                pattern = Pattern("relativeMonthly", months, _names(weekdays), index=index)
            else:
                pattern = Pattern("relativeYearly", months // 12, _names(weekdays), month=start.month, index=index)
        case _:
            return None
    return _rendered_pattern(pattern)


def _names(weekdays: frozenset[int]) -> frozenset[str]:
    return frozenset(WEEKDAYS[(day + 1) % 7] for day in weekdays)


# What was written


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a type ignores stands as Graph writes it."""

    type: str
    interval: int
    days_of_week: frozenset[str] = frozenset()
    first_day_of_week: str = "sunday"
    day_of_month: int = 0
    month: int = 0
    index: str = "first"


@dataclass(frozen=True, slots=True)
class Limits:
    type: str
    start: date
    end: date
    count: int
    zone: tzinfo | None
    zone_name: str


def _read_event(definition: Mapping[str, object]) -> Recurrence:
    for name in MEMBERS:
        if definition.get(name) is None:
            raise WireError(name, "required", "is required")
    start, end, zone, name = read_span(definition)
    return read(definition["recurrence"], start, end, zone, zone_name=name)


def _read_pattern(members: Mapping[str, object], path: str) -> Pattern:
    type = _word(members, "type", path, TYPES)
    days = frozenset(_read_days(members.get("daysOfWeek"), f"{path}.daysOfWeek"))
    first_day = _word(members, "firstDayOfWeek", path, WEEKDAYS, "sunday")
    index = _word(members, "index", path, tuple(INDEXES), "first")
    is_relative, is_absolute, is_yearly = type.startswith("relative"), type.startswith("absolute"), "Yearly" in type
    interval = _number(members, "interval", path, LARGEST)
    day_of_month = _number(members, "dayOfMonth", path, 31 if is_absolute else None)
    month = _number(members, "month", path, 12 if is_yearly else None)
    if not days and (is_relative or type == "weekly"):
        raise WireError(f"{path}.daysOfWeek", "required", f"is required with the type {type}")
    return Pattern(
        type,
        interval,
        days if is_relative or type == "weekly" else frozenset(),
        first_day if type == "weekly" else "sunday",
        day_of_month if is_absolute else 0,
        month if is_yearly else 0,
        index if is_relative else "first",
    )


def _read_range(members: Mapping[str, object], path: str) -> Limits:
    type = _word(members, "type", path, RANGE_TYPES)
    for name in ("startDate", "endDate")[: 2 if type == "endDate" else 1]:
        if members.get(name) is None:
            raise WireError(f"{path}.{name}", "required", f"is required with the type {type}, such as 2026-01-05")
    start, end = (
        NO_DATE if members.get(name) is None else reading.day(members[name], f"{path}.{name}")
        for name in ("startDate", "endDate")
    )
    count = _number(members, "numberOfOccurrences", path, LARGEST if type == "numbered" else None)
    zone_name = members.get("recurrenceTimeZone") or None
    zone = None if zone_name is None else zone_of(zone_name, f"{path}.recurrenceTimeZone")
    return Limits(type, start, end, count, zone, str(zone_name or ""))


def _part(members: Mapping[str, object], name: str, path: str) -> Mapping[str, object]:
    if members.get(name) is None:
        raise WireError(f"{path}.{name}", "required", "is required")
    return reading.mapping(members[name], f"{path}.{name}")


def _word(members: Mapping[str, object], name: str, path: str, words: Sequence[str], default: str | None = None) -> str:
    value, path = members.get(name), f"{path}.{name}"
    if value is None and default is not None:
        return default
    if value is None:
        raise WireError(path, "required", f"must be one of {', '.join(words)}")
    return reading.word(value, path, {word.lower(): word for word in words})


def _read_days(value: object, path: str) -> list[str]:
    if value is None or value == []:
        return []
    words = {word: word for word in WEEKDAYS}
    return [reading.word(item, where, words) for where, item in reading.items(value, path)]


def _number(members: Mapping[str, object], name: str, path: str, highest: int | None) -> int:
    """A number from 1 to `highest`, or any, also none, where it is ignored."""
    value, path = members.get(name), f"{path}.{name}"
    if highest is None:
        return 0 if value is None else reading.integer(value, path, -LARGEST - 1, LARGEST)
    if value is None:
        raise WireError(path, "required", f"is required here, 1 to {highest}")
    return reading.integer(value, path, 1, highest)


def _wall(value: object, zone: tzinfo, path: str) -> datetime:
    match = DATE_TIME.fullmatch(reading.text(value, path))
    if match is None:
        raise WireError(path, "invalid", f"must be a time such as 2026-01-05T08:00:00, not {reading.shown(value)}")
    wall, offset = match.groups()
    try:
        if offset is None:
            return datetime.fromisoformat(wall)
        return datetime.fromisoformat(wall + offset.upper()).astimezone(zone).replace(tzinfo=None, fold=0)
    except (ValueError, OverflowError):
        message = f"must be a time that exists, not {reading.shown(value)}"
        raise WireError(path, "out_of_range", message) from None


def _moved(wall: datetime, zone: tzinfo, other: tzinfo, path: str) -> datetime:
    try:
        return instant_of(wall, zone).astimezone(other).replace(tzinfo=None, fold=0)
    except OverflowError:
        raise WireError(path, "out_of_range", "must be a time that exists") from None


def _unknown(members: Mapping[str, object], known: Sequence[str]) -> list[str]:
    return reading.warnings_of_unknown({k: v for k, v in members.items() if not k.startswith("@odata.")}, known)


# What it means


def _series(pattern: Pattern, limits: Limits, start: datetime, length: timedelta, zone: tzinfo, path: str) -> Series:
    first = _first_day(pattern, start.date(), zone)
    if limits.type == "endDate" and first is not None and limits.end < first:
        message = f"must not be before the first occurrence, which is on {first}"
        raise WireError(f"{path}.range.endDate", "never_fires", message)
    days = _rule(pattern, first or date.max, pattern.interval)  # a first day that no calendar has is refused below
    last = limits.end if limits.type == "endDate" else None
    if limits.type == "numbered":
        last = last_day(days, limits.count, zone)
    return series_of(days, start, length, zone, last)


def _first_day(pattern: Pattern, start: date, zone: tzinfo) -> date | None:
    """The first day from `start` on that fits the pattern without its interval and that there was in the zone."""
    beginning = start.replace(month=pattern.month, day=1) if pattern.month else start
    rule = _rule(pattern, beginning, 1)
    first = rule.on_or_after(start)
    while first is not None and first.toordinal() in missing_days(zone):
        first = rule.on_or_after(first + ONE_DAY)
    return first


def _rule(pattern: Pattern, start: date, interval: int) -> NumberedRule:
    weekdays = frozenset((WEEKDAYS.index(day) - 1) % 7 for day in pattern.days_of_week)
    match pattern.type:
        case "daily":
            return EveryNDays(start, interval)
        case "weekly":
            return Weekly(start, weekdays, interval, (WEEKDAYS.index(pattern.first_day_of_week) - 1) % 7)
    months = interval * 12 if pattern.month else interval
    if pattern.day_of_month:
        return MonthDay(start, pattern.day_of_month, months)
    return NthOfWeekdays(start, weekdays, INDEXES[pattern.index], months)


# How it is answered


def _rendered_pattern(pattern: Pattern) -> dict[str, object]:
    return {
        "type": pattern.type,
        "interval": pattern.interval,
        "month": pattern.month,
        "dayOfMonth": pattern.day_of_month,
        "daysOfWeek": [day for day in WEEKDAYS if day in pattern.days_of_week],
        "firstDayOfWeek": pattern.first_day_of_week,
        "index": pattern.index,
    }


def _rendered_range(limits: Limits, series: Series, zone_name: str) -> dict[str, object]:
    return {
        "type": limits.type,
        "startDate": series.days.start.isoformat(),
        "endDate": (limits.end if limits.type == "endDate" else NO_DATE).isoformat(),
        "recurrenceTimeZone": limits.zone_name or zone_name,
        "numberOfOccurrences": limits.count if limits.type == "numbered" else 0,
    }
