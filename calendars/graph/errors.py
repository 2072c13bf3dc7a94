"""Refusals as Graph words them: {"error": {"code", "message", "innerError": {"request-id", "date"}}}.

Clients decide by the code; the message names the member at fault.  Where the service has no code of its own for what
was refused, it is the one that its pages, or older interfaces of Exchange, have for the status.
"""

import re
from datetime import datetime

from rest_framework.exceptions import APIException

from calendars.errors import CalendarError
from jobs.errors import JobError
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
UNKNOWN_ZONE = "TimeZoneNotSupportedException"
CLIENT_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


class Refusal(APIException):
    """A refusal with a code of its own; `target` names the option or member at fault."""

    def __init__(self, message: str, *, target: str | None = None, code: str = OF_STATUS[400], status: int = 400):
        super().__init__({target: message} if target else message)
        self.status_code = status
        self.graph_code = code


def code_of(exception: Exception, status: int) -> str:
    """The code for what a view has refused with `status`."""
    if isinstance(exception, Refusal):
        return exception.graph_code
    if status != 400 or not isinstance(exception, CalendarError | JobError | WireError):
        return OF_STATUS[status]
    path = exception.path or ""
    if exception.code == "unknown_value" and path.lower().endswith("timezone"):
        return UNKNOWN_ZONE
    is_of_engine = isinstance(exception, WireError) or "." in path
    if exception.code == "invalid" and is_of_engine:  # there it means a literal of the wrong kind
        return OF_REASON["wrong_type"]
    return OF_REASON.get(exception.code, WRONG_VALUE)


def body(code: str, message: str, request, now: datetime) -> dict:
    ids = {"request-id": request.id, "client-request-id": client_request_id(request) or request.id}
    inner = {"date": now.strftime("%Y-%m-%dT%H:%M:%S"), **ids}
    return {"error": {"code": code, "message": message, "innerError": inner}}


def client_request_id(request) -> str | None:
    """What the client calls its request, if that may be repeated."""
    sent = request.headers.get("client-request-id", "")
    return sent if CLIENT_REQUEST_ID.fullmatch(sent) else None
