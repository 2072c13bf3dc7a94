"""A broker that is away: what could not be published waits for it, costs little meanwhile, and is published at once."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Run
from tests.conftest import utc
from tests.triggers.test_bell import Broker, messages
from triggers.dispatch import BATCH, Dispatcher
from triggers.publisher import RETRY_AFTER_S, RunPublisher

pytestmark = pytest.mark.django_db

START = utc("2026-01-05T08:00:00Z")
HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}


class Clock:
    """What the dispatcher and its publisher are told to be the time."""

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
    """One that has talked to the broker before."""
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


def told(broker) -> Counter[str]:
    """How often messages name each run."""
    return Counter(run_id for body, _ in messages(broker) for run_id in body[0][0])


def test_a_fire_time_of_an_outage_is_published_by_the_first_pass_after_it(make_job, broker, dispatcher, clock):
    make_job(schedule=HOURLY)
    broker.stop()
    dispatcher.run(clock.now)

    broker.start()
    clock.now += timedelta(seconds=RETRY_AFTER_S)
    dispatcher.run(clock.now)

    assert told(broker) == {str(Run.objects.get().pk): 1}


def test_runs_whose_messages_the_broker_refuses_are_published_by_the_first_pass_after_it(
    make_runs, broker, dispatcher, clock
):
    make_runs(3)
    demand_replicas(broker, 1)
    wakes_at = dispatcher.run(clock.now)
    assert wakes_at == START + timedelta(hours=1)  # no pass before the broker is asked again
    assert told(broker) == {}

    demand_replicas(broker, 0)
    clock.now += timedelta(seconds=RETRY_AFTER_S)
    dispatcher.run(clock.now)

    assert told(broker) == {str(pk): 1 for pk in Run.objects.values_list("pk", flat=True)}


def demand_replicas(broker, count: int) -> None:
    """A broker that has fewer answers, and refuses every write."""
    with broker.app.connection_for_write() as link:
        link.default_channel.client.config_set("min-replicas-to-write", count)


def test_a_pass_of_an_outage_is_two_queries_and_no_reason_for_another(make_runs, broker, dispatcher, clock):
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

    assert dispatcher.publisher.connection is refused  # each attempt renews it: there was none
    broker.start()


def test_everything_that_waited_is_published_in_passes_without_a_pause(make_runs, broker, dispatcher, clock):
    make_runs(2 * BATCH + 1)
    broker.stop()
    dispatcher.run(clock.now)
    broker.start()
    clock.now += timedelta(seconds=RETRY_AFTER_S)

    passes = 1
    while (wakes_at := dispatcher.run(clock.now)) and wakes_at <= clock.now:  # as a beat does
        passes += 1

    assert passes == 3
    assert Counter(told(broker).values()) == {1: Run.objects.count()}
