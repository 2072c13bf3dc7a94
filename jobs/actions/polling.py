"""Read what long operations answer: what a request has begun, and what a poll tells of it.

Source: the resource manager's contract of asynchronous operations; what that leaves open is as its published clients
have it.  An operation ends with the words of ENDS, in any case of letters, and with no others: `Cancelled` and
`Completed` are words for going on.  Nothing is fetched after its end, also not a `resourceLocation`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from yarl import URL

from jobs.actions import http, uris
from jobs.actions.http import Answer, Call, judged, kept, retry_after
from jobs.actions.lines import shortened
from jobs.actions.outcome import By, Operation, Outcome, Unread

SUCCEEDED, FAILED, CANCELED = ENDS = ("succeeded", "failed", "canceled")
ADDRESSES = ("Azure-AsyncOperation", "Location")  # the first of them is polled
WRITING = ("PUT", "PATCH")  # what they answer tells the state of a resource
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
NOT_LET_IN = (401, 403, 407)
JSON_LIMIT = 262_144  # bytes: reading more of it would keep other calls waiting
STATUS_LIMIT = 60  # characters
CODE_LIMIT = 100
WORDS_LIMIT = 300
NOT_THE_POLLS = re.compile("content-.*|if-.*|range|expect|idempotency-key", re.IGNORECASE)  # about what has been sent
FOR_EVERYBODY = ("accept", "accept-language", "x-ms-client-request-id")


def poll_of(call: Call, address: str) -> Call:
    """The poll of an address for somebody who would send `call`, a GET without a body, to the action's own.

    Another origin, also one that a redirect leads to, gets none of its credentials, and of its headers none that could
    be one.
    """
    url = URL(address, encoded=True)
    headers = {name: text for name, text in call.headers.items() if not NOT_THE_POLLS.fullmatch(name)}
    if url != call.url:
        call = _with_keys_hidden(call, address)
    if uris.origin(address) == uris.origin(str(call.url)):
        private = {name.lower() for name in headers} - set(FOR_EVERYBODY)
        return replace(call, url=url, headers=headers, private=call.private | private)
    headers = {name: text for name, text in headers.items() if name.lower() in FOR_EVERYBODY}
    return replace(call, url=url, headers=headers, trust=replace(call.trust, identity=None))


def begun(answer: Answer, call: Call) -> Outcome:
    """What an attempt's answer to `call` comes to; it goes on when the answer has begun an operation.

    That is so with a 202, with an address for its status, and with the answer to a PUT or PATCH whose resource is not
    done.  Every other answer is judged as it would be otherwise.
    """
    if answer.status not in (200, 201, 202) or http.has_too_many_headers(answer):
        return judged(answer)
    addresses = [answer.headers.get(name, "") for name in ADDRESSES]
    answer = replace(answer, call=_with_keys_hidden(answer.call, *addresses))
    state = ""
    if call.method in WRITING and answer.status != 202:
        try:
            state = _provisioning_state(_document(answer))
        except Unreadable:  # no document of a resource, so it says nothing of its state
            state = ""
    goes_on = answer.status == 202 or _is_open(state)
    if address := answer.headers.get("Azure-AsyncOperation"):
        return _accepted(answer, By.STATUS, address, state)
    if goes_on and (address := answer.headers.get("Location")):
        return _accepted(answer, By.LOCATION, address, state)
    if goes_on and call.method in WRITING:
        return _accepted(answer, By.RESOURCE, str(call.url), state)
    if goes_on:
        return _cannot_be_followed(answer, "it says nowhere how that goes on")
    if state.lower() in (FAILED, CANCELED):
        return _ended(answer, state, _document(answer).get("error"))
    return judged(answer)


def read(answer: Answer, operation: Operation) -> Outcome:
    """What a poll of the operation tells."""
    if http.has_too_many_headers(answer):
        return _unread(answer, "with more headers than are taken")
    try:
        match operation.by:
            case By.LOCATION:
                return _read_location(answer, operation)
            case By.RESOURCE:
                return _read_resource(answer, operation)
            case _:
                return _read_status(answer, operation)
    except Unreadable as error:
        return _unread(answer, f"'{answer.word}', but {error}")


def unread(outcome: Outcome) -> Outcome:
    """A poll that did not even get an answer."""
    return replace(outcome, unread=Unread.PASSING if outcome.may_retry else Unread.LASTING)


class Unreadable(Exception):
    """A body does not say what it must; the message follows "but"."""


def _read_status(answer: Answer, operation: Operation) -> Outcome:
    if answer.status not in (200, 201, 202):
        return _unread(answer, f"'{answer.word}' instead of a status")
    document = _document(answer)
    status = document.get("status")
    if not isinstance(status, str) or not status.strip():
        raise Unreadable("its body has no status")
    if status.strip().lower() in ENDS:
        return _ended(answer, status.strip(), document.get("error"), document)
    return _going_on(answer, operation, status, document)


def _read_location(answer: Answer, operation: Operation) -> Outcome:
    if answer.status == 202:
        if address := answer.headers.get("Location"):
            return _moved(answer, operation, address)
        return _going_on(answer, operation)
    is_result = 200 <= answer.status < 300 or 400 <= answer.status < 500
    if not is_result or answer.status in (*TRANSIENT, *NOT_LET_IN):
        return _unread(answer, f"'{answer.word}' instead of a result")
    document = _document_or_nothing(answer)
    if answer.status >= 300:
        error = document.get("error")
        return _ended(answer, "Failed", error if error is not None else document)
    state = _provisioning_state(document)
    if _is_open(state):
        return _going_on(answer, operation, state)
    return _ended(answer, state or "Succeeded", document.get("error"))


def _read_resource(answer: Answer, operation: Operation) -> Outcome:
    if answer.status == 202:
        return _going_on(answer, operation)
    if answer.status != 200:
        return _unread(answer, f"'{answer.word}' instead of the resource")
    document = _document(answer)
    state = _provisioning_state(document) or "Succeeded"
    if _is_open(state):
        return _going_on(answer, operation, state)
    return _ended(answer, state, document.get("error"))


def _accepted(answer: Answer, by: By, address: str, state: str) -> Outcome:
    address, problem = _checked(answer, address)
    if problem:
        return _cannot_be_followed(answer, f"the address where to ask how it goes on {problem}")
    outcome = kept(answer, True, f"Host '{answer.call.host}' answered '{answer.word}' and has begun an operation.")
    return replace(
        outcome,
        operation=Operation(by, address),
        retry_after=retry_after(answer.headers),
        status=_line(answer, state, STATUS_LIMIT),
    )


def _cannot_be_followed(answer: Answer, why: str) -> Outcome:
    """Nor may it be begun again: it may be going on."""
    message = f"Host '{answer.call.host}' answered '{answer.word}', but the operation cannot be followed: {why}."
    return replace(kept(answer, False, message), may_retry=False)


def _moved(answer: Answer, operation: Operation, address: str) -> Outcome:
    address, problem = _checked(answer, address)
    if problem:
        return _unread(answer, f"'{answer.word}', but its Location {problem}")
    return _going_on(answer, replace(operation, address=address))


def _checked(answer: Answer, text: str) -> tuple[str, str | None]:
    """The address without its fragment, and why it cannot be polled; relative ones are not in the contract."""
    if not re.match("https?://", text, re.IGNORECASE):
        return text, "is not absolute"
    address = text.partition("#")[0]
    try:
        problem = uris.kind_of_problem(address)
        if not problem:
            URL(address, encoded=True)
    except ValueError:
        problem = "is not one that can be called"
    if not problem and answer.call.url.scheme == "https" and uris.origin(address)[0] != "https":
        problem = "goes from https to http"
    return address, problem


def _with_keys_hidden(call: Call, *addresses: str) -> Call:
    """Whoever knows an operation's address may need nothing else: what it has as its query may be a key."""
    queries = (address.partition("?")[2] for address in addresses)
    return replace(call, hidden=(*call.hidden, *(f"?{query}" for query in queries if query)))


