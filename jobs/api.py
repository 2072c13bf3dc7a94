"""Our own REST resources about what runs: collections, jobs and runs.

Lists and answers are built from plain rows, without model instances: the serializers here read what is sent, and
describe what is answered.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404
from django.urls import include, path
from django.utils import timezone
from django_filters import CharFilter, ChoiceFilter, FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import GenericViewSet

from accounts.access import require, visible
from accounts.fields import InstantField, TextField, WholeNumberField, WordField, read
from accounts.filters import InstantFilter, WholeNumberFilter
from accounts.models import Role, Subscription
from jobs.cancel import cancel
from jobs.documents import ActionField, RecurrenceField
from jobs.errors import Conflict, Invalid, JobError
from jobs.models import Attempt, Frequency, Job, JobCollection, Run, Sku
from jobs.names import NAME_LENGTH
from jobs.run_now import KEY_LENGTH, run_now
from recurrence.wire import azure
from triggers.models import Trigger
from triggers.scheduling import (
    JobDefinition,
    delete_collection,
    delete_job,
    patch_job,
    save_collection,
    save_job,
    set_job_state,
)

MOST_PARTS = 10  # of a list of runs
TAGS_LIMIT = 50
TAG_NAME_LENGTH = 512

GONE = OpenApiResponse(description="It is gone.")


# Collections


class RecurrenceQuotaSerializer(serializers.Serializer):
    frequency = WordField(Frequency.values)
    interval = WholeNumberField(min_value=1, max_value=1000, default=1)


class CollectionReplacement(serializers.Serializer):
    """What a collection is to be; what is left out gets its default."""

    location = TextField(max_length=64, allow_blank=True, default="")
    tags = serializers.DictField(child=TextField(max_length=256, allow_blank=True), allow_null=True, default=None)
    sku = WordField(Sku.values, default=Sku.STANDARD.value, help_text="The plan, which sets the limits.")
    state = WordField(
        ["enabled", "disabled"], default="enabled", help_text="While it is disabled, none of its jobs runs."
    )
    maxJobCount = WholeNumberField(
        min_value=0, max_value=2**31 - 1, allow_null=True, default=None, help_text="A lower limit than the plan's."
    )
    maxRecurrence = RecurrenceQuotaSerializer(
        allow_null=True, default=None, help_text="The fastest recurrence that its jobs may have."
    )

    def validate_tags(self, tags: dict[str, str] | None) -> dict[str, str] | None:
        if tags and len(tags) > TAGS_LIMIT:
            raise serializers.ValidationError(f"must be at most {TAGS_LIMIT}, not {len(tags)}", "too_many")
        if tags and not all(1 <= len(name) <= TAG_NAME_LENGTH and name.isprintable() for name in tags):
            raise serializers.ValidationError(f"must have names of 1 to {TAG_NAME_LENGTH} printable characters")
        return tags


class CollectionRequest(CollectionReplacement):
    name = TextField(min_length=1, max_length=NAME_LENGTH)
    resourceGroup = TextField(min_length=1, max_length=90, default="default")
    subscription = serializers.UUIDField(
        required=False, help_text="Needed by callers who may write to more than one subscription."
    )


class CollectionSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    subscription = serializers.UUIDField()
    resourceGroup = serializers.CharField()
    name = serializers.CharField()
    location = serializers.CharField()
    tags = serializers.DictField(child=serializers.CharField(), allow_null=True)
    sku = serializers.ChoiceField(Sku.values)
    state = serializers.ChoiceField(JobCollection.State.values)
    maxJobCount = serializers.IntegerField(allow_null=True)
    maxRecurrence = RecurrenceQuotaSerializer(allow_null=True)
    createdAt = InstantField()
    updatedAt = InstantField()


class CollectionFilter(FilterSet):
    name = CharFilter(method="filter_name", max_length=NAME_LENGTH, help_text="The name, in any case.")
    subscription = CharFilter(
        method="filter_subscription", max_length=NAME_LENGTH, help_text="The id or the short name of a subscription."
    )
    state = ChoiceFilter(choices=JobCollection.State.choices)

    class Meta:
        model = JobCollection
        fields: list[str] = []

    def filter_name(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(name__lower=value.lower())

    def filter_subscription(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        try:
            return rows.filter(subscription_id=serializers.UUIDField().to_internal_value(value))
        except serializers.ValidationError:
            return rows.filter(subscription__name=value)


class Collections(GenericViewSet):
    """Groups of jobs with a common quota."""

    queryset = JobCollection.objects.none()
    serializer_class = CollectionSerializer
    filterset_class = CollectionFilter
    lookup_value_converter = "int"

    def get_queryset(self):
        return visible(self.request, JobCollection).order_by("id")

    @extend_schema(operation_id="listCollections", summary="List collections")
    def list(self, request):
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([rendered_collection(row) for row in page])

    @extend_schema(operation_id="readCollection", summary="Read a collection")
    def retrieve(self, request, pk):
        return Response(rendered_collection(require(request, JobCollection, pk=pk)))

    @extend_schema(
        operation_id="createCollection",
        summary="Create a collection",
        request=CollectionRequest,
        responses={201: CollectionSerializer},
    )
    def create(self, request):
        wanted = read(CollectionRequest, request.data)
        collection = JobCollection(
            subscription=subscription_for(request, wanted.get("subscription")),
            resource_group=wanted["resourceGroup"],
            name=wanted["name"],
        )
        fill(collection, wanted)
        try:
            save(collection)
        except IntegrityError:
            raise Conflict(f"there is a collection {collection.name!r} already", path="name") from None
        return created(f"/api/collections/{collection.pk}", rendered_collection(collection))

    @extend_schema(operation_id="replaceCollection", summary="Replace a collection", request=CollectionReplacement)
    def update(self, request, pk):
        found = require(request, JobCollection, Role.OPERATOR, pk=pk)
        return changed(found, read(CollectionReplacement, request.data))

    @extend_schema(operation_id="patchCollection", summary="Change a collection", request=CollectionReplacement)
    def partial_update(self, request, pk):
        found = require(request, JobCollection, Role.OPERATOR, pk=pk)
        return changed(found, read(CollectionReplacement, request.data, partial=True))

    @extend_schema(
        operation_id="deleteCollection",
        summary="Delete a collection with its jobs",
        description="The history of its jobs stays for the retention time; what still waits is cancelled.",
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        delete_collection(require(request, JobCollection, Role.OPERATOR, pk=pk), timezone.now())
        return Response(status=204)

    @extend_schema(operation_id="enableCollection", summary="Enable a collection", request=None)
    @action(detail=True, methods=["post"])
    def enable(self, request, pk):
        return changed(require(request, JobCollection, Role.OPERATOR, pk=pk), {"state": "enabled"})

    @extend_schema(operation_id="disableCollection", summary="Disable a collection", request=None)
    @action(detail=True, methods=["post"])
    def disable(self, request, pk):
        return changed(require(request, JobCollection, Role.OPERATOR, pk=pk), {"state": "disabled"})


COLLECTION_FIELDS = {
    "location": "location",
    "tags": "tags",
    "sku": "sku",
    "state": "state",
    "maxJobCount": "max_job_count",
}
# where the core, which speaks of its own fields or of the original service's, means a member of ours
MEMBERS = {
    "properties.sku.name": "sku",
    "resource_group": "resourceGroup",
    "max_job_count": "maxJobCount",
    "max_recurrence_interval": "maxRecurrence.interval",
    "max_recurrence_frequency": "maxRecurrence.frequency",
}


def subscription_for(request, wanted) -> Subscription:
    if wanted is not None:
        try:
            return require(request, Subscription, Role.OPERATOR, pk=wanted)
        except Http404:
            raise Invalid("no subscription that you may see", path="subscription", code="does_not_exist") from None
    own = list(visible(request, Subscription, Role.OPERATOR)[:2])
    if len(own) == 1:
        return own[0]
    if not own:
        raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label} in a subscription")
    raise Invalid("is required: you may write to more than one", path="subscription", code="required")


def fill(collection: JobCollection, members: Mapping[str, Any]) -> None:
    for member, field in COLLECTION_FIELDS.items():
        if member in members:
            setattr(collection, field, members[member])
    if "maxRecurrence" not in members:
        return
    quota = members["maxRecurrence"]
    if quota is None:
        collection.max_recurrence_frequency = collection.max_recurrence_interval = None
        return
    frequency = quota.get("frequency", collection.max_recurrence_frequency)
    if frequency is None:
        raise Invalid("is required", path="maxRecurrence.frequency", code="required")
    collection.max_recurrence_frequency = frequency
    collection.max_recurrence_interval = quota.get("interval", collection.max_recurrence_interval or 1)


def save(collection: JobCollection) -> None:
    try:
        save_collection(collection, timezone.now())
    except JobError as error:
        error.path = MEMBERS.get(error.path or "", error.path)
        raise


def changed(found: JobCollection, members: Mapping[str, Any]) -> Response:
    with transaction.atomic():
        Subscription.objects.select_for_update(no_key=True).get(
            pk=found.subscription_id
        )  # one writer of its collections
        collection = JobCollection.objects.get(pk=found.pk)
        fill(collection, members)
        save(collection)
    return Response(rendered_collection(collection))


def rendered_collection(collection: JobCollection) -> dict[str, Any]:
    frequency, interval = collection.max_recurrence_frequency, collection.max_recurrence_interval
    return {
        "id": collection.pk,
        "subscription": collection.subscription_id,
        "resourceGroup": collection.resource_group,
        "name": collection.name,
        "location": collection.location,
        "tags": collection.tags,
        "sku": collection.sku,
        "state": collection.state,
        "maxJobCount": collection.max_job_count,
        "maxRecurrence": {"frequency": frequency, "interval": interval or 1} if frequency else None,
        "createdAt": collection.created_at,
        "updatedAt": collection.updated_at,
    }


def created(address: str, document: Mapping[str, Any]) -> Response:
    return Response(document, 201, headers={"Location": address})


# Jobs


@extend_schema_field(OpenApiTypes.DATETIME)
class StartTimeField(serializers.Field):
    """Passed on to the schedule's format, which reads it."""

    def to_internal_value(self, data: object) -> object:
        return data

    def to_representation(self, value: str) -> str:
        return value


