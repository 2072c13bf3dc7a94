"""Actions of the types ServiceBusQueue and ServiceBusTopic: a message for a queue or topic of a service bus.

Source: the service's Send Message (REST) and its message headers and properties.  Whatever `transportType` says, the
message is sent over HTTPS, which every namespace accepts.
"""

import base64
import email.utils
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from django.conf import settings
from yarl import URL

from api.json_object import PRINTABLE, JsonObject, shorten_repr
from jobs import durations
from jobs.actions import templates, uris
from jobs.actions.headers import HEADER_NAME, HEADER_VALUE, RESERVED_HEADER
from jobs.actions.http import Call
from jobs.actions.member_types import ObjectType
from jobs.actions.previous import PreviousAction, keep_secret
from jobs.actions.queue_members import (
    BROKERED_PROPERTIES,
    BUS_AUTHENTICATION,
    BUS_QUEUE_MESSAGE,
    BUS_TOPIC_MESSAGE,
    SHARED_ACCESS_KEY,
)
from jobs.actions.result import Context
from jobs.actions.secret_variants import search_forms
from jobs.encryption import Secrets

HEADERS_LIMIT = 12_288  # characters of all properties as headers; such servers accept 16 KiB for the whole head
# Headers with a meaning in HTTP or in the service: a property cannot have such a name
NO_PROPERTY = re.compile(
    r"accept|accept-.*|age|allow|authorization|brokerproperties|cache-control|content-.*|cookie|date|etag|expires|from"
    r"|if-.*|last-modified|location|max-forwards|origin|pragma|range|referer|user-agent|via|warning|x-ms-retrypolicy",
    re.IGNORECASE,
)
CONTENT_TYPE = "text/plain;charset=utf-8"
SIGNATURE_LIFE = timedelta(minutes=10)  # from the beginning of the attempt; tolerates a wrong clock


