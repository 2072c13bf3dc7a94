"""The twenty jobs that Apigee's monetization ships with."""

import re
import uuid
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Subscription
from jobs import registry
from jobs.models import Job, JobCollection
from jobs.registry import TaskContext
from scheduler_site import demo_data
from tests.conftest import NOW, utc
from triggers.deletion import delete_job
from triggers.mint import jobs as mint_jobs
from triggers.mint.jobs import SHIPPED, enable
from triggers.models import Trigger
from triggers.scheduling import change_trigger, save_trigger

# section 5.1 of the reference: expression, and the first fire time after 2026-01-01
ON_A_SCHEDULE = {
    "MINT.MONTHLY_DEV_TAXRATE": ("0 45 5 1 * ?", "2026-01-01T05:45:00Z"),
    "MINT.RENEW_SUBSCRIPTIONS": ("5 0 0 * * ?", "2026-01-01T00:00:05Z"),
    "MINT.XEFEED": ("1 0 0 * * ?", "2026-01-01T00:00:01Z"),
    "MINT.RENEW_DEV_RATEPLAN": ("0 20 2 * * ?", "2026-01-01T02:20:00Z"),
    "MINT.RETRY_TX_RELAY": ("0 30 4 * * ?", "2026-01-01T04:30:00Z"),
    "MINT.TX_CLEANSER": ("0 30 5 * * ?", "2026-01-01T05:30:00Z"),
    "MINT.DEVELOPER_BALANCE_AUDIT": ("5 0 0 1 * ?", "2026-01-01T00:00:05Z"),
    "MINT.MONTLY_BILLING_DOCS": ("0 1 0 11 * ?", "2026-01-11T00:01:00Z"),
    "MINT.RESET_DEVELOPER_RATE_PLAN_COUNTER": ("3 0 0 * * ?", "2026-01-01T00:00:03Z"),
    "MINT.CHARGE_DAILY": ("0 20 1 * * ?", "2026-01-01T01:20:00Z"),
    "MINT.CHARGE_HOURLY": ("0 1/15 * * * ?", "2026-01-01T00:01:00Z"),
    "MINT.REFRESH_NOTIFICATION_CONFIG": ("0 0/5 * * * ?", "2026-01-01T00:00:00Z"),
    "MINT.EMAIL_NOTIFICATION": ("0 0 * * * ?", "2026-01-01T00:00:00Z"),
}
LOCK_KEYS = {
    "MINT.CHARGE_DAILY": "chargedaily",
    "MINT.RENEW_DEV_RATEPLAN": "renewydevrateplan",  # as in the original
    "MINT.RESET_DEVELOPER_RATE_PLAN_COUNTER": "resetdeveloperrateplancounter",
    "MINT.MONTHLY_DEV_TAXRATE": "monthlydevtaxrate",
    "MINT.ADHOC_NOTIFY": "adhocnotify",
}
EVENING = ("MINT.NEW_PACKAGE_NOTIFY", "MINT.ADHOC_NOTIFY", "MINT.NEW_PRODUCT_NOTIFY")
DAILY = ("MINT.TNC_ACCEPTANCE_NOTIFY", "MINT.EXPIRING_RATE_PLAN_NOTIFY")
MORNING = ("MINT.NEW_RATEPLAN_NOTIFY",)


@pytest.fixture
def loaded(subscription):
    mint_jobs.load(subscription, NOW)
    return subscription


def trigger_of(job: str) -> Trigger:
    return Trigger.objects.select_related("job").get(name=f"{job}@@@management-server@@@DEFAULT")


def next_times(trigger: Trigger, number: int) -> list:
    fires, fire = [], trigger.next_fire_at
    while fire and len(fires) < number:
        fires.append(fire)
        fire = trigger.parsed.schedule.after(fire)
    return fires


def test_twenty_jobs_are_loaded_into_their_own_collection(loaded):
    collection = JobCollection.objects.get()

    assert (collection.name, collection.jobs.count(), Trigger.objects.count()) == ("monetization", 20, 20)
    assert {trigger.group for trigger in Trigger.objects.all()} == {"management-server"}
    assert set(Job.objects.values_list("state", flat=True)) == {"enabled"}


