"""Formats that others defined: text or documents in, schedules out, and back."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from recurrence.combine import FirstThen, Limited
from recurrence.schedules import Schedule, just_before
from recurrence.wire import azure, graph, once, quartz, rrule, simple
from recurrence.wire.errors import WireError
from recurrence.wire.parsed import Parsed

__all__ = ["HORIZON", "Parsed", "WireError", "parse", "refuse_unreachable", "render"]

HORIZON = timedelta(days=8 * 365 + 2)  # eight years: a leap day is at most so far away, also over 2100

PARSERS = {
    "azure": azure.parse,
    "quartz": quartz.parse,
    "simple": simple.parse,
    "once": once.parse,
    "outlook": graph.parse,
    "rrule": rrule.parse,
}
RENDERERS = {
    "azure": azure.render,
    "quartz": quartz.render,
    "simple": simple.render,
    "once": once.render,
    "outlook": graph.render,
    "rrule": rrule.render,
}


def parse(format: str, definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile a source document; `created_at` is when its schedule counts as created, for good.

    The answer depends on nothing else, so a stored document compiles to the same schedule at any later time.
    Raises WireError.
    """
    parser = PARSERS.get(format)
    if parser is None:
        raise WireError("format", "unsupported", f"must be one of {', '.join(PARSERS)}, not {format!r:.80}")
    return parser(definition, created_at)


def render(format: str, definition: Mapping[str, object]) -> dict[str, object]:
    """Return a definition in its format's canonical spelling, without unknown members.  Raises WireError."""
    return RENDERERS[format](definition)


def refuse_unreachable(parsed: Parsed, created_at: datetime) -> None:
    """Raise WireError (`never_fires`) unless a fire time lies within eight years of its creation and its start.

    For use on writing.  A run at creation is no excuse for a recurrence that never comes: the recurrence itself,
    regardless of its end, must be reachable too.  Where the format permits it, nothing is refused.
    """
    if parsed.may_never_fire:
        return
    recurring, start = _without_end(parsed.schedule, created_at)
    fire = recurring.after(just_before(start))
    if fire is None or fire - start > HORIZON:
        message = "has no fire time within eight years from now or from its start, if that is later"
        raise WireError("recurrence", "never_fires", message)
    if parsed.schedule.after(just_before(created_at)) is None:
        raise WireError("recurrence", "never_fires", "has no fire time before its end")


def _without_end(schedule: Schedule, created_at: datetime) -> tuple[Schedule, datetime]:
    """The recurring part of a schedule, without an end, and the instant from which it counts."""
    start = created_at
    if isinstance(schedule, Limited):
        start = max(schedule.start or created_at, created_at)
        schedule = schedule.schedule
    if isinstance(schedule, FirstThen):
        schedule = schedule.then
    return schedule, start
