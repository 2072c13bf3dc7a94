"""/api/operations: operations in our own REST API."""

from typing import Any

from django.urls import include, path
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.serializers import CharField, ChoiceField, IntegerField, UUIDField

from accounts.access import require_role
from accounts.examples import with_example
from accounts.models import Role
from api.answers import Answer, Member
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


class OperationErrorSerializer(Answer):
    code = Member(CharField, "The kind of failure, for programs.", "error_code", example="WorkerLost")
    message = Member(
        CharField,
        "What happened, for people.",
        "error_message",
        example="The worker that was at it has died; what it had not done is not done.",
    )


@with_example(EXAMPLE)
class OperationSerializer(Answer):
    id = Member(UUIDField, "The id in its address.", "pk")
    subscription = Member(UUIDField, "The id of the subscription that it works in.", "subscription_id")
    kind = Member(CharField, "What is done, such as `collection.delete`.")
    target = Member(
        CharField,
        "What it is done to: a collection as its resource group, a slash, its name; or the version of the"
        " time zone data that it applies.",
    )
    state = Member(
        ChoiceField,
        "`succeeded`, `failed` and `canceled` are its end and never change.",
        choices=Operation.State.values,
    )
    percent = Member(IntegerField, "How much of it is done.", min_value=0, max_value=100)
    error = Member(
        OperationErrorSerializer,
        "Why it failed, or that it was canceled.",
        lambda operation: operation if operation.error_code else None,
        nullable=True,
    )
    askedBy = Member(
        CharField,
        "The user who asked for it; null when they are gone.",
        lambda operation: operation.requested_by and operation.requested_by.get_username(),
        nullable=True,
    )
    correlationId = Member(
        CharField, "The caller's `x-ms-correlation-request-id`, or the request's `x-ms-request-id` without one."
    )
    clientRequestId = Member(CharField, "The caller's `x-ms-client-request-id`, or empty.")
    cancelAskedAt = Member(InstantField, "It ends before its next step.", "cancel_requested_at", nullable=True)
    createdAt = Member(InstantField, "When it was accepted.")
    startedAt = Member(InstantField, "When a worker first took it up.", nullable=True)
    finishedAt = Member(InstantField, "It is kept for a day or longer after this.", nullable=True)


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
        return self.list_response(lambda rows: map(OperationSerializer.render, rows))

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
    return Response(OperationSerializer.render(operation), status, headers=headers)


router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("operations", Operations, basename="operation")

urlpatterns = [path("", include(router.urls))]
