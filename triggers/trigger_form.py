"""The form of an additional trigger, and the definition that the cores check.

Each format has its own fields; the style sheet shows those of the chosen format.  Recurrences of Azure and of calendars
are written in JSON.  Members whose fields were not changed stay exactly as they are stored.
"""

import json
import re
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.db import transaction
from django.utils.functional import cached_property
from django.utils.text import capfirst

from api.errors import Conflict, RequestError
from jobs import durations
from jobs.forms.fields import CODE, JSONDocumentField, MomentField, TextNotationField
from jobs.models import Job, JobCollection
from jobs.names import NAME_LENGTH, validate_group, validate_trigger_name
from recurrence.english_words import listed
from recurrence.wire import WireError, azure, common, graph, rrule_schedule, simple, solar
from recurrence.wire.clocks import PRESETS
from recurrence.wire.json_values import Known
from triggers.definitions import TriggerDefinition, canonical
from triggers.forms import MISFIRE_CHOICES, MISFIRE_HELP
from triggers.mint.jobs import enabled_triggers
from triggers.models import (
    GROUP,
    MISFIRE_THRESHOLD,
    PRIORITY,
    PRIORITY_MOST,
    THRESHOLD_LEAST,
    THRESHOLD_MOST,
    Trigger,
)
from triggers.scheduling import LOCK_KEY, save_trigger

SECOND, MILLISECOND = timedelta(seconds=1), timedelta(milliseconds=1)
FORMATS = {
    "quartz": "Cron expression",
    "cron": "Crontab line",
    "simple": "Interval",
    "once": "Once",
    "azure": "Azure recurrence",
    "outlook": "Calendar series",
    "rrule": "iCalendar rule",
    "solar": "Sun",
}
SHORT_NAMES = {
    "quartz": "Cron",
    "cron": "Crontab",
    "simple": "Interval",
    "once": "Once",
    "azure": "Azure",
    "outlook": "Calendar",
    "rrule": "iCalendar",
    "solar": "Sun",
}
# the formats that are written as a JSON document, with their members
DOCUMENTS: dict[str, Known] = {
    "azure": azure.MEMBERS,
    "outlook": graph.MEMBERS,
    "rrule": rrule_schedule.MEMBERS,
    "solar": solar.MEMBERS,
}
EXPRESSION_PLACES = {
    "expression": "expression",
    "timeZone": "time_zone",
    "clockChange": "clock_change",
    "startTime": "start",
    "endTime": "end",
}
# by format, the field of each member of a definition
PLACES = {
    "quartz": EXPRESSION_PLACES,
    "cron": EXPRESSION_PLACES,
    "simple": {"startTime": "start", "endTime": "end", "interval": "interval", "repeatCount": "repeat_count"},
    "once": {"at": "at"},
    **{format: {} for format in DOCUMENTS},
}
# the main field of each format
FIRST = {
    "quartz": "expression",
    "cron": "expression",
    "simple": "interval",
    "once": "at",
    **dict.fromkeys(DOCUMENTS, "schedule_json"),
}
# the words of a clock change that is a policy
SKIPPED_IN_WORDS = {
    "next": "run once, right after the change",
    "shift": "run later by the size of the change",
    "skip": "do not run",
}
REPEATED_IN_WORDS = {"first": "the first time", "second": "the second time", "both": "both times"}
# the fields of the settings that are not part of a definition, by the core's path
SETTINGS = {"name": "name", "group": "group", "priority": "priority", f"triggerDataMap.{LOCK_KEY}": "lock_key"}


class DurationField(TextNotationField):
    """A duration in ISO 8601, or as hours:minutes:seconds."""

    def write(self, value: timedelta) -> str:
        fraction = value % SECOND
        text = durations.render(value - fraction)
        return f"PT{value / SECOND:.3f}S" if fraction else text

    def read(self, text: str) -> timedelta | None:
        try:
            return durations.parse(text) if text else None
        except ValueError:
            raise forms.ValidationError("Enter a duration such as PT15M or 00:15:00") from None


