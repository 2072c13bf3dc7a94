"""/api/resources: machines and services to which maintenance is announced."""

from typing import Any

from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_serializer
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, IntegerField, UUIDField

from accounts.access import require_role, subscription_for
from accounts.examples import with_example
from accounts.models import Role
from api.answers import GIVEN, Answer, Member
from api.fields import Document, IdField, InstantField, TextField
from api.filters import IdFilter, TextFilter
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.viewsets import HTTP_410, LOCATION, NO_STORE, ApiViewSet, created
from maintenance import resources
from maintenance.api.fields import LabelsField, NameField
from maintenance.models import Resource
from maintenance.policies import LABELS_MOST, TEXT_LENGTH


@with_example({"name": "db-2", "scopeGroup": "databases", "labels": {"rack": "r7"}})
class ResourceReplacement(Document):
    name = NameField(required=False, help_text="The new name, case-sensitive.")
    scopeGroup = TextField(
        max_length=TEXT_LENGTH,
        allow_blank=True,
        default="",
        help_text=(
            "The scope group. Resources of the same group see each other's notices. If omitted, the resource sees"
            " its own notices only."
        ),
    )
    labels = LabelsField(
        default=dict, help_text=(f"Names and values by which jobs select resources, at most {LABELS_MOST}.")
    )


@with_example({"subscription": "00000000-0000-0000-0000-000000000001"})
class ResourceRequest(ResourceReplacement):
    name = NameField(help_text="The name, case-sensitive.")
    subscription = IdField(
        required=False,
        help_text=("The subscription. Required if the caller has write access to several subscriptions."),
    )


@extend_schema_serializer(component_name="MaintenanceResource")
class ResourceSerializer(Answer):
    id = Member(IntegerField, "The id of the resource.", "pk", example=4)
    subscription = Member(
        UUIDField, "The id of the subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    name = Member(CharField, "The name, case-sensitive.", example="db-2")
    scopeGroup = Member(
        CharField,
        "The scope group. Resources of the same group see each other's notices. Empty: the resource sees its"
        " own notices only.",
        example="databases",
    )
    labels = Member(LabelsField, "Names and values by which jobs select resources.", example={"rack": "r7"})
    lastSeenAt = Member(
        InstantField, "The time of the last poll, in UTC.", nullable=True, example="2026-01-05T08:00:00Z"
    )
    listening = Member(
        BooleanField,
        "Whether the resource has polled recently, within the time limit LISTENING_HOURS.",
        GIVEN,
        example=True,
    )
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")


@extend_schema_serializer(component_name="NewMaintenanceResource")
class NewResourceSerializer(ResourceSerializer):
    token = Member(CharField, "The token of the resource. It is returned only once.", GIVEN, example="...")


class ResourceTokenSerializer(Answer):
    token = Member(CharField, "The new token of the resource. It is returned only once.", GIVEN, example="...")


@with_example({"name": "db-2", "scopeGroup": "databases", "subscription": "00000000-0000-0000-0000-000000000001"})
class ResourceFilter(FilterSet):
    name = TextFilter(max_length=TEXT_LENGTH, help_text="Filters by name, case-sensitive.")
    scopeGroup = TextFilter(field_name="scope_group", max_length=TEXT_LENGTH, help_text="Filters by scope group.")
    subscription = IdFilter(field_name="subscription", help_text="Filters by the id of the subscription.")


class Resources(ApiViewSet):
    """Machines and services that maintenance can affect."""

    queryset = Resource.objects.order_by("id")
    serializer_class = ResourceSerializer
    filterset_class = ResourceFilter
    lookup_value_converter = "int"
    rows_at_once = 100  # each may have 50 labels

    @extend_schema(operation_id="listResources", summary="List resources")
    def list(self, request):
        return self.list_response(lambda rows: map(rendered_resource, rows))

    @extend_schema(operation_id="readResource", summary="Read a resource")
    def retrieve(self, request, pk):
        return resource_answered(request, pk)

    @extend_schema(
        operation_id="createResource",
        summary="Create a resource",
        description=(
            "The response contains the token with which the resource polls. It is returned only once. A repeated"
            " request with the same key returns 200 with the resource, without the token."
        ),
        request=ResourceRequest,
        parameters=[IDEMPOTENCY_KEY, LOCATION],
        responses={200: ResourceSerializer, 201: NewResourceSerializer},
        examples=[
            OpenApiExample(
                "A database server",
                {"name": "db-7", "scopeGroup": "databases", "labels": {"rack": "r7"}},
                request_only=True,
            )
        ],
    )
    @repeatable(lambda view, request, pk: resource_answered(request, pk))
    def create(self, request):
        wanted = self.read(ResourceRequest)
        subscription = subscription_for(request, wanted.get("subscription"))
        resource, token = resources.register(
            subscription, wanted["name"], wanted["scopeGroup"], wanted["labels"], timezone.now()
        )
        document = NewResourceSerializer.render(**rendered_resource(resource), token=token)
        return created(request, f"/api/resources/{resource.pk}", Response(document, headers=NO_STORE))

    @extend_schema(
        operation_id="patchResource",
        summary="Change a resource",
        description=(
            "After a change of `name`, jobs and open notices that name the resource use the new name. Notices that"
            " are completed or cancelled keep the old name."
        ),
        request=ResourceReplacement,
    )
    def partial_update(self, request, pk):
        resource = require_role(request, Resource, Role.OPERATOR, pk=pk)
        fixed = {"subscription": resource.subscription_id}
        wanted = self.read(ResourceReplacement, fixed=fixed, partial=True)
        names = {"name": "name", "scopeGroup": "scope_group", "labels": "labels"}
        changes = {names[member]: value for member, value in wanted.items()}
        return Response(rendered_resource(resources.change(resource, **changes)))

    @extend_schema(operation_id="deleteResource", summary="Delete a resource", responses={204: HTTP_410})
    def destroy(self, request, pk):
        resources.unregister(require_role(request, Resource, Role.OPERATOR, pk=pk))
        return Response(status=204)

    @extend_schema(
        operation_id="renewResourceToken",
        summary="Replace the token of a resource",
        description=(
            "The previous token becomes invalid immediately. A repeated request with the same key returns 200 with"
            " the resource, and does not change the token."
        ),
        request=None,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: ResourceSerializer, 201: ResourceTokenSerializer},
    )
    @action(detail=True, methods=["post"])
    @repeatable(lambda view, request, made, pk: resource_answered(request, pk), id_member=None)
    def token(self, request, pk):
        token = resources.new_token(require_role(request, Resource, Role.OPERATOR, pk=pk))
        return Response(ResourceTokenSerializer.render(token=token), 201, headers=NO_STORE)


def resource_answered(request: Request, pk: object) -> Response:
    return Response(rendered_resource(require_role(request, Resource, pk=pk)))


def rendered_resource(resource: Resource) -> dict[str, Any]:
    return ResourceSerializer.render(resource, listening=resource.is_listening(timezone.now()))
