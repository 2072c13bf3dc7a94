"""Decide when a schedule without a start time runs first.

A new schedule runs at once, as in Azure Scheduler, unless the caller asks for its next time.  A changed schedule does
not: it counts from its last fire time, or begins at its next time if it has not fired yet.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from api.errors import Invalid
from recurrence import wire
from recurrence.schedules import Once
from recurrence.wire import WireError
from triggers.models import Trigger

SECOND = timedelta(seconds=1)
# the member with the end, by format; only formats in which a schedule may begin at its creation are listed
END_TIMES = {"azure": "recurrence.endTime", "simple": "endTime"}


def anchor_of_change(trigger: Trigger, format: str, definition: Mapping[str, Any], now: datetime) -> datetime:
    """Return the moment from which a changed schedule of `trigger` counts, so that it does not run at once.

    The moment is `now` for a schedule with a start time, and for one whose only fire time is the present one.
    Raises WireError.
    """
    if not wire.begins_at_creation(format, definition) or is_once(format, definition, now):
        return now
    if format == "azure" and trigger.previous_fire_at:
        _next_time(format, definition, trigger.previous_fire_at, now)
        return trigger.previous_fire_at
    return _next_time(format, definition, now, now)


def with_start_time(
    format: str, definition: Mapping[str, Any], now: datetime, counted_from: datetime | None = None
) -> dict[str, Any]:
    """Return the definition; one that repeats and has no start time gets its first fire time after `now` as its start.

    A schedule without a start time counts from `counted_from`, by default from `now`.  Raises WireError.
    """
    if not wire.begins_at_creation(format, definition) or is_once(format, definition, now):
        return dict(definition)
    start = _next_time(format, definition, counted_from or now, now)
    if start.microsecond:
        start = start.replace(microsecond=0) + SECOND
    return {"startTime": f"{start:%Y-%m-%dT%H:%M:%SZ}", **definition}


def refuse_present(definition: Mapping[str, Any], now: datetime) -> None:
    """Raise Invalid for a job's schedule whose only fire time is not later than `now`.

    For jobs that nobody asked to run now.
    """
    schedule = wire.parse("azure", definition, now).schedule
    if not isinstance(schedule, Once) or schedule.at > now:
        return
    if definition.get("startTime") is None:
        message = "is required without a recurrence, unless the job is to run now"
        raise Invalid(message, path="startTime", code="required")
    message = "must be ahead without a recurrence, unless the job is to run now"
    raise Invalid(message, path="startTime", code="out_of_range")


def is_once(format: str, definition: Mapping[str, Any], now: datetime) -> bool:
    return isinstance(wire.parse(format, definition, now).schedule, Once)


def _next_time(format: str, definition: Mapping[str, Any], counted_from: datetime, now: datetime) -> datetime:
    """Return the first fire time after `now` of a schedule without a start time that counts from `counted_from`."""
    wire.refuse_unreachable(wire.parse(format, definition, now), now)
    fire = wire.parse(format, definition, counted_from).schedule.after(now)
    try:
        if fire is not None:
            wire.parse(format, definition, fire)
            return fire.astimezone(UTC)
    except WireError:  # the schedule ends at that moment
        pass
    raise WireError(END_TIMES[format], "out_of_range", "must be later than the first run")
