"""Errors as one body: {"error": {"code", "message", "target"}}, with `details` when several members are wrong.

`handle` is the exception handler of every API view.  A view for another product's protocol has `error_codes`, a dict
from status to the code of that protocol.  An exception that is not listed here is a bug: it is logged, and
`server_error` answers without details.
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

from accounts.errors import TooManyTokens
from api.errors import RequestError
from calendars.graph import errors as graph
from recurrence.wire import WireError

FLAT_PREFIX = "/v1/mint/"  # below it, a body has only the code and the message, as in `triggers.mint.api`
GRAPH_PREFIX = "/v1.0/"  # below it, a body has the form of `calendars.graph.errors`
POLLED_PREFIXES = ("/metadata/", "/r/")  # below these, an error is one text, as in `maintenance.metadata`
API_PREFIXES = ("/api/", "/subscriptions/", FLAT_PREFIX, GRAPH_PREFIX, *POLLED_PREFIXES)  # answers are never pages
CSRF_PREFIX = "CSRF Failed"  # start of the REST framework's message for requests by session
MAX_DETAILS = 100  # the most errors that one answer lists
MESSAGE_LENGTH = 200  # characters: a message may quote the request, but not all of a long value
CODES = {400: "bad_request", 403: "forbidden", 404: "not_found", 415: "unsupported_media_type", 500: "internal_error"}


@dataclass(frozen=True, slots=True)
class ErrorItem:
    code: str
    message: str
    target: str | None = None

    def body(self) -> dict:
        return {"code": self.code, "message": shortened(self.message), "target": self.target}


def handle(exception: Exception, context: Mapping) -> Response | None:
    """Return the answer for an exception of an API view; None for a bug, which Django then logs and answers."""
    status, faults, headers = classify(exception)
    if not status:
        return None
    codes = getattr(context.get("view"), "error_codes", {})
    return Response(body_of(faults, codes.get(status)), status, headers=headers)


def classify(exception: Exception) -> tuple[int, list[ErrorItem], dict[str, str]]:
    """Return the status, the errors (most serious first) and further headers; status 0 if the exception is a bug."""
    match exception:
        case WireError():
            return 400, faults_of(exception), {}
        case RequestError():
            return exception.status, faults_of(exception), {}
        case TooManyTokens():
            return 409, [ErrorItem("too_many", str(exception))], {}
        case ModelValidationError():
            return 400, list(flatten_errors(as_serializer_error(exception))), {}
        case Http404() | exceptions.NotFound() | ObjectDoesNotExist():  # ObjectDoesNotExist: deleted meanwhile
            return 404, [ErrorItem("not_found", "there is nothing here, or nothing that you may see")], {}
        case PermissionDenied():
            return 403, [ErrorItem("forbidden", str(exception) or "you may not do this")], {}
        case exceptions.APIException() if message := message_of(exception):
            code = getattr(exception.detail, "code", exception.default_code)
            return exception.status_code, [ErrorItem(code, message)], headers_of(exception)
        case exceptions.APIException():
            return exception.status_code, list(flatten_errors(exception.detail)), headers_of(exception)
        case RequestDataTooBig():
            return 413, [ErrorItem("too_large", "the request is longer than any to this server may be")], {}
        case SuspiciousOperation() | UnreadablePostError():
            return 400, [ErrorItem("bad_request", "the request cannot be read")], {}
        case DataError():
            return 400, [ErrorItem("invalid", "a value is of a size or form that cannot be stored")], {}
    return 0, [], {}


def message_of(exception: exceptions.APIException) -> str:
    """Return our own message for an error of the REST framework; empty if the error keeps its message."""
    match exception:
        case exceptions.MethodNotAllowed():
            return "this address does not take that method; the header Allow lists those that it takes"
        case exceptions.UnsupportedMediaType():
            return "a body of this media type is not taken here"
        case exceptions.NotAcceptable():
            return "the header Accept names no media type that is answered here"
        case exceptions.NotAuthenticated():
            return "sign in, with a token, a password or a session"
        case exceptions.PermissionDenied() if str(exception.detail).startswith(CSRF_PREFIX):
            return "a request by session that writes needs the header X-CSRFToken with the value of the cookie"
    return ""


def faults_of(error: WireError | RequestError) -> list[ErrorItem]:
    return [ErrorItem(each.code, each.message, each.path or None) for each in (error, *error.others)]


def headers_of(exception: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait_s := getattr(exception, "wait", None):
        headers["Retry-After"] = str(ceil(wait_s))
    return headers


def body_of(faults: list[ErrorItem], code: str | None = None) -> dict:
    first = faults[0].body()
    if code:
        first["code"] = code
    if len(faults) > 1:
        first["details"] = [fault.body() for fault in faults[:MAX_DETAILS]]
    return {"error": first}


def flatten_errors(detail, path: str = "") -> Iterator[ErrorItem]:
    """Yield the leaves of a serializer's errors, each with the path of its member."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from flatten_errors(inner, path if name == "non_field_errors" else joined(path, name))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from flatten_errors(inner, f"{path}[{index}]" if nested else path)
    else:
        yield ErrorItem(getattr(detail, "code", "invalid"), str(detail), path or None)


def joined(path: str, name: object) -> str:
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else str(name)


def shortened(message: str) -> str:
    return message if len(message) <= MESSAGE_LENGTH else message[: MESSAGE_LENGTH - 1] + "…"


# Handlers that Django calls: for addresses without a view, and for bugs


def is_api(request) -> bool:
    return f"{request.path_info.lower()}/".startswith(API_PREFIXES)


def is_polled(request) -> bool:
    """Return True if machines poll this address for announced maintenance.

    Several slashes at the start count as one: some clients append the path to a base address that ends with a slash.
    """
    return f"/{request.path_info.lower().lstrip('/')}/".startswith(POLLED_PREFIXES)


def answer(request, status: int, message: str) -> JsonResponse:
    body: dict = {"error": ErrorItem(CODES[status], message).body()}
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
