"""The beat: its ticks, with a real broker and database."""

import time
from datetime import timedelta
from importlib import import_module
from threading import Thread

import pytest
from celery import Celery
from django.apps import apps
from django.core.management import call_command
from django.db import InternalError, OperationalError, connection, transaction
from django.utils import timezone
from django_celery_beat.models import PeriodicTask, PeriodicTasks

from jobs.models import Process, Run
from jobs.run_now import run_now
from jobs.worker.heartbeat import own_name
from scheduler_site.celery import app as product
from tests.triggers.test_publisher import Broker, messages
from triggers.beat import LONGEST_WAIT_S, Listener, TriggerScheduler
from triggers.models import Trigger
from triggers.notify import notify_beat

pytestmark = pytest.mark.django_db(transaction=True)  # the parent class closes connections within transactions

BUSY_S = 5  # the delay that a busy machine may cause
LONG_S = 60  # a wait that another event ends earlier
HOUSEKEEPING = import_module("triggers.migrations.0002_housekeeping")
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL can notify")


@pytest.fixture(scope="module")
def shared_broker(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("b"))
    yield broker
    broker.stop()


@pytest.fixture
def broker(shared_broker):
    with shared_broker.app.connection_for_write() as link:
        link.default_channel.client.flushall()
    return shared_broker


@pytest.fixture
def make_beat(broker, transactional_db):
    HOUSEKEEPING.make_entries(apps, None)  # an earlier test may have emptied the tables
    beats = []

    def make(**fields) -> TriggerScheduler:
        beats.append(TriggerScheduler(broker.app, **fields))
        return beats[-1]

    yield make
    for beat in beats:
        beat.close()


def due_in(seconds):
    return {"startTime": (timezone.now() + timedelta(seconds=seconds)).isoformat()}


def tick(beat):
    """Tick once and return how long it took."""
    started = time.monotonic()
    assert beat.tick() == 0  # the caller does not need to wait
    return time.monotonic() - started


def test_product_uses_trigger_scheduler_as_its_beat():
    assert product.conf.beat_scheduler == "triggers.beat:TriggerScheduler"


def test_tick_dispatches_due_triggers_and_publishes_their_runs(make_job, make_beat, broker):
    make_job(schedule=due_in(-1), now=timezone.now())  # a start that has passed counts as now

    tick(make_beat())

    ((body, _),) = messages(broker)
    assert body[0] == [[str(Run.objects.get().pk)]]


def test_tick_ends_at_the_next_fire_time(make_job, make_beat, broker):
    make_job(schedule=due_in(0.3), now=timezone.now())
    beat = make_beat()
    left = Trigger.objects.get().next_fire_at - timezone.now()

    first, second = tick(beat), tick(beat)

    run = Run.objects.get()
    assert left.total_seconds() - 0.05 < first < LONGEST_WAIT_S + BUSY_S
    assert timedelta(0) <= run.created_at - run.fire_at < timedelta(seconds=BUSY_S)
    assert second < LONGEST_WAIT_S + BUSY_S


def test_idle_tick_ends_after_the_longest_wait(make_beat):
    beat = make_beat()
    tick(beat)

    assert tick(beat) < LONGEST_WAIT_S + BUSY_S


def test_manual_run_is_published_by_a_tick(make_job, make_beat, broker):
    run = run_now(make_job(schedule=due_in(3600), now=timezone.now()), timezone.now())

    tick(make_beat())

    ((body, _),) = messages(broker)
    assert body[0] == [[str(run.pk)]]


def test_tick_makes_several_passes_for_many_due_triggers(make_job, make_beat, broker, monkeypatch):
    monkeypatch.setattr("triggers.dispatch.BATCH", 1)
    for number in range(3):
        make_job(f"job-{number}", schedule=due_in(-1), now=timezone.now())

    tick(make_beat())

    assert Run.objects.count() == 3


# Housekeeping


@pytest.mark.django_db(transaction=True)
def test_migrations_create_the_housekeeping_entries():
    entries = PeriodicTask.objects.filter(task__startswith="jobs.")
    call_command("migrate", "triggers", "0001", verbosity=0)
    assert not entries.exists()

    call_command("migrate", "triggers", verbosity=0)

    planned = {task.task: str(task.schedule.run_every) for task in entries.all()}
    assert planned == {"jobs.tasks.reap": "0:00:15", "jobs.tasks.prune": "1:00:00"}
    assert set(entries.values_list("queue", flat=True)) == {"housekeeping"}


