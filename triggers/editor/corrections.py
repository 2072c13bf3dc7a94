"""Suggest what a text that a field of the schedule editor cannot read was likely meant to be."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from difflib import get_close_matches
from typing import Any

from django import forms

from recurrence import wire
from triggers.editor.fields import (
    SEPARATORS,
    DurationField,
    OffsetField,
    TimesOfDayField,
    WallTimeField,
    WallTimesField,
    write_wall_time,
)

LONGEST = 1_000  # characters of a text that is corrected
CLOSE_ENOUGH = 0.7  # of the similarity of difflib
CLOCK = re.compile(r"(\d{1,2})(?:[:.h]?(\d\d))?(?: ?([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)
YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ,]{1,3}(.{1,10}))?", re.ASCII)
YEAR_LAST = re.compile(r"(\d{1,2})([-/.]) ?(\d{1,2})[-/.] ?(\d{4})(?:[T ,]{1,3}(.{1,10}))?", re.ASCII)
SPAN = re.compile(
    r"([+-]?) ?(?:(\d{1,3}) ?h(?:ours?|rs?)?)? ?(?:(\d{1,4}) ?m(?:in(?:ute)?s?)?)? ?(?:(\d{1,5}) ?s(?:ecs?|econds?)?)?",
    re.ASCII | re.IGNORECASE,
)
UNITS = "HMS"


def likely_text(field: forms.Field, text: str) -> str | None:
    """Return a text that `field` accepts and that was likely meant; None: nothing is likely."""
    read = next((read for kind, read in READERS.items() if isinstance(field, kind)), None)
    if read is None or not 0 < len(text) <= LONGEST:
        return None
    found = read(text.strip())
    try:
        return found if found and field.clean(found) else None
    except forms.ValidationError:
        return None


def with_known_names(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a schedule document with the format and the members that wrong names resemble; None: it has none."""
    format = _closest(document.get("format"), wire.MEMBERS)
    if format is None:
        return None
    known = ("format", *wire.MEMBERS[format])
    names = {name: name if name in known else _closest(name, known) for name in document}
    if None in names.values() or len({*names.values()}) < len(names):
        return None
    found = {str(names[name]): value for name, value in document.items()} | {"format": format}
    return None if found == document else found


def _closest(name: object, known: Iterable[str]) -> str | None:
    found = get_close_matches(name[:LONGEST], [*known], 1, CLOSE_ENOUGH) if isinstance(name, str) else []
    return found[0] if found else None


def _clock(text: str) -> time | None:
    match = CLOCK.fullmatch(text.strip())
    if match is None:
        return None
    hour, minute, half = int(match[1]), int(match[2] or 0), (match[3] or "").lower()
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return time(hour, minute) if hour < 24 and minute < 60 else None


def _clocks(text: str) -> str | None:
    found = [_clock(part) for part in SEPARATORS.split(text) if part.strip()]
    return ", ".join(f"{each:%H:%M}" for each in found if each) if found and None not in found else None


def _moment(text: str) -> date | None:
    """Return the date, with or without a time of day, that a text means; None: none, or it is ambiguous."""
    if match := YEAR_FIRST.fullmatch(text):
        year, month, day, rest = int(match[1]), int(match[2]), int(match[3]), match[4]
    elif match := YEAR_LAST.fullmatch(text):
        day, month, year, rest = int(match[1]), int(match[3]), int(match[4]), match[5]
        if match[2] != "." and day <= 12 and month != day:
            day, month = (month, day) if month > 12 else (0, 0)
    else:
        return None
    clock = _clock(rest) if rest else None
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    if rest and clock is None:
        return None
    return datetime.combine(found, clock) if clock else found


def _wall_time(text: str) -> str | None:
    found = _moment(text)
    return write_wall_time(found) if isinstance(found, datetime) else None


def _wall_times(text: str) -> str | None:
    found = [_moment(part.strip()) for part in SEPARATORS.split(text) if part.strip()]
    return ", ".join(write_wall_time(each) for each in found if each) if found and None not in found else None


def _span(text: str) -> str | None:
    match = SPAN.fullmatch(text)
    if match is None or not any(match.groups()[1:]):
        return None
    parts = "".join(f"{number}{unit}" for number, unit in zip(match.groups()[1:], UNITS, strict=True) if number)
    sign = "-" if match[1] == "-" else ""
    return f"{sign}PT{parts}"


READERS: Mapping[type[forms.Field], Callable[[str], str | None]] = {
    TimesOfDayField: _clocks,
    WallTimeField: _wall_time,
    WallTimesField: _wall_times,
    DurationField: _span,
    OffsetField: _span,
}
