"""Processes report themselves."""

from datetime import timedelta

import pytest

from jobs.models import PROCESS_SILENCE, Process
from jobs.worker.heartbeat import Heartbeat, report, sign_off
from tests.conftest import NOW
from tests.peers.server import eventually

SECOND = timedelta(seconds=1)


def test_a_report_makes_one_row_and_keeps_it_fresh(db):
    report("beat", "host:1", [], NOW, NOW)
    report("beat", "host:1", [], NOW, NOW + SECOND)

    process = Process.objects.get()
    assert (process.started_at, process.seen_at) == (NOW, NOW + SECOND)


def test_a_process_is_alive_until_it_has_been_silent_for_a_while(db):
    report("worker", "host:1", ["default"], NOW, NOW)

    assert Process.objects.alive(NOW + PROCESS_SILENCE).exists()
    assert not Process.objects.alive(NOW + PROCESS_SILENCE + SECOND).exists()


def test_a_process_that_ends_signs_off_for_itself_alone(db):
    report("worker", "host:1", [], NOW, NOW)
    report("worker", "host:2", [], NOW, NOW)

    sign_off("worker", "host:1")

    assert Process.objects.get().name == "host:2"


@pytest.mark.django_db(transaction=True)
def test_a_worker_reports_itself_from_a_thread_of_its_own():
    moments = [NOW + number * SECOND for number in range(1000)][::-1]
    heartbeat = Heartbeat("host:1", ["default", "housekeeping"], moments.pop, interval=timedelta(milliseconds=20))

    heartbeat.start()
    assert eventually(lambda: Process.objects.filter(seen_at__gte=NOW + 3 * SECOND).exists())
    assert Process.objects.get().queues == ["default", "housekeeping"]
    heartbeat.stop()

    assert eventually(lambda: not Process.objects.exists())
