"""Events of the sun: sunrise, sunset, civil dawn and dusk, solar noon and midnight at a place, with an offset in time.

`timeZone` is the zone in which people see the times; the events follow no clocks.  The format is our own.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from recurrence.solar import SolarEvent, SolarRule
from recurrence.wire import json_values
from recurrence.wire.clocks import Clocks, read_clocks, read_display_zone, render_clocks
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed
from recurrence.zones import NOTHING, SECOND

EVENTS = {event.value: event for event in SolarEvent}
MAX_OFFSET = timedelta(hours=12)
OFFSET = re.compile(r"([+-])?PT(?=[0-9])(?:([0-9]{1,5})H)?(?:([0-9]{1,5})M)?(?:([0-9]{1,5})S)?")
MEMBERS: json_values.Known = dict.fromkeys(
    ("event", "latitude", "longitude", "offset", "timeZone", "startTime", "endTime", "clockChange")
)


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile `event`, `latitude`, `longitude`, `offset`, `timeZone`, `startTime` and `endTime`.

    It does not depend on the creation.  Raises WireError.
    """
    rule, clocks = _read(definition)
    warnings = json_values.warnings_of_unknown(definition, MEMBERS)
    return Parsed(clocks.bounded(rule), None, clocks.zone, tuple(warnings))


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with its event, offset and times in canonical form.  Raises WireError where `parse` would.

    Members that were not sent and unknown members are absent.
    """
    rule, clocks = _read(definition)
    answer = {"event": rule.event.value, "latitude": definition["latitude"], "longitude": definition["longitude"]}
    if definition.get("offset") is not None:
        answer["offset"] = rendered_offset(rule.offset)
    return answer | render_clocks(definition, clocks)


def rendered_offset(offset: timedelta) -> str:
    """Return an offset in ISO 8601, such as -PT45M."""
    minutes, seconds = divmod(abs(offset) // SECOND, 60)
    hours, minutes = divmod(minutes, 60)
    parts = "".join(f"{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M"), (seconds, "S")) if number)
    return f"{'-' if offset < NOTHING else ''}PT{parts or '0S'}"


def _read(definition: Mapping[str, object]) -> tuple[SolarRule, Clocks]:
    faults = Faults()
    event = faults.read(_event, definition.get("event"))
    latitude, longitude = (
        faults.read(_degrees, definition.get(name), name, highest)
        for name, highest in (("latitude", 90), ("longitude", 180))
    )
    offset = faults.read(read_offset, definition.get("offset"))
    zone = faults.read(read_display_zone, definition)
    bounds = faults.read(read_clocks, {name: definition.get(name) for name in ("startTime", "endTime")})
    faults.refuse()
    return SolarRule(event, latitude, longitude, offset), replace(bounds, zone=zone)


def _event(value: object) -> SolarEvent:
    if value is None:
        raise WireError("event", "required", f"must be one of {', '.join(EVENTS)}")
    return json_values.word(value, "event", EVENTS)


def _degrees(value: object, path: str, highest: int) -> float:
    if value is None:
        raise WireError(path, "required", "is required, in degrees; north and east are positive")
    return json_values.number(value, path, -highest, highest)


def read_offset(value: object) -> timedelta:
    if value is None:
        return NOTHING
    match = OFFSET.fullmatch(json_values.text(value, "offset"))
    if match is None:
        message = f"must be a duration in hours, minutes and seconds such as -PT45M, not {json_values.shown(value)}"
        raise WireError("offset", "invalid", message)
    sign, *numbers = match.groups(default="0")
    hours, minutes, seconds = map(int, numbers)
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if offset > MAX_OFFSET:
        message = f"must be -PT12H to PT12H, not {json_values.shown(value)}"
        raise WireError("offset", "out_of_range", message)
    return -offset if sign == "-" else offset
