"""/api/operations: operations in our own REST API."""

from typing import Any

from django.urls import include, path
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from accounts.access import require_role
from accounts.examples import with_example
from accounts.models import Role
from api.errors import Conflict
from api.fields import InstantField
from api.filters import IdFilter, InstantFilter, TextFilter, WordFilter
from api.links import absolute
from api.viewsets import HistoryViewSet
from operations.models import Operation, OperationQuerySet
from operations.service import NotCancellableError, cancel

RETRY_AFTER_S = 1
EXAMPLE: dict[str, Any] = {
    "id": "7b0a5c1e-0d1f-4f5c-9a57-8b1d6c2f3e10",
    "subscription": "00000000-0000-0000-0000-000000000001",
    "kind": "collection.delete",
    "target": "default/nightly",
    "state": "running",
    "percent": 40,
    "error": None,
    "askedBy": "ada",
    "correlationId": "0d6a3f6e-5b0e-4c53-8d6c-1f1f6a1f9b77",
    "clientRequestId": "",
    "cancelAskedAt": None,
    "createdAt": "2026-01-05T08:00:00Z",
    "startedAt": "2026-01-05T08:00:00.250000Z",
    "finishedAt": None,
}
FAILURE = {
    "state": "failed",
    "error": {"code": "WorkerLost", "message": "The worker that was at it has died; what it had not done is not done."},
    "finishedAt": "2026-01-05T08:02:15Z",
}
EXAMPLES = [
    OpenApiExample("Going on", EXAMPLE, response_only=True),
    OpenApiExample("Failed", {**EXAMPLE, **FAILURE}, response_only=True),
]
RETRY_AFTER = OpenApiParameter(
    "Retry-After",
    {"type": "integer", "example": RETRY_AFTER_S},
    OpenApiParameter.HEADER,
    description="While it goes on: in how many seconds it is worth asking again.",
    response=[200, 202],
)
LOCATION_OF_OPERATION = OpenApiParameter(
    "Location",
    {"type": "string", "format": "uri", "example": f"https://quando.example.org/api/operations/{EXAMPLE['id']}"},
    OpenApiParameter.HEADER,
    description="The address of the operation.",
    response=[202],
)
ACCEPTED_HEADERS = [LOCATION_OF_OPERATION, RETRY_AFTER]


@with_example(
    {"code": "WorkerLost", "message": "The worker that was at it has died; what it had not done is not done."}
)
class OperationErrorSerializer(serializers.Serializer):
    code = serializers.CharField(help_text="The kind of failure, for programs.")
    message = serializers.CharField(help_text="What happened, for people.")


@with_example(EXAMPLE)
class OperationSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="The id in its address.")
    subscription = serializers.UUIDField(help_text="The id of the subscription that it works in.")
    kind = serializers.CharField(help_text="What is done, such as `collection.delete`.")
    target = serializers.CharField(
        help_text="What it is done to: a collection as its resource group, a slash, its name; or the version of the"
        " time zone data that it applies."
    )
    state = serializers.ChoiceField(
        Operation.State.values, help_text="`succeeded`, `failed` and `canceled` are its end and never change."
    )
    percent = serializers.IntegerField(min_value=0, max_value=100, help_text="How much of it is done.")
    error = OperationErrorSerializer(allow_null=True, help_text="Why it failed, or that it was canceled.")
    askedBy = serializers.CharField(allow_null=True, help_text="The user who asked for it; null when they are gone.")
    correlationId = serializers.CharField(
        help_text="The caller's `x-ms-correlation-request-id`, or the request's `x-ms-request-id` without one."
    )
    clientRequestId = serializers.CharField(help_text="The caller's `x-ms-client-request-id`, or empty.")
    cancelAskedAt = InstantField(allow_null=True, help_text="It ends before its next step.")
    createdAt = InstantField(help_text="When it was accepted.")
    startedAt = InstantField(allow_null=True, help_text="When a worker first took it up.")
    finishedAt = InstantField(allow_null=True, help_text="It is kept for a day or longer after this.")


