"""Recurring events of Microsoft Graph, as Outlook's calendars write them: `start`, `end` and `recurrence`.

Source: the article on recurring events and the pages on recurrencePattern and recurrenceRange.  Where they are silent
or contradict themselves, these rules hold:

* A series uses the wall times of `recurrenceTimeZone`, or of the start's zone, and keeps its wall times there.
* The first occurrence is on the first day at or after `startDate` that fits the pattern without its interval.
  Intervals are counted from that day, and answers begin with it.
* In a month without the day, the last day of the month counts, also for 29 February.
* An index counts all days that have one of the weekdays.
* Words in members that a type ignores are checked too; numbers there may have any value.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import cast

from recurrence.days import LAST_DAY, EveryNDays, MonthDay, NthOfWeekdays, NumberedRule, Weekly
from recurrence.rules import ONE_DAY
from recurrence.schedules import just_before
from recurrence.series import MARGIN, Series, last_day
from recurrence.wire import clocks, json_values
from recurrence.wire.clocks import SERIES_POLICY, Clocks, read_clocks, render_clocks
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed
from recurrence.wire.zone_names import zone_of
from recurrence.zones import NOTHING, instant_of, missing_days

TYPES = ("daily", "weekly", "absoluteMonthly", "relativeMonthly", "absoluteYearly", "relativeYearly")
WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
INDEXES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
NAMES_OF_NUMBERS = {number: name for name, number in INDEXES.items()}
RANGE_TYPES = ("endDate", "noEnd", "numbered")
NO_DATE = date(1, 1, 1)  # the value of `endDate` when there is no end date
LARGEST = 2**31 - 1
LONGEST = timedelta(days=366)  # the longest occurrence
MOST_OCCURRENCES = 999  # of a numbered range, as in Outlook; series stored before this limit may have more
DATE_TIME_MEMBERS = dict.fromkeys(("dateTime", "timeZone"))
RECURRENCE_MEMBERS = {
    "pattern": dict.fromkeys(("type", "interval", "month", "dayOfMonth", "daysOfWeek", "firstDayOfWeek", "index")),
    "range": dict.fromkeys(("type", "startDate", "endDate", "recurrenceTimeZone", "numberOfOccurrences")),
}
ANNOTATIONS = ("@odata.",)  # prefixes of members that clients of Graph add
MEMBERS: json_values.Known = {
    "start": DATE_TIME_MEMBERS,
    "end": DATE_TIME_MEMBERS,
    "recurrence": RECURRENCE_MEMBERS,
    **clocks.MEMBERS,
}

DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.\d{0,7})?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A parsed recurrence.  `start` and `end` are the wall times of the first occurrence in `zone`.

    `document` is the same recurrence in Graph's form, with every member; members that do not apply have the values that
    Graph writes.
    """

    series: Series
    document: dict[str, object]
    start: datetime
    end: datetime
    zone: tzinfo


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile an event's `start`, `end` and `recurrence`, and the members of `recurrence.wire.clocks`.

    A `timeZone` can only repeat the zone of the recurrence.  A series that has ended is no error; the result has a
    warning.  Raises WireError.
    """
    recurrence, clocks = _read_event(definition)
    schedule = clocks.schedule_of_series(recurrence.series)
    warnings = json_values.warnings_of_unknown(definition, MEMBERS, ANNOTATIONS)
    if schedule.after(just_before(created_at)) is None:
        warnings.append("It will not fire again.")
    excess = excess_of(recurrence.document)
    return Parsed(schedule, None, recurrence.zone, tuple(warnings), may_never_fire=True, excess=excess)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with the wall times of its first occurrence in the zone of the recurrence.

    Raises WireError where `parse` would.
    """
    recurrence, clocks = _read_event(definition)
    zone = cast(Mapping[str, object], recurrence.document["range"])["recurrenceTimeZone"]
    return {
        "start": {"dateTime": recurrence.start.isoformat(), "timeZone": zone},
        "end": {"dateTime": recurrence.end.isoformat(), "timeZone": zone},
        "recurrence": recurrence.document,
        **render_clocks(definition, clocks),
    }


def read_date_time(value: object, path: str) -> tuple[datetime, str, tzinfo]:
    """Read a dateTimeTimeZone: return the wall time, the name of the zone as it was written, and the zone.

    Fractions of a second are dropped.  A time with an offset is an instant, and is converted to the wall time of the
    zone.  Without a name the zone is UTC.
    """
    members = _mapping(value, path)
    name = members.get("timeZone")
    faults = Faults()
    zone = faults.read(zone_of, name, f"{path}.timeZone")
    wall = faults.read(_wall, members.get("dateTime"), zone or UTC, f"{path}.dateTime")
    faults.refuse()
    return wall, "UTC" if name is None else str(name), zone


