"""Processes that start with other time zone data: who recomputes what, how often, and what is reported."""

import logging
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Role, Subscription
from jobs.models import Job, JobCollection, Run
from operations import service, tasks
from operations.models import PUBLISH_TIMEOUT, Operation
from operations.reports import MAX_MOVES, Move, read_report
from tests.conftest import utc
from tests.racing import at_once, lingering
from tests.triggers.rows import ONCE, reloaded
from triggers import zoned_triggers
from triggers.definitions import TriggerDefinition
from triggers.dispatch import dispatch_due
from triggers.models import MAIN, TimeZoneData, Trigger
from triggers.scheduling import save_trigger
from triggers.zone_updates import KIND, apply_data

BEFORE, AFTER = utc("2026-11-05T08:00:00Z"), utc("2026-11-05T00:00:00Z")  # 09:00 in Vaduz, and with the new rules
TOKYO = {"Europe/Vaduz": "Asia/Tokyo"}
SPAN = {"start": "09", "end": "10"}
EVERY_DAY = {"pattern": {"type": "daily", "interval": 1}, "range": {"type": "noEnd", "startDate": "2026-11-02"}}
NINE = {"expression": "0 0 9 * * ?", "timeZone": "Europe/Vaduz"}


@pytest.fixture
def start(start_with_zones):
    """Return a function that starts a process with time zone data, and returns the operations that it accepts."""

    def start(version: str, zones: dict[str, str] | None = None) -> list[Operation]:
        return apply_data(start_with_zones(version, zones), timezone.now())

    return start


@pytest.fixture
def make_daily(make_job, make_trigger):
    """Return a function that adds a trigger for 09:00 in Vaduz to a new job."""

    def make(job: str = "backup", name: str = "daily", definition: dict = NINE, **fields) -> Trigger:
        row = make_job(job, schedule=ONCE, now=timezone.now(), **fields)
        return make_trigger(row, name, definition=definition, now=timezone.now())

    return make


@pytest.fixture(autouse=True)
def unsent(monkeypatch):
    """Leave out the messages to workers, which would wait for a broker."""
    monkeypatch.setattr(tasks.carry_out, "delay", lambda operation_id: None)


@pytest.fixture
def elsewhere(db) -> JobCollection:
    """A collection of another subscription."""
    other = Subscription.objects.create(name="elsewhere")
    return JobCollection.objects.create(subscription=other, name="theirs", sku="P20Premium")


def facts(operation: Operation) -> dict[str, str]:
    return dict(read_report(Operation.objects.get(pk=operation.pk)).facts)


def moves(operation: Operation) -> list[Move]:
    return list(read_report(Operation.objects.get(pk=operation.pk)).moves)


def state_of(operation: Operation) -> tuple[str, str]:
    row = Operation.objects.get(pk=operation.pk)
    return row.state, row.error_code


def test_first_start_stores_the_version_only(start, make_daily):
    make_daily()

    assert start("2031a") == []

    stored = TimeZoneData.objects.get()
    assert (stored.label, stored.revision, stored.since) == ("2031a", 1, stored.since)
    assert "Europe/Vaduz" in stored.digests


def test_start_with_the_same_data_changes_nothing(start, make_daily, django_assert_num_queries):
    start("2031a")
    make_daily()

    with django_assert_num_queries(1):
        assert start("2031a") == []

    assert TimeZoneData.objects.get().revision == 1