@with_example(
    {
        "state": "running",
        "kind": "collection.delete",
        "target": "default/nightly",
        "subscription": "00000000-0000-0000-0000-000000000001",
        "from": "2026-01-05T08:00:00Z",
        "to": "2026-01-06T08:00:00Z",
    }
)
class OperationFilter(FilterSet):
    state = WordFilter(choices=Operation.State.choices, help_text="Only those in this state.")
    kind = TextFilter(max_length=64, help_text="What is done, such as `collection.delete`.")
    target = TextFilter(method="filter_target", max_length=500, help_text="What it is done to, in any case.")
    subscription = IdFilter(help_text="The id of a subscription.")

    def filter_target(self, rows: OperationQuerySet, name: str, value: str) -> OperationQuerySet:
        return rows.about(value)


OperationFilter.base_filters["from"] = InstantFilter(
    field_name="created_at", lookup_expr="gte", help_text="Only what was asked for at or after this instant."
)
OperationFilter.base_filters["to"] = InstantFilter(
    field_name="created_at", lookup_expr="lt", help_text="Only what was asked for before this instant."
)


class OperationFinished(APIException):
    """The operation is over, and its end never changes."""

    status_code = 409
    default_code = "conflict"


class Operations(HistoryViewSet):
    """Long requests, which can be read from their acceptance until a day or longer after their end."""

    queryset = Operation.objects.select_related("requested_by").order_by("-created_at", "-id")
    serializer_class = OperationSerializer
    filterset_class = OperationFilter
    lookup_value_converter = "uuid"

    @extend_schema(operation_id="listOperations", summary="List operations")
    def list(self, request):
        return self.list_response(lambda rows: map(rendered_operation, rows))

    @extend_schema(
        operation_id="readOperation",
        summary="Read an operation",
        description="While it goes on, `Retry-After` says in how many seconds it is worth asking again.",
        parameters=[RETRY_AFTER],
        examples=EXAMPLES,
    )
    def retrieve(self, request, pk):
        return operation_response(require_role(request, self.get_queryset(), pk=pk))

    @extend_schema(
        operation_id="cancelOperation",
        summary="Cancel an operation",
        description="It ends before its next step, or at once when no worker is at it; what was begun is put back as"
        " far as that is possible.  An operation that recomputes stored fire times cannot be cancelled (409).",
        request=None,
        parameters=[RETRY_AFTER],
        examples=[OpenApiExample("Asked", EXAMPLE | {"cancelAskedAt": "2026-01-05T08:00:01Z"}, response_only=True)],
    )
    @action(detail=True, methods=["post"])
    def cancel(self, request, pk):
        operation = require_role(request, self.get_queryset(), Role.OPERATOR, pk=pk)
        try:
            is_open = cancel(operation, timezone.now())
        except NotCancellableError as error:
            raise Conflict(str(error), code="not_cancellable") from None
        if not is_open:
            operation.refresh_from_db()
            raise OperationFinished(f"the operation is {operation.state} already")
        return operation_response(self.get_queryset().get(pk=pk))


# The answer of other views that accept an operation

ACCEPTED = OpenApiResponse(
    OperationSerializer,
    description="It is accepted, and being done: follow it at the address in `Location`.",
    examples=EXAMPLES[:1],
)


def accepted_response(request: Request, operation: Operation) -> Response:
    return operation_response(operation, 202, Location=absolute(request, f"/api/operations/{operation.pk}"))


def operation_response(operation: Operation, status: int = 200, **headers: str) -> Response:
    if operation.is_open:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return Response(rendered_operation(operation), status, headers=headers)


def rendered_operation(operation: Operation) -> dict[str, Any]:
    error = {"code": operation.error_code, "message": operation.error_message}
    return {
        "id": operation.pk,
        "subscription": operation.subscription_id,
        "kind": operation.kind,
        "target": operation.target,
        "state": operation.state,
        "percent": operation.percent,
        "error": error if operation.error_code else None,
        "askedBy": operation.requested_by and operation.requested_by.get_username(),
        "correlationId": operation.correlation_id,
        "clientRequestId": operation.client_request_id,
        "cancelAskedAt": operation.cancel_requested_at,
        "createdAt": operation.created_at,
        "startedAt": operation.started_at,
        "finishedAt": operation.finished_at,
    }


router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("operations", Operations, basename="operation")

urlpatterns = [path("", include(router.urls))]
