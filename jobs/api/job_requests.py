"""Requests to /api/jobs: their documents, and the filters of the list."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django_filters import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.examples import with_example
from api.errors import Invalid, RequestError
from api.fields import Document, FlagField, Messages, TextField, WholeNumberField, WordField
from api.filters import NameFilter, WholeNumberFilter, WordFilter
from jobs.api.fields import DurationField
from jobs.api.schemas import ActionField, RecurrenceField
from jobs.models import Job
from jobs.names import NAME_LENGTH
from jobs.run_now import KEY_LENGTH
from jobs.signing import OVERLAP_MOST
from recurrence.wire import WireError, json_values
from triggers.api.fields import ScheduleField
from triggers.definitions import SCHEDULE_MEMBERS, document_of, merge_job_patch
from triggers.models import Trigger

SIGNING_OVERLAP = timedelta(hours=24)
MERGED = ("action", "schedule", "recurrence")
SETTINGS = ("overlap", "delivery", "misfire")


@extend_schema_field(OpenApiTypes.DATETIME)
class StartTimeField(Messages, serializers.Field):
    """The start time as it was sent.  The schedule's format parses it later; this field only checks it."""

    def to_internal_value(self, data: object) -> object:
        try:
            json_values.instant(data, "startTime")
        except WireError as error:
            raise serializers.ValidationError(error.message, error.code) from None
        return data

    def to_representation(self, value: str) -> str:
        return value


@with_example(
    {
        "action": {"type": "Https", "request": {"method": "POST", "uri": "https://shop.example.com/orders/collect"}},
        "schedule": {
            "format": "azure",
            "startTime": "2026-01-05T08:00:00Z",
            "recurrence": {"frequency": "Day", "interval": 1},
        },
        "startTime": "2026-01-05T08:00:00Z",
        "recurrence": {"frequency": "Day", "interval": 1},
        "ownSchedule": True,
        "state": "enabled",
        "overlap": "skip",
        "delivery": "at_least_once",
        "misfire": "fire_once",
        "collection": 1,
        "name": "collect-orders",
        "runNow": False,
    }
)
class JobReplacement(Document):
    """The new definition of a job. A member that is omitted gets its default."""

    # scheduler_site.patches replaces "a member that is omitted gets its default" for PATCH

    action = ActionField(help_text="The action of the job.")
    ownSchedule = FlagField(
        required=False,
        help_text=(
            "`false`: the job does not have its own schedule and runs only manually and by additional triggers. If"
            " omitted, a new job has its own schedule, and an existing job without one stays without one until it"
            " gets a schedule."
        ),
    )
    schedule = ScheduleField(
        required=False,
        allow_null=True,
        help_text=(
            "The schedule, in any format. If `startTime` or `recurrence` is also given, they must define the same"
            " schedule."
        ),
    )
    startTime = StartTimeField(
        required=False,
        allow_null=True,
        help_text=(
            "The time of the first run. A time without an offset is in UTC. A short form for a schedule with the"
            " format `azure`."
        ),
    )
    recurrence = RecurrenceField(
        required=False,
        allow_null=True,
        help_text=(
            "The rule for repetitions. Without a recurrence the job runs once. A short form for a schedule with the"
            " format `azure`."
        ),
    )
    state = WordField(
        ["enabled", "disabled"],
        default="enabled",
        help_text=("The state. While the job is disabled, its schedule does not start runs."),
    )
    overlap = WordField(
        Job.Overlap.values,
        default=Job.Overlap.SKIP.value,
        help_text="The policy for a fire time that is due while an earlier run of the job is not finished.",
    )
    delivery = WordField(
        Job.Delivery.values,
        default=Job.Delivery.AT_LEAST_ONCE.value,
        help_text="Whether an attempt that was interrupted by a crash is repeated.",
    )
    misfire = WordField(
        Trigger.Misfire.values,
        default=Trigger.Misfire.FIRE_ONCE.value,
        allow_null=True,
        help_text=(
            "The policy for fire times of the job's own schedule that are found too late. With `fire_all` the"
            " missed runs start one after the other, regardless of `overlap`. null: the default."
        ),
    )
    collection = WholeNumberField(
        min_value=1,
        required=False,
        help_text=(
            "The id of another collection of the same subscription, to which the job is moved. If omitted, the job"
            " stays in its collection."
        ),
    )
    name = TextField(
        min_length=1, max_length=NAME_LENGTH, required=False, help_text="The new name. If omitted, the name is kept."
    )
    runNow = FlagField(
        default=False,
        help_text=(
            "`true`: the job also runs once immediately, in addition to its schedule. By default a change does not"
            " run the job."
        ),
    )


