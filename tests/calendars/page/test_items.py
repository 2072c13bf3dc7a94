"""Events and runs in each view of the calendar page."""

import re
from datetime import UTC, date, datetime

import pytest

from calendars import editing
from tests.calendars.conftest import times
from tests.calendars.page.reading import DAILY, WEDNESDAY, add_run, cell, column, items
from tests.conftest import NOW

pytestmark = pytest.mark.django_db


OFFSITE = [f"2026-01-{day:02}" for day in range(8, 14)]


def test_series_is_shown_in_each_view(load_page, make_event):
    make_event(recurrence=DAILY)

    for view, count in (("month", 28), ("week", 7), ("workweek", 5), ("day", 1)):
        list_times = items(load_page(f"view={view}"))
        assert [each for each in list_times if "Stand-up" in each] == ["10:00 Stand-up , repeats"] * count
    assert load_page("view=agenda").count(">Stand-up</a>") == 7


def test_changed_occurrence_shows_what_changed(load_page, make_event):
    series = make_event(recurrence=DAILY)
    editing.change_occurrence(series, date(2026, 1, 8), times("2026-01-08T09:30"), NOW)
    editing.change_occurrence(series, date(2026, 1, 9), {"subject": "Stand-down"}, NOW)

    page = load_page()

    assert items(cell(page, "2026-01-08")) == ["09:30 Stand-up , moved from 10:00"]
    assert items(cell(page, "2026-01-09")) == ["10:00 Stand-down , changed"]


def test_cancelled_occurrence_is_shown_on_request(load_page, make_event):
    editing.cancel_occurrence(make_event(recurrence=DAILY), date(2026, 1, 8), NOW)

    assert items(cell(load_page(), "2026-01-08")) == []
    assert items(cell(load_page("cancelled=1"), "2026-01-08")) == ["10:00 Stand-up , repeats, cancelled"]


def test_event_of_several_days_keeps_its_row_and_shows_its_name_once_a_week(load_page, make_event):
    make_event(subject="Offsite", is_all_day=True, **times("2026-01-08T00:00", "2026-01-14T00:00"))
    make_event(subject="On call", is_all_day=True, **times("2026-01-09T00:00", "2026-01-10T00:00"))

    page = load_page()

    found = [
        re.search(r'data-part="([^"]*)"[^>]*>(?:(?!</a>).)*Offsite', cell(page, day), re.DOTALL) for day in OFFSITE
    ]
    assert [part and part[1] for part in found] == ["continues", *["continued continues"] * 4, "continued"]
    unnamed = '<span class="visually-hidden">Offsite</span>&nbsp;'
    assert [day for day in OFFSITE if unnamed not in cell(page, day)] == [
        "2026-01-08",
        "2026-01-12",
    ]  # on the first day, and on Monday
    assert cell(page, "2026-01-09").index("Offsite") < cell(page, "2026-01-09").index("On call")


def test_event_across_midnight_is_shown_on_both_days(load_page, make_event):
    make_event(subject="Cut-over", **times("2026-01-08T22:00", "2026-01-09T01:30"))

    week = load_page("view=week")

    assert 'data-h="22" data-dh="2"' in column(week, "2026-01-08")
    assert "until Fri 01:30" in column(week, "2026-01-08")
    assert 'class="placed lane" data-dh="1" data-dm="30"' in column(week, "2026-01-09")
    assert "since Thu 22:00" in column(week, "2026-01-09")
    month = load_page()
    assert items(cell(month, "2026-01-08")) == ["22:00 Cut-over"]
    assert items(cell(month, "2026-01-09")) == ["Cut-over , continued"]


def test_month_counts_the_items_that_do_not_fit_and_links_to_the_day(load_page, make_event):
    for hour in range(9, 16):
        make_event(subject=f"At {hour}", **times(f"2026-01-08T{hour:02}:00"))

    found = cell(load_page(), "2026-01-08")

    assert len(items(found)) == 4
    assert 'aria-label="3 more on Thursday 8 January 2026"' in found
    assert "/calendar/?view=day&amp;date=2026-01-08" in found


def test_week_shows_three_simultaneous_events_and_a_day_four(load_page, make_event):
    for name in "abcde":
        make_event(subject=name, **times("2026-01-08T10:00"))

    assert items(column(load_page("view=week"), "2026-01-08")) == ["10:00 a", "10:00 b", "10:00 c"]
    assert 'aria-label="2 more at this time on Thursday 8 January 2026">+2<' in load_page("view=week")
    assert len(items(column(load_page("view=day&date=2026-01-08"), "2026-01-08"))) == 4


@pytest.mark.parametrize(
    "details, attribute, text",
    [
        ({"show_as": "tentative"}, 'data-shows="tentative"', ", tentative"),
        ({"show_as": "free"}, 'data-shows="free"', ", free"),
        ({"sensitivity": "private"}, 'href="#i-lock"', ", private"),
    ],
)
def test_event_shows_its_status_and_sensitivity(load_page, make_event, details, attribute, text):
    make_event(**details)

    found = cell(load_page(), "2026-01-05")

    assert attribute in found
    assert text in found


def test_event_texts_are_escaped(load_page, make_event):
    make_event(subject='<b title="x">&amp;', locations=[{"displayName": "<i>Spree</i>"}])

    for view in ("month", "week", "agenda&date=2026-01-05"):
        page = load_page(f"view={view}")
        assert "<b title" not in page
        assert "<i>Spree" not in page
        assert "&lt;b title=&quot;x&quot;&gt;&amp;amp;" in page


def test_past_and_planned_runs_are_shown_with_the_events(load_page, make_job):
    job = make_job(now=WEDNESDAY)  # daily at 08:00 UTC
    add_run(job, datetime(2026, 1, 6, 8, tzinfo=UTC), "failed", reason="503")

    page = load_page()

    assert items(cell(page, "2026-01-06")) == ["09:00 backup , failed, 503"]
    assert items(cell(page, "2026-01-08")) == ["09:00 backup , planned"]
    assert 'data-state="planned"' in cell(page, "2026-01-08")
    week = column(load_page("view=week"), "2026-01-06")
    assert 'class="placed lane short" data-h="9" data-dm="40"' in week  # the height is the duration of the run


def test_frequent_job_is_one_line_per_day(load_page, make_job):
    make_job(schedule={"recurrence": {"frequency": "Minute", "interval": 5}}, now=WEDNESDAY)

    page = load_page("view=week")

    assert column(page, "2026-01-09").count("backup") == 0
    assert "every 5 min" in page
    assert ">288<" in page
    assert 'class="frequent-job"' in cell(load_page(), "2026-01-09")


def test_runs_are_filtered_by_collection_and_state(load_page, make_job, collection):
    job = make_job(now=WEDNESDAY)
    for hour, state in ((6, "succeeded"), (7, "failed"), (9, "skipped")):
        add_run(job, datetime(2026, 1, 6, hour, tzinfo=UTC), state)

    def list_times(query: str) -> list[str]:
        return [each[:5] for each in items(cell(load_page(query), "2026-01-06"))]

    assert list_times("") == ["07:00", "08:00", "10:00"]
    assert list_times("noskipped=1") == ["07:00", "08:00"]
    assert list_times("failures=1") == ["08:00"]
    assert list_times(f"noruns={collection.pk}") == []
