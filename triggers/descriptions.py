"""The schedules of triggers in words, for pages."""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from jobs.warnings import JobWarning
from recurrence.clock_effects import ClockEffect, Effect, effects_of, effects_within_count
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
    """Return a sentence for each coming clock change that moves, doubles or leaves out fire times of a schedule.

    The schedule begins to count at `now`.
    """
    return _texts(parsed, now, now, parsed.count)


def trigger_clock_change_warnings(
    parsed: Parsed, now: datetime, next_fire_at: datetime | None, fires_left: int | None
) -> list[str]:
    """Return the same sentences for a stored trigger, which fires `fires_left` more times; None: without end."""
    return _texts(parsed, now, next_fire_at or now, fires_left)


def _texts(parsed: Parsed, now: datetime, since: datetime, fires_left: int | None) -> list[str]:
    today = datetime.combine(now.astimezone(UTC), time(), UTC)
    effects = _effects_from(parsed, today)
    return [each.text for each in effects_within_count(effects, parsed.schedule, since, fires_left)]


def job_schedule_warnings(main: Trigger, now: datetime) -> list[JobWarning]:
    """Return the warnings about the schedule of a job, which is stored as the trigger `main`."""
    parsed = main.parsed_or_none
    if parsed is None:
        return []
    rest = main.next_fire_at, main.fires_left
    texts = [("schedule", text) for text in parsed.warnings]
    texts += [("clock_change", text) for text in trigger_clock_change_warnings(parsed, now, *rest)]
    return [JobWarning(code, "schedule", text) for code, text in texts]


@lru_cache(maxsize=10_000)
def _effects_from(parsed: Parsed, day: datetime) -> tuple[ClockEffect, ...]:
    effects = effects_of(parsed.schedule, day, day + WARNED)
    return tuple(each for each in effects if each.effect is not Effect.NONE)


def describe_triggers(triggers: Iterable[Trigger]) -> str:
    """Return the schedules of a job in one line; a job without triggers runs by hand only."""
    texts = [describe_trigger(trigger) for trigger in sort_triggers(triggers)]
    if len(texts) > MOST_DESCRIBED:
        texts[MOST_DESCRIBED - 1 :] = [f"and {len(texts) - MOST_DESCRIBED + 1} more triggers"]
    return "; ".join(texts) or "manual only"


def sort_triggers(triggers: Iterable[Trigger]) -> list[Trigger]:
    """Return the triggers sorted: the job's own schedule first, then the others in the order of their creation."""
    return sorted(triggers, key=lambda each: (each.name != MAIN, each.pk))
