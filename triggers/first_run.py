"""Decide when a schedule without a start time runs first.

A new schedule runs at once, as in Azure Scheduler, unless the caller asks for its next time.  A changed schedule does
not: it counts from its last fire time, or begins at its next time if it has not fired yet.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from api.errors import Invalid
from recurrence import wire
from recurrence.schedules import Once, just_before
from recurrence.wire import WireError
from recurrence.wire.common import base_of
from triggers.models import Trigger, parse

SECOND = timedelta(seconds=1)
# the member with the end, by format; only formats in which a schedule may begin at its creation are listed
END_TIMES = {"azure": "recurrence.endTime", "simple": "endTime"}
REPETITIONS = {"azure": "a recurrence", "simple": "an interval"}  # what such a schedule needs to run more than once


def anchor_of_change(
    trigger: Trigger, format: str, definition: Mapping[str, Any], now: datetime, closed_days_id: UUID | None
) -> datetime:
    """Return the moment from which a changed schedule of `trigger` counts, so that it does not run at once.

    The moment is `now` for a schedule with a start time, and for one whose only fire time is the present one.
    Raises WireError.
    """
    if not wire.begins_at_creation(format, definition) or is_once(format, definition, now, closed_days_id):
        return now
    if format == "azure" and trigger.previous_fire_at:
        _next_time(format, definition, trigger.previous_fire_at, now, closed_days_id)
        return trigger.previous_fire_at
    return _next_time(format, definition, now, now, closed_days_id)


def with_start_time(
    format: str,
    definition: Mapping[str, Any],
    now: datetime,
    counted_from: datetime | None = None,
    closed_days_id: UUID | None = None,
) -> dict[str, Any]:
    """Return the definition; one that repeats and has no start time gets its first fire time after `now` as its start.

    A schedule without a start time counts from `counted_from`, by default from `now`.  Raises WireError.
    """
    if not wire.begins_at_creation(format, definition) or is_once(format, definition, now, closed_days_id):
        return dict(definition)
    start = _next_time(format, definition, counted_from or now, now, closed_days_id)
    if start.microsecond:
        start = start.replace(microsecond=0) + SECOND
    return {"startTime": f"{start:%Y-%m-%dT%H:%M:%SZ}", **definition}


def refuse_present(
    format: str, definition: Mapping[str, Any], now: datetime, closed_days_id: UUID | None = None
) -> None:
    """Raise Invalid for a job's schedule whose only fire time is not later than `now`.

    For jobs that nobody asked to run now.
    """
    schedule = base_of(parse(format, definition, now, closed_days_id).schedule)
    if format not in REPETITIONS or not isinstance(schedule, Once) or schedule.at > now:
        return
    if definition.get("startTime") is None:
        message = f"is required without {REPETITIONS[format]}, unless the job is to run now"
        raise Invalid(message, path="startTime", code="required")
    message = f"must be ahead without {REPETITIONS[format]}, unless the job is to run now"
    raise Invalid(message, path="startTime", code="out_of_range")


def refuse_ended(trigger: Trigger, now: datetime) -> None:
    """Raise Invalid for a job's own schedule without a fire time from `now` on: the job would end at once."""
    if trigger.next_fire_at is None and trigger.parsed.schedule.after(just_before(now)) is None:
        raise Invalid("has no fire time from now on, so that the job would end", path="schedule", code="never_fires")


def is_once(format: str, definition: Mapping[str, Any], now: datetime, closed_days_id: UUID | None) -> bool:
    return isinstance(base_of(parse(format, definition, now, closed_days_id).schedule), Once)


def _next_time(
    format: str, definition: Mapping[str, Any], counted_from: datetime, now: datetime, closed_days_id: UUID | None
) -> datetime:
    """Return the first fire time after `now` of a schedule without a start time that counts from `counted_from`."""
    wire.refuse_unreachable(parse(format, definition, now, closed_days_id), now)
    fire = parse(format, definition, counted_from, closed_days_id).schedule.after(now)
    try:
        if fire is not None:
            parse(format, definition, fire, closed_days_id)
            return fire.astimezone(UTC)
    except WireError:  # the schedule ends at that moment
        pass
    raise WireError(END_TIMES[format], "out_of_range", "must be later than the first run")
