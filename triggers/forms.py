"""The form of a job: its action and schedule as fields or as JSON, and the documents that the cores check.

The form owns no rule about schedules or actions.  It builds documents from its fields.  When a core refuses a member,
the form shows the error at the field of that member.  The schedule is written in a tab of the schedule editor, the
action in fields or in JSON; what the user sees is saved.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db import transaction
from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import capfirst

from api.errors import Conflict, RequestError
from jobs.action_text import written
from jobs.actions import documents
from jobs.forms.action_fields import WHAT_FIELDS
from jobs.forms.action_form import ActionForm
from jobs.forms.action_values import action_fields_can_express, values_of
from jobs.forms.fields import FIELDS, JSON
from jobs.models import Job, JobCollection
from jobs.names import NAME_LENGTH, validate_name
from recurrence.wire import WireError
from triggers.definitions import (
    FORMAT,
    SCHEDULE_MEMBERS,
    JobDefinition,
    has_same_rule,
    main_trigger,
    split_schedule,
)
from triggers.first_run import refuse_present
from triggers.models import Trigger
from triggers.schedule_form import BUTTONS, WHEN_FIELDS, ScheduleForm
from triggers.scheduling import Destination, locked_job, save_job

NEXT, NOW = "next", "now"  # choices of `first_run`
MISFIRE_HELP = "At most 100 missed runs are made up, one after the other, regardless of the rule for overlapping runs."
MISFIRE_CHOICES = [
    (Trigger.Misfire.FIRE_ONCE, "run once, as soon as possible"),
    (Trigger.Misfire.FIRE_ALL, "run each, one after the other"),
    (Trigger.Misfire.SKIP, "skip"),
]


class JobForm(ActionForm, ScheduleForm):
    """The form of one job.  `job` is the job to change, None for a new one.

    `collections` are those that the user may write to.  `tab` is the tab of the schedule that a link has chosen.
    `converted_schedule` and `lost_secrets` are set after the action was switched to its other mode: the schedule as
    written before, and the labels of the fields whose secrets were lost.
    """

    fields: dict[str, Any]  # narrows Django's type: the fields have different classes
    converted_schedule: tuple[dict[str, Any] | None, ...] = ()
    lost_secrets: Sequence[str] = ()
    field_order = ("name", "collection", "state")
    offers_none = True

    first_run = forms.ChoiceField(
        label="First run",
        required=False,
        initial=NEXT,
        choices=[(NEXT, "at the next scheduled time"), (NOW, "now, and then on schedule")],
    )

    collection = forms.ModelChoiceField(JobCollection.objects.none(), empty_label=None)
    name = forms.CharField(
        max_length=NAME_LENGTH, validators=[validate_name], help_text="Starts with a letter. Letters, digits, - and _."
    )
    state = forms.ChoiceField(
        label="State", choices=[("enabled", "Enabled"), ("disabled", "Disabled: it does not run")], initial="enabled"
    )
    revision = forms.IntegerField(required=False, widget=forms.HiddenInput)

    misfire = forms.ChoiceField(label="Missed runs", choices=MISFIRE_CHOICES, help_text=MISFIRE_HELP)
    overlap = forms.ChoiceField(
        label="If the previous run is still running",
        initial=Job.Overlap.SKIP,
        choices=[
            (Job.Overlap.SKIP, "skip the new run"),
            (Job.Overlap.QUEUE_ONE, "queue one run, skip others"),
            (Job.Overlap.QUEUE_ALL, "queue all runs"),
            (Job.Overlap.ALLOW, "run in parallel"),
        ],
    )
    delivery = forms.ChoiceField(
        label="If the worker is lost",
        choices=[
            (Job.Delivery.AT_LEAST_ONCE, "run again"),
            (Job.Delivery.AT_MOST_ONCE, "mark as lost"),
        ],
    )

    def __init__(
        self,
        data=None,
        files=None,
        *,
        job: Job | None = None,
        collections=None,
        now: datetime | None = None,
        tab: str | None = None,
        **kwargs,
    ):
        self.job = job
        self.stored_action = job.action if job else None
        self.trigger = main_trigger(job) if job else None
        super().__init__(data, files, initial={**initial_of(job, self.trigger), **kwargs.pop("initial", {})}, **kwargs)
        self.fields["collection"].queryset = collections
        if job and collections is not None:
            self.fields["collection"].queryset = collections.filter(subscription=job.collection.subscription_id)
        self.open_tab(tab, now or timezone.now())

    @property
    def is_stored(self) -> bool:
        return self.job is not None

    @property
    def subscription_id(self) -> UUID | None:
        """The subscription of the job, or of the collection that is chosen for a new one; None: none is chosen."""
        if self.job:
            return self.job.collection.subscription_id
        if self.fields["collection"].queryset is None:
            return None
        try:
            return self.fields["collection"].clean(self["collection"].value()).subscription_id
        except forms.ValidationError:
            return None

    def schedule(self) -> dict[str, Any] | None:
        """Return the schedule that the form describes, with its format; None: the job has none of its own."""
        return self.written_schedule()

    def schedule_at(self, now: datetime) -> dict[str, Any] | None:
        """Return the schedule as it is saved at `now`: a new one that repeats gets a start time.

        Raises WireError.  Raises Invalid for an existing job whose schedule fires only once and not after `now`, unless
        the user chose to run the job now.
        """
        schedule = self.schedule()
        if schedule is None or schedule == self.stored_schedule:
            return schedule
        format, definition = split_schedule(schedule)
        if self.job and not self.runs_now and not (self.trigger and has_same_rule(self.trigger, format, definition)):
            refuse_present(format, definition, now, self.closed_days_id(definition))
        return self.with_start(schedule, now)

    @property
    def runs_now(self) -> bool:
        """True if the job also runs once now; the choice is hidden, and False, while the job has no schedule."""
        return self["first_run"].value() == NOW and self.schedule() is not None

    @property
    def what_mode(self) -> str:
        """The mode of the action: FIELDS or JSON."""
        return JSON if self["what"].value() == JSON else FIELDS

    @cached_property
    def changed_data(self) -> list[str]:
        """The names of changed fields, without the fields that the user's choices hide."""
        hidden = {"revision", "what"} | set(WHAT_FIELDS) - self.active_fields()
        hidden |= set() if self["first_run"].value() == NOW else {"first_run"}
        return [name for name in super().changed_data if name not in hidden]

    def save(self, now: datetime) -> tuple[Job, bool]:
        """Save the job; the second value is True if the job is new.

        Raises what `save_job` raises, and Conflict when another user saved the job in the meantime.
        """
        data = self.cleaned_data
        document = self.schedule_at(now)
        format, schedule = (FORMAT, None) if document is None else split_schedule(document)
        definition = JobDefinition(
            action=self.action(),
            format=format,
            schedule=schedule,
            run_now=self.runs_now or (False if self.job else None),
            needs_schedule=True,
            **{name: data[name] for name in ("state", "overlap", "delivery", "misfire")},
        )
        if self.job:
            to = Destination(data["collection"], data["name"])
            with locked_job(self.job, to) as job:
                _refuse_stale(job, data["revision"])
                return save_job(job.collection, job.name, definition, now, to)
        with transaction.atomic():
            if Job.objects.named(data["collection"], data["name"]).exists():
                raise Conflict(f"collection {data['collection'].name!r} has a job of this name already", path="name")
            return save_job(data["collection"], data["name"], definition, now)

    @property
    def preview_field_names(self) -> str:
        """The names of the fields that a preview needs; none of them holds a secret."""
        return ",".join(
            ("csrfmiddlewaretoken", "compare_days", "collection", "first_run", "misfire", *WHEN_FIELDS, *BUTTONS)
        )

    def locate_error(self, error: WireError | RequestError) -> tuple[str | None, str]:
        """Return the field of the refused member (None: the whole form), and the message to show there."""
        path, message = re.sub(r"\[[0-9]+\]", "", error.path or ""), error.message
        path = {"ownSchedule": "startTime", "runNow": "first_run"}.get(path, path)
        if isinstance(error, WireError) or path.startswith(("schedule", *SCHEDULE_MEMBERS)):
            return self.locate_schedule_error(error)
        if not path.startswith("action"):
            return (path if path in self.fields else None), capfirst(message)
        if self.what_mode == JSON:
            return "action_json", f"{error.path}: {message}"
        field, rest = self.find_action_field(path)
        return field, capfirst(f"{rest}: {message}" if rest and field else message)

    def switch_mode(self, mode: str) -> "JobForm":
        """Return the form with the action in `mode`, and its values carried over if the new mode can express them.

        If the fields cannot express the values, return this form unchanged.
        """
        values = {name: self[name].value() for name in self.fields}
        if mode == JSON:
            values["action_json"] = written(self.action())
        elif action_fields_can_express(self.action()):
            values |= values_of(self.action())
        else:
            return self
        values["what"] = mode
        form = JobForm(job=self.job, collections=self.fields["collection"].queryset, now=self.now, initial=values)
        form.converted_schedule, form.lost_secrets = (self.schedule(),), self.unshown_secrets
        return form

    def posted_again(self, data: QueryDict) -> "JobForm":
        form = JobForm(data, self.files, job=self.job, collections=self.fields["collection"].queryset, now=self.now)
        form.is_valid()
        return form


def _refuse_stale(job: Job, revision: int | None) -> None:
    if revision != job.revision:
        raise Conflict(f"someone saved version {job.revision} while you were editing; open the job again to see it")


def initial_of(job: Job | None, trigger: Trigger | None) -> dict[str, Any]:
    if job is None:
        return {}
    action = documents.render(job.action)
    values = {
        "collection": job.collection,
        "name": job.name,
        "state": job.state,
        "revision": job.revision,
        "overlap": job.overlap,
        "delivery": job.delivery,
        "misfire": trigger.misfire if trigger else Trigger.Misfire.FIRE_ONCE,
        "what": FIELDS if action_fields_can_express(action) else JSON,
        "action_json": action,
    }
    if values["what"] == FIELDS:
        values |= values_of(action)
    return values
