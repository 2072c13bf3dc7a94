"""Recurrence rules of iCalendar (RFC 5545, 3.3.10): read rules, with python-dateutil where needed, and write them.

A rule defines the days of a series; the time of day is that of the start.  As in dateutil, a start that does not fit
the rule is no occurrence.  An UNTIL without a time of day includes its day.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from recurrence.dateutil_rule import Budget, DateutilDays, no_budget
from recurrence.days import EveryNDays, MonthDay, NthOfWeekdays, NumberedRule, Weekly
from recurrence.rules import ONE_DAY
from recurrence.series import Series, last_day
from recurrence.wire import graph, json_values
from recurrence.wire.errors import WireError
from recurrence.zones import instant_of, missing_days

FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
MOST_IN_EACH_MONTH = 4  # every month has each weekday four times; some months have a fifth
DATEUTIL_ONLY_PARTS = ("BYYEARDAY", "BYWEEKNO")  # parts that only dateutil understands
NOT_FOR_DATEUTIL = ("COUNT", "UNTIL", "BYHOUR", "BYMINUTE", "BYSECOND")  # parts that this module applies itself
MIN_DAYS_OF_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # the least number of days of each month
MONTHS_A_YEAR = 12
FARTHEST_COUNTED = timedelta(days=36_525)  # to the end of a series with COUNT: the search takes 0.1 to 0.2 seconds
FAR_BEFORE_THE_END = date.max - FARTHEST_COUNTED
MAX_WEEKDAYS_OF_MONTH = 5
MAX_DAYS_OF_PERIOD = {"DAILY": 1, "WEEKLY": 7, "MONTHLY": 31, "YEARLY": 366}
MAX_RULE_LENGTH = 1000  # characters
LARGEST = 2**31 - 1

NUMBER = re.compile(r"[+-]?\d{1,10}", re.ASCII)
NUMBERED_DAY = re.compile(r"([+-]?(?:[1-9]|[1-4]\d|5[0-3]))?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
UNTIL = re.compile(r"(\d{8})(?:T(\d{6})(Z)?)?", re.ASCII)


ByArithmetic = EveryNDays | Weekly | MonthDay | NthOfWeekdays


def read(
    rule: object,
    start: datetime,
    end: datetime,
    zone: tzinfo,
    exdates: Collection[date] = (),
    rdates: Collection[date] = (),
    path: str = "rrule",
    budget: Budget = no_budget,
) -> Series:
    """Return the series of an event from `start` to `end`, wall times in `zone`, which `rule` repeats.

    The days `exdates` are removed from the series, the days `rdates` are added.  `budget` is called with the number of
    days that python-dateutil searches, now and at each later use of the series.  The `last` day of a rule with COUNT
    that only python-dateutil understands is None if it is more than a century after the first.  Raises WireError.
    """
    parts = read_parts(rule, path)
    _refuse_other_times(parts, start, path)
    length = graph.length_of(start, end)
    last = _last_day(parts, start, zone)
    days = None if exdates or rdates else arithmetic_days(parts, start.date(), zone)
    if days is None:
        missing = frozenset(map(date.fromordinal, missing_days(zone)))
        days = dateutil_days(parts, start.date(), last, missing.union(exdates), frozenset(rdates), path, budget)
        if "COUNT" in parts or (last and rdates):
            bound = max(last, *rdates) if last else None
            last = days.last_before(min(days.start, FAR_BEFORE_THE_END) + FARTHEST_COUNTED) or bound
    elif "COUNT" in parts:
        last = last_day(days, int(parts["COUNT"]), zone)
    if last is not None and last < days.start:
        raise WireError(path, "never_fires", f"has no occurrence until {last}, its end")
    return graph.series_of(days, start, length, zone, last)


def graph_of(
    rule: object, start: datetime, end: datetime, zone: tzinfo, path: str = "rrule"
) -> dict[str, object] | None:
    """Return the equivalent recurrence of Graph, or None when Graph cannot express it.

    Its `startDate` is the first day that fits.  An event whose start does not fit the rule must be moved to that day.
    Raises WireError for a wrong rule, and for an end before the start.
    """
    parts = read_parts(rule, path)
    _refuse_other_times(parts, start, path)
    last = _last_day(parts, start, zone)
    days = arithmetic_days(parts, start.date(), zone)
    pattern = days and graph.pattern_of(days)
    if days is None or pattern is None or (last is not None and last < days.start):
        return None
    limits: dict[str, object] = {"type": "noEnd", "startDate": days.start.isoformat()}
    if "COUNT" in parts:
        limits |= {"type": "numbered", "numberOfOccurrences": int(parts["COUNT"])}
    if last is not None:
        limits |= {"type": "endDate", "endDate": last.isoformat()}
    first = datetime.combine(days.start, start.time())
    return graph.read({"pattern": pattern, "range": limits}, first, first + (end - start), zone).document


def rrule_of(series: Series, *, is_all_day: bool = False) -> str | None:
    """Return the equivalent rule of an event that begins with the first occurrence; None: there is none.

    The UNTIL of the rule is an instant in UTC, as RFC 5545 requires for a start in a time zone.  For an `is_all_day`
    event it is a date, like the start.
    """
    parts = _parts_of(series.days)
    if parts is None:
        return None
    end = series.last_occurrence
    if end is not None:
        parts["UNTIL"] = _format_date(end.day) if is_all_day else f"{_format_date(end.start.replace(tzinfo=None))}Z"
    elif isinstance(series.days, DateutilDays) and series.days.count:
        parts["COUNT"] = str(series.days.count)
    return written(parts)


# Reading


def read_parts(rule: object, path: str, frequencies: Collection[str] = FREQUENCIES) -> dict[str, str]:
    """Return the parts of a rule by name; the form of each is checked.  Raises WireError."""
    text = json_values.text(rule, path).strip().upper().removeprefix("RRULE:")
    if len(text) > MAX_RULE_LENGTH:
        raise WireError(path, "out_of_range", f"must have at most {MAX_RULE_LENGTH} characters, not {len(text)}")
    parts: dict[str, str] = {}
    for part in filter(None, text.split(";")):  # some writers end a rule with a semicolon
        name, _, value = part.partition("=")
        if name not in FORMS:
            raise WireError(path, "unknown_value", f"{json_values.shown(name)} is none of {', '.join(FORMS)}")
        if name in parts:
            raise WireError(path, "not_allowed", f"{name} must be given once")
        if not (value in frequencies if name == "FREQ" else FORMS[name](value)):
            raise WireError(path, "invalid", f"{name} must not be {json_values.shown(value)}")
        parts[name] = value
    if "FREQ" not in parts:
        raise WireError(path, "required", f"must have a FREQ, which is one of {', '.join(frequencies)}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise WireError(path, "not_allowed", "COUNT and UNTIL cannot stand together")
    if parts["FREQ"] not in ("MONTHLY", "YEARLY") and re.search(r"\d", parts.get("BYDAY", "")):
        raise WireError(path, "not_allowed", f"BYDAY must have no numbers with FREQ={parts['FREQ']}")
    return parts


def _refuse_other_times(parts: Mapping[str, str], start: datetime, path: str) -> None:
    for name, number in (("BYHOUR", start.hour), ("BYMINUTE", start.minute), ("BYSECOND", start.second)):
        if name in parts and [int(each) for each in parts[name].split(",")] != [number]:
            message = f"{name} must be that of the start, {number}: an event has one time of day"
            raise WireError(path, "not_allowed", message)


def _numbers(lowest: int, highest: int, *, from_the_end: bool = False) -> Callable[[str], bool]:
    """Return a check for a list of numbers from `lowest` to `highest`; negative ones count `from_the_end`."""

    def is_in_form(value: str) -> bool:
        items = value.split(",")
        if not all(map(NUMBER.fullmatch, items)):
            return False
        return all(lowest <= (abs(int(item)) if from_the_end else int(item)) <= highest for item in items)

    return is_in_form


def _is_number(value: str) -> bool:
    return bool(NUMBER.fullmatch(value)) and 1 <= int(value) <= LARGEST


def _are_days(value: str) -> bool:
    return all(map(NUMBERED_DAY.fullmatch, value.split(",")))


def _is_end(value: str) -> bool:
    try:
        return read_until(value) is not None
    except ValueError:
        return False


FORMS: dict[str, Callable[[str], bool]] = {
    "FREQ": str.isalpha,
    "INTERVAL": _is_number,
    "COUNT": _is_number,
    "UNTIL": _is_end,
    "WKST": WEEKDAYS.__contains__,
    "BYMONTH": _numbers(1, 12),
    "BYMONTHDAY": _numbers(1, 31, from_the_end=True),
    "BYDAY": _are_days,
    "BYYEARDAY": _numbers(1, 366, from_the_end=True),
    "BYWEEKNO": _numbers(1, 53, from_the_end=True),
    "BYHOUR": _numbers(0, 23),
    "BYMINUTE": _numbers(0, 59),
    "BYSECOND": _numbers(0, 60),
    "BYSETPOS": _numbers(1, 366, from_the_end=True),
}


# Compiling


def read_until(value: str) -> date | datetime | None:
    """Return a date, a wall time or an instant.

    Returns None for a text in another form, and raises ValueError for a date or time that does not exist.
    """
    match = UNTIL.fullmatch(value)
    if match is None:
        return None
    day, time_of_day, is_utc = match.groups()
    if time_of_day is None:
        return date.fromisoformat(day)
    wall = datetime.fromisoformat(f"{day}T{time_of_day}")
    return wall.replace(tzinfo=UTC) if is_utc else wall


def _last_day(parts: Mapping[str, str], start: datetime, zone: tzinfo) -> date | None:
    """Return the last day on which an occurrence with the start's time of day is not later than UNTIL; None: no end."""
    until = read_until(parts.get("UNTIL", ""))
    if not isinstance(until, datetime):
        return until
    try:
        day = until.astimezone(zone).date() if until.tzinfo else until.date()
        wall = datetime.combine(day, start.time())
        is_too_late = instant_of(wall, zone) > until if until.tzinfo else wall > until
        return day - ONE_DAY if is_too_late else day
    except OverflowError:
        return until.date()


