"""Triggers beside a job's own schedule: how they are saved, what they fire, and when their job ends."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.actions import Outcome
from jobs.errors import Conflict, Invalid, QuotaExceeded
from jobs.leasing import lease
from jobs.models import Job, JobCollection, Run
from jobs.recording import record
from recurrence.wire import WireError
from tests.conftest import ACTION, NOW, utc
from triggers import scheduling
from triggers.definitions import JobDefinition, TriggerDefinition
from triggers.dispatch import dispatch_due
from triggers.misfire import FIRE_ALL_LIMIT
from triggers.models import Trigger
from triggers.scheduling import (
    change_trigger,
    delete_trigger,
    patch_job,
    save_collection,
    save_job,
    save_trigger,
    set_job_state,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
START = utc("2026-01-05T08:00:00Z")
ONCE = {"startTime": "2026-01-05T08:00:00Z"}
HOURLY = TriggerDefinition(format="quartz", definition={"expression": "0 0 * * * ?"})
DAILY = TriggerDefinition(format="quartz", definition={"expression": "0 30 9 * * ?"})


def again(trigger: Trigger) -> Trigger:
    return Trigger.objects.get(pk=trigger.pk)


def fired(**fields) -> list:
    return list(Run.objects.filter(**fields).order_by("fire_at", "priority").values_list("trigger_name", "fire_at"))


def work_off(now, succeeded=True) -> None:
    """Carry out all runs that wait."""
    ids = [str(pk) for pk in Run.objects.filter(state__in=Run.PENDING).values_list("pk", flat=True)]
    record([(item, Outcome(succeeded, "done", may_retry=False)) for item in lease(ids, "worker", now)], now)


def state_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state


# Saved


def test_a_new_trigger_waits_for_its_next_time_and_the_second_value_tells_that_it_is_new(make_job):
    job = make_job()

    trigger, created = save_trigger(job, "extra", HOURLY, NOW + MINUTE)
    _, created_again = save_trigger(job, "extra", DAILY, NOW + MINUTE)

    assert (created, created_again) == (True, False)
    assert trigger.next_fire_at == NOW + HOUR
    assert job.triggers.count() == 2


def test_a_time_exactly_at_its_creation_is_due(make_job, make_trigger):
    assert make_trigger(make_job(), now=START).next_fire_at == START


def test_a_trigger_that_is_saved_unchanged_keeps_its_place(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)
    dispatch_due(START)
    before = again(trigger)

    save_trigger(trigger.job, "hourly", HOURLY, START + 5 * HOUR)

    after = again(trigger)
    assert (after.anchored_at, after.next_fire_at) == (START, START + HOUR)
    assert (after.previous_fire_at, after.fire_count) == (before.previous_fire_at, 1)


@pytest.mark.parametrize(
    "first, second",
    [
        (("quartz", {"expression": "0 0 9 ? * 6L"}), {"expression": " 00 0 9 ? * fril"}),
        (
            ("quartz", {"expression": "0 0 9 ? * 6L", "timeZone": "W. Europe Standard Time"}),
            {"expression": "0 0 9 ? * 6L", "timeZone": "Europe/Berlin"},
        ),
        (("simple", {"interval": 90_000}), {"interval": "90000", "startTime": None}),
        (("azure", {"recurrence": {"frequency": "day"}}), {"recurrence": {"frequency": "Day"}}),
        (("once", {"at": 1767600000000}), {"at": "2026-01-05T08:00:00Z"}),
    ],
)
def test_another_spelling_of_the_same_schedule_keeps_its_place(make_job, first, second):
    format, definition = first
    trigger, _ = save_trigger(make_job(), "t", TriggerDefinition(format=format, definition=definition), NOW)

    save_trigger(trigger.job, "t", TriggerDefinition(format=format, definition=second), NOW + HOUR)

    after = again(trigger)
    assert (after.anchored_at, after.next_fire_at) == (NOW, trigger.next_fire_at)
    assert after.definition == second


def test_a_changed_schedule_never_fires_for_times_before_the_change(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)

    save_trigger(trigger.job, "hourly", DAILY, START + 3 * HOUR)

    assert again(trigger).next_fire_at == utc("2026-01-06T09:30:00Z")
    dispatch_due(START + 3 * HOUR)
    assert fired(trigger_name="hourly") == []


def test_a_changed_setting_leaves_the_schedule_where_it_is(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)

    save_trigger(trigger.job, "hourly", replace(HOURLY, priority=1, group="other", misfire="skip"), START + 3 * HOUR)

    after = again(trigger)
    assert (after.priority, after.group, after.misfire) == (1, "other", "skip")
    assert after.next_fire_at == START  # due since then, and not lost


@pytest.mark.parametrize(
    "definition",
    [
        TriggerDefinition(format="quartz", definition={"expression": "0 15 10 ? * 6L 2013-2015"}),
        TriggerDefinition(format="once", definition={"at": "2013-07-04"}),
        TriggerDefinition(format="simple", definition={"startTime": "1372916749000"}),
    ],
)
def test_one_that_never_fires_again_is_kept_without_a_next_time(make_job, definition):
    trigger, _ = save_trigger(make_job(), "t", definition, NOW)

    assert trigger.next_fire_at is None


def test_in_the_jobs_own_format_one_that_never_fires_is_refused(make_job):
    never = {"frequency": "month", "interval": 12, "schedule": {"monthDays": [31]}}
    definition = {"startTime": "2026-02-01T00:00:00Z", "recurrence": never}

    with pytest.raises(WireError) as refusal:
        save_trigger(make_job(), "t", TriggerDefinition(format="azure", definition=definition), NOW)

    assert refusal.value.code == "never_fires"


@pytest.mark.parametrize(
    "name, change, error, path",
    [
        ("default", {}, Invalid, "name"),
        ("a b", {}, Invalid, "name"),
        ("x" * 101, {}, Invalid, "name"),
        ("t", {"format": "cobol"}, WireError, "format"),
        ("t", {"definition": {"expression": "* * * * *"}}, WireError, "expression"),
        ("t", {"group": "a b"}, Invalid, "group"),
        ("t", {"priority": -1}, Invalid, "priority"),
        ("t", {"priority": 2**15}, Invalid, "priority"),
        ("t", {"misfire": "never"}, Invalid, "misfire"),
        ("t", {"data_map": {"custom_lock_key": ["a"]}}, Invalid, "triggerDataMap.custom_lock_key"),
        ("t", {"data_map": {"custom_lock_key": "a\nb"}}, Invalid, "triggerDataMap.custom_lock_key"),
    ],
)
def test_a_wrong_member_is_refused_and_nothing_is_saved(make_job, name, change, error, path):
    with pytest.raises(error) as refusal:
        save_trigger(make_job(), name, replace(HOURLY, **change), NOW)

    assert refusal.value.path == path
    assert Trigger.objects.count() == 1


@pytest.mark.parametrize("name", ["MINT.CHARGE_DAILY@@@management-server@@@DEFAULT", "9", "_x-y.z"])
def test_names_hold_dots_and_at_signs(make_job, name):
    assert save_trigger(make_job(), name, HOURLY, NOW)[0].name == name


def test_a_job_has_no_more_triggers_than_its_limit(make_job, make_trigger, monkeypatch):
    monkeypatch.setattr(scheduling, "TRIGGERS_LIMIT", 3)
    job = make_job()
    make_trigger(job, "one"), make_trigger(job, "two")

    with pytest.raises(Conflict):
        make_trigger(job, "three")
    make_trigger(job, "two")  # saving one again is not one more


@pytest.mark.parametrize("state", Job.FINAL)
def test_a_job_that_has_ended_takes_no_trigger(make_job, make_trigger, state):
    job = make_job()
    Job.objects.update(state=state)

    with pytest.raises(Conflict):
        make_trigger(job)


def test_saving_costs_the_same_queries_whatever_the_number_of_triggers(make_job, make_trigger):
    def cost(name):
        with CaptureQueriesContext(connection) as queries:
            make_trigger(job, name)
        return len(queries)

    job = make_job()
    make_trigger(job, "one")
    for_few = cost("two")
    for number in range(20):
        make_trigger(job, f"more-{number}")

    assert cost("last") == for_few <= 9


def test_a_change_is_made_to_the_trigger_as_it_is_stored_by_then(make_job, make_trigger):
    stale = make_trigger(make_job())
    save_trigger(stale.job, "hourly", replace(HOURLY, priority=1), NOW)

    change_trigger(stale, lambda stored: replace(stored, group="other"), NOW)

    assert (again(stale).priority, again(stale).group) == (1, "other")


# Stopped and started


@pytest.mark.parametrize("stop", ["itself", "its job", "its collection"])
def test_what_was_stopped_goes_on_with_its_next_time_and_does_not_catch_up(make_job, make_trigger, collection, stop):
    job = make_job(schedule=None)
    trigger = make_trigger(job, now=START)
    dispatch_due(START)

    def switch(on, now):
        if stop == "itself":
            save_trigger(job, "hourly", replace(HOURLY, enabled=on), now)
        elif stop == "its job":
            set_job_state(job, Job.State.ENABLED if on else Job.State.DISABLED, now)
        else:
            collection.state = JobCollection.State.ENABLED if on else JobCollection.State.DISABLED
            save_collection(collection, now)

    switch(False, START + MINUTE)
    assert again(trigger).next_fire_at is None
    dispatch_due(START + 3 * HOUR)

    switch(True, START + 5.5 * HOUR)
    assert again(trigger).next_fire_at == START + 6 * HOUR
    dispatch_due(START + 6 * HOUR)
    assert fired() == [("hourly", START), ("hourly", START + 6 * HOUR)]


def test_a_moment_that_passed_while_its_trigger_was_disabled_is_over(make_job, make_trigger):
    trigger = make_trigger(make_job(), "t", "once", definition={"at": "2026-01-05T08:00:00Z"}, enabled=False)

    change_trigger(trigger, lambda stored: replace(stored, enabled=True), START + HOUR)

    assert again(trigger).next_fire_at is None


def test_a_disabled_trigger_of_a_job_that_is_started_stays_disabled(make_job, make_trigger):
    job = make_job(state="disabled")
    trigger = make_trigger(job, enabled=False)

    set_job_state(job, Job.State.ENABLED, START)

    assert again(trigger).next_fire_at is None


# Dispatched


def test_every_trigger_makes_its_own_runs(make_job, make_trigger):
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


def test_at_one_instant_the_lower_priority_goes_first_also_within_a_job(make_job, make_trigger):
    job = make_job(schedule=None, overlap="allow")
    for name, priority in (("late", 9), ("early", 1), ("middle", 5)):
        make_trigger(job, name, now=START, priority=priority)
    make_trigger(job, "sooner", "once", now=NOW, definition={"at": "2026-01-05T07:59:59Z"}, priority=9)

    ids = [pk for _, pk in dispatch_due(START)]

    names = dict(Run.objects.values_list("pk", "trigger_name"))
    assert [names[pk] for pk in ids] == ["sooner", "early", "middle", "late"]
    leased = lease([str(pk) for pk in reversed(ids)], "worker", START)
    assert [item.run.trigger_name for item in leased] == ["sooner", "early", "middle", "late"]


def test_runs_go_to_the_queue_that_their_triggers_group_names(make_job, make_trigger):
    job = make_job(schedule=ONCE, overlap="allow")
    make_trigger(job, now=START, group="message-processor")

    rung = dispatch_due(START)

    queues = {Run.objects.get(pk=pk).trigger_name: queue for queue, pk in rung}
    assert queues == {"default": "default", "hourly": "message-processor"}


def test_runs_of_a_group_without_a_worker_wait_and_none_is_lost(make_job, make_trigger):
    make_trigger(make_job(schedule=None, overlap="allow"), now=START, group="nobody-serves-it")

    for hours in range(5):
        dispatch_due(START + hours * HOUR)

    assert Run.objects.filter(state=Run.State.WAITING, queue="nobody-serves-it").count() == 5
    ready = Run.objects.ready(START + 6 * HOUR)
    assert ready.count() == 5  # and whoever comes to serve it is told
    work_off(START + 6 * HOUR)
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


def test_a_fire_time_within_the_threshold_is_no_misfire(make_job, make_trigger):
    make_trigger(make_job(schedule=None), now=START, misfire="skip", misfire_threshold=10 * MINUTE)

    dispatch_due(START + 10 * MINUTE)

    assert [at for _, at in fired(state=Run.State.WAITING)] == [START]


def test_making_up_for_each_has_a_limit(make_job, make_trigger):
    make_trigger(make_job(schedule=None), now=START, misfire="fire_all", definition={"expression": "0 * * * * ?"})

    dispatch_due(START + (FIRE_ALL_LIMIT + 20) * MINUTE)

    assert Run.objects.filter(state=Run.State.WAITING).count() == FIRE_ALL_LIMIT
    assert Run.objects.filter(state=Run.State.MISSED).count() == 21


# The end of a job


def test_a_job_with_a_trigger_beside_its_own_schedule_does_not_end_with_that(make_job, make_trigger):
    job = make_job(schedule=ONCE)
    make_trigger(job, now=START + MINUTE, enabled=False)

    dispatch_due(START)
    work_off(START)

    assert state_of(job) == Job.State.ENABLED


def test_a_job_that_gets_a_trigger_does_not_end_with_its_last_open_run(make_job, make_trigger):
    job = make_job(schedule=ONCE)
    dispatch_due(START)
    assert Run.objects.get().is_last

    make_trigger(job, now=START + MINUTE)
    work_off(START + MINUTE)

    assert state_of(job) == Job.State.ENABLED


def test_a_job_that_gives_up_its_own_schedule_does_not_end_with_its_last_open_run(make_job):
    job = make_job(schedule=ONCE)
    dispatch_due(START)

    save_job(job.collection, job.name, JobDefinition(action=ACTION, schedule=None), START)
    work_off(START)

    assert state_of(job) == Job.State.ENABLED
    assert not job.triggers.exists()


@pytest.mark.parametrize("succeeded, state", [(True, Job.State.COMPLETED), (False, Job.State.FAULTED)])
def test_a_job_whose_own_schedule_is_over_ends_with_the_last_run_after_its_last_trigger_is_gone(
    make_job, make_trigger, succeeded, state
):
    job = make_job(schedule=ONCE)
    trigger = make_trigger(job, now=START + MINUTE)
    dispatch_due(START)

    delete_trigger(trigger, START + MINUTE)
    assert state_of(job) == Job.State.ENABLED
    work_off(START + MINUTE, succeeded)

    assert state_of(job) == state


def test_a_job_whose_own_schedule_is_over_ends_with_its_last_trigger_when_nothing_is_open(make_job, make_trigger):
    job = make_job(schedule=ONCE)
    one, two = make_trigger(job, "one", now=START + MINUTE), make_trigger(job, "two", now=START + MINUTE)
    dispatch_due(START)
    work_off(START)

    delete_trigger(one, START + MINUTE)
    assert state_of(job) == Job.State.ENABLED
    delete_trigger(two, START + MINUTE)

    assert state_of(job) == Job.State.COMPLETED


def test_a_job_whose_own_schedule_goes_on_does_not_end_with_a_trigger(make_job, make_trigger):
    job = make_job()

    delete_trigger(make_trigger(job), NOW)

    assert state_of(job) == Job.State.ENABLED


def test_a_job_without_a_schedule_of_its_own_never_ends_by_itself(make_job, make_trigger):
    job = make_job(schedule=None)
    trigger = make_trigger(job, "t", "once", definition={"at": START.isoformat()})

    dispatch_due(START)
    work_off(START)
    delete_trigger(trigger, START)

    assert state_of(job) == Job.State.ENABLED


def test_deleting_leaves_the_runs_as_they_are(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)
    dispatch_due(START)

    delete_trigger(trigger, START)

    assert fired(trigger_name="hourly", state=Run.State.WAITING) == [("hourly", START)]


def test_the_schedule_in_the_job_itself_is_not_deleted(make_job):
    with pytest.raises(Conflict):
        delete_trigger(make_job().triggers.get(), NOW)


def test_a_patch_of_a_job_leaves_its_other_triggers_alone(make_job, make_trigger):
    job = make_job()
    trigger = make_trigger(job, now=START)

    patch_job(job, {"recurrence": {"interval": 2}}, START + 3 * HOUR)

    assert again(trigger).next_fire_at == START
    assert job.triggers.count() == 2


# Plans and quotas


@pytest.mark.parametrize(
    "quota, slow, fast",
    [
        (None, "0 0 * * * ?", "0 0,59 * * * ?"),
        (("day", 1), "0 0 9 * * ?", "0 0 9,21 * * ?"),
        (("week", 1), "0 0 9 ? * MON", "0 0 9 ? * MON,FRI"),
    ],
)
def test_fire_times_closer_than_the_quota_allows_are_refused(make_job, make_trigger, collection, quota, slow, fast):
    collection.sku = "Free" if quota is None else "Standard"
    collection.max_recurrence_frequency, collection.max_recurrence_interval = quota or (None, None)
    save_collection(collection, NOW)
    job = make_job(schedule=None)

    make_trigger(job, definition={"expression": slow})
    with pytest.raises(QuotaExceeded) as refusal:
        make_trigger(job, definition={"expression": fast})

    assert refusal.value.path == "definition"
    assert job.triggers.get().definition == {"expression": slow}


def test_a_plan_that_allows_every_minute_allows_every_second(make_job, make_trigger, collection):
    collection.sku = "Standard"
    save_collection(collection, NOW)

    assert make_trigger(make_job(schedule=None), definition={"expression": "* * * * * ?"}).next_fire_at == NOW


@pytest.mark.parametrize(
    "format, definition",
    [
        ("quartz", {"expression": "0 */30 * * * ?"}),
        ("simple", {"interval": 60_000}),
        ("azure", {"recurrence": {"frequency": "Day", "schedule": {"minutes": [0, 10], "hours": [5]}}}),
    ],
)
def test_a_collection_moves_to_a_plan_only_when_its_triggers_fit(
    make_job, make_trigger, collection, format, definition
):
    trigger = make_trigger(make_job(schedule=None), "t", format, definition=definition)
    collection.sku = "Free"

    with pytest.raises(QuotaExceeded):
        save_collection(collection, NOW)
    assert JobCollection.objects.get().sku == "P20Premium"

    delete_trigger(trigger, NOW)
    save_collection(collection, NOW)
    assert JobCollection.objects.get().sku == "Free"
