"""/api/resources"""

from typing import Any

from django.utils import timezone
from django_filters import CharFilter, FilterSet, UUIDFilter
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from accounts.access import require, subscription_for
from accounts.fields import InstantField, TextField, read
from accounts.models import Role
from accounts.viewsets import GONE, NO_STORE, ApiViewSet, created
from maintenance import registering
from maintenance.api.fields import LabelsField, NameField
from maintenance.models import Resource
from maintenance.wishes import LABELS_MOST, TEXT_LENGTH


class ResourceReplacement(serializers.Serializer):
    scopeGroup = TextField(
        max_length=TEXT_LENGTH,
        allow_blank=True,
        default="",
        help_text="Resources of one group see each other's notices; without one it is its own.",
    )
    labels = LabelsField(default=dict, help_text=f"At most {LABELS_MOST}.")


class ResourceRequest(ResourceReplacement):
    name = NameField(help_text="As clients compare it, with case.")
    subscription = serializers.UUIDField(required=False, help_text="Needed by callers who may write to several.")


class ResourceSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    subscription = serializers.UUIDField()
    name = serializers.CharField()
    scopeGroup = serializers.CharField()
    labels = LabelsField()
    lastSeenAt = InstantField(allow_null=True, help_text="When it last polled.")
    listening = serializers.BooleanField(help_text="Whether it has polled within the last LISTENING_HOURS.")
    createdAt = InstantField()


class NewResourceSerializer(ResourceSerializer):
    token = serializers.CharField(help_text="Shown this once.")


class ResourceTokenSerializer(serializers.Serializer):
    token = serializers.CharField(help_text="Shown this once.")


class ResourceFilter(FilterSet):
    name = CharFilter(max_length=TEXT_LENGTH)
    scopeGroup = CharFilter(field_name="scope_group", max_length=TEXT_LENGTH)
    subscription = UUIDFilter(field_name="subscription")


class Resources(ApiViewSet):
    """Machines and services to which maintenance is announced."""

    queryset = Resource.objects.order_by("id")
    serializer_class = ResourceSerializer
    filterset_class = ResourceFilter
    lookup_value_converter = "int"

    @extend_schema(operation_id="listResources", summary="List resources")
    def list(self, request):
        return self.get_paginated_response([rendered_resource(row) for row in self.page()])

    @extend_schema(operation_id="readResource", summary="Read a resource")
    def retrieve(self, request, pk):
        return Response(rendered_resource(require(request, Resource, pk=pk)))

    @extend_schema(
        operation_id="createResource",
        summary="Create a resource",
        description="The answer has the token with which it polls, this once.",
        request=ResourceRequest,
        responses={201: NewResourceSerializer},
        examples=[
            OpenApiExample(
                "A database",
                {"name": "db-2", "scopeGroup": "databases", "labels": {"rack": "r7"}},
                request_only=True,
            )
        ],
    )
    def create(self, request):
        wanted = read(ResourceRequest, request.data)
        subscription = subscription_for(request, wanted.get("subscription"))
        resource, token = registering.register(
            subscription, wanted["name"], wanted["scopeGroup"], wanted["labels"], timezone.now()
        )
        document = {**rendered_resource(resource), "token": token}
        return created(f"/api/resources/{resource.pk}", Response(document, headers=NO_STORE))

    @extend_schema(operation_id="patchResource", summary="Change a resource", request=ResourceReplacement)
    def partial_update(self, request, pk):
        resource = require(request, Resource, Role.OPERATOR, pk=pk)
        wanted = read(ResourceReplacement, request.data, partial=True)
        names = {"scopeGroup": "scope_group", "labels": "labels"}
        changes = {names[member]: value for member, value in wanted.items()}
        return Response(rendered_resource(registering.change(resource, **changes)))

    @extend_schema(operation_id="deleteResource", summary="Delete a resource", responses={204: GONE})
    def destroy(self, request, pk):
        registering.remove(require(request, Resource, Role.OPERATOR, pk=pk))
        return Response(status=204)

    @extend_schema(
        operation_id="renewResourceToken",
        summary="Give a resource a new token",
        description="The one before is worth nothing from then on.",
        request=None,
        responses={201: ResourceTokenSerializer},
    )
    @action(detail=True, methods=["post"])
    def token(self, request, pk):
        token = registering.new_token(require(request, Resource, Role.OPERATOR, pk=pk))
        return Response({"token": token}, 201, headers=NO_STORE)


def rendered_resource(resource: Resource) -> dict[str, Any]:
    return {
        "id": resource.pk,
        "subscription": resource.subscription_id,
        "name": resource.name,
        "scopeGroup": resource.scope_group,
        "labels": resource.labels,
        "lastSeenAt": resource.last_seen_at,
        "listening": resource.is_listening(timezone.now()),
        "createdAt": resource.created_at,
    }
