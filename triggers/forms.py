"""A job as a form: its what and when as fields or as JSON, and back into the documents that the cores check.

The form owns no rule about schedules or actions.  It gathers documents from its fields, and hands what the cores
refuse back to the field that the refused member came from.  Each half, what and when, is written either in fields or
in JSON: the one in front of the viewer is the one that is saved.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.db import transaction
from django.utils.functional import cached_property
from django.utils.text import capfirst

from jobs.actions import documents
from jobs.descriptions import written
from jobs.errors import Conflict, JobError
from jobs.models import Job, JobCollection
from jobs.names import NAME_LENGTH, validate_name
from recurrence.wire import WireError
from triggers.models import Trigger
from triggers.scheduling import SCHEDULE_MEMBERS, JobDefinition, save_job

DOCUMENT_LENGTH = 16_384  # characters; the same as the limit of a job in the API
FIELDS, JSON = "fields", "json"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

WHEN_FIELDS = (
    "frequency", "interval", "start", "end", "count", "minutes", "hours", "week_days", "month_days",
    "monthly_occurrences",
)  # fmt: skip
WHAT_FIELDS = (
    "type", "method", "uri", "headers", "body", "authentication", "username", "password", "retry", "retry_interval",
    "retry_count", "error_action",
)  # fmt: skip

# the field that shows a member of the documents; the longest path that fits wins
PLACES = {
    "name": "name",
    "state": "state",
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
    "action.type": "type",
    "action.request.method": "method",
    "action.request.uri": "uri",
    "action.request.headers": "headers",
    "action.request.body": "body",
    "action.request.authentication": "authentication",
    "action.request.authentication.username": "username",
    "action.request.authentication.password": "password",
    "action.retryPolicy": "retry",
    "action.retryPolicy.retryInterval": "retry_interval",
    "action.retryPolicy.retryCount": "retry_count",
    "action.errorAction": "error_action",
}


class JSONDocumentField(forms.CharField):
    """A JSON object as text.  What no column could store is refused here: NaN, infinity, NUL, half a surrogate pair."""

    widget = forms.Textarea(attrs={"class": "code", "rows": 16, "spellcheck": "false"})

    def __init__(self, **kwargs):
        super().__init__(max_length=DOCUMENT_LENGTH, **kwargs)

    def prepare_value(self, value):
        return written(value) if isinstance(value, Mapping) else value

    def to_python(self, value):
        text = super().to_python(value)
        if not text:
            return {}
        try:
            document = json.loads(text)
            _refuse_unstorable(document)
        except json.JSONDecodeError as error:
            raise forms.ValidationError(f"{error.msg} in line {error.lineno}, column {error.colno}") from None
        except RecursionError:
            raise forms.ValidationError("This is nested too deeply") from None
        if not isinstance(document, dict):
            raise forms.ValidationError("Write an object: { … }")
        return document

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != (initial or {})
        except forms.ValidationError:
            return True


class NotationField(forms.CharField):
    """A text that stands for something else, which `read` makes of it."""

    def to_python(self, value):
        return self.read(super().to_python(value))

    def read(self, text: str) -> Any:
        raise NotImplementedError


class NumbersField(NotationField):
    """Numbers with commas between them.  What is no number stays text, which the wire format then refuses by name."""

    def prepare_value(self, value):
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def read(self, text: str) -> list[int | str]:
        parts = re.split(r"[,\s]+", text.strip())
        return [int(part) if re.fullmatch(r"-?[0-9]{1,9}", part) else part for part in parts if part]

    def has_changed(self, initial, data) -> bool:
        return self.to_python(data) != (initial or [])


class OccurrencesField(NotationField):
    """Weekdays of a month: "Friday 1, Friday -1"; a day without a number is every such day."""

    def prepare_value(self, value):
        if not isinstance(value, list):
            return value
        parts = ((item.get("day", ""), item.get("Occurrence", item.get("occurrence"))) for item in value)
        return ", ".join(day if number is None else f"{day} {number}" for day, number in parts)

    def read(self, text: str) -> list[dict[str, Any]]:
        return [self._occurrence(part) for part in text.split(",") if part.strip()]

    @staticmethod
    def _occurrence(part: str) -> dict[str, Any]:
        day, _, number = part.strip().partition(" ")
        number = number.strip()
        if not number:
            return {"day": day}
        return {"day": day, "Occurrence": int(number) if re.fullmatch(r"-?[0-9]{1,9}", number) else number}

    def has_changed(self, initial, data) -> bool:
        return self.to_python(data) != self.to_python(self.prepare_value(initial or []))


class HeadersField(NotationField):
    """One header a line, "Name: value"."""

    widget = forms.Textarea(attrs={"class": "code", "rows": 3, "spellcheck": "false"})

    def prepare_value(self, value):
        return "\n".join(f"{name}: {text}" for name, text in value.items()) if isinstance(value, Mapping) else value

    def read(self, text: str) -> dict[str, str]:
        headers = {}
        for line in text.splitlines():
            name, colon, content = line.partition(":")
            if not line.strip():
                continue
            if not colon:
                raise forms.ValidationError(f"{line[:50]!r} has no colon. Write a line as Name: value")
            headers[name.strip()] = content.strip()
        return headers

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != (initial or {})
        except forms.ValidationError:
            return True


class ErrorActionField(JSONDocumentField):
    """An address that is sent a POST, or an action as JSON."""

    widget = forms.Textarea(attrs={"class": "code", "rows": 3, "spellcheck": "false"})

    def prepare_value(self, value):
        if isinstance(value, Mapping) and value == _post_to(value.get("request", {}).get("uri", "")):
            return value["request"]["uri"]
        return super().prepare_value(value)

    def to_python(self, value):
        text = (value or "").strip()
        return _post_to(text) if text and not text.startswith("{") else super().to_python(value)


class MomentField(forms.DateTimeField):
    """A moment in UTC, to the second, as the wire formats count."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S")
    input_formats = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"]
    default_error_messages = {"invalid": "Write a moment such as 2030-01-31 08:00"}

    def prepare_value(self, value):
        return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value

    def to_python(self, value):
        if value in self.empty_values:
            return None
        for pattern in self.input_formats:
            try:
                return datetime.strptime(str(value).strip().rstrip("Z"), pattern).replace(tzinfo=UTC)
            except ValueError:
                continue
        raise forms.ValidationError(self.error_messages["invalid"], code="invalid")

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != (initial and initial.replace(microsecond=0))
        except forms.ValidationError:
            return True


