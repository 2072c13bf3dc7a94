"""Triggers in addition to a job's own schedule: how they are saved, stopped and started, and what a plan allows."""

import time
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from api.errors import Conflict, Invalid
from jobs.errors import QuotaExceeded
from jobs.models import Job, JobCollection
from recurrence.wire import WireError
from tests.conftest import NOW, utc
from tests.triggers.rows import DAILY, HOUR, HOURLY, MINUTE, START, fired, reloaded
from triggers import scheduling
from triggers.definitions import TriggerDefinition
from triggers.dispatch import dispatch_due
from triggers.models import Trigger
from triggers.scheduling import (
    change_trigger,
    delete_trigger,
    patch_job,
    save_collection,
    save_trigger,
    set_job_state,
)

pytestmark = pytest.mark.django_db

RULE = {"start": {"dateTime": "2026-01-05T09:00:00", "timeZone": "UTC"}}


# Saved


def test_save_trigger_sets_the_next_fire_time_and_returns_whether_it_created_a_row(make_job):
    job = make_job()

    trigger, created = save_trigger(job, "extra", HOURLY, NOW + MINUTE)
    _, created_again = save_trigger(job, "extra", DAILY, NOW + MINUTE)

    assert (created, created_again) == (True, False)
    assert trigger.next_fire_at == NOW + HOUR
    assert job.triggers.count() == 2


def test_fire_time_exactly_at_the_creation_of_a_trigger_is_due(make_job, make_trigger):
    assert make_trigger(make_job(), now=START).next_fire_at == START


def test_unchanged_trigger_keeps_its_fire_times(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)
    dispatch_due(START)
    before = reloaded(trigger)

    save_trigger(trigger.job, "hourly", HOURLY, START + 5 * HOUR)

    after = reloaded(trigger)
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
def test_same_schedule_in_another_spelling_keeps_its_fire_times(make_job, first, second):
    format, definition = first
    trigger, _ = save_trigger(make_job(), "t", TriggerDefinition(format=format, definition=definition), NOW)

    save_trigger(trigger.job, "t", TriggerDefinition(format=format, definition=second), NOW + HOUR)

    after = reloaded(trigger)
    assert (after.anchored_at, after.next_fire_at) == (NOW, trigger.next_fire_at)
    assert after.definition == second


def test_changed_schedule_does_not_fire_for_times_before_the_change(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)

    save_trigger(trigger.job, "hourly", DAILY, START + 3 * HOUR)

    assert reloaded(trigger).next_fire_at == utc("2026-01-06T09:30:00Z")
    dispatch_due(START + 3 * HOUR)
    assert fired(trigger_name="hourly") == []


def test_changed_setting_does_not_change_the_fire_times(make_job, make_trigger):
    trigger = make_trigger(make_job(), now=START)

    save_trigger(trigger.job, "hourly", replace(HOURLY, priority=1, group="other", misfire="skip"), START + 3 * HOUR)

    after = reloaded(trigger)
    assert (after.priority, after.group, after.misfire) == (1, "other", "skip")
    assert after.next_fire_at == START  # still due


@pytest.mark.parametrize(
    "definition",
    [
        TriggerDefinition(format="quartz", definition={"expression": "0 15 10 ? * 6L 2013-2015"}),
        TriggerDefinition(format="once", definition={"at": "2013-07-04"}),
        TriggerDefinition(format="simple", definition={"startTime": "1372916749000"}),
    ],
)
def test_trigger_that_never_fires_again_is_saved_without_a_next_fire_time(make_job, definition):
    trigger, _ = save_trigger(make_job(), "t", definition, NOW)

    assert trigger.next_fire_at is None


def test_azure_schedule_that_never_fires_is_refused(make_job):
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
def test_wrong_member_of_a_trigger_is_refused_and_nothing_is_saved(make_job, name, change, error, path):
    with pytest.raises(error) as refusal:
        save_trigger(make_job(), name, replace(HOURLY, **change), NOW)

    assert refusal.value.path == path
    assert Trigger.objects.count() == 1


@pytest.mark.parametrize("name", ["MINT.CHARGE_DAILY@@@management-server@@@DEFAULT", "9", "_x-y.z"])
def test_names_of_triggers_can_contain_dots_and_at_signs(make_job, name):
    assert save_trigger(make_job(), name, HOURLY, NOW)[0].name == name


