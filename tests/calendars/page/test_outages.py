"""Outages of the scheduler on the calendar page and in the popovers of affected runs."""

from datetime import datetime, timedelta

import pytest

from jobs import outages
from jobs.models import LastPass, Outage
from tests.calendars.page.reading import WEDNESDAY, add_run
from tests.conftest import utc

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
BEGIN = utc("2026-01-07T07:51:41Z")  # 08:51:41 in Berlin, today
OUTAGE_TEXT = "The scheduler did not run from 08:51:41 to 08:55:27."


def add_outage(begin: datetime = BEGIN) -> Outage:
    return Outage.objects.create(started_at=begin, ended_at=begin + timedelta(minutes=3, seconds=46))


@pytest.mark.parametrize("view", ["month", "week", "workweek", "day", "agenda"])
def test_each_view_shows_the_outage_in_its_window(load_page, make_job, view):
    make_job()
    add_outage()

    assert f"<strong>{OUTAGE_TEXT}</strong>" in load_page(f"view={view}")


def test_outage_is_shown_with_its_day_in_the_zone_of_the_page(load_page, make_job):
    make_job()
    add_outage(BEGIN - timedelta(days=1))

    assert "did not run from Tue 6 January, 13:21:41 to 13:25:27." in load_page("view=week&zone=Asia/Kolkata")


def test_current_outage_is_shown(load_page, make_job):
    make_job()
    LastPass.objects.create(pk=outages.ONLY, at=WEDNESDAY - 5 * MINUTE)

    assert "The scheduler has not run since 12:25:00." in load_page("view=day")
    assert "has not run" not in load_page("view=day&date=2026-01-08")


def test_only_the_last_outages_are_shown_and_the_others_counted(load_page, make_job):
    make_job()
    for number in range(5):
        add_outage(BEGIN - number * 10 * MINUTE)

    page = load_page("view=day")

    assert page.count("The scheduler did not run from") == 3
    assert OUTAGE_TEXT in page
    assert "There were 2 more outages before that." in page


def test_outage_is_not_shown_outside_its_window_or_without_runs(load_page, make_job):
    job = make_job()
    add_outage()

    assert "did not run" not in load_page("view=day&date=2026-01-06")
    assert "did not run" not in load_page(f"view=day&noruns={job.collection_id}")


def test_outage_is_shown_in_the_language_and_hour_cycle_of_the_user(load_page, make_job, viewer):
    viewer.language, viewer.hour_cycle = "de", 12
    viewer.save()
    make_job()
    add_outage()

    assert "Der Zeitplaner lief von 8:51:41 AM bis 8:55:27 AM nicht." in load_page("view=day")


@pytest.mark.parametrize("minutes, is_affected", [(1, True), (-1, False)])
def test_run_popover_shows_an_outage_that_affected_the_run(client, load_page, make_job, minutes, is_affected):
    load_page()
    add_outage()
    run = add_run(make_job(), BEGIN + minutes * MINUTE, "missed", started_at=None)

    page = client.get(f"/calendar/runs/{run.pk}").content.decode()

    assert (OUTAGE_TEXT.rstrip(".") in page) == is_affected


def test_run_popover_shows_the_result_of_the_error_action(client, load_page, make_job):
    load_page()
    job = make_job()
    failed = add_run(job, BEGIN, "failed")
    add_run(job, BEGIN + MINUTE, origin="error_action", parent=failed, trigger_name=None)

    page = client.get(f"/calendar/runs/{failed.pk}").content.decode()

    assert "<dt>Error action</dt><dd>Succeeded</dd>" in page
