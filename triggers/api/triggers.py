"""/api/triggers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_filters import CharFilter, ChoiceFilter, FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from accounts.access import naming, require, visible
from accounts.fields import FlagField, InstantField, TextField, WholeNumberField, WordField, read
from accounts.filters import WholeNumberFilter
from accounts.models import Role
from accounts.viewsets import GONE, ApiViewSet, created
from jobs import durations
from jobs.api.fields import DurationField
from jobs.api.versions import IF_MATCH, locked, refuse_stale
from jobs.errors import Conflict
from jobs.models import Job
from jobs.names import NAME_LENGTH
from recurrence import wire
from recurrence.wire import WireError
from triggers.api import examples
from triggers.api.fields import ScheduleField, member_paths
from triggers.definitions import TriggerDefinition, kept, merged
from triggers.models import (
    MAIN,
    MISFIRE_THRESHOLD,
    PRIORITY,
    PRIORITY_MOST,
    THRESHOLD_LEAST,
    THRESHOLD_MOST,
    Trigger,
)
from triggers.outlook import words_and_warnings
from triggers.scheduling import delete_trigger, save_trigger

GROUP_LENGTH = 100
MISFIRES = {
    "fireOnce": Trigger.Misfire.FIRE_ONCE,
    "fireAll": Trigger.Misfire.FIRE_ALL,
    "skip": Trigger.Misfire.SKIP,
}
MISFIRE_WORDS = {policy.value: word for word, policy in MISFIRES.items()}


@extend_schema_field({"type": "object", "additionalProperties": {}})
class DataMapField(serializers.DictField):
    """An object of the caller's, kept as it is."""


class TriggerReplacement(serializers.Serializer):
    """What a trigger is to be; what is left out gets its default."""

    schedule = ScheduleField(help_text="When it fires, as the preview of schedules takes it.")
    enabled = FlagField(default=True, help_text="While it is disabled it does not fire, and it does not catch up.")
    priority = WholeNumberField(
        min_value=0,
        max_value=PRIORITY_MOST,
        default=PRIORITY,
        help_text="Of triggers due at the same instant the lower number goes first; in Quartz it is the higher.",
    )
    group = TextField(
        min_length=1, max_length=GROUP_LENGTH, default="default", help_text="The queue that its runs go to."
    )
    triggerDataMap = DataMapField(
        default=dict,
        help_text="`custom_lock_key` names a lock: of runs with equal keys one goes on, others are skipped meanwhile."
        " `__ORG_ID__` in it stands for the id of the subscription.",
    )
    misfire = WordField(
        list(MISFIRES), default="fireOnce", help_text="What becomes of fire times that are found too late."
    )
    misfireThreshold = DurationField(
        default=MISFIRE_THRESHOLD, help_text="How late is too late, from a second to a year."
    )

    def validate_misfireThreshold(self, threshold: timedelta) -> timedelta:
        if not THRESHOLD_LEAST <= threshold <= THRESHOLD_MOST:
            raise serializers.ValidationError(f"must be PT1S to P{THRESHOLD_MOST.days}D", "out_of_range")
        return threshold


class TriggerRequest(TriggerReplacement):
    job = WholeNumberField(min_value=1, help_text="The id of its job.")
    name = TextField(
        min_length=1, max_length=NAME_LENGTH, help_text=f"Unique in its job; {MAIN!r} is the job's own schedule."
    )


class TriggerSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    job = serializers.IntegerField(help_text="The id of its job.")
    jobName = serializers.CharField()
    collectionName = serializers.CharField()
    name = serializers.CharField(help_text=f"`{MAIN}` is the schedule in the job itself, which is changed there.")
    format = serializers.ChoiceField(sorted(wire.PARSERS))
    schedule = ScheduleField()
    enabled = serializers.BooleanField()
    priority = serializers.IntegerField()
    group = serializers.CharField()
    triggerDataMap = DataMapField()
    misfire = serializers.ChoiceField(list(MISFIRES))
    misfireThreshold = DurationField()
    description = serializers.CharField(help_text="The schedule in words.")
    nextFireAt = InstantField(
        allow_null=True, help_text="Null while it, its job or its collection is stopped, and when nothing is left."
    )
    previousFireAt = InstantField(allow_null=True)
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What was understood but looks odd.")
    createdAt = InstantField()
    updatedAt = InstantField()


