"""Warnings about valid action documents, for their owners.  The caller passes `now`.

The installation's settings decide which addresses are open, so an accepted document may get a warning later.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import orjson

from jobs.actions import address_keys, hosts, templates
from jobs.actions.result import Context
from jobs.encryption import MASK

SOON = timedelta(days=30)  # a certificate that expires within this time is flagged
CERTIFICATE_CODES = ("certificate_expired", "certificate_expires_soon")
# sample values for the placeholders of a template, to check its result
SAMPLE = Context(
    UUID(int=0), 1, datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 1, 1, tzinfo=UTC), "job", "collection"
)
PLACEHOLDER_LENGTH = 40  # characters of a placeholder that a message repeats


@dataclass(frozen=True, slots=True)
class JobWarning:
    """`target` is the path of the faulty member, from `action` on; `message` is a sentence."""

    code: str
    target: str
    message: str


def warnings_of(document: Mapping[str, Any], now: datetime, path: str = "action") -> list[JobWarning]:
    """Return the warnings of an action and of its error action, in the order of their members."""
    found = list(_of_request(document.get("request") or {}, now, f"{path}.request"))
    found += _of_texts(document, path)
    for member_path, host, reason in hosts.closed_hosts(document):
        found.append(JobWarning(hosts.CLOSED, f"{path}.{member_path}", f"Calls cannot reach {host}: it {reason}."))
    if error_action := document.get("errorAction"):
        found += warnings_of(error_action, now, f"{path}.errorAction")
    return found


def expiry_of(authentication: Mapping[str, Any]) -> datetime | None:
    """Return when a client certificate expires; None without one."""
    expiry = authentication.get("certificateExpirationDate")
    return datetime.fromisoformat(expiry) if expiry else None


def first_expiry(document: Mapping[str, Any]) -> datetime | None:
    """Return when the first client certificate of an action or its error action expires; None without one."""
    requests = [action.get("request") or {} for action in (document, document.get("errorAction") or {})]
    expiries = [expiry_of(request.get("authentication") or {}) for request in requests]
    return min((expiry for expiry in expiries if expiry), default=None)


def _of_request(request: Mapping[str, Any], now: datetime, path: str) -> Iterator[JobWarning]:
    authentication = request.get("authentication") or {}
    if urlsplit(request.get("uri", "")).scheme == "http":
        yield from _over_http(request, authentication, path)
    expiry = expiry_of(authentication)
    if expiry is None or expiry > now + SOON:
        return
    name = authentication.get("certificateSubjectName", "")
    target = f"{path}.authentication.certificateExpirationDate"
    if expiry <= now:
        message = f"The client certificate {name} expired on {expiry:%Y-%m-%d}: targets that check it refuse the call."
        yield JobWarning("certificate_expired", target, message)
    else:
        message = f"The client certificate {name} expires on {expiry:%Y-%m-%d}: replace it before that day."
        yield JobWarning("certificate_expires_soon", target, message)


def _over_http(request: Mapping[str, Any], authentication: Mapping[str, Any], path: str) -> Iterator[JobWarning]:
    code = "credentials_over_http"
    if authentication.get("type") == "ClientCertificate":
        message = "The address begins with http: a client certificate is presented over https only."
        yield JobWarning(code, f"{path}.authentication", message)
    elif authentication:
        message = "The address begins with http: the credentials travel unencrypted. Take https."
        yield JobWarning(code, f"{path}.authentication", message)
    if names := address_keys.masks_in(request.get("uri", ""), request.get("secretQuery", ())):
        message = f"The address begins with http: the keys in it ({', '.join(names)}) travel unencrypted. Take https."
        yield JobWarning(code, f"{path}.uri", message)
    for name, value in (request.get("headers") or {}).items():
        if value == MASK:
            message = f"The address begins with http: the header {name} travels unencrypted. Take https."
            yield JobWarning(code, f"{path}.headers.{name}", message)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that an action sends: its path below the action, and its name in a sentence."""

    path: str
    name: str
    value: str
    content_type: str = ""


def _of_texts(document: Mapping[str, Any], path: str) -> Iterator[JobWarning]:
    is_template = document.get("template", False)
    for text in _texts_of(document):
        if text.value and templates.is_json(text.content_type):
            yield from _of_json(text, is_template, f"{path}.{text.path}")
        found = templates.ANY_PLACEHOLDER.search(text.value)
        if found and not is_template:
            message = f"The {text.name} holds {found[0][:PLACEHOLDER_LENGTH]}, and"
            message += ' filling in placeholders ("template") is off: it is sent as it stands.'
            yield JobWarning("placeholders_off", f"{path}.{text.path}", message)


def _of_json(text: _Text, is_template: bool, target: str) -> Iterator[JobWarning]:
    filled = text.value
    if is_template:
        filled = templates.filler(SAMPLE)(text.value, templates.in_body(text.content_type))
    try:
        orjson.loads(filled)
    except orjson.JSONDecodeError as error:
        when = " once its placeholders are filled in" if is_template else ""
        position = f"{error.msg} in line {error.lineno}, column {error.colno}"
        message = f"The Content-Type is {text.content_type}, but the {text.name} is not JSON{when}: {position}."
        yield JobWarning("body_not_json", target, message)


def _texts_of(document: Mapping[str, Any]) -> Iterator[_Text]:
    """Yield the texts in which placeholders would be filled in."""
    if request := document.get("request"):
        headers = request.get("headers") or {}
        content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        yield _Text("request.uri", "address", request.get("uri", ""))
        for name, value in headers.items():
            yield _Text(f"request.headers.{name}", f"header {name}", value)
        yield _Text("request.body", "body", request.get("body", ""), content_type)
    if message := document.get("queueMessage"):
        yield _Text("queueMessage.message", "message", message.get("message", ""))
    for name in ("serviceBusQueueMessage", "serviceBusTopicMessage"):
        if message := document.get(name):
            content_type = (message.get("brokeredMessageProperties") or {}).get("contentType", "")
            yield _Text(f"{name}.message", "message", message.get("message", ""), content_type)
