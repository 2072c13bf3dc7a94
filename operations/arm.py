"""Operations as the resource manager tells them: a status to poll, a result to poll, and a way to cancel.

The addresses are below the subscription, so that they outlive what an operation is about.
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
from operations.models import Operation
from operations.resource_manager import GUID, PROVIDER, SUBSCRIPTION, ArmView, absolute, address, parameter
from operations.tracking import cancel

RETRY_AFTER_S = 1  # the public cloud asks for 10 or more; the work here takes seconds
STATUSES = {  # clients know an end by these very words; every other word is going on
    Operation.State.ACCEPTED: "Accepted",
    Operation.State.RUNNING: "Running",
    Operation.State.SUCCEEDED: "Succeeded",
    Operation.State.FAILED: "Failed",
    Operation.State.CANCELED: "Canceled",
}


class OperationEnded(APIException):
    """The error that the operation ended with, as its synchronous form would have answered."""

    status_code = 409


def accepted(request: Request, operation: Operation) -> Response:
    """202 without a body, which some clients would take for the status of the operation."""
    return going_on(request, operation, **{"Azure-AsyncOperation": "operations", "Location": "operationResults"})


def going_on(request: Request, operation: Operation, **kinds: str) -> Response:
    """202 with headers that hold addresses of the operation, each of the kind given."""
    version = parameter(request, "api-version")
    addresses = {
        header: absolute(request, f"{path_of(operation, kind)}?api-version={version}") for header, kind in kinds.items()
    }
    return Response(status=202, headers={**addresses, "Retry-After": str(RETRY_AFTER_S)})


def path_of(operation: Operation, kind: str) -> str:
    place = f"/subscriptions/{operation.subscription_id}/providers/{PROVIDER}/locations/{operation.place}"
    return f"{place}/{kind}/{operation.pk}"


class OperationView(ArmView):
    def find_operation(self, role: Role = Role.READER) -> Operation:
        if not GUID.fullmatch(self.kwargs["operation"]):
            raise Http404
        found = {"pk": self.kwargs["operation"], "subscription": self.subscription_id}
        operation = access.require(self.request, Operation, role, **found)
        if operation.place != self.kwargs["place"].lower():
            raise Http404
        return operation


class Status(OperationView):
    def get(self, request, **kwargs):
        operation = self.find_operation()
        waits = {"Retry-After": str(RETRY_AFTER_S)} if operation.is_open else {}
        return Response(render(operation), headers=waits)


class Result(OperationView):
    def get(self, request, **kwargs):
        operation = self.find_operation()
        if operation.is_open:
            return going_on(request, operation, Location="operationResults")
        if operation.state == Operation.State.SUCCEEDED:
            return Response(status=204)
        raise OperationEnded(operation.error_message, operation.error_code)

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        if isinstance(exception, OperationEnded):
            response.data["error"]["code"] = exception.detail.code
        return response


class Cancellation(OperationView):
    """Ask for the end of an operation: 202 while it goes on, 409 once it is over."""

    def post(self, request, **kwargs):
        operation = self.find_operation(Role.OPERATOR)
        if not cancel(operation, timezone.now()):
            operation.refresh_from_db()
            raise OperationEnded(f"it is {operation.state} already")
        return accepted(request, operation)


def render(operation: Operation) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": path_of(operation, "operations"),
        "name": str(operation.pk),
        "status": STATUSES[Operation.State(operation.state)],
        "startTime": instant(operation.started_at or operation.created_at),
        "percentComplete": operation.percent,
    }
    if operation.finished_at:
        document["endTime"] = instant(operation.finished_at)
    if operation.error_code:
        document["error"] = {"code": operation.error_code, "message": operation.error_message}
    return document


def instant(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


PLACE = f"{SUBSCRIPTION}/providers/{PROVIDER}/locations/(?P<place>[^/]+)"
OPERATION = "(?P<operation>[^/]+)"

urlpatterns = [
    address(f"{PLACE}/operations/{OPERATION}", Status.as_view()),
    address(f"{PLACE}/operationResults/{OPERATION}", Result.as_view()),
    address(f"{PLACE}/operations/{OPERATION}/cancel", Cancellation.as_view()),
]
