"""The form fields of an action, the member that each field writes, and which fields count for each choice."""

from collections.abc import Collection, Mapping
from typing import Any

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
TYPES = {
    "Http": "HTTP request",
    "Https": "HTTPS request",
    "StorageQueue": "Message to a storage queue",
    "ServiceBusQueue": "Message to a service bus queue",
    "ServiceBusTopic": "Message to a service bus topic",
    "Task": "Task of this installation",
}
AUTHENTICATIONS = {
    "": "None",
    "Basic": "User name and password",
    "ClientCertificate": "Client certificate",
    "ActiveDirectoryOAuth": "OAuth, client credentials",
}
RETRIES = {
    "": "4 times, 30 s apart",
    "None": "None",
    "Fixed": "Always the same time apart",
    "Exponential": "Each time twice as far apart",
}
TRANSPORTS = ("NotSpecified", "NetMessaging", "AMQP")

# Fields and the members that they write: fields of every action, and fields that depend on a choice

COMMON = {
    "type": "type",
    "template": "template",
    "retry": "retryPolicy.retryType",
    "error_action": "errorAction",
}
RETRYING = {
    "retry_count": "retryPolicy.retryCount",
    "retry_interval": "retryPolicy.retryInterval",
    "retry_most": "retryPolicy.maximumRetryInterval",
}
REQUEST = {
    "method": "request.method",
    "uri": "request.uri",
    "headers": "request.headers",
    "secret_headers": "request.secretHeaders",
    "secret_query": "request.secretQuery",
    "body": "request.body",
    "follow_redirects": "request.followRedirects",
    "certificate_authority": "request.certificateAuthority",
    "status_codes": "request.success.statusCodes",
    "body_contains": "request.success.bodyContains",
    "body_path": "request.success.bodyPath",
    "body_value": "request.success.bodyValue",
    "authentication": "request.authentication.type",
}
FOLLOWING = {"follow": "follow", "follow_limit": "followLimit"}
AUTHENTICATION = {
    "Basic": {
        "username": "request.authentication.username",
        "password": "request.authentication.password",
    },
    "ClientCertificate": {
        "pfx": "request.authentication.pfx",
        "pfx_password": "request.authentication.password",
    },
    "ActiveDirectoryOAuth": {
        "tenant": "request.authentication.tenant",
        "client_id": "request.authentication.clientId",
        "client_secret": "request.authentication.secret",
        "audience": "request.authentication.audience",
        "authority": "request.authentication.authority",
    },
}
STORAGE_QUEUE = {
    "storage_account": "queueMessage.storageAccount",
    "storage_queue": "queueMessage.queueName",
    "sas_token": "queueMessage.sasToken",
    "queue_message": "queueMessage.message",
    "message_format": "queueMessage.messageFormat",
    "message_encoding": "queueMessage.messageEncoding",
}
# below serviceBusQueueMessage or serviceBusTopicMessage
BUS = {
    "namespace": "namespace",
    "bus_message": "message",
    "transport": "transportType",
    "custom_properties": "customMessageProperties",
    "content_type": "brokeredMessageProperties.contentType",
    "time_to_live": "brokeredMessageProperties.timeToLive",
    "enqueue_at": "brokeredMessageProperties.scheduledEnqueueTimeUtc",
    "label": "brokeredMessageProperties.label",
    "message_id": "brokeredMessageProperties.messageId",
    "correlation_id": "brokeredMessageProperties.correlationId",
    "session_id": "brokeredMessageProperties.sessionId",
    "reply_to": "brokeredMessageProperties.replyTo",
    "reply_to_session_id": "brokeredMessageProperties.replyToSessionId",
    "to": "brokeredMessageProperties.to",
    "partition_key": "brokeredMessageProperties.partitionKey",
    "via_partition_key": "brokeredMessageProperties.viaPartitionKey",
    "force_persistence": "brokeredMessageProperties.forcePersistence",
    "bus_authentication": "authentication.type",
}
TASK = {"task_name": "task.name", "task_arguments": "task.arguments"}
BUS_KEY = {"sas_key_name": "authentication.sasKeyName", "sas_key": "authentication.sasKey"}
BUS_TARGETS = {
    "ServiceBusQueue": ("serviceBusQueueMessage", {"bus_queue": "queueName"}),
    "ServiceBusTopic": ("serviceBusTopicMessage", {"bus_topic": "topicPath"}),
}
HEADERS = "request.headers."
QUERY = "request.query."
# members that are cleared when the choice changes
CHOICES = {"authentication": "request.authentication", "retry": "retryPolicy"}
DESCRIBED = ("certificateThumbprint", "certificateSubjectName", "certificateExpirationDate", "certificateExpiration")
CHOOSING: dict[str, Collection[str]] = {
    "type": TYPES,
    "authentication": AUTHENTICATIONS,
    "bus_authentication": ("", "SharedAccessKey"),
    "retry": RETRIES,
}


def visible_fields(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that count for these values of the choices, with the paths of the members that they write."""
    paths = dict(COMMON)
    if values.get("retry") in ("Fixed", "Exponential"):
        paths |= RETRYING
    if (kind := values.get("type")) in BUS_TARGETS:
        message, target = BUS_TARGETS[kind]
        below = BUS | target | (BUS_KEY if values.get("bus_authentication") else {})
        return paths | {name: f"{message}.{path}" for name, path in below.items()}
    if kind == "StorageQueue":
        return paths | STORAGE_QUEUE
    if kind == "Task":
        return paths | TASK
    return paths | REQUEST | FOLLOWING | AUTHENTICATION.get(values.get("authentication") or "", {})


def lookup(document: object, path: str) -> Any:
    """Return the member at a path; None if there is none."""
    for name in path.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def set_path(document: dict[str, Any], path: str, value: object) -> None:
    """Set the member at a path.  None removes it, and removes the objects above it that become empty."""
    name, _, rest = path.partition(".")
    if rest and (value is not None or isinstance(document.get(name), dict)):
        inner = document.get(name)
        document[name] = inner if isinstance(inner, dict) else {}
        set_path(document[name], rest, value)
        if value is None and not document[name]:
            del document[name]
    elif not rest and value is None:
        document.pop(name, None)
    elif not rest:
        document[name] = value
