"""The preview of a schedule, in words and times, shown next to the form that edits the schedule."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.forms import Form

from api.errors import RequestError
from jobs.action_text import written
from jobs.pages.fire_marks import fire_marks
from jobs.pages.fires import UPCOMING, fire_rows, zone_columns
from jobs.pages.schedule_changes import ScheduleChanges, chosen_days, find_changes
from recurrence.clock_changes import clock_changes
from recurrence.describe import describe
from recurrence.fire_origins import origins_of
from recurrence.frequency import describe_frequency
from recurrence.preview import preview
from recurrence.schedules import Schedule, just_after, just_before
from recurrence.wire import Parsed, WireError, refuse_unreachable
from triggers.definitions import FORMAT, schedule_document, split_schedule
from triggers.descriptions import clock_change_warnings
from triggers.first_run import anchor_of_change
from triggers.forms import JobForm
from triggers.misfire import plan_fires
from triggers.models import MISFIRE_THRESHOLD, Trigger, parse
from triggers.schedule_form import WHEN_FIELDS, Offer, ScheduleForm
from triggers.upcoming import next_fire_times

ALSO_NOW = "once, in addition to the schedule"
LATE_TIMES = 3  # number of next fire times for which a page says what happens when they are missed
NUMBERS = {1: "the next run", 2: "the next two runs", LATE_TIMES: "the next three runs"}


@dataclass(frozen=True, slots=True)
class SchedulePreview:
    """The preview of a schedule: either an error, or words and fire times.

    `zones` are the headings of the times for the viewer and in the zone of the schedule; None: both are the same.
    `changes` compares the schedule with the stored one; None: it is the stored one, or there is none.
    `offers` are the ways out of the error.
    """

    words: str = ""
    frequency: str = ""
    zones: tuple[str, str] | None = None
    rows: Sequence[dict] = ()
    more: bool = False
    warnings: Sequence[str] = ()
    error: str = ""
    is_hint: bool = False  # `error` is no error, but says what the user still has to enter
    document: str = ""
    if_missed: str = ""
    changes: ScheduleChanges | None = None
    offers: Sequence[Offer] = ()


def preview_schedule(
    schedule: dict,
    trigger: Trigger | None,
    now: datetime,
    closed_days_id: UUID | None,
    format: str = FORMAT,
    misfire: str = Trigger.Misfire.FIRE_ONCE,
    threshold: timedelta = MISFIRE_THRESHOLD,
    days: int | None = None,
) -> SchedulePreview:
    """Return what saving `schedule` at `now` would lead to.

    An unchanged schedule continues with the next fire time of its trigger.  A changed one keeps off the closed days of
    `closed_days_id`, the newest version of the calendar that it names, and is compared with the stored one over `days`.
    Raise WireError if saving would be refused.
    """
    is_unchanged = trigger is not None and (trigger.format, trigger.definition) == (format, schedule)
    if trigger is not None and is_unchanged and trigger.next_fire_at is not None:
        coming = _fires_of_trigger(trigger)
    elif trigger is not None and is_unchanged:
        coming = _fires_of(_parse_to_save(format, schedule, now, trigger.closed_days_id), now)
    else:
        coming = _fires_of(_parse_to_save(format, schedule, now, closed_days_id, trigger), now)
    parsed, fires = coming.parsed, coming.fires
    sentence = describe(parsed)
    return SchedulePreview(
        words=sentence[:1].upper() + sentence[1:] + ".",
        frequency=describe_frequency(parsed.schedule, fires[0], coming.left) if coming.more else "",
        zones=zone_columns(fires, parsed.zone),
        rows=_rows(parsed, fires, now),
        more=coming.more,
        warnings=(*parsed.warnings, *clock_change_warnings(parsed, now)),
        document=written(schedule),
        if_missed=if_missed(parsed.schedule, fires, misfire, threshold),
        changes=None if trigger is None or is_unchanged or days is None else find_changes(trigger, parsed, now, days),
    )


@dataclass(frozen=True, slots=True)
class _ComingFires:
    """The next fire times of a schedule, at most UPCOMING; `more` if it has more.  `left` is its run budget."""

    parsed: Parsed
    fires: Sequence[datetime]
    more: bool
    left: int | None


def _fires_of_trigger(trigger: Trigger) -> _ComingFires:
    fires = next_fire_times([trigger], UPCOMING + 1)
    return _ComingFires(trigger.parsed, fires[:UPCOMING], len(fires) > UPCOMING, trigger.fires_left)


def _fires_of(parsed: Parsed, now: datetime) -> _ComingFires:
    return _ComingFires(parsed, *preview(parsed, created_at=now, limit=UPCOMING), parsed.count)


def _parse_to_save(
    format: str, schedule: dict, now: datetime, days_id: UUID | None, changed: Trigger | None = None
) -> Parsed:
    """Return the schedule as it is saved at `now`; `changed` is the trigger that gets it.  Raises WireError."""
    parsed = parse(format, schedule, now, days_id)
    refuse_unreachable(parsed, now)
    if changed is None:
        return parsed
    return parse(format, schedule, anchor_of_change(changed, format, schedule, now, days_id), days_id)


def _rows(parsed: Parsed, fires: Sequence[datetime], now: datetime) -> list[dict]:
    """Return the rows of fire times with the effects of clock changes, closed days, exceptions and jitter."""
    rows = fire_rows(fires, now, parsed.zone, clock_changes(parsed.schedule, fires, now))
    since = min(now, just_before(fires[0])) if fires else now
    for row, origin in zip(rows, origins_of(parsed, fires, since), strict=True):
        row["marks"] = fire_marks(row["at"], origin, parsed, now)
    return rows


def also_now(schedule_preview: SchedulePreview, now: datetime) -> SchedulePreview:
    """Return the preview with a run at `now` in addition, unless the schedule itself has one then."""
    rows = schedule_preview.rows
    if rows and rows[0]["at"] <= now:
        return schedule_preview
    return replace(schedule_preview, rows=[*fire_rows([now], now, notes=[ALSO_NOW]), *rows])


def if_missed(schedule: Schedule, fires: Sequence[datetime], misfire: str, threshold: timedelta) -> str:
    """Return a sentence that says what happens if the scheduler does not run during the first fire times."""
    late = fires[:LATE_TIMES]
    if not late:
        return ""
    plan = plan_fires(schedule, late[0], just_after(late[-1] + threshold), misfire, threshold)
    made_up = [fire for fire in late if fire in plan.fires]
    if not made_up:
        consequence = "the run is skipped" if len(late) == 1 else "all of them are skipped"
        return f"If the scheduler is down during {NUMBERS[len(late)]}, {consequence}. History lists what was missed."
    if len(late) == 1:
        consequence = "the run starts late."
    elif made_up == late:
        consequence = "each runs late, one after the other, regardless of the rule for overlapping runs."
    else:
        consequence = "only the last one runs, late. History lists the others as missed."
    return f"If the scheduler is down during {NUMBERS[len(late)]}, {consequence}"


def preview_job_form(form: JobForm, now: datetime) -> SchedulePreview:
    """Return the preview of the schedule in the form; while nothing is posted, of its initial schedule."""
    if form.converted_schedule:
        (schedule,) = form.converted_schedule
    elif not form.is_bound:
        if form.job is None:
            return SchedulePreview(error="Choose how often it repeats and when it starts.", is_hint=True)
        schedule = schedule_document(form.trigger) if form.trigger else None
    elif error_preview := preview_form_errors(form, ("when", *WHEN_FIELDS, "schedule_json")):
        return error_preview
    else:
        schedule = form.schedule()
    days = chosen_days(form.data) if form.is_bound else None
    if schedule is None:
        return SchedulePreview(
            error="No schedule of its own: it runs only manually and by its additional triggers.",
            is_hint=True,
            changes=find_changes(form.trigger, None, now, days) if form.trigger and days else None,
        )
    try:
        to_save = (form.schedule_at(now) if form.is_bound else None) or schedule
        format, definition = split_schedule(to_save)
        schedule_preview = preview_schedule(
            definition, form.trigger, now, form.closed_days_id(definition), format, misfire_of(form), days=days
        )
        schedule_preview = replace(schedule_preview, document=written(to_save))
        return also_now(schedule_preview, now) if form.is_bound and form.runs_now else schedule_preview
    except (WireError, RequestError) as error:
        return preview_core_error(form, error, schedule)


def misfire_of(form: Form) -> str:
    """Return the misfire policy that is chosen in the form, even if other fields are invalid."""
    chosen = form["misfire"].value()
    return chosen if chosen in Trigger.Misfire.values else Trigger.Misfire.FIRE_ONCE


def preview_form_errors(form: ScheduleForm, names: Collection[str]) -> SchedulePreview | None:
    """Return a preview with the error of the first invalid field among `names`; None if all are valid."""
    invalid = next((field for field in form if field.errors and field.name in names), None)
    if invalid is None:
        return None
    return SchedulePreview(error=f"{invalid.label}: {invalid.errors[0]}", offers=_offers_for(form, invalid.name))


def preview_core_error(
    form: ScheduleForm, error: WireError | RequestError, schedule: dict | None = None
) -> SchedulePreview:
    """Return a preview with the error of a core, and with the label of the field that it concerns."""
    field, message = form.locate_error(error)
    label = form[field].label if field else "Schedule"
    document = written(schedule) if schedule is not None else ""
    if form.is_bound and field and field not in form.errors:
        form.show_error(error)
    return SchedulePreview(error=f"{label}: {message}", document=document, offers=_offers_for(form, field))


def _offers_for(form: ScheduleForm, field: str | None) -> list[Offer]:
    return [each for each in form.offers if each.field == field]