def arithmetic_days(parts: Mapping[str, str], start: date, zone: tzinfo) -> NumberedRule | None:
    """Return the days as a rule by arithmetic that begins with the first day that fits; None: there is no such rule."""
    rule = _rule(parts, start)
    first = rule and rule.on_or_after(start)
    while rule and first and first.toordinal() in missing_days(zone):
        first = rule.on_or_after(first + ONE_DAY)
    return replace(rule, start=first) if rule and first else None


def _rule(parts: Mapping[str, str], start: date) -> ByArithmetic | None:
    """Return a rule by arithmetic whose first period contains `start`, or None.

    The rule may begin before `start`; its earlier days do not count.
    """
    if any(name in parts for name in DATEUTIL_ONLY_PARTS):
        return None
    frequency, interval = parts["FREQ"], int(parts.get("INTERVAL", 1))
    months, month_days, positions = (integers(parts, name) for name in ("BYMONTH", "BYMONTHDAY", "BYSETPOS"))
    weekdays = weekdays_of(parts)
    every = frozenset(day for number, day in weekdays if number is None)
    if not (months or month_days or positions) and len(every) == len(weekdays):  # at most weekdays without numbers
        if frequency == "WEEKLY":
            week_start = WEEKDAYS.index(parts.get("WKST", "MO"))
            return Weekly(start, every or frozenset({start.weekday()}), interval, week_start)
        if every:
            return Weekly(start, every) if interval == 1 else None
        if frequency == "DAILY":
            return EveryNDays(start, interval)
    if frequency not in ("MONTHLY", "YEARLY"):
        return None
    if weekdays:
        return None if month_days else _nth_of_weekdays(frequency, interval, months, weekdays, positions, start)
    return _month_day(frequency, interval, months, month_days, positions, start)


