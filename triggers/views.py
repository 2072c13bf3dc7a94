"""What the pages of triggers show."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.text import capfirst

from jobs.descriptions import written
from jobs.pages.meaning import Meaning, meaning_of, refusal, wrong_of
from recurrence.wire import WireError
from triggers.groups import not_served
from triggers.trigger_form import WHEN_FIELDS, TriggerForm


def meaning_of_form(form: TriggerForm, now: datetime, served: Collection[str]) -> Meaning:
    """What the form's schedule means, and whether somebody serves its group; `served` are the queues with a worker."""
    if form.is_bound:
        meaning = wrong_of(form, WHEN_FIELDS) or _written(form, now)
    elif form.trigger:
        meaning = _stored(form, now)
    else:
        return Meaning(error="Write when it fires.", is_hint=True)
    unserved = not_served(str(form["group"].value()), served)
    return replace(meaning, warnings=(*meaning.warnings, f"{capfirst(unserved)}.")) if unserved else meaning


def _written(form: TriggerForm, now: datetime) -> Meaning:
    try:
        return _meaning(form, *form.schedule(now), now)
    except WireError as error:
        return refusal(form, error)


def _stored(form: TriggerForm, now: datetime) -> Meaning:
    assert form.trigger is not None
    try:
        return _meaning(form, form.trigger.format, form.trigger.definition, now)
    except WireError as error:  # written when its format was read more generously, or never to fire again
        return Meaning(error=str(error))


def _meaning(form: TriggerForm, format: str, definition: dict[str, Any], now: datetime) -> Meaning:
    meaning = meaning_of(definition, form.trigger, now, format)
    return replace(meaning, document=written({"format": format, **definition}))
