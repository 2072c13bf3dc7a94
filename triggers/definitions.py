"""Jobs, triggers and schedules as callers describe them, and the form in which they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from api.errors import Invalid
from jobs.actions import documents
from jobs.models import Job
from recurrence import wire
from triggers.models import MAIN, MISFIRE_THRESHOLD, PRIORITY, Trigger

FORMAT = "azure"  # the format of a job's own schedule
SCHEDULE_MEMBERS = ("startTime", "recurrence")
SETTABLE_STATES = (Job.State.ENABLED, Job.State.DISABLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerDefinition:
    """An additional trigger of a job, as its caller describes it; a job's own schedule is not one."""

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
    """A job as its caller describes it: what it does and when.  None leaves a setting as it is, or at its default.

    `schedule` is the job's own schedule, stored as the trigger MAIN.

    * None: the job has no schedule of its own.  It runs by hand and by its other triggers.
    * Empty: a new job runs once, at once.  An existing job loses its own schedule, unless `run_now` is None.
      With `needs_schedule` that is refused.

    `run_now` says whether the job runs at once.

    * True: the job also runs once now.
    * False: a missing start time does not make the job run at once.
    * None: as in Azure Scheduler.  A job without a start time runs at once until it has run, and an empty schedule
      runs once, now.
    """

    action: object = field(repr=False)  # contains secrets
    schedule: Mapping | None
    state: str = Job.State.ENABLED
    overlap: str | None = None
    delivery: str | None = None
    misfire: str | None = None
    run_now: bool | None = None
    needs_schedule: bool = False

    @classmethod
    def of(cls, document: Mapping, own_schedule: bool = True, **settings) -> "JobDefinition":
        """Read a document of the API with the members `action`, `startTime`, `recurrence` and `state`.

        Raises Invalid for a state that a caller cannot set.
        """
        schedule = {name: document[name] for name in SCHEDULE_MEMBERS if document.get(name) is not None}
        return cls(
            action=document.get("action"),
            schedule=schedule if own_schedule else None,
            state=validate_state(document.get("state")),
            **settings,
        )


def validate_state(value: object) -> str:
    if value is None:
        return Job.State.ENABLED
    if not isinstance(value, str) or value.lower() not in SETTABLE_STATES:
        raise Invalid(f"must be Enabled or Disabled, not {str(value)[:200]!r}", path="state", code="unknown_value")
    return Job.State(value.lower())


def document_of(job: Job) -> dict:
    """Return the job's document as `JobDefinition.of` takes it.

    Secrets are absent; saving the document leaves the stored secrets unchanged.
    """
    main = main_trigger(job)
    return {**(main.definition if main else {}), "action": documents.render(job.action), "state": job.state}


def main_trigger(job: Job) -> Trigger | None:
    """Return the trigger with the job's own schedule; None when the job has none."""
    return next((trigger for trigger in job.triggers.all() if trigger.name == MAIN), None)


def merge_patch(document: object, patch: Mapping) -> dict:
    """Return the document with `patch` merged into it (RFC 7396).  The arguments are not changed."""
    result = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value) if isinstance(value, Mapping) else value
    return result


def canonical(format: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of a definition that is stored: known members in canonical form, an expression as written.

    A definition in an unknown format is returned whole; a later check refuses the format.  Raises WireError.
    """
    if format not in wire.RENDERERS:
        return dict(definition)
    rendered = wire.render(format, definition)
    return {name: definition[name] if name == "expression" else value for name, value in rendered.items()}
