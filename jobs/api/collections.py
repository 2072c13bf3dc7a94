"""Resources at /api/collections."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, DictField, IntegerField, UUIDField

from accounts.access import require_role, subscription_for
from accounts.examples import with_example
from accounts.models import Role
from api.answers import Answer, Member
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, respond
from api.errors import Invalid, RequestError
from api.fields import Document, IdField, InstantField, MapField, TextField, WholeNumberField, WordField
from api.filters import NameFilter, TextFilter, WordFilter
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.viewsets import LOCATION, ApiViewSet, created
from jobs.api.conditional_writes import get_collection_if_match, start_collection_operation, version_of
from jobs.models import Frequency, JobCollection, Sku
from jobs.names import NAME_LENGTH
from jobs.plans import choosing_plan
from jobs.quotas import RECURRENCE_INTERVAL_LIMIT
from operations.api import ACCEPTED, ACCEPTED_HEADERS, accepted_response
from operations.arm_base import caller_of
from triggers.collection_operations import DELETE
from triggers.scheduling import save_collection

TAGS_LIMIT = 50
TAG_NAME_LENGTH = 512


class RecurrenceQuotaSerializer(Answer, Document):
    frequency = Member(
        WordField, "The unit of the interval.", "max_recurrence_frequency", choices=Frequency.values, example="minute"
    )
    interval = Member(
        WholeNumberField,
        "The minimum number of units between two runs.",
        lambda collection: collection.max_recurrence_interval or 1,
        min_value=1,
        max_value=RECURRENCE_INTERVAL_LIMIT,
        default=1,
        example=5,
    )


@with_example(
    {
        "name": "billing",
        "resourceGroup": "default",
        "location": "westeurope",
        "tags": {"team": "billing"},
        "sku": "Standard",
        "state": "enabled",
        "maxJobCount": 20,
    }
)
class CollectionReplacement(Document):
    """The new definition of a collection. A member that is omitted gets its default."""

    # scheduler_site.patches replaces "a member that is omitted gets its default" for PATCH

    location = TextField(
        max_length=64,
        allow_blank=True,
        default="",
        help_text="A free text, such as a region. It has no effect.",
    )
    tags = MapField(
        child=TextField(max_length=256, allow_blank=True),
        allow_null=True,
        default=None,
        help_text="Custom names and values. They have no effect.",
    )
    sku = WordField(
        Sku.values,
        default=Sku.STANDARD.value,
        help_text="The plan, which sets the limits. Only owners may choose P10Premium and P20Premium.",
    )
    state = WordField(
        ["enabled", "disabled"],
        default="enabled",
        help_text=("The state. While the collection is disabled, none of its jobs runs."),
    )
    maxJobCount = WholeNumberField(
        min_value=0,
        max_value=2**31 - 1,
        allow_null=True,
        default=None,
        help_text=("The maximum number of jobs. It must not exceed the limit of the plan."),
    )
    maxRecurrence = RecurrenceQuotaSerializer(
        allow_null=True, default=None, help_text="The fastest recurrence that jobs in the collection may have."
    )

    name = TextField(
        min_length=1, max_length=NAME_LENGTH, required=False, help_text="The new name. If omitted, the name is kept."
    )
    resourceGroup = TextField(
        min_length=1,
        max_length=90,
        required=False,
        help_text=(
            "The new Azure resource group, part of the Azure resource id. If omitted, the resource group is kept."
        ),
    )

    def validate_tags(self, tags: dict[str, str] | None) -> dict[str, str] | None:
        if tags and len(tags) > TAGS_LIMIT:
            raise serializers.ValidationError(f"must be at most {TAGS_LIMIT}, not {len(tags)}", "too_many")
        if tags and not all(1 <= len(name) <= TAG_NAME_LENGTH and name.isprintable() for name in tags):
            raise serializers.ValidationError(f"must have names of 1 to {TAG_NAME_LENGTH} printable characters")
        return tags


@with_example({"subscription": "00000000-0000-0000-0000-000000000001"})
class CollectionRequest(CollectionReplacement):
    name = TextField(
        min_length=1, max_length=NAME_LENGTH, help_text=("The name, unique in the resource group, not case-sensitive.")
    )
    resourceGroup = TextField(
        min_length=1,
        max_length=90,
        default="default",
        help_text=("The Azure resource group, part of the Azure resource id."),
    )
    subscription = IdField(
        required=False,
        help_text=("The subscription. Required if the caller has write access to several subscriptions."),
    )


class CollectionSerializer(Answer):
    id = Member(IntegerField, "The id of the collection.", "pk", example=1)
    subscription = Member(
        UUIDField, "The id of the subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    resourceGroup = Member(CharField, "The Azure resource group, part of the Azure resource id.", example="default")
    name = Member(CharField, "The name, unique in the resource group, not case-sensitive.", example="nightly")
    location = Member(CharField, "A free text, such as a region. It has no effect.", example="westeurope")
    tags = Member(
        DictField,
        "Custom names and values; null: none.",
        nullable=True,
        child=CharField(),
        example={"team": "billing"},
    )
    sku = Member(ChoiceField, "The plan, which sets the limits.", choices=Sku.values, example="Standard")
    state = Member(
        ChoiceField,
        "The state. Jobs run only while the collection is `enabled`. The state is `deleted` while the"
        " collection is being deleted.",
        choices=JobCollection.State.values,
        example="enabled",
    )
    maxJobCount = Member(
        IntegerField,
        "The maximum number of jobs, if it is lower than the limit of the plan; null: the limit of the plan.",
        nullable=True,
        example=20,
    )
    maxRecurrence = Member(
        RecurrenceQuotaSerializer,
        "The fastest recurrence that jobs in the collection may have; null: the limit of the plan.",
        lambda collection: collection if collection.max_recurrence_frequency else None,
        nullable=True,
    )
    revision = Member(
        IntegerField, "The number of changes to the collection, including changes of its state.", example=3
    )
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(InstantField, "The time of the last change, in UTC.", example="2026-01-05T08:00:00Z")


@with_example({"name": "nightly", "subscription": "default", "state": "enabled"})
class CollectionFilter(FilterSet):
    name = NameFilter(max_length=NAME_LENGTH, help_text="Filters by name, not case-sensitive.")
    subscription = TextFilter(
        method="filter_subscription",
        max_length=NAME_LENGTH,
        help_text=("Filters by the id or the short name of the subscription."),
    )
    state = WordFilter(choices=JobCollection.State.choices, help_text="Filters by state.")

    def filter_subscription(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        try:
            return rows.filter(subscription_id=serializers.UUIDField().to_internal_value(value))
        except serializers.ValidationError:
            return rows.filter(subscription__name=value)


class Collections(ApiViewSet):
    """Groups of jobs with common limits."""

    queryset = JobCollection.objects.order_by("id")
    serializer_class = CollectionSerializer
    filterset_class = CollectionFilter
    lookup_value_converter = "int"

    @extend_schema(operation_id="listCollections", summary="List collections")
    def list(self, request):
        return self.list_response(lambda rows: map(CollectionSerializer.render, rows))

    @extend_schema(operation_id="readCollection", summary="Read a collection", parameters=[IF_NONE_MATCH, ETAG])
    def retrieve(self, request, pk):
        return collection_response(require_role(request, JobCollection, pk=pk), request=request)

    @extend_schema(
        operation_id="createCollection",
        summary="Create a collection",
        request=CollectionRequest,
        parameters=[IDEMPOTENCY_KEY, ETAG, LOCATION],
        responses={200: CollectionSerializer, 201: CollectionSerializer},
    )
    @repeatable(lambda view, request, pk: collection_response(require_role(request, JobCollection, pk=pk)))
    def create(self, request):
        members = self.read(CollectionRequest)
        collection = JobCollection(subscription=subscription_for(request, members.get("subscription")))
        with choosing_plan(request, collection):
            fill(collection, members)
        save(collection)
        return created(request, f"/api/collections/{collection.pk}", collection_response(collection))

    @extend_schema(
        operation_id="replaceCollection",
        summary="Replace a collection",
        request=CollectionReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def update(self, request, pk):
        found = require_role(request, JobCollection, Role.OPERATOR, pk=pk)
        return update_collection(request, found, self.read(CollectionReplacement, fixed=fixed_in(found)))

    @extend_schema(
        operation_id="patchCollection",
        summary="Change a collection",
        description=(
            "A new `name` or `resourceGroup` renames the collection. Existing runs keep the collection name that"
            " they were created with."
        ),
        request=CollectionReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def partial_update(self, request, pk):
        found = require_role(request, JobCollection, Role.OPERATOR, pk=pk)
        return update_collection(request, found, self.read(CollectionReplacement, fixed=fixed_in(found), partial=True))

    @extend_schema(
        operation_id="deleteCollection",
        summary="Delete a collection with its jobs",
        description=(
            "The deletion is an operation that deletes the jobs in several steps. Until it ends, the collection has"
            " the state `deleted` and cannot be changed. The history of the jobs is kept for the retention time."
            " Runs that are waiting are cancelled."
        ),
        parameters=[IF_MATCH, *ACCEPTED_HEADERS],
        responses={202: ACCEPTED},
    )
    def destroy(self, request, pk):
        collection = require_role(request, JobCollection, Role.OPERATOR, pk=pk)
        return accepted_response(
            request, start_collection_operation(request, DELETE, collection, caller_of(request), timezone.now())
        )

    @extend_schema(
        operation_id="enableCollection", summary="Enable a collection", request=None, parameters=[IF_MATCH, ETAG]
    )
    @action(detail=True, methods=["post"])
    def enable(self, request, pk):
        return update_collection(
            request, require_role(request, JobCollection, Role.OPERATOR, pk=pk), {"state": "enabled"}
        )

    @extend_schema(
        operation_id="disableCollection", summary="Disable a collection", request=None, parameters=[IF_MATCH, ETAG]
    )
    @action(detail=True, methods=["post"])
    def disable(self, request, pk):
        return update_collection(
            request, require_role(request, JobCollection, Role.OPERATOR, pk=pk), {"state": "disabled"}
        )


COLLECTION_FIELDS = {
    "name": "name",
    "resourceGroup": "resource_group",
    "location": "location",
    "tags": "tags",
    "sku": "sku",
    "state": "state",
    "maxJobCount": "max_job_count",
}
# members of our documents by the error paths of the core, which name model fields or members of the original service
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


def fixed_in(collection: JobCollection) -> dict[str, Any]:
    """Return the members that only the creation of a collection sets, with their values."""
    return {"subscription": collection.subscription_id}


def save(collection: JobCollection) -> None:
    try:
        save_collection(collection, timezone.now())
    except RequestError as error:
        error.path = MEMBERS.get(error.path or "", error.path)
        raise


def update_collection(request: Request, found: JobCollection, members: Mapping[str, Any]) -> Response:
    with get_collection_if_match(request, found) as collection:
        with choosing_plan(request, collection):
            fill(collection, members)
        save(collection)
    return collection_response(collection)


def collection_response(collection: JobCollection, request: Request | None = None) -> Response:
    document = CollectionSerializer.render(collection)
    return respond(document, etag(version_of(collection), document), request=request)
