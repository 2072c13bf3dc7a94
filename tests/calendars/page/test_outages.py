"""Outages of the scheduler on the calendar page, and at the runs that they hit."""

from datetime import datetime, timedelta

import pytest

from jobs import outages
from jobs.models import LastPass, Outage
from tests.calendars.page.reading import WEDNESDAY, add_run
from tests.conftest import utc

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
BEGIN = utc("2026-01-07T07:51:41Z")  # 08:51:41 in Berlin, today
SAID = "The scheduler did not run from 08:51:41 to 08:55:27."


def add_outage(begin: datetime = BEGIN) -> Outage:
    return Outage.objects.create(started_at=begin, ended_at=begin + timedelta(minutes=3, seconds=46))


@pytest.mark.parametrize("view", ["month", "week", "workweek", "day", "agenda"])
def test_every_view_names_the_outage_in_its_window(look, make_job, view):
    make_job()
    add_outage()

    assert f"<strong>{SAID}</strong>" in look(f"view={view}")


def test_the_outage_is_named_in_the_zone_that_is_shown_and_with_its_day(look, make_job):
    make_job()
    add_outage(BEGIN - timedelta(days=1))

    assert "did not run from Tue 6 January, 13:21:41 to 13:25:27." in look("view=week&zone=Asia/Kolkata")


def test_an_outage_that_goes_on_is_named(look, make_job):
    make_job()
    LastPass.objects.create(pk=outages.ONLY, at=WEDNESDAY - 5 * MINUTE)

    assert "The scheduler has not run since 12:25:00." in look("view=day")
    assert "has not run" not in look("view=day&date=2026-01-08")


def test_of_many_outages_the_last_are_named(look, make_job):
    make_job()
    for number in range(5):
        add_outage(BEGIN - number * 10 * MINUTE)

    page = look("view=day")

    assert page.count("The scheduler did not run from") == 3
    assert SAID in page
    assert "Before that, it did not run 2 times more." in page


def test_nothing_is_said_where_nothing_of_it_is_seen(look, make_job):
    job = make_job()
    add_outage()

    assert "did not run" not in look("view=day&date=2026-01-06")
    assert "did not run" not in look(f"view=day&noruns={job.collection_id}")


def test_it_is_said_in_the_viewers_language_and_hour_cycle(look, make_job, viewer):
    viewer.language, viewer.hour_cycle = "de", 12
    viewer.save()
    make_job()
    add_outage()

    assert "Der Zeitplaner lief von 8:51:41 AM bis 8:55:27 AM nicht." in look("view=day")


@pytest.mark.parametrize("minutes, is_hit", [(1, True), (-1, False)])
def test_what_a_click_on_a_run_opens_says_whether_the_outage_hit_it(client, look, make_job, minutes, is_hit):
    look()
    add_outage()
    run = add_run(make_job(), BEGIN + minutes * MINUTE, "missed", started_at=None)

    page = client.get(f"/calendar/runs/{run.pk}").content.decode()

    assert (SAID.rstrip(".") in page) == is_hit


def test_what_a_click_on_a_failed_run_opens_says_how_its_error_action_ended(client, look, make_job):
    look()
    job = make_job()
    failed = add_run(job, BEGIN, "failed")
    add_run(job, BEGIN + MINUTE, origin="error_action", parent=failed, trigger_name=None)

    page = client.get(f"/calendar/runs/{failed.pk}").content.decode()

    assert "<dt>Error action</dt><dd>Succeeded</dd>" in page