def _nth_of_weekdays(
    frequency: str,
    interval: int,
    months: list[int],
    weekdays: set[tuple[int | None, int]],
    positions: list[int],
    start: date,
) -> NthOfWeekdays | None:
    """Return the rule for parts such as BYDAY=2TU, or BYDAY=MO,TU and BYSETPOS=2; None: not by arithmetic."""
    numbers = {number for number, _ in weekdays}
    if len(weekdays) == 1 and not positions:
        (number,) = numbers
    elif numbers == {None} and len(positions) == 1:
        (number,) = positions
    else:
        return None
    if number is None or not 1 <= abs(number) <= MOST_IN_EACH_MONTH:
        return None
    if frequency == "YEARLY" and not months:  # the number counts within the year
        months = [1 if number > 0 else MONTHS_A_YEAR]
    found = _grid(frequency, interval, months, start)
    if found is None or (frequency == "YEARLY" and positions and len(months) > 1):  # positions count within the year
        return None
    beginning, step = found
    return NthOfWeekdays(beginning, frozenset(day for _, day in weekdays), number, step)


def _month_day(
    frequency: str, interval: int, months: list[int], month_days: list[int], positions: list[int], start: date
) -> MonthDay | None:
    """Return the rule for parts such as BYMONTHDAY=15 or -1; None: not by arithmetic.

    BYMONTHDAY=28,29,30 and BYSETPOS=-1 is the 30th, or the last day of a shorter month.
    """
    if frequency == "YEARLY" and not months:
        months = [*range(1, MONTHS_A_YEAR + 1)] if month_days else [start.month]
    found = _grid(frequency, interval, months, start)
    if found is None or (frequency == "YEARLY" and positions and len(months) > 1):
        return None
    beginning, step = found
    month_days = month_days or [start.day]
    day = month_days[-1]  # the greatest
    if not positions and month_days == [-1]:
        return MonthDay(beginning, 31, step)
    if not positions and len(month_days) == 1 and 1 <= day <= _shortest(beginning, step):
        return MonthDay(beginning, day, step)
    if (month_days, positions) in (([*range(28, day + 1)], [-1]), ([-1, day], [1])):
        return MonthDay(beginning, day, step)
    return None


