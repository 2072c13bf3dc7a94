"""Past, planned, skipped and missed runs and frequent jobs on the calendar page, in each view."""

import re
from datetime import timedelta

import pytest
import time_machine

from accounts.models import Role, Subscription
from calendars.pages import run_items
from jobs.models import JobCollection
from tests.calendars.job_runs import LATER, add_run, add_runs
from tests.conftest import utc
from triggers.models import Trigger

pytestmark = pytest.mark.django_db
FIVE_MINUTES = timedelta(minutes=5)
VIEWS = ("month", "week", "workweek", "day", "agenda")


@pytest.fixture(autouse=True)
def now():
    """Wednesday, 21 October 2026, 14:32 in Berlin."""
    with time_machine.travel(LATER, tick=False):
        yield


@pytest.fixture
def make_planned(make_job, make_trigger):
    def make(expression: str = "0 0 18 * * ?", name: str = "invoices", now=LATER, **fields) -> Trigger:
        job = make_job(name, schedule=None, now=now, **fields)
        definition = {"expression": expression, "timeZone": "Europe/Berlin"}
        return make_trigger(job, "regular", definition=definition, now=now)

    return make


def cell(page: str, day: str) -> str:
    """Return the cell of a day of the month view or of the week view."""
    return re.findall(rf'<td[^>]*data-date="{day}".*?</td>', page, re.DOTALL)[-1]


def run_texts(part: str) -> list[str]:
    """Return the accessible text of each run, with the state that determines its icon."""
    found = re.findall(r'<a class="item run" [^>]*data-state="(\w+)"[^>]*>(.*?)</a>', part, re.DOTALL)
    return [f"{state}: {' '.join(re.sub(r'<[^>]*>', ' ', text).split())}" for state, text in found]


