"""Jobs are renamed or moved at the moment at which they are dispatched, changed or deleted.

Two connections compete.  On SQLite the second waits for the first; on PostgreSQL they run together, separated only by
row locks.
"""

import pytest

from api.errors import Conflict
from jobs import locking
from jobs.models import Job, JobCollection, Run
from jobs.signing import new_secret
from operations.service import Caller
from tests.conftest import NOW, utc
from tests.racing import at_once, lingering
from tests.triggers.test_races import HOURLY
from triggers import dispatch, scheduling
from triggers.collection_operations import DELETE, start_operation
from triggers.deletion import delete_job
from triggers.models import Trigger
from triggers.scheduling import (
    Destination,
    delete_trigger,
    locked_job,
    patch_job,
    save_collection,
    save_trigger,
    set_job_state,
)

pytestmark = pytest.mark.django_db(transaction=True)

DUE = utc("2026-01-05T08:00:00Z")


@pytest.fixture
def second(subscription):
    return JobCollection.objects.create(subscription=subscription, name="daily", sku="P20Premium")


def rename(job: Job, name: str) -> Job:
    return patch_job(job, {}, DUE, Destination(name=name))


def move(job: Job, collection: JobCollection) -> Job:
    return patch_job(job, {}, DUE, Destination(collection))


def rename_collection(job: Job, second: JobCollection) -> None:
    collection = JobCollection.objects.get(pk=job.collection_id)
    collection.name = "reports"
    save_collection(collection, DUE)


CHANGES = {
    "rename": lambda job, second: rename(job, "restore"),
    "move": move,
    "rename its collection": rename_collection,
    "rename its trigger": lambda job, second: save_trigger(job, "hourly", HOURLY, DUE, "each-hour"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_job_can_be_renamed_or_moved_at_the_moment_of_its_dispatch(make_job, make_trigger, second, monkeypatch, change):
    job = make_job()
    make_trigger(job, now=DUE)
    midway = lingering(monkeypatch, dispatch, "_plans")

    raised = at_once(lambda: dispatch.dispatch_due(DUE), lambda: midway.wait(5) and CHANGES[change](job, second))

    assert raised == []
    runs = Run.objects.order_by("trigger_name").values_list("job_name", "collection_name", "trigger_name", "fire_at")
    assert list(runs) == [("backup", "nightly", "default", DUE), ("backup", "nightly", "hourly", DUE)]
    assert all(trigger.next_fire_at > DUE for trigger in Trigger.objects.all())


def test_moving_two_jobs_in_opposite_directions_does_not_deadlock(make_job, second, monkeypatch):
    first, other = make_job("one"), make_job("two", in_collection=second)
    home = first.collection
    locked = lingering(monkeypatch, locking, "lock_collection")  # between the two locks of each move

    raised = at_once(lambda: move(first, second), lambda: locked.wait(5) and move(other, home))

    assert raised == []
    assert dict(Job.objects.values_list("name", "collection__name")) == {"one": "daily", "two": "nightly"}


def test_one_of_two_renames_to_the_same_name_succeeds(make_job):
    first, other = make_job("one"), make_job("two")

    raised = at_once(lambda: rename(first, "three"), lambda: rename(other, "three"))

    assert [type(each) for each in raised] == [Conflict]
    assert Job.objects.filter(name="three").count() == 1


@pytest.mark.parametrize("change", [lambda job, second: rename(job, "restore"), move], ids=["rename", "move"])
def test_job_deleted_while_it_is_renamed_or_moved_is_not_restored(make_job, second, change):
    job = make_job()

    raised = at_once(lambda: delete_job(job, DUE), lambda: change(Job.objects.get(pk=job.pk), second))

    assert {type(each) for each in raised} <= {Job.DoesNotExist, Conflict}
    if not any(isinstance(each, Conflict) for each in raised):  # a conflict: the job had been moved
        assert not Job.objects.exists()
    assert Job.objects.count() <= 1


def test_deleting_a_collection_waits_for_a_job_that_is_moved_into_it(make_job, second, owner, monkeypatch):
    job = make_job()
    locked = lingering(monkeypatch, scheduling, "lock_collections")

    raised = at_once(
        lambda: move(job, second),
        lambda: locked.wait(5) and start_operation(DELETE, second, Caller(owner, "", ""), DUE),
    )

    second.refresh_from_db()
    assert raised == []
    assert (second.state, Job.objects.get().collection_id) == (JobCollection.State.DELETED, second.pk)


# Writes with a job that was read before it was renamed or moved


def lock(job: Job) -> None:
    with locked_job(job):
        pass


WRITES = {
    "patch": lambda job, trigger: patch_job(job, {"state": "disabled"}, NOW),
    "stop": lambda job, trigger: set_job_state(job, Job.State.DISABLED, NOW),
    "delete": lambda job, trigger: delete_job(job, NOW),
    "add a trigger": lambda job, trigger: save_trigger(job, "more", HOURLY, NOW),
    "delete a trigger": lambda job, trigger: delete_trigger(trigger, NOW),
    "sign": lambda job, trigger: new_secret(job, NOW - NOW, NOW),
    "hold": lambda job, trigger: lock(job),
}


@pytest.mark.parametrize("write", WRITES)
def test_job_read_before_it_was_renamed_can_be_written(make_job, make_trigger, write):
    trigger = make_trigger(make_job())
    stale = Job.objects.get()
    rename(Job.objects.get(), "restore")

    WRITES[write](stale, trigger)

    assert list(Job.objects.values_list("name", flat=True)) == ([] if write == "delete" else ["restore"])


@pytest.mark.parametrize("write", WRITES)
def test_write_with_a_job_read_before_it_was_moved_must_be_tried_again(make_job, make_trigger, second, write):
    """The other collection may come earlier in the order of locks, so it cannot be locked afterwards."""
    trigger = make_trigger(make_job())
    stale = Job.objects.get()
    moved = move(Job.objects.get(), second)

    with pytest.raises(Conflict, match="try again"):
        WRITES[write](stale, trigger)

    job = Job.objects.get()
    assert (job.collection_id, job.state, job.revision) == (second.pk, "enabled", moved.revision)
    assert job.triggers.count() == 2
