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
        "How many units lie between two runs at least.",
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
    """The new definition of a collection.  A member that is left out gets its default."""

    # scheduler_site.patches replaces "a member that is left out gets its default" for PATCH

    location = TextField(
        max_length=64,
        allow_blank=True,
        default="",
        help_text="A text of the caller's, such as a region; it has no effect.",
    )
    tags = MapField(
        child=TextField(max_length=256, allow_blank=True),
        allow_null=True,
        default=None,
        help_text="Names and values of the caller's; they have no effect.",
    )
    sku = WordField(
        Sku.values,
        default=Sku.STANDARD.value,
        help_text="The plan, which sets the limits; owners alone choose P10Premium and P20Premium.",
    )
    state = WordField(
        ["enabled", "disabled"], default="enabled", help_text="While it is disabled, none of its jobs runs."
    )
    maxJobCount = WholeNumberField(
        min_value=0, max_value=2**31 - 1, allow_null=True, default=None, help_text="A lower limit than the plan's."
    )
    maxRecurrence = RecurrenceQuotaSerializer(
        allow_null=True, default=None, help_text="The fastest recurrence that its jobs may have."
    )

    name = TextField(
        min_length=1, max_length=NAME_LENGTH, required=False, help_text="Its new name.  Left out, it keeps its name."
    )
    resourceGroup = TextField(
        min_length=1,
        max_length=90,
        required=False,
        help_text="Its new resource group, part of its Azure address.  Left out, it stays.",
    )

    def validate_tags(self, tags: dict[str, str] | None) -> dict[str, str] | None:
        if tags and len(tags) > TAGS_LIMIT:
            raise serializers.ValidationError(f"must be at most {TAGS_LIMIT}, not {len(tags)}", "too_many")
        if tags and not all(1 <= len(name) <= TAG_NAME_LENGTH and name.isprintable() for name in tags):
            raise serializers.ValidationError(f"must have names of 1 to {TAG_NAME_LENGTH} printable characters")
        return tags


@with_example({"subscription": "00000000-0000-0000-0000-000000000001"})
class CollectionRequest(CollectionReplacement):
    name = TextField(min_length=1, max_length=NAME_LENGTH, help_text="Unique in its resource group, in any case.")
    resourceGroup = TextField(min_length=1, max_length=90, default="default", help_text="Part of its Azure address.")
    subscription = IdField(required=False, help_text="Needed by callers who may write to more than one subscription.")


class CollectionSerializer(Answer):
    id = Member(IntegerField, "The id by which jobs name it.", "pk", example=1)
    subscription = Member(
        UUIDField, "The id of its subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    resourceGroup = Member(CharField, "Part of its Azure address.", example="default")
    name = Member(CharField, "Unique in its resource group, in any case.", example="nightly")
    location = Member(CharField, "A text of the caller's, such as a region; it has no effect.", example="westeurope")
    tags = Member(
        DictField,
        "Names and values of the caller's; null: there are none.",
        nullable=True,
        child=CharField(),
        example={"team": "billing"},
    )
    sku = Member(ChoiceField, "The plan, which sets the limits.", choices=Sku.values, example="Standard")
    state = Member(
        ChoiceField,
        "None of its jobs runs unless it is `enabled`; `deleted` while it is being deleted.",
        choices=JobCollection.State.values,
        example="enabled",
    )
    maxJobCount = Member(IntegerField, "A lower limit than the plan's; null: the plan's.", nullable=True, example=20)
    maxRecurrence = Member(
        RecurrenceQuotaSerializer,
        "The fastest recurrence that its jobs may have; null: the plan's.",
        lambda collection: collection if collection.max_recurrence_frequency else None,
        nullable=True,
    )
    revision = Member(IntegerField, "Counts its changes, also those of its state.", example=3)
    createdAt = Member(InstantField, "When it was made.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(InstantField, "When it was last changed.", example="2026-01-05T08:00:00Z")


@with_example({"name": "nightly", "subscription": "default", "state": "enabled"})
class CollectionFilter(FilterSet):
    name = NameFilter(max_length=NAME_LENGTH, help_text="The name, in any case.")
    subscription = TextFilter(
        method="filter_subscription", max_length=NAME_LENGTH, help_text="The id or the short name of a subscription."
    )
    state = WordFilter(choices=JobCollection.State.choices, help_text="Only those in this state.")

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
        description="`name` and `resourceGroup` rename it; runs of its jobs keep the name that they were made with.",
        request=CollectionReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def partial_update(self, request, pk):
        found = require_role(request, JobCollection, Role.OPERATOR, pk=pk)
        return update_collection(request, found, self.read(CollectionReplacement, fixed=fixed_in(found), partial=True))

    @extend_schema(
        operation_id="deleteCollection",
        summary="Delete a collection with its jobs",
        description="An operation does it, some jobs at a time; until it has ended the collection is `deleted` and"
        " takes no writes.  The history of its jobs stays for the retention time; what still waits is cancelled.",
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
