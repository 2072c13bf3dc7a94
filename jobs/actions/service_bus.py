"""Actions of the types ServiceBusQueue and ServiceBusTopic: a message for a queue or topic of a service bus."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobs.actions import templates
from jobs.actions.http import Call
from jobs.actions.outcome import Context
from jobs.actions.stored import MESSAGE_LIMIT, NAME_OF_HOST, SHORT_LIMIT, Stored, duration, keep_secret, present
from jobs.encryption import Secrets
from jobs.members import PRINTABLE, Members

TRANSPORT_TYPES = ("NotSpecified", "NetMessaging", "AMQP")
AUTHENTICATION_TYPES = ("None", "NotSpecified", "SharedAccessKey")
PROPERTIES_LIMIT = 100  # custom properties of a message
PROPERTY_LIMIT = 8192  # characters of one of them
BROKERED_TEXTS = (
    *("contentType", "correlationId", "label", "messageId", "partitionKey", "replyTo", "replyToSessionId"),
    *("sessionId", "to", "viaPartitionKey"),
)


def parse_queue(members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    return _parse("queueName", members, stored, secrets, is_template)


def parse_topic(members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    return _parse("topicPath", members, stored, secrets, is_template)


def prepare(message: Mapping[str, Any], secrets: Mapping[str, str], context: Context, fill: templates.Fill) -> Call:
    raise NotImplementedError


def _parse(target: str, members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    namespace = members.required_text("namespace", 253, NAME_OF_HOST, "a namespace or its host name")
    text = members.text("message", MESSAGE_LIMIT)
    if text and is_template:
        templates.check(members, "message", text)
    result = present(
        namespace=namespace,
        **{target: members.required_text(target, 260, r"[A-Za-z0-9._~/-]+", "an entity's path")},
        transportType=members.choice("transportType", TRANSPORT_TYPES),
        message=text,
        customMessageProperties=members.texts("customMessageProperties", PROPERTIES_LIMIT, SHORT_LIMIT, PROPERTY_LIMIT),
    )
    if properties := members.members("brokeredMessageProperties"):
        result["brokeredMessageProperties"] = _brokered_message_properties(properties)
    if authentication := members.members("authentication"):
        if namespace != stored.document.get("namespace"):
            stored = stored.emptied()
        if shared_key := _shared_access_key(authentication, stored.at("authentication"), secrets):
            result["authentication"] = shared_key
    return result


def _shared_access_key(members: Members, stored: Stored, secrets: Secrets) -> dict[str, Any] | None:
    if members.required_choice("type", AUTHENTICATION_TYPES) != "SharedAccessKey":
        return None
    public = {
        "type": "SharedAccessKey",
        "sasKeyName": members.required_text("sasKeyName", SHORT_LIMIT, PRINTABLE, "printable"),
    }
    keep_secret(members, "sasKey", public, stored, secrets)
    return public


def _brokered_message_properties(members: Members) -> dict[str, Any]:
    enqueue_at = members.instant("scheduledEnqueueTimeUtc")
    return present(
        **{name: members.text(name, SHORT_LIMIT, PRINTABLE, "printable") for name in BROKERED_TEXTS},
        forcePersistence=members.boolean("forcePersistence"),
        scheduledEnqueueTimeUtc=_instant(enqueue_at) if enqueue_at else None,
        timeToLive=duration(members, "timeToLive"),
    )


def _instant(moment: datetime) -> str:
    """In UTC with `Z`, to the microsecond where it has any."""
    return moment.isoformat().replace("+00:00", "Z")