def test_scheduled_triggers_are_enabled(loaded):
    found = {trigger.name.partition("@")[0]: trigger for trigger in Trigger.objects.filter(enabled=True)}

    assert {job: trigger.definition["expression"] for job, trigger in found.items()} == {
        job: expression for job, (expression, _) in ON_A_SCHEDULE.items()
    }
    assert {job: trigger.next_fire_at for job, trigger in found.items()} == {
        job: utc(first) for job, (_, first) in ON_A_SCHEDULE.items()
    }
    assert {trigger.priority for trigger in found.values()} == {1}


def test_hourly_charges_fire_every_quarter_of_an_hour(loaded):
    fires = next_times(trigger_of("MINT.CHARGE_HOURLY"), 5)

    assert [fire.minute for fire in fires] == [1, 16, 31, 46, 1]


def test_event_triggers_and_triggers_that_never_run_are_disabled(loaded):
    found = {trigger.name.partition("@")[0]: trigger for trigger in Trigger.objects.filter(enabled=False)}

    assert {job: trigger.priority for job, trigger in found.items()} == {
        **dict.fromkeys((*EVENING, *MORNING, *DAILY), 4),
        "MINT.REFRESH_LIMIT": 1,
    }
    assert {trigger.next_fire_at for trigger in found.values()} == {None}


def test_each_trigger_has_a_lock_key_with_the_organization(loaded):
    for job, key in LOCK_KEYS.items():
        trigger = trigger_of(job)

        assert trigger.data_map == {"custom_lock_key": f"mint.scheduler.__ORG_ID__.{key}@@@management"}
        assert f"mint.scheduler.{loaded.pk}.{key}@@@management" in trigger.lock_key


def test_lock_keys_and_names_of_triggers_are_unique(loaded):
    triggers = Trigger.objects.all()

    assert len({trigger.lock_key for trigger in triggers}) == len({trigger.name for trigger in triggers}) == 20


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda shipped: shipped.job)
def test_each_task_names_its_purpose_in_the_log_and_the_history(caplog, shipped):
    caplog.set_level("INFO", "triggers.job_tasks")
    context = TaskContext(uuid.uuid4(), 1, NOW, shipped.job_name, "monetization")

    line = registry.find(shipped.job)({}, context)

    assert shipped.title in line
    assert shipped.description in line
    assert f"{shipped.job} of monetization: {line}" in caplog.text


# Repeated loading


def test_the_command_can_be_repeated(subscription, capsys):
    call_command("load_mint_jobs")
    before = list(Trigger.objects.order_by("pk").values())
    call_command("load_mint_jobs", subscription="default")

    assert capsys.readouterr().out.splitlines() == [
        "20 created, 0 were there already",
        "0 created, 20 were there already",
    ]
    assert list(Trigger.objects.order_by("pk").values()) == before


def test_repeated_loading_keeps_edited_jobs_and_restores_deleted_ones(loaded):
    trigger = trigger_of("MINT.CHARGE_DAILY")
    definition = mint_jobs.definition_of(SHIPPED[0], NOW)
    save_trigger(trigger.job, trigger.name, definition, NOW)
    save_trigger(trigger.job, "of-ours", definition, NOW)
    delete_job(trigger_of("MINT.XEFEED").job, NOW)

    assert mint_jobs.load(loaded, NOW + timedelta(days=1)) == 1

    assert trigger_of("MINT.CHARGE_DAILY").definition == definition.definition
    assert trigger.job.triggers.count() == 2
    assert trigger_of("MINT.XEFEED").enabled


def test_another_subscription_gets_its_own_jobs(loaded):
    other = Subscription.objects.create(name="elsewhere")

    call_command("load_mint_jobs", subscription="elsewhere", verbosity=0)

    assert Job.objects.filter(collection__subscription=other).count() == 20
    keys = Trigger.objects.filter(name__startswith="MINT.CHARGE_DAILY").values_list("lock_key", flat=True)
    assert len(set(keys)) == 2


@pytest.mark.django_db
def test_an_unknown_subscription_is_refused():
    with pytest.raises(CommandError, match="there is no subscription 'nowhere'"):
        call_command("load_mint_jobs", subscription="nowhere")