def test_number_of_triggers_of_a_job_has_a_limit(make_job, make_trigger, monkeypatch):
    monkeypatch.setattr(scheduling, "TRIGGERS_LIMIT", 3)
    job = make_job()
    make_trigger(job, "one"), make_trigger(job, "two")

    with pytest.raises(Conflict):
        make_trigger(job, "three")
    make_trigger(job, "two")  # an existing trigger can be saved again


@pytest.mark.parametrize("state", Job.FINAL)
def test_ended_job_cannot_get_a_trigger(make_job, make_trigger, state):
    job = make_job()
    Job.objects.update(state=state)

    with pytest.raises(Conflict):
        make_trigger(job)


def test_number_of_queries_of_saving_does_not_depend_on_the_number_of_triggers(make_job, make_trigger):
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


def test_change_trigger_changes_the_stored_trigger_not_the_stale_one(make_job, make_trigger):
    stale = make_trigger(make_job())
    save_trigger(stale.job, "hourly", replace(HOURLY, priority=1), NOW)

    change_trigger(stale, lambda stored: replace(stored, group="other"), NOW)

    assert (reloaded(stale).priority, reloaded(stale).group) == (1, "other")


# Stopped and started


@pytest.mark.parametrize("stop", ["itself", "its job", "its collection"])
def test_stopped_trigger_continues_with_its_next_fire_time_and_does_not_catch_up(
    make_job, make_trigger, collection, stop
):
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
    assert reloaded(trigger).next_fire_at is None
    dispatch_due(START + 3 * HOUR)

    switch(True, START + 5.5 * HOUR)
    assert reloaded(trigger).next_fire_at == START + 6 * HOUR
    dispatch_due(START + 6 * HOUR)
    assert fired() == [("hourly", START), ("hourly", START + 6 * HOUR)]


def test_single_time_that_passed_while_its_trigger_was_disabled_does_not_fire(make_job, make_trigger):
    trigger = make_trigger(make_job(), "t", "once", definition={"at": "2026-01-05T08:00:00Z"}, enabled=False)

    change_trigger(trigger, lambda stored: replace(stored, enabled=True), START + HOUR)

    assert reloaded(trigger).next_fire_at is None


def test_enabling_a_job_does_not_enable_its_disabled_triggers(make_job, make_trigger):
    job = make_job(state="disabled")
    trigger = make_trigger(job, enabled=False)

    set_job_state(job, Job.State.ENABLED, START)

    assert reloaded(trigger).next_fire_at is None


# Plans and quotas


def in_plan(collection, sku, quota=None):
    collection.sku = sku
    collection.max_recurrence_frequency, collection.max_recurrence_interval = quota or (None, None)
    save_collection(collection, NOW)


EVERY_MINUTE, EVERY_SECOND = {"expression": "30 * * * * ?"}, {"expression": "* * * * * ?"}
EVERY_HOUR = {"recurrence": {"frequency": "hour"}}
DAILY_AT_9 = {"expression": "0 0 9 * * ?"}


@pytest.mark.parametrize(
    "sku, format, slow, fast, says",
    [
        ("Free", "quartz", EVERY_MINUTE, {"expression": "0,30 * * * * ?"}, "once a minute, the limit of the Free plan"),
        ("Free", "quartz", EVERY_MINUTE, EVERY_SECOND, "two fire times are one second apart"),
        ("Free", "quartz", EVERY_MINUTE, {"expression": "0,59 59 23 31 12 ?"}, "two fire times are 59 seconds apart"),
        ("Free", "simple", {"interval": 60_000}, {"interval": 59_999}, "59999 milliseconds apart"),
        ("Standard", "simple", {"interval": 1000}, {"interval": 1}, "once a second, the limit of the Standard plan"),
        ("Standard", "simple", {"interval": 1000}, {"interval": 999}, "two fire times are 999 milliseconds apart"),
        ("Standard", "simple", {"interval": 1, "repeatCount": 0}, {"interval": 1, "repeatCount": 1}, "once a second"),
        ("P10Premium", "simple", {"interval": 100}, {"interval": 99}, "10 times a second, the limit of the P10Premium"),
        ("P20Premium", "simple", {"interval": 100}, {"interval": 99}, "10 times a second, the limit of the P20Premium"),
        # Azure's own limits for its recurrences, also for additional triggers
        ("Free", "azure", EVERY_HOUR, {"recurrence": {"frequency": "minute"}}, "once an hour, the limit of the Free"),
    ],
)  # fmt: skip
def test_a_plan_limits_how_often_every_format_fires(make_job, make_trigger, collection, sku, format, slow, fast, says):
    in_plan(collection, sku)
    job = make_job(schedule=None)

    make_trigger(job, format=format, definition=slow)
    with pytest.raises(QuotaExceeded) as refusal:
        make_trigger(job, format=format, definition=fast)

    assert refusal.value.path == "definition"
    assert says in refusal.value.message
    assert job.triggers.get().definition == slow


