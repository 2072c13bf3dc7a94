"""Give triggers and jobs another schedule: from when it counts, and which fire time comes first.  Saves nothing."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from api.errors import Invalid
from jobs.models import Job, JobCollection
from recurrence import wire
from triggers import closed_days, first_run, next_fire
from triggers.definitions import FORMAT, JobDefinition, TriggerDefinition, are_equivalent, has_same_rule
from triggers.models import MAIN, Trigger, parse


def set_own_schedule(
    collection: JobCollection, job: Job | None, stored: Trigger | None, definition: JobDefinition, now: datetime
) -> Trigger | None:
    """Return the job's trigger MAIN with the definition's schedule; None: the job has no schedule of its own.

    The trigger is `stored`, or a new one.  A changed schedule is checked.
    """
    format, schedule = definition.format, definition.schedule
    if (
        stored
        and schedule is not None
        and stored.format == format
        and are_equivalent(format, stored.definition, schedule)
    ):
        return stored
    is_empty = format == FORMAT and not schedule
    if job and is_empty and (stored is None or definition.run_now is not None):
        if schedule is not None and definition.needs_schedule:
            raise Invalid("needs a startTime or a recurrence", path="ownSchedule", code="required")
        schedule = None
    if schedule is None:
        if job:
            next_fire.reopen(job)
        return None
    trigger = stored or Trigger(name=MAIN)
    days_id = closed_days.current_version_id(collection.subscription_id, schedule)
    if job and stored and has_same_rule(stored, format, schedule):
        change_common_members(trigger, schedule, now, days_id)
        next_fire.reopen(job)
    elif job:
        _change_schedule(job, trigger, format, schedule, days_id, definition.run_now, now)
        next_fire.reopen(job)
    else:
        if definition.run_now is False:
            first_run.refuse_present(format, schedule, now, days_id)
            schedule = first_run.with_start_time(format, schedule, now, closed_days_id=days_id)
        set_schedule(trigger, format, schedule, now, days_id)
    first_run.refuse_ended(trigger, now)
    return trigger


def _change_schedule(
    job: Job,
    trigger: Trigger,
    format: str,
    schedule: Mapping,
    days_id: uuid.UUID | None,
    at_once: bool | None,
    now: datetime,
) -> None:
    """Replace the job's own schedule.  A schedule without a start time does not run at once, with one exception.

    With `at_once` None it runs at once, as in Azure Scheduler, if no own schedule of the job has fired yet.  With
    False, a schedule whose only fire time is the present one is refused.  A first run that is due stays due.
    """
    if at_once is False:
        first_run.refuse_present(format, schedule, now, days_id)
    due_at, anchored_at = trigger.next_fire_at, trigger.anchored_at
    has_fired = trigger.previous_fire_at is not None
    is_due = not has_fired and due_at is not None and due_at == anchored_at <= now
    if is_due and wire.begins_at_creation(format, schedule):
        set_schedule(trigger, format, schedule, now, days_id, anchored_at)
        trigger.next_fire_at = due_at
    elif has_fired or at_once is not None:
        anchor = first_run.anchor_of_change(trigger, format, schedule, now, days_id)
        set_schedule(trigger, format, schedule, now, days_id, anchor)
    else:
        set_schedule(trigger, format, schedule, now, days_id)
    # a skipped last run of the old schedule must not make the job run when the job is enabled
    job.runs.filter(trigger_name=MAIN, fire_at=trigger.anchored_at, is_last=True).update(is_last=False)


def is_same_schedule(trigger: Trigger, definition: TriggerDefinition) -> bool:
    """Return True if the schedule equals the stored one, even if written differently."""
    return trigger.format == definition.format and are_equivalent(
        trigger.format, trigger.definition, definition.definition
    )


def change_common_members(
    trigger: Trigger, definition: Mapping, now: datetime, closed_days_id: uuid.UUID | None
) -> None:
    """Give the trigger other skips, extras, closed days, jitter or another rule for clock changes.

    Its schedule goes on from the anchor that it has.

    So a run that is left out or moved does not begin the count again.  A fire time that is due stays due.
    Raises WireError.
    """
    wire.refuse_unreachable(parse(trigger.format, definition, trigger.anchored_at, closed_days_id), now)
    trigger.definition = dict(definition)
    trigger.closed_days_id = closed_days_id
    if trigger.next_fire_at is not None and trigger.next_fire_at > now:
        trigger.next_fire_at = None


def set_schedule(
    trigger: Trigger,
    format: str,
    definition: Mapping,
    now: datetime,
    closed_days_id: uuid.UUID | None,
    anchor: datetime | None = None,
) -> None:
    """Give the trigger a new schedule, which counts from `anchor`, by default from `now`.  Raises WireError.

    `closed_days_id` is the current version of the calendar of closed days that the definition names.
    """
    parsed = parse(format, definition, now, closed_days_id)
    wire.refuse_unreachable(parsed, now)
    trigger.format = format
    trigger.definition = dict(definition)
    trigger.closed_days_id = closed_days_id
    trigger.anchored_at = anchor or now
    trigger.fires_left = parsed.count
    trigger.next_fire_at = None
