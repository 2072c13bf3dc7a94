"""/api/collections."""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils import timezone
from django_filters import CharFilter, ChoiceFilter, FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import require, subscription_for
from accounts.fields import InstantField, TextField, WholeNumberField, WordField, read
from accounts.models import Role
from accounts.viewsets import ApiViewSet, created
from jobs.api.versions import (
    ETAG,
    IF_ABSENT,
    IF_MATCH,
    IF_NONE_MATCH,
    answer,
    etag,
    meant_collection,
    ordered,
    version_of,
)
from jobs.errors import Conflict, Invalid, JobError
from jobs.models import Frequency, JobCollection, Sku
from jobs.names import NAME_LENGTH
from operations.api import ACCEPTED, accepted
from operations.resource_manager import caller_of
from triggers.collection_orders import DELETE
from triggers.scheduling import save_collection

TAGS_LIMIT = 50
TAG_NAME_LENGTH = 512


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
    revision = serializers.IntegerField(help_text="Counts its changes, also those of its state.")
    createdAt = InstantField()
    updatedAt = InstantField()


class CollectionFilter(FilterSet):
    name = CharFilter(method="filter_name", max_length=NAME_LENGTH, help_text="The name, in any case.")
    subscription = CharFilter(
        method="filter_subscription", max_length=NAME_LENGTH, help_text="The id or the short name of a subscription."
    )
    state = ChoiceFilter(choices=JobCollection.State.choices)

    def filter_name(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(name__lower=value.lower())

    def filter_subscription(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        try:
            return rows.filter(subscription_id=serializers.UUIDField().to_internal_value(value))
        except serializers.ValidationError:
            return rows.filter(subscription__name=value)


class Collections(ApiViewSet):
    """Groups of jobs with a common quota."""

    queryset = JobCollection.objects.order_by("id")
    serializer_class = CollectionSerializer
    filterset_class = CollectionFilter
    lookup_value_converter = "int"

    @extend_schema(operation_id="listCollections", summary="List collections")
    def list(self, request):
        return self.get_paginated_response([rendered_collection(row) for row in self.page()])

    @extend_schema(operation_id="readCollection", summary="Read a collection", parameters=[IF_NONE_MATCH, ETAG])
    def retrieve(self, request, pk):
        return answered(require(request, JobCollection, pk=pk), request=request)

    @extend_schema(
        operation_id="createCollection",
        summary="Create a collection",
        request=CollectionRequest,
        parameters=[ETAG],
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
        return created(f"/api/collections/{collection.pk}", answered(collection))

    @extend_schema(
        operation_id="replaceCollection",
        summary="Replace a collection",
        request=CollectionReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def update(self, request, pk):
        found = require(request, JobCollection, Role.OPERATOR, pk=pk)
        return changed(request, found, read(CollectionReplacement, request.data))

    @extend_schema(
        operation_id="patchCollection",
        summary="Change a collection",
        request=CollectionReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def partial_update(self, request, pk):
        found = require(request, JobCollection, Role.OPERATOR, pk=pk)
        return changed(request, found, read(CollectionReplacement, request.data, partial=True))

    @extend_schema(
        operation_id="deleteCollection",
        summary="Delete a collection with its jobs",
        description="An operation does it, some jobs at a time; until it has ended the collection is `deleted` and"
        " takes no writes.  The history of its jobs stays for the retention time; what still waits is cancelled.",
        parameters=[IF_MATCH],
        responses={202: ACCEPTED},
    )
    def destroy(self, request, pk):
        collection = require(request, JobCollection, Role.OPERATOR, pk=pk)
        return accepted(ordered(request, DELETE, collection, caller_of(request), timezone.now()))

    @extend_schema(
        operation_id="enableCollection", summary="Enable a collection", request=None, parameters=[IF_MATCH, ETAG]
    )
    @action(detail=True, methods=["post"])
    def enable(self, request, pk):
        return changed(request, require(request, JobCollection, Role.OPERATOR, pk=pk), {"state": "enabled"})

    @extend_schema(
        operation_id="disableCollection", summary="Disable a collection", request=None, parameters=[IF_MATCH, ETAG]
    )
    @action(detail=True, methods=["post"])
    def disable(self, request, pk):
        return changed(request, require(request, JobCollection, Role.OPERATOR, pk=pk), {"state": "disabled"})


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


def changed(request: Request, found: JobCollection, members: Mapping[str, Any]) -> Response:
    with meant_collection(request, found) as collection:
        fill(collection, members)
        save(collection)
    return answered(collection)


def answered(collection: JobCollection, request: Request | None = None) -> Response:
    document = rendered_collection(collection)
    return answer(document, etag(version_of(collection), document), request=request)


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
        "revision": collection.revision,
        "createdAt": collection.created_at,
        "updatedAt": collection.updated_at,
    }