def test_mint_jobs_are_part_of_the_samples(subscription):
    demo_data.load(subscription, "http://127.0.0.1:8000/echo/", NOW)

    assert Job.objects.filter(collection__name=mint_jobs.COLLECTION).count() == 20


def test_repeated_loading_of_samples_restores_no_deleted_mint_job(loaded):
    delete_job(trigger_of("MINT.XEFEED").job, NOW)

    demo_data.load(loaded, "http://127.0.0.1:8000/echo/", NOW)

    assert Job.objects.filter(collection__name=mint_jobs.COLLECTION).count() == 19


# Enabling


@pytest.mark.parametrize(
    "jobs, now, start",
    [
        (EVENING + DAILY, "2026-03-05T10:00:00Z", "2026-03-05T21:00:00Z"),
        (EVENING + DAILY, "2026-03-05T20:59:59Z", "2026-03-05T21:00:00Z"),
        (EVENING + DAILY, "2026-03-05T21:00:00Z", "2026-03-06T21:00:00Z"),  # the time of today has passed
        (EVENING + DAILY, "2026-12-31T23:00:00Z", "2027-01-01T21:00:00Z"),
        (MORNING, "2026-03-05T03:00:00Z", "2026-03-05T04:30:00Z"),
        (MORNING, "2026-03-05T10:00:00Z", "2026-03-06T04:30:00Z"),
    ],
)
def test_enabled_event_trigger_starts_today_or_tomorrow(loaded, jobs, now, start):
    for job in jobs:
        trigger = enable(trigger_of(job), utc(now))

        assert (trigger.enabled, trigger.next_fire_at) == (True, utc(start))


def test_one_time_event_trigger_fires_once_each_time_it_is_enabled(loaded):
    for job in EVENING + MORNING:
        assert len(next_times(enable(trigger_of(job), NOW), 3)) == 1


def test_daily_event_trigger_fires_each_day(loaded):
    for job in DAILY:
        fires = next_times(enable(trigger_of(job), NOW), 3)

        assert fires == [utc("2026-01-01T21:00Z"), utc("2026-01-02T21:00Z"), utc("2026-01-03T21:00Z")]


def test_start_chosen_by_a_user_is_not_changed(loaded):
    trigger = trigger_of("MINT.NEW_RATEPLAN_NOTIFY")
    definition = mint_jobs.definition_of(mint_jobs.EVENTS[trigger.name], NOW)
    chosen = {"startTime": mint_jobs.milliseconds(utc("2026-06-01T04:30:00Z"))}
    save_trigger(trigger.job, trigger.name, mint_jobs.replace(definition, definition=chosen), NOW)

    assert enable(trigger, NOW).next_fire_at == utc("2026-06-01T04:30:00Z")


def test_enabling_a_trigger_twice_has_the_effect_of_once(loaded):
    first = enable(trigger_of("MINT.ADHOC_NOTIFY"), NOW)
    second = enable(first, NOW + timedelta(hours=1))

    assert (second.definition, second.next_fire_at) == (first.definition, first.next_fire_at)


def test_other_triggers_are_enabled_without_a_change(loaded):
    trigger = trigger_of("MINT.CHARGE_DAILY")
    change_trigger(trigger, lambda stored: mint_jobs.replace(stored, enabled=False), NOW)

    switched = enable(trigger, NOW + timedelta(days=1, hours=2))

    assert switched.definition == {"expression": "0 20 1 * * ?"}
    assert switched.next_fire_at == utc("2026-01-03T01:20:00Z")


def test_shipped_jobs_equal_the_table_of_the_reference():
    assert {each.job: each.cron for each in SHIPPED if each.cron} == {
        **{job: expression for job, (expression, _) in ON_A_SCHEDULE.items()},
        "MINT.REFRESH_LIMIT": "0 0 0 1 1 ? 2099",
    }
    assert {each.job for each in SHIPPED if each.at} == {*EVENING, *MORNING, *DAILY}
    assert all(re.fullmatch("[a-z][a-z-]+", each.job_name) for each in SHIPPED)
