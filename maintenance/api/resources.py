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
    name = NameField(required=False, help_text="Its new name, as clients compare it, with case.")
    scopeGroup = TextField(
        max_length=TEXT_LENGTH,
        allow_blank=True,
        default="",
        help_text="Resources of one group see each other's notices; without one it is its own.",
    )
    labels = LabelsField(default=dict, help_text=f"At most {LABELS_MOST}.")


@with_example({"subscription": "00000000-0000-0000-0000-000000000001"})
class ResourceRequest(ResourceReplacement):
    name = NameField(help_text="As clients compare it, with case.")
    subscription = IdField(required=False, help_text="Needed by callers who may write to several.")


@extend_schema_serializer(component_name="MaintenanceResource")
class ResourceSerializer(Answer):
    id = Member(IntegerField, "The id in its address.", "pk", example=4)
    subscription = Member(
        UUIDField, "The id of its subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    name = Member(CharField, "As clients compare it, with case.", example="db-2")
    scopeGroup = Member(
        CharField, "Resources of one group see each other's notices; empty: it is its own.", example="databases"
    )
    labels = Member(LabelsField, "Names and values by which jobs choose resources.", example={"rack": "r7"})
    lastSeenAt = Member(InstantField, "When it last polled.", nullable=True, example="2026-01-05T08:00:00Z")
    listening = Member(BooleanField, "Whether it has polled within the last LISTENING_HOURS.", GIVEN, example=True)
    createdAt = Member(InstantField, "When it was made.", example="2026-01-01T09:30:00Z")


@extend_schema_serializer(component_name="NewMaintenanceResource")
class NewResourceSerializer(ResourceSerializer):
    token = Member(CharField, "Shown this once.", GIVEN, example="...")


class ResourceTokenSerializer(Answer):
    token = Member(CharField, "Shown this once.", GIVEN, example="...")


@with_example({"name": "db-2", "scopeGroup": "databases", "subscription": "00000000-0000-0000-0000-000000000001"})
class ResourceFilter(FilterSet):
    name = TextFilter(max_length=TEXT_LENGTH, help_text="The name, with case.")
    scopeGroup = TextFilter(field_name="scope_group", max_length=TEXT_LENGTH, help_text="The name of a scope group.")
    subscription = IdFilter(field_name="subscription", help_text="The id of a subscription.")


class Resources(ApiViewSet):
    """Machines and services to which maintenance is announced."""

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
        description="The answer has the token with which it polls, this once.  Repeated with its key, 200 answers the"
        " resource without it.",
        request=ResourceRequest,
        parameters=[IDEMPOTENCY_KEY, LOCATION],
        responses={200: ResourceSerializer, 201: NewResourceSerializer},
        examples=[
            OpenApiExample(
                "A database",
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
        description="With a new `name`, jobs that name it and notices that are not over follow; notices that are over"
        " keep the name that it had.",
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
        summary="Give a resource a new token",
        description="The one before is worth nothing from then on.  Repeated with its key, 200 answers the"
        " resource, and the token stays.",
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
