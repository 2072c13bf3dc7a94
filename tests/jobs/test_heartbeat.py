"""Heartbeats: processes report that they are alive."""

from datetime import timedelta

import pytest

from jobs.models import PROCESS_SILENCE, Process
from jobs.worker.heartbeat import Heartbeat, report, sign_off
from tests.conftest import NOW
from tests.peers.server import eventually

SECOND = timedelta(seconds=1)


def test_reports_of_a_process_update_one_row(db):
    report("beat", "host:1", [], NOW, NOW)
    report("beat", "host:1", [], NOW, NOW + SECOND)

    process = Process.objects.get()
    assert (process.started_at, process.seen_at) == (NOW, NOW + SECOND)


def test_process_is_alive_until_its_reports_stop_for_too_long(db):
    report("worker", "host:1", ["default"], NOW, NOW)

    assert Process.objects.alive(NOW + PROCESS_SILENCE).exists()
    assert not Process.objects.alive(NOW + PROCESS_SILENCE + SECOND).exists()


def test_process_that_ends_removes_only_its_own_row(db):
    report("worker", "host:1", [], NOW, NOW)
    report("worker", "host:2", [], NOW, NOW)

    sign_off("worker", "host:1")

    assert Process.objects.get().name == "host:2"


@pytest.mark.django_db(transaction=True)
def test_heartbeat_of_a_worker_runs_in_its_own_thread():
    moments = [NOW + number * SECOND for number in range(1000)][::-1]
    heartbeat = Heartbeat("host:1", ["default", "housekeeping"], moments.pop, interval=timedelta(milliseconds=20))

    heartbeat.start()
    assert eventually(lambda: Process.objects.filter(seen_at__gte=NOW + 3 * SECOND).exists())
    assert Process.objects.get().queues == ["default", "housekeeping"]
    heartbeat.stop()

    assert eventually(lambda: not Process.objects.exists())
