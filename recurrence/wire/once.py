"""A single moment: the member `at`, an ISO 8601 time."""

from collections.abc import Mapping
from datetime import UTC, datetime

from recurrence.schedules import Once
from recurrence.wire.errors import WireError
from recurrence.wire.parsed import Parsed
from recurrence.wire.simple import moment


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile the definition.  A moment that has passed is no error: the answer warns.  Raises WireError."""
    at = moment(definition.get("at"), "at")
    if at is None:
        raise WireError("at", "required", "is required, such as 2026-01-05T08:00:00Z")
    warnings = () if at >= created_at else ("It will not fire: its moment has passed.",)
    return Parsed(Once(at), None, UTC, warnings, may_never_fire=True)
