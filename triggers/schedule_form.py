"""The schedule of a job as form fields or as JSON, and the document that the wire format checks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms

from jobs.forms.fields import (
    FIELDS,
    JSON,
    JSONDocumentField,
    MomentField,
    NumbersField,
    OccurrencesField,
    field_for_path,
    keeps_secret,
    parse_instant,
)
from jobs.models import Job
from recurrence import wire
from triggers import closed_days
from triggers.definitions import FORMAT, SCHEDULE_MEMBERS, has_same_rule, schedule_document, split_schedule
from triggers.first_run import refuse_present, with_start_time
from triggers.models import Trigger

NO_SCHEDULE = "None"  # a choice of `frequency`: the job has no schedule of its own
NEXT, NOW = "next", "now"  # choices of `first_run`
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# the field that shows a member of the document
PLACES = {
    "startTime": "start",
    "recurrence": "frequency",
    "recurrence.interval": "interval",
    "recurrence.count": "count",
    "recurrence.endTime": "end",
    "recurrence.schedule.minutes": "minutes",
    "recurrence.schedule.hours": "hours",
    "recurrence.schedule.weekDays": "week_days",
    "recurrence.schedule.monthDays": "month_days",
    "recurrence.schedule.monthlyOccurrences": "monthly_occurrences",
}


class OwnScheduleField(JSONDocumentField):
    """A job's own schedule as JSON; null if the job has none."""

    def prepare_value(self, value):
        return "null" if value is None else super().prepare_value(value)

    def read(self, text: str) -> dict[str, Any] | None:  # type: ignore[override]
        return None if text == "null" else super().read(text)

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != initial
        except forms.ValidationError:
            return True


class ScheduleForm(forms.Form):
    """The fields of a schedule.

    `trigger` has the stored schedule; None: there is none.  `job` is None for a new job.
    """

    fields: dict[str, Any]  # narrows Django's type: the fields have different classes
    job: Job | None = None
    trigger: Trigger | None = None

    first_run = forms.ChoiceField(
        label="First run",
        required=False,
        initial=NEXT,
        choices=[(NEXT, "at the next scheduled time"), (NOW, "now, and then on schedule")],
    )
    frequency = forms.ChoiceField(
        label="Repeats",
        required=False,
        choices=[
            ("", "Once"),
            ("Minute", "Every … minutes"),
            ("Hour", "Every … hours"),
            ("Day", "Every … days"),
            ("Week", "Every … weeks"),
            ("Month", "Every … months"),
            (NO_SCHEDULE, "Only manually or by triggers"),
        ],
    )
    interval = NumbersField(
        label="Interval", required=False, help_text="1 if empty: every minute, every hour and so on."
    )
    start = MomentField(label="Start, in UTC", required=False, help_text="The next scheduled time if empty.")
    end = MomentField(label="End, in UTC", required=False, help_text="The last possible time of a run.")
    count = NumbersField(label="Run at most", required=False, help_text="Number of runs. Unlimited if empty.")
    hours = NumbersField(
        label="Hours, in UTC", required=False, help_text="0 to 23, such as 9, 17. The hour of the start if empty."
    )
    minutes = NumbersField(
        label="Minutes",
        required=False,
        help_text="0 to 59, such as 0, 30. Without hours, it runs every hour.",
    )
    week_days = forms.MultipleChoiceField(
        label="Weekdays",
        required=False,
        choices=[(day, day[:3]) for day in WEEKDAYS],
        widget=forms.CheckboxSelectMultiple,
        help_text="The weekday of the start if none is chosen.",
    )
    month_days = NumbersField(
        label="Days of the month", required=False, help_text="1 to 31; -1 is the last day, -2 the day before."
    )
    monthly_occurrences = OccurrencesField(
        label="Weekdays of the month",
        required=False,
        help_text="Friday 1 is the first Friday, Friday -1 the last, Friday every Friday.",
    )
    when = forms.ChoiceField(choices=[(FIELDS, FIELDS), (JSON, JSON)], initial=FIELDS, widget=forms.HiddenInput)
    schedule_json = OwnScheduleField(
        label="Schedule as JSON",
        required=False,
        help_text=f"format is one of {', '.join(wire.MEMBERS)}; azure if left out. null: it runs only manually and by"
        " triggers.",
    )

    def clean(self) -> None:
        super().clean()
        if self.cleaned_data.get("when") == FIELDS:
            for name in ("interval", "count"):
                if len(self.cleaned_data.get(name) or []) > 1:
                    self.add_error(name, "Enter one number")

    def clean_schedule_json(self) -> dict[str, Any] | None:
        """Return the document with its format and without nulls.  A document that is stored is not checked."""
        document = self.cleaned_data["schedule_json"]
        if document is None:
            return None
        document = {"format": FORMAT} | {name: value for name, value in document.items() if value is not None}
        if document != self.stored_schedule:
            _refuse_unknown(document)
        return document

    @property
    def stored_schedule(self) -> dict[str, Any] | None:
        return schedule_document(self.trigger) if self.trigger else None

    def schedule(self) -> dict[str, Any] | None:
        """Return the schedule that the form describes, with its format; None: the job has none of its own.

        If no field of the schedule was changed, return the stored one unchanged, so that saving another field does not
        count as a new schedule.
        """
        if self.cleaned_data["when"] == JSON:
            return self.cleaned_data["schedule_json"]
        stored = self.stored_schedule
        if stored and schedule_fields_can_express(stored) and not set(WHEN_FIELDS) & set(self.changed_data):
            return stored
        if self.cleaned_data["frequency"] == NO_SCHEDULE:
            return None
        return {"format": FORMAT, **schedule_of(self.cleaned_data)}

    def schedule_at(self, now: datetime) -> dict[str, Any] | None:
        """Return the schedule as it is saved at `now`: a new one that repeats gets a start time.

        Raises WireError.  Raises Invalid for an existing job whose schedule fires only once and not after `now`, unless
        the user chose to run the job now.
        """
        schedule = self.schedule()
        if schedule is None or schedule == self.stored_schedule:
            return schedule
        format, definition = split_schedule(schedule)
        if self.trigger and has_same_rule(self.trigger, format, definition):
            return schedule
        days_id = self.closed_days_id(definition)
        if self.job and not self.runs_now:
            refuse_present(format, definition, now, days_id)
        counted_from = self.trigger.previous_fire_at if self.trigger else None
        return {"format": format, **with_start_time(format, definition, now, counted_from, days_id)}

    @property
    def subscription_id(self) -> UUID | None:
        """The subscription of the job; None while a new job has none."""
        return self.job.collection.subscription_id if self.job else None

    def closed_days_id(self, definition: Mapping[str, Any]) -> UUID | None:
        """Return the newest version of the calendar that a definition names; None without a calendar of that name."""
        subscription_id = self.subscription_id
        return closed_days.current_version_id(subscription_id, definition) if subscription_id else None

    @property
    def runs_now(self) -> bool:
        """True if the job also runs once now; the choice is hidden, and False, while the job has no schedule."""
        return self["first_run"].value() == NOW and self.schedule() is not None

    def find_schedule_field(self, path: str) -> tuple[str | None, str]:
        """Return the field of the member `path`, or of a member that contains it, and the rest of the path."""
        return field_for_path(PLACES, path)


