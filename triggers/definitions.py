"""Jobs, triggers and schedules as callers describe them, and the form in which they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from api.errors import Invalid
from jobs.actions import documents
from jobs.models import Job
from recurrence import wire
from recurrence.wire import common
from triggers.models import MAIN, MISFIRE_THRESHOLD, PRIORITY, Trigger

FORMAT = "azure"  # the format of the members SCHEDULE_MEMBERS in the document of a job
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

    `schedule` is the job's own schedule in `format`, stored as the trigger MAIN.

    * None: the job has no schedule of its own.  It runs by hand and by its other triggers.
    * Empty, in the format `azure`: a new job runs once, at once.  An existing job loses its own schedule, unless
      `run_now` is None.  With `needs_schedule` that is refused.

    `run_now` says whether the job runs at once.

    * True: the job also runs once now.
    * False: a missing start time does not make the job run at once.
    * None: as in Azure Scheduler.  A job without a start time runs at once until it has run, and an empty schedule
      runs once, now.
    """

    action: object = field(repr=False)  # contains secrets
    schedule: Mapping | None
    format: str = FORMAT
    state: str = Job.State.ENABLED
    overlap: str | None = None
    delivery: str | None = None
    misfire: str | None = None
    run_now: bool | None = None
    needs_schedule: bool = False

    @classmethod
    def of(cls, document: Mapping, own_schedule: bool = True, **settings) -> "JobDefinition":
        """Read a document of the API with the members `action`, `schedule`, `startTime`, `recurrence` and `state`.

        Raises Invalid for a state that a caller cannot set, and for two different schedules.
        """
        format, schedule = read_schedule(document) if own_schedule else (FORMAT, None)
        return cls(
            action=document.get("action"),
            format=format,
            schedule=schedule,
            state=validate_state(document.get("state")),
            **settings,
        )


def validate_state(value: object) -> str:
    if value is None:
        return Job.State.ENABLED
    if not isinstance(value, str) or value.lower() not in SETTABLE_STATES:
        raise Invalid(f"must be Enabled or Disabled, not {str(value)[:200]!r}", path="state", code="unknown_value")
    return Job.State(value.lower())


def read_schedule(document: Mapping) -> tuple[str, dict[str, Any]]:
    """Return the format and the definition of the schedule in the document of a job.

    The schedule is the member `schedule`; without it, `startTime` and `recurrence`.  Raises Invalid when both are given
    and do not say the same.
    """
    azure = {name: document[name] for name in SCHEDULE_MEMBERS if document.get(name) is not None}
    if document.get("schedule") is None:
        return FORMAT, azure
    format, definition = split_schedule(document["schedule"])
    if azure and not (format == FORMAT and canonical(FORMAT, definition) == canonical(FORMAT, azure)):
        message = f"must say the same as {' and '.join(azure)}, or stand without {'it' if len(azure) == 1 else 'them'}"
        raise Invalid(message, path="schedule", code="not_allowed")
    return format, {name: value for name, value in definition.items() if value is not None}


def split_schedule(schedule: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the format of a schedule, and its definition."""
    return schedule.get("format"), {name: value for name, value in schedule.items() if name != "format"}


def azure_members(format: str, definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return `startTime` and `recurrence` of a definition if they are all that it says; otherwise None.

    Only such a schedule is in UTC and can be expressed in the contract of Azure Scheduler.
    """
    members = {name: value for name, value in definition.items() if value is not None}
    return members if format == FORMAT and members.keys() <= set(SCHEDULE_MEMBERS) else None


def is_azure(trigger: Trigger) -> bool:
    """Return True if the trigger's schedule can be expressed in the contract of Azure Scheduler."""
    return azure_members(trigger.format, trigger.definition) is not None


def document_of(job: Job) -> dict:
    """Return the job's document as `JobDefinition.of` takes it.

    Secrets are absent; saving the document leaves the stored secrets unchanged.
    """
    main = main_trigger(job)
    schedule = {"schedule": schedule_document(main)} if main else {}
    return {"action": documents.render(job.action), **schedule, "state": job.state}


def schedule_document(trigger: Trigger) -> dict[str, Any]:
    """Return the schedule of a trigger as one document, as it was written."""
    return {"format": trigger.format, **trigger.definition}


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


def merge_job_patch(document: Mapping, patch: Mapping) -> dict:
    """Return the job's document with `patch` merged into it (RFC 7396).  The arguments are not changed.

    A `schedule` in another format replaces the stored one.  `startTime` and `recurrence` are merged into a schedule
    that consists of them.  Raises Invalid when the job has another schedule and `patch` does not replace it.
    """
    names = {"schedule", *SCHEDULE_MEMBERS}
    merged = merge_patch(
        {name: value for name, value in document.items() if name not in names},
        {name: value for name, value in patch.items() if name not in names},
    )
    return merged | _merge_schedule(document.get("schedule"), patch)


def _merge_schedule(stored: Mapping | None, patch: Mapping) -> dict:
    """Return the members `schedule`, `startTime` and `recurrence` of a patched document.

    `startTime` and `recurrence` that are null say nothing when `patch` has a `schedule` or when the stored schedule
    does not consist of them: so a client may send what it has read.
    """
    sent = patch.get("schedule", {})
    if sent is None or (stored and sent.get("format", stored["format"]) != stored["format"]):
        stored = None
    azure = {name: patch[name] for name in SCHEDULE_MEMBERS if name in patch}
    given = [name for name, value in azure.items() if value is not None]
    old = azure_members(*split_schedule(stored)) if stored else {}
    if given and old is None:
        message = "is not part of the job's schedule: change `schedule`, or replace it with `schedule: null` and this"
        raise Invalid(message, path=given[0], code="not_allowed")
    result = {"schedule": merge_patch(stored, sent)} if sent else {}
    if given or (azure and old and not sent):
        return result | merge_patch(old, azure)
    return result or ({"schedule": dict(stored)} if stored else {})


def canonical(format: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of a definition that is stored: known members in canonical form, an expression as written.

    A definition in an unknown format is returned whole; a later check refuses the format.  Raises WireError.
    """
    if format not in wire.RENDERERS:
        return dict(definition)
    rendered = wire.render(format, definition)
    return {name: definition[name] if name == "expression" else value for name, value in rendered.items()}


def are_equivalent(format: str, ours: Mapping, theirs: Mapping) -> bool:
    """Return True if two definitions in a format say the same, even if they are written differently."""
    if ours == theirs:
        return True
    try:
        return wire.render(format, ours) == wire.render(format, theirs)
    except wire.WireError:  # the stored document dates from a different parser, or the new one is wrong
        return False


def has_same_rule(trigger: Trigger, format: str, definition: Mapping) -> bool:
    """Return True if a schedule differs from the stored one only in common members or in its rule for clock changes."""
    ours, theirs = (
        {name: value for name, value in common.split(each)[0].items() if name != "clockChange"}
        for each in (trigger.definition, definition)
    )
    return trigger.format == format and are_equivalent(format, ours, theirs)
