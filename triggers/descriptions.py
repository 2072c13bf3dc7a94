"""The schedules of triggers in words, for pages."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from recurrence.describe import describe
from recurrence.wire import WireError
from triggers.models import MAIN, Trigger, parsed

MOST_DESCRIBED = 3  # schedules of a job in one line


def describe_trigger(trigger: Trigger) -> str:
    return describe_definition(trigger.format, trigger.definition, trigger.anchored_at)[0]


def describe_definition(format: str, definition: dict[str, Any], anchored_at: datetime) -> tuple[str, tuple[str, ...]]:
    """Return a schedule in words, and the warnings of its parser."""
    try:
        schedule = parsed(format, definition, anchored_at)
    except WireError as error:  # stored when the parser of its format accepted more
        return f"cannot be read: {error}", ()
    return describe(schedule), schedule.warnings


def describe_triggers(triggers: Iterable[Trigger]) -> str:
    """Return the schedules of a job in one line; a job without triggers runs by hand only."""
    texts = [describe_trigger(trigger) for trigger in sort_triggers(triggers)]
    if len(texts) > MOST_DESCRIBED:
        texts[MOST_DESCRIBED - 1 :] = [f"and {len(texts) - MOST_DESCRIBED + 1} more triggers"]
    return "; ".join(texts) or "manual only"


def sort_triggers(triggers: Iterable[Trigger]) -> list[Trigger]:
    """Return the triggers sorted: the job's own schedule first, then the others in the order of their creation."""
    return sorted(triggers, key=lambda each: (each.name != MAIN, each.pk))