def read_span(definition: Mapping[str, object]) -> tuple[datetime, datetime, tzinfo, str]:
    """Read the dateTimeTimeZones `start` and `end`; return both, and the zone of the start and its name.

    Both are wall times in that zone; an end in another zone is converted.
    """
    faults = Faults()
    begins, ends = (faults.read(read_date_time, definition.get(name), name) for name in ("start", "end"))
    faults.refuse()
    (start, name, zone), (end, _, zone_of_end) = begins, ends
    return start, end if zone_of_end == zone else _moved(end, zone_of_end, zone, "end"), zone, name


def read(
    recurrence: object, start: datetime, end: datetime, zone: tzinfo, path: str = "recurrence", zone_name: str = ""
) -> Recurrence:
    """Read a patternedRecurrence of an event from `start` to `end`, which are wall times in `zone`.

    `zone_name` is the name of `zone` as it was written.  Raises WireError, also for an end before the start.
    """
    pattern, limits = read_parts(recurrence, path)
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
    )


def read_parts(recurrence: object, path: str) -> tuple["Pattern", "Limits"]:
    """Read the parts of a patternedRecurrence that do not depend on the times of its event.  Raises WireError."""
    members = _mapping(recurrence, path)
    faults = Faults()
    of_pattern, of_range = (faults.read(_mapping, members.get(name), f"{path}.{name}") for name in ("pattern", "range"))
    pattern = None if of_pattern is None else faults.read(_read_pattern, of_pattern, f"{path}.pattern")
    limits = None if of_range is None else faults.read(_read_range, of_range, f"{path}.range")
    faults.refuse()
    return cast(tuple[Pattern, Limits], (pattern, limits))


def excess_of(document: Mapping[str, object]) -> WireError | None:
    """Return the error for a recurrence with more occurrences than a new one may have; None: the number is allowed.

    `document` is the one of a `Recurrence`.
    """
    count = cast(Mapping[str, int], document["range"])["numberOfOccurrences"]
    if count <= MOST_OCCURRENCES:
        return None
    message = f"must be 1 to {MOST_OCCURRENCES}, not {count}; a longer series has an end date"
    return WireError("recurrence.range.numberOfOccurrences", "out_of_range", message)


def length_of(start: datetime, end: datetime) -> timedelta:
    """Return the length of one occurrence.  Raises WireError for an end before the start, and for one too far away."""
    if not NOTHING <= end - start <= LONGEST:
        raise WireError("end", "out_of_range", f"must be at most {LONGEST.days} days after the start, and not before")
    return end - start


def series_of(days: NumberedRule, start: datetime, length: timedelta, zone: tzinfo, last: date | None) -> Series:
    """Return the series on `days` with the time of day of `start`.  Raises WireError at the ends of the calendar."""
    if not MARGIN < days.start.toordinal() <= LAST_DAY - MARGIN - length.days:
        raise WireError("start", "out_of_range", "must be a time at which clocks everywhere show a year from 1 to 9999")
    return Series(days, start.hour * 3600 + start.minute * 60 + start.second, length, zone, last)


def pattern_of(days: NumberedRule) -> dict[str, object] | None:
    """Return the pattern of a recurrence on these days, beginning on `days.start`; None: Graph cannot express it."""
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


# Reading


@dataclass(frozen=True, slots=True)
class Pattern:
    """The members of a pattern; members that the type ignores have the values that Graph writes."""

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


def _read_event(definition: Mapping[str, object]) -> tuple[Recurrence, Clocks]:
    faults = Faults()
    span = faults.read(read_span, definition)
    parts = faults.read(read_parts, definition.get("recurrence"), "recurrence")
    own_zone = (parts[1].zone or span[2]) if span and parts else None
    clocks = faults.read(read_clocks, definition, own_zone=own_zone, default=SERIES_POLICY)
    faults.refuse()
    start, end, zone, name = span
    return read(definition["recurrence"], start, end, zone, zone_name=name), clocks


