"""A job as a form: its what and when as fields or as JSON, and back into the documents that the cores check.

The form owns no rule about schedules or actions.  It gathers documents from its fields, and hands what the cores
refuse back to the field that the refused member came from.  Each half, what and when, is written either in fields or
in JSON: the one in front of the viewer is the one that is saved.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.db import transaction
from django.utils.functional import cached_property
from django.utils.text import capfirst

from jobs.action_fields import WHAT_FIELDS
from jobs.action_form import ActionForm
from jobs.action_values import fields_do, values_of
from jobs.actions import documents
from jobs.actions.headers import CREDENTIAL_HEADER
from jobs.descriptions import written
from jobs.errors import Conflict, JobError
from jobs.models import Job, JobCollection
from jobs.names import NAME_LENGTH, validate_name
from jobs.notations import FIELDS, JSON
from recurrence.wire import WireError
from triggers.definitions import SCHEDULE_MEMBERS, JobDefinition, main_trigger
from triggers.models import Trigger
from triggers.schedule_form import WHEN_FIELDS, ScheduleForm, fields_say, schedule_fields
from triggers.scheduling import save_job

MISFIRE_CHOICES = [
    (Trigger.Misfire.FIRE_ONCE, "run once, as soon as possible"),
    (Trigger.Misfire.FIRE_ALL, "make up for each"),
    (Trigger.Misfire.SKIP, "leave it out"),
]


class JobForm(ActionForm, ScheduleForm):
    """`job` is the one to change, None for a new one; `collections` are those that the viewer may write to.

    After half of the form was switched to the other way of writing, `carried` has the schedule that was written before,
    and `rewrite` the labels of fields whose secrets did not come along.
    """

    fields: dict[str, Any]  # each of its own class
    carried: tuple[dict[str, Any] | None, ...] = ()
    rewrite: Sequence[str] = ()
    field_order = ("name", "collection", "state")

    collection = forms.ModelChoiceField(JobCollection.objects.none(), empty_label=None)
    name = forms.CharField(
        max_length=NAME_LENGTH, validators=[validate_name], help_text="A letter, then letters, digits, - and _."
    )
    state = forms.ChoiceField(
        label="State", choices=[("enabled", "Enabled"), ("disabled", "Disabled: it does not run")], initial="enabled"
    )
    revision = forms.IntegerField(required=False, widget=forms.HiddenInput)

    misfire = forms.ChoiceField(label="If it was missed", choices=MISFIRE_CHOICES)
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

    def __init__(self, data=None, files=None, *, job: Job | None = None, collections=None, **kwargs):
        self.job = job
        self.stored = job.action if job else None
        self.trigger = main_trigger(job) if job else None
        super().__init__(data, files, initial={**initial_of(job, self.trigger), **kwargs.pop("initial", {})}, **kwargs)
        self.fields["collection"].queryset = collections
        if job:
            self.fields["collection"].disabled = self.fields["name"].disabled = True

    def clean(self) -> None:
        super().clean()
        data = self.cleaned_data
        if (
            self.job
            and not self.trigger
            and data.get("when") == FIELDS
            and not (data.get("frequency") or data.get("start"))
        ):
            self.add_error("start", "Say when. To run it at once there is Run now, on the page of the job")

    def mode(self, half: str) -> str:
        """How `half`, when or what, is written at present."""
        return JSON if self[half].value() == JSON else FIELDS

    @cached_property
    def changed_data(self) -> list[str]:
        """What was changed in front of the viewer: what does not go with a choice was not there to be changed."""
        hidden = {"revision", "when", "what"} | set(WHAT_FIELDS) - self.counting_fields()
        hidden |= set(WHEN_FIELDS) if self.mode("when") == JSON else {"schedule_json"}
        return [name for name in super().changed_data if name not in hidden]

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

    @property
    def previewed(self) -> str:
        """The fields that a preview needs: nothing secret is sent for it."""
        return ",".join(("csrfmiddlewaretoken", "when", "schedule_json", *WHEN_FIELDS))

    def refuse(self, error: WireError | JobError) -> None:
        """Show a refusal of the cores at the field that it is about."""
        name, message = self.place_of(error)
        self.add_error(name, message)

    def place_of(self, error: WireError | JobError) -> tuple[str | None, str]:
        """The field that shows the refused member, None for the whole form, and what to say there."""
        path, message = re.sub(r"\[[0-9]+\]", "", error.path or ""), error.message
        if CREDENTIAL_HEADER.fullmatch(path.rpartition("headers.")[2]):
            message = message.partition(", not ")[0]  # which repeats what was written
        if path.startswith(SCHEDULE_MEMBERS):
            half, (place, rest) = "when", self.place_in_schedule(path)
        elif path.startswith("action"):
            half, (place, rest) = "what", self.place_in_action(path)
        else:
            return (path if path in self.fields else None), capfirst(message)
        if self.mode(half) == JSON:
            return ("schedule_json" if half == "when" else "action_json"), f"{error.path}: {message}"
        return place, capfirst(f"{rest}: {message}" if rest and place else message)

    def switched(self, half: str, mode: str) -> "JobForm":
        """The same form with `half` written the other way; what it says is carried over where the fields can say it."""
        values = {name: self[name].value() for name in self.fields}
        if mode == JSON and half == "when":
            values["schedule_json"] = self.schedule()
        elif mode == JSON:
            values["action_json"] = written(self.action())
        elif half == "when" and fields_say(self.schedule()):
            values |= schedule_fields(self.schedule())
        elif half == "what" and fields_do(self.action()):
            values |= values_of(self.action())
        else:
            return self
        values[half] = mode
        form = JobForm(job=self.job, collections=self.fields["collection"].queryset, initial=values)
        form.carried, form.rewrite = (self.schedule(),), self.rewritten
        return form


def _refuse_stale(job: Job, revision: int | None) -> None:
    JobCollection.objects.select_for_update(no_key=True).get(pk=job.collection_id)  # as whoever saves a job does
    current = Job.objects.values_list("revision", flat=True).get(pk=job.pk)
    if revision != current:
        raise Conflict(f"somebody saved version {current} while you were writing; open the job again to see it")


def initial_of(job: Job | None, trigger: Trigger | None) -> dict[str, Any]:
    if job is None:
        return {}
    action = documents.render(job.action)
    schedule = trigger.definition if trigger else None
    values = {
        "collection": job.collection,
        "name": job.name,
        "state": job.state,
        "revision": job.revision,
        "overlap": job.overlap,
        "delivery": job.delivery,
        "misfire": trigger.misfire if trigger else Trigger.Misfire.FIRE_ONCE,
        "when": FIELDS if fields_say(schedule) else JSON,
        "what": FIELDS if fields_do(action) else JSON,
        "schedule_json": schedule,
        "action_json": action,
    }
    if values["when"] == FIELDS:
        values |= schedule_fields(schedule)
    if values["what"] == FIELDS:
        values |= values_of(action)
    return values
