"""The preview of a schedule on the pages of triggers."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.text import capfirst

from jobs.action_text import written
from jobs.pages.schedule_changes import chosen_days
from jobs.pages.schedule_preview import (
    SchedulePreview,
    misfire_of,
    preview_core_error,
    preview_form_errors,
    preview_schedule,
)
from recurrence.wire import WireError
from triggers import closed_days
from triggers.groups import unserved_groups
from triggers.models import MISFIRE_THRESHOLD
from triggers.trigger_form import WHEN_FIELDS, TriggerForm


def preview_form(form: TriggerForm, now: datetime, served: Collection[str]) -> SchedulePreview:
    """Return the preview of the form's schedule, with a warning when no worker serves its group.

    `served` are the queues with a worker.
    """
    if form.is_bound:
        preview = preview_form_errors(form, WHEN_FIELDS) or _preview_posted(form, now)
    elif form.trigger:
        preview = _preview_stored(form, now)
    else:
        return SchedulePreview(error="Enter a schedule.", is_hint=True)
    unserved = unserved_groups(str(form["group"].value()), served)
    return replace(preview, warnings=(*preview.warnings, f"{capfirst(unserved)}.")) if unserved else preview


def _preview_posted(form: TriggerForm, now: datetime) -> SchedulePreview:
    try:
        return _preview(form, *form.schedule(now), now)
    except WireError as error:
        return preview_core_error(form, error)


def _preview_stored(form: TriggerForm, now: datetime) -> SchedulePreview:
    assert form.trigger is not None
    try:
        return _preview(form, form.trigger.format, form.trigger.definition, now)
    except WireError as error:  # stored when the parser accepted more, or a schedule that never fires again
        return SchedulePreview(error=str(error))


def _preview(form: TriggerForm, format: str, definition: dict[str, Any], now: datetime) -> SchedulePreview:
    threshold = form.cleaned_data.get("threshold") if form.is_bound else form.trigger and form.trigger.misfire_threshold
    days_id = closed_days.current_version_id(form.job.collection.subscription_id, definition)
    preview = preview_schedule(
        definition,
        form.trigger,
        now,
        days_id,
        format,
        misfire_of(form),
        threshold or MISFIRE_THRESHOLD,
        chosen_days(form.data) if form.is_bound else None,
    )
    return replace(preview, document=written({"format": format, **definition}))
