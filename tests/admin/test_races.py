"""An operator does something to several ticked rows at the moment at which somebody else is at some of them."""

from threading import Event
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.models import Subscription
from jobs.actions.result import AttemptResult
from jobs.admin import jobs as admin_of_jobs
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from jobs.worker import polling
from jobs.worker.leasing import lease
from jobs.worker.results import record
from maintenance import locking
from operations import tasks
from tests.racing import at_once, lingering
from triggers import collection_operations

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tick(client, owner):
    """Order the action on list page `of` for the rows."""
    client.force_login(owner)

    def order(of: str, action: str, rows) -> None:
        form = {"action": action, "_selected_action": [row.pk for row in rows], "confirmed": "yes", "post": "yes"}
        answer = client.post(f"/admin/jobs/{of}/", form, follow=True)
        assert [str(message) for message in answer.context["messages"] if message.level_tag == "error"] == []

    return order


def begun(jobs, numbers) -> list:
    """Runs of the jobs with keys of these numbers, in the hands of a worker."""
    for job, number in zip(jobs, numbers, strict=True):
        Run.objects.filter(pk=run_now(job, timezone.now()).pk).update(id=UUID(int=number))
    return lease([str(UUID(int=number)) for number in numbers], "worker", timezone.now())


def recorded(leased, when: Event):
    def work():
        when.wait(5)
        record([(each, AttemptResult(succeeded=True, message="")) for each in leased], timezone.now())

    return work


def test_disabling_jobs_keeps_no_worker_from_counting_for_them(tick, make_job, monkeypatch):
    """The list shows them in another order than that of their keys."""
    jobs = [make_job(name, schedule={"startTime": f"2026-01-0{day}T08:00:00Z"}) for name, day in (("a", 2), ("b", 1))]
    leased = begun(jobs, (1, 2))
    disabled = lingering(monkeypatch, admin_of_jobs, "set_job_state")

    assert at_once(lambda: tick("job", "disable_ticked", jobs), recorded(leased, disabled)) == []

    assert list(Job.objects.values_list("state", "execution_count")) == [("disabled", 1)] * 2


def test_deleting_jobs_keeps_no_worker_from_writing_their_runs_down(tick, make_job, monkeypatch):
    jobs = [make_job(name, schedule=None) for name in ("first", "second")]
    leased = begun(jobs, (2, 1))
    stopped = lingering(monkeypatch, polling, "stop_polling")

    assert at_once(lambda: tick("job", "delete_selected", jobs), recorded(leased, stopped)) == []

    assert not Job.objects.exists()
    assert set(Run.objects.values_list("state", flat=True)) == {Run.State.SUCCEEDED}


def test_deleting_collections_keeps_nobody_waiting_who_holds_one_of_them(tick, subscription, monkeypatch):
    """Of two subscriptions, the first has the younger collection."""
    later = Subscription.objects.create(pk=UUID(int=subscription.pk.int + 1), name="later")
    collections = [JobCollection.objects.create(subscription=each, name="nightly") for each in (later, subscription)]
    monkeypatch.setattr(tasks.carry_out, "delay", lambda operation_id: None)
    ordered = lingering(monkeypatch, collection_operations, "start_operation")

    def maintain():
        ordered.wait(5)
        with locking.exclusive_lock(collection.pk for collection in collections):
            pass

    assert at_once(lambda: tick("jobcollection", "delete_selected", collections), maintain) == []

    assert set(JobCollection.objects.values_list("state", flat=True)) == {"deleted"}