def _going_on(
    answer: Answer, operation: Operation, status: str = "", document: Mapping[str, Any] | None = None
) -> Outcome:
    status, percent = _line(answer, status, STATUS_LIMIT), _percent(document or {})
    said = f": {status}" if status else ""
    return Outcome(
        succeeded=True,
        message=f"The operation goes on{said}.",
        status_code=answer.status,
        retry_after=retry_after(answer.headers),
        operation=operation,
        status=status,
        percent=percent,
    )


def _ended(answer: Answer, status: str, error: object, document: Mapping[str, Any] | None = None) -> Outcome:
    """One that was called off is not begun again: somebody wanted it to end."""
    word = status.lower()
    said = {SUCCEEDED: "succeeded", CANCELED: "was cancelled"}.get(word, "failed")
    outcome = kept(answer, word == SUCCEEDED, f"The operation {said}{_words(answer, error, word)}.")
    return replace(
        outcome,
        may_retry=word != CANCELED,
        retry_after=None if word == SUCCEEDED else retry_after(answer.headers),
        status=_line(answer, status, STATUS_LIMIT),
        percent=_percent(document or {}),
    )


def _words(answer: Answer, error: object, word: str) -> str:
    """The code and the message of an error, as far as it has them: " with Conflict: it is locked"."""
    if word == SUCCEEDED:
        return ""
    found = error if isinstance(error, dict) else {}
    code, message = (found.get(name) if isinstance(found.get(name), str) else "" for name in ("code", "message"))
    code, message = _line(answer, code or "", CODE_LIMIT), _line(answer, message or "", WORDS_LIMIT).rstrip(".")
    if not code and not message and answer.status >= 400:
        return f": '{answer.word}'"
    return (f" with {code}" if code else "") + (f": {message}" if message else "")


def _unread(answer: Answer, why: str) -> Outcome:
    """An answer that says nothing about the operation."""
    passes = answer.status in TRANSIENT
    outcome = kept(answer, False, f"Host '{answer.call.host}' answered {why}.")
    return replace(
        outcome, unread=Unread.PASSING if passes else Unread.LASTING, retry_after=retry_after(answer.headers)
    )


def _document(answer: Answer) -> dict[str, Any]:
    """Raises Unreadable unless the body is an object of JSON."""
    if len(answer.body) > JSON_LIMIT:
        raise Unreadable(f"its body is longer than {JSON_LIMIT // 1024} KiB")
    try:
        document = orjson.loads(answer.body.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        raise Unreadable("its body is not JSON") from None
    if not isinstance(document, dict):
        raise Unreadable("its body is no object")
    return document


def _document_or_nothing(answer: Answer) -> dict[str, Any]:
    try:
        return _document(answer)
    except Unreadable:
        return {}


def _provisioning_state(document: Mapping[str, Any]) -> str:
    """Empty where there is none, which means that the resource is done."""
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


def _line(answer: Answer, text: str, limit: int) -> str:
    return shortened(answer.call.hide(text), limit)
