"""Operations in the protocol of the resource manager: a status to poll, a result to poll, and a cancellation.

The addresses are below the subscription, so that they stay valid when the target of the operation is deleted.
Source: the published contract of asynchronous operations; the published client library's poller.
"""

from datetime import datetime
from typing import Any

from django.http import Http404
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import access
from accounts.models import Role
from api.links import absolute
from operations.arm_base import GUID, PROVIDER, SUBSCRIPTION, ArmView, address, parameter
from operations.models import Operation
from operations.service import NotCancellableError, cancel

RETRY_AFTER_S = 1  # the public cloud asks for 10 or more; the work here takes seconds
STATUSES = {  # clients recognise an end by exactly these words; they take every other word for an open operation
    Operation.State.ACCEPTED: "Accepted",
    Operation.State.RUNNING: "Running",
    Operation.State.SUCCEEDED: "Succeeded",
    Operation.State.FAILED: "Failed",
    Operation.State.CANCELED: "Canceled",
}


class OperationEnded(APIException):
    """The error with which the operation ended, in the form of the answer to a synchronous request."""

    status_code = 409


def accepted_response(request: Request, operation: Operation) -> Response:
    """Return 202 without a body, because some clients would take a body for the status of the operation."""
    return accepted_with_headers(
        request, operation, **{"Azure-AsyncOperation": "operations", "Location": "operationResults"}
    )


def accepted_with_headers(request: Request, operation: Operation, **kinds: str) -> Response:
    """Return 202 with one header for each of `kinds`: its value is the address of that kind of the operation."""
    version = parameter(request, "api-version")
    addresses = {
        header: absolute(request, f"{path_of(operation, kind)}?api-version={version}") for header, kind in kinds.items()
    }
    return Response(status=202, headers={**addresses, "Retry-After": str(RETRY_AFTER_S)})


def path_of(operation: Operation, kind: str) -> str:
    location = f"/subscriptions/{operation.subscription_id}/providers/{PROVIDER}/locations/{operation.location}"
    return f"{location}/{kind}/{operation.pk}"


class OperationView(ArmView):
    def find_operation(self, role: Role = Role.READER) -> Operation:
        if not GUID.fullmatch(self.kwargs["operation"]):
            raise Http404
        lookup = {"pk": self.kwargs["operation"], "subscription": self.subscription_id}
        operation = access.require_role(self.request, Operation, role, **lookup)
        if operation.location != self.kwargs["place"].lower():
            raise Http404
        return operation


class Status(OperationView):
    def get(self, request, **kwargs):
        operation = self.find_operation()
        headers = {"Retry-After": str(RETRY_AFTER_S)} if operation.is_open else {}
        return Response(render(operation), headers=headers)


class Result(OperationView):
    def get(self, request, **kwargs):
        operation = self.find_operation()
        if operation.is_open:
            return accepted_with_headers(request, operation, Location="operationResults")
        if operation.state == Operation.State.SUCCEEDED:
            return Response(status=204)
        raise OperationEnded(operation.error_message, operation.error_code)

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        if isinstance(exception, OperationEnded):
            response.data["error"]["code"] = exception.detail.code
        return response


class Cancellation(OperationView):
    """Request the cancellation of an operation: 202 while it is open, 409 if it is over or cannot be cancelled."""

    def post(self, request, **kwargs):
        operation = self.find_operation(Role.OPERATOR)
        try:
            is_open = cancel(operation, timezone.now())
        except NotCancellableError as error:
            raise OperationEnded(str(error)) from None
        if not is_open:
            operation.refresh_from_db()
            raise OperationEnded(f"the operation has already ended: {operation.state}")
        return accepted_response(request, operation)


def render(operation: Operation) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": path_of(operation, "operations"),
        "name": str(operation.pk),
        "status": STATUSES[Operation.State(operation.state)],
        "startTime": render_instant(operation.started_at or operation.created_at),
        "percentComplete": operation.percent,
    }
    if operation.finished_at:
        document["endTime"] = render_instant(operation.finished_at)
    if operation.error_code:
        document["error"] = {"code": operation.error_code, "message": operation.error_message}
    return document


def render_instant(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


LOCATION = f"{SUBSCRIPTION}/providers/{PROVIDER}/locations/(?P<place>[^/]+)"
OPERATION = "(?P<operation>[^/]+)"

urlpatterns = [
    address(f"{LOCATION}/operations/{OPERATION}", Status.as_view()),
    address(f"{LOCATION}/operationResults/{OPERATION}", Result.as_view()),
    address(f"{LOCATION}/operations/{OPERATION}/cancel", Cancellation.as_view()),
]