def bands(part: str) -> list[str]:
    found = re.findall(r'<a class="frequent-job"[^>]*>(.*?)</a>', part, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", text).split()) for text in found]


def test_runs_show_their_state_and_reason(load_page, make_planned):
    job = make_planned().job
    add_run(job, "2026-10-20T05:00Z", "skipped", reason="another run of this job was still going")
    add_run(job, "2026-10-20T06:00Z", "missed", reason="found later than its trigger's misfire threshold")
    add_run(job, "2026-10-20T07:00Z", "failed", attempt_count=3)
    add_run(job, "2026-10-20T08:00Z", started_at=utc("2026-10-20T08:17Z"), finished_at=utc("2026-10-20T08:20Z"))

    for view in ("month", "week", "day"):
        assert run_texts(cell(load_page(f"view={view}&date=2026-10-20"), "2026-10-20")) == [
            "skipped: 07:00 invoices , skipped, another run of this job was still going",
            "missed: 08:00 invoices , missed, found later than its trigger's misfire threshold",
            "failure: 09:00 invoices , failed after 3 attempts",
            "late: 10:00 invoices , late by 17 min",
        ], view


def test_planned_runs_are_shown_in_each_view(load_page, make_planned):
    trigger = make_planned()

    for view in VIEWS:
        page = load_page(f"view={view}&date=2026-10-22")
        assert f"/calendar/planned/{trigger.pk}/2026-10-22T16:00:00Z" in page, view
        assert "18:00" in page


def test_planned_run_has_the_duration_of_the_last_run(load_page, make_planned):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-20T16:00Z", took=timedelta(minutes=45))

    for day in ("2026-10-20", "2026-10-22"):
        assert re.search(r'data-h="18"[^>]*data-dm="45"', cell(load_page(f"view=day&date={day}"), day)), day


def test_run_is_shown_in_the_zone_of_the_page(load_page, make_planned):
    add_run(make_planned().job, "2026-10-20T23:30Z")

    assert "success: 01:30" in run_texts(cell(load_page(), "2026-10-21"))[0]
    assert "success: 05:00" in run_texts(cell(load_page("zone=Asia/Kolkata"), "2026-10-21"))[0]
    assert "success: 23:30" in run_texts(cell(load_page("zone=UTC"), "2026-10-20"))[0]


def test_missed_fire_times_are_counted_on_each_day(load_page, make_planned):
    trigger = make_planned("0 0 0/3 * * ?")
    until = utc("2026-10-20T21:00Z")
    count = (until - utc("2026-09-01T00:00Z")) // timedelta(hours=3) + 1
    add_run(trigger.job, "2026-09-01T00:00Z", "missed", missed_count=count, missed_until=until)

    assert run_texts(cell(load_page(), "2026-10-19")) == ["missed: 00:00 invoices × 8 , missed"]


def test_hourly_job_is_one_line_in_the_month_view(load_page, make_planned):
    make_planned("0 0 * * * ?", "hourly")

    assert cell(load_page(), "2026-10-22").count("hourly") < 3
    assert cell(load_page("view=day&date=2026-10-22"), "2026-10-22").count("hourly") >= 24


def test_frequent_job_is_one_line_with_its_failures(load_page, make_planned):
    trigger = make_planned("0 0/5 * * * ?", "poll")
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-20T22:00Z", FIVE_MINUTES)
    add_runs(trigger.job, "2026-10-20T22:00Z", "2026-10-21T12:35Z", FIVE_MINUTES)
    trigger.job.runs.filter(fire_at__in=[utc("2026-10-20T04:00Z"), utc("2026-10-20T09:00Z")]).update(state="failed")

    month = load_page()

    assert bands(cell(month, "2026-10-20")) == ["poll 2 failed , every 5 min, 288 runs, 2 failed"]
    assert bands(cell(month, "2026-10-21")) == ["poll 175/288 , every 5 min, 175 of 288 runs so far"]
    assert bands(cell(month, "2026-10-25")) == ["poll 300 , every 5 min, 300 runs"]
    assert cell(month, "2026-10-20").count('class="failed"') == 2
    assert (
        cell(month, "2026-10-21").count('class="finished"'),
        cell(month, "2026-10-21").count('class="planned"'),
    ) == (1, 1)
    assert run_texts(month) == []
    week = load_page("view=week")
    assert "poll 2 failed , every 5 min, 288 runs, 2 failed" in bands(week)
    assert "poll" not in run_texts(week)
    assert "every 5 min, summarized" in load_page("view=agenda&date=2026-10-20")


def test_sidebar_counts_the_runs_in_view(load_page, make_planned, make_job, subscription):
    make_planned("0 0/5 * * * ?", "poll")
    other = JobCollection.objects.create(subscription=subscription, name="ledgers", sku="P20Premium")
    add_run(make_job("close", schedule=None, in_collection=other), "2026-10-20T08:00Z")

    page = load_page("view=day&date=2026-10-22")
    assert re.search(r"nightly.*?288", page, re.DOTALL)

    assert run_texts(load_page(f"noruns={other.pk}")) == []
    assert run_texts(load_page()) == ["success: 10:00 close , succeeded"]


def test_links_of_runs_open_their_popover(load_page, make_planned, client):
    trigger = make_planned()
    add_run(trigger.job, "2026-10-20T16:00Z", "failed")

    addresses = re.findall(r'<a class="item run" href="([^"]*)"', load_page())

    assert len(addresses) == 1 + 12  # one past run, and each day until the end of the last week of the month
    for address in addresses:
        assert "invoices" in client.get(address).content.decode(), address


def test_planned_run_of_a_disabled_trigger_is_not_found(load_page, make_planned, client):
    trigger = make_planned()
    address = re.search(r'<a class="item run" href="([^"]*)"', load_page())[1]

    Trigger.objects.filter(pk=trigger.pk).update(enabled=False)

    assert client.get(address).status_code == 404


def test_superuser_can_open_runs_of_all_subscriptions(load_page, make_planned, make_job, client):
    other_collection = JobCollection.objects.create(
        subscription=Subscription.objects.create(name="elsewhere"), name="theirs", sku="P20Premium"
    )
    trigger = make_planned(in_collection=other_collection)
    add_run(trigger.job, "2026-10-20T16:00Z")

    page = load_page()

    assert "theirs" in page
    addresses = re.findall(r'<a class="item run" href="([^"]*)"', page)
    assert len(addresses) == 1 + 12
    assert all(client.get(address).status_code == 200 for address in (addresses[0], addresses[-1]))


def test_runs_are_hidden_from_non_members(load_page_as, make_planned, make_user, client):
    trigger = make_planned()
    run = add_run(trigger.job, "2026-10-20T16:00Z")
    stranger = make_user("sven", None)

    assert run_texts(load_page_as(stranger)()) == []
    for address in (f"/calendar/runs/{run.pk}", f"/calendar/planned/{trigger.pk}/2026-10-22T16:00:00Z"):
        assert client.get(address).status_code == 404


def test_frequent_job_links_to_the_job_for_members(load_page_as, make_planned, make_user):
    job = make_planned("0 0/5 * * * ?", "poll").job

    page = load_page_as(make_user("rita", Role.READER))()

    assert f'href="/admin/jobs/job/{job.pk}/"' in "".join(re.findall(r'<a class="frequent-job"[^>]*>', page))


def test_page_notes_that_not_all_runs_are_shown(load_page, make_planned, monkeypatch):
    make_planned()
    assert "more runs than this view can show" not in load_page()

    monkeypatch.setattr(run_items, "MOST_RUNS", 3)

    assert "more runs than this view can show" in load_page()
