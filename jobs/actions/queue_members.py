"""The members of messages to storage queues and service buses."""

import re
from datetime import timedelta

from jobs.actions.member_types import (
    NO_AUTHENTICATION,
    PRINTABLE_TEXT,
    Choice,
    Duration,
    Flag,
    Instant,
    Object,
    ObjectType,
    OneOf,
    Pattern,
    Secret,
    Text,
    Texts,
)
from jobs.actions.previous import MESSAGE_LIMIT, NAME_OF_HOST

MESSAGE_FORMATS = ("Text", "Xml")
MESSAGE_ENCODINGS = ("None", "Base64")
TRANSPORT_TYPES = ("NotSpecified", "NetMessaging", "AMQP")

NAMESPACE = Pattern(re.compile(NAME_OF_HOST), "a namespace or its host name")
ACCOUNT = Pattern(re.compile(r"[a-z0-9]{3,24}"), "3 to 24 lower case letters and digits")
QUEUE = Pattern(
    re.compile(r"(?=...)[a-z0-9](-?[a-z0-9])*"),
    "3 to 63 lower case letters, digits and single hyphens, with no hyphen at either end",
)
ENTITY = Pattern(
    re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*"),
    "an entity's path such as orders/new",
)

# Messages of a storage queue

QUEUE_MESSAGE = ObjectType(
    "StorageQueueMessage",
    (
        Text("storageAccount", 24, ACCOUNT, required=True)
        .described("The name of the storage account.", "exampleaccount")
        .in_form("storage_account", "Storage account"),
        Text("queueName", 63, QUEUE, required=True)
        .described("The name of the queue.", "orders")
        .in_form("storage_queue", "Queue"),
        Secret("sasToken", required=True)
        .described("The shared access signature (SAS token) that allows adding messages to the queue.")
        .in_form("sas_token", "SAS token"),
        Text("message", MESSAGE_LIMIT, required=True)
        .described("The text of the message.", "collect")
        .in_form("queue_message", "Message", rows=4, strip=False),
        Choice("messageFormat", MESSAGE_FORMATS, "Text")
        .described(
            "The format of the message: `Text`, or `Xml` for the XML document that Azure Scheduler sent. An"
            " extension to Azure Scheduler.",
            "Text",
        )
        .in_form(
            "message_format",
            "Format",
            choices={"Text": "Message only", "Xml": "XML of Azure Scheduler"},
            initial="Text",
        ),
        Choice("messageEncoding", MESSAGE_ENCODINGS, "None")
        .described(
            "The encoding of the message in the queue, as the readers of the queue expect it. An extension to Azure"
            " Scheduler."
        )
        .in_form("message_encoding", "Encoding", choices={"None": "None", "Base64": "Base64"}, initial="None"),
    ),
)

# Messages of a service bus


def _bus_authentication_type(*types: str) -> Choice:
    return (
        Choice("type", types, required=True)
        .described("The type of authentication.")
        .in_form(
            "bus_authentication",
            "Authentication",
            choices={"SharedAccessKey": "Shared access key", "": "None"},
            initial="SharedAccessKey",
            decides=True,
        )
    )


SHARED_ACCESS_KEY = ObjectType(
    "ServiceBusAuthentication",
    (
        _bus_authentication_type("SharedAccessKey"),
        Text("sasKeyName", pattern=PRINTABLE_TEXT)
        .described("The name of the key.", "send")
        .in_form("sas_key_name", "Key name"),
        Secret("sasKey", required=True).described("The key.").in_form("sas_key", "Key"),
    ),
)
BUS_AUTHENTICATION = OneOf(
    "authentication",
    {"SharedAccessKey": SHARED_ACCESS_KEY},
    _bus_authentication_type(*NO_AUTHENTICATION, "SharedAccessKey"),
).described("The authentication of the message; null: the message is sent without authentication.")


def _property(name: str, example: str, form_name: str, label: str) -> Text:
    help_text = f"The Service Bus property `{name}` of the message."
    return Text(name, pattern=PRINTABLE_TEXT).described(help_text, example).in_form(form_name, label)


BROKERED_PROPERTIES = ObjectType(
    "BrokeredMessageProperties",
    (
        _property("contentType", "text/plain", "content_type", "Content type"),
        _property("correlationId", "order-7", "correlation_id", "Correlation id"),
        _property("label", "alarm", "label", "Label"),
        _property("messageId", "alarm-7", "message_id", "Message id"),
        _property("partitionKey", "orders", "partition_key", "Partition key"),
        _property("replyTo", "answers", "reply_to", "Reply to"),
        _property("replyToSessionId", "answers-7", "reply_to_session_id", "Reply to session id"),
        _property("sessionId", "orders", "session_id", "Session id"),
        _property("to", "shop", "to", "To"),
        _property("viaPartitionKey", "orders", "via_partition_key", "Via partition key"),
        Flag("forcePersistence", None)
        .described("Whether the message is stored before it is accepted.")
        .in_form("force_persistence", "Force persistence", choices={"": "Not specified", "true": "Yes", "false": "No"}),
        Instant("scheduledEnqueueTimeUtc")
        .described("The time at which the message becomes available in the queue, in UTC.", "2030-01-05T08:00:00Z")
        .in_form("enqueue_at", "Enqueue at, in UTC", "The queue holds the message until then."),
        Duration("timeToLive", timedelta.resolution, timedelta.max, "longer than no time")
        .described("The lifetime of the message: an ISO 8601 duration such as `PT30S`, or `00:00:30`.", "PT1H")
        .in_form("time_to_live", "Time to live", "Such as PT1H or 01:00:00."),
    ),
)


def _bus_message(name: str, entity: Text) -> ObjectType:
    return ObjectType(
        name,
        (
            Text("namespace", 253, NAMESPACE, required=True)
            .described("The name of the namespace.", "example")
            .in_form("namespace", "Namespace", "The name or the full host name."),
            Choice("transportType", TRANSPORT_TYPES)
            .described("The transport type, for compatibility. Messages are always sent over HTTPS.")
            .in_form(
                "transport",
                "Transport",
                "For compatibility only; messages are always sent over HTTPS.",
                choices={"": "Not specified", **{name: name for name in TRANSPORT_TYPES}},
            ),
            Text("message", MESSAGE_LIMIT)
            .described("The text of the message.", "orders were not collected")
            .in_form("bus_message", "Message", rows=4, strip=False),
            BUS_AUTHENTICATION,
            Object("brokeredMessageProperties", BROKERED_PROPERTIES).described(
                "The Service Bus properties of the message."
            ),
            Texts("customMessageProperties", 100, 8192)
            .described("The custom properties of the message.", {"severity": "high"})
            .in_form("custom_properties", "Custom properties", "One per line, as Name: value."),
            entity,
        ),
    )


BUS_QUEUE_MESSAGE = _bus_message(
    "ServiceBusQueueMessage",
    Text("queueName", 260, ENTITY, required=True)
    .described("The name of the queue.", "orders")
    .in_form("bus_queue", "Queue"),
)
BUS_TOPIC_MESSAGE = _bus_message(
    "ServiceBusTopicMessage",
    Text("topicPath", 260, ENTITY, required=True)
    .described("The path of the topic.", "alarms")
    .in_form("bus_topic", "Topic"),
)
