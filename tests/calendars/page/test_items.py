"""What the calendar page shows of events and runs, in every view."""

import re
from datetime import UTC, date, datetime

import pytest

from calendars import editing
from tests.calendars.conftest import times
from tests.calendars.page.reading import DAILY, WEDNESDAY, add_run, cell, column, items
from tests.conftest import NOW

pytestmark = pytest.mark.django_db


OFFSITE = [f"2026-01-{day:02}" for day in range(8, 14)]


def test_a_series_is_in_every_view(look, make_event):
    make_event(recurrence=DAILY)

    for view, count in (("month", 28), ("week", 7), ("workweek", 5), ("day", 1)):
        shown = items(look(f"view={view}"))
        assert [each for each in shown if "Stand-up" in each] == ["10:00 Stand-up , repeats"] * count
    assert look("view=agenda").count(">Stand-up</a>") == 7


def test_an_occurrence_that_differs_says_how(look, make_event):
    series = make_event(recurrence=DAILY)
    editing.change_occurrence(series, date(2026, 1, 8), times("2026-01-08T09:30"), NOW)
    editing.change_occurrence(series, date(2026, 1, 9), {"subject": "Stand-down"}, NOW)

    page = look()

    assert items(cell(page, "2026-01-08")) == ["09:30 Stand-up , moved from 10:00"]
    assert items(cell(page, "2026-01-09")) == ["10:00 Stand-down , changed"]


def test_a_cancelled_occurrence_is_shown_on_demand(look, make_event):
    editing.cancel_occurrence(make_event(recurrence=DAILY), date(2026, 1, 8), NOW)

    assert items(cell(look(), "2026-01-08")) == []
    assert items(cell(look("cancelled=1"), "2026-01-08")) == ["10:00 Stand-up , repeats, cancelled"]


def test_an_event_of_several_days_keeps_its_line_and_says_its_name_once_a_week(look, make_event):
    make_event(subject="Offsite", is_all_day=True, **times("2026-01-08T00:00", "2026-01-14T00:00"))
    make_event(subject="On call", is_all_day=True, **times("2026-01-09T00:00", "2026-01-10T00:00"))

    page = look()

    found = [
        re.search(r'data-part="([^"]*)"[^>]*>(?:(?!</a>).)*Offsite', cell(page, day), re.DOTALL) for day in OFFSITE
    ]
    assert [part and part[1] for part in found] == ["continues", *["continued continues"] * 4, "continued"]
    unnamed = '<span class="visually-hidden">Offsite</span>&nbsp;'
    assert [day for day in OFFSITE if unnamed not in cell(page, day)] == ["2026-01-08", "2026-01-12"]  # and on Monday
    assert cell(page, "2026-01-09").index("Offsite") < cell(page, "2026-01-09").index("On call")


def test_an_event_over_midnight_is_on_both_days(look, make_event):
    make_event(subject="Cut-over", **times("2026-01-08T22:00", "2026-01-09T01:30"))

    week = look("view=week")

    assert 'data-h="22" data-dh="2"' in column(week, "2026-01-08")
    assert "until Fri 01:30" in column(week, "2026-01-08")
    assert 'class="placed lane" data-dh="1" data-dm="30"' in column(week, "2026-01-09")
    assert "since Thu 22:00" in column(week, "2026-01-09")
    month = look()
    assert items(cell(month, "2026-01-08")) == ["22:00 Cut-over"]
    assert items(cell(month, "2026-01-09")) == ["Cut-over , continued"]


def test_what_a_day_has_no_room_for_is_counted_and_leads_to_the_day(look, make_event):
    for hour in range(9, 16):
        make_event(subject=f"At {hour}", **times(f"2026-01-08T{hour:02}:00"))

    found = cell(look(), "2026-01-08")

    assert len(items(found)) == 4
    assert 'aria-label="3 more on Thursday 8 January 2026"' in found
    assert "/calendar/?view=day&amp;date=2026-01-08" in found


def test_a_week_shows_three_side_by_side_and_a_day_four(look, make_event):
    for name in "abcde":
        make_event(subject=name, **times("2026-01-08T10:00"))

    assert items(column(look("view=week"), "2026-01-08")) == ["10:00 a", "10:00 b", "10:00 c"]
    assert 'aria-label="2 more at this time on Thursday 8 January 2026">+2<' in look("view=week")
    assert len(items(column(look("view=day&date=2026-01-08"), "2026-01-08"))) == 4


@pytest.mark.parametrize(
    "details, attribute, said",
    [
        ({"show_as": "tentative"}, 'data-shows="tentative"', ", tentative"),
        ({"show_as": "free"}, 'data-shows="free"', ", free"),
        ({"sensitivity": "private"}, 'href="#i-lock"', ", private"),
    ],
)
def test_how_an_event_counts_is_drawn_and_said(look, make_event, details, attribute, said):
    make_event(**details)

    found = cell(look(), "2026-01-05")

    assert attribute in found
    assert said in found


def test_what_somebody_wrote_is_text(look, make_event):
    make_event(subject='<b title="x">&amp;', locations=[{"displayName": "<i>Spree</i>"}])

    for view in ("month", "week", "agenda&date=2026-01-05"):
        page = look(f"view={view}")
        assert "<b title" not in page
        assert "<i>Spree" not in page
        assert "&lt;b title=&quot;x&quot;&gt;&amp;amp;" in page


def test_runs_that_were_and_will_be_stand_among_the_events(look, make_job):
    job = make_job(now=WEDNESDAY)  # daily at 08:00 UTC
    add_run(job, datetime(2026, 1, 6, 8, tzinfo=UTC), "failed", reason="503")

    page = look()

    assert items(cell(page, "2026-01-06")) == ["09:00 backup , failed, 503"]
    assert items(cell(page, "2026-01-08")) == ["09:00 backup , planned"]
    assert 'data-state="planned"' in cell(page, "2026-01-08")
    week = column(look("view=week"), "2026-01-06")
    assert 'class="placed lane short" data-h="9" data-dm="40"' in week  # as long as it took


def test_a_frequent_job_is_one_line_a_day(look, make_job):
    make_job(schedule={"recurrence": {"frequency": "Minute", "interval": 5}}, now=WEDNESDAY)

    page = look("view=week")

    assert column(page, "2026-01-09").count("backup") == 0
    assert "every 5 min" in page
    assert ">288<" in page
    assert 'class="frequent-job"' in cell(look(), "2026-01-09")


def test_runs_are_left_out_by_collection_and_by_kind(look, make_job, collection):
    job = make_job(now=WEDNESDAY)
    for hour, state in ((6, "succeeded"), (7, "failed"), (9, "skipped")):
        add_run(job, datetime(2026, 1, 6, hour, tzinfo=UTC), state)

    def shown(query: str) -> list[str]:
        return [each[:5] for each in items(cell(look(query), "2026-01-06"))]

    assert shown("") == ["07:00", "08:00", "10:00"]
    assert shown("noskipped=1") == ["07:00", "08:00"]
    assert shown("failures=1") == ["08:00"]
    assert shown(f"noruns={collection.pk}") == []
