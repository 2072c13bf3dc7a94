"""The forms of maintenance: an announcement, a resource, and the maintenance policy of a job.

The forms have no rules of their own.  An error that a core raises is shown at the field that it is about.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import cast

from django import forms
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Subscription
from accounts.wall_time_field import WallTimeField
from jobs import humanize
from jobs.forms.fields import CODE, TextField
from maintenance.errors import MaintenanceError
from maintenance.lifecycle import Announcement
from maintenance.models import (
    MINIMUM_NOTICE,
    UNKNOWN_DURATION,
    EventType,
    JobMaintenancePolicy,
    Notice,
    NoticePhase,
    Resource,
)
from maintenance.pages.presenters import TYPES, listening_row
from maintenance.policies import PolicyInput
from recurrence.zones import instant_of

NAME_LENGTH = 255
DESCRIPTION_LENGTH = 1_000
MAX_DURATION_MINUTES = 366 * 24 * 60
MAX_LEAD_MINUTES = 7 * 24 * 60
PICKED_MOST = 500  # resources that a form offers at most
MINUTE = timedelta(minutes=1)
MINIMUM, AT, STARTED = "minimum", "at", "started"


class MultiTextField(forms.MultipleChoiceField):
    """Resources to choose from; the value is a list of resources of one subscription."""

    widget = forms.CheckboxSelectMultiple

    def pick_from(self, resources: Iterable[Resource]) -> None:
        self.resources_by_id = {str(resource.pk): resource for resource in resources}
        self.choices = [(key, resource.name) for key, resource in self.resources_by_id.items()]

    def clean(self, value) -> list[Resource]:
        chosen = [self.resources_by_id[key] for key in dict.fromkeys(super().clean(value))]
        if len({resource.subscription_id for resource in chosen}) > 1:
            raise forms.ValidationError(gettext("Select resources of one subscription only"))
        return chosen


class AnnounceForm(forms.Form):
    """Announce maintenance.

    `resources` are those to which the viewer may announce maintenance.  The chosen ones must be of one subscription.
    """

    event_type = forms.ChoiceField(label=_("Maintenance type"), choices=[])
    resources = MultiTextField(label=_("Resources"), error_messages={"required": _("Select at least one")})
    starts = forms.ChoiceField(
        label=_("Starts"),
        widget=forms.RadioSelect,
        initial=MINIMUM,
        choices=[
            (MINIMUM, _("after the notice period of its type")),
            (AT, _("not before a given time")),
            (STARTED, _("it has already started: no approval is needed")),
        ],
    )
    not_before = WallTimeField(label=_("Not before"), required=False)
    duration = forms.IntegerField(
        label=_("Interruption, in minutes"),
        required=False,
        min_value=0,
        max_value=MAX_DURATION_MINUTES,
        help_text=_("0 if there is none. Leave empty if unknown."),
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    source = forms.ChoiceField(
        label=_("Source"),
        choices=[
            (Notice.Source.PLATFORM.value, _("Platform: the operator of the resources")),
            (Notice.Source.USER.value, _("User: a user of the resources")),
        ],
    )
    description = TextField(
        label=_("Description"),
        required=False,
        max_length=DESCRIPTION_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    approve_when_idle = forms.BooleanField(
        label=_("Approve when idle"),
        required=False,
        help_text=_("It starts when the last run on its resources has ended. Until then, no new run starts."),
    )

    ends_after_duration = forms.BooleanField(
        label=_("End automatically after the interruption"),
        required=False,
        help_text=_("Otherwise a user completes it, or it ends with the runs that it started."),
    )
    end_manually = forms.BooleanField(label=_("Keep open when the runs that it started have ended"), required=False)

    FIELDS_BY_MEMBER = {
        "resources": "resources",
        "notBefore": "not_before",
        "description": "description",
        "durationInSeconds": "duration",
    }

    def __init__(self, data=None, *, resources, now, initial=None):
        super().__init__(data, initial=initial)
        self.now = now
        self.fields["resources"].pick_from(resources)
        self.fields["event_type"].choices = [(each.value, type_choice(each)) for each in EventType]

    @property
    def groups(self) -> list[dict]:
        """Return the checkboxes of the resources by subscription and scope group.

        Each comes with its resource, and with a text if the resource is silent; empty: the resource is listening.
        """
        boxes, field = defaultdict(list), cast(MultiTextField, self.fields["resources"])
        for box in self["resources"]:
            resource = field.resources_by_id[str(box.data["value"])]
            silent = "" if resource.is_listening(self.now) else listening_row(resource, self.now)["seen"]
            boxes[resource.subscription.name, resource.scope_group].append((box, resource, silent))
        has_several = len({subscription for subscription, _ in boxes}) > 1
        return [
            {"subscription": subscription if has_several else "", "name": group, "boxes": boxes[subscription, group]}
            for subscription, group in sorted(boxes)
        ]

    def clean(self) -> None:
        super().clean()
        data = self.cleaned_data
        if data.get("ends_after_duration") and "duration" in data and not data["duration"]:
            self.add_error("ends_after_duration", gettext("Enter the interruption: 1 minute or more"))
        elif data.get("ends_after_duration") and data.get("end_manually"):
            self.add_error("ends_after_duration", gettext("Choose either this or keeping it open"))
        if self.cleaned_data.get("starts") != AT:
            self.errors.pop("not_before", None)
        elif "not_before" not in self.errors:
            wall_time = self.cleaned_data.get("not_before")
            if wall_time is None:
                self.add_error("not_before", gettext("Enter a date and a time"))
                return
            try:
                self.cleaned_data["not_before"] = instant_of(wall_time, timezone.get_current_timezone())
            except OverflowError:
                self.add_error("not_before", gettext("This time does not exist"))

    def announcement(self) -> Announcement:
        data = self.cleaned_data
        minutes = data["duration"]
        return Announcement(
            event_type=EventType(data["event_type"]),
            resources=data["resources"],
            not_before=data["not_before"] if data["starts"] == AT else None,
            description=data["description"],
            duration_s=UNKNOWN_DURATION if minutes is None else minutes * 60,
            source=Notice.Source(data["source"]),
            has_started=data["starts"] == STARTED,
            approve_when_idle=data["approve_when_idle"],
            ends_after_duration=data["ends_after_duration"],
            end_manually=data["end_manually"],
        )


class ChangeForm(AnnounceForm):
    """Change `notice`, which has not started.  Fields that the viewer does not touch stay the same, to the second."""

    # the fields whose name and value are those of an Announcement
    UNCHANGED = (
        "event_type",
        "source",
        "description",
        "resources",
        "approve_when_idle",
        "ends_after_duration",
        "end_manually",
    )

    def __init__(self, data=None, *, notice, resources, now):
        initial = {name: getattr(notice, name) for name in self.UNCHANGED if name != "resources"}
        initial["resources"] = [str(each.resource_id) for each in notice.affected_resources.all() if each.resource_id]
        initial["not_before"] = timezone.localtime(notice.not_before).replace(tzinfo=None)
        initial["duration"] = None if notice.duration_s == UNKNOWN_DURATION else -(-notice.duration_s // 60)
        super().__init__(data, resources=resources, now=now, initial=initial)
        del self.fields["starts"]

    def clean(self) -> None:
        self.cleaned_data["starts"] = AT
        super().clean()

    def changes(self) -> dict[str, object]:
        """Return the changes for `lifecycle.change`."""
        data = self.cleaned_data
        changes = {name: data[name] for name in self.UNCHANGED if name in self.changed_data}
        if "not_before" in self.changed_data:
            changes["not_before"] = data["not_before"]
        if "duration" in self.changed_data:
            changes["duration_s"] = UNKNOWN_DURATION if data["duration"] is None else data["duration"] * 60
        return changes


def type_choice(event_type: EventType) -> str:
    """Return the text of a choice, such as "Reboot, 15 min ahead"."""
    return gettext("%(type)s, %(span)s notice") % {
        "type": TYPES[event_type],
        "span": humanize.format_duration(MINIMUM_NOTICE[event_type]),
    }


def suggested_time(now: datetime) -> datetime:
    """Return the full hour after the next one, as wall time of the viewer."""
    local = timezone.localtime(now).replace(tzinfo=None, minute=0, second=0, microsecond=0)
    return local + timedelta(hours=2)


class LabelsField(TextField):
    """Labels as text, one `name=value` on each line.  The value of the field is a mapping."""

    widget = forms.Textarea(attrs={**CODE, "rows": 2, "placeholder": "rack=r7"})

    def prepare_value(self, value):
        if not isinstance(value, Mapping):
            return value
        return "\n".join(f"{name}={label}" for name, label in sorted(value.items()))

    def to_python(self, value):
        labels = {}
        for line in filter(None, map(str.strip, super().to_python(value).split("\n"))):
            name, equals, label = line.partition("=")
            if not equals or not name.strip():
                message = gettext("Enter one label per line such as rack=r7, not %(line)s")
                raise forms.ValidationError(message % {"line": repr(line[:80])})
            labels[name.strip()] = label.strip()
        try:
            PolicyInput(labels=labels)  # validates the labels
        except MaintenanceError as error:
            raise forms.ValidationError(capfirst(error.message)) from None
        return labels

    def has_changed(self, initial, data) -> bool:
        return True


class ResourceForm(forms.Form):
    """Create or change a resource.

    `subscriptions` are those in which the viewer may create resources.  An existing resource stays in its subscription.
    """

    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_LENGTH,
        strip=True,
        help_text=_("The name that the machine uses. It is case-sensitive."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    subscription = forms.ModelChoiceField(Subscription.objects.none(), label=_("Subscription"), empty_label=None)
    scope_group = forms.CharField(
        label=_("Scope group"),
        required=False,
        max_length=NAME_LENGTH,
        help_text=_("Members of a group see each other's notices, and each member can approve for all."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    labels = LabelsField(
        label=_("Labels"),
        required=False,
        help_text=_("One label per line. A job's maintenance policy can select resources by label."),
    )

    FIELDS_BY_MEMBER = {"name": "name", "scopeGroup": "scope_group", "labels": "labels"}

    def __init__(self, data=None, *, subscriptions, resource=None):
        members = ("name", "scope_group", "labels")
        initial = {member: getattr(resource, member) for member in members} if resource else None
        super().__init__(data, initial=initial)
        self.fields["subscription"].queryset = subscriptions
        if resource is not None:
            del self.fields["subscription"]
        elif len(subscriptions) == 1:
            del self.fields["subscription"]
            self.only_subscription = subscriptions[0]

    @property
    def chosen_subscription(self) -> Subscription:
        """Return the subscription in which to create the resource."""
        return self.cleaned_data["subscription"] if "subscription" in self.fields else self.only_subscription


class PolicyForm(forms.Form):
    """The maintenance policy of a job; `names` are the names of resources of its subscription."""

    during = forms.ChoiceField(
        label=_("During maintenance"),
        widget=forms.RadioSelect,
        choices=[
            (JobMaintenancePolicy.OnNotice.NOTHING.value, _("run as planned")),
            (JobMaintenancePolicy.OnNotice.HOLD.value, _("hold planned runs")),
        ],
    )
    after = forms.ChoiceField(
        label=_("Held runs"),
        widget=forms.RadioSelect,
        choices=[
            (JobMaintenancePolicy.OnEnd.RUN_ONCE.value, _("run once after the maintenance")),
            (JobMaintenancePolicy.OnEnd.DROP.value, _("skip them")),
        ],
    )
    lead = forms.IntegerField(
        label=_("Start holding, minutes before the maintenance"),
        min_value=0,
        max_value=MAX_LEAD_MINUTES,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )
    run_on = forms.MultipleChoiceField(
        label=_("Additional runs"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        choices=list(
            zip(
                NoticePhase.values,
                (
                    _("when maintenance is announced"),
                    _("when maintenance starts"),
                    _("when maintenance is completed"),
                    _("when maintenance is cancelled"),
                ),
                strict=True,
            )
        ),
    )
    resources = forms.MultipleChoiceField(label=_("Resources"), required=False, widget=forms.CheckboxSelectMultiple)
    labels = LabelsField(
        label=_("Resources by label"),
        required=False,
        help_text=_("One label per line. Selects every resource that has all of them."),
    )

    FIELDS_BY_MEMBER = {
        "during": "during",
        "after": "after",
        "lead": "lead",
        "runOn": "run_on",
        "resources": "resources",
        "labels": "labels",
    }

    def __init__(self, data=None, *, policy, names):
        self.stored_lead = policy.lead_time
        initial = {
            "during": policy.on_notice,
            "after": policy.on_end,
            "lead": -(-policy.lead_time // MINUTE),
            "run_on": policy.run_at_phases,
            "resources": policy.resource_names,
            "labels": policy.labels,
        }
        super().__init__(data, initial=initial)
        choices = dict.fromkeys([*names, *policy.resource_names])  # a policy may name resources that do not exist
        self.fields["resources"].choices = [(name, name) for name in choices]

    def policy_input(self) -> PolicyInput:
        data = self.cleaned_data
        return PolicyInput(
            resource_names=tuple(data["resources"]),
            labels=data["labels"],
            on_notice=data["during"],
            on_end=data["after"],
            lead_time=data["lead"] * MINUTE
            if "lead" in self.changed_data
            else self.stored_lead,  # unchanged, to the second
            run_at_phases=tuple(data["run_on"]),
        )


def refuse(form, error: MaintenanceError) -> None:
    """Add an error of the core to the form, at the field that it is about."""
    member = (error.path or "").partition("[")[0].partition(".")[0]
    field = form.FIELDS_BY_MEMBER.get(member)
    form.add_error(field if field in form.fields else None, capfirst(error.message))