class JobReplacement(serializers.Serializer):
    """What a job is to be; what is left out gets its default."""

    action = ActionField()
    startTime = StartTimeField(
        required=False, allow_null=True, help_text="When it runs first; a time without an offset is in UTC."
    )
    recurrence = RecurrenceField(required=False, allow_null=True, help_text="Without one it runs once.")
    state = WordField(["enabled", "disabled"], default="enabled")
    overlap = WordField(
        Job.Overlap.values,
        default=Job.Overlap.SKIP.value,
        help_text="What happens to an occurrence while an earlier one is still going.",
    )
    delivery = WordField(
        Job.Delivery.values,
        default=Job.Delivery.AT_LEAST_ONCE.value,
        help_text="Whether an attempt that a crash cut off is made again.",
    )
    misfire = WordField(
        Trigger.Misfire.values,
        default=Trigger.Misfire.FIRE_ONCE.value,
        help_text="What becomes of occurrences that are found too late.",
    )


class JobRequest(JobReplacement):
    collection = WholeNumberField(min_value=1, help_text="The id of its collection.")
    name = TextField(min_length=1, max_length=NAME_LENGTH)


class JobSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    collection = serializers.IntegerField(help_text="The id of its collection.")
    collectionName = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(Job.State.values, help_text="`completed` and `faulted` are final.")
    action = ActionField()
    startTime = InstantField(allow_null=True)
    recurrence = RecurrenceField(allow_null=True)
    overlap = serializers.ChoiceField(Job.Overlap.values)
    delivery = serializers.ChoiceField(Job.Delivery.values)
    misfire = serializers.ChoiceField(Trigger.Misfire.values)
    nextRunAt = InstantField(allow_null=True)
    lastRunAt = InstantField(allow_null=True)
    executionCount = serializers.IntegerField(help_text="Attempts, retries included.")
    failureCount = serializers.IntegerField(help_text="Attempts that failed.")
    faultedCount = serializers.IntegerField(help_text="Occurrences whose every attempt failed.")
    revision = serializers.IntegerField(help_text="Counts the changes of its definition.")
    createdAt = InstantField()
    updatedAt = InstantField()
    finishedAt = InstantField(allow_null=True, help_text="When it became completed or faulted.")


class RunSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Also the `Idempotency-Key` of the calls that it makes.")
    subscription = serializers.UUIDField()
    job = serializers.IntegerField(allow_null=True, help_text="The id of its job; null when that is gone.")
    jobName = serializers.CharField()
    collectionName = serializers.CharField()
    trigger = serializers.CharField(allow_null=True, help_text="The trigger that it comes from.")
    origin = serializers.ChoiceField(Run.Origin.values)
    parent = serializers.UUIDField(allow_null=True, help_text="The failed run that an error action follows.")
    key = serializers.CharField(allow_null=True, help_text="The caller's own key of a run by hand.")
    fireAt = InstantField(help_text="When it is meant to run.")
    occurrence = serializers.IntegerField(allow_null=True, help_text="Its number among its trigger's, from 1.")
    state = serializers.ChoiceField(Run.State.values)
    reason = serializers.CharField(help_text="Why it was not run.")
    missedCount = serializers.IntegerField(help_text="Occurrences it stands for; above 1 only when they were missed.")
    missedUntil = InstantField(allow_null=True, help_text="The last of them.")
    attemptCount = serializers.IntegerField()
    nextAttemptAt = InstantField(allow_null=True, help_text="When a failed attempt is followed by the next.")
    createdAt = InstantField()
    startedAt = InstantField(allow_null=True)
    finishedAt = InstantField(allow_null=True)


