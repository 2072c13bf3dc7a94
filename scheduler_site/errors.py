"""Every refusal as one body: {"error": {"code", "message", "target"}}, with `details` when several members are wrong.

`handle` is the exception handler of every API view.  A view that speaks somebody else's protocol gives `error_codes`,
a dict from status to that protocol's code.  Whatever is not named here is a bug of ours: it is logged, and answered
without detail by `server_error`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as ModelValidationError
from django.db import DataError
from django.http import Http404, JsonResponse, UnreadablePostError
from django.utils import timezone
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.serializers import as_serializer_error

from calendars.errors import CalendarError
from calendars.graph import errors as graph
from jobs.errors import Conflict, JobError
from maintenance.errors import MaintenanceError
from recurrence.wire import WireError

FLAT_PREFIX = "/v1/mint/"  # below it, a body is the code and the message alone, as `triggers.mint` answers them
GRAPH_PREFIX = "/v1.0/"  # below it, a body is as `calendars.graph.errors` words it
POLLED_PREFIXES = ("/metadata/", "/r/")  # below these, an error is one text, as `maintenance.metadata` answers it
API_PREFIXES = ("/api/", "/subscriptions/", FLAT_PREFIX, GRAPH_PREFIX, *POLLED_PREFIXES)  # here, no answer is a page
MESSAGE_LENGTH = 200  # characters: a message may show what was sent, but not send all of it back
CALENDAR_STATUSES = {"not_found": 404, "is_default": 409, "changed_since": 412}
CODES = {400: "bad_request", 403: "forbidden", 404: "not_found", 415: "unsupported_media_type", 500: "internal_error"}


@dataclass(frozen=True, slots=True)
class Fault:
    code: str
    message: str
    target: str | None = None

    def body(self) -> dict:
        return {"code": self.code, "message": shortened(self.message), "target": self.target}


def handle(exception: Exception, context: Mapping) -> Response | None:
    """Answer for an exception of an API view; None when it is a bug, which Django then logs and answers."""
    status, faults, headers = understood(exception)
    if not status:
        return None
    codes = getattr(context.get("view"), "error_codes", {})
    return Response(body_of(faults, codes.get(status)), status, headers=headers)


def understood(exception: Exception) -> tuple[int, list[Fault], dict[str, str]]:
    """The status, what is wrong (the gravest first) and further headers; status 0 when the exception is a bug."""
    match exception:
        case WireError():
            return 400, [Fault(exception.code, exception.message, exception.path or None)], {}
        case JobError():
            status = 409 if isinstance(exception, Conflict) else 400
            return status, [Fault(exception.code, exception.message, exception.path)], {}
        case CalendarError():
            status = CALENDAR_STATUSES.get(exception.code, 400)
            return status, [Fault(exception.code, exception.message, exception.path)], {}
        case MaintenanceError():
            status = 409 if exception.code == "conflict" else 400
            return status, [Fault(exception.code, exception.message, exception.path)], {}
        case ModelValidationError():
            return 400, list(flattened(as_serializer_error(exception))), {}
        case Http404() | exceptions.NotFound() | ObjectDoesNotExist():  # the last: gone since we looked
            return 404, [Fault("not_found", "there is nothing here, or nothing that you may see")], {}
        case PermissionDenied():
            return 403, [Fault("forbidden", str(exception) or "you may not do this")], {}
        case exceptions.APIException():
            return exception.status_code, list(flattened(exception.detail)), headers_of(exception)
        case RequestDataTooBig():
            return 413, [Fault("too_large", "the request is longer than any to this server may be")], {}
        case SuspiciousOperation() | UnreadablePostError():
            return 400, [Fault("bad_request", "the request cannot be read")], {}
        case DataError():
            return 400, [Fault("invalid", "a value is of a size or form that cannot be stored")], {}
    return 0, [], {}


def headers_of(exception: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait_s := getattr(exception, "wait", None):
        headers["Retry-After"] = str(ceil(wait_s))
    return headers


def body_of(faults: list[Fault], code: str | None = None) -> dict:
    first = faults[0].body()
    if code:
        first["code"] = code
    if len(faults) > 1:
        first["details"] = [fault.body() for fault in faults]
    return {"error": first}


def flattened(detail, path: str = "") -> Iterator[Fault]:
    """The leaves of a serializer's errors, each with the path of its member."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from flattened(inner, path if name == "non_field_errors" else joined(path, name))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from flattened(inner, f"{path}[{index}]" if nested else path)
    else:
        yield Fault(getattr(detail, "code", "invalid"), str(detail), path or None)


def joined(path: str, name: object) -> str:
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else str(name)


def shortened(message: str) -> str:
    return message if len(message) <= MESSAGE_LENGTH else message[: MESSAGE_LENGTH - 1] + "…"


# Django's own handlers: for addresses that no view answers, and for bugs


def is_api(request) -> bool:
    return f"{request.path_info.lower()}/".startswith(API_PREFIXES)


def is_polled(request) -> bool:
    """Whether machines ask here for announced maintenance: also after the slash that ends a client's base address."""
    return f"/{request.path_info.lower().lstrip('/')}/".startswith(POLLED_PREFIXES)


def answer(request, status: int, message: str) -> JsonResponse:
    body: dict = {"error": Fault(CODES[status], message).body()}
    path = f"{request.path_info.lower()}/"
    if path.startswith(FLAT_PREFIX):
        body = {"code": CODES[status], "message": message}
    elif path.startswith(GRAPH_PREFIX):
        body = graph.body(graph.OF_STATUS[status], message, request, timezone.now())
    elif is_polled(request):
        body = {"error": message}
    return JsonResponse(body, status=status)


def bad_request(request, exception):
    if not is_api(request):
        return defaults.bad_request(request, exception)
    return answer(request, 400, "the request cannot be read")


def permission_denied(request, exception):
    if not is_api(request):
        return defaults.permission_denied(request, exception)
    return answer(request, 403, "you may not do this")


def page_not_found(request, exception):
    if not is_api(request):
        return defaults.page_not_found(request, exception)
    return answer(request, 404, "there is nothing here, or nothing that you may see")


def server_error(request):
    if not is_api(request):
        return defaults.server_error(request)
    return answer(request, 500, "something is wrong here; the log has more under this answer's x-ms-request-id")
