"""What a schedule means, in words and times, shown beside the form that writes it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.forms import Form

from jobs.descriptions import written
from jobs.pages.fires import UPCOMING, fire_rows
from recurrence.clock_changes import clock_changes
from recurrence.describe import describe
from recurrence.preview import preview
from recurrence.wire import WireError, parse, refuse_unreachable
from triggers.forms import JobForm
from triggers.models import Trigger
from triggers.outlook import upcoming
from triggers.schedule_form import WHEN_FIELDS
from triggers.scheduling import FORMAT


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a schedule means, shown beside the form that writes it: either an error or words and times."""

    words: str = ""
    rows: Sequence[dict] = ()
    more: bool = False
    warnings: Sequence[str] = ()
    error: str = ""
    is_hint: bool = False  # the error is none yet, only what is still to be written
    document: str = ""


def meaning_of(schedule: dict, trigger: Trigger | None, now: datetime, format: str = FORMAT) -> Meaning:
    """What saving `schedule` at `now` would lead to.  An unchanged one goes on from where its trigger stands.

    Raises WireError when it would be refused.
    """
    is_kept = trigger is not None and (trigger.format, trigger.definition) == (format, schedule)
    if trigger is not None and is_kept and trigger.next_fire_at is not None:
        fires = upcoming([trigger], UPCOMING + 1)
        more, fires, parsed = len(fires) > UPCOMING, fires[:UPCOMING], trigger.parsed
    else:
        parsed = parse(format, schedule, now)
        refuse_unreachable(parsed, now)
        fires, more = preview(parsed, created_at=now, limit=UPCOMING)
    sentence = describe(parsed)
    return Meaning(
        words=sentence[:1].upper() + sentence[1:] + ".",
        rows=fire_rows(fires, now, parsed.zone, clock_changes(parsed.schedule, fires, now)),
        more=more,
        warnings=parsed.warnings,
        document=written(schedule),
    )


def meaning_of_form(form: JobForm, now: datetime) -> Meaning:
    """What the form's schedule means; while nothing is posted, what its initial one means."""
    if form.carried:
        (schedule,) = form.carried
    elif not form.is_bound:
        if form.job is None:
            return Meaning(error="Choose how often it repeats and when it starts.", is_hint=True)
        schedule = form.trigger.definition if form.trigger else None
    elif wrong := wrong_of(form, (*WHEN_FIELDS, "schedule_json")):
        return wrong
    else:
        schedule = form.schedule()
    if schedule is None:
        return Meaning(error="No schedule of its own: it runs by hand, and by the triggers beside it.", is_hint=True)
    try:
        return meaning_of(schedule, form.trigger, now)
    except WireError as error:
        return refusal(form, error, schedule)


def wrong_of(form: Form, names: Collection[str]) -> Meaning | None:
    """The first of these fields that cannot be read, if any."""
    wrong = next((field for field in form if field.errors and field.name in names), None)
    return Meaning(error=f"{wrong.label}: {wrong.errors[0]}") if wrong else None


def refusal(form: Any, error: WireError, schedule: dict | None = None) -> Meaning:
    """What the core refuses, told with the field that it is about."""
    place, message = form.place_of(error)
    label = form[place].label if place else "Schedule"
    return Meaning(error=f"{label}: {message}", document=written(schedule) if schedule is not None else "")
