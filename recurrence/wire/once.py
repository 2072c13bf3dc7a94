"""A single moment: the member `at`, an ISO 8601 time, or milliseconds since 1970."""

from collections.abc import Mapping
from datetime import datetime, tzinfo

from recurrence.schedules import Once
from recurrence.wire import json_values
from recurrence.wire.clocks import read_display_zone, render_display_zone
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed
from recurrence.wire.simple import moment, rendered

MEMBERS = dict.fromkeys(("at", "timeZone", "clockChange"))


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile the definition; `timeZone` is the zone in which people see the moment.

    A past moment is no error; the result has a warning.  Raises WireError.
    """
    at, zone = _read(definition)
    warnings = json_values.warnings_of_unknown(definition, MEMBERS)
    if at < created_at:
        warnings.append("It will not fire: its moment has passed.")
    return Parsed(Once(at), None, zone, tuple(warnings), may_never_fire=True)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with its time in ISO 8601.  Raises WireError where `parse` would."""
    at, _ = _read(definition)
    return {"at": rendered(at), **render_display_zone(definition)}


def _read(definition: Mapping[str, object]) -> tuple[datetime, tzinfo]:
    faults = Faults()
    at = faults.read(_read_moment, definition.get("at"))
    zone = faults.read(read_display_zone, definition)
    faults.refuse()
    return at, zone


def _read_moment(value: object) -> datetime:
    at = moment(value, "at")
    if at is None:
        raise WireError("at", "required", "is required, such as 2026-01-05T08:00:00Z")
    return at
