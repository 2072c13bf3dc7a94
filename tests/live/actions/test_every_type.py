"""An action of every type, as the main action and as the error action, carried out by worker processes."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.live.actions.jobs import NAMES, bus_message, http, message, queue_message, wait_for_run
from tests.peers.target import Target

# A fixture for each type, as the main action and as the error action: an action that sends "hello", and a
# function that returns the received messages


@dataclass(frozen=True)
class Delivery:
    action: dict
    received: Callable[[], list[str]]


@pytest.fixture
def to_http(target):
    return Delivery(http(target.url + "/in", body="hello"), lambda: [call.body for call in target.calls_to("/in")])


@pytest.fixture
def to_https(peer, authority):
    target = peer(Target, tls=authority.server())
    action = http(target.url + "/in", body="hello", certificateAuthority=authority.pem) | {"type": "Https"}
    return Delivery(action, lambda: [call.body for call in target.calls_to("/in")])


@pytest.fixture
def to_storage_queue(storage):
    name = next(NAMES)
    queue = storage.queue(name)
    action = {"type": "StorageQueue", "queueMessage": queue_message(storage, name)}
    return Delivery(action, lambda: [message.content for message in queue.peek_messages(max_messages=10)])


@pytest.fixture
def to_service_bus_queue(bus):
    name = next(NAMES)
    bus.entities.add(name)
    action = {"type": "ServiceBusQueue", "serviceBusQueueMessage": bus_message(queueName=name)}
    return Delivery(action, lambda: [message.body for message in bus.messages if message.entity == name])


@pytest.fixture
def to_service_bus_topic(bus):
    name = f"events/{next(NAMES)}"
    bus.entities.add(name)
    action = {"type": "ServiceBusTopic", "serviceBusTopicMessage": bus_message(topicPath=name)}
    return Delivery(action, lambda: [message.body for message in bus.messages if message.entity == name])


EVERY_TYPE = pytest.mark.parametrize(
    "to", ["to_http", "to_https", "to_storage_queue", "to_service_bus_queue", "to_service_bus_topic"]
)


@EVERY_TYPE
def test_an_action_of_every_type_is_delivered_once(to, request, carry_out):
    delivery = request.getfixturevalue(to)

    run = carry_out(delivery.action)

    assert run["state"] == "succeeded", message(run)
    assert len(run["attempts"]) == 1
    assert delivery.received() == ["hello"]


@EVERY_TYPE
def test_an_error_action_of_every_type_follows_a_failure_and_is_linked(to, request, target, live, carry_out):
    delivery = request.getfixturevalue(to)

    run = carry_out(http(f"{target.url}/status/500") | {"errorAction": delivery.action})
    error_run = wait_for_run(live, run["errorRun"])

    assert (run["state"], error_run["state"]) == ("failed", "succeeded"), message(error_run)
    assert (error_run["parent"], error_run["origin"]) == (run["id"], "error_action")
    assert len(error_run["attempts"]) == 1
    assert delivery.received() == ["hello"]