def parse_queue(members: JsonObject, previous: PreviousAction, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    return _parse(BUS_QUEUE_MESSAGE, members, previous, secrets, is_template)


def parse_topic(members: JsonObject, previous: PreviousAction, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    return _parse(BUS_TOPIC_MESSAGE, members, previous, secrets, is_template)


def prepare(message: Mapping[str, Any], secrets: Mapping[str, str], context: Context, fill: templates.Fill) -> Call:
    properties = message.get("brokeredMessageProperties", {})
    content_type = properties.get("contentType") or CONTENT_TYPE
    resource = f"{_address(message['namespace'])}/{message.get('queueName') or message['topicPath']}"
    headers = {
        **_custom_headers(message.get("customMessageProperties", {})),
        "Content-Type": content_type,
        "BrokerProperties": _brokered_header(
            # equal for all attempts of a run, so that the service can detect a repeat
            {**properties, "messageId": properties.get("messageId") or str(context.run_id)}
        ),
    }
    hidden: tuple[str, ...] = ()
    if key_name := message.get("authentication", {}).get("sasKeyName"):
        key = secrets.get("authentication.sasKey", "")
        signature, headers["Authorization"] = _sign(resource, key_name, key, context.now)
        hidden = search_forms(key, signature, headers["Authorization"])
    return Call(
        method="POST",
        url=URL(f"{resource}/messages", encoded=True),
        headers=headers,
        body=fill(message.get("message", ""), templates.in_body(content_type)),
        hidden=hidden,
        private=frozenset({"authorization"}),
    )


def _parse(
    type_: ObjectType, members: JsonObject, previous: PreviousAction, secrets: Secrets, is_template: bool
) -> dict[str, Any]:
    result = type_.read(members)
    if "namespace" in result and (problem := uris.problem_of(_address(result["namespace"]))):
        members.fault("namespace", problem, "malformed")
        del result["namespace"]
    if is_template and "message" in result:
        templates.check(members, "message", result["message"])
    _check_custom_properties(members, result.get("customMessageProperties", {}))
    if properties := members.members("brokeredMessageProperties"):
        result["brokeredMessageProperties"] = _brokered_properties(properties)
    _refuse_long_headers(members, result)
    if authentication := members.members("authentication"):
        if result.get("namespace") not in (None, previous.document.get("namespace")):
            previous = previous.without_content()
        if shared_key := _shared_access_key(authentication, previous.child("authentication"), secrets):
            result["authentication"] = shared_key
    return result


def _address(namespace: str) -> str:
    """Return the address of a namespace.  A namespace with a dot is itself a host name."""
    if "." in namespace:
        return f"https://{namespace}"
    return settings.SERVICE_BUS_URL.replace("{namespace}", namespace)


def _check_custom_properties(members: JsonObject, properties: Mapping[str, str]) -> None:
    seen = set()
    for name, value in properties.items():
        if not HEADER_NAME.fullmatch(name):
            message = (
                f"must have names of the characters of a token, as they travel as headers, not {shorten_repr(name)}"
            )
            members.fault("customMessageProperties", message, "malformed")
        if RESERVED_HEADER.fullmatch(name) or NO_PROPERTY.fullmatch(name):
            message = f"must not have the name {name}: as a header it has a meaning of its own"
            members.fault("customMessageProperties", message, "forbidden")
        if name.lower() in seen:
            members.fault("customMessageProperties", f"must not have {name} twice: headers come in any case")
        if not re.fullmatch(PRINTABLE, value):
            members.fault(
                f"customMessageProperties.{name}", f"must be printable, not {shorten_repr(value)}", "malformed"
            )
        seen.add(name.lower())


def _custom_headers(properties: Mapping[str, str]) -> dict[str, str]:
    """Return a header for each property.  Its text is in quotes, or the service could read it as a number."""
    return {name: json.dumps(value) for name, value in properties.items()}


def _shared_access_key(members: JsonObject, previous: PreviousAction, secrets: Secrets) -> dict[str, Any] | None:
    if BUS_AUTHENTICATION.type.read(members) != "SharedAccessKey":
        return None
    members.require("sasKeyName")
    public = SHARED_ACCESS_KEY.read(members)
    keep_secret(members, "sasKey", public, previous, secrets)
    return public


def _brokered_properties(members: JsonObject) -> dict[str, Any]:
    properties = BROKERED_PROPERTIES.read(members)
    if not re.fullmatch(HEADER_VALUE, properties.get("contentType", "")):
        members.fault("contentType", "must be written in printable ASCII", "malformed")
    session, partition = properties.get("sessionId"), properties.get("partitionKey")
    if session and partition and session != partition:
        members.fault("partitionKey", "must be the same as sessionId where both are given", "invalid")
    return properties


def _brokered_header(properties: Mapping[str, Any]) -> str:
    """Return the properties with the names and formats of the service, in ASCII."""
    sent = {}
    for name, value in properties.items():
        if name == "scheduledEnqueueTimeUtc":
            value = email.utils.format_datetime(datetime.fromisoformat(value), usegmt=True)
        elif name == "timeToLive":
            value = durations.parse(value).total_seconds()
            value = int(value) if value.is_integer() else value
        if name != "contentType":  # it is sent in its own header
            sent[name[0].upper() + name[1:]] = value
    return json.dumps(sent)


def _refuse_long_headers(members: JsonObject, message: Mapping[str, Any]) -> None:
    headers = _custom_headers(message.get("customMessageProperties", {}))
    headers["BrokerProperties"] = _brokered_header(message.get("brokeredMessageProperties", {}))
    length = sum(len(name) + len(value) for name, value in headers.items())
    if length > HEADERS_LIMIT:
        problem = f"must have at most {HEADERS_LIMIT} characters as headers with all other properties, not {length}"
        members.fault("customMessageProperties", problem, "too_long")


def _sign(resource: str, key_name: str, key: str, now: datetime) -> tuple[str, str]:
    """Return a signature and the Authorization header with it.  Source: the service's shared access signatures."""
    expiry = int((now + SIGNATURE_LIFE).timestamp())
    encoded = quote(resource, safe="")
    digest = hmac.digest(key.encode(), f"{encoded}\n{expiry}".encode(), hashlib.sha256)
    signature = base64.b64encode(digest).decode()
    parts = f"sr={encoded}&sig={quote(signature, safe='')}&se={expiry}&skn={quote(key_name, safe='')}"
    return signature, f"SharedAccessSignature {parts}"