def _grid(frequency: str, interval: int, months: list[int], start: date) -> tuple[date, int] | None:
    """Return the first day of a month of the rule, and the number of months to the next one; None if that varies."""
    if frequency == "MONTHLY" and not months:
        return start.replace(day=1), interval
    first, step = months[0], MONTHS_A_YEAR // len(months)
    if frequency == "YEARLY" and len(months) == 1:
        return start.replace(month=first, day=1), MONTHS_A_YEAR * interval
    if interval == 1 and months == [*range(first, MONTHS_A_YEAR + 1, step)] and len(months) * step == MONTHS_A_YEAR:
        return start.replace(month=first, day=1), step
    return None


def _shortest(beginning: date, step: int) -> int:
    """Return the least number of days of the months that lie `step` months apart, from the month of `beginning` on."""
    return min(MIN_DAYS_OF_MONTH[(beginning.month - 1 + n * step) % MONTHS_A_YEAR] for n in range(MONTHS_A_YEAR))


def integers(parts: Mapping[str, str], name: str) -> list[int]:
    return sorted({int(item) for item in parts[name].split(",")}) if name in parts else []


def weekdays_of(parts: Mapping[str, str]) -> set[tuple[int | None, int]]:
    items = parts["BYDAY"].split(",") if "BYDAY" in parts else []
    return {(int(item[:-2]) if item[:-2] else None, WEEKDAYS.index(item[-2:])) for item in items}