class AttemptSerializer(serializers.Serializer):
    number = serializers.IntegerField(help_text="From 1.")
    state = serializers.ChoiceField(Attempt.State.values)
    worker = serializers.CharField()
    startedAt = InstantField()
    finishedAt = InstantField(allow_null=True)
    statusCode = serializers.IntegerField(allow_null=True, help_text="Of an HTTP answer.")
    message = serializers.CharField()
    responseHeaders = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    responseBody = serializers.CharField(help_text="At most its first 2048 bytes.")


class RunDetailSerializer(RunSerializer):
    errorRun = serializers.UUIDField(allow_null=True, help_text="The run of its error action.")
    attempts = AttemptSerializer(many=True)


class RunRequest(serializers.Serializer):
    key = TextField(
        required=False,
        min_length=1,
        max_length=KEY_LENGTH,
        help_text="Makes the order repeatable: the same key answers the run that it made the first time.",
    )


class JobFilter(FilterSet):
    collection = WholeNumberFilter(field_name="collection_id", help_text="The id of a collection.")
    name = CharFilter(method="filter_name", max_length=NAME_LENGTH, help_text="The name, in any case.")
    state = ChoiceFilter(choices=Job.State.choices)

    class Meta:
        model = Job
        fields: list[str] = []

    def filter_name(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(name__lower=value.lower())


IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` of the job as you know it: 412 when it has been changed since.",
)


class Jobs(GenericViewSet):
    """What is done, and when."""

    queryset = Job.objects.none()
    serializer_class = JobSerializer
    filterset_class = JobFilter
    lookup_value_converter = "int"
    body_limit = settings.JOB_BODY_LIMIT

    def get_queryset(self):
        return visible(self.request, Job).order_by("id")

    @extend_schema(operation_id="listJobs", summary="List jobs")
    def list(self, request):
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()).values(*JOB_COLUMNS))
        return self.get_paginated_response(list(rendered_jobs(page)))

    @extend_schema(operation_id="readJob", summary="Read a job")
    def retrieve(self, request, pk):
        return answered(visible(request, Job), pk)

    @extend_schema(operation_id="createJob", summary="Create a job", request=JobRequest, responses={201: JobSerializer})
    def create(self, request):
        wanted = read(JobRequest, request.data)
        try:
            collection = require(request, JobCollection, Role.OPERATOR, pk=wanted["collection"])
        except Http404:
            raise Invalid("no collection that you may see", path="collection", code="does_not_exist") from None
        with locked(collection):
            if Job.objects.named(collection, wanted["name"]).exists():
                raise Conflict(f"there is a job {wanted['name']!r} in this collection already", path="name")
            job, _ = save_job(collection, wanted["name"], definition_of(request.data, wanted), timezone.now())
        response = answered(Job.objects, job.pk)
        response.status_code = 201
        response["Location"] = f"/api/jobs/{job.pk}"
        return response

    @extend_schema(operation_id="replaceJob", summary="Replace a job", request=JobReplacement, parameters=[IF_MATCH])
    def update(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        wanted = read(JobReplacement, request.data)
        with locked(job.collection):
            refuse_stale(request, job)
            save_job(job.collection, job.name, definition_of(request.data, wanted), timezone.now())
        return answered(Job.objects, pk)

    @extend_schema(
        operation_id="patchJob",
        summary="Change a job",
        description="Objects are merged, lists and values replaced; null removes an optional member.",
        request=JobReplacement,
        parameters=[IF_MATCH],
    )
    def partial_update(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        wanted = read(JobReplacement, request.data, partial=True)
        patch = {name: request.data[name] for name in DOCUMENT_MEMBERS if name in request.data}
        with locked(job.collection):
            refuse_stale(request, job)
            patch_job(job, patch, timezone.now(), **settings_in(wanted))
        return answered(Job.objects, pk)

    @extend_schema(
        operation_id="deleteJob",
        summary="Delete a job",
        description="Its history stays for the retention time; what still waits is cancelled.",
        parameters=[IF_MATCH],
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        with locked(job.collection):
            refuse_stale(request, job)
            delete_job(job, timezone.now())
        return Response(status=204)

    @extend_schema(
        operation_id="runJob",
        summary="Run a job now",
        description="One run besides those of its schedule.  With a key, 200 answers the run that the key made before.",
        request=RunRequest,
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                description="The same as the member `key`.",
            )
        ],
        responses={200: RunSerializer, 201: RunSerializer},
    )
    @action(detail=True, methods=["post"])
    def run(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        now = timezone.now()
        run = run_now(job, now, key_of(request))
        document = rendered_run(Run.objects.values(*RUN_COLUMNS).get(pk=run.pk))
        return created(f"/api/runs/{run.pk}", document) if run.fire_at == now else Response(document)

    @extend_schema(operation_id="pauseJob", summary="Pause a job", request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request, pk):
        set_job_state(require(request, Job, Role.OPERATOR, pk=pk), Job.State.DISABLED, timezone.now())
        return answered(Job.objects, pk)

    @extend_schema(operation_id="resumeJob", summary="Resume a job", request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request, pk):
        set_job_state(require(request, Job, Role.OPERATOR, pk=pk), Job.State.ENABLED, timezone.now())
        return answered(Job.objects, pk)


DOCUMENT_MEMBERS = ("action", "startTime", "recurrence", "state")
SETTINGS = ("overlap", "delivery", "misfire")
JOB_COLUMNS = (
    *("id", "collection_id", "collection__name", "name", "state", "action__document", "overlap", "delivery"),
    *("execution_count", "failure_count", "faulted_count", "last_execution_at", "revision"),
    *("created_at", "updated_at", "finished_at"),
)


@contextmanager
def locked(collection: JobCollection) -> Iterator[None]:
    """One transaction in which nobody else writes the collection's jobs."""
    with transaction.atomic():
        JobCollection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        yield


def definition_of(document: Mapping[str, Any], wanted: Mapping[str, Any]) -> JobDefinition:
    return JobDefinition.of(document, **settings_in(wanted))


def settings_in(wanted: Mapping[str, Any]) -> dict[str, str]:
    return {name: wanted[name] for name in SETTINGS if name in wanted}


def refuse_stale(request, job: Job) -> None:
    """Raise Stale (412) when the caller's If-Match does not name the job as it is now."""
    expected = request.headers.get("If-Match")
    if expected is None or expected.strip() == "*":
        return
    current = etag(job.pk, Job.objects.values_list("revision", flat=True).get(pk=job.pk))
    if current not in [tag.strip() for tag in expected.split(",")]:
        raise Stale(current)


class Stale(APIException):
    """The job is not what the caller believes it to be."""

    status_code = 412
    default_code = "stale"

    def __init__(self, current: str):
        super().__init__(f"the job has been changed since: its ETag is {current} now")


def etag(job_id: int, revision: int) -> str:
    return f'"{job_id}-{revision}"'


def key_of(request) -> str | None:
    """The caller's key of a run by hand, from the header or the body."""
    key = read(RunRequest, request.data).get("key")
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return key
    if not 1 <= len(header) <= KEY_LENGTH or not (header.isascii() and header.isprintable()):
        raise Invalid(f"must be 1 to {KEY_LENGTH} printable ASCII characters", path="Idempotency-Key")
    if key not in (None, header):
        raise Invalid("is not the key in the header Idempotency-Key", path="key")
    return header


def answered(jobs, pk: int) -> Response:
    row = jobs.filter(pk=pk).values(*JOB_COLUMNS).first()
    if row is None:
        raise Http404
    return Response(next(rendered_jobs([row])), headers={"ETag": etag(pk, row["revision"])})


def rendered_jobs(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    rows = list(rows)
    columns = ("job_id", "definition", "misfire", "next_fire_at")
    triggers = Trigger.objects.filter(job__in=[row["id"] for row in rows]).values(*columns)
    by_job = {trigger["job_id"]: trigger for trigger in triggers}
    for row in rows:
        trigger = by_job[row["id"]]
        when = spelled(orjson.dumps(trigger["definition"]))
        yield {
            "id": row["id"],
            "collection": row["collection_id"],
            "collectionName": row["collection__name"],
            "name": row["name"],
            "state": row["state"],
            "action": row["action__document"],
            "startTime": when.get("startTime"),
            "recurrence": when.get("recurrence"),
            "overlap": row["overlap"],
            "delivery": row["delivery"],
            "misfire": trigger["misfire"],
            "nextRunAt": trigger["next_fire_at"],
            "lastRunAt": row["last_execution_at"],
            "executionCount": row["execution_count"],
            "failureCount": row["failure_count"],
            "faultedCount": row["faulted_count"],
            "revision": row["revision"],
            "createdAt": row["created_at"],
            "updatedAt": row["updated_at"],
            "finishedAt": row["finished_at"],
        }


@lru_cache(maxsize=10_000)
def spelled(definition: bytes) -> dict[str, Any]:
    """A stored schedule in its published spelling."""
    return azure.render(orjson.loads(definition))


# Runs


class RunFilter(FilterSet):
    job = WholeNumberFilter(field_name="job_id", help_text="The id of a job.")
    collection = WholeNumberFilter(field_name="job__collection_id", help_text="The id of a collection.")
    state = ChoiceFilter(choices=Run.State.choices)
    origin = ChoiceFilter(choices=Run.Origin.choices)
    order = ChoiceFilter(
        choices=[("newest", "newest first"), ("oldest", "oldest first")],
        method="filter_order",
        help_text="By `fireAt`, `newest` first by default.",
    )

    class Meta:
        model = Run
        fields: list[str] = []

    def filter_order(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.order_by("fire_at", "id") if value == "oldest" else rows


RunFilter.base_filters["from"] = InstantFilter(
    field_name="fire_at", lookup_expr="gte", help_text="Only runs with `fireAt` at or after this instant."
)
RunFilter.base_filters["to"] = InstantFilter(
    field_name="fire_at", lookup_expr="lt", help_text="Only runs with `fireAt` before this instant."
)


class Runs(GenericViewSet):
    """What happened, and what is about to."""

    queryset = Run.objects.none()
    serializer_class = RunSerializer
    filterset_class = RunFilter
    lookup_value_converter = "uuid"

    def get_queryset(self):
        return visible(self.request, Run).order_by("-fire_at", "-id")

    def parts(self, runs: QuerySet) -> Sequence[QuerySet]:
        """The runs by subscription: an index has each one's in order, while of several the database would sort all."""
        own = visible(self.request, Subscription).values_list("pk", flat=True)[: MOST_PARTS + 1]
        return [runs.filter(subscription=pk) for pk in own] if len(own) <= MOST_PARTS else [runs]

    @extend_schema(operation_id="listRuns", summary="List runs")
    def list(self, request):
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()).values(*RUN_COLUMNS))
        return self.get_paginated_response([rendered_run(row) for row in page])

    @extend_schema(operation_id="readRun", summary="Read a run with its attempts", responses=RunDetailSerializer)
    def retrieve(self, request, pk):
        row = visible(request, Run).filter(pk=pk).values(*RUN_COLUMNS, "error_run__id").first()
        if row is None:
            raise Http404
        attempts = Attempt.objects.filter(run=pk).order_by("number").values(*ATTEMPT_COLUMNS)
        return Response(
            {
                **rendered_run(row),
                "errorRun": row["error_run__id"],
                "attempts": [rendered_attempt(attempt) for attempt in attempts],
            }
        )

    @extend_schema(
        operation_id="cancelRun",
        summary="Cancel a run",
        description="Only a run that waits for a worker or for its next attempt can be cancelled.",
        request=None,
    )
    @action(detail=True, methods=["post"])
    def cancel(self, request, pk):
        run = require(request, Run, Role.OPERATOR, pk=pk)
        cancel(run, f"cancelled by {request.user.get_username()}", timezone.now())
        return Response(rendered_run(Run.objects.values(*RUN_COLUMNS).get(pk=pk)))


RUN_COLUMNS = (
    *("id", "subscription_id", "job_id", "job_name", "collection_name", "trigger_name", "origin", "parent_id"),
    *("manual_key", "fire_at", "occurrence", "state", "reason", "missed_count", "missed_until", "attempt_count"),
    *("not_before", "created_at", "started_at", "finished_at"),
)
ATTEMPT_COLUMNS = (
    *("number", "state", "worker", "started_at", "finished_at", "status_code", "message"),
    *("response_headers", "response_body"),
)


def rendered_run(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "subscription": row["subscription_id"],
        "job": row["job_id"],
        "jobName": row["job_name"],
        "collectionName": row["collection_name"],
        "trigger": row["trigger_name"],
        "origin": row["origin"],
        "parent": row["parent_id"],
        "key": row["manual_key"],
        "fireAt": row["fire_at"],
        "occurrence": row["occurrence"],
        "state": row["state"],
        "reason": row["reason"],
        "missedCount": row["missed_count"],
        "missedUntil": row["missed_until"],
        "attemptCount": row["attempt_count"],
        "nextAttemptAt": row["not_before"],
        "createdAt": row["created_at"],
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
    }


def rendered_attempt(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "number": row["number"],
        "state": row["state"],
        "worker": row["worker"],
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
        "statusCode": row["status_code"],
        "message": row["message"],
        "responseHeaders": row["response_headers"],
        "responseBody": row["response_body"],
    }


router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("collections", Collections, basename="collection")
router.register("jobs", Jobs, basename="job")
router.register("runs", Runs, basename="run")

urlpatterns = [path("", include(router.urls))]
