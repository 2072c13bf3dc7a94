"""Sample documents of actions, and helpers that store them, or return the error for a refused document."""

import pytest

from api.errors import Invalid
from jobs.actions import documents
from jobs.models import Action

URI = "https://example.com/hook"
BASIC = {"type": "Basic", "username": "ada", "password": "pw"}
OAUTH = {
    "type": "ActiveDirectoryOAuth",
    "tenant": "contoso.example",
    "audience": "https://api.example",
    "clientId": "app",
    "secret": "s3cret",
}
STORAGE = {
    "type": "StorageQueue",
    "queueMessage": {"storageAccount": "acct", "queueName": "jobs", "sasToken": "?sig=1", "message": "hello"},
}
SERVICE_BUS = {
    "type": "ServiceBusQueue",
    "serviceBusQueueMessage": {
        "namespace": "orders",
        "queueName": "in/box",
        "transportType": "AMQP",
        "message": "hello",
        "customMessageProperties": {"k": "v"},
        "brokeredMessageProperties": {
            "contentType": "text/plain",
            "label": "nightly",
            "forcePersistence": True,
            "scheduledEnqueueTimeUtc": "2030-01-01T08:00:00.000Z",
            "timeToLive": "PT1M",
        },
        "authentication": {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": "k3y"},
    },
}


def http(authentication=None, type="Http", **request):
    request = {"uri": URI, "method": "GET", **request}
    if authentication is not None:
        request["authentication"] = authentication
    return {"type": type, "request": request}


def stored(document) -> Action:
    """Return the action as the database stores it."""
    parsed = documents.parse(document)
    return Action(document=parsed.document, secrets=parsed.secrets)


def refusal(document, previous=None) -> tuple[str, str]:
    with pytest.raises(Invalid) as caught:
        documents.parse(document, previous)
    return caught.value.path, caught.value.code


def replaced(document, place, value) -> dict:
    name, *rest = place
    return {**document, name: replaced(document[name], rest, value) if rest else value}