def test_start_with_other_data_moves_next_fire_times(start, make_daily, make_trigger, carry_out, caplog):
    start("2031a")
    moved = make_daily()
    assert moved.next_fire_at == BEFORE
    others = [
        make_trigger(moved.job, "utc", definition={"expression": "0 0 9 * * ?"}, now=timezone.now()),
        make_trigger(moved.job, "monaco", definition=NINE | {"timeZone": "Europe/Monaco"}, now=timezone.now()),
    ]
    caplog.set_level(logging.INFO)

    (operation,) = start("2031b", TOKYO)
    assert (operation.kind, operation.target, operation.state) == (KIND, "2031b", "accepted")
    assert reloaded(moved).next_fire_at == BEFORE
    carry_out()

    assert reloaded(moved).next_fire_at == AFTER
    assert [reloaded(each).next_fire_at for each in others] == [each.next_fire_at for each in others]
    assert state_of(operation) == ("succeeded", "")
    assert moves(operation) == [Move("nightly/backup", "daily", BEFORE, AFTER)]
    said = {
        "Time zone data": "2031b, before 2031a",
        "Triggers": "1 of 1 moved",
        "Events": "0 of 0 moved",
        "Closed days": "0 of 0 moved",
    }
    assert facts(operation) == said
    (line,) = [each.message for each in caplog.records if each.message.startswith("recomputed")]
    assert all(f"{name}: {value}" in line for name, value in said.items())
    assert start("2031b") == []


@pytest.mark.parametrize("format", ["outlook", "rrule"])
def test_zone_is_found_in_formats_of_calendars(start, make_job, make_trigger, carry_out, format):
    start("2031a")
    ends = {name: {"dateTime": f"2026-11-02T{at}:00:00", "timeZone": "Europe/Vaduz"} for name, at in SPAN.items()}
    rule = {"rrule": "FREQ=DAILY"} if format == "rrule" else {"recurrence": EVERY_DAY}
    job = make_job(schedule=ONCE, now=timezone.now())
    trigger = make_trigger(job, "daily", format, definition=ends | rule, now=timezone.now())
    assert trigger.next_fire_at == BEFORE

    start("2031b", TOKYO)
    carry_out()

    assert reloaded(trigger).next_fire_at == AFTER


def test_own_schedule_of_a_job_that_has_no_time_left_ends_the_job(start, make_job, carry_out):
    start("2031a")
    own = make_job(schedule=ONCE, now=timezone.now()).triggers.get()
    definition = NINE | {"expression": "0 0 14 * * ?", "endTime": "2026-11-04T20:00:00Z"}
    before = utc("2026-11-04T13:00:00Z")
    Trigger.objects.filter(pk=own.pk).update(format="quartz", definition=definition, next_fire_at=before)

    (operation,) = start("2031b", TOKYO)  # 14:00 has passed there, and the schedule ends before the next one
    carry_out()

    assert reloaded(own).next_fire_at is None
    assert moves(operation) == [Move("nightly/backup", "default", before, None)]
    assert Job.objects.get().state == Job.State.COMPLETED


def test_due_and_stopped_triggers_stay(start, make_daily):
    start("2031a")
    due, stopped, waiting = make_daily("due"), make_daily("stopped"), make_daily("waiting")
    past = timezone.now() - timedelta(minutes=1)
    Trigger.objects.filter(pk=due.pk).update(next_fire_at=past)
    Trigger.objects.filter(pk=stopped.pk).update(next_fire_at=None, enabled=False)

    (operation,) = start("2031b", TOKYO)
    service.carry_out(operation.pk, timezone.now, lambda: False)

    assert [reloaded(each).next_fire_at for each in (due, stopped, waiting)] == [past, None, AFTER]
    assert facts(operation)["Triggers"] == "1 of 1 moved"


def test_fire_time_is_later_than_the_last_one(start, make_daily, carry_out):
    start("2031a")
    trigger = make_daily()
    Trigger.objects.filter(pk=trigger.pk).update(previous_fire_at=AFTER)  # a clock was wrong

    start("2031b", TOKYO)
    carry_out()

    assert reloaded(trigger).next_fire_at == AFTER + timedelta(days=1)