class TriggerForm(forms.Form):
    """The form of an additional trigger of `job`.  `trigger` is the trigger to change, None for a new one."""

    fields: dict[str, Any]  # narrows Django's type: the fields have different classes

    name = forms.CharField(
        max_length=NAME_LENGTH,
        validators=[validate_trigger_name],
        help_text="Letters, digits, and _ . - @. Unique in the job.",
    )
    enabled = forms.BooleanField(
        label="Enabled", required=False, initial=True, help_text="Runs that it misses while disabled are not made up."
    )
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    format = forms.ChoiceField(label="Schedule format", choices=list(FORMATS.items()), initial="quartz")
    expression = forms.CharField(
        label="Cron expression",
        required=False,
        widget=forms.TextInput(
            attrs={**CODE, "autocapitalize": "none", "autocomplete": "off", "placeholder": "0 15 10 ? * MON-FRI"}
        ),
        help_text="Quartz format: second, minute, hour, day of month, month, day of week (1 is Sunday), and optionally"
        " year. One of the two day fields must be ?. A crontab line has five fields, from minute to day of week (0 or 7"
        " is Sunday), or is a word such as @daily.",
    )
    time_zone = forms.CharField(
        label="Time zone",
        required=False,
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "placeholder": "UTC"}),
        help_text="UTC if empty. Time zone names of Windows are accepted too.",
    )
    clock_change = forms.ChoiceField(
        label="Clock changes",
        required=False,
        choices=[
            (
                "cron",
                "Like Cronos: skipped times run once, right after the change. A repeated time runs the first time,"
                " an interval both times.",
            ),
            (
                "quartz",
                "Like Quartz: a skipped time does not run. A repeated time runs the second time.",
            ),
        ],
        initial="cron",
        widget=forms.RadioSelect,
    )
    at = MomentField(label="Time, in UTC", required=False)
    start = MomentField(label="Start, in UTC", required=False, help_text="Immediately if empty.")
    interval = DurationField(
        label="Interval", required=False, help_text="Elapsed time, such as PT15M. Runs once if empty."
    )
    repeat_count = forms.IntegerField(
        label="Repetitions", required=False, help_text="Number of runs after the first one. Unlimited if empty."
    )
    end = MomentField(
        label="End, in UTC",
        required=False,
        help_text="The last possible time of a run. With an interval, all runs are before this time.",
    )
    schedule_json = JSONDocumentField(
        label="Recurrence as JSON",
        required=False,
        help_text="Azure recurrence: startTime and recurrence. Calendar series: start, end and recurrence, as in an"
        " event of Microsoft Graph. iCalendar rule: start, end, rrule, exdates and rdates. Sun: event, latitude,"
        " longitude and offset.",
    )

    priority = forms.IntegerField(
        label="Priority",
        min_value=0,
        max_value=PRIORITY_MOST,
        initial=PRIORITY,
        help_text="If several triggers are due, the lower number runs first. In Quartz, the higher number runs first.",
    )
    group = forms.CharField(
        label="Group",
        max_length=100,
        initial=GROUP,
        validators=[validate_group],
        widget=forms.TextInput(attrs={"list": "groups", "autocomplete": "off"}),
        help_text="The queue of its runs. Workers that serve this queue execute them.",
    )
    lock_key = forms.CharField(
        label="Lock key",
        required=False,
        widget=forms.TextInput(attrs={**CODE, "autocomplete": "off"}),
        help_text="Only one run with the same key runs at a time; others are skipped. __ORG_ID__ stands for the"
        " subscription.",
    )
    misfire = forms.ChoiceField(label="Missed runs", choices=MISFIRE_CHOICES, help_text=MISFIRE_HELP)
    threshold = DurationField(label="Missed when later than", initial=MISFIRE_THRESHOLD, help_text="PT1S to a year.")

    def __init__(self, data=None, *, job: Job, trigger: Trigger | None = None, **kwargs):
        self.job = job
        self.trigger = trigger
        super().__init__(data, initial=initial_of(trigger), **kwargs)
        policy = self.initial.get("clock_change")
        if policy and policy not in PRESETS:
            self.fields["clock_change"].choices = [
                *self.fields["clock_change"].choices,
                (policy, policy_in_words(policy)),
            ]

    def clean_threshold(self) -> timedelta:
        threshold = self.cleaned_data["threshold"]
        if threshold is None or not THRESHOLD_LEAST <= threshold <= THRESHOLD_MOST:
            raise forms.ValidationError(f"Must be PT1S to P{THRESHOLD_MOST.days}D")
        return threshold

    def clean(self) -> None:
        super().clean()
        members = DOCUMENTS.get(self.cleaned_data.get("format", ""))
        if members and "schedule_json" in self.changed_data:
            known = [*members, *common.MEMBERS]
            unknown = [name for name in self.cleaned_data.get("schedule_json", {}) if name not in known]
            if unknown:
                self.add_error("schedule_json", f"{unknown[0][:50]!r} is not a member here. Use {listed(known)}")

    def schedule(self, now: datetime) -> tuple[str, dict[str, Any]]:
        """Return the format and the definition that saving at `now` would store.

        Raises WireError for a definition that the parser of the format refuses.
        """
        format = self.cleaned_data["format"]
        document = self._document(format)
        if self._is_switched_on:
            assert self.trigger is not None
            definition = TriggerDefinition(format=format, definition=document)
            document = dict(enabled_triggers(self.trigger.name, definition, now).definition)
        if format == "azure" or document == self._stored(format):
            return format, document  # as it was written
        return format, canonical(format, document)

    def save(self, now: datetime) -> tuple[Trigger, bool]:
        """Save the trigger; the second value is True if the trigger is new.

        Raises what `save_trigger` raises, and Conflict when another user saved the trigger in the meantime.
        """
        data = self.cleaned_data
        with transaction.atomic():
            JobCollection.objects.select_for_update(no_key=True).get(pk=self.job.collection_id)
            if self.trigger:
                _refuse_stale(self.trigger, data["version"])
            elif self.job.triggers.filter(name=data["name"]).exists():
                raise Conflict(f"job {self.job.name!r} has a trigger of this name already", path="name")
            format, document = self.schedule(now)
            definition = TriggerDefinition(
                format=format,
                definition=document,
                data_map=self._data_map(),
                misfire_threshold=data["threshold"],
                **{name: data[name] for name in ("enabled", "priority", "group", "misfire")},
            )
            name = self.trigger.name if self.trigger else data["name"]
            return save_trigger(self.job, name, definition, now, data["name"])

    @property
    def preview_field_names(self) -> str:
        """The names of the fields that a preview needs."""
        return ",".join(
            ("csrfmiddlewaretoken", "compare_days", "enabled", "group", "misfire", "threshold", *WHEN_FIELDS)
        )

    def active_fields(self) -> set[str]:
        """Return the names of the fields of the chosen format."""
        format = self["format"].value()
        return {"schedule_json"} if format in DOCUMENTS else set(PLACES.get(format, {}).values())

    @cached_property
    def changed_data(self) -> list[str]:
        """The names of changed fields, without the fields of other formats, which are hidden."""
        hidden = {"version"} | set(WHEN_FIELDS) - {"format"} - self.active_fields()
        return [name for name in super().changed_data if name not in hidden]

    def show_error(self, error: WireError | RequestError) -> None:
        """Show an error of a core at the field that it concerns."""
        name, message = self.locate_error(error)
        self.add_error(name, message)

    def locate_error(self, error: WireError | RequestError) -> tuple[str | None, str]:
        """Return the field of the refused member (None: the whole form), and the message to show there."""
        path, message = re.sub(r"\[[0-9]+\]", "", error.path or ""), error.message
        format = self.cleaned_data.get("format", "")
        fields = {**SETTINGS, "definition": FIRST.get(format), **PLACES.get(format, {})}
        if path in fields:
            return fields[path], capfirst(message)
        return ("schedule_json", f"{error.path}: {message}") if format in DOCUMENTS else (None, capfirst(message))

    @property
    def _is_switched_on(self) -> bool:
        return self.trigger is not None and not self.trigger.enabled and bool(self.cleaned_data["enabled"])

    def _stored(self, format: str) -> dict[str, Any] | None:
        return self.trigger.definition if self.trigger and self.trigger.format == format else None

    def _document(self, format: str) -> dict[str, Any]:
        stored, data = self._stored(format), self.cleaned_data
        changed = self.active_fields() & set(self.changed_data)
        if stored is not None and not changed:
            return stored
        if format in DOCUMENTS:
            return data["schedule_json"]
        document = {}
        for member, name in PLACES[format].items():
            is_unchanged = stored is not None and name not in changed
            document[member] = stored.get(member) if stored is not None and is_unchanged else _member(name, data[name])
        fieldless = {member: value for member, value in (stored or {}).items() if member not in document}
        return {member: value for member, value in document.items() if value not in (None, "")} | fieldless

    def _data_map(self) -> dict[str, Any]:
        data_map = dict(self.trigger.data_map) if self.trigger else {}
        if "lock_key" in self.changed_data:
            data_map.pop(LOCK_KEY, None)
            if key := self.cleaned_data["lock_key"]:
                data_map[LOCK_KEY] = key
        return data_map


