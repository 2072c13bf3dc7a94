"""The part of a service bus that takes messages.  `bus = ServiceBus(["orders"], keys={"send": "the key"})`.

SERVICE_BUS_URL is `bus.address`; accepted messages are in `bus.messages`.  It checks the shared access signature and
reads every property as the public REST reference has them; in addition, a signature may be valid for an hour at most.
"""

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message as Headers
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape

from tests.peers.server import Answer, Call, Server

NAMESPACE = "quando-tests"
MAX_SIGNATURE_LIFETIME_S = 3700  # seconds for which a signature may be valid
PATH = re.compile(r"/(?P<namespace>[^/]+)/(?P<entity>[^?]+)/messages")
TEXTS = {
    *("CorrelationId", "Label", "MessageId", "PartitionKey", "ReplyTo", "ReplyToSessionId", "SessionId", "To"),
    "ViaPartitionKey",
}
# what HTTP itself needs; every other header is a property of the sender's own
NO_PROPERTIES = {
    *("accept", "accept-encoding", "authorization", "brokerproperties", "connection", "content-encoding"),
    *("content-length", "content-type", "date", "expect", "host", "user-agent", "x-ms-retrypolicy"),
}


@dataclass(frozen=True)
class Message:
    entity: str
    body: str
    content_type: str | None
    properties: dict[str, Any]  # by their names in BrokerProperties; a time is a datetime
    custom: dict[str, Any]  # by their names in lower case, because headers have no case
    key_name: str
    expires_at: int  # of the signature


class Refusal(Exception):
    def __init__(self, status: HTTPStatus, reason: str):
        super().__init__(reason)
        self.status = status


class ServiceBus(Server):
    """One namespace with its entities (queues and topics, which work alike) and its shared access keys."""

    def __init__(self, entities: Iterable[str] = ("orders",), keys: Mapping[str, str] | None = None, **fields):
        self.entities = set(entities)
        self.keys = dict(keys or {})
        self.messages: list[Message] = []
        super().__init__(**fields)
        self.address = f"{self.url}/{{namespace}}"

    def answer(self, call: Call) -> Answer:
        try:
            self.messages.append(self.message(call, time.time()))
        except Refusal as refusal:
            detail = escape(f"{refusal.status}: {refusal}")
            body = f"<Error><Code>{refusal.status:d}</Code><Detail>{detail}</Detail></Error>"
            return Answer(refusal.status, {"Content-Type": "application/xml; charset=utf-8"}, body)
        return Answer(HTTPStatus.CREATED, body="")

    def message(self, call: Call, now: float) -> Message:
        path = PATH.fullmatch(urlsplit(call.path).path)
        if call.method != "POST" or not path or path["namespace"] != NAMESPACE:
            raise Refusal(HTTPStatus.NOT_FOUND, "no such address")
        key_name, expires_at = self._authorize(call.headers, f"{NAMESPACE}/{path['entity']}", now)
        if unquote(path["entity"]) not in self.entities:
            raise Refusal(HTTPStatus.NOT_FOUND, "no such queue or topic")
        return Message(
            entity=unquote(path["entity"]),
            body=call.body,
            content_type=call.headers["Content-Type"],
            properties=broker_properties(call.headers),
            custom=custom_properties(call.headers),
            key_name=key_name,
            expires_at=expires_at,
        )

    def _authorize(self, headers: Headers, path: str, now: float) -> tuple[str, int]:
        """Return the name of the key that signed the call, and the time at which the signature expires."""
        scheme, _, rest = headers.get("Authorization", "").partition(" ")
        parts = dict(pair.split("=", 1) for pair in rest.split("&") if "=" in pair)
        if scheme != "SharedAccessSignature" or set(parts) != {"sr", "sig", "se", "skn"}:
            raise unauthorized("a SharedAccessSignature of sr, sig, se and skn is needed")
        resource = urlsplit(unquote(parts["sr"]))
        if "/" in parts["sr"] or resource.scheme not in ("http", "https", "sb"):
            raise unauthorized("sr is not a percent-encoded URI")
        claimed = resource.path.strip("/").split("/")
        if resource.netloc.lower() != headers["Host"].lower() or claimed != path.split("/")[: len(claimed)]:
            raise unauthorized("sr covers another resource")
        key_name = unquote(parts["skn"])
        if key_name not in self.keys:
            raise unauthorized("no key has this name")
        signed = hmac.digest(self.keys[key_name].encode(), f"{parts['sr']}\n{parts['se']}".encode(), hashlib.sha256)
        if not hmac.compare_digest(base64.b64encode(signed).decode(), unquote(parts["sig"])):
            raise unauthorized("the signature is not the key's")
        if not parts["se"].isdecimal() or int(parts["se"]) <= now:
            raise unauthorized("the signature has expired")
        if int(parts["se"]) > now + MAX_SIGNATURE_LIFETIME_S:
            raise unauthorized("the signature is good for too long")
        return key_name, int(parts["se"])


def broker_properties(headers: Headers) -> dict[str, Any]:
    text = headers.get("BrokerProperties", "{}")
    try:
        given = json.loads(text)
        properties = {name: _property(name, value) for name, value in given.items()}
    except (ValueError, AttributeError):
        raise malformed("BrokerProperties", text) from None
    session, partition = properties.get("SessionId"), properties.get("PartitionKey")
    if None not in (session, partition) and session != partition:
        raise Refusal(HTTPStatus.BAD_REQUEST, "SessionId and PartitionKey differ")
    return {name: value for name, value in properties.items() if value is not None}


def _property(name: str, value: Any) -> Any:
    """Return the value of a property that the service knows, None for others; raise ValueError for a wrong one."""
    if name in TEXTS and isinstance(value, str):
        return value
    if name == "ForcePersistence" and isinstance(value, bool):
        return value
    if name == "TimeToLive" and isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return value
    if name == "ScheduledEnqueueTimeUtc":
        return datetime.strptime(value, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    if name in TEXTS | {"ForcePersistence", "TimeToLive"}:
        raise ValueError(name)
    return None


def custom_properties(headers: Headers) -> dict[str, Any]:
    """Parse the custom properties: texts are in quotes, numbers and booleans are not."""
    found = {}
    for name, text in headers.items():
        if name.lower() in NO_PROPERTIES:
            continue
        try:
            found[name.lower()] = json.loads(text)
        except ValueError:
            raise malformed(name, text) from None
    return found


def unauthorized(reason: str) -> Refusal:
    return Refusal(HTTPStatus.UNAUTHORIZED, reason)


def malformed(name: str, text: str) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, f"the value {text!r} of the HTTP header {name!r} is invalid")
