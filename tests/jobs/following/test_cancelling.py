"""Runs that follow an operation are cancelled at once, also during a poll."""

import pytest

from api.errors import Conflict
from jobs.actions.result import AttemptResult
from jobs.cancel import can_be_cancelled, cancel
from jobs.models import AsyncOperation, Attempt, Run
from jobs.worker.leasing import lease
from jobs.worker.polling import UNWATCHED
from jobs.worker.results import record
from tests.jobs.conftest import START
from tests.jobs.following.operations import GOES_ON, HOUR, SECOND, polls_of, status
from tests.jobs.runs import ONCE, attempts_of, counters, dispatched, the_run
from tests.racing import in_threads

pytestmark = pytest.mark.django_db


def test_a_run_that_follows_can_be_cancelled(starting, target, work):
    job = starting(status("Running"), schedule=ONCE)
    run = the_run()
    work(run)

    cancel(run, "cancelled by ada", START + SECOND)

    (attempt,) = attempts_of(run)
    assert (run.state, run.reason, run.finished_at) == (Run.State.CANCELLED, "cancelled by ada", START + SECOND)
    assert (attempt.state, attempt.message, attempt.finished_at) == (Attempt.State.LOST, UNWATCHED, START + SECOND)
    assert work(run, at=START + HOUR) == 0
    assert target.calls_to("/status") == []
    assert counters(job) == (0, 0, 0)


def test_run_cancelled_during_a_poll_ignores_the_result_of_the_poll(starting, work):
    starting(status("Running"))
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "worker", run.publish_after)
    assert can_be_cancelled(run)

    cancel(run, "cancelled by ada", START + 11 * SECOND)
    record([(leased, AttemptResult(True, "The operation succeeded.", 200, status="Succeeded"))], START + 12 * SECOND)

    run.refresh_from_db()
    (attempt,), (poll,) = attempts_of(run), polls_of(run)
    assert (run.state, run.finished_at) == (Run.State.CANCELLED, START + 11 * SECOND)
    assert attempt.message == UNWATCHED
    assert poll.status == "Succeeded"


def test_run_with_an_open_call_cannot_be_cancelled(starting):
    starting()
    run = the_run()
    lease([str(run.pk)], "worker", START)

    assert not can_be_cancelled(run)
    with pytest.raises(Conflict):
        cancel(run, "cancelled by ada", START)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ends", [True, False])
def test_run_cancelled_while_a_poll_is_recorded_has_one_consistent_end(starting, work, ends):
    for number in range(8):
        starting(status("Running"), name=f"job-{number}")
    runs = dispatched()
    work(*runs)
    leased = lease([str(run.pk) for run in runs], "worker", START + 10 * SECOND)
    outcome = AttemptResult(True, "The operation succeeded.", 200, status="Succeeded") if ends else GOES_ON
    now = START + 11 * SECOND

    def go(what) -> None:
        if what == "record":
            record([(item, outcome) for item in leased], now)
        else:
            for run in Run.objects.order_by("?"):
                try:
                    cancel(run, "cancelled by ada", now)
                except Conflict:
                    assert ends

    in_threads(go, "record", "cancel")

    for run in Run.objects.all():
        (attempt,) = attempts_of(run)
        assert (run.state, attempt.state) in {("cancelled", "lost")} | ({("succeeded", "succeeded")} if ends else set())
        assert run.lease_token is None
    assert not AsyncOperation.objects.exists()
