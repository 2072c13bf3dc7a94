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
    "error": {
        "code": "WorkerLost",
        "message": (
            "The worker that carried out the operation stopped. The steps that it had not completed were not carried"
            " out."
        ),
    },
    "finishedAt": "2026-01-05T08:02:15Z",
}
EXAMPLES = [
    OpenApiExample("A running operation", EXAMPLE, response_only=True),
    OpenApiExample("Failed", {**EXAMPLE, **FAILURE}, response_only=True),
]
RETRY_AFTER = OpenApiParameter(
    "Retry-After",
    {"type": "integer", "example": RETRY_AFTER_S},
    OpenApiParameter.HEADER,
    description="While the operation is not finished: the number of seconds to wait before the next request.",
    response=[200, 202],
)
LOCATION_OF_OPERATION = OpenApiParameter(
    "Location",
    {"type": "string", "format": "uri", "example": f"https://quando.example.org/api/operations/{EXAMPLE['id']}"},
    OpenApiParameter.HEADER,
    description="The URL of the operation.",
    response=[202],
)
ACCEPTED_HEADERS = [LOCATION_OF_OPERATION, RETRY_AFTER]


class OperationErrorSerializer(Answer):
    code = Member(CharField, "The error code, for programs.", "error_code", example="WorkerLost")
    message = Member(
        CharField,
        "The error message, for people.",
        "error_message",
        example=(
            "The worker that carried out the operation stopped. The steps that it had not completed were not"
            " carried out."
        ),
    )


@with_example(EXAMPLE)
class OperationSerializer(Answer):
    id = Member(UUIDField, "The id of the operation.", "pk")
    subscription = Member(UUIDField, "The id of the subscription.", "subscription_id")
    kind = Member(CharField, "The kind of operation, such as `collection.delete`.")
    target = Member(
        CharField,
        "The target of the operation: a collection as resource group, slash and name, or the version of the"
        " time zone data that is applied.",
    )
    state = Member(
        ChoiceField,
        "The state. `succeeded`, `failed` and `canceled` are final.",
        choices=Operation.State.values,
    )
    percent = Member(IntegerField, "The progress in percent.", min_value=0, max_value=100)
    error = Member(
        OperationErrorSerializer,
        "The error of a failed or cancelled operation.",
        lambda operation: operation if operation.error_code else None,
        nullable=True,
    )
    askedBy = Member(
        CharField,
        "The user who requested the operation; null: the user was deleted.",
        lambda operation: operation.requested_by and operation.requested_by.get_username(),
        nullable=True,
    )
    correlationId = Member(
        CharField,
        "The caller's `x-ms-correlation-request-id`, or the `x-ms-request-id` of the request if the caller did"
        " not send one.",
    )
    clientRequestId = Member(CharField, "The caller's `x-ms-client-request-id`, or empty.")
    cancelAskedAt = Member(
        InstantField,
        "The time at which cancellation was requested, in UTC. The operation ends before its next step.",
        "cancel_requested_at",
        nullable=True,
    )
    createdAt = Member(InstantField, "The time at which the operation was accepted, in UTC.")
    startedAt = Member(InstantField, "The time at which a worker first started the operation, in UTC.", nullable=True)
    finishedAt = Member(
        InstantField,
        "The time at which the operation ended, in UTC. The operation is kept for at least one day after its end.",
        nullable=True,
    )


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
    state = WordFilter(choices=Operation.State.choices, help_text="Filters by state.")
    kind = TextFilter(max_length=64, help_text="Filters by the kind of operation, such as `collection.delete`.")
    target = TextFilter(method="filter_target", max_length=500, help_text="Filters by the target, not case-sensitive.")
    subscription = IdFilter(help_text="Filters by the id of the subscription.")

    def filter_target(self, rows: OperationQuerySet, name: str, value: str) -> OperationQuerySet:
        return rows.about(value)


OperationFilter.base_filters["from"] = InstantFilter(
    field_name="created_at", lookup_expr="gte", help_text="Only operations that were accepted at or after this time."
)
OperationFilter.base_filters["to"] = InstantFilter(
    field_name="created_at", lookup_expr="lt", help_text="Only operations that were accepted before this time."
)


class OperationFinished(APIException):
    """The operation is over, and its end never changes."""

    status_code = 409
    default_code = "conflict"


class Operations(HistoryViewSet):
    """Long requests. An operation can be read from its acceptance until at least one day after its end."""

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
        description=(
            "While the operation is not finished, `Retry-After` has the number of seconds to wait before the next"
            " request."
        ),
        parameters=[RETRY_AFTER],
        examples=EXAMPLES,
    )
    def retrieve(self, request, pk):
        return operation_response(require_role(request, self.get_queryset(), pk=pk))

    @extend_schema(
        operation_id="cancelOperation",
        summary="Cancel an operation",
        description=(
            "The operation ends before its next step, or immediately if no worker has started it. Completed steps"
            " are reverted as far as possible. An operation that recalculates stored fire times cannot be cancelled"
            " (409)."
        ),
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
            raise OperationFinished(f"the operation has already ended: {operation.state}")
        return operation_response(self.get_queryset().get(pk=pk))


# The answer of other views that accept an operation

ACCEPTED = OpenApiResponse(
    OperationSerializer,
    description=(
        "The request was accepted and is being carried out. The `Location` header has the URL of the operation."
    ),
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
