"""The service bus peer: signatures are created as the public documentation of the service describes."""

import base64
import hashlib
import hmac
import time
from datetime import UTC, datetime
from urllib.parse import quote, quote_plus

import pytest
import requests

from tests.peers.service_bus import NAMESPACE, ServiceBus


def signed(resource: str, key="the key", name="send", lifetime=300) -> str:
    encoded, expiry = quote_plus(resource), int(time.time() + lifetime)
    signature = base64.b64encode(hmac.digest(key.encode(), f"{encoded}\n{expiry}".encode(), hashlib.sha256))
    return f"SharedAccessSignature sr={encoded}&sig={quote(signature, safe='')}&se={expiry}&skn={name}"


@pytest.fixture
def bus(peer):
    return peer(ServiceBus, ["orders"], {"send": "the key"})


@pytest.fixture
def send(bus):
    def send(entity="orders", authorization=None, **headers) -> requests.Response:
        resource = f"{bus.url}/{NAMESPACE}/orders"
        headers = {"Authorization": authorization or signed(resource)} | headers
        return requests.post(f"{bus.url}/{NAMESPACE}/{entity}/messages", data="hello", headers=headers, timeout=10)

    return send


def test_signed_message_is_accepted_with_all_its_properties(bus, send):
    broker = '{"Label": "A", "TimeToLive": 90, "ScheduledEnqueueTimeUtc": "Sun, 06 Nov 1994 08:49:37 GMT", "Other": 1}'
    answer = send(**{"Content-Type": "text/plain", "BrokerProperties": broker, "Priority": '"High"', "Size": "3"})

    assert answer.status_code == 201
    (message,) = bus.messages
    assert (message.entity, message.body, message.content_type) == ("orders", "hello", "text/plain")
    assert message.properties == {
        "Label": "A",
        "TimeToLive": 90,
        "ScheduledEnqueueTimeUtc": datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC),
    }
    assert message.custom == {"priority": "High", "size": 3}


def test_signature_for_the_namespace_is_valid_for_its_queues(bus, send):
    assert send(authorization=signed(f"{bus.url}/{NAMESPACE}")).status_code == 201


@pytest.mark.parametrize(
    "path, fields, reason",
    [
        ("orders", {"key": "another"}, "the signature is not the key's"),
        ("orders", {"name": "listen"}, "no key has this name"),
        ("orders", {"lifetime": -1}, "the signature has expired"),
        ("orders", {"lifetime": 90_000}, "the signature is good for too long"),
        ("order", {}, "sr covers another resource"),
        ("orders/deep", {}, "sr covers another resource"),
    ],
)
def test_a_wrong_signature_is_refused(bus, send, path, fields, reason):
    answer = send(authorization=signed(f"{bus.url}/{NAMESPACE}/{path}", **fields))

    assert answer.status_code == 401
    assert reason in answer.text
    assert bus.messages == []


@pytest.mark.parametrize(
    "headers",
    [
        {"BrokerProperties": "Label=A"},
        {"BrokerProperties": "[]"},
        {"BrokerProperties": '{"Label": 1}'},
        {"BrokerProperties": '{"TimeToLive": "PT1M"}'},
        {"BrokerProperties": '{"ScheduledEnqueueTimeUtc": "1994-11-06T08:49:37Z"}'},
        {"BrokerProperties": '{"ForcePersistence": "true"}'},
        {"BrokerProperties": '{"SessionId": "a", "PartitionKey": "b"}'},
        {"Priority": "High"},  # a text without quotes
    ],
)
def test_a_malformed_property_is_refused(bus, send, headers):
    assert send(**headers).status_code == 400
    assert bus.messages == []


def test_an_unknown_queue_is_not_found(bus, send):
    answer = send(entity="nowhere", authorization=signed(f"{bus.url}/{NAMESPACE}"))

    assert answer.status_code == 404
