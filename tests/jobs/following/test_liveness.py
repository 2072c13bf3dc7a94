"""Polls of workers that are gone."""

import pytest

from jobs.models import Run
from jobs.worker.heartbeat import report
from jobs.worker.leasing import lease
from jobs.worker.liveness import SILENCE_S, WorkerMonitor
from tests.jobs.conftest import START
from tests.jobs.following.operations import status
from tests.jobs.runs import the_run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "polling, state", [("gone", Run.State.FOLLOWING), ("alive", Run.State.RUNNING)], ids=["poller", "caller"]
)
def test_poll_is_repeated_if_the_polling_worker_is_gone_and_not_the_one_that_called(polling, state, starting, work):
    starting(status("Succeeded"))
    run = the_run()
    work(run)  # by the worker "worker"
    now = run.publish_after
    lease([str(run.pk)], polling, now)
    monitor = WorkerMonitor()
    for second in range(int(SILENCE_S) + 1):
        report("worker", "alive", [], START, now.replace(microsecond=second))
        for gone in ("gone", "worker"):
            if not second:
                report("worker", gone, [], START, now)
        monitor.check(now, second)

    run.refresh_from_db()
    assert run.state == state
