"""Results of runs are recorded even when the record of another run, or the database, fails."""

import pytest
from django.db import DataError, InternalError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from jobs import actions
from jobs.actions import AttemptResult
from jobs.models import Run
from jobs.worker import execution, results
from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.execution import Worker, write_with_retry
from jobs.worker.leasing import lease
from jobs.worker.results import record
from tests.conftest import NOW
from tests.jobs.conftest import START
from tests.jobs.runs import dispatched, states, take
from tests.peers.server import eventually

pytestmark = pytest.mark.django_db


def test_result_that_cannot_be_recorded_does_not_affect_others(calling, make_worker, monkeypatch, caplog):
    for name in ("a", "b", "c"):
        calling(name=name)
    runs = dispatched()

    async def perform(action, secrets, context, session):
        return AttemptResult(True, "done", 10**6 if context.job_name == "b" else 200)  # too large for its column

    monkeypatch.setattr(actions, "perform", perform)
    monkeypatch.setattr("jobs.worker.results._save", refusing(lambda attempt: attempt.status_code > 999))
    worker = make_worker()

    take(worker, *runs)
    worker.run_until_idle()

    assert states(*runs) == [Run.State.SUCCEEDED, Run.State.RUNNING, Run.State.SUCCEEDED]
    assert "record of a run has failed" in caplog.text


def refusing(is_wrong):
    """Return a `_save` that refuses values like a database that is stricter than SQLite."""
    save = results._save

    def strict(attempts):
        if any(is_wrong(attempt) for attempt in attempts):
            raise DataError("out of range")
        save(attempts)

    return strict


@pytest.mark.django_db(transaction=True)
def test_worker_records_results_in_its_own_thread(calling):
    for number in range(5):
        calling(name=f"job-{number}")
    runs = dispatched()
    worker = Worker("worker", HttpPool(CallLimiter(100, 50)), lambda: START)
    worker.start()

    take(worker, *runs)
    worker.close(within_s=10)

    assert set(states(*runs)) == {Run.State.SUCCEEDED}


@pytest.mark.django_db(transaction=True)
def test_recording_thread_continues_after_an_error(calling, monkeypatch, caplog):
    calling(name="a"), calling(name="b")
    first, second = dispatched()
    failures = [ZeroDivisionError("broken")]

    def once_broken(*arguments):
        if failures:
            raise failures.pop()
        record(*arguments)

    monkeypatch.setattr(execution, "record", once_broken)
    worker = Worker("worker", HttpPool(CallLimiter(100, 50)), lambda: START)
    worker.start()

    take(worker, first)
    assert eventually(lambda: not failures)
    take(worker, second)
    worker.close(within_s=10)

    assert states(first, second) == [Run.State.RUNNING, Run.State.SUCCEEDED]


def test_result_is_recorded_when_the_database_is_back(monkeypatch):
    monkeypatch.setattr(execution.time, "sleep", lambda seconds: None)
    written, failures = [], [OperationalError("gone"), InternalError("read-only")]

    def write(items, now):
        if failures:
            raise failures.pop()
        written.append(items)

    write_with_retry(write, ["result"], NOW)

    assert written == [["result"]]


def test_number_of_queries_does_not_depend_on_the_size_of_the_batch(calling):
    def cost():
        ids = [str(run.pk) for run in dispatched()]
        with CaptureQueriesContext(connection) as queries:
            leased = lease(ids, "worker", START)
            record([(item, AttemptResult(True, "done")) for item in leased], START)
        return len(queries)

    calling(name="single")
    for_one = cost()
    for number in range(20):
        calling(name=f"job-{number}")

    assert cost() == for_one + 1  # several jobs are locked in order before their counters change
    assert Run.objects.filter(state=Run.State.SUCCEEDED).count() == 21