class JobForm(forms.Form):
    """`job` is the one to change, None for a new one; `collections` are those that the viewer may write to.

    `carried` is the schedule that was written before half of the form was switched to the other way of writing.
    """

    fields: dict[str, Any]  # each of its own class
    carried: dict[str, Any] | None = None

    collection = forms.ModelChoiceField(JobCollection.objects.none(), empty_label=None)
    name = forms.CharField(
        max_length=NAME_LENGTH, validators=[validate_name], help_text="A letter, then letters, digits, - and _."
    )
    state = forms.ChoiceField(
        label="State", choices=[("enabled", "Enabled"), ("disabled", "Disabled: it does not run")], initial="enabled"
    )
    revision = forms.IntegerField(required=False, widget=forms.HiddenInput)
    when = forms.ChoiceField(choices=[(FIELDS, FIELDS), (JSON, JSON)], initial=FIELDS, widget=forms.HiddenInput)
    what = forms.ChoiceField(choices=[(FIELDS, FIELDS), (JSON, JSON)], initial=FIELDS, widget=forms.HiddenInput)

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
    schedule_json = JSONDocumentField(label="Schedule as JSON", required=False)

    type = forms.ChoiceField(
        label="Type", required=False, choices=[("Http", "Http"), ("Https", "Https")], initial="Http"
    )
    method = forms.ChoiceField(
        label="Method", required=False, choices=[(name, name) for name in METHODS], initial="POST"
    )
    uri = forms.CharField(label="Address", required=False, widget=forms.TextInput(attrs={"class": "code"}))
    headers = HeadersField(label="Headers", required=False, help_text="One a line, Name: value.")
    body = forms.CharField(
        label="Body",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"class": "code", "rows": 4, "spellcheck": "false"}),
    )
    authentication = forms.ChoiceField(
        label="Authentication",
        required=False,
        choices=[("", "None"), ("Basic", "User name and password")],
        help_text="Certificates and OAuth are written as JSON.",
    )
    username = forms.CharField(label="User name", required=False)
    password = forms.CharField(
        label="Password",
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    retry = forms.ChoiceField(
        label="Retries",
        required=False,
        choices=[("", "4 times, 30 s apart"), ("None", "None"), ("Fixed", "As follows")],
    )
    retry_count = NumbersField(label="How many", required=False, help_text="Up to 20.")
    retry_interval = forms.CharField(
        label="How far apart", required=False, help_text="Such as PT30S or 00:00:30; 15 s or more."
    )
    error_action = ErrorActionField(
        label="When every attempt failed",
        required=False,
        help_text="An address, which is sent a POST, or an action as JSON.",
    )
    action_json = JSONDocumentField(
        label="Action as JSON",
        required=False,
        help_text="Secrets are never shown; one that is left out here is kept.",
    )

    misfire = forms.ChoiceField(
        label="If it was missed",
        choices=[
            (Trigger.Misfire.FIRE_ONCE, "run once, as soon as possible"),
            (Trigger.Misfire.FIRE_ALL, "make up for each"),
            (Trigger.Misfire.SKIP, "leave it out"),
        ],
    )
    overlap = forms.ChoiceField(
        label="If the one before still runs",
        initial=Job.Overlap.SKIP,
        choices=[
            (Job.Overlap.SKIP, "skip this one"),
            (Job.Overlap.QUEUE_ONE, "let one wait for it"),
            (Job.Overlap.QUEUE_ALL, "wait for it"),
            (Job.Overlap.ALLOW, "run beside it"),
        ],
    )
    delivery = forms.ChoiceField(
        label="If a worker is lost on the way",
        choices=[
            (Job.Delivery.AT_LEAST_ONCE, "run it again"),
            (Job.Delivery.AT_MOST_ONCE, "record it as lost"),
        ],
    )

    def __init__(self, data=None, *, job: Job | None = None, collections=None, **kwargs):
        self.job = job
        self.trigger = job.triggers.get() if job else None
        super().__init__(data, initial={**initial_of(job, self.trigger), **kwargs.pop("initial", {})}, **kwargs)
        self.fields["collection"].queryset = collections
        if job:
            self.fields["collection"].disabled = self.fields["name"].disabled = True
        if self.initial.get("has_password"):
            self.fields["password"].widget.attrs["placeholder"] = "set; write a new one to replace it"

    def mode(self, half: str) -> str:
        """How `half`, when or what, is written at present."""
        return JSON if self[half].value() == JSON else FIELDS

    @cached_property
    def changed_data(self) -> list[str]:
        """What was changed in front of the viewer: the other way of writing a half was not there to be changed."""
        hidden = {"revision", "when", "what"}
        hidden |= set(WHEN_FIELDS) if self.mode("when") == JSON else {"schedule_json"}
        hidden |= set(WHAT_FIELDS) if self.mode("what") == JSON else {"action_json"}
        return [name for name in super().changed_data if name not in hidden]

    def clean(self):
        if self.cleaned_data.get("when") == FIELDS:
            self._one_number("interval")
            self._one_number("count")
        if self.cleaned_data.get("what") == FIELDS:
            self._one_number("retry_count")

    def _one_number(self, name: str) -> None:
        numbers = self.cleaned_data.get(name) or []
        if len(numbers) > 1:
            self.add_error(name, "Write one number")

    def schedule(self) -> dict[str, Any]:
        """The schedule that the form describes.  One that was not touched is the stored one, letter by letter, so
        that saving something else does not count as a new schedule."""
        if self.cleaned_data["when"] == JSON:
            return _pick(self.cleaned_data["schedule_json"])
        if self.trigger and fields_say(self.trigger.definition) and not set(WHEN_FIELDS) & set(self.changed_data):
            return self.trigger.definition
        return schedule_of(self.cleaned_data)

    def action(self) -> dict[str, Any]:
        if self.cleaned_data["what"] == JSON:
            return self.cleaned_data["action_json"]
        stored = documents.render(self.job.action) if self.job else {}
        if self.job and fields_do(stored) and not set(WHAT_FIELDS) & set(self.changed_data):
            return stored
        return action_of(self.cleaned_data)

    def save(self, now: datetime) -> tuple[Job, bool]:
        """Save the job; the second value tells whether it is new.  Raises what `save_job` raises, and Conflict when
        somebody else saved it in the meantime."""
        data = self.cleaned_data
        definition = JobDefinition(
            action=self.action(),
            schedule=self.schedule(),
            **{name: data[name] for name in ("state", "overlap", "delivery", "misfire")},
        )
        with transaction.atomic():
            if self.job:
                _refuse_stale(self.job, data["revision"])
            elif Job.objects.named(data["collection"], data["name"]).exists():
                raise Conflict(f"collection {data['collection'].name!r} has a job of this name already", path="name")
            return save_job(data["collection"], data["name"], definition, now)

    def refuse(self, error: WireError | JobError) -> None:
        """Show a refusal of the cores at the field that it is about."""
        name, message = self.place_of(error)
        self.add_error(name, message)

    def place_of(self, error: WireError | JobError) -> tuple[str | None, str]:
        """The field that shows the refused member, None for the whole form, and what to say there."""
        message = error.message
        path = re.sub(r"\[[0-9]+\]", "", error.path or "")
        half = "when" if path.startswith(SCHEDULE_MEMBERS) else "what"
        if path.startswith((*SCHEDULE_MEMBERS, "action")) and self.mode(half) == JSON:
            return ("schedule_json" if half == "when" else "action_json"), f"{error.path}: {message}"
        known = path
        while known and known not in PLACES:
            known = known.rpartition(".")[0]
        inner = path[len(known) + 1 :]
        return PLACES.get(known), capfirst(f"{inner}: {message}" if inner and known else message)

    def switched(self, half: str, mode: str) -> "JobForm":
        """The same form with `half` written the other way; what it says is carried over where the fields can say it."""
        values = {name: self[name].value() for name in self.fields}
        if mode == JSON and half == "when":
            values["schedule_json"] = self.schedule()
        elif mode == JSON:
            values["action_json"] = self.action()
        elif half == "when" and fields_say(self.schedule()):
            values |= schedule_fields(self.schedule())
        elif half == "what" and fields_do(self.action()):
            values |= action_fields(self.action())
        else:
            return self
        values[half] = mode
        form = JobForm(job=self.job, collections=self.fields["collection"].queryset, initial=values)
        form.carried = self.schedule()
        return form


def _refuse_stale(job: Job, revision: int | None) -> None:
    JobCollection.objects.select_for_update(no_key=True).get(pk=job.collection_id)  # as whoever saves a job does
    current = Job.objects.values_list("revision", flat=True).get(pk=job.pk)
    if revision != current:
        raise Conflict(f"somebody saved version {current} while you were writing; open the job again to see it")


def initial_of(job: Job | None, trigger: Trigger | None) -> dict[str, Any]:
    if job is None or trigger is None:
        return {}
    action = documents.render(job.action)
    values = {
        "collection": job.collection,
        "name": job.name,
        "state": job.state,
        "revision": job.revision,
        "overlap": job.overlap,
        "delivery": job.delivery,
        "misfire": trigger.misfire,
        "when": FIELDS if fields_say(trigger.definition) else JSON,
        "what": FIELDS if fields_do(action) else JSON,
        "schedule_json": trigger.definition,
        "action_json": action,
    }
    if values["when"] == FIELDS:
        values |= schedule_fields(trigger.definition)
    if values["what"] == FIELDS:
        values |= action_fields(action)
    return values


# When: the schedule between its document and its fields

SCHEDULE_FIELDS = {"minutes": "minutes", "hours": "hours", "weekDays": "week_days", "monthDays": "month_days"}
RECURRENCE_MEMBERS = {"frequency", "interval", "count", "endTime", "schedule"}
PLAN_MEMBERS = {*SCHEDULE_FIELDS, "monthlyOccurrences"}


def fields_say(definition: Mapping) -> bool:
    """Whether the form's fields can show the schedule whole."""
    recurrence = definition.get("recurrence") or {}
    plan = recurrence.get("schedule") or {}
    known = set(definition) <= set(SCHEDULE_MEMBERS) and set(recurrence) <= RECURRENCE_MEMBERS
    return known and set(plan) <= PLAN_MEMBERS


def schedule_fields(definition: Mapping) -> dict[str, Any]:
    recurrence = definition.get("recurrence") or {}
    plan = recurrence.get("schedule") or {}
    values: dict[str, Any] = dict.fromkeys(WHEN_FIELDS)
    values["frequency"] = str(recurrence.get("frequency") or "").capitalize()
    values["start"], values["end"] = _moment(definition.get("startTime")), _moment(recurrence.get("endTime"))
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


# What: the action between its document and its fields


def fields_do(action: Mapping) -> bool:
    """Whether the form's fields can show the action whole."""
    request = action.get("request") or {}
    authentication = request.get("authentication") or {}
    return (
        set(action) <= {"type", "request", "retryPolicy", "errorAction"}
        and str(action.get("type", "Http")).lower() in ("http", "https")
        and set(request) <= {"uri", "method", "headers", "body", "authentication"}
        and str(request.get("method", "POST")).upper() in METHODS
        and str(authentication.get("type", "Basic")).lower() == "basic"
    )


def action_fields(action: Mapping) -> dict[str, Any]:
    request = action.get("request") or {}
    authentication = request.get("authentication") or {}
    policy = action.get("retryPolicy") or {}
    return {
        "type": str(action.get("type", "Http")).capitalize(),
        "method": str(request.get("method", "POST")).upper(),
        "uri": request.get("uri"),
        "headers": request.get("headers"),
        "body": request.get("body"),
        "authentication": "Basic" if authentication else "",
        "username": authentication.get("username"),
        "password": None,
        "has_password": bool(authentication),
        "retry": str(policy.get("retryType") or "Fixed").capitalize() if policy else "",
        "retry_interval": policy.get("retryInterval"),
        "retry_count": _listed(policy.get("retryCount")),
        "error_action": action.get("errorAction"),
    }


def action_of(values: Mapping[str, Any]) -> dict[str, Any]:
    authentication = {
        "type": values.get("authentication"),
        "username": values.get("username"),
        "password": values.get("password"),
    }
    request = {
        "method": values.get("method"),
        "uri": values.get("uri"),
        "headers": values.get("headers"),
        "body": values.get("body"),
        "authentication": _present(authentication) if values.get("authentication") else None,
    }
    policy = {"retryType": values.get("retry")}
    if values.get("retry") == "Fixed":
        policy |= {
            "retryInterval": values.get("retry_interval"),
            "retryCount": _single(values.get("retry_count")),
        }
    return _present(
        {
            "type": values.get("type"),
            "request": _present(request),
            "retryPolicy": _present(policy),
            "errorAction": values.get("error_action"),
        }
    )


def _pick(document: Mapping) -> dict[str, Any]:
    return {name: document[name] for name in SCHEDULE_MEMBERS if document.get(name) is not None}


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}


def _listed(value: object) -> list | None:
    return value if value is None or isinstance(value, list) else [value]


def _single(values: list | None):
    return values[0] if values else None


def _moment(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _written(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else None


def _post_to(uri: str) -> dict[str, Any]:
    secure = uri.lower().startswith("https:")
    return {"type": "Https" if secure else "Http", "request": {"method": "POST", "uri": uri}}


def _refuse_unstorable(value: object) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            _refuse_unstorable(name)
            _refuse_unstorable(member)
    elif isinstance(value, list):
        for item in value:
            _refuse_unstorable(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise forms.ValidationError("A number here is infinite or none at all")
    elif isinstance(value, str) and re.search("[\0\ud800-\udfff]", value):
        raise forms.ValidationError("A text here holds NUL or half of a surrogate pair")