def test_creating_housekeeping_entries_is_repeatable_and_reversible():
    HOUSEKEEPING.make_entries(apps, None)
    PeriodicTask.objects.filter(task="jobs.tasks.prune").update(enabled=False)  # an administrator's choice

    HOUSEKEEPING.make_entries(apps, None)
    assert PeriodicTask.objects.count() == 2
    assert not PeriodicTask.objects.get(task="jobs.tasks.prune").enabled

    HOUSEKEEPING.remove_entries(apps, None)
    assert not PeriodicTask.objects.exists()


def test_due_housekeeping_is_sent_to_its_own_queue(make_beat, broker):
    PeriodicTask.objects.update(last_run_at=timezone.now() - timedelta(days=1))

    tick(make_beat())

    sent = {headers["task"] for _, headers in messages(broker, "housekeeping")}
    assert sent == {"jobs.tasks.reap", "jobs.tasks.prune"}
    assert messages(broker) == []


def test_disabled_housekeeping_entries_are_not_sent(make_beat, broker):
    PeriodicTask.objects.update(last_run_at=timezone.now() - timedelta(days=1), enabled=False)
    PeriodicTasks.update_changed()

    tick(make_beat())

    assert messages(broker, "housekeeping") == []


def test_only_housekeeping_entries_are_kept_in_memory(make_job, make_beat):
    make_job()
    beat = make_beat()

    assert len(beat.schedule) == 2


# Outages


def test_beat_without_a_broker_still_creates_runs(make_job, tmp_path, caplog):
    make_job(schedule=due_in(-1), now=timezone.now())
    HOUSEKEEPING.make_entries(apps, None)
    PeriodicTask.objects.update(last_run_at=timezone.now() - timedelta(days=1))
    away = Celery("away", broker=f"redis+socket://{tmp_path}/nobody.sock", set_as_current=False)
    beat = TriggerScheduler(away)

    tick(beat), tick(beat)

    assert Run.objects.get().state == Run.State.WAITING
    assert caplog.text.count("the broker does not answer") == 1
    assert "Message Error" not in caplog.text
    beat.close()


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("the server closed the connection unexpectedly"),
        InternalError("cannot execute UPDATE in a read-only transaction"),
    ],
    ids=["gone", "read-only"],
)
def test_beat_logs_a_database_outage_once_and_continues(error, make_job, make_beat, caplog, monkeypatch):
    caplog.set_level("INFO")
    monkeypatch.setattr("triggers.beat.OUTAGE_WAIT_S", 0.01)
    beat = make_beat()
    original_run = beat.dispatcher.run
    make_job(schedule=due_in(-1), now=timezone.now())

    def unavailable(now):
        raise error

    beat.dispatcher.run = unavailable
    tick(beat), tick(beat)
    beat.dispatcher.run = original_run
    tick(beat)

    assert caplog.text.count("the database does not answer") == 1
    assert caplog.text.count("the database answers again") == 1
    assert Run.objects.exists()


# Reporting


def test_beat_reports_its_process_and_removes_it_at_its_end(make_beat):
    beat = make_beat()

    tick(beat)
    (process,) = Process.objects.all()
    beat.close()

    assert (process.kind, process.name) == (Process.Kind.BEAT, own_name())
    assert not Process.objects.exists()


def test_lazy_beat_reports_no_process(make_beat):
    make_beat(lazy=True)

    assert not Process.objects.exists()


# Waiting


def test_listener_waits_for_the_given_time():
    listener = Listener()
    started = time.monotonic()

    listener.wait(0.2)

    assert 0.2 <= time.monotonic() - started < 0.2 + BUSY_S
    listener.close()


@on_postgresql
def test_notification_ends_the_wait():
    listener = Listener()
    listener.wait(0)  # starts to listen

    def change():
        time.sleep(0.1)
        with transaction.atomic():
            notify_beat()
        connection.close()

    thread = Thread(target=change)
    thread.start()
    started = time.monotonic()
    listener.wait(LONG_S)

    assert time.monotonic() - started < LONG_S / 2
    thread.join()
    listener.close()


@on_postgresql
def test_notification_before_the_wait_is_not_lost():
    listener = Listener()
    listener.wait(0)
    notify_beat()
    started = time.monotonic()

    listener.wait(LONG_S)

    assert time.monotonic() - started < LONG_S / 2
    listener.close()


@on_postgresql
def test_listener_reconnects_after_its_connection_was_terminated():
    listener = Listener()
    listener.wait(0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
    started = time.monotonic()
    listener.wait(0.2)  # notices the lost connection, and still waits
    assert time.monotonic() - started >= 0.2

    listener.wait(0)
    notify_beat()
    started = time.monotonic()
    listener.wait(LONG_S)

    assert time.monotonic() - started < LONG_S / 2
    listener.close()
