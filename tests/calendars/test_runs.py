"""Runs of jobs in a window of the calendar, one by one."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Role, Subscription
from calendars.items import hue_of
from calendars.pages import future_runs, run_items
from jobs.models import Job, JobCollection, Run
from tests.calendars.job_runs import LATER, add_run, add_runs, by_day, said, view
from tests.conftest import utc
from triggers.deletion import delete_job
from triggers.dispatch import dispatch_due
from triggers.models import Trigger
from triggers.scheduling import save_collection, set_job_state

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def reader(make_user):
    return make_user("rita", Role.READER)


@pytest.fixture
def job(make_job):
    """It runs by hand only."""
    return make_job("backup", schedule=None)


@pytest.fixture
def make_planned(make_job, make_trigger):
    """A job with a Quartz expression on the clocks of Berlin, seen first at the time that its rows end."""

    def make(expression: str = "0 0 8 * * ?", name: str = "backup", now=LATER, **fields) -> Trigger:
        job = make_job(name, schedule=None, now=now, **fields)
        definition = {"expression": expression, "timeZone": "Europe/Berlin"}
        return make_trigger(job, "regular", definition=definition, now=now)

    return make


# What was


@pytest.mark.parametrize(
    "state, fields, expected",
    [
        ("succeeded", {}, ("success", "Succeeded", 2)),
        (
            "succeeded",
            {"started_at": "2026-10-20T08:17Z", "finished_at": "2026-10-20T08:20Z"},
            ("late", "Late by 17 min", 180),
        ),
        (  # a minute is not late yet
            "succeeded",
            {"started_at": "2026-10-20T08:01Z", "finished_at": "2026-10-20T08:03Z"},
            ("success", "Succeeded", 120),
        ),
        ("failed", {}, ("failure", "Failed", 2)),
        ("failed", {"attempt_count": 3}, ("failure", "Failed after 3 attempts", 2)),
        ("lost", {}, ("lost", "Lost", 2)),
        ("missed", {}, ("missed", "Missed", None)),
        ("skipped", {}, ("skipped", "Skipped", None)),
        ("cancelled", {}, ("cancelled", "Cancelled", None)),
        ("waiting", {}, ("waiting", "Waiting", None)),
        ("retrying", {}, ("waiting", "Retrying", None)),
        ("running", {"started_at": "2026-10-21T12:30Z"}, ("running", "Running", 120)),  # as long as it has run by now
        ("following", {"started_at": "2026-10-21T12:30Z"}, ("running", "Following", 120)),
    ],
)
def test_what_became_of_a_run(owner, job, state, fields, expected):
    fields = {name: utc(value) if name.endswith("_at") else value for name, value in fields.items()}
    run = add_run(job, "2026-10-20T08:00Z", state, **fields)

    [item] = view(owner).runs

    took = None if item.end is None else (item.end - item.fire_at).total_seconds()
    assert (item.state, item.label, took) == expected
    assert (item.fire_at, item.run_id, item.job_id, item.name) == (run.fire_at, run.pk, job.pk, "backup")


def test_an_item_says_what_it_is_of_and_leads_to_its_run(owner, job):
    run = add_run(job, "2026-10-20T08:00Z", "skipped", reason="another run of this job was still going")

    [item] = view(owner).runs

    assert item.reason == "another run of this job was still going"
    assert (item.collection_id, item.hue) == (job.collection_id, hue_of(job.collection_id))
    assert item.trigger_name == "regular"
    assert item.url == reverse("calendar:run", args=[run.pk])


def test_a_run_by_hand_has_no_trigger(owner, job):
    add_run(job, "2026-10-20T08:00Z", trigger_name=None, origin="manual", manual_key="a")

    assert view(owner).runs[0].trigger_name is None


@pytest.mark.parametrize(
    "at, is_in",
    [
        ("2026-10-18T21:59:59.999999Z", False),
        ("2026-10-18T22:00:00Z", True),
        ("2026-10-25T22:59:59.999999Z", True),  # the week ends an hour later than it began
        ("2026-10-25T23:00:00Z", False),
    ],
)
def test_a_window_holds_its_start_and_not_its_end(owner, job, at, is_in):
    add_run(job, at)

    assert bool(view(owner).runs) is is_in


def test_runs_come_in_the_order_of_time(owner, make_planned):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-21T06:00Z")
    add_run(trigger.job, "2026-10-19T06:00Z", "failed")

    assert said(view(owner, end="2026-10-24")) == [
        "10-19 06:00 backup Failed",
        "10-21 06:00 backup Succeeded",
        "10-22 06:00 backup Planned",
        "10-23 06:00 backup Planned",
    ]


def test_the_runs_of_a_job_that_is_gone_are_not_shown(owner, job):
    add_run(job, "2026-10-20T08:00Z")
    delete_job(job, LATER)

    assert Run.objects.count() == 1
    assert view(owner).runs == []


def test_what_was_not_run_is_left_out_on_demand(owner, job):
    for hour, state in enumerate(("succeeded", "missed", "skipped", "cancelled", "failed")):
        add_run(job, f"2026-10-20T0{hour}:00Z", state)

    assert [run.state for run in view(owner, skipped=False).runs] == ["success", "failure"]


def test_failures_alone_are_what_failed_was_lost_or_missed(owner, make_planned):
    trigger = make_planned()
    for hour, state in enumerate(("succeeded", "missed", "skipped", "cancelled", "failed", "lost", "running")):
        add_run(trigger.job, f"2026-10-20T0{hour}:00Z", state)

    assert [run.state for run in view(owner, only_failures=True).runs] == ["missed", "failure", "lost"]


# What comes


def test_a_fire_time_to_come_is_planned(owner, make_planned):
    trigger = make_planned()

    [item] = view(owner, "2026-10-22", "2026-10-23").runs

    assert (item.fire_at, item.end) == (utc("2026-10-22T06:00Z"), None)
    assert (item.state, item.label, item.run_id, item.trigger_name) == ("planned", "Planned", None, "regular")
    assert item.url == reverse("calendar:planned", args=[trigger.pk, "2026-10-22T06:00:00Z"])


def test_a_fire_time_to_come_is_as_long_as_the_last_run_took(owner, make_planned):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-19T06:00Z", took=HOUR)
    add_run(trigger.job, "2026-10-20T06:00Z", took=5 * HOUR)
    add_run(trigger.job, "2026-10-21T06:00Z", "skipped")

    [item] = view(owner, "2026-10-22", "2026-10-23").runs

    assert item.end - item.fire_at == 5 * HOUR


def test_the_page_opens_what_is_planned(client, owner, make_planned):
    make_planned()
    client.force_login(owner)

    assert client.get(view(owner, now=LATER, start="2026-10-22", end="2026-10-23").runs[0].url).status_code == 200


def test_a_time_that_has_come_and_was_not_taken_is_due(owner, make_planned):
    make_planned(now=utc("2026-10-20T12:00Z"))

    due, planned = view(owner, end="2026-10-23").runs

    assert (due.fire_at, due.state, due.label) == (utc("2026-10-21T06:00Z"), "waiting", "Due")
    assert (planned.fire_at, planned.state) == (utc("2026-10-22T06:00Z"), "planned")


def test_a_fire_time_is_planned_or_a_run_and_never_both(owner, make_planned):
    make_planned(now=utc("2026-10-20T12:00Z"))
    before = view(owner, end="2026-10-23").runs

    dispatch_due(utc("2026-10-21T06:00:30Z"))
    after = view(owner, end="2026-10-23").runs

    assert [run.fire_at for run in before] == [run.fire_at for run in after]
    assert [run.label for run in after] == ["Waiting", "Planned"]


def test_a_row_is_shown_rather_than_the_plan_it_came_from(owner, make_planned):
    """Between two of the queries a beat may have dispatched what the first has seen as planned."""
    trigger = make_planned()
    add_run(trigger.job, "2026-10-22T06:00Z", "waiting")

    assert [run.label for run in view(owner, "2026-10-22", "2026-10-23").runs] == ["Waiting"]


@pytest.mark.parametrize(
    "window, count",
    [
        (("2026-10-19", "2026-10-26"), 3),
        (("2026-10-19", "2026-10-24"), 2),
        (("2026-10-24", "2026-10-30"), 1),  # two were used up before
        (("2026-10-25", "2026-10-30"), 0),
        (("2036-10-25", "2036-10-30"), 0),
    ],
)
def test_nothing_is_planned_beyond_the_run_budget(owner, make_job, window, count):
    schedule = {"startTime": "2026-10-22T06:00:00Z", "recurrence": {"frequency": "Day", "count": 3}}
    make_job(schedule=schedule, now=LATER)

    assert len(view(owner, *window).runs) == count


def test_a_budget_that_is_partly_used_up_counts_from_the_next_fire_time(owner, make_job):
    schedule = {"startTime": "2026-10-20T06:00:00Z", "recurrence": {"frequency": "Day", "count": 4}}
    make_job(schedule=schedule, now=utc("2026-10-19T00:00Z"))
    dispatch_due(utc("2026-10-20T06:00:01Z"))
    dispatch_due(utc("2026-10-21T06:00:01Z"))

    assert said(view(owner)) == [
        "10-20 06:00 backup Waiting",
        "10-21 06:00 backup Waiting",
        "10-22 06:00 backup Planned",
        "10-23 06:00 backup Planned",
    ]


def disable_trigger(trigger):
    Trigger.objects.filter(pk=trigger.pk).update(enabled=False)


def disable_job(trigger):
    set_job_state(trigger.job, Job.State.DISABLED, LATER)


def disable_collection(trigger):
    collection = JobCollection.objects.get(pk=trigger.job.collection_id)
    collection.state = JobCollection.State.DISABLED
    save_collection(collection, LATER)


def suspend_collection(trigger):
    JobCollection.objects.filter(pk=trigger.job.collection_id).update(state=JobCollection.State.SUSPENDED)


def write_nonsense(trigger):
    Trigger.objects.filter(pk=trigger.pk).update(definition={"expression": "whenever"})


@pytest.mark.parametrize("stop", [disable_trigger, disable_job, disable_collection, suspend_collection, write_nonsense])
def test_what_would_not_run_is_not_planned_and_keeps_its_past(owner, make_planned, stop):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-21T06:00Z")

    stop(trigger)

    assert said(view(owner)) == ["10-21 06:00 backup Succeeded"]


def test_each_trigger_of_a_job_has_its_own_fire_times(owner, make_planned, make_trigger):
    trigger = make_planned()
    make_trigger(trigger.job, "noon", definition={"expression": "0 0 12 * * ?"}, now=LATER)

    assert [run.trigger_name for run in view(owner, "2026-10-22", "2026-10-23").runs] == ["regular", "noon"]


def test_what_is_planned_where_a_clock_skips_it_comes_when_the_gap_ends(owner, make_planned):
    make_planned("0 30 2 * * ?")

    assert [f"{run.fire_at:%m-%d %H:%M}" for run in view(owner, "2027-03-27", "2027-03-30").runs] == [
        "03-27 01:30",
        "03-28 01:00",
        "03-29 00:30",
    ]


def test_only_what_is_planned_will_be_fired(owner, make_planned):
    trigger = make_planned()
    planned = [run.fire_at for run in view(owner).runs]

    trigger.refresh_from_db()

    assert len(planned) == 4
    assert all(future_runs.will_fire(trigger, at) for at in planned)
    assert not any(future_runs.will_fire(trigger, at + HOUR) for at in planned)
    assert not future_runs.will_fire(trigger, utc("2026-10-21T06:00Z"))  # it has gone by


@pytest.mark.parametrize("stop", [disable_trigger, disable_job, disable_collection, suspend_collection, write_nonsense])
def test_what_is_stopped_will_not_be_fired(make_planned, stop):
    trigger = make_planned()

    stop(trigger)

    assert not future_runs.will_fire(Trigger.objects.get(), utc("2026-10-22T06:00Z"))


@pytest.mark.parametrize("day, is_left", [(22, True), (24, True), (25, False)])
def test_nothing_will_be_fired_beyond_the_run_budget(make_job, day, is_left):
    schedule = {"startTime": "2026-10-22T06:00:00Z", "recurrence": {"frequency": "Day", "count": 3}}
    make_job(schedule=schedule, now=LATER)

    assert future_runs.will_fire(Trigger.objects.get(), utc(f"2026-10-{day}T06:00Z")) is is_left


# Who sees what


@pytest.fixture
def elsewhere(make_job):
    """A job of a subscription that nobody here is a member of."""
    collection = JobCollection.objects.create(subscription=Subscription.objects.create(name="elsewhere"), name="theirs")
    return make_job("theirs", in_collection=collection, now=LATER)


def test_members_see_their_own_subscriptions_and_superusers_all(owner, reader, make_user, job, elsewhere):
    add_run(job, "2026-10-20T08:00Z")
    add_run(elsewhere, "2026-10-20T08:00Z")
    add_runs(elsewhere, "2026-10-20T09:00Z", "2026-10-20T15:00Z", timedelta(minutes=5))
    stranger = make_user("sven", None)
    theirs = make_user("tom", in_subscription=elsewhere.collection.subscription)

    assert {run.name for run in view(reader).runs} == {"backup"}
    assert {run.name for run in view(owner).runs} == {"backup", "theirs"}
    assert {run.name for run in view(theirs).runs} == {"theirs"}
    assert {band.name for band in view(owner).bands} == {"theirs"}
    assert view(reader).bands == []
    assert view(stranger) == ([], [], {}, False)


def test_a_missed_stretch_of_others_is_not_seen(reader, elsewhere):
    add_run(elsewhere, "2026-09-01T08:00Z", "missed", missed_count=1100, missed_until=utc("2026-10-20T08:00Z"))

    assert view(reader) == ([], [], {}, False)


def test_collections_are_chosen_by_id_and_never_beyond_what_is_visible(owner, reader, make_job, job, elsewhere):
    other = JobCollection.objects.create(subscription=job.collection.subscription, name="other", sku="P20Premium")
    add_run(job, "2026-10-20T08:00Z")
    make_job("other", in_collection=other, now=LATER)

    chosen = view(reader, collections=[other.pk, elsewhere.collection_id])

    assert {run.name for run in chosen.runs} == {"other"}
    assert view(owner, collections=[]) == ([], [], {}, False)


def test_jobs_are_chosen_by_id_and_never_beyond_what_is_visible(reader, make_planned, elsewhere):
    trigger, other = make_planned(name="a"), make_planned(name="b")
    add_run(trigger.job, "2026-10-20T08:00Z")
    add_run(other.job, "2026-10-20T08:00Z")
    add_run(elsewhere, "2026-10-20T08:00Z")

    assert {run.name for run in view(reader, jobs=[trigger.job_id, elsewhere.pk]).runs} == {"a"}


def test_what_is_in_view_is_counted_by_collection(owner, make_planned, make_job, subscription):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-21T06:00Z")
    frequent = JobCollection.objects.create(subscription=subscription, name="frequent", sku="P20Premium")
    poll = make_job("poll", schedule=None, in_collection=frequent)
    add_runs(poll, "2026-10-20T09:00Z", "2026-10-20T15:00Z", timedelta(minutes=5))

    assert view(owner).counts == {trigger.job.collection_id: 5, frequent.pk: 72}


# Missed stretches


def test_a_row_of_many_missed_fire_times_is_divided_among_the_days(owner, make_planned):
    """More than a thousand hourly fire times, which began long before the window."""
    trigger = make_planned("0 0 * * * ?", now=utc("2026-09-01T00:00Z"))
    until = utc("2026-10-20T21:00Z")
    count = (until - utc("2026-09-01T00:00Z")) // HOUR + 1
    add_run(trigger.job, "2026-09-01T00:00Z", "missed", missed_count=count, missed_until=until, reason="found late")
    Trigger.objects.update(next_fire_at=None)

    seen = view(owner, now=LATER)

    assert [(run.label, run.count, run.reason) for run in seen.runs] == [("Missed", 24, "found late")] * 2
    assert [run.fire_at for run in seen.runs] == [utc("2026-10-18T22:00Z"), utc("2026-10-19T22:00Z")]
    assert len({run.key for run in seen.runs}) == 2
    assert seen.counts == {trigger.job.collection_id: 48}


def test_missed_fire_times_lie_where_the_schedule_has_them(owner, make_planned):
    """Every hour of working days only: the weekend has none of them."""
    trigger = make_planned("0 0 9-17 ? * MON-FRI", now=utc("2026-10-01T00:00Z"))
    first, until = utc("2026-10-16T07:00Z"), utc("2026-10-20T15:00Z")
    add_run(trigger.job, first, "missed", missed_count=27, missed_until=until)
    Trigger.objects.update(next_fire_at=None)

    assert by_day(view(owner, "2026-10-15", "2026-10-22")) == {"2026-10-16": 9, "2026-10-19": 9, "2026-10-20": 9}


def test_missed_fire_times_of_a_schedule_that_is_gone_are_spread_evenly(owner, job):
    add_run(job, "2026-10-19T22:00Z", "missed", missed_count=49, missed_until=utc("2026-10-21T22:00Z"))

    assert by_day(view(owner)) == {"2026-10-20": 24, "2026-10-21": 24, "2026-10-22": 1}


def test_a_missed_row_of_one_fire_time_is_one_item(owner, job):
    add_run(job, "2026-10-20T08:00Z", "missed", reason="found late")

    assert [(run.count, run.reason) for run in view(owner).runs] == [(1, "found late")]


# Cost


def queries(user, **options) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        view(user, **options)
    return [query["sql"] for query in captured]


def test_the_number_of_queries_does_not_grow(reader, make_planned):
    # the subscriptions, the jobs, the triggers: nothing was, so nothing is counted and no row is read
    assert len(queries(reader)) == 3

    for number in range(12):
        trigger = make_planned(f"0 {number} 8 * * ?", f"job-{number}")
        add_run(trigger.job, "2026-10-20T08:00Z")
        add_run(trigger.job, "2026-10-01T08:00Z", "missed", missed_count=9, missed_until=utc("2026-10-20T08:00Z"))
        if number % 2:
            add_runs(trigger.job, "2026-10-19T09:00Z", "2026-10-19T15:00Z", timedelta(minutes=5))

    assert len(queries(reader)) == 5
    assert len(queries(reader, only_failures=True)) == 5


def test_what_lies_before_the_window_is_not_walked(reader, job):
    add_runs(job, "2026-08-01T00:00Z", "2026-09-20T00:00Z", timedelta(minutes=15))
    add_run(job, "2026-10-01T08:00Z", "missed", missed_count=9, missed_until=utc("2026-10-20T08:00Z"))

    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    _, choosing, counting, *_ = queries(reader)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        lines = []
        for query in (choosing, counting):
            cursor.execute(f"{explain} {query}")
            lines += [str(line[-1]) for line in cursor.fetchall()]

    found = [line for line in lines if "SEARCH jobs_run" in line or "Index Cond" in line]
    assert any("fire_at>" in line.replace(" ", "") for line in found)
    assert any("missed_until>" in line.replace(" ", "") for line in found)
    assert not any("SCAN jobs_run" in line or "Seq Scan on jobs_run" in line for line in lines)


def test_more_than_a_page_shows_is_cut_and_said(owner, make_planned, make_job, monkeypatch):
    """Those that failed are kept, then those that run seldom."""
    monkeypatch.setattr(run_items, "MOST_RUNS", 8)
    failing, rare, often = (make_job(name, schedule=None) for name in ("failing", "rare", "often"))
    add_runs(failing, "2026-10-20T06:00Z", "2026-10-20T11:00Z", HOUR, "failed")
    add_runs(rare, "2026-10-20T06:00Z", "2026-10-20T08:00Z", HOUR)
    add_runs(often, "2026-10-20T06:00Z", "2026-10-20T10:00Z", HOUR)

    seen = view(owner)

    assert {run.name for run in seen.runs} == {"failing", "rare"}
    assert seen.is_cut
    assert not view(owner, "2026-10-21").is_cut


def test_more_triggers_than_are_looked_at_are_said(owner, make_planned, monkeypatch):
    monkeypatch.setattr(future_runs, "MOST_TRIGGERS", 2)
    for number in range(3):
        make_planned(f"0 {number} 18 * * ?", f"job-{number}")

    assert view(owner).is_cut
    assert not view(owner, "2026-10-19", "2026-10-21").is_cut
