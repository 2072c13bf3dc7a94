"""The form of an additional trigger, and the definition that the cores check."""

from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django import forms
from django.db import transaction
from django.http import QueryDict
from django.utils import timezone
from django.utils.text import capfirst

from api.errors import Conflict, RequestError
from jobs.forms.fields import CODE
from jobs.models import Job, JobCollection
from jobs.names import NAME_LENGTH, validate_group, validate_trigger_name
from recurrence.wire import WireError
from triggers.definitions import FORMAT, TriggerDefinition, canonical, split_schedule
from triggers.editor.fields import DurationField
from triggers.editor.tabs import SIMPLE
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
from triggers.schedule_form import BUTTONS, WHEN_FIELDS, ScheduleForm
from triggers.scheduling import LOCK_KEY, save_trigger

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
# the fields of the settings that are not part of a definition, by the core's path
SETTINGS = {"name": "name", "group": "group", "priority": "priority", f"triggerDataMap.{LOCK_KEY}": "lock_key"}


class TriggerForm(ScheduleForm):
    """The form of an additional trigger of `job`.  `trigger` is the trigger to change, None for a new one.

    `tab` is the tab of the schedule that a link has chosen.
    """

    field_order = ("name",)

    name = forms.CharField(
        max_length=NAME_LENGTH,
        validators=[validate_trigger_name],
        help_text="Letters, digits, and _ . - @. Unique in the job.",
    )
    enabled = forms.BooleanField(
        label="Enabled", required=False, initial=True, help_text="Runs that it misses while disabled are not made up."
    )
    version = forms.CharField(required=False, widget=forms.HiddenInput)

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

    def __init__(
        self,
        data=None,
        *,
        job: Job,
        trigger: Trigger | None = None,
        now: datetime | None = None,
        tab: str | None = None,
    ):
        self.job = job
        self.trigger = trigger
        super().__init__(data, initial=initial_of(trigger))
        self.open_tab(tab, now or timezone.now())

    @property
    def subscription_id(self) -> UUID:
        return self.job.collection.subscription_id

    def posted_again(self, data: QueryDict) -> "TriggerForm":
        form = TriggerForm(data, job=self.job, trigger=self.trigger, now=self.now)
        form.is_valid()
        return form

    def clean_threshold(self) -> timedelta:
        threshold = self.cleaned_data["threshold"]
        if threshold is None or not THRESHOLD_LEAST <= threshold <= THRESHOLD_MOST:
            raise forms.ValidationError(f"Must be PT1S to P{THRESHOLD_MOST.days}D")
        return threshold

    def schedule(self, now: datetime) -> tuple[str, dict[str, Any]]:
        """Return the format and the definition that saving at `now` would store.

        Raises WireError for a definition that the parser of the format refuses.
        """
        schedule = self.written_schedule()
        assert schedule is not None  # only a job may have none
        if self.tab_name == SIMPLE and schedule != self.stored_schedule:
            schedule = self.with_start(schedule, now)
        format, document = split_schedule(schedule)
        if self._is_switched_on:
            assert self.trigger is not None
            definition = TriggerDefinition(format=format, definition=document)
            document = dict(enabled_triggers(self.trigger.name, definition, now).definition)
        if format == FORMAT or schedule == self.stored_schedule:
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
            ("csrfmiddlewaretoken", "compare_days", "enabled", "group", "misfire", "threshold", *WHEN_FIELDS, *BUTTONS)
        )

    @cached_property
    def changed_data(self) -> list[str]:
        return [name for name in super().changed_data if name != "version"]

    def locate_error(self, error: WireError | RequestError) -> tuple[str | None, str]:
        """Return the field of the refused member (None: the whole form), and the message to show there."""
        if error.path in SETTINGS:
            return SETTINGS[error.path], capfirst(error.message)
        if isinstance(error, WireError) or error.path == "definition":
            return self.locate_schedule_error(error)
        return None, capfirst(error.message)

    @property
    def _is_switched_on(self) -> bool:
        return self.trigger is not None and not self.trigger.enabled and bool(self.cleaned_data["enabled"])

    def _data_map(self) -> dict[str, Any]:
        data_map = dict(self.trigger.data_map) if self.trigger else {}
        if "lock_key" in self.changed_data:
            data_map.pop(LOCK_KEY, None)
            if key := self.cleaned_data["lock_key"]:
                data_map[LOCK_KEY] = key
        return data_map


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
        "priority": trigger.priority,
        "group": trigger.group,
        "lock_key": trigger.data_map.get(LOCK_KEY, ""),
        "misfire": trigger.misfire,
        "threshold": trigger.misfire_threshold,
    }


def format_in_words(format: str) -> str:
    return SHORT_NAMES.get(format, format)