WHEN_FIELDS = (
    "format",
    *dict.fromkeys(name for fields in PLACES.values() for name in fields.values()),
    "schedule_json",
)


def version_of(trigger: Trigger) -> str:
    return trigger.updated_at.isoformat()


def _refuse_stale(trigger: Trigger, version: str) -> None:
    current = Trigger.objects.filter(pk=trigger.pk).first()
    if current is None:
        raise Conflict("someone deleted this trigger while you were editing")
    if version_of(current) != version:
        raise Conflict("someone saved this trigger while you were editing; open it again to see the change")


def initial_of(trigger: Trigger | None) -> dict[str, Any]:
    if trigger is None:
        return {}
    return {
        "name": trigger.name,
        "enabled": trigger.enabled,
        "version": version_of(trigger),
        "format": trigger.format,
        "priority": trigger.priority,
        "group": trigger.group,
        "lock_key": trigger.data_map.get(LOCK_KEY, ""),
        "misfire": trigger.misfire,
        "threshold": trigger.misfire_threshold,
        "schedule_json": trigger.definition if trigger.format in DOCUMENTS else None,
        **{name: _field_value(name, trigger.definition.get(member)) for member, name in PLACES[trigger.format].items()},
    }


def _field_value(name: str, value: Any) -> Any:
    """Return a stored member as a value of its field."""
    if name in ("start", "end", "at"):
        try:
            return simple.moment(value, name)
        except WireError:  # stored when the parser of the format accepted more
            return None
    if name == "interval":
        return None if value in (None, "") else int(value) * MILLISECOND
    if name == "clock_change":
        return json.dumps(value) if isinstance(value, dict) else value or "cron"
    return value


def _member(name: str, value: Any) -> Any:
    """Return the value of a field as a member of a definition."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    if name == "interval":
        return None if value is None else value // MILLISECOND
    if name == "clock_change" and value.startswith("{"):
        return json.loads(value)
    return None if (name, value) == ("clock_change", "cron") else value


def policy_in_words(policy: str) -> str:
    """Return a text for a policy that is neither like Cronos nor like Quartz.  `policy` is its JSON."""
    members = json.loads(policy)
    gap = SKIPPED_IN_WORDS[str(members.get("gap") or "next").lower()]
    return (
        f"Skipped times {gap}. A repeated time runs {REPEATED_IN_WORDS[str(members.get('repeat') or 'first').lower()]}."
    )


def format_in_words(format: str) -> str:
    return SHORT_NAMES.get(format, format)
