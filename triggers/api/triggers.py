"""/api/triggers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from accounts.access import as_field_error, require_role, visible_rows
from accounts.examples import with_example
from accounts.models import Role
from api.answers import GIVEN, Answer, Member
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, refuse_stale, respond
from api.errors import Conflict
from api.fields import Document, FlagField, InstantField, MapField, TextField, WholeNumberField, WordField, read
from api.filters import FlagFilter, TextFilter, WholeNumberFilter, WordFilter
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.viewsets import HTTP_410, LOCATION, ApiViewSet, created
from jobs import durations
from jobs.api.conditional_writes import locked_collection
from jobs.api.fields import DurationField
from jobs.api.holds import HoldSerializer, rendered_hold
from jobs.api.upcoming import PARAMETERS as UPCOMING_PARAMETERS
from jobs.api.upcoming import UpcomingAnswer, upcoming
from jobs.locking import lock_collections_of
from jobs.models import Job
from jobs.names import NAME_LENGTH
from recurrence import wire
from recurrence.schedules import LAST_INSTANT
from recurrence.wire import WireError
from triggers import gates
from triggers.api import examples
from triggers.api.fields import ScheduleField, member_paths
from triggers.definitions import TriggerDefinition, canonical, merge_patch
from triggers.descriptions import describe_definition, trigger_clock_change_warnings
from triggers.gates import HoldWindow
from triggers.models import (
    MAIN,
    MISFIRE_THRESHOLD,
    PRIORITY,
    PRIORITY_MOST,
    THRESHOLD_LEAST,
    THRESHOLD_MOST,
    Trigger,
    delayed,
    parsed_or_none,
)
from triggers.scheduling import delete_trigger, save_trigger
from triggers.upcoming import find_hold

GROUP_LENGTH = 100
MISFIRES = {
    "fireOnce": Trigger.Misfire.FIRE_ONCE,
    "fireAll": Trigger.Misfire.FIRE_ALL,
    "skip": Trigger.Misfire.SKIP,
}
MISFIRE_WORDS = {policy.value: word for word, policy in MISFIRES.items()}


@extend_schema_field({"type": "object", "additionalProperties": {}})
class DataMapField(MapField):
    """An object of the caller, stored unchanged."""


@with_example(
    {
        "schedule": {"format": "quartz", "expression": "0 15 10 ? * 6L", "timeZone": "Europe/Berlin"},
        "enabled": True,
        "priority": 1,
        "group": "default",
        "triggerDataMap": {"custom_lock_key": "reports.__ORG_ID__"},
        "misfire": "fireOnce",
        "misfireThreshold": "PT5M",
        "name": "last-friday",
    }
)
class TriggerReplacement(Document):
    """The new values of a trigger. A member that is omitted gets its default."""

    schedule = ScheduleField(help_text="The schedule, in the same form as in the schedule preview.")
    enabled = FlagField(
        default=True,
        help_text=("Whether the trigger is enabled. A disabled trigger does not fire, and it does not catch up later."),
    )
    priority = WholeNumberField(
        min_value=0,
        max_value=PRIORITY_MOST,
        default=PRIORITY,
        help_text=(
            "The priority. If several triggers are due at the same time, the trigger with the lowest number fires"
            " first. In Quartz the highest number fires first."
        ),
    )
    group = TextField(min_length=1, max_length=GROUP_LENGTH, default="default", help_text="The queue of the runs.")
    triggerDataMap = DataMapField(
        default=dict,
        help_text=(
            "A custom object. The member `custom_lock_key` names a lock: while a run with a key is active, other"
            " runs with the same key are skipped. `__ORG_ID__` in the key is replaced by the id of the subscription."
        ),
    )
    misfire = WordField(
        list(MISFIRES),
        default="fireOnce",
        help_text=(
            "The policy for fire times that are found too late. With `fireAll` the missed runs start one after the"
            " other, regardless of `overlap` of the job."
        ),
    )
    misfireThreshold = DurationField(
        default=MISFIRE_THRESHOLD, help_text="The delay after which a fire time is too late, from 1 second to 1 year."
    )

    name = TextField(
        min_length=1,
        max_length=NAME_LENGTH,
        required=False,
        help_text=f"The new name, unique in the job and not {MAIN!r}. If omitted, the name is kept.",
    )

    def validate_misfireThreshold(self, threshold: timedelta) -> timedelta:  # noqa: N802  # a name of the framework
        if not THRESHOLD_LEAST <= threshold <= THRESHOLD_MOST:
            raise serializers.ValidationError(f"must be PT1S to P{THRESHOLD_MOST.days}D", "out_of_range")
        return threshold


@with_example({"job": 1})
class TriggerRequest(TriggerReplacement):
    job = WholeNumberField(min_value=1, help_text="The id of the job.")
    name = TextField(
        min_length=1,
        max_length=NAME_LENGTH,
        help_text=(f"The name, unique in the job. {MAIN!r} is the job's own schedule."),
    )


@lru_cache(maxsize=10_000)
def canonical_definition(format: str, definition: bytes) -> dict[str, Any]:
    """Return a stored definition in canonical form, or as stored when the parser does not accept it any more."""
    stored = orjson.loads(definition)
    try:
        return canonical(format, stored)
    except WireError:
        return stored


def rendered_schedule(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"format": row["format"], **canonical_definition(row["format"], orjson.dumps(row["definition"]))}


class TriggerSerializer(Answer):
    id = Member(IntegerField, "The id of the trigger.", example=2)
    job = Member(IntegerField, "The id of the job.", "job_id", example=1)
    jobName = Member(CharField, "The name of the job.", "job__name", example="collect-orders")
    collectionName = Member(CharField, "The name of the collection.", "job__collection__name", example="nightly")
    name = Member(
        CharField,
        f"The name of the trigger. `{MAIN}` is the job's own schedule, which can be changed in the job only.",
        example="last-friday",
    )
    format = Member(ChoiceField, "The format of the schedule.", choices=sorted(wire.PARSERS), example="quartz")
    schedule = Member(
        ScheduleField,
        "The schedule.",
        rendered_schedule,
        example={"format": "quartz", "expression": "0 15 10 ? * 6L", "timeZone": "Europe/Berlin"},
    )
    enabled = Member(
        BooleanField,
        "Whether the trigger is enabled. A disabled trigger does not fire, and it does not catch up later.",
        example=True,
    )
    priority = Member(
        IntegerField,
        "The priority. If several triggers are due at the same time, the trigger with the lowest number fires first.",
        example=1,
    )
    group = Member(CharField, "The queue of the runs.", example="default")
    triggerDataMap = Member(
        DataMapField,
        "A custom object. The member `custom_lock_key` names a lock.",
        "data_map",
        example={"custom_lock_key": "reports.__ORG_ID__"},
    )
    misfire = Member(
        ChoiceField,
        "The policy for fire times that are found too late.",
        lambda row: MISFIRE_WORDS[row["misfire"]],
        choices=list(MISFIRES),
        example="fireOnce",
    )
    misfireThreshold = Member(
        DurationField,
        "The delay after which a fire time is too late.",
        lambda row: durations.render(row["misfire_threshold"]),
        example="PT5M",
    )
    description = Member(
        CharField,
        "A description of the schedule, for people.",
        GIVEN,
        example="at 10:15 Europe/Berlin on the last Friday of each month",
    )
    nextFireAt = Member(
        InstantField,
        "The next fire time, in UTC; null: the trigger, its job or its collection is stopped, or there are no"
        " further fire times.",
        nullable=True,
        example="2026-01-30T09:15:00Z",
    )
    nextStartsAt = Member(
        InstantField,
        "The next fire time plus the jitter of the schedule, in UTC.",
        GIVEN,
        nullable=True,
        example="2026-01-30T09:15:00Z",
    )
    hold = Member(HoldSerializer, "The hold that affects the next fire time; null: none.", GIVEN, nullable=True)
    previousFireAt = Member(
        InstantField, "The last fire time, in UTC; null: none.", nullable=True, example="2025-12-26T09:15:00Z"
    )
    warnings = Member(
        ListField,
        "Warnings about valid parts of the schedule that may be unintended.",
        GIVEN,
        child=CharField(),
        example=[],
    )
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(InstantField, "The time of the last change, in UTC.", example="2026-01-05T08:00:00Z")


@with_example({"job": 1, "group": "default", "enabled": True, "closedDays": "germany", "format": "quartz"})
class TriggerFilter(FilterSet):
    job = WholeNumberFilter(field_name="job_id", help_text="Filters by the id of the job.")
    group = TextFilter(max_length=GROUP_LENGTH, help_text="Filters by the queue of the runs.")
    enabled = FlagFilter(help_text="Filters by whether the trigger is enabled.")
    closedDays = TextFilter(
        method="filter_closed_days",
        max_length=NAME_LENGTH,
        help_text="Filters by the name of the calendar of closed days in the schedule.",
    )
    format = WordFilter(
        choices=[(name, name) for name in sorted(wire.PARSERS)], help_text="Filters by the format of the schedule."
    )

    def filter_closed_days(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(closed_days__calendar__name__lower=value.lower())


class Triggers(ApiViewSet):
    """Triggers of jobs: the jobs' own schedules, and additional triggers."""

    queryset = Trigger.objects.order_by("id")
    serializer_class = TriggerSerializer
    filterset_class = TriggerFilter
    lookup_value_converter = "int"
    body_limit = settings.JOB_BODY_LIMIT
    rows_at_once = 250  # of 16 KiB

    @extend_schema(operation_id="listTriggers", summary="List triggers")
    def list(self, request):
        return self.list_response(rendered_triggers, *TRIGGER_COLUMNS)

    @extend_schema(operation_id="readTrigger", summary="Read a trigger", parameters=[IF_NONE_MATCH, ETAG])
    def retrieve(self, request, pk):
        return trigger_response(visible_rows(request, Trigger), pk, request=request)

    @extend_schema(
        operation_id="createTrigger",
        summary="Create a trigger",
        request=TriggerRequest,
        parameters=[IDEMPOTENCY_KEY, ETAG, LOCATION],
        responses={200: TriggerSerializer, 201: TriggerSerializer},
        examples=examples.TRIGGERS,
    )
    @repeatable(lambda view, request, pk: trigger_response(visible_rows(request, Trigger), pk))
    def create(self, request):
        with member_paths():
            members = self.read(TriggerRequest)
            with as_field_error("job", "must be the id of a job that you have access to"):
                job = require_role(request, Job, Role.OPERATOR, pk=members["job"])
            with locked_collection(job.collection_id):
                if members["name"] != MAIN and job.triggers.filter(name=members["name"]).exists():
                    raise Conflict(f"job {job.name!r} already has a trigger {members['name']!r}", path="name")
                trigger, _ = save_trigger(job, members["name"], definition_of(members), timezone.now())
        return created(request, f"/api/triggers/{trigger.pk}", trigger_response(Trigger.objects, trigger.pk))

    @extend_schema(
        operation_id="replaceTrigger",
        summary="Replace a trigger",
        description=(
            "If the schedule does not change, the trigger continues with its next fire time. A changed schedule"
            " does not fire for earlier times."
        ),
        request=TriggerReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def update(self, request, pk):
        return self._changed(request, pk, lambda trigger: self.read(TriggerReplacement, fixed={"job": trigger.job_id}))

    @extend_schema(
        operation_id="patchTrigger",
        summary="Change a trigger",
        description=(
            "Objects are merged. Single values are replaced. null gives a member its default. A schedule in another"
            " format replaces the stored schedule. `name` renames the trigger. Existing runs keep the name that they"
            " were created with."
        ),
        request=TriggerReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def partial_update(self, request, pk):
        return self._changed(request, pk, lambda trigger: patched(trigger, request.data, fixed={"job": trigger.job_id}))

    @extend_schema(
        operation_id="deleteTrigger",
        summary="Delete a trigger",
        description="Existing runs of the trigger are kept.",
        parameters=[IF_MATCH],
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        with self._locked_for_change(request, pk) as trigger:
            delete_trigger(trigger, timezone.now())
        return Response(status=204)

    @extend_schema(
        operation_id="listUpcomingRunsOfTrigger",
        summary="List the expected results of the next fire times of a trigger",
        description="Includes the holds that are expected to affect the fire times.",
        parameters=UPCOMING_PARAMETERS,
        responses=UpcomingAnswer,
        filters=False,
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def upcoming(self, request, pk):
        trigger = get_object_or_404(visible_rows(request, Trigger).values("id", "job_id"), pk=pk)
        return upcoming(request, trigger["job_id"], timezone.now(), trigger["id"])

    @extend_schema(operation_id="enableTrigger", summary="Enable a trigger", request=None, parameters=[IF_MATCH, ETAG])
    @action(detail=True, methods=["post"])
    def enable(self, request, pk):
        return self._changed(request, pk, lambda trigger: patched(trigger, {"enabled": True}))

    @extend_schema(
        operation_id="disableTrigger", summary="Disable a trigger", request=None, parameters=[IF_MATCH, ETAG]
    )
    @action(detail=True, methods=["post"])
    def disable(self, request, pk):
        return self._changed(request, pk, lambda trigger: patched(trigger, {"enabled": False}))

    def _changed(self, request, pk, read_members) -> Response:
        with self._locked_for_change(request, pk) as trigger, member_paths():
            members = read_members(trigger)
            save_trigger(trigger.job, trigger.name, definition_of(members), timezone.now(), members.get("name"))
        return trigger_response(Trigger.objects, pk)

    @contextmanager
    def _locked_for_change(self, request, pk) -> Iterator[Trigger]:
        """Lock the collection of the trigger's job, and yield the stored trigger.

        Raises Conflict for the schedule in a job itself, and Stale when the caller expects another version.
        """
        found = require_role(request, Trigger.objects.select_related("job"), Role.OPERATOR, pk=pk)
        if found.name == MAIN:
            raise Conflict(
                "this trigger is the job's own schedule, which has a fixed name: change it in the job"
                f" at /api/jobs/{found.job_id}"
            )
        with transaction.atomic():
            lock_collections_of([found.job])
            trigger = Trigger.objects.select_related("job").get(pk=pk)
            refuse_stale(request, version(pk, trigger.updated_at))
            yield trigger


TRIGGER_COLUMNS = (
    *TriggerSerializer.columns(),
    *("definition", "anchored_at", "closed_days_id", "fires_left", "misfire", "misfire_threshold"),
)


def definition_of(members: Mapping[str, Any]) -> TriggerDefinition:
    format, definition = members["schedule"]
    return TriggerDefinition(
        format=format,
        definition=canonical(format, definition),
        enabled=members["enabled"],
        priority=members["priority"],
        group=members["group"],
        data_map=members["triggerDataMap"],
        misfire=MISFIRES[members["misfire"]],
        misfire_threshold=members["misfireThreshold"],
    )


def patched(trigger: Trigger, patch: object, **options) -> dict[str, Any]:
    """Return the members of the trigger with `patch` merged into them (RFC 7396)."""
    if not isinstance(patch, dict):
        return read(TriggerReplacement, patch)
    document = {
        "schedule": {"format": trigger.format, **trigger.definition},
        "enabled": trigger.enabled,
        "priority": trigger.priority,
        "group": trigger.group,
        "triggerDataMap": trigger.data_map,
        "misfire": MISFIRE_WORDS[trigger.misfire],
        "misfireThreshold": durations.render(trigger.misfire_threshold),
    }
    schedule = patch.get("schedule")
    if isinstance(schedule, dict) and schedule.get("format", trigger.format) != trigger.format:
        del document["schedule"]
    return read(TriggerReplacement, merge_patch(document, patch), sent=patch, answer=TriggerSerializer, **options)


def version(trigger_id: int, updated_at: datetime) -> str:
    return f"{trigger_id}-{updated_at:%Y%m%d%H%M%S%f}"


def trigger_response(triggers, pk: int, request: Request | None = None) -> Response:
    row = get_object_or_404(triggers.values(*TRIGGER_COLUMNS), pk=pk)
    document = rendered_triggers([row])[0]
    return respond(document, etag(version(pk, row["updated_at"]), document), request=request)


def rendered_triggers(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the triggers as documents.  The cost is one query for all rows, and one more while a job may be held."""
    rows, now = list(rows), timezone.now()
    firing = {row["job_id"] for row in rows if row["next_fire_at"]}
    windows = gates.forecast(firing, now, LAST_INSTANT, now)
    return [rendered_trigger(row, windows.get(row["job_id"], ()), now) for row in rows]


def rendered_trigger(row: Mapping[str, Any], windows: Sequence[HoldWindow], now: datetime) -> dict[str, Any]:
    fire_at = row["next_fire_at"]
    document = row["format"], row["definition"], row["anchored_at"], row["closed_days_id"]
    description, warnings = describe_definition(*document)
    compiled = parsed_or_none(*document)
    starts_at = delayed(fire_at, row["id"], compiled.jitter) if fire_at and compiled else None
    hold = find_hold(windows, fire_at, starts_at) if fire_at else None
    changes = trigger_clock_change_warnings(compiled, now, fire_at, row["fires_left"]) if compiled else ()
    return TriggerSerializer.render(
        row,
        description=description,
        nextStartsAt=starts_at,
        hold=rendered_hold(fire_at, hold),
        warnings=[*warnings, *changes],
    )
