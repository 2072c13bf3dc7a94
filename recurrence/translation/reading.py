"""Read a definition of any format for a translation."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from recurrence.cron import FIRST_YEAR
from recurrence.translation.azure_reading import read_azure
from recurrence.translation.pattern import (
    DEFAULT_MEMBERS,
    LAST,
    WORKDAYS,
    Context,
    Days,
    DaySets,
    Elapsed,
    MonthDays,
    NearestWorkday,
    NthWeekdays,
    Pattern,
    Position,
    Single,
    Source,
    start_if_ahead,
)
from recurrence.translation.rrule_reading import read_rrule
from recurrence.translation.series_reading import read_outlook
from recurrence.wire import crontab, quartz, simple
from recurrence.wire.clocks import read_clocks
from recurrence.wire.crontab import ALL_MONTH_DAYS, ALL_WEEKDAYS
from recurrence.wire.zone_names import iana_name

SIMPLE_AT_CREATION = "Without a startTime it begins when it is created."
SIMPLE_MEMBERS = {**DEFAULT_MEMBERS, "all": "interval", "interval": "interval", "count": "repeatCount"}


def read(format: str, definition: Mapping[str, object], context: Context) -> Source | None:
    """Return what a valid definition has in common with other formats; None: nothing, and the losses say why."""
    return READERS[format](definition, context)


def _cron(definition: Mapping[str, object], context: Context) -> Pattern:
    line = crontab.parse_line(str(definition[crontab.PATH]))
    return Pattern(
        line.hours,
        line.minutes,
        days=DaySets(line.month_days, line.weekdays, line.days_are_alternatives),
        months=line.months,
        is_stepping=line.is_stepping,
        **_clocks_of(definition, context),
    )


def _quartz(definition: Mapping[str, object], context: Context) -> Pattern:
    fields = quartz.parse_expression(str(definition[quartz.PATH]))
    days = (fields.day_of_month, fields.day_of_week)
    word = next((each.text for each in days if not each.mask and each.text != "?"), "")
    sets = DaySets(fields.day_of_month.mask or ALL_MONTH_DAYS, fields.day_of_week.mask >> 1 or ALL_WEEKDAYS)
    return Pattern(
        fields.hour.mask,
        fields.minute.mask,
        fields.second.mask,
        days=_days_of_word(word) if word else sets,
        months=fields.month.mask,
        years=fields.year.mask >> FIRST_YEAR,
        is_stepping=fields.is_stepping,
        **_clocks_of(definition, context),
    )


def _days_of_word(word: str) -> Days:
    """Return the days of a form of Quartz with L, W or #."""
    if word in ("LW", "1W"):
        return Position(WORKDAYS, LAST if word == "LW" else 1)
    if word.endswith("W"):
        return NearestWorkday(word)
    if word.startswith("L"):
        return MonthDays(frozenset({-1 - int(word.partition("-")[2] or 0)}))
    name, _, number = word.removesuffix("L").partition("#")
    return NthWeekdays(frozenset({((quartz.WEEKDAY_NAMES.index(name) - 1) % 7, int(number or LAST))}))


def _clocks_of(definition: Mapping[str, object], context: Context) -> dict[str, Any]:
    """Return the properties of a pattern that have the same members in crontab lines and in Quartz expressions."""
    clocks = read_clocks(definition)
    return {
        "zone": iana_name(str(clocks.zone), "timeZone"),
        "clock_change": clocks.clock_change,
        "start": start_if_ahead(clocks.start, context.now),
        "end": clocks.end,
        "members": DEFAULT_MEMBERS,
    }


def _simple(definition: Mapping[str, object], context: Context) -> Elapsed | Single:
    rendered = simple.render(definition)
    zone = str(rendered.get("timeZone", "UTC"))
    start = simple.start_time(definition)
    if start is None:
        context.notes.append(SIMPLE_AT_CREATION)
    first = start or context.now
    interval, repeats = rendered.get("interval"), rendered.get("repeatCount")
    if not isinstance(interval, int) or repeats == 0:
        return Single(first, "startTime", zone)
    length = interval * simple.MILLISECOND
    ends = [end - simple.MILLISECOND for end in [simple.moment(definition.get("endTime"), "endTime")] if end]
    if isinstance(repeats, int) and repeats > 0:
        with suppress(OverflowError):  # later than the last year of the calendar
            ends.append(first + repeats * length)
    end = min(ends, default=None)
    return Elapsed(length, first, start_if_ahead(start, context.now), end, None, zone, SIMPLE_MEMBERS)


def _once(definition: Mapping[str, object], context: Context) -> Single:
    at = simple.moment(definition["at"], "at")
    assert at is not None
    return Single(at, "at", iana_name(str(context.parsed.zone), "timeZone"))


def _solar(definition: Mapping[str, object], context: Context) -> None:
    context.lose("event: the times of the sun cannot be said in another format")


READERS: Mapping[str, Callable[[Mapping[str, object], Context], Source | None]] = {
    "azure": read_azure,
    "cron": _cron,
    "quartz": _quartz,
    "simple": _simple,
    "once": _once,
    "outlook": read_outlook,
    "rrule": read_rrule,
    "solar": _solar,
}
