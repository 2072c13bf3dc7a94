"""The common parts of all resources of the resource manager's protocol: versions, headers, errors and addresses.

Source: the published contract of resource providers.
"""

import logging
import re
import uuid
from typing import Any

from django.http import Http404
from django.urls.resolvers import RegexPattern, URLPattern
from django.utils.encoding import escape_uri_path
from django.utils.functional import cached_property
from rest_framework.exceptions import APIException
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.views import APIView

from operations.service import Caller

logger = logging.getLogger(__name__)

PROVIDER = "Microsoft.Scheduler"
VERSIONS = ("2016-03-01", "2016-01-01", "2014-08-01-preview")
ERROR_CODES = {
    400: "BadRequest",
    401: "AuthenticationFailed",
    403: "AuthorizationFailed",
    404: "ResourceNotFound",
    405: "InvalidHttpVerb",
    409: "ConflictError",
    412: "PreconditionFailed",
    413: "RequestTooLarge",
    415: "UnsupportedMediaType",
    429: "TooManyRequests",
}
UNCACHED = {"Cache-Control": "no-cache", "Pragma": "no-cache", "Expires": "-1"}
SUBSCRIPTION = "subscriptions/(?P<subscription>[^/]+)"

GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
REQUEST_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class WrongQuery(APIException):
    status_code = 400
    default_code = "MissingOrInvalidRequiredQueryParameter"

    def __init__(self, name: str, message: str):
        super().__init__({name: message})


class WrongVersion(WrongQuery):
    default_code = "MissingOrIncorrectVersionHeader"


class JsonOnlyNegotiation(BaseContentNegotiation):
    """Answer with JSON, whatever the Accept header says: some clients send text/json, and some send no header."""

    def select_parser(self, request, parsers):
        return next((parser for parser in parsers if parser.media_type == media_type_of(request)), None)

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type


def media_type_of(request: Request) -> str:
    return (request.content_type or "").partition(";")[0].strip().lower()


class ArmView(APIView):
    """The base of all resources: checks the version in the query, and sets the headers and error codes."""

    http_method_names = ["get", "put", "patch", "post", "delete", "head"]
    schema = None  # not in our OpenAPI schema: the protocol is described by its owner
    content_negotiation_class = JsonOnlyNegotiation
    error_codes = ERROR_CODES
    versions: tuple[str, ...] = VERSIONS

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        version = parameter(request, "api-version") or ""
        if version.lower() not in self.versions:
            raise WrongVersion("api-version", f"must be one of {', '.join(self.versions)}, not {version!r:.80}")
        if any("\0" in part for part in kwargs.values()):
            raise Http404

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        error = response.data["error"]
        if isinstance(exception, WrongQuery):
            error["code"] = exception.default_code
        if error.get("target"):
            error["message"] = f"{error['target']}: {error['message']}"  # some clients do not show the target
        return response

    def finalize_response(self, request, response, *args, **kwargs):
        response = super().finalize_response(request, response, *args, **kwargs)
        response.content_type = "application/json; charset=utf-8"
        response["x-ms-correlation-request-id"] = self.correlation_id
        if request.headers.get("x-ms-return-client-request-id", "").lower() == "true" and self.client_request_id:
            response["x-ms-client-request-id"] = self.client_request_id
        for name, value in UNCACHED.items():
            response[name] = value
        logger.info(
            "%s %s: %s (request %s, correlation %s, client request %s)",
            *(request.method, escape_uri_path(request.path), response.status_code),
            *(request.id, self.correlation_id, self.client_request_id or "-"),
        )
        return response

    @property
    def subscription_id(self) -> uuid.UUID:
        if not GUID.fullmatch(self.kwargs["subscription"]):
            raise Http404
        return uuid.UUID(self.kwargs["subscription"])

    @property
    def correlation_id(self) -> str:
        return correlation_id(self.request)

    @property
    def client_request_id(self) -> str:
        return request_id(self.request, "x-ms-client-request-id")


def caller_of(request: Request) -> Caller:
    return Caller(request.user, correlation_id(request), request_id(request, "x-ms-client-request-id"))


def correlation_id(request: Request) -> str:
    """Return the caller's correlation id, which the requests of one task share; without one, the id of this request."""
    return request_id(request, "x-ms-correlation-request-id") or request.id


def request_id(request: Request, header: str) -> str:
    sent = request.headers.get(header, "")
    return sent if REQUEST_ID.fullmatch(sent) else ""


def parameter(request: Request, name: str) -> str | None:
    """Return the last value of a query parameter, or None.  `name` is in lower case; the query may use any case."""
    values = [value for sent_name, value in request.query_params.items() if sent_name.lower() == name]
    return values[-1] if values else None


# Addresses match in any case, as the resource manager's addresses do


class CaselessPattern(RegexPattern):
    """A URL pattern that ignores case.

    An inline flag in the expression would be enough for resolving, but then Django could not reverse any address.
    """

    @cached_property
    def regex(self) -> re.Pattern[str]:  # type: ignore[override]  # computed in the base class too
        return re.compile(str(self), re.IGNORECASE)


def address(pattern: str, view: Any) -> URLPattern:
    return URLPattern(CaselessPattern(f"^{pattern}$", is_endpoint=True), view)
