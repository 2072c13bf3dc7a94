"""Formats that others defined: parse their texts and documents into schedules, and render them."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from recurrence.composites import Bounded, FirstThen
from recurrence.schedules import TICK, Schedule, just_before
from recurrence.spacing import shortest_gap_below
from recurrence.wire import azure, common, crontab, graph, json_values, once, quartz, rrule_schedule, simple, solar
from recurrence.wire.common import FindClosedDays, base_of, layers_of
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.json_values import unknown_members
from recurrence.wire.parsed import Parsed

__all__ = [
    "HORIZON",
    "MEMBERS",
    "Faults",
    "FindClosedDays",
    "Parsed",
    "WireError",
    "base_of",
    "begins_at_creation",
    "parse",
    "parse_for_window",
    "refuse_unreachable",
    "render",
    "unknown_members",
]

HORIZON = timedelta(days=8 * 365 + 2)  # eight years: the longest time between two leap days, around the year 2100

PARSERS = {
    "azure": azure.parse,
    "cron": crontab.parse,
    "quartz": quartz.parse,
    "simple": simple.parse,
    "once": once.parse,
    "outlook": graph.parse,
    "rrule": rrule_schedule.parse,
    "solar": solar.parse,
}
STARTS = {  # readers of the start time, for formats in which a schedule without one begins at its creation
    "azure": azure.start_time,
    "simple": simple.start_time,
}
MEMBERS: Mapping[str, json_values.Known] = {
    "azure": {**azure.MEMBERS, **common.MEMBERS},
    "cron": {**crontab.MEMBERS, **common.MEMBERS},
    "quartz": {**quartz.MEMBERS, **common.MEMBERS},
    "simple": {**simple.MEMBERS, **common.MEMBERS},
    "once": {**once.MEMBERS, **common.MEMBERS},
    "outlook": {**graph.MEMBERS, **common.MEMBERS},
    "rrule": {**rrule_schedule.MEMBERS, **common.MEMBERS},
    "solar": {**solar.MEMBERS, **common.MEMBERS},
}
RENDERERS = {
    "azure": azure.render,
    "cron": crontab.render,
    "quartz": quartz.render,
    "simple": simple.render,
    "once": once.render,
    "outlook": graph.render,
    "rrule": rrule_schedule.render,
    "solar": solar.render,
}


def parse(
    format: str, definition: Mapping[str, object], created_at: datetime, closed_days: FindClosedDays | None = None
) -> Parsed:
    """Compile a source document; its schedule counts as created at `created_at`.

    `closed_days` finds the closed-day calendar that a document names; without it such a document is refused.  The
    result depends on nothing else, so a stored document compiles to the same schedule at any later time.
    Raises WireError.
    """
    parser = PARSERS.get(format)
    if parser is None:
        raise WireError("format", "unsupported", f"must be one of {', '.join(PARSERS)}, not {format!r:.80}")
    own, shared = common.split(definition)
    if not shared:
        return parser(definition, created_at)
    faults = Faults()
    parsed = faults.read(parser, own, created_at)
    members = faults.read(common.read, shared)
    closed = faults.read(common.find_closed_days, members, closed_days) if members else None
    faults.refuse()
    return common.apply(members, closed, parsed)


def parse_for_window(
    format: str,
    definition: Mapping[str, object],
    created_at: datetime | None,
    now: datetime,
    begins_at: datetime,
    closed_days: FindClosedDays | None = None,
) -> tuple[Parsed, datetime]:
    """Compile a source document for a window that begins at `begins_at`; also return when the schedule was created.

    The schedule counts as created at `created_at`; None: at `now`.  For a window before that moment, the schedule
    counts as created earlier:

    * A recurrence with a start time counts as created at its start, and its count begins there.
    * A schedule without a start time begins when it is created: at `created_at`, or, if that is None, at the beginning
      of the window.
    * Any other schedule counts as created at the beginning of the window.

    Raises WireError.
    """
    created = created_at or now
    if begins_at >= created:
        return parse(format, definition, created, closed_days), created
    if begins_at_creation(format, definition):
        created = created_at or begins_at
        return parse(format, definition, created, closed_days), created
    if format == "azure" and (start := azure.start_time(definition)):
        created = min(created, start)
        return parse(format, definition, created, closed_days), created
    return parse(format, definition, created, closed_days), begins_at


def begins_at_creation(format: str, definition: Mapping[str, object]) -> bool:
    """Return True if the schedule has no start time and so first fires when it is created.  Raises WireError."""
    return format in STARTS and STARTS[format](definition) is None


def render(format: str, definition: Mapping[str, object]) -> dict[str, object]:
    """Return a definition in the canonical form of its format, without unknown members.  Raises WireError."""
    return common.render_whole(RENDERERS[format], definition)


def refuse_unreachable(parsed: Parsed, created_at: datetime) -> None:
    """Raise WireError unless a fire time lies within eight years after the creation or a later start.

    For documents that are being saved.  A limit that holds for new documents only is checked first (`excess`).  A run
    at the creation is not enough: the recurrence itself, regardless of its end, must also have a fire time.  Formats
    that allow schedules without a fire time (`may_never_fire`) pass.  Skips and closed days that leave no fire time are
    refused in every format, and a jitter that is not shorter than the time between two fire times.
    """
    if parsed.excess is not None:
        raise parsed.excess
    if not parsed.may_never_fire:
        _refuse_never_firing(base_of(parsed.schedule), created_at)
    _refuse_nothing_left(parsed.schedule, created_at)
    _refuse_wide_jitter(parsed, created_at)


def _refuse_never_firing(schedule: Schedule, created_at: datetime) -> None:
    recurring, start = _without_end(schedule, created_at)
    fire = recurring.after(just_before(start))
    if fire is None or fire - start > HORIZON:
        message = "has no fire time within eight years from now or from its start, if that is later"
        raise WireError("recurrence", "never_fires", message)
    if schedule.after(just_before(created_at)) is None:
        raise WireError("recurrence", "never_fires", "has no fire time before its end")


def _refuse_nothing_left(schedule: Schedule, created_at: datetime) -> None:
    """Raise WireError at the member that leaves no fire time of a schedule that has one without it."""
    since = just_before(created_at)
    (_, base), *layers = layers_of(schedule)
    if not layers or base.after(since) is None or schedule.after(since) is not None:
        return
    path = next(name for name, layer in layers if layer.after(since) is None)
    raise WireError(path, "never_fires", "leaves no fire time of the schedule")


def _refuse_wide_jitter(parsed: Parsed, created_at: datetime) -> None:
    """Raise WireError unless the jitter is shorter than the time between two fire times.

    A run at the creation does not count.
    """
    first = parsed.schedule.after(created_at) if parsed.jitter else None
    gap = None if first is None else shortest_gap_below(parsed, first, parsed.jitter + TICK)
    if gap is not None:
        message = f"must be shorter than the time between two fire times, here {gap}"
        raise WireError("jitter", "out_of_range", message)


def _without_end(schedule: Schedule, created_at: datetime) -> tuple[Schedule, datetime]:
    """Return the recurring part of a schedule, without an end, and the instant from which it counts."""
    start = created_at
    if isinstance(schedule, Bounded):
        start = max(schedule.start or created_at, created_at)
        schedule = schedule.schedule
    if isinstance(schedule, FirstThen):
        schedule = schedule.then
    return schedule, start
