"""The schedules of triggers in words, for pages."""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from jobs.warnings import JobWarning
from recurrence.clock_effects import clock_warnings
from recurrence.describe import describe
from recurrence.wire import Parsed, WireError
from triggers.models import MAIN, Trigger, parsed

MOST_DESCRIBED = 3  # schedules of a job in one line
WARNED = timedelta(days=400)  # a schedule has warnings about the clock changes in this time


def describe_trigger(trigger: Trigger) -> str:
    return describe_definition(trigger.format, trigger.definition, trigger.anchored_at, trigger.closed_days_id)[0]


def describe_definition(
    format: str, definition: dict[str, Any], anchored_at: datetime, closed_days_id: UUID | None
) -> tuple[str, tuple[str, ...]]:
    """Return a schedule in words, and the warnings of its parser."""
    try:
        schedule = parsed(format, definition, anchored_at, closed_days_id)
    except WireError as error:  # stored when the parser of its format accepted more
        return f"cannot be read: {error}", ()
    return describe(schedule), schedule.warnings


def clock_change_warnings(parsed: Parsed, now: datetime) -> list[str]:
    """Return a sentence for each coming clock change that moves, doubles or leaves out fire times of a schedule."""
    today = datetime.combine(now.astimezone(UTC), time(), UTC)
    return list(_warnings_from(parsed, today))


def job_schedule_warnings(main: Trigger, now: datetime) -> list[JobWarning]:
    """Return the warnings about the schedule of a job, which is stored as the trigger `main`."""
    parsed = main.parsed_or_none
    if parsed is None:
        return []
    texts = [("schedule", text) for text in parsed.warnings]
    texts += [("clock_change", text) for text in clock_change_warnings(parsed, now)]
    return [JobWarning(code, "schedule", text) for code, text in texts]


@lru_cache(maxsize=10_000)
def _warnings_from(parsed: Parsed, day: datetime) -> tuple[str, ...]:
    return tuple(clock_warnings(parsed.schedule, day, day + WARNED))


def describe_triggers(triggers: Iterable[Trigger]) -> str:
    """Return the schedules of a job in one line; a job without triggers runs by hand only."""
    texts = [describe_trigger(trigger) for trigger in sort_triggers(triggers)]
    if len(texts) > MOST_DESCRIBED:
        texts[MOST_DESCRIBED - 1 :] = [f"and {len(texts) - MOST_DESCRIBED + 1} more triggers"]
    return "; ".join(texts) or "manual only"


def sort_triggers(triggers: Iterable[Trigger]) -> list[Trigger]:
    """Return the triggers sorted: the job's own schedule first, then the others in the order of their creation."""
    return sorted(triggers, key=lambda each: (each.name != MAIN, each.pk))
