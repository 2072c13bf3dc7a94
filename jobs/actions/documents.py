"""Action documents: what a job does, in the original service's wire form.

Source: reference sections 8 to 10 of the service's contract as its client reads it (member names, enums, size limits).
Enums are read in any case and written in PascalCase, members nobody knows are dropped, and optional parts that are not
sent are not made up.  Nothing is looked up in the network here; whether an address may be called is the call's matter.

A secret never stays in the document: it is split out under its place in it, such as
`errorAction.request.authentication.password`.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import urlsplit

from jobs import durations
from jobs.actions import pfx
from jobs.encryption import Secrets
from jobs.members import Members, shown
from jobs.models import Action

MASK = "********"  # stands for a stored secret: sent back, it keeps it

ACTION_TYPES = ("Http", "Https", "StorageQueue", "ServiceBusQueue", "ServiceBusTopic")
METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS")
RETRY_TYPES = ("None", "Fixed")
TRANSPORT_TYPES = ("NotSpecified", "NetMessaging", "AMQP")
NO_AUTHENTICATION = ("None", "NotSpecified")
HTTP_AUTHENTICATION_TYPES = (*NO_AUTHENTICATION, "Basic", "ClientCertificate", "ActiveDirectoryOAuth")
SERVICE_BUS_AUTHENTICATION_TYPES = (*NO_AUTHENTICATION, "SharedAccessKey")
BROKERED_TEXTS = (
    *("contentType", "correlationId", "label", "messageId", "partitionKey", "replyTo", "replyToSessionId"),
    *("sessionId", "to", "viaPartitionKey"),
)

# Characters, as the original limited them
URI_LIMIT = 2048
HEADERS_LIMIT = 50
HEADERS_TOTAL_LIMIT = 4096  # names and values together
BODY_LIMIT = 8192
# Characters, ours
MESSAGE_LIMIT = 16_384
SECRET_LIMIT = 16_384
SHORT_LIMIT = 256
PROPERTIES_LIMIT = 100  # custom properties of a service bus message

RETRY_COUNT_LIMIT = 20
RETRY_INTERVAL_LEAST = timedelta(seconds=15)
RETRY_INTERVAL_MOST = timedelta(days=548)  # 18 months, as in the limits of a recurrence

PRINTABLE = r"[^\x00-\x1f\x7f-\x9f]*"
NAME_OF_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?"
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
HEADER_VALUE = r"[\t\x20-\x7e]*"
CREDENTIAL_HEADER = re.compile(r"authorization|cookie|.*(token|secret|password|api-?key|credential).*", re.IGNORECASE)
# What the call itself decides, and names under which metadata services take orders
RESERVED_HEADER = re.compile(
    r"host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*"
    r"|metadata|metadata-.*|x-metadata-.*|x-aws-ec2-metadata-.*|x-google-metadata-.*|x-identity-header",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """A checked action: its document in canonical form, and apart from it the secrets by their place in it."""

    document: dict[str, Any]
    secrets: Secrets


def parse(document: object, previous: Action | None = None, path: str = "action") -> ParsedAction:
    """Check an action document.  Raises Invalid, naming the member by its path below `path`.

    A secret that is absent or masked is taken from `previous`, the action it replaces, if that has one at the same
    place, of the same authentication type, for the same public identity and for the same host: who may change a
    job but was never told its password cannot have it sent elsewhere.
    """
    secrets = Secrets()
    stored = _Stored(previous.document, previous.secrets, "") if previous else _Stored({}, Secrets(), "")
    return ParsedAction(_action(Members(document, path), stored, secrets), secrets)


def render(action: Action) -> dict[str, Any]:
    """The action as answers show it: without its secrets."""
    return deepcopy(action.document)


@dataclass(frozen=True, slots=True)
class _Stored:
    """An object within the previous document, with the place where it stands; empty where there was none."""

    document: Mapping[str, Any]
    secrets: Secrets
    place: str

    def at(self, name: str) -> "_Stored":
        return _Stored(self.document.get(name) or {}, self.secrets, self.place_of(name))

    def place_of(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def secret(self, name: str) -> str | None:
        return self.secrets.get(self.place_of(name))


def _action(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any]:
    type_ = members.required_choice("type", ACTION_TYPES)
    name, parse_message = _MESSAGES[type_]
    result = {"type": type_, name: parse_message(members.required_members(name), stored.at(name), secrets)}
    if policy := members.members("retryPolicy"):
        result["retryPolicy"] = _retry_policy(policy)
    if (error_action := members.members("errorAction")) and not stored.place:
        result["errorAction"] = _action(error_action, stored.at("errorAction"), secrets)
    return result


def _retry_policy(members: Members) -> dict[str, Any]:
    interval = _duration(members, "retryInterval")
    if interval and not RETRY_INTERVAL_LEAST <= durations.parse(interval) <= RETRY_INTERVAL_MOST:
        members.refuse("retryInterval", f"must be 15 seconds to 18 months, not {interval!r}", "out_of_range")
    return _present(
        retryType=members.choice("retryType", RETRY_TYPES),
        retryInterval=interval,
        retryCount=members.integer("retryCount", 0, RETRY_COUNT_LIMIT),
    )


def _duration(members: Members, name: str) -> str | None:
    """A duration, in the form in which it was sent."""
    text = members.text(name, SHORT_LIMIT)
    if text is None:
        return None
    try:
        durations.parse(text)
    except ValueError as error:
        members.refuse(name, str(error), "malformed")
    return durations.canonical(text)


# Http, Https


def _http_request(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any]:
    uri = _uri(members)
    if _origin(uri) != _origin(stored.document.get("uri", "")):
        stored = _Stored({}, Secrets(), stored.place)
    request = _present(
        uri=uri,
        method=members.required_choice("method", METHODS),
        headers=_headers(members, stored.at("headers"), secrets),
        body=members.text("body", BODY_LIMIT),
    )
    authentication = members.members("authentication")
    if authentication and (kept := _http_authentication(authentication, stored.at("authentication"), secrets)):
        request["authentication"] = kept
    return request


def _uri(members: Members) -> str:
    uri = members.required_text(
        "uri", URI_LIMIT, r"[!-\[\]-~]+", "written in printable ASCII without spaces and backslashes"
    )
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        members.refuse("uri", f"is not a uri: {error}", "malformed")
    if parts.scheme not in ("http", "https"):
        members.refuse("uri", f"must begin with http:// or https://, not {shown(uri)}", "malformed")
    if "[" in parts.netloc and ":" not in (host or ""):
        members.refuse("uri", "must hold an IPv6 address within its brackets", "malformed")
    if "@" in parts.netloc:
        members.refuse("uri", "must not hold a user name or password: send authentication instead", "malformed")
    if not host or not _is_host(host):
        members.refuse("uri", f"must name a host, not {shown(host)}", "malformed")
    if parts.port == 0:
        members.refuse("uri", "must have a port of 1 to 65535", "malformed")
    return uri


def _is_host(host: str) -> bool:
    """Is it a name or a literal address?  A last label of digits makes it an address, which has one spelling."""
    try:
        if ":" in host:
            return "%" not in host and bool(IPv6Address(host))
        labels = host.rstrip(".").split(".")
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
            return bool(IPv4Address(host))
    except ValueError:
        return False
    return len(host) <= 254 and all(re.fullmatch(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", label) for label in labels)


def _origin(uri: str) -> tuple[str, str | None, int]:
    parts = urlsplit(uri)
    return parts.scheme, parts.hostname, parts.port or {"https": 443}.get(parts.scheme, 80)


def _headers(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, str] | None:
    """The headers, with the mask for the value of each whose name tells that it is a credential."""
    headers = members.members("headers")
    if headers is None:
        return None
    if len(headers.value) > HEADERS_LIMIT:
        members.refuse("headers", f"must be at most {HEADERS_LIMIT}, not {len(headers.value)}", "too_long")
    result, seen = {}, set()
    for name in headers.value:
        if not HEADER_NAME.fullmatch(name):
            members.refuse("headers", f"must have names of the characters of a token, not {shown(name)}", "malformed")
        if RESERVED_HEADER.fullmatch(name):
            members.refuse("headers", f"must not set {name}: it is not the job's to decide", "forbidden")
        if name.lower() in seen:
            members.refuse("headers", f"must not set {name} twice")
        seen.add(name.lower())
        result[name] = headers.required_text(name, HEADERS_TOTAL_LIMIT, HEADER_VALUE, "written in printable ASCII")
    total = sum(len(name) + len(value) for name, value in result.items())
    if total > HEADERS_TOTAL_LIMIT:
        members.refuse("headers", f"must have at most {HEADERS_TOTAL_LIMIT} characters, not {total}", "too_long")
    for name in filter(CREDENTIAL_HEADER.fullmatch, result):
        value = stored.secret(name.lower()) if result[name] == MASK else result[name]
        if value is None:
            headers.refuse(name, "is required: none is stored for this place and host", "required")
        secrets[stored.place_of(name.lower())] = value
        result[name] = MASK
    return result


def revealed(headers: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """The headers as they are sent; `secrets` are by their path below the request."""
    return {name: secrets.get(f"headers.{name.lower()}", value) for name, value in headers.items()}


def _http_authentication(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any] | None:
    match members.required_choice("type", HTTP_AUTHENTICATION_TYPES):
        case "Basic":
            public = {
                "type": "Basic",
                "username": members.required_text(
                    "username", SHORT_LIMIT, r"[^\x00-\x1f\x7f:]*", "printable, without colons"
                ),
            }
            _keep_secret(members, "password", public, stored, secrets)
            return public
        case "ActiveDirectoryOAuth":
            public = _present(
                type="ActiveDirectoryOAuth",
                tenant=members.required_text("tenant", SHORT_LIMIT, NAME_OF_HOST, "a domain name or a GUID"),
                audience=members.text("audience", URI_LIMIT, PRINTABLE, "printable"),
                clientId=members.required_text("clientId", SHORT_LIMIT, PRINTABLE, "printable"),
            )
            _keep_secret(members, "secret", public, stored, secrets)
            return public
        case "ClientCertificate":
            return _client_certificate(members, stored, secrets)
        case _:
            return None


def _client_certificate(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any]:
    """A PFX with its password.  A new PFX without a password has none; a kept PFX keeps its own."""
    is_stored = stored.document.get("type") == "ClientCertificate"
    data, password = _secret(members, "pfx"), _secret(members, "password")
    keeps_pfx = data in (None, MASK)
    if keeps_pfx:
        data = stored.secret("pfx") if is_stored else None
    if data is None:
        members.refuse("pfx", "is required: none is stored for this place and host", "required")
    if password == MASK or (password is None and keeps_pfx):
        password = stored.secret("password") if is_stored else None
    try:
        public = {"type": "ClientCertificate", **pfx.public_members(data, password)}
    except ValueError as error:
        members.refuse("pfx", str(error), "malformed")
    secrets[stored.place_of("pfx")] = data
    if password is not None:
        secrets[stored.place_of("password")] = password
    return public


def _keep_secret(members: Members, name: str, public: Mapping[str, Any], stored: _Stored, secrets: Secrets) -> None:
    """Move the secret `name` into `secrets`, the stored one when it is absent or masked and still belongs here."""
    value = _secret(members, name)
    if value in (None, MASK):
        value = stored.secret(name) if all(stored.document.get(key) == public[key] for key in public) else None
    if value is None:
        members.refuse(name, "is required: none is stored for this place, host and identity", "required")
    secrets[stored.place_of(name)] = value


def _secret(members: Members, name: str) -> str | None:
    if name in members and not isinstance(members.value[name], str):
        members.refuse(name, "must be a text", "wrong_type")  # the refused value is not repeated
    return members.text(name, SECRET_LIMIT)


# Queues and topics


def _storage_queue_message(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any]:
    account = members.required_text("storageAccount", 24, r"[a-z0-9]{3,24}", "3 to 24 lower case letters and digits")
    queue = members.required_text("queueName", 63, r"[a-z0-9-]{3,63}", "3 to 63 lower case letters, digits and hyphens")
    _keep_secret(members, "sasToken", {"storageAccount": account}, stored, secrets)
    return {"storageAccount": account, "queueName": queue, "message": members.required_text("message", MESSAGE_LIMIT)}


def _service_bus_queue_message(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any]:
    return _service_bus_message("queueName", members, stored, secrets)


def _service_bus_topic_message(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any]:
    return _service_bus_message("topicPath", members, stored, secrets)


def _service_bus_message(target: str, members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any]:
    namespace = members.required_text("namespace", 253, NAME_OF_HOST, "a namespace or its host name")
    result = _present(
        namespace=namespace,
        **{target: members.required_text(target, 260, r"[A-Za-z0-9._~/-]+", "an entity's path")},
        transportType=members.choice("transportType", TRANSPORT_TYPES),
        message=members.text("message", MESSAGE_LIMIT),
        customMessageProperties=members.texts("customMessageProperties", PROPERTIES_LIMIT, SHORT_LIMIT, BODY_LIMIT),
    )
    if properties := members.members("brokeredMessageProperties"):
        result["brokeredMessageProperties"] = _brokered_message_properties(properties)
    if authentication := members.members("authentication"):
        if namespace != stored.document.get("namespace"):
            stored = _Stored({}, Secrets(), stored.place)
        if shared_key := _shared_access_key(authentication, stored.at("authentication"), secrets):
            result["authentication"] = shared_key
    return result


def _shared_access_key(members: Members, stored: _Stored, secrets: Secrets) -> dict[str, Any] | None:
    if members.required_choice("type", SERVICE_BUS_AUTHENTICATION_TYPES) in NO_AUTHENTICATION:
        return None
    public = {
        "type": "SharedAccessKey",
        "sasKeyName": members.required_text("sasKeyName", SHORT_LIMIT, PRINTABLE, "printable"),
    }
    _keep_secret(members, "sasKey", public, stored, secrets)
    return public


def _brokered_message_properties(members: Members) -> dict[str, Any]:
    enqueue_at = members.instant("scheduledEnqueueTimeUtc")
    return _present(
        **{name: members.text(name, SHORT_LIMIT, PRINTABLE, "printable") for name in BROKERED_TEXTS},
        forcePersistence=members.boolean("forcePersistence"),
        scheduledEnqueueTimeUtc=_instant(enqueue_at) if enqueue_at else None,
        timeToLive=_duration(members, "timeToLive"),
    )


def _instant(moment: datetime) -> str:
    """In UTC with `Z`, to the microsecond where it has any."""
    return moment.isoformat().replace("+00:00", "Z")


def _present(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


_MESSAGES = {
    "Http": ("request", _http_request),
    "Https": ("request", _http_request),
    "StorageQueue": ("queueMessage", _storage_queue_message),
    "ServiceBusQueue": ("serviceBusQueueMessage", _service_bus_queue_message),
    "ServiceBusTopic": ("serviceBusTopicMessage", _service_bus_topic_message),
}
