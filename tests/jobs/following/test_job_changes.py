"""A run that follows an operation: its lock, and the effect of changes of its job."""

import pytest

from jobs.models import AsyncOperation, Attempt, Job, Run
from jobs.worker.leasing import lease
from jobs.worker.overlap import BUSY
from jobs.worker.polling import UNWATCHED
from jobs.worker.results import record
from tests.jobs.conftest import START
from tests.jobs.following.operations import DAY, GOES_ON, HOUR, SECOND, go_on, status
from tests.jobs.runs import attempts_of, the_run
from triggers.deletion import delete_job
from triggers.scheduling import set_job_state

pytestmark = pytest.mark.django_db


def test_run_that_follows_blocks_other_runs_of_its_job(starting, work):
    starting(status("Succeeded"))
    first = the_run()
    work(first)
    second = the_run(START + DAY)

    work(second, at=START + DAY)

    assert (second.state, second.reason) == (Run.State.SKIPPED, BUSY)


def test_queued_run_is_published_when_the_run_that_follows_ends(starting, work):
    starting(status("Succeeded"), overlap="queue_one", limit="PT24H")
    first = the_run()
    work(first)
    second = the_run(START + DAY)
    work(second, at=START + DAY)
    assert second.state == Run.State.WAITING

    work(first, at=START + DAY + SECOND)

    second.refresh_from_db()
    assert second.publish_after == START + DAY + SECOND


def test_run_that_follows_continues_when_its_job_is_disabled(starting, work):
    job = starting(status("Running"), status("Succeeded"))
    run = the_run()
    work(run)
    set_job_state(job, Job.State.DISABLED, START)

    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED


def test_run_that_follows_continues_with_its_own_action_when_its_job_is_edited(starting, make_job, target, work):
    job = starting(status("Running"), status("Succeeded"))
    run = the_run()
    work(run)
    queue = {"storageAccount": "acme", "queueName": "later", "sasToken": "silver-canyon-19", "message": "m"}
    make_job(job.name, action={"type": "StorageQueue", "queueMessage": queue})

    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED
    assert len(target.calls_to("/status")) == 2


def test_run_that_follows_is_cancelled_when_its_job_is_deleted(starting, target, work):
    job = starting(status("Running"))
    run = the_run()
    work(run)

    delete_job(job, START + SECOND)

    run.refresh_from_db()
    (attempt,) = attempts_of(run)
    assert run.state == Run.State.CANCELLED
    assert (attempt.state, attempt.message) == (Attempt.State.LOST, UNWATCHED)
    assert not AsyncOperation.objects.exists()
    assert work(run, at=START + HOUR) == 0


def test_run_that_follows_fails_when_its_job_is_deleted_during_a_poll(starting, work):
    job = starting(status("Running"))
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "worker", run.publish_after)
    delete_job(job, START + 11 * SECOND)
    record([(leased, GOES_ON)], START + 12 * SECOND)
    run.refresh_from_db()
    assert run.state == Run.State.FOLLOWING

    work(run, at=run.publish_after)

    assert (run.state, run.reason) == (Run.State.FAILED, "the job was deleted")
    assert not AsyncOperation.objects.exists()
    assert attempts_of(run)[0].state == Attempt.State.LOST
