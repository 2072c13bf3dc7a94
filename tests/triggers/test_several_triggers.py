"""Triggers in addition to a job's own schedule: their runs, and when their job ends."""

import pytest

from api.errors import Conflict
from jobs.models import Job, Run
from jobs.worker.leasing import lease
from tests.conftest import ACTION, NOW
from tests.triggers.rows import HOUR, MINUTE, ONCE, START, carry_out_pending, fired, reloaded, state_of
from triggers.definitions import JobDefinition
from triggers.dispatch import dispatch_due
from triggers.misfire import FIRE_ALL_LIMIT
from triggers.models import Trigger
from triggers.scheduling import (
    delete_trigger,
    patch_job,
    save_job,
)

pytestmark = pytest.mark.django_db


# Dispatched


def test_every_trigger_creates_its_own_runs(make_job, make_trigger):
    job = make_job(schedule=ONCE, overlap="allow")
    make_trigger(job, now=START)
    make_trigger(job, "simple", "simple", now=START, definition={"startTime": START.isoformat(), "interval": 1_800_000})

    for half_hours in range(3):
        dispatch_due(START + half_hours * 30 * MINUTE)

    assert sorted(fired()) == [
        ("default", START),
        ("hourly", START),
        ("hourly", START + HOUR),
        ("simple", START),
        ("simple", START + 30 * MINUTE),
        ("simple", START + HOUR),
    ]
    assert dict(Trigger.objects.values_list("name", "fire_count")) == {"default": 1, "hourly": 2, "simple": 3}


def test_triggers_of_one_job_at_the_same_instant_are_ordered_by_priority(make_job, make_trigger):
    job = make_job(schedule=None, overlap="allow")
    for name, priority in (("late", 9), ("early", 1), ("middle", 5)):
        make_trigger(job, name, now=START, priority=priority)
    make_trigger(job, "sooner", "once", now=NOW, definition={"at": "2026-01-05T07:59:59Z"}, priority=9)

    ids = [run.id for run in dispatch_due(START)]

    names = dict(Run.objects.values_list("pk", "trigger_name"))
    assert [names[pk] for pk in ids] == ["sooner", "early", "middle", "late"]
    leased = lease([str(pk) for pk in reversed(ids)], "worker", START)
    assert [item.run.trigger_name for item in leased] == ["sooner", "early", "middle", "late"]


def test_queue_of_a_run_is_the_group_of_its_trigger(make_job, make_trigger):
    job = make_job(schedule=ONCE, overlap="allow")
    make_trigger(job, now=START, group="message-processor")

    published = dispatch_due(START)

    queues = {Run.objects.get(pk=run.id).trigger_name: run.queue for run in published}
    assert queues == {"default": "default", "hourly": "message-processor"}


def test_runs_of_a_group_without_a_worker_wait(make_job, make_trigger):
    make_trigger(make_job(schedule=None, overlap="allow"), now=START, group="nobody-serves-it")

    for hours in range(5):
        dispatch_due(START + hours * HOUR)

    assert Run.objects.filter(state=Run.State.WAITING, queue="nobody-serves-it").count() == 5
    ready = Run.objects.ready(START + 6 * HOUR)
    assert ready.count() == 5  # and are published to a worker that serves the group later
    carry_out_pending(START + 6 * HOUR)
    assert Run.objects.filter(state=Run.State.SUCCEEDED).count() == 5


@pytest.mark.parametrize(
    "misfire, ran, missed",
    [
        ("fire_once", [3], [0, 1, 2]),
        ("fire_all", [0, 1, 2, 3], []),
        ("skip", [], [0, 1, 2, 3]),
    ],
)
def test_late_fire_times_of_a_quartz_trigger_follow_its_policy(make_job, make_trigger, misfire, ran, missed):
    make_trigger(make_job(schedule=None), now=START, misfire=misfire)

    dispatch_due(START + 3 * HOUR + 2 * MINUTE)

    assert [at for _, at in fired(state=Run.State.WAITING)] == [START + hour * HOUR for hour in ran]
    assert [at for _, at in fired(state=Run.State.MISSED)] == [START + hour * HOUR for hour in missed]
    assert all(Run.objects.filter(state=Run.State.MISSED).values_list("reason", flat=True))


