"""Triggers beside a job's own schedule: how they are saved, stopped and started, and what a plan allows."""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.errors import Conflict, Invalid, QuotaExceeded
from jobs.models import Job, JobCollection
from recurrence.wire import WireError
from tests.conftest import NOW, utc
from tests.triggers.rows import DAILY, HOUR, HOURLY, MINUTE, START, again, fired
from triggers import scheduling
from triggers.definitions import TriggerDefinition
from triggers.dispatch import dispatch_due
from triggers.models import Trigger
from triggers.scheduling import (
    change_trigger,
    delete_trigger,
    save_collection,
    save_trigger,
    set_job_state,
)

pytestmark = pytest.mark.django_db


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
