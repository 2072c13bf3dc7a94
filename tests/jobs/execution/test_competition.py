"""Several workers, or several messages to one worker, at the same moment."""

from threading import Event, Thread

import pytest
from django.db import transaction

from jobs.actions import AttemptResult
from jobs.models import Attempt, Job, Run
from jobs.run_now import run_now
from jobs.worker import execution
from jobs.worker.leasing import LEASE, lease
from jobs.worker.rescue import rescue_expired
from jobs.worker.results import record
from tests.jobs.conftest import START
from tests.jobs.runs import DAY, counters, dispatched, states, take
from tests.peers.server import eventually
from tests.racing import at_once, by_index, in_own_connection, in_threads, linger
from triggers.deletion import delete_job

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_messages_that_arrive_at_the_same_time_are_leased_in_one_batch(calling, make_worker, monkeypatch):
    for number in range(4):
        calling(name=f"job-{number}")
    runs = dispatched()
    worker = make_worker()
    begins, goes_on = Event(), Event()
    sizes = []

    def slow_lease(run_ids, *arguments):
        sizes.append(len(run_ids))
        begins.set()
        assert goes_on.wait(10)
        return lease(run_ids, *arguments)

    monkeypatch.setattr(execution, "lease", slow_lease)
    first = Thread(target=in_own_connection, args=(take, worker, runs[0]))
    first.start()
    assert begins.wait(10)
    others = [Thread(target=in_own_connection, args=(take, worker, run)) for run in runs[1:]]
    for thread in others:
        thread.start()
    assert eventually(lambda: len(worker._next_batch.run_ids) == 3)
    goes_on.set()
    for thread in (first, *others):
        thread.join()
    worker.run_until_idle()

    assert sizes == [1, 3]
    assert set(states(*runs)) == {Run.State.SUCCEEDED}


@pytest.mark.django_db(transaction=True)
def test_run_is_leased_by_one_of_several_workers(calling):
    for number in range(30):
        calling(name=f"job-{number}")
    ids = [str(run.pk) for run in dispatched()]

    answers = in_threads(lambda worker: lease(ids, worker, START), "one", "two", "three")

    taken = [item.run.pk for leased in answers for item in leased]
    assert len(answers) == 3
    assert len(taken) == len(set(taken)) == 30
    assert Attempt.objects.count() == 30


@pytest.mark.django_db(transaction=True)
def test_runs_of_a_job_never_overlap_across_workers(calling):
    jobs = [calling(name=f"job-{number}") for number in range(10)]
    days = [[str(run.pk) for run in dispatched(START + number * DAY)] for number in range(4)]

    # each worker has the runs of another day of all jobs, in another order: they conflict on every key
    answers = in_threads(
        lambda number: lease(days[number][:: (-1) ** number], f"worker {number}", START + 4 * DAY), *range(4)
    )

    assert len(answers) == 4
    for job in jobs:
        assert job.runs.filter(state=Run.State.RUNNING).count() == 1
        assert job.runs.filter(state=Run.State.SKIPPED).count() == 3


@pytest.mark.django_db(transaction=True)
def test_workers_that_record_runs_of_the_same_jobs_do_not_deadlock(calling):
    jobs = [calling(name=f"job-{number}", overlap="allow") for number in range(10)]
    for number in range(4):
        dispatched(START + number * DAY)
    batches = [
        lease([str(run.pk) for run in Run.objects.filter(fire_at=START + number * DAY)], "worker", START + 4 * DAY)
        for number in range(4)
    ]

    in_threads(
        lambda batch: record([(item, AttemptResult(True, "done")) for item in batch], START + 4 * DAY),
        *[batch[:: (-1) ** number] for number, batch in enumerate(batches)],
    )

    assert {counters(job) for job in jobs} == {(4, 0, 0)}


@pytest.mark.django_db(transaction=True)
def test_recording_late_results_and_deleting_the_job_do_not_deadlock(make_job):
    """Both lock the attempts, each in another order, and both wait for the attempt in the middle."""
    job = make_job(schedule=None, overlap="allow")
    leased = lease([str(run_now(job, START).pk) for _ in range(3)], "worker", START)
    leased.sort(key=lambda each: each.attempt.pk)
    given_up_at, holding = START + 2 * LEASE, Event()
    rescue_expired(given_up_at)

    def hold_up():
        with transaction.atomic():
            Attempt.objects.select_for_update().get(pk=leased[1].attempt.pk)
            linger(holding)

    def report():
        holding.wait(5)
        record([(each, AttemptResult(True, "done")) for each in leased], given_up_at)

    def delete():
        holding.wait(5)
        delete_job(job, given_up_at)

    assert at_once(hold_up, by_index(report), by_index(delete)) == []
    assert not Job.objects.exists()
