"""Workers that are gone: how a beat notices them, and what becomes of their runs."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from jobs.models import Attempt, Process, Run
from jobs.worker.heartbeat import report, sign_off
from jobs.worker.leasing import lease
from jobs.worker.liveness import LONGEST_PAUSE_S, SILENCE_S, WATCH_INTERVAL_S, WorkerMonitor
from tests.jobs.conftest import START
from tests.jobs.runs import TWICE_MORE, attempts_of, dispatched, states, the_run

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
GONE, OTHER = "host:1", "host:2"


def report_worker(name, seen_s=0, started_at=START):
    report(Process.Kind.WORKER, name, ["default"], started_at, START + seen_s * SECOND)


class Watch:
    """A monitor with a clock of its own."""

    def __init__(self):
        self.monitor = WorkerMonitor()
        self.clock_s = 1000.0

    def wait(self, seconds: float, alive=()) -> None:
        """Check each second for so long; workers that are `alive` report themselves each second."""
        end = self.clock_s + seconds
        while self.clock_s < end:
            self.clock_s += WATCH_INTERVAL_S
            for name in alive:
                report_worker(name, self.clock_s - 1000)
            self.check()

    def check(self) -> None:
        self.monitor.check(self.now, self.clock_s)

    @property
    def now(self):
        return START + (self.clock_s - 1000) * SECOND


@pytest.fixture
def watch():
    return Watch()


def test_runs_of_a_worker_that_is_gone_are_tried_again_long_before_the_lease_ends(calling, watch):
    calling(policy=TWICE_MORE)
    run = the_run()
    report_worker(GONE)
    lease([str(run.pk)], GONE, START)
    watch.check()

    watch.wait(SILENCE_S - 1)
    assert states(run) == [Run.State.RUNNING]
    watch.wait(1)

    (attempt,) = attempts_of(run)
    run.refresh_from_db()
    assert (run.state, run.publish_after) == (Run.State.RETRYING, watch.now)
    assert attempt.state == Attempt.State.LOST
    assert not Process.objects.exists()


def test_runs_of_a_living_worker_stay(calling, watch):
    calling(policy=TWICE_MORE)
    run = the_run()
    report_worker(GONE), report_worker(OTHER)
    lease([str(run.pk)], OTHER, START)
    watch.check()

    watch.wait(SILENCE_S + 5, alive=[OTHER])

    assert states(run) == [Run.State.RUNNING]
    assert Process.objects.get().name == OTHER


def test_worker_is_not_gone_because_the_watch_paused(calling, watch):
    """An outage of the database keeps beats and workers from it at the same time."""
    calling(policy=TWICE_MORE)
    run = the_run()
    report_worker(GONE)
    lease([str(run.pk)], GONE, START)
    watch.wait(5, alive=[GONE])

    watch.clock_s += LONGEST_PAUSE_S + 600
    watch.check()
    watch.wait(3)
    watch.wait(30, alive=[GONE])

    assert states(run) == [Run.State.RUNNING]


def test_worker_is_not_gone_because_the_database_did_not_answer(calling, watch):
    calling()
    run = the_run()
    report_worker(GONE)
    lease([str(run.pk)], GONE, START)
    watch.wait(3)

    with connection.execute_wrapper(refuse_query):
        for _ in range(int(SILENCE_S)):
            watch.clock_s += WATCH_INTERVAL_S
            with pytest.raises(OperationalError):
                watch.check()
    watch.wait(SILENCE_S - 1)

    assert states(run) == [Run.State.RUNNING]


def refuse_query(*_):
    raise OperationalError("the database does not answer")


def test_clock_of_a_worker_does_not_matter(calling, watch):
    calling(policy=TWICE_MORE)
    run = the_run()
    lease([str(run.pk)], GONE, START)
    for number in range(20):
        report_worker(GONE, number - 3600)
        watch.wait(1)

    assert states(run) == [Run.State.RUNNING]


def test_runs_of_a_process_that_was_started_again_under_its_name_are_taken_back_at_once(calling, watch):
    """In a container, host name and process id stay the same."""
    calling(policy=TWICE_MORE, name="before"), calling(policy=TWICE_MORE, name="after")
    after, before = dispatched()
    lease([str(before.pk)], GONE, START)
    restarted_at = START + 3 * SECOND
    lease([str(after.pk)], GONE, restarted_at + SECOND)
    report_worker(GONE, 4, started_at=restarted_at)

    watch.check()

    assert states(before, after) == [Run.State.RETRYING, Run.State.RUNNING]


def test_worker_that_signed_off_is_not_looked_for(watch, caplog):
    report_worker(GONE)
    watch.check()
    sign_off(Process.Kind.WORKER, GONE)

    watch.wait(SILENCE_S + 5)

    assert not caplog.records


def test_worker_that_was_only_frozen_reports_itself_again(calling, watch):
    calling(policy=TWICE_MORE)
    run = the_run()
    report_worker(GONE)
    lease([str(run.pk)], GONE, START)
    watch.check()
    watch.wait(SILENCE_S)
    (again,) = lease([str(run.pk)], GONE, watch.now)

    watch.wait(SILENCE_S + 5, alive=[GONE])

    run.refresh_from_db()
    assert (run.state, run.lease_token) == (Run.State.RUNNING, again.run.lease_token)


def test_cost_of_a_check_does_not_depend_on_the_number_of_workers(watch, django_assert_num_queries):
    for number in range(20):
        report_worker(f"host:{number}")
    watch.check()
    watch.clock_s += WATCH_INTERVAL_S

    with django_assert_num_queries(1):
        watch.check()
        watch.check()  # within the interval
