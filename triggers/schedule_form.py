"""When a job runs, as fields or as JSON, and back into the document that the wire format checks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms

from jobs.notations import (
    FIELDS,
    JSON,
    JSONDocumentField,
    MomentField,
    NumbersField,
    OccurrencesField,
    moment_of,
    nearest,
    survives,
)
from triggers.definitions import SCHEDULE_MEMBERS
from triggers.models import Trigger

NO_SCHEDULE = "None"  # instead of a frequency
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
    """A job's own schedule; null where it has none."""

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
    """The fields of a schedule.  `trigger` has the stored one to begin with, None for a new one."""

    fields: dict[str, Any]  # each of its own class
    trigger: Trigger | None = None

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
            (NO_SCHEDULE, "By hand and by its triggers only"),
        ],
    )
    interval = NumbersField(label="How many of them", required=False, help_text="1 if empty.")
    start = MomentField(label="Start, in UTC", required=False, help_text="At once if empty.")
    end = MomentField(label="End, in UTC", required=False, help_text="The last moment at which it may run.")
    count = NumbersField(label="How often in all", required=False, help_text="Without limit if empty.")
    hours = NumbersField(
        label="Hours, in UTC", required=False, help_text="0 to 23, such as 9, 17. The hour of the start if empty."
    )
    minutes = NumbersField(
        label="Minutes",
        required=False,
        help_text="0 to 59, such as 0, 30. With minutes and no hours it runs in every hour.",
    )
    week_days = forms.MultipleChoiceField(
        label="Weekdays",
        required=False,
        choices=[(day, day[:3]) for day in WEEKDAYS],
        widget=forms.CheckboxSelectMultiple,
        help_text="The weekday of the start if none is chosen.",
    )
    month_days = NumbersField(
        label="Days of the month", required=False, help_text="1 to 31; -1 is the last day, -2 the one before."
    )
    monthly_occurrences = OccurrencesField(
        label="Weekdays of the month",
        required=False,
        help_text="Friday 1 is the first, Friday -1 the last, Friday alone is every one.",
    )
    when = forms.ChoiceField(choices=[(FIELDS, FIELDS), (JSON, JSON)], initial=FIELDS, widget=forms.HiddenInput)
    schedule_json = OwnScheduleField(
        label="Schedule as JSON", required=False, help_text="null: it runs by hand and by its triggers only."
    )

    def clean(self) -> None:
        super().clean()
        if self.cleaned_data.get("when") == FIELDS:
            for name in ("interval", "count"):
                if len(self.cleaned_data.get(name) or []) > 1:
                    self.add_error(name, "Write one number")

    def schedule(self) -> dict[str, Any] | None:
        """The schedule that the form describes, None for none of its own.

        One that was not touched is the stored one, letter by letter, so that saving something else does not count as
        a new schedule.
        """
        if self.cleaned_data["when"] == JSON:
            document = self.cleaned_data["schedule_json"]
            return None if document is None else _pick(document)
        if self.trigger and fields_say(self.trigger.definition) and not set(WHEN_FIELDS) & set(self.changed_data):
            return self.trigger.definition
        return None if self.cleaned_data["frequency"] == NO_SCHEDULE else schedule_of(self.cleaned_data)

    def place_in_schedule(self, path: str) -> tuple[str | None, str]:
        """The field that writes the member `path`, or one that holds it, and the path from there on."""
        return nearest(PLACES, path)


WHEN_FIELDS = tuple(PLACES.values())
SCHEDULE_FIELDS = {"minutes": "minutes", "hours": "hours", "weekDays": "week_days", "monthDays": "month_days"}
RECURRENCE_MEMBERS = {"frequency", "interval", "count", "endTime", "schedule"}
PLAN_MEMBERS = {*SCHEDULE_FIELDS, "monthlyOccurrences"}


def fields_say(definition: Mapping | None) -> bool:
    """Whether the form's fields can show the schedule whole: each member has one, and comes out of it as it went in."""
    if definition is None:
        return True
    recurrence = definition.get("recurrence") or {}
    plan = recurrence.get("schedule") or {} if isinstance(recurrence, Mapping) else None
    if not isinstance(plan, Mapping) or not set(plan) <= PLAN_MEMBERS:
        return False
    if not (set(definition) <= set(SCHEDULE_MEMBERS) and set(recurrence) <= RECURRENCE_MEMBERS):
        return False
    times = (definition.get("startTime"), recurrence.get("endTime"))
    if any(text is not None and moment_of(text) is None for text in times):
        return False
    shown = schedule_fields(definition)
    return all(survives(ScheduleForm.base_fields[name], value) for name, value in shown.items() if value is not None)


def schedule_fields(definition: Mapping | None) -> dict[str, Any]:
    if definition is None:
        return dict.fromkeys(WHEN_FIELDS) | {"frequency": NO_SCHEDULE}
    recurrence = definition.get("recurrence") or {}
    plan = recurrence.get("schedule") or {}
    values: dict[str, Any] = dict.fromkeys(WHEN_FIELDS)
    values["frequency"] = str(recurrence.get("frequency") or "").capitalize()
    values["start"], values["end"] = moment_of(definition.get("startTime")), moment_of(recurrence.get("endTime"))
    for name in ("interval", "count"):
        values[name] = _listed(recurrence.get(name))
    for member, name in SCHEDULE_FIELDS.items():
        values[name] = _listed(plan.get(member))
    values["week_days"] = [str(day).capitalize() for day in values["week_days"] or []]
    values["monthly_occurrences"] = plan.get("monthlyOccurrences")
    return values


def schedule_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule document of the fields.  Days that do not go with the frequency are hidden and do not count."""
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
        "endTime": _written(values.get("end")),
        "schedule": _present(plan),
    }
    return _present(
        {"startTime": _written(values.get("start")), "recurrence": _present(recurrence) if frequency else None}
    )


def _pick(document: Mapping) -> dict[str, Any]:
    return {name: document[name] for name in SCHEDULE_MEMBERS if document.get(name) is not None}


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}


def _listed(value: object) -> list | None:
    return value if value is None or isinstance(value, list) else [value]


def _single(values: list | None):
    return values[0] if values else None


def _written(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else None
