"""Actions on selected rows at the same time as other work on some of these rows."""

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
def run_action(client, owner):
    """Return a function that runs an action of the list of a model on rows."""
    client.force_login(owner)

    def post_action(of: str, action: str, rows) -> None:
        form = {"action": action, "_selected_action": [row.pk for row in rows], "confirmed": "yes", "post": "yes"}
        response = client.post(f"/admin/jobs/{of}/", form, follow=True)
        assert [str(message) for message in response.context["messages"] if message.level_tag == "error"] == []

    return post_action


def start_runs(jobs, numbers) -> list:
    """Start runs of the jobs with these numbers as ids, and lease them for a worker."""
    for job, number in zip(jobs, numbers, strict=True):
        Run.objects.filter(pk=run_now(job, timezone.now()).pk).update(id=UUID(int=number))
    return lease([str(UUID(int=number)) for number in numbers], "worker", timezone.now())


def record_after(leased, event: Event):
    def work():
        event.wait(5)
        record([(each, AttemptResult(succeeded=True, message="")) for each in leased], timezone.now())

    return work


def test_disabling_jobs_and_recording_their_runs_do_not_deadlock(run_action, make_job, monkeypatch):
    """The list shows the jobs in another order than that of their ids."""
    jobs = [make_job(name, schedule={"startTime": f"2026-01-0{day}T08:00:00Z"}) for name, day in (("a", 2), ("b", 1))]
    leased = start_runs(jobs, (1, 2))
    disabled = lingering(monkeypatch, admin_of_jobs, "set_job_state")

    assert at_once(lambda: run_action("job", "disable_ticked", jobs), record_after(leased, disabled)) == []

    assert list(Job.objects.values_list("state", "execution_count")) == [("disabled", 1)] * 2


def test_deleting_jobs_and_recording_their_runs_do_not_deadlock(run_action, make_job, monkeypatch):
    jobs = [make_job(name, schedule=None) for name in ("first", "second")]
    leased = start_runs(jobs, (2, 1))
    stopped = lingering(monkeypatch, polling, "stop_polling")

    assert at_once(lambda: run_action("job", "delete_selected", jobs), record_after(leased, stopped)) == []

    assert not Job.objects.exists()
    assert set(Run.objects.values_list("state", flat=True)) == {Run.State.SUCCEEDED}


def test_deleting_collections_and_locking_them_do_not_deadlock(run_action, subscription, monkeypatch):
    """The collection of the first subscription is newer than that of the second."""
    later = Subscription.objects.create(pk=UUID(int=subscription.pk.int + 1), name="later")
    collections = [JobCollection.objects.create(subscription=each, name="nightly") for each in (later, subscription)]
    monkeypatch.setattr(tasks.carry_out, "delay", lambda operation_id: None)
    operation_started = lingering(monkeypatch, collection_operations, "start_operation")

    def lock_both():
        operation_started.wait(5)
        with locking.exclusive_lock(collection.pk for collection in collections):
            pass

    assert at_once(lambda: run_action("jobcollection", "delete_selected", collections), lock_both) == []

    assert set(JobCollection.objects.values_list("state", flat=True)) == {"deleted"}
