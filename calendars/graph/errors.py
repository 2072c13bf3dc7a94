"""Errors in the form of Graph: {"error": {"code", "message", "innerError": {"request-id", "date"}}}.

Clients decide by the code; the message names the wrong member.  If Graph has no code for an error, the code is that of
the status, from Graph's pages or from older interfaces of Exchange.
"""

import re
from datetime import datetime

from rest_framework.exceptions import APIException

from api.errors import RequestError
from recurrence.wire import WireError

OF_STATUS = {
    400: "BadRequest",
    401: "InvalidAuthenticationToken",
    403: "ErrorAccessDenied",
    404: "ErrorItemNotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    410: "syncStateNotFound",
    412: "ErrorIrresolvableConflict",
    413: "RequestTooLarge",
    415: "UnsupportedMediaType",
    429: "TooManyRequests",
    500: "InternalServerError",
}
OF_REASON = {
    "wrong_type": "UnableToDeserializePostBody",
    "ends_before_it_starts": "ErrorCalendarEndDateIsEarlierThanStartDate",
    "crosses_a_neighbour": "ErrorOccurrenceCrossingBoundary",
    "never_fires": "ErrorRecurrenceHasNoOccurrence",
    "is_default": "ErrorDeleteDistinguishedFolder",
    "too_many": "ErrorQuotaExceeded",
}
WRONG_VALUE = "ErrorPropertyValidationFailure"
WRONG_PARAMETER = "ErrorInvalidParameter"
LONG_VIEW = "ErrorInvalidRequest"  # of a calendar view that is too long
UNKNOWN_ZONE = "TimeZoneNotSupportedException"
CLIENT_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class Refusal(APIException):
    """An error with its own code.  `target` names the wrong option or member."""

    def __init__(self, message: str, *, target: str | None = None, code: str = OF_STATUS[400], status: int = 400):
        super().__init__({target: message} if target else message)
        self.status_code = status
        self.graph_code = code


def code_of(exception: Exception, status: int) -> str:
    """Return the code for an exception that a view answered with `status`."""
    if isinstance(exception, Refusal):
        return exception.graph_code
    if status != 400 or not isinstance(exception, RequestError | WireError):
        return OF_STATUS[status]
    path = exception.path or ""
    if exception.code == "unknown_value" and path.lower().endswith("timezone"):
        return UNKNOWN_ZONE
    is_of_engine = isinstance(exception, WireError) or "." in path
    if exception.code == "invalid" and is_of_engine:  # the engine means a literal of the wrong type
        return OF_REASON["wrong_type"]
    return OF_REASON.get(exception.code, WRONG_VALUE)


def body(code: str, message: str, request, now: datetime) -> dict:
    ids = {"request-id": request.id, "client-request-id": client_request_id(request) or request.id}
    inner = {"date": now.strftime("%Y-%m-%dT%H:%M:%S"), **ids}
    return {"error": {"code": code, "message": message, "innerError": inner}}


def client_request_id(request) -> str | None:
    """Return the client's id of the request, if it is safe to repeat in the response; otherwise None."""
    sent = request.headers.get("client-request-id", "")
    return sent if CLIENT_REQUEST_ID.fullmatch(sent) else None
