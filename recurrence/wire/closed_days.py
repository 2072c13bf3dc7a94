"""The document of a closed-day calendar: its weekend, its public holidays, its dates and its calendars of events."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from recurrence.closed_days import WEEKDAYS, ClosedDays, countries, subdivisions
from recurrence.wire import json_values
from recurrence.wire.errors import Faults, WireError

MAX_HOLIDAYS = 50
MAX_DATES = 1000
MAX_RANGE = 3660  # days: ten years
MAX_CALENDARS = 10
MAX_NAME = 200  # characters
LEAP_YEAR = 2000
MEMBERS: Mapping[str, json_values.Known | None] = {
    "weekend": None,
    "holidays": {"country": None, "subdivision": None},
    "dates": dict.fromkeys(("date", "from", "to", "month", "day", "name")),
    "calendars": {"calendar": None, "category": None},
}
FORMS = (("date",), ("from", "to"), ("month", "day"))  # of an item of `dates`


def parse(document: object, event_days: Mapping[date, str] | None = None) -> ClosedDays:
    """Compile a document, with the days of the events in its calendars.  Raises WireError."""
    return ClosedDays.of(render(document), event_days)


def render(document: object) -> dict[str, list[Any]]:
    """Return the canonical form of a document: every member, without null, each weekday once.

    Raises WireError for the first fault, with all others.
    """
    faults = Faults()
    members = json_values.mapping(document, "")
    for unknown in json_values.unknown_members(members, MEMBERS):
        faults.add(WireError(unknown.path, "unknown", f"is not known here; take {', '.join(unknown.known)}"))
    answer = {
        "weekend": faults.read(_weekend, members.get("weekend")),
        "holidays": faults.read(_list, members.get("holidays"), "holidays", MAX_HOLIDAYS, _holiday),
        "dates": faults.read(_list, members.get("dates"), "dates", MAX_DATES, _dates),
        "calendars": faults.read(_list, members.get("calendars"), "calendars", MAX_CALENDARS, _calendar),
    }
    faults.refuse()
    return answer


def _list(value: object, path: str, most: int, reader: Any) -> list[Any]:
    """Read a list; one without items and null are empty lists.  Of equal items only the first is returned."""
    if value is None or value == []:
        return []
    items = json_values.items(value, path)
    if len(items) > most:
        raise WireError(path, "out_of_range", f"must have at most {most} items, not {len(items)}")
    found = {repr(item): item for item in json_values.each(items, reader)}
    return [*found.values()]


def _weekend(value: object) -> list[str]:
    words = {name: name for name in WEEKDAYS}
    names = _list(value, "weekend", len(WEEKDAYS), lambda item, path: json_values.word(item, path, words))
    if len(names) == len(WEEKDAYS):
        raise WireError("weekend", "out_of_range", "must leave at least one day of the week open")
    return sorted(names, key=WEEKDAYS.index)


def _holiday(value: object, path: str) -> dict[str, str]:
    members = json_values.mapping(value, path)
    country = json_values.text(_required(members, "country", path), f"{path}.country").upper()
    if country not in countries():
        known = ", ".join(sorted(countries()))
        raise WireError(f"{path}.country", "unknown_value", f"must be one of {known}, not {country!r:.40}")
    subdivision = members.get("subdivision")
    if subdivision is None:
        return {"country": country}
    codes = {code.lower(): code for code in subdivisions(country)}
    code = codes.get(json_values.text(subdivision, f"{path}.subdivision").lower())
    if code is None:
        expected = f"must be one of {', '.join(codes.values())}" if codes else f"is not possible: {country} has none"
        raise WireError(f"{path}.subdivision", "unknown_value", f"{expected}, not {subdivision!r:.40}")
    return {"country": country, "subdivision": code}


def _dates(value: object, path: str) -> dict[str, object]:
    members = {name: member for name, member in json_values.mapping(value, path).items() if member is not None}
    form = tuple(name for form in FORMS for name in form if name in members)
    if form not in FORMS:
        raise WireError(path, "invalid", "must have date, or from and to, or month and day")
    faults = Faults()
    if form == ("month", "day"):
        found = faults.read(_day_of_year, members, path)
    else:
        days = [faults.read(json_values.day, members[name], f"{path}.{name}") for name in form]
        found = {name: str(day) for name, day in zip(form, days, strict=True)}
        if form == ("from", "to") and None not in days:
            faults.read(_check_range, *days, path)
    if "name" in members:
        name = faults.read(_text, members["name"], f"{path}.name")
        faults.refuse()
        return {**found, "name": name}
    faults.refuse()
    return found


def _day_of_year(members: Mapping[str, object], path: str) -> dict[str, object]:
    month = json_values.integer(members["month"], f"{path}.month", 1, 12)
    day = json_values.integer(members["day"], f"{path}.day", 1, 31)
    try:
        date(LEAP_YEAR, month, day)
    except ValueError:
        raise WireError(f"{path}.day", "out_of_range", f"must be a day of the month {month}, not {day}") from None
    return {"month": month, "day": day}


def _check_range(first: date, last: date, path: str) -> None:
    if last < first:
        raise WireError(f"{path}.to", "out_of_range", "must not be earlier than from")
    if (last - first).days >= MAX_RANGE:
        raise WireError(f"{path}.to", "out_of_range", f"must be less than {MAX_RANGE} days later than from")


def _calendar(value: object, path: str) -> dict[str, str]:
    members = json_values.mapping(value, path)
    faults = Faults()
    answer = {"calendar": faults.read(_text, _required(members, "calendar", path), f"{path}.calendar")}
    if members.get("category") is not None:
        answer["category"] = faults.read(_text, members["category"], f"{path}.category")
    faults.refuse()
    return answer


def _text(value: object, path: str) -> str:
    found = json_values.text(value, path).strip()
    if not 1 <= len(found) <= MAX_NAME:
        raise WireError(path, "out_of_range", f"must have 1 to {MAX_NAME} characters")
    return found


def _required(members: Mapping[str, object], name: str, path: str) -> object:
    if members.get(name) is None:
        raise WireError(f"{path}.{name}", "required", "is required")
    return members[name]