WHEN_FIELDS = tuple(PLACES.values())
SCHEDULE_FIELDS = {"minutes": "minutes", "hours": "hours", "weekDays": "week_days", "monthDays": "month_days"}
RECURRENCE_MEMBERS = {"frequency", "interval", "count", "endTime", "schedule"}
PLAN_MEMBERS = {*SCHEDULE_FIELDS, "monthlyOccurrences"}


def schedule_fields_can_express(schedule: Mapping | None) -> bool:
    """Return True if the form's fields can show the whole schedule: each member has a field that keeps its value."""
    if schedule is None:
        return True
    format, definition = split_schedule(schedule)
    if format != FORMAT:
        return False
    recurrence = definition.get("recurrence") or {}
    plan = recurrence.get("schedule") or {} if isinstance(recurrence, Mapping) else None
    if not isinstance(plan, Mapping) or not set(plan) <= PLAN_MEMBERS:
        return False
    if not (set(definition) <= set(SCHEDULE_MEMBERS) and set(recurrence) <= RECURRENCE_MEMBERS):
        return False
    times = (definition.get("startTime"), recurrence.get("endTime"))
    if any(text is not None and parse_instant(text) is None for text in times):
        return False
    values = schedule_fields(definition)
    return all(
        keeps_secret(ScheduleForm.base_fields[name], value) for name, value in values.items() if value is not None
    )


def schedule_fields(schedule: Mapping | None) -> dict[str, Any]:
    """Return the values of the fields that show a schedule of the format FORMAT; None: the job has none of its own."""
    if schedule is None:
        return dict.fromkeys(WHEN_FIELDS) | {"frequency": NO_SCHEDULE}
    recurrence = schedule.get("recurrence") or {}
    plan = recurrence.get("schedule") or {}
    values: dict[str, Any] = dict.fromkeys(WHEN_FIELDS)
    values["frequency"] = str(recurrence.get("frequency") or "").capitalize()
    values["start"], values["end"] = (
        parse_instant(schedule.get("startTime")),
        parse_instant(recurrence.get("endTime")),
    )
    for name in ("interval", "count"):
        values[name] = _as_list(recurrence.get(name))
    for member, name in SCHEDULE_FIELDS.items():
        values[name] = _as_list(plan.get(member))
    values["week_days"] = [str(day).capitalize() for day in values["week_days"] or []]
    values["monthly_occurrences"] = plan.get("monthlyOccurrences")
    return values


def schedule_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of the fields.  Fields for days that the frequency hides are ignored."""
    frequency = values.get("frequency")
    plan = {"minutes": values.get("minutes"), "hours": values.get("hours")}
    if frequency == "Week":
        plan["weekDays"] = values.get("week_days")
    if frequency == "Month":
        plan["monthDays"] = values.get("month_days")
        plan["monthlyOccurrences"] = values.get("monthly_occurrences")
    recurrence = {
        "frequency": frequency,
        "interval": _single(values.get("interval")),
        "count": _single(values.get("count")),
        "endTime": _format_instant(values.get("end")),
        "schedule": _without_empty(plan),
    }
    return _without_empty(
        {
            "startTime": _format_instant(values.get("start")),
            "recurrence": _without_empty(recurrence) if frequency else None,
        }
    )


def _refuse_unknown(schedule: Mapping[str, Any]) -> None:
    """Raise ValidationError for an unknown format, and for a member that the format does not have."""
    format, definition = split_schedule(schedule)
    if not isinstance(format, str) or format not in wire.MEMBERS:
        raise forms.ValidationError(f"format: must be one of {', '.join(wire.MEMBERS)}")
    unknown = next(wire.unknown_members(definition, wire.MEMBERS[format]), None)
    if unknown:
        raise forms.ValidationError(f"{unknown.path[:100]}: is not known here; use {', '.join(unknown.known)}")


def _without_empty(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}


def _as_list(value: object) -> list | None:
    return value if value is None or isinstance(value, list) else [value]


def _single(values: list | None):
    return values[0] if values else None


def _format_instant(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else None