def test_standard_collection_accepts_an_expression_for_every_second(make_job, make_trigger, collection):
    in_plan(collection, "Standard")

    assert make_trigger(make_job(schedule=None), definition=EVERY_SECOND).next_fire_at == NOW


@pytest.mark.parametrize(
    "quota, format, slow, fast, says",
    [
        (("day", 1), "quartz", DAILY_AT_9, {"expression": "0 0 9,21 * * ?"}, "once a day, the limit of collection"),
        (("week", 1), "quartz", {"expression": "0 0 9 ? * MON"}, {"expression": "0 0 9 ? * MON,FRI"}, "3 days apart"),
        (("hour", 2), "simple", {"interval": 7_200_000}, {"interval": 3_600_000}, "once every 2 hours, the limit of"),
        (("minute", 1), "quartz", EVERY_MINUTE, EVERY_SECOND, "once a minute, the limit of collection"),
        # months have different lengths
        (("month", 1), "quartz", {"expression": "0 0 9 L * ?"}, {"expression": "0 0 9 1,15 * ?"}, "once a month"),
        (("month", 3), "quartz", {"expression": "0 0 9 LW 1/3 ?"}, {"expression": "0 0 9 1 1/2 ?"}, "every 3 months"),
        (("day", 2), "rrule", {**RULE, "rrule": "FREQ=WEEKLY"}, {**RULE, "rrule": "FREQ=DAILY"}, "every 2 days"),
    ],
)  # fmt: skip
def test_slower_quota_of_the_collection_limits_every_format(
    make_job, make_trigger, collection, quota, format, slow, fast, says
):
    in_plan(collection, "P20Premium", quota)
    job = make_job(schedule=None)

    make_trigger(job, format=format, definition=slow)
    with pytest.raises(QuotaExceeded) as refusal:
        make_trigger(job, format=format, definition=fast)

    assert says in refusal.value.message


def test_faster_quota_than_that_of_the_plan_has_no_effect(make_job, make_trigger, collection):
    in_plan(collection, "Free", ("minute", 1))

    with pytest.raises(QuotaExceeded):
        make_trigger(make_job(schedule=None), "t", "azure", definition={"recurrence": {"frequency": "minute"}})


@pytest.mark.parametrize(
    "expression, zone, change",
    [
        ("0 30 * * * ?", "America/New_York", "2026-03-08T07:00Z"),  # 01:30, 03:00 for the gap, 03:30
        ("0 30 */1 * * ?", "America/New_York", "2026-11-01T06:00Z"),
        ("0 0 * * * ?", "Australia/Lord_Howe", "2026-10-03T15:30Z"),
        ("0 0 * * * ?", "Australia/Lord_Howe", "2026-04-04T15:00Z"),
    ],
)
def test_clock_change_does_not_make_a_schedule_too_fast(make_job, make_trigger, collection, expression, zone, change):
    in_plan(collection, "Standard", ("hour", 1))
    job, before = make_job(schedule=None), utc(change) - 10 * HOUR

    make_trigger(job, "t", now=before, definition={"expression": expression, "timeZone": zone})

    with pytest.raises(QuotaExceeded):
        make_trigger(job, "u", now=before, definition={"expression": "0 0,30 * * * ?", "timeZone": zone})


def test_daily_time_fits_a_daily_quota_when_a_day_has_23_hours(make_job, make_trigger, collection):
    in_plan(collection, "Standard", ("day", 1))

    definition = {"expression": "0 0 9 * * ?", "timeZone": "America/New_York"}

    assert make_trigger(make_job(schedule=None), now=utc("2026-03-01T00:00Z"), definition=definition).next_fire_at


def test_stored_trigger_faster_than_the_plan_continues_to_fire(make_job, make_trigger, collection):
    trigger = make_trigger(make_job(schedule=None), "t", "simple", definition={"interval": 100})
    JobCollection.objects.update(sku="Standard")

    change_trigger(trigger, lambda stored: replace(stored, priority=1), NOW)

    dispatch_due(reloaded(trigger).next_fire_at)
    assert reloaded(trigger).fire_count == 1
    with pytest.raises(QuotaExceeded):
        change_trigger(trigger, lambda stored: replace(stored, definition={"interval": 101}), NOW)


