"""A job's own schedule in the contract of Azure Scheduler, which has a start time and a recurrence in UTC.

A schedule that consists of these two is returned unchanged.  For any other schedule the response is:

* `startTime`: the first fire time since the schedule was set, cut to milliseconds, because clients have no finer times.
  It stays the same until the schedule changes.
* `recurrence`: absent, unless an Azure recurrence has exactly the same fire times.

A write with exactly these members keeps the stored schedule, so a client can send what it has read.  Any other start
time or recurrence is a new schedule of Azure Scheduler.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jobs.models import Job
from recurrence.schedules import just_before
from recurrence.translation import translate
from recurrence.wire import WireError, azure
from recurrence.wire.clocks import rendered_instant
from recurrence.wire.common import base_of
from triggers.definitions import (
    FORMAT,
    JobDefinition,
    azure_members,
    document_of,
    is_azure,
    main_trigger,
    merge_job_patch,
)
from triggers.models import Trigger

MILLISECOND = 1000  # microseconds
# formats that are returned as a recurrence, and their members that a translation takes into account
TRANSLATED_FORMATS = ("cron", "quartz")
TRANSLATED_MEMBERS = {"expression", "timeZone", "clockChange", "startTime", "endTime"}


def render_schedule(main: Trigger | None) -> dict[str, Any]:
    """Return `startTime` and `recurrence` of a job's own schedule; empty if it has none."""
    if main is None:
        return {}
    if is_azure(main):
        return azure.render(main.definition)
    return _equal_recurrence(main) or {"startTime": _first_fire_time(main)}


def patch_definition(job: Job, patch: Mapping[str, Any]) -> JobDefinition:
    """Return the definition of the job with `patch` merged into the document that this contract answers."""
    main, document = main_trigger(job), document_of(job)
    if main and not is_azure(main):
        document["schedule"] = {"format": FORMAT, **render_schedule(main)}
    return keep_schedule(main, JobDefinition.of(merge_job_patch(document, patch)))


def keep_schedule(main: Trigger | None, definition: JobDefinition) -> JobDefinition:
    """Return the definition with the stored schedule if it has the start time and the recurrence that are returned."""
    if main is None or is_azure(main) or not _is_answer(main, definition.schedule or {}):
        return definition
    return replace(definition, format=main.format, schedule=main.definition)


def _is_answer(main: Trigger, schedule: Mapping[str, Any]) -> bool:
    try:
        return azure.render(schedule) == azure.render(render_schedule(main))
    except WireError:  # the caller's schedule is wrong; saving it raises the same error
        return False


def _first_fire_time(main: Trigger) -> str:
    """Return the first fire time since the schedule was set; without one, the moment at which it was set.

    Closed days do not count, because a change of a calendar would change the answer.
    """
    schedule = main.schedule_or_none
    first = base_of(schedule).after(just_before(main.anchored_at)) if schedule else None
    start = first or main.anchored_at
    return rendered_instant(start.replace(microsecond=start.microsecond // MILLISECOND * MILLISECOND))


def _equal_recurrence(main: Trigger) -> dict[str, Any] | None:
    """Return the start time and the Azure recurrence with the same fire times; None if there are none."""
    definition = {name: value for name, value in main.definition.items() if name != "jitter"}  # no part of fire times
    try:
        if azure_members(main.format, definition) is not None:
            return azure.render(definition)
        if main.format not in TRANSLATED_FORMATS or not definition.keys() <= TRANSLATED_MEMBERS:
            return None
        translation = translate(main.format, definition, FORMAT, main.anchored_at)
    except WireError:  # stored when the parser of its format accepted more
        return None
    is_exact = translation.definition is not None and not translation.losses and not translation.notes
    return azure_members(FORMAT, translation.definition or {}) if is_exact else None