class JobRequest(JobReplacement):
    runNow = FlagField(
        required=False,
        help_text=(
            "`true`: the job also runs once immediately, in addition to its schedule. `false`: the job does not run"
            " at its creation. Without a startTime, it then first runs at the next time of its recurrence, which"
            " becomes the startTime. If omitted, a job without a startTime runs at its creation."
        ),
    )
    collection = WholeNumberField(min_value=1, help_text="The id of the collection.")
    name = TextField(
        min_length=1, max_length=NAME_LENGTH, help_text=("The name, unique in the collection, not case-sensitive.")
    )


@with_example({"key": "release-2026-01"})
class RunRequest(Document):
    key = TextField(
        required=False,
        min_length=1,
        max_length=KEY_LENGTH,
        help_text=(
            "Makes the request idempotent: a repeated request with the same key returns the run that the first"
            " request created."
        ),
    )


@with_example({"overlap": "P7D"})
class SigningSecretRequest(Document):
    overlap = DurationField(
        default=SIGNING_OVERLAP,
        help_text=f"The time for which the replaced secret also signs requests, up to {OVERLAP_MOST.days} days.",
    )


@with_example({"collection": 1, "name": "collect-orders", "state": "enabled"})
class JobFilter(FilterSet):
    collection = WholeNumberFilter(field_name="collection_id", help_text="Filters by the id of the collection.")
    name = NameFilter(max_length=NAME_LENGTH, help_text="Filters by name, not case-sensitive.")
    state = WordFilter(choices=Job.State.choices, help_text="Filters by state.")


def merge_into_job(job: Job, patch: object) -> object:
    """Return the patch with its objects merged into those of the job, so that whole objects can be checked.

    Raise Invalid for a recurrence that the job's schedule does not have.
    """
    if not isinstance(patch, Mapping):
        return patch
    objects = {name: patch[name] for name in MERGED if isinstance(patch.get(name), Mapping)}
    removal = {"schedule": None} if patch.get("schedule", {}) is None else {}
    merged = merge_job_patch(document_of(job), objects | removal)
    return {**patch, **{name: merged[name] for name in objects if name in merged}}


def settings_in(document: Mapping[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings among `members`, the checked members of `document`, as arguments of a definition.

    These are the members that the document of the original service does not have.
    Raise Invalid if the document has both a schedule and `ownSchedule: false`.
    """
    chosen = {name: members[name] for name in SETTINGS if name in members}
    if "misfire" in chosen:
        chosen["misfire"] = chosen["misfire"] or Trigger.Misfire.FIRE_ONCE.value
    given = [name for name in (*SCHEDULE_MEMBERS, "schedule") if document.get(name) is not None]
    if given and not members.get("ownSchedule", True):
        raise Invalid("must not be combined with `ownSchedule: false`", path=given[0], code="not_allowed")
    own_schedule = members.get("ownSchedule")
    needs_schedule = own_schedule is True or "schedule" in given
    return chosen | {"own_schedule": own_schedule is not False, "needs_schedule": needs_schedule}


@contextmanager
def schedule_paths(document: Mapping[str, Any]) -> Iterator[None]:
    """Rewrite the paths of errors that cores raise in the block, if the request has its schedule in `schedule`.

    The members of a schedule are then below `schedule`.
    """
    if document.get("schedule") is None:
        yield
        return
    try:
        yield
    except WireError as error:
        for each in (error, *error.others):
            each.path = f"schedule.{each.path}"
        raise
    except RequestError as error:
        if error.path == "ownSchedule" and "ownSchedule" not in document:
            error.path = "schedule"
        if (error.path or "").split(".")[0] in SCHEDULE_MEMBERS:
            error.path = f"schedule.{error.path}"
        raise
