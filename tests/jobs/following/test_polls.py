"""Polls of a run's operation: their time, their worker and their address."""

import json

import pytest

from jobs.models import AsyncOperation, Poll, Run
from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter
from jobs.worker.execution import Worker
from jobs.worker.leasing import host_of, lease
from tests.jobs.conftest import START
from tests.jobs.following.operations import SECOND, accepted, go_on, polls_of, status, words_of
from tests.jobs.runs import dispatched, the_run
from tests.peers.server import Answer
from tests.peers.target import Target
from tests.racing import in_threads
from triggers.dispatch import claim_ready

pytestmark = pytest.mark.django_db


def test_a_poll_is_not_made_before_it_is_due(starting, target, work):
    starting(status("Succeeded"))
    run = the_run()
    work(run)

    assert work(run, at=START + 9 * SECOND) == 0
    assert target.calls_to("/status") == []


def test_run_is_published_when_its_poll_is_due(starting, work):
    starting(status("Succeeded"))
    run = the_run()
    work(run)

    early, due = claim_ready(START + 9 * SECOND), claim_ready(START + 10 * SECOND)

    assert early == []
    assert [each.id for each in due] == [run.pk]


def test_polls_of_a_run_can_be_made_by_different_workers(starting, work):
    starting(status("Running"), status("Succeeded"))
    run = the_run()
    work(run)

    with HttpPool(CallLimiter(limit=10, per_host=10)) as others:
        other = Worker("other", others, lambda: START + 10 * SECOND)
        other.start_runs([str(run.pk)])
        other.run_until_idle()
    run.refresh_from_db()
    go_on(work, run)

    assert run.state == Run.State.SUCCEEDED
    assert [poll.worker for poll in polls_of(run)] == ["other", "worker"]


def test_operation_is_polled_by_location_and_by_resource(starting, target, work):
    """The location can change with each poll; the resource stays at the address of the request."""
    starting(name="a-location", method="DELETE")
    starting(name="b-resource", method="PUT")
    target.answers["/start"] = [
        Answer(202, {"Location": f"{target.url}/one", "Retry-After": "1"}, ""),
        Answer(201, {"Retry-After": "1"}, json.dumps({"properties": {"provisioningState": "Creating"}})),
        Answer(200, {"Retry-After": "1"}, json.dumps({"properties": {"provisioningState": "Creating"}})),
        Answer(200, {"Retry-After": "1"}, json.dumps({"properties": {"provisioningState": "Succeeded"}})),
    ]
    target.answers["/one"] = [Answer(202, {"Location": f"{target.url}/two", "Retry-After": "1"}, "")]
    target.answers["/two"] = [Answer(202, {"Retry-After": "1"}, ""), Answer(204)]
    by_location, by_resource = dispatched()

    for run in (by_location, by_resource):
        work(run)
    for run in (by_location, by_resource):
        go_on(work, run)

    assert (by_location.state, by_resource.state) == (Run.State.SUCCEEDED, Run.State.SUCCEEDED)
    assert [len(target.calls_to(path)) for path in ("/one", "/two")] == [1, 2]
    assert words_of(by_resource) == ["Creating", "Succeeded"]


def test_poll_takes_a_slot_of_the_host_that_it_calls(starting, target, work, peer):
    other = peer(Target)
    starting()
    target.answers["/start"] = [accepted(target, **{"Azure-AsyncOperation": f"{other.url}/status"})]
    run = the_run()
    work(run)
    (leased,) = lease([str(run.pk)], "worker", run.publish_after)

    assert host_of(leased.run) == f"127.0.0.1:{other.port}"


def test_number_of_queries_does_not_depend_on_the_number_of_polls(starting, work, django_assert_max_num_queries):
    for number in range(20):
        starting(status("Running"), name=f"job-{number}")
    runs = dispatched()
    work(*runs)
    ids = [str(run.pk) for run in runs]

    with django_assert_max_num_queries(14):
        assert len(lease(ids, "worker", START + 10 * SECOND)) == 20


# Races


@pytest.mark.django_db(transaction=True)
def test_poll_is_made_by_one_of_several_workers(starting, work):
    for number in range(10):
        starting(status("Running"), name=f"job-{number}")
    runs = dispatched()
    work(*runs)
    ids = [str(run.pk) for run in runs]

    answers = in_threads(lambda worker: lease(ids, worker, START + 10 * SECOND), "one", "two", "three")

    taken = [item.run.pk for leased in answers for item in leased]
    assert sorted(taken) == sorted(run.pk for run in runs)
    assert Poll.objects.count() == 10
    assert set(AsyncOperation.objects.values_list("poll_count", flat=True)) == {1}
