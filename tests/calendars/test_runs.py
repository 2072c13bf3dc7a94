"""Single runs in a window of the calendar."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Role, Subscription
from calendars.items import hue_of
from calendars.pages import future_runs, run_items
from jobs.models import Job, JobCollection, Run
from tests.calendars.job_runs import LATER, add_run, add_runs, count_by_day, describe_runs, load_view
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
    """A job without a schedule."""
    return make_job("backup", schedule=None)


@pytest.fixture
def make_planned(make_job, make_trigger):
    """Return a function that creates a job with a Quartz expression in the zone Berlin, by default at `LATER`."""

    def make(expression: str = "0 0 8 * * ?", name: str = "backup", now=LATER, **fields) -> Trigger:
        job = make_job(name, schedule=None, now=now, **fields)
        definition = {"expression": expression, "timeZone": "Europe/Berlin"}
        return make_trigger(job, "regular", definition=definition, now=now)

    return make


# Past runs


@pytest.mark.parametrize(
    "state, fields, expected",
    [
        ("succeeded", {}, ("success", "Succeeded", 2)),
        (
            "succeeded",
            {"started_at": "2026-10-20T08:17Z", "finished_at": "2026-10-20T08:20Z"},
            ("late", "Late by 17 min", 180),
        ),
        (  # one minute is not late
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
        ("running", {"started_at": "2026-10-21T12:30Z"}, ("running", "Running", 120)),  # the duration until now
        ("following", {"started_at": "2026-10-21T12:30Z"}, ("running", "Following", 120)),
    ],
)
def test_run_has_a_state_a_label_and_a_duration(owner, job, state, fields, expected):
    fields = {name: utc(value) if name.endswith("_at") else value for name, value in fields.items()}
    run = add_run(job, "2026-10-20T08:00Z", state, **fields)

    [item] = load_view(owner).runs

    took = None if item.end is None else (item.end - item.fire_at).total_seconds()
    assert (item.state, item.label, took) == expected
    assert (item.fire_at, item.run_id, item.job_id, item.name) == (run.fire_at, run.pk, job.pk, "backup")


def test_run_item_has_its_collection_trigger_and_url(owner, job):
    run = add_run(job, "2026-10-20T08:00Z", "skipped", reason="another run of this job was still going")

    [item] = load_view(owner).runs

    assert item.reason == "another run of this job was still going"
    assert (item.collection_id, item.hue) == (job.collection_id, hue_of(job.collection_id))
    assert item.trigger_name == "regular"
    assert item.url == reverse("calendar:run", args=[run.pk])


def test_manual_run_has_no_trigger(owner, job):
    add_run(job, "2026-10-20T08:00Z", trigger_name=None, origin="manual", manual_key="a")

    assert load_view(owner).runs[0].trigger_name is None


@pytest.mark.parametrize(
    "at, is_in",
    [
        ("2026-10-18T21:59:59.999999Z", False),
        ("2026-10-18T22:00:00Z", True),
        ("2026-10-25T22:59:59.999999Z", True),  # summer time has ended, so the week has one hour more
        ("2026-10-25T23:00:00Z", False),
    ],
)
def test_run_window_is_half_open(owner, job, at, is_in):
    add_run(job, at)

    assert bool(load_view(owner).runs) is is_in


def test_runs_are_sorted_by_time(owner, make_planned):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-21T06:00Z")
    add_run(trigger.job, "2026-10-19T06:00Z", "failed")

    assert describe_runs(load_view(owner, end="2026-10-24")) == [
        "10-19 06:00 backup Failed",
        "10-21 06:00 backup Succeeded",
        "10-22 06:00 backup Planned",
        "10-23 06:00 backup Planned",
    ]


def test_runs_of_a_deleted_job_are_not_shown(owner, job):
    add_run(job, "2026-10-20T08:00Z")
    delete_job(job, LATER)

    assert Run.objects.count() == 1
    assert load_view(owner).runs == []


def test_skipped_runs_are_left_out_on_request(owner, job):
    for hour, state in enumerate(("succeeded", "missed", "skipped", "cancelled", "failed")):
        add_run(job, f"2026-10-20T0{hour}:00Z", state)

    assert [run.state for run in load_view(owner, skipped=False).runs] == ["success", "failure"]


def test_filter_of_failures_shows_failed_lost_and_missed_runs(owner, make_planned):
    trigger = make_planned()
    for hour, state in enumerate(("succeeded", "missed", "skipped", "cancelled", "failed", "lost", "running")):
        add_run(trigger.job, f"2026-10-20T0{hour}:00Z", state)

    assert [run.state for run in load_view(owner, only_failures=True).runs] == ["missed", "failure", "lost"]


# Planned runs


def test_future_fire_time_is_a_planned_run(owner, make_planned):
    trigger = make_planned()

    [item] = load_view(owner, "2026-10-22", "2026-10-23").runs

    assert (item.fire_at, item.end) == (utc("2026-10-22T06:00Z"), None)
    assert (item.state, item.label, item.run_id, item.trigger_name) == ("planned", "Planned", None, "regular")
    assert item.url == reverse("calendar:planned", args=[trigger.pk, "2026-10-22T06:00:00Z"])


def test_planned_run_has_the_duration_of_the_last_run(owner, make_planned):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-19T06:00Z", took=HOUR)
    add_run(trigger.job, "2026-10-20T06:00Z", took=5 * HOUR)
    add_run(trigger.job, "2026-10-21T06:00Z", "skipped")

    [item] = load_view(owner, "2026-10-22", "2026-10-23").runs

    assert item.end - item.fire_at == 5 * HOUR


def test_url_of_a_planned_run_opens(client, owner, make_planned):
    make_planned()
    client.force_login(owner)

    assert client.get(load_view(owner, now=LATER, start="2026-10-22", end="2026-10-23").runs[0].url).status_code == 200


def test_past_fire_time_that_was_not_dispatched_is_due(owner, make_planned):
    make_planned(now=utc("2026-10-20T12:00Z"))

    due, planned = load_view(owner, end="2026-10-23").runs

    assert (due.fire_at, due.state, due.label) == (utc("2026-10-21T06:00Z"), "waiting", "Due")
    assert (planned.fire_at, planned.state) == (utc("2026-10-22T06:00Z"), "planned")


def test_fire_time_is_either_planned_or_a_stored_run(owner, make_planned):
    make_planned(now=utc("2026-10-20T12:00Z"))
    before = load_view(owner, end="2026-10-23").runs

    dispatch_due(utc("2026-10-21T06:00:30Z"))
    after = load_view(owner, end="2026-10-23").runs

    assert [run.fire_at for run in before] == [run.fire_at for run in after]
    assert [run.label for run in after] == ["Waiting", "Planned"]


def test_stored_run_replaces_its_planned_run(owner, make_planned):
    """The beat may dispatch a planned fire time between two of the queries."""
    trigger = make_planned()
    add_run(trigger.job, "2026-10-22T06:00Z", "waiting")

    assert [run.label for run in load_view(owner, "2026-10-22", "2026-10-23").runs] == ["Waiting"]


@pytest.mark.parametrize(
    "window, count",
    [
        (("2026-10-19", "2026-10-26"), 3),
        (("2026-10-19", "2026-10-24"), 2),
        (("2026-10-24", "2026-10-30"), 1),  # two runs of the budget are before the window
        (("2026-10-25", "2026-10-30"), 0),
        (("2036-10-25", "2036-10-30"), 0),
    ],
)
def test_no_runs_are_planned_beyond_the_run_budget(owner, make_job, window, count):
    schedule = {"startTime": "2026-10-22T06:00:00Z", "recurrence": {"frequency": "Day", "count": 3}}
    make_job(schedule=schedule, now=LATER)

    assert len(load_view(owner, *window).runs) == count


def test_partly_used_run_budget_counts_from_the_next_fire_time(owner, make_job):
    schedule = {"startTime": "2026-10-20T06:00:00Z", "recurrence": {"frequency": "Day", "count": 4}}
    make_job(schedule=schedule, now=utc("2026-10-19T00:00Z"))
    dispatch_due(utc("2026-10-20T06:00:01Z"))
    dispatch_due(utc("2026-10-21T06:00:01Z"))

    assert describe_runs(load_view(owner)) == [
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


def write_invalid_definition(trigger):
    Trigger.objects.filter(pk=trigger.pk).update(definition={"expression": "whenever"})


@pytest.mark.parametrize(
    "stop", [disable_trigger, disable_job, disable_collection, suspend_collection, write_invalid_definition]
)
def test_stopped_trigger_has_no_planned_runs_but_keeps_its_past_runs(owner, make_planned, stop):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-21T06:00Z")

    stop(trigger)

    assert describe_runs(load_view(owner)) == ["10-21 06:00 backup Succeeded"]


def test_each_trigger_of_a_job_has_its_own_fire_times(owner, make_planned, make_trigger):
    trigger = make_planned()
    make_trigger(trigger.job, "noon", definition={"expression": "0 0 12 * * ?"}, now=LATER)

    assert [run.trigger_name for run in load_view(owner, "2026-10-22", "2026-10-23").runs] == ["regular", "noon"]


def test_planned_run_in_a_skipped_hour_is_at_the_end_of_the_gap(owner, make_planned):
    make_planned("0 30 2 * * ?")

    assert [f"{run.fire_at:%m-%d %H:%M}" for run in load_view(owner, "2027-03-27", "2027-03-30").runs] == [
        "03-27 01:30",
        "03-28 01:00",
        "03-29 00:30",
    ]


def test_will_fire_is_true_only_for_planned_fire_times(owner, make_planned):
    trigger = make_planned()
    planned = [run.fire_at for run in load_view(owner).runs]

    trigger.refresh_from_db()

    assert len(planned) == 4
    assert all(future_runs.will_fire(trigger, at) for at in planned)
    assert not any(future_runs.will_fire(trigger, at + HOUR) for at in planned)
    assert not future_runs.will_fire(trigger, utc("2026-10-21T06:00Z"))  # in the past


@pytest.mark.parametrize(
    "stop", [disable_trigger, disable_job, disable_collection, suspend_collection, write_invalid_definition]
)
def test_will_fire_is_false_for_a_stopped_trigger(make_planned, stop):
    trigger = make_planned()

    stop(trigger)

    assert not future_runs.will_fire(Trigger.objects.get(), utc("2026-10-22T06:00Z"))


@pytest.mark.parametrize("day, is_in_budget", [(22, True), (24, True), (25, False)])
def test_will_fire_is_false_beyond_the_run_budget(make_job, day, is_in_budget):
    schedule = {"startTime": "2026-10-22T06:00:00Z", "recurrence": {"frequency": "Day", "count": 3}}
    make_job(schedule=schedule, now=LATER)

    assert future_runs.will_fire(Trigger.objects.get(), utc(f"2026-10-{day}T06:00Z")) is is_in_budget


# Permissions


@pytest.fixture
def job_of_others(make_job):
    """A job of a subscription in which no user of these tests is a member."""
    collection = JobCollection.objects.create(subscription=Subscription.objects.create(name="elsewhere"), name="theirs")
    return make_job("theirs", in_collection=collection, now=LATER)


def test_members_see_runs_of_their_subscriptions_and_superusers_all(owner, reader, make_user, job, job_of_others):
    add_run(job, "2026-10-20T08:00Z")
    add_run(job_of_others, "2026-10-20T08:00Z")
    add_runs(job_of_others, "2026-10-20T09:00Z", "2026-10-20T15:00Z", timedelta(minutes=5))
    stranger = make_user("sven", None)
    member_of_others = make_user("tom", in_subscription=job_of_others.collection.subscription)

    assert {run.name for run in load_view(reader).runs} == {"backup"}
    assert {run.name for run in load_view(owner).runs} == {"backup", "theirs"}
    assert {run.name for run in load_view(member_of_others).runs} == {"theirs"}
    assert {band.name for band in load_view(owner).bands} == {"theirs"}
    assert load_view(reader).bands == []
    assert load_view(stranger) == ([], [], {}, False)


def test_missed_fire_times_of_other_subscriptions_are_not_shown(reader, job_of_others):
    add_run(job_of_others, "2026-09-01T08:00Z", "missed", missed_count=1100, missed_until=utc("2026-10-20T08:00Z"))

    assert load_view(reader) == ([], [], {}, False)


def test_collection_filter_does_not_extend_permissions(owner, reader, make_job, job, job_of_others):
    other = JobCollection.objects.create(subscription=job.collection.subscription, name="other", sku="P20Premium")
    add_run(job, "2026-10-20T08:00Z")
    make_job("other", in_collection=other, now=LATER)

    chosen = load_view(reader, collections=[other.pk, job_of_others.collection_id])

    assert {run.name for run in chosen.runs} == {"other"}
    assert load_view(owner, collections=[]) == ([], [], {}, False)


def test_job_filter_does_not_extend_permissions(reader, make_planned, job_of_others):
    trigger, other = make_planned(name="a"), make_planned(name="b")
    add_run(trigger.job, "2026-10-20T08:00Z")
    add_run(other.job, "2026-10-20T08:00Z")
    add_run(job_of_others, "2026-10-20T08:00Z")

    assert {run.name for run in load_view(reader, jobs=[trigger.job_id, job_of_others.pk]).runs} == {"a"}


def test_runs_are_counted_by_collection(owner, make_planned, make_job, subscription):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-21T06:00Z")
    frequent = JobCollection.objects.create(subscription=subscription, name="frequent", sku="P20Premium")
    poll = make_job("poll", schedule=None, in_collection=frequent)
    add_runs(poll, "2026-10-20T09:00Z", "2026-10-20T15:00Z", timedelta(minutes=5))

    assert load_view(owner).counts == {trigger.job.collection_id: 5, frequent.pk: 72}


# Ranges of missed fire times


def test_run_with_many_missed_fire_times_is_divided_by_day(owner, make_planned):
    """More than a thousand hourly fire times, the first long before the window."""
    trigger = make_planned("0 0 * * * ?", now=utc("2026-09-01T00:00Z"))
    until = utc("2026-10-20T21:00Z")
    count = (until - utc("2026-09-01T00:00Z")) // HOUR + 1
    add_run(trigger.job, "2026-09-01T00:00Z", "missed", missed_count=count, missed_until=until, reason="found late")
    Trigger.objects.update(next_fire_at=None)

    view = load_view(owner, now=LATER)

    assert [(run.label, run.count, run.reason) for run in view.runs] == [("Missed", 24, "found late")] * 2
    assert [run.fire_at for run in view.runs] == [utc("2026-10-18T22:00Z"), utc("2026-10-19T22:00Z")]
    assert len({run.key for run in view.runs}) == 2
    assert view.counts == {trigger.job.collection_id: 48}


def test_missed_fire_times_follow_the_schedule(owner, make_planned):
    """The job runs hourly on working days, so the weekend has no missed fire times."""
    trigger = make_planned("0 0 9-17 ? * MON-FRI", now=utc("2026-10-01T00:00Z"))
    first, until = utc("2026-10-16T07:00Z"), utc("2026-10-20T15:00Z")
    add_run(trigger.job, first, "missed", missed_count=27, missed_until=until)
    Trigger.objects.update(next_fire_at=None)

    assert count_by_day(load_view(owner, "2026-10-15", "2026-10-22")) == {
        "2026-10-16": 9,
        "2026-10-19": 9,
        "2026-10-20": 9,
    }


def test_missed_fire_times_without_a_schedule_are_spread_evenly(owner, job):
    add_run(job, "2026-10-19T22:00Z", "missed", missed_count=49, missed_until=utc("2026-10-21T22:00Z"))

    assert count_by_day(load_view(owner)) == {"2026-10-20": 24, "2026-10-21": 24, "2026-10-22": 1}


def test_run_with_one_missed_fire_time_is_one_item(owner, job):
    add_run(job, "2026-10-20T08:00Z", "missed", reason="found late")

    assert [(run.count, run.reason) for run in load_view(owner).runs] == [(1, "found late")]


# Number of queries


def capture_queries(user, **options) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        load_view(user, **options)
    return [query["sql"] for query in captured]


def test_number_of_queries_does_not_grow_with_the_number_of_jobs(reader, make_planned):
    # subscriptions, jobs and triggers; without past runs, nothing is counted and no run is read
    assert len(capture_queries(reader)) == 3

    for number in range(12):
        trigger = make_planned(f"0 {number} 8 * * ?", f"job-{number}")
        add_run(trigger.job, "2026-10-20T08:00Z")
        add_run(trigger.job, "2026-10-01T08:00Z", "missed", missed_count=9, missed_until=utc("2026-10-20T08:00Z"))
        if number % 2:
            add_runs(trigger.job, "2026-10-19T09:00Z", "2026-10-19T15:00Z", timedelta(minutes=5))

    assert len(capture_queries(reader)) == 5
    assert len(capture_queries(reader, only_failures=True)) == 5


def test_runs_before_the_window_are_not_scanned(reader, job):
    add_runs(job, "2026-08-01T00:00Z", "2026-09-20T00:00Z", timedelta(minutes=15))
    add_run(job, "2026-10-01T08:00Z", "missed", missed_count=9, missed_until=utc("2026-10-20T08:00Z"))

    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    _, choosing, counting, *_ = capture_queries(reader)
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


def test_number_of_runs_is_limited_and_marked_as_cut(owner, make_planned, make_job, monkeypatch):
    """Failed runs are shown first, then runs of jobs that run rarely."""
    monkeypatch.setattr(run_items, "MOST_RUNS", 8)
    failing, rare, often = (make_job(name, schedule=None) for name in ("failing", "rare", "often"))
    add_runs(failing, "2026-10-20T06:00Z", "2026-10-20T11:00Z", HOUR, "failed")
    add_runs(rare, "2026-10-20T06:00Z", "2026-10-20T08:00Z", HOUR)
    add_runs(often, "2026-10-20T06:00Z", "2026-10-20T10:00Z", HOUR)

    view = load_view(owner)

    assert {run.name for run in view.runs} == {"failing", "rare"}
    assert view.is_cut
    assert not load_view(owner, "2026-10-21").is_cut


def test_number_of_triggers_is_limited_and_marked_as_cut(owner, make_planned, monkeypatch):
    monkeypatch.setattr(future_runs, "MOST_TRIGGERS", 2)
    for number in range(3):
        make_planned(f"0 {number} 18 * * ?", f"job-{number}")

    assert load_view(owner).is_cut
    assert not load_view(owner, "2026-10-19", "2026-10-21").is_cut