def test_fire_time_within_the_threshold_of_the_trigger_is_not_a_misfire(make_job, make_trigger):
    make_trigger(make_job(schedule=None), now=START, misfire="skip", misfire_threshold=10 * MINUTE)

    dispatch_due(START + 10 * MINUTE)

    assert [at for _, at in fired(state=Run.State.WAITING)] == [START]


def test_number_of_made_up_runs_has_a_limit(make_job, make_trigger):
    make_trigger(make_job(schedule=None), now=START, misfire="fire_all", definition={"expression": "0 * * * * ?"})

    dispatch_due(START + (FIRE_ALL_LIMIT + 20) * MINUTE)

    assert Run.objects.filter(state=Run.State.WAITING).count() == FIRE_ALL_LIMIT
    assert Run.objects.filter(state=Run.State.MISSED).count() == 21


# The end of a job


def test_job_with_an_additional_trigger_does_not_end_with_its_own_schedule(make_job, make_trigger):
    job = make_job(schedule=ONCE)
    make_trigger(job, now=START + MINUTE, enabled=False)

    dispatch_due(START)
    carry_out_pending(START)

    assert state_of(job) == Job.State.ENABLED


def test_a_job_that_gets_a_trigger_does_not_end_with_its_last_open_run(make_job, make_trigger):
    job = make_job(schedule=ONCE)
    dispatch_due(START)
    assert Run.objects.get().is_last

    make_trigger(job, now=START + MINUTE)
    carry_out_pending(START + MINUTE)

    assert state_of(job) == Job.State.ENABLED


def test_job_whose_own_schedule_is_removed_does_not_end_with_its_last_open_run(make_job):
    job = make_job(schedule=ONCE)
    dispatch_due(START)

    save_job(job.collection, job.name, JobDefinition(action=ACTION, schedule=None), START)
    carry_out_pending(START)

    assert state_of(job) == Job.State.ENABLED
    assert not job.triggers.exists()


@pytest.mark.parametrize("succeeded, state", [(True, Job.State.COMPLETED), (False, Job.State.FAULTED)])
def test_job_whose_own_schedule_has_ended_ends_with_the_last_run_after_its_last_trigger_is_deleted(
    make_job, make_trigger, succeeded, state
):
    job = make_job(schedule=ONCE)
    trigger = make_trigger(job, now=START + MINUTE)
    dispatch_due(START)

    delete_trigger(trigger, START + MINUTE)
    assert state_of(job) == Job.State.ENABLED
    carry_out_pending(START + MINUTE, succeeded)

    assert state_of(job) == state


def test_job_whose_own_schedule_has_ended_ends_with_its_last_trigger_if_no_run_is_open(make_job, make_trigger):
    job = make_job(schedule=ONCE)
    one, two = make_trigger(job, "one", now=START + MINUTE), make_trigger(job, "two", now=START + MINUTE)
    dispatch_due(START)
    carry_out_pending(START)

    delete_trigger(one, START + MINUTE)
    assert state_of(job) == Job.State.ENABLED
    delete_trigger(two, START + MINUTE)

    assert state_of(job) == Job.State.COMPLETED


def test_job_whose_own_schedule_continues_does_not_end_with_a_trigger(make_job, make_trigger):
    job = make_job()

    delete_trigger(make_trigger(job), NOW)

    assert state_of(job) == Job.State.ENABLED


def test_job_without_its_own_schedule_never_ends_by_itself(make_job, make_trigger):
    job = make_job(schedule=None)
    trigger = make_trigger(job, "t", "once", definition={"at": START.isoformat()})

    dispatch_due(START)
    carry_out_pending(START)
    delete_trigger(trigger, START)

    assert state_of(job) == Job.State.ENABLED


def test_deleting_a_trigger_does_not_change_its_runs(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)
    dispatch_due(START)

    delete_trigger(trigger, START)

    assert fired(trigger_name="hourly", state=Run.State.WAITING) == [("hourly", START)]


def test_own_schedule_of_a_job_cannot_be_deleted_as_a_trigger(make_job):
    with pytest.raises(Conflict):
        delete_trigger(make_job().triggers.get(), NOW)


def test_patch_of_a_job_does_not_change_its_other_triggers(make_job, make_trigger):
    job = make_job()
    trigger = make_trigger(job, now=START)

    patch_job(job, {"recurrence": {"interval": 2}}, START + 3 * HOUR)

    assert reloaded(trigger).next_fire_at == START
    assert job.triggers.count() == 2