class TriggerFilter(FilterSet):
    job = WholeNumberFilter(field_name="job_id", help_text="The id of a job.")
    group = CharFilter(max_length=GROUP_LENGTH)
    enabled = ChoiceFilter(choices=[("true", "true"), ("false", "false")], method="filter_enabled")
    format = ChoiceFilter(choices=[(name, name) for name in sorted(wire.PARSERS)])

    def filter_enabled(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(enabled=value == "true")


class Triggers(ApiViewSet):
    """When jobs run: their own schedules, and the triggers beside them."""

    queryset = Trigger.objects.order_by("id")
    serializer_class = TriggerSerializer
    filterset_class = TriggerFilter
    lookup_value_converter = "int"
    body_limit = settings.JOB_BODY_LIMIT

    @extend_schema(operation_id="listTriggers", summary="List triggers across jobs")
    def list(self, request):
        return self.get_paginated_response([rendered_trigger(row) for row in self.page(*TRIGGER_COLUMNS)])

    @extend_schema(operation_id="readTrigger", summary="Read a trigger")
    def retrieve(self, request, pk):
        return answered(visible(request, Trigger), pk)

    @extend_schema(
        operation_id="createTrigger",
        summary="Create a trigger",
        request=TriggerRequest,
        responses={201: TriggerSerializer},
        examples=examples.TRIGGERS,
    )
    def create(self, request):
        with member_paths():
            wanted = read(TriggerRequest, request.data)
            with naming("job", "no job that you may see"):
                job = require(request, Job, Role.OPERATOR, pk=wanted["job"])
            with locked(job.collection_id):
                if wanted["name"] != MAIN and job.triggers.filter(name=wanted["name"]).exists():
                    raise Conflict(f"job {job.name!r} has a trigger {wanted['name']!r} already", path="name")
                trigger, _ = save_trigger(job, wanted["name"], definition_of(wanted), timezone.now())
        return created(f"/api/triggers/{trigger.pk}", answered(Trigger.objects, trigger.pk))

    @extend_schema(
        operation_id="replaceTrigger",
        summary="Replace a trigger",
        description="A schedule that stays the same keeps its place; a changed one does not fire for earlier times.",
        request=TriggerReplacement,
        parameters=[IF_MATCH],
    )
    def update(self, request, pk):
        return self._changed(request, pk, lambda trigger: read(TriggerReplacement, request.data))

    @extend_schema(
        operation_id="patchTrigger",
        summary="Change a trigger",
        description="Objects are merged, values replaced; null gives a member its default.  A schedule of another"
        " format replaces the one before.",
        request=TriggerReplacement,
        parameters=[IF_MATCH],
    )
    def partial_update(self, request, pk):
        return self._changed(request, pk, lambda trigger: patched(trigger, request.data))

    @extend_schema(
        operation_id="deleteTrigger",
        summary="Delete a trigger",
        description="Runs that it has made stay as they are.",
        parameters=[IF_MATCH],
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        with self._own_to_change(request, pk) as trigger:
            delete_trigger(trigger, timezone.now())
        return Response(status=204)

    @extend_schema(operation_id="enableTrigger", summary="Enable a trigger", request=None)
    @action(detail=True, methods=["post"])
    def enable(self, request, pk):
        return self._changed(request, pk, lambda trigger: patched(trigger, {"enabled": True}))

    @extend_schema(operation_id="disableTrigger", summary="Disable a trigger", request=None)
    @action(detail=True, methods=["post"])
    def disable(self, request, pk):
        return self._changed(request, pk, lambda trigger: patched(trigger, {"enabled": False}))

    def _changed(self, request, pk, wanted_of) -> Response:
        with self._own_to_change(request, pk) as trigger, member_paths():
            definition = definition_of(wanted_of(trigger))
            save_trigger(trigger.job, trigger.name, definition, timezone.now())
        return answered(Trigger.objects, pk)

    @contextmanager
    def _own_to_change(self, request, pk) -> Iterator[Trigger]:
        """The trigger as it is while nobody else writes the collection's jobs.

        Raises Conflict for the schedule in a job itself, and Stale when the caller means another version.
        """
        found = require(request, Trigger.objects.select_related("job"), Role.OPERATOR, pk=pk)
        if found.name == MAIN:
            raise Conflict(f"this is the schedule in the job itself: change it there, at /api/jobs/{found.job_id}")
        with locked(found.job.collection_id):
            trigger = Trigger.objects.select_related("job").get(pk=pk)
            refuse_stale(request, etag(pk, trigger.updated_at))
            yield trigger


TRIGGER_COLUMNS = (
    *("id", "job_id", "job__name", "job__collection__name", "name", "enabled", "format", "definition", "anchored_at"),
    *("priority", "group", "data_map", "misfire", "misfire_threshold", "next_fire_at", "previous_fire_at"),
    *("created_at", "updated_at"),
)


def definition_of(wanted: Mapping[str, Any]) -> TriggerDefinition:
    format, definition = wanted["schedule"]
    return TriggerDefinition(
        format=format,
        definition=kept(format, definition),
        enabled=wanted["enabled"],
        priority=wanted["priority"],
        group=wanted["group"],
        data_map=wanted["triggerDataMap"],
        misfire=MISFIRES[wanted["misfire"]],
        misfire_threshold=wanted["misfireThreshold"],
    )


def patched(trigger: Trigger, patch: object) -> dict[str, Any]:
    """The members of the trigger with `patch` merged into them, as RFC 7396 has it."""
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
    return read(TriggerReplacement, merged(document, patch))


def etag(trigger_id: int, updated_at: datetime) -> str:
    return f'"{trigger_id}-{updated_at:%Y%m%d%H%M%S%f}"'


def answered(triggers, pk: int) -> Response:
    row = get_object_or_404(triggers.values(*TRIGGER_COLUMNS), pk=pk)
    return Response(rendered_trigger(row), headers={"ETag": etag(pk, row["updated_at"])})


def rendered_trigger(row: Mapping[str, Any]) -> dict[str, Any]:
    description, warnings = words_and_warnings(row["format"], row["definition"], row["anchored_at"])
    return {
        "id": row["id"],
        "job": row["job_id"],
        "jobName": row["job__name"],
        "collectionName": row["job__collection__name"],
        "name": row["name"],
        "format": row["format"],
        "schedule": {"format": row["format"], **spelled(row["format"], orjson.dumps(row["definition"]))},
        "enabled": row["enabled"],
        "priority": row["priority"],
        "group": row["group"],
        "triggerDataMap": row["data_map"],
        "misfire": MISFIRE_WORDS[row["misfire"]],
        "misfireThreshold": durations.render(row["misfire_threshold"]),
        "description": description,
        "nextFireAt": row["next_fire_at"],
        "previousFireAt": row["previous_fire_at"],
        "warnings": warnings,
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
    }


@lru_cache(maxsize=10_000)
def spelled(format: str, definition: bytes) -> dict[str, Any]:
    """A stored definition as it is answered; one that cannot be read any more is answered as it stands."""
    stored = orjson.loads(definition)
    try:
        return kept(format, stored)
    except WireError:
        return stored