def test_collection_with_a_too_fast_trigger_can_move_to_a_higher_plan(make_job, make_trigger, collection):
    trigger = make_trigger(make_job(schedule=None), "t", "simple", definition={"interval": 100})
    Trigger.objects.update(definition={"interval": 1})
    JobCollection.objects.update(sku="Standard")
    collection.refresh_from_db()

    in_plan(collection, "P10Premium")

    assert reloaded(trigger).definition == {"interval": 1}


def test_time_of_the_quota_check_has_a_limit_for_rare_rules(make_job, make_trigger, collection):
    """A rule that is searched day by day and fires rarely is checked for a few years only."""
    in_plan(collection, "Standard", ("month", 1))
    definition = {**RULE, "rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=SU"}
    started = time.thread_time()

    make_trigger(make_job(schedule=None), "t", "rrule", definition=definition)

    assert time.thread_time() - started < 5


def test_collection_with_a_trigger_of_each_format_can_move_to_a_higher_plan(make_job, make_trigger, collection):
    job, start = make_job(schedule=None), {"dateTime": "2030-01-07T09:00:00", "timeZone": "UTC"}
    pattern = {"pattern": {"type": "daily", "interval": 1}, "range": {"type": "noEnd", "startDate": "2030-01-07"}}
    outlook = {"start": start, "end": {**start, "dateTime": "2030-01-07T10:00:00"}, "recurrence": pattern}
    make_trigger(job, "outlook", "outlook", definition=outlook)
    make_trigger(job, "rrule", "rrule", definition={"start": start, "rrule": "FREQ=DAILY"})
    make_trigger(job, "azure", "azure", definition={"recurrence": {"frequency": "Day"}})
    JobCollection.objects.update(sku="Standard")
    collection.sku = "P10Premium"

    save_collection(collection, NOW)

    assert JobCollection.objects.get().sku == "P10Premium"


@pytest.mark.parametrize(
    "format, definition",
    [
        ("quartz", {"expression": "*/30 * * * * ?"}),
        ("simple", {"interval": 30_000}),
        ("azure", {"recurrence": {"frequency": "Day", "schedule": {"minutes": [0, 10], "hours": [5]}}}),
    ],
)
def test_collection_can_move_to_a_plan_only_if_its_triggers_fit(make_job, make_trigger, collection, format, definition):
    trigger = make_trigger(make_job(schedule=None), "t", format, definition=definition)
    collection.sku = "Free"

    with pytest.raises(QuotaExceeded):
        save_collection(collection, NOW)
    assert JobCollection.objects.get().sku == "P20Premium"

    delete_trigger(trigger, NOW)
    save_collection(collection, NOW)
    assert JobCollection.objects.get().sku == "Free"


# Members that every schedule has


@pytest.mark.parametrize(
    "members, following",
    [
        ({"skips": ["2026-01-06"]}, "2026-01-07T08:00:00Z"),
        ({"skips": ["2026-01-06T08:00:00Z"], "extras": ["2026-01-06T10:00:00Z"]}, "2026-01-06T10:00:00Z"),
        ({"jitter": "PT10M"}, "2026-01-06T08:00:00Z"),
    ],
)
def test_skips_extras_and_jitter_keep_the_anchor_and_the_rest_of_the_count(make_job, make_trigger, members, following):
    definition = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Day", "count": 5}}
    trigger = make_trigger(make_job(schedule=None), "daily", "azure", definition=definition)
    own = make_job("own", schedule=definition)
    dispatch_due(utc("2026-01-05T08:00:00Z"))
    before = {each.pk: reloaded(each) for each in (trigger, own.triggers.get())}
    now = utc("2026-01-05T12:00:00Z")

    make_trigger(trigger.job, "daily", "azure", now=now, definition=definition | members)
    patch_job(own, {"schedule": {"format": "azure", **definition, **members}}, now)

    for pk, old in before.items():
        new = Trigger.objects.get(pk=pk)
        assert (new.anchored_at, new.fires_left) == (old.anchored_at, old.fires_left) == (NOW, 4)
        assert (new.next_fire_at, new.definition["recurrence"]["count"]) == (utc(following), 5)


def test_fire_time_that_is_due_stays_due_when_skips_change(make_job, make_trigger):
    trigger = make_trigger(make_job(schedule=None), definition={"expression": "0 0 8 * * ?"})
    now = utc("2026-01-01T08:00:01Z")

    make_trigger(trigger.job, now=now, definition={"expression": "0 0 8 * * ?", "skips": ["2026-01-02"]})

    assert reloaded(trigger).next_fire_at == utc("2026-01-01T08:00:00Z")
