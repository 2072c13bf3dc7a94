"""Read the responses of long operations: to the request that begins one, and to its polls.

Source: the resource manager's contract of asynchronous operations.  Details that it leaves open follow its published
clients.  An operation ends with the words of ENDS, in upper or lower case, and with no others: `Cancelled` and
`Completed` mean that it goes on.  Nothing is fetched after its end, not even a `resourceLocation`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from yarl import URL

from jobs.actions import http, uris
from jobs.actions.headers import HARMLESS_HEADERS
from jobs.actions.http import Call, Response, evaluate, retry_after, truncate_for_storage
from jobs.actions.result import AttemptResult, Operation, PollFailure, PollSource
from jobs.actions.secret_variants import search_forms
from jobs.actions.text import shorten

SUCCEEDED, FAILED, CANCELED = ENDS = ("succeeded", "failed", "canceled")
ADDRESSES = ("Azure-AsyncOperation", "Location")  # the first one in the response is polled
WRITING = ("PUT", "PATCH")  # methods whose response contains the state of a resource
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
AUTH_FAILURES = (401, 403, 407)
JSON_LIMIT = 262_144  # bytes; parsing more would delay other calls
STATUS_LIMIT = 60  # characters
CODE_LIMIT = 100
MESSAGE_LIMIT = 300
# headers about the sent content
NOT_THE_POLLS = re.compile("content-.*|if-.*|range|expect|idempotency-key", re.IGNORECASE)


def poll_of(call: Call, address: str) -> Call:
    """Return the call that polls `address`.  `call` is a GET without a body to the action's own address.

    Another origin, also one after a redirect, gets no credentials of the action, and no header that could be one.
    """
    url = URL(address, encoded=True)
    headers = {name: text for name, text in call.headers.items() if not NOT_THE_POLLS.fullmatch(name)}
    if url != call.url:
        call = _with_keys_hidden(call, address)
    if uris.origin(address) == uris.origin(str(call.url)):
        private = {name.lower() for name in headers} - HARMLESS_HEADERS
        return replace(call, url=url, headers=headers, private=call.private | private)
    headers = {name: text for name, text in headers.items() if name.lower() in HARMLESS_HEADERS - call.private}
    return replace(call, url=url, headers=headers, trust=replace(call.trust, identity=None))


def detect_operation(response: Response, call: Call) -> AttemptResult:
    """Return the result of the response to `call`.  It is pending when the response has begun an operation.

    That is the case for a 202, for a response with a status address, and for the response to a PUT or PATCH whose
    resource is not ready.  Every other response is evaluated as usual.
    """
    if response.status not in (200, 201, 202) or http.has_too_many_headers(response):
        return evaluate(response)
    addresses = [response.headers.get(name, "") for name in ADDRESSES]
    response = replace(response, call=_with_keys_hidden(response.call, *addresses))
    state = ""
    if call.method in WRITING and response.status != 202:
        try:
            state = _provisioning_state(_document(response))
        except Unreadable:  # not the document of a resource, so it has no state
            state = ""
    is_pending = response.status == 202 or _is_open(state)
    if address := response.headers.get("Azure-AsyncOperation"):
        return _accepted(response, PollSource.STATUS, address, state)
    if is_pending and (address := response.headers.get("Location")):
        return _accepted(response, PollSource.LOCATION, address, state)
    if is_pending and call.method in WRITING:
        return _accepted(response, PollSource.RESOURCE, str(call.url), state)
    if is_pending:
        return _cannot_be_followed(response, "it says nowhere how that goes on")
    if state.lower() in (FAILED, CANCELED):
        return _final_result(response, state, _document(response).get("error"))
    return evaluate(response)


def read_status(response: Response, operation: Operation) -> AttemptResult:
    """Return the result of a poll of the operation."""
    if http.has_too_many_headers(response):
        return _poll_without_status(response, "with more headers than are taken")
    try:
        match operation.source:
            case PollSource.LOCATION:
                return _read_location(response, operation)
            case PollSource.RESOURCE:
                return _read_resource(response, operation)
            case _:
                return _read_status(response, operation)
    except Unreadable as error:
        return _poll_without_status(response, f"'{response.status_text}', but {error}")


def poll_failed(result: AttemptResult) -> AttemptResult:
    """Return the result of a poll that got no response."""
    return replace(result, poll_failure=PollFailure.TEMPORARY if result.may_retry else PollFailure.PERMANENT)


class Unreadable(Exception):
    """A body lacks required content; the message is to be written after "but"."""


def _read_status(response: Response, operation: Operation) -> AttemptResult:
    if response.status not in (200, 201, 202):
        return _poll_without_status(response, f"'{response.status_text}' instead of a status")
    document = _document(response)
    status = document.get("status")
    if not isinstance(status, str) or not status.strip():
        raise Unreadable("its body has no status")
    if status.strip().lower() in ENDS:
        return _final_result(response, status.strip(), document.get("error"), document)
    return _pending_result(response, operation, status, document)


def _read_location(response: Response, operation: Operation) -> AttemptResult:
    if response.status == 202:
        if address := response.headers.get("Location"):
            return _pending_elsewhere(response, operation, address)
        return _pending_result(response, operation)
    is_result = 200 <= response.status < 300 or 400 <= response.status < 500
    if not is_result or response.status in (*TRANSIENT, *AUTH_FAILURES):
        return _poll_without_status(response, f"'{response.status_text}' instead of a result")
    document = _document_or_nothing(response)
    if response.status >= 300:
        error = document.get("error")
        return _final_result(response, "Failed", error if error is not None else document)
    state = _provisioning_state(document)
    if _is_open(state):
        return _pending_result(response, operation, state)
    return _final_result(response, state or "Succeeded", document.get("error"))


def _read_resource(response: Response, operation: Operation) -> AttemptResult:
    if response.status == 202:
        return _pending_result(response, operation)
    if response.status != 200:
        return _poll_without_status(response, f"'{response.status_text}' instead of the resource")
    document = _document(response)
    state = _provisioning_state(document) or "Succeeded"
    if _is_open(state):
        return _pending_result(response, operation, state)
    return _final_result(response, state, document.get("error"))


def _accepted(response: Response, source: PollSource, address: str, state: str) -> AttemptResult:
    address, problem = _checked(response, address)
    if problem:
        return _cannot_be_followed(response, f"the address where to ask how it goes on {problem}")
    result = truncate_for_storage(
        response, True, f"Host '{response.call.host}' answered '{response.status_text}' and has begun an operation."
    )
    return replace(
        result,
        operation=Operation(source, address),
        retry_after=retry_after(response.headers),
        status=_line(response, state, STATUS_LIMIT),
    )


def _cannot_be_followed(response: Response, reason: str) -> AttemptResult:
    """Return a failure that must not be retried, because the operation may be running."""
    message = f"Host '{response.call.host}' answered '{response.status_text}'"
    message += f", but the operation cannot be followed: {reason}."
    return replace(truncate_for_storage(response, False, message), may_retry=False)


def _pending_elsewhere(response: Response, operation: Operation, address: str) -> AttemptResult:
    address, problem = _checked(response, address)
    if problem:
        return _poll_without_status(response, f"'{response.status_text}', but its Location {problem}")
    return _pending_result(response, replace(operation, address=address))


def _checked(response: Response, location: str) -> tuple[str, str | None]:
    """Return the address without its fragment, and why it cannot be polled.

    Relative addresses are refused: the contract does not have them.
    """
    if not re.match("https?://", location, re.IGNORECASE):
        return location, "is not absolute"
    address = location.partition("#")[0]
    try:
        problem = uris.kind_of_problem(address)
        if not problem:
            URL(address, encoded=True)
    except ValueError:
        problem = "is not one that can be called"
    if not problem and response.call.url.scheme == "https" and uris.origin(address)[0] != "https":
        problem = "goes from https to http"
    return address, problem


def _with_keys_hidden(call: Call, *addresses: str) -> Call:
    """Hide the queries of operation addresses: a query may be a key that alone gives access to the operation."""
    queries = [f"?{query}" for address in addresses if (query := address.partition("?")[2])]
    return replace(call, hidden=(*call.hidden, *search_forms(*queries))).with_hidden_keys(*addresses)


def _pending_result(
    response: Response, operation: Operation, status: str = "", document: Mapping[str, Any] | None = None
) -> AttemptResult:
    status, percent = _line(response, status, STATUS_LIMIT), _percent(document or {})
    described = f": {status}" if status else ""
    return AttemptResult(
        succeeded=True,
        message=f"The operation goes on{described}.",
        status_code=response.status,
        retry_after=retry_after(response.headers),
        operation=operation,
        status=status,
        percent=percent,
    )


def _final_result(
    response: Response, status: str, error: object, document: Mapping[str, Any] | None = None
) -> AttemptResult:
    """Return the result of an ended operation.  A cancelled one is not retried, because a person cancelled it."""
    word = status.lower()
    described = {SUCCEEDED: "succeeded", CANCELED: "was cancelled"}.get(word, "failed")
    result = truncate_for_storage(
        response, word == SUCCEEDED, f"The operation {described}{_error_in_words(response, error, word)}."
    )
    return replace(
        result,
        may_retry=word != CANCELED,
        retry_after=None if word == SUCCEEDED else retry_after(response.headers),
        status=_line(response, status, STATUS_LIMIT),
        percent=_percent(document or {}),
    )


def _error_in_words(response: Response, error: object, word: str) -> str:
    """Return code and message of an error, if present, such as " with Conflict: it is locked"."""
    if word == SUCCEEDED:
        return ""
    members = error if isinstance(error, dict) else {}
    code, message = (members.get(name) if isinstance(members.get(name), str) else "" for name in ("code", "message"))
    code, message = _line(response, code or "", CODE_LIMIT), _line(response, message or "", MESSAGE_LIMIT).rstrip(".")
    if not code and not message and response.status >= 400:
        return f": '{response.status_text}'"
    return (f" with {code}" if code else "") + (f": {message}" if message else "")


def _poll_without_status(response: Response, reason: str) -> AttemptResult:
    """Return the result of a poll whose response says nothing about the operation."""
    is_transient = response.status in TRANSIENT
    result = truncate_for_storage(response, False, f"Host '{response.call.host}' answered {reason}.")
    return replace(
        result,
        poll_failure=PollFailure.TEMPORARY if is_transient else PollFailure.PERMANENT,
        retry_after=retry_after(response.headers),
    )


def _document(response: Response) -> dict[str, Any]:
    """Return the JSON object in the body.  Raises Unreadable if the body is anything else."""
    if len(response.body) > JSON_LIMIT:
        raise Unreadable(f"its body is longer than {JSON_LIMIT // 1024} KiB")
    try:
        document = orjson.loads(response.body.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        raise Unreadable("its body is not JSON") from None
    if not isinstance(document, dict):
        raise Unreadable("its body is no object")
    return document


def _document_or_nothing(response: Response) -> dict[str, Any]:
    try:
        return _document(response)
    except Unreadable:
        return {}


def _provisioning_state(document: Mapping[str, Any]) -> str:
    """Return the provisioning state of a resource; empty if it has none, which means that the resource is ready."""
    properties = document.get("properties")
    state = properties.get("provisioningState") if isinstance(properties, dict) else None
    return state.strip() if isinstance(state, str) else ""


def _is_open(state: str) -> bool:
    return state != "" and state.lower() not in ENDS


def _percent(document: Mapping[str, Any]) -> float | None:
    value = document.get("percentComplete")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(min(max(value, 0), 100))


def _line(response: Response, text: str, limit: int) -> str:
    return shorten(response.call.redacted(text), limit)