def dateutil_days(
    parts: Mapping[str, str],
    start: date,
    last: date | None,
    exdates: frozenset[date],
    rdates: frozenset[date],
    path: str,
    budget: Budget,
) -> DateutilDays:
    dateutil_parts = _without_impossible_numbers(parts)
    rule = written({name: value for name, value in dateutil_parts.items() if name not in NOT_FOR_DATEUTIL})
    count = int(parts["COUNT"]) if "COUNT" in parts else None
    try:
        if not all(dateutil_parts.values()):
            raise ValueError("no number of a part is possible")
        if budget is no_budget:
            return _shared_days(start, rule, count, last, exdates, rdates)
        return DateutilDays(start, rule, count, last, exdates, rdates, budget)
    except ValueError:
        raise WireError(path, "never_fires", "has no occurrence before its end, or in a hundred years") from None


# a request compiles its rule several times, and the days that were found are not searched again
_shared_days = lru_cache(maxsize=32)(DateutilDays)


def _without_impossible_numbers(parts: Mapping[str, str]) -> dict[str, str]:
    """Return the parts without the numbers of BYSETPOS and BYDAY that no period has.

    dateutil tries each position in each period, which takes long, and fails for the 49th Monday of a December.
    """
    frequency, found = parts["FREQ"], dict(parts)
    if "BYSETPOS" in parts:
        positions = [each for each in integers(parts, "BYSETPOS") if abs(each) <= MAX_DAYS_OF_PERIOD[frequency]]
        found["BYSETPOS"] = ",".join(map(str, positions))
    if frequency == "MONTHLY" or "BYMONTH" in parts:
        days = [day for day in parts.get("BYDAY", "").split(",") if abs(int(day[:-2] or 0)) <= MAX_WEEKDAYS_OF_MONTH]
        found |= {"BYDAY": ",".join(days)} if "BYDAY" in parts else {}
    return found


# Rendering


def _parts_of(days: NumberedRule) -> dict[str, str] | None:
    match days:
        case EveryNDays(_, interval):
            return _every("DAILY", interval)
        case Weekly(_, weekdays, interval, week_start):
            week = {"WKST": WEEKDAYS[week_start]} if interval > 1 else {}
            return _every("WEEKLY", interval) | week | {"BYDAY": _listed(weekdays)}
        case MonthDay(start, day, months):
            return _months(start, months) | _day_or_the_last(day, start, months)
        case NthOfWeekdays(start, weekdays, number, months) if len(weekdays) == 1:
            return _months(start, months) | {"BYDAY": f"{number}{_listed(weekdays)}"}
        case NthOfWeekdays(start, weekdays, number, months):
            return _months(start, months) | {"BYDAY": _listed(weekdays), "BYSETPOS": str(number)}
        case DateutilDays(anchor, rule) if anchor == days.start and not (days.exdates or days.rdates):
            return read_parts(rule, "rrule")
    return None


def _every(frequency: str, interval: int) -> dict[str, str]:
    return {"FREQ": frequency} | ({"INTERVAL": str(interval)} if interval > 1 else {})


def _months(start: date, months: int) -> dict[str, str]:
    years, rest = divmod(months, MONTHS_A_YEAR)
    return _every("MONTHLY", months) if rest else _every("YEARLY", years) | {"BYMONTH": str(start.month)}


def _day_or_the_last(day: int, start: date, months: int) -> dict[str, str]:
    if day <= _shortest(start, months):
        return {"BYMONTHDAY": str(day)}
    if day == 31:
        return {"BYMONTHDAY": "-1"}
    return {"BYMONTHDAY": ",".join(map(str, range(28, day + 1))), "BYSETPOS": "-1"}


def _listed(weekdays: frozenset[int]) -> str:
    return ",".join(WEEKDAYS[day] for day in sorted(weekdays))


def written(parts: Mapping[str, str]) -> str:
    return ";".join(f"{name}={parts[name]}" for name in FORMS if name in parts)


def _format_date(when: date) -> str:
    """Return a date, or a date and a time, in the basic form of iCalendar: without - and : signs."""
    return re.sub("[-:]", "", when.isoformat())
