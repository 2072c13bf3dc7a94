"""Broker outages: unpublished runs wait at little cost and are published as soon as the broker is back."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Run
from tests.conftest import utc
from tests.triggers.test_publisher import Broker, messages
from triggers.dispatch import BATCH, Dispatcher
from triggers.publisher import RETRY_AFTER_S, RunPublisher

pytestmark = pytest.mark.django_db

START = utc("2026-01-05T08:00:00Z")
HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}


class Clock:
    """The clock of the dispatcher and its publisher."""

    def __init__(self):
        self.now = START

    def monotonic(self) -> float:
        return (self.now - START).total_seconds()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def broker(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("b"))
    yield broker
    broker.stop()


@pytest.fixture
def dispatcher(broker, clock):
    """A dispatcher that has already connected to the broker."""
    publisher = RunPublisher(broker.app, monotonic=clock.monotonic)
    assert publisher.is_reachable()
    yield Dispatcher(publisher)
    publisher.close()


@pytest.fixture
def make_runs(make_job):
    def make(count: int) -> None:
        job = make_job(schedule=HOURLY, now=START)
        Run.objects.bulk_create(
            Run(subscription=job.collection.subscription, job=job, fire_at=START, publish_after=START)
            for _ in range(count)
        )

    return make


def message_counts(broker) -> Counter[str]:
    """Return how many messages contain each run."""
    return Counter(run_id for body, _ in messages(broker) for run_id in body[0][0])


def test_run_created_during_an_outage_is_published_by_the_first_pass_after_it(make_job, broker, dispatcher, clock):
    make_job(schedule=HOURLY)
    broker.stop()
    dispatcher.run(clock.now)

    broker.start()
    clock.now += timedelta(seconds=RETRY_AFTER_S)
    dispatcher.run(clock.now)

    assert message_counts(broker) == {str(Run.objects.get().pk): 1}


def test_runs_refused_by_the_broker_are_published_by_the_first_pass_after_it(make_runs, broker, dispatcher, clock):
    make_runs(3)
    demand_replicas(broker, 1)
    wakes_at = dispatcher.run(clock.now)
    assert wakes_at == START + timedelta(hours=1)  # no pass before the broker is tried again
    assert message_counts(broker) == {}

    demand_replicas(broker, 0)
    clock.now += timedelta(seconds=RETRY_AFTER_S)
    dispatcher.run(clock.now)

    assert message_counts(broker) == {str(pk): 1 for pk in Run.objects.values_list("pk", flat=True)}


def demand_replicas(broker, count: int) -> None:
    """Make the broker refuse every write until it has `count` replicas."""
    with broker.app.connection_for_write() as link:
        link.default_channel.client.config_set("min-replicas-to-write", count)


def test_pass_during_an_outage_takes_two_queries_and_wakes_no_earlier(make_runs, broker, dispatcher, clock):
    make_runs(3)
    broker.stop()
    dispatcher.run(clock.now)
    refused = dispatcher.publisher.connection

    for _ in range(3):
        clock.now += timedelta(seconds=RETRY_AFTER_S / 4)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            wakes_at = dispatcher.run(clock.now)
        assert len(queries) == 2
        assert wakes_at == START + timedelta(hours=1)

    assert dispatcher.publisher.connection is refused  # an attempt would replace the connection, so there was none
    broker.start()


def test_all_waiting_runs_are_published_in_passes_without_a_pause(make_runs, broker, dispatcher, clock):
    make_runs(2 * BATCH + 1)
    broker.stop()
    dispatcher.run(clock.now)
    broker.start()
    clock.now += timedelta(seconds=RETRY_AFTER_S)

    passes = 1
    while (wakes_at := dispatcher.run(clock.now)) and wakes_at <= clock.now:  # as a beat does
        passes += 1

    assert passes == 3
    assert Counter(message_counts(broker).values()) == {1: Run.objects.count()}
