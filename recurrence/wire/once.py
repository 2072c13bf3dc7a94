"""A single moment: the member `at`, an ISO 8601 time, or milliseconds since 1970."""

from collections.abc import Mapping
from datetime import UTC, datetime

from recurrence.schedules import Once
from recurrence.wire import json_values
from recurrence.wire.errors import WireError
from recurrence.wire.parsed import Parsed
from recurrence.wire.simple import moment, rendered

MEMBERS = {"at": None}


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile the definition.  A past moment is no error; the result has a warning.  Raises WireError."""
    at = _read(definition)
    warnings = json_values.warnings_of_unknown(definition, MEMBERS)
    if at < created_at:
        warnings.append("It will not fire: its moment has passed.")
    return Parsed(Once(at), None, UTC, tuple(warnings), may_never_fire=True)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with its time in ISO 8601.  Raises WireError where `parse` would."""
    return {"at": rendered(_read(definition))}


def _read(definition: Mapping[str, object]) -> datetime:
    at = moment(definition.get("at"), "at")
    if at is None:
        raise WireError("at", "required", "is required, such as 2026-01-05T08:00:00Z")
    return at
