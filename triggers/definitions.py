"""Jobs, triggers and schedules as their callers describe them, and as they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from jobs.actions import documents
from jobs.errors import Invalid
from jobs.models import Job
from recurrence import wire
from triggers.models import MAIN, MISFIRE_THRESHOLD, PRIORITY, Trigger

SCHEDULE_MEMBERS = ("startTime", "recurrence")
SETTABLE_STATES = (Job.State.ENABLED, Job.State.DISABLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDefinition:
    """A trigger beside a job's own schedule, as its caller describes it."""

    format: str
    definition: Mapping
    enabled: bool = True
    priority: int = PRIORITY
    group: str = "default"
    data_map: Mapping = field(default_factory=dict)
    misfire: str = Trigger.Misfire.FIRE_ONCE
    misfire_threshold: timedelta = MISFIRE_THRESHOLD

    @classmethod
    def stored(cls, trigger: Trigger) -> "TriggerDefinition":
        return cls(**{member.name: getattr(trigger, member.name) for member in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """A job as its caller describes it, both what and when.  None leaves a setting as it is, or at its default.

    `schedule` is its own, kept as the trigger MAIN; empty, it runs at once and once.  With `schedule` None it has no
    schedule of its own: it runs by hand and by the triggers beside it.
    """

    action: object = field(repr=False)  # its secrets are in it
    schedule: Mapping | None
    state: str = Job.State.ENABLED
    overlap: str | None = None
    delivery: str | None = None
    misfire: str | None = None

    @classmethod
    def of(cls, document: Mapping, own_schedule: bool = True, **settings) -> "JobDefinition":
        """Take a wire document with the members `action`, `startTime`, `recurrence` and `state`.

        Raises Invalid for a state that a caller cannot set.
        """
        schedule = {name: document[name] for name in SCHEDULE_MEMBERS if document.get(name) is not None}
        return cls(
            action=document.get("action"),
            schedule=schedule if own_schedule else None,
            state=settable_state(document.get("state")),
            **settings,
        )


def settable_state(value: object) -> str:
    if value is None:
        return Job.State.ENABLED
    if not isinstance(value, str) or value.lower() not in SETTABLE_STATES:
        raise Invalid(f"must be Enabled or Disabled, not {str(value)[:200]!r}", path="state", code="unknown_value")
    return Job.State(value.lower())


def document_of(job: Job) -> dict:
    """The job's document as `JobDefinition.of` takes it.  Secrets are absent, which keeps them when it is saved."""
    main = main_trigger(job)
    return {**(main.definition if main else {}), "action": documents.render(job.action), "state": job.state}


def main_trigger(job: Job) -> Trigger | None:
    """The trigger that keeps the job's own schedule; None when it has none."""
    return next((trigger for trigger in job.triggers.all() if trigger.name == MAIN), None)


def merged(document: object, patch: Mapping) -> dict:
    """The document with `patch` merged into it, as RFC 7396 has it; the values given are left as they are."""
    result = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value) if isinstance(value, Mapping) else value
    return result


def kept(format: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored of a definition: known members in their canonical spelling, but an expression as it was written.

    Of an unknown format it is all of it, for whoever refuses that.  Raises WireError.
    """
    if format not in wire.RENDERERS:
        return dict(definition)
    rendered = wire.render(format, definition)
    return {name: definition[name] if name == "expression" else value for name, value in rendered.items()}