def test_each_subscription_has_its_own_operation(start, make_daily, elsewhere, subscription, carry_out):
    start("2031a")
    make_daily()
    make_daily("secret", in_collection=elsewhere)
    idle = Subscription.objects.create(name="idle")
    zoneless = JobCollection.objects.create(subscription=idle, name="utc", sku="P20Premium")
    make_daily("hourly", in_collection=zoneless, definition={"expression": "0 0 * * * ?"})

    operations = start("2031b", TOKYO)
    carry_out()

    reports = {each.subscription: [move.job for move in moves(each)] for each in operations}
    assert reports == {subscription: ["nightly/backup"], elsewhere.subscription: ["theirs/secret"]}


def test_collection_that_is_being_deleted_is_left_out(start, make_daily, carry_out):
    start("2031a")
    trigger = make_daily()
    JobCollection.objects.update(state=JobCollection.State.DELETED)

    (operation,) = start("2031b", TOKYO)
    carry_out()

    assert reloaded(trigger).next_fire_at == BEFORE
    assert facts(operation)["Triggers"] == "0 of 1 moved"


def test_work_is_done_in_steps(start, make_daily, monkeypatch):
    monkeypatch.setattr("triggers.zoned_triggers.BATCH", 2)
    start("2031a")
    triggers = [make_daily(f"job-{number}") for number in range(5)]

    (operation,) = start("2031b", TOKYO)
    percents = []
    for _ in range(6):
        service.carry_out(operation.pk, timezone.now, lambda: True)
        operation.refresh_from_db()
        percents.append((operation.percent, operation.state))

    assert {reloaded(each).next_fire_at for each in triggers} == {AFTER}
    assert facts(operation)["Triggers"] == "5 of 5 moved"
    assert [state for _, state in percents] == [*["running"] * 4, "succeeded", "succeeded"]
    assert sorted(percents) == percents
    assert 0 < percents[0][0] < percents[1][0] < percents[2][0] < 100


def test_report_lists_the_first_moves(start, make_daily, make_trigger, carry_out):
    start("2031a")
    job = make_daily(name="t-00").job
    for number in range(1, MAX_MOVES + 1):
        make_trigger(job, f"t-{number:02}", definition=NINE, now=timezone.now())

    (operation,) = start("2031b", TOKYO)
    carry_out()

    report = read_report(Operation.objects.get())
    assert [each.trigger for each in report.moves] == [f"t-{number:02}" for number in range(MAX_MOVES)]
    assert report.is_cut
    assert facts(operation)["Triggers"] == f"{MAX_MOVES + 1} of {MAX_MOVES + 1} moved"


def test_page_shows_what_moved(start, make_daily, make_user, carry_out, client):
    start("2031a")
    make_daily()
    (operation,) = start("2031b", TOKYO)
    client.force_login(make_user("ben", Role.READER))
    path = f"/admin/operations/operation/{operation.pk}/change/"
    assert "Moved fire times" not in client.get(path).text

    carry_out()

    page = client.get(path).text
    for shown in (
        *("Apply time zone data", "2031b, before 2031a", "1 of 1 moved", "Moved fire times", "nightly/backup"),
        *(BEFORE.isoformat(), AFTER.isoformat()),
    ):
        assert shown in page, shown


# Several processes


@pytest.mark.django_db(transaction=True)
def test_processes_that_start_at_the_same_time_accept_one_operation(start_with_zones, make_daily):
    apply_data(start_with_zones("2031a"), timezone.now())
    make_daily()
    data, now = start_with_zones("2031b", TOKYO), timezone.now()

    assert at_once(*[lambda: apply_data(data, now)] * 4) == []

    assert Operation.objects.count() == 1
    assert TimeZoneData.objects.get().revision == 2


@pytest.mark.django_db(transaction=True)
def test_first_processes_that_start_at_the_same_time_store_one_version(start_with_zones):
    data, now = start_with_zones("2031a"), timezone.now()

    assert at_once(*[lambda: apply_data(data, now)] * 4) == []

    assert TimeZoneData.objects.get().revision == 1