def _read_pattern(members: Mapping[str, object], path: str) -> Pattern:
    faults = Faults()
    type = faults.read(_word, members, "type", path, TYPES) or ""
    days = frozenset(faults.read(_read_days, members.get("daysOfWeek"), f"{path}.daysOfWeek") or ())
    first_day = faults.read(_word, members, "firstDayOfWeek", path, WEEKDAYS, "sunday")
    index = faults.read(_word, members, "index", path, tuple(INDEXES), "first")
    is_relative, is_absolute, is_yearly = type.startswith("relative"), type.startswith("absolute"), "Yearly" in type
    interval = faults.read(_number, members, "interval", path, LARGEST)
    day_of_month = faults.read(_number, members, "dayOfMonth", path, 31 if is_absolute else None)
    month = faults.read(_number, members, "month", path, 12 if is_yearly else None)
    if members.get("daysOfWeek") in (None, []) and (is_relative or type == "weekly"):
        faults.add(WireError(f"{path}.daysOfWeek", "required", f"is required with the type {type}"))
    faults.refuse()
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
    faults = Faults()
    type = faults.read(_word, members, "type", path, RANGE_TYPES)
    start = faults.read(_date, members, "startDate", path, True)
    end = faults.read(_date, members, "endDate", path, type == "endDate")
    count = faults.read(_count, members, "numberOfOccurrences", path, type == "numbered")
    zone_name = members.get("recurrenceTimeZone") or None
    zone = None if zone_name is None else faults.read(zone_of, zone_name, f"{path}.recurrenceTimeZone")
    faults.refuse()
    return Limits(type, start, end, count, zone, str(zone_name or ""))


def _mapping(value: object, path: str) -> Mapping[str, object]:
    if value is None:
        raise WireError(path, "required", "is required")
    return json_values.mapping(value, path)


def _date(members: Mapping[str, object], name: str, path: str, is_required: bool) -> date:
    if members.get(name) is not None:
        return json_values.day(members[name], f"{path}.{name}")
    if is_required:
        raise WireError(f"{path}.{name}", "required", "is required here, such as 2026-01-05")
    return NO_DATE


def _word(members: Mapping[str, object], name: str, path: str, words: Sequence[str], default: str | None = None) -> str:
    value, path = members.get(name), f"{path}.{name}"
    if value is None and default is not None:
        return default
    if value is None:
        raise WireError(path, "required", f"must be one of {', '.join(words)}")
    return json_values.word(value, path, {word.lower(): word for word in words})


def _read_days(value: object, path: str) -> list[str]:
    if value is None or value == []:
        return []
    words = {word: word for word in WEEKDAYS}
    return list(json_values.each(json_values.items(value, path), json_values.word, words))


def _number(members: Mapping[str, object], name: str, path: str, highest: int | None) -> int:
    """Read a number from 1 to `highest`.

    With `highest` None the member is ignored: any number is allowed, and an absent one is 0.
    """
    value, path = members.get(name), f"{path}.{name}"
    if highest is None:
        return 0 if value is None else json_values.integer(value, path, -LARGEST - 1, LARGEST)
    if value is None:
        raise WireError(path, "required", f"is required here, 1 to {highest}")
    return json_values.integer(value, path, 1, highest)


def _count(members: Mapping[str, object], name: str, path: str, is_numbered: bool) -> int:
    """Read the number of occurrences.  A stored series may have more than a new one, see `excess_of`."""
    value = members.get(name)
    is_excess = type(value) is int and value > MOST_OCCURRENCES
    return _number(members, name, path, (LARGEST if is_excess else MOST_OCCURRENCES) if is_numbered else None)


def _wall(value: object, zone: tzinfo, path: str) -> datetime:
    if value is None:
        raise WireError(path, "required", "is required, such as 2026-01-05T08:00:00")
    match = DATE_TIME.fullmatch(json_values.text(value, path))
    if match is None:
        raise WireError(path, "invalid", f"must be a time such as 2026-01-05T08:00:00, not {json_values.shown(value)}")
    wall, offset = match.groups()
    try:
        if offset is None:
            return datetime.fromisoformat(wall)
        return datetime.fromisoformat(wall + offset.upper()).astimezone(zone).replace(tzinfo=None, fold=0)
    except (ValueError, OverflowError):
        message = f"must be a time that exists, not {json_values.shown(value)}"
        raise WireError(path, "out_of_range", message) from None


def _moved(wall: datetime, zone: tzinfo, other: tzinfo, path: str) -> datetime:
    try:
        return instant_of(wall, zone).astimezone(other).replace(tzinfo=None, fold=0)
    except OverflowError:
        raise WireError(path, "out_of_range", "must be a time that exists") from None


# Compiling


def _series(pattern: Pattern, limits: Limits, start: datetime, length: timedelta, zone: tzinfo, path: str) -> Series:
    first = _first_day(pattern, start.date(), zone)
    if limits.type == "endDate" and first is not None and limits.end < first:
        message = f"must not be before the first occurrence, which is on {first}"
        raise WireError(f"{path}.range.endDate", "never_fires", message)
    days = _rule(pattern, first or date.max, pattern.interval)  # `series_of` refuses `date.max`
    last = limits.end if limits.type == "endDate" else None
    if limits.type == "numbered":
        last = last_day(days, limits.count, zone)
    return series_of(days, start, length, zone, last)


def _first_day(pattern: Pattern, start: date, zone: tzinfo) -> date | None:
    """Return the first day from `start` on that fits the pattern without its interval and exists in the zone."""
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


# Rendering


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