def test_worker_with_other_data_leaves_the_operation_to_another(start, start_with_zones, make_daily, carry_out, caplog):
    start("2031a")
    trigger = make_daily()
    (operation,) = start("2031b", TOKYO)

    start_with_zones("2031a")
    carry_out()
    assert state_of(operation) == ("running", "")
    assert reloaded(trigger).next_fire_at == BEFORE
    assert "works with time zone data 2031a, not 2031b" in caplog.text
    waits = Operation.objects.undelivered(timezone.now() + PUBLISH_TIMEOUT + timedelta(seconds=1))
    assert [each.pk for each in waits] == [operation.pk]

    start_with_zones("2031b")
    carry_out()
    assert state_of(operation) == ("succeeded", "")
    assert reloaded(trigger).next_fire_at == AFTER


def test_newer_data_ends_an_operation_and_its_zones_are_done_again(start, make_daily, carry_out):
    start("2031a")
    vaduz, monaco = make_daily("one"), make_daily("two", definition=NINE | {"timeZone": "Europe/Monaco"})

    (old,) = start("2031b", TOKYO)
    (new,) = start("2031c", TOKYO | {"Europe/Monaco": "Asia/Tokyo"})
    carry_out()

    assert state_of(old) == ("failed", "Superseded")
    assert state_of(new) == ("succeeded", "")
    assert [reloaded(each).next_fire_at for each in (vaduz, monaco)] == [AFTER, AFTER]


def test_new_version_without_changed_zones_is_only_stored(start, make_daily):
    start("2031a")
    make_daily()

    assert start("2031b") == []

    assert (TimeZoneData.objects.get().label, TimeZoneData.objects.get().revision) == ("2031b", 2)


def test_command_recomputes_all_zones(start, start_with_zones, make_daily, carry_out):
    start("2031a", TOKYO)
    trigger = make_daily()
    Trigger.objects.filter(pk=trigger.pk).update(next_fire_at=BEFORE)  # by a process that was not restarted
    output = StringIO()

    call_command("recompute_fire_times", stdout=output)
    carry_out()

    operation = Operation.objects.get()
    assert output.getvalue() == f"default: operation {operation.pk}\n"
    assert state_of(operation) == ("succeeded", "")
    assert reloaded(trigger).next_fire_at == AFTER


def test_command_says_when_nothing_depends_on_a_zone(db, start):
    output = StringIO()

    call_command("recompute_fire_times", stdout=output)

    assert output.getvalue() == "no stored time depends on a time zone\n"


@pytest.mark.django_db(transaction=True)
def test_writers_and_beats_work_meanwhile(start_with_zones, make_daily, make_trigger, monkeypatch):
    """A change of a trigger is kept, a due trigger is dispatched, and the others move."""
    apply_data(start_with_zones("2031a"), timezone.now())
    jobs = [make_daily(f"job-{number}").job for number in range(5)]
    due = make_trigger(jobs[0], "due", definition=NINE, now=timezone.now())
    Trigger.objects.filter(pk=due.pk).update(next_fire_at=timezone.now() - timedelta(seconds=1))
    now = timezone.now()
    (operation,) = apply_data(start_with_zones("2031b", TOKYO), now)
    lingering(monkeypatch, zoned_triggers, "_next_fire_at")
    ten = TriggerDefinition(format="quartz", definition=NINE | {"expression": "0 0 10 * * ?"})

    raised = at_once(
        lambda: service.carry_out(operation.pk, timezone.now, lambda: False),
        lambda: [save_trigger(job, "daily", ten, timezone.now()) for job in reversed(jobs[3:])],
        lambda: dispatch_due(now),
    )

    assert raised == []
    assert state_of(operation) == ("succeeded", "")
    found = {each.job_id: each.next_fire_at for each in Trigger.objects.filter(name="daily")}
    assert found == {job.pk: AFTER + timedelta(hours=number >= 3) for number, job in enumerate(jobs)}
    assert reloaded(due).next_fire_at == AFTER
    assert [run.trigger_name for run in Run.objects.exclude(trigger_name=MAIN)] == ["due"]
