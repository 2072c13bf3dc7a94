"""Time zones, clock changes and table headers of the calendar page."""

import re

import pytest

from tests.calendars.conftest import times
from tests.calendars.page.reading import cell, column, items

pytestmark = pytest.mark.django_db


def test_page_in_another_zone_moves_events_and_has_a_scale_in_the_users_zone(load_page, make_event):
    make_event()

    page = load_page("view=day&date=2026-01-05&zone=Asia/Kolkata")

    assert items(page) == ["14:30 Stand-up"]
    assert (
        '<abbr title="Asia/Kolkata, UTC+05:30">Kolkata</abbr><abbr title="Europe/Berlin, UTC+01:00">Berlin</abbr>'
        in page
    )
    assert "view=week&amp;date=2026-01-05&amp;zone=Asia/Kolkata" in page  # all links keep the zone


def test_current_time_is_shown_in_the_zone_of_the_page(load_page):
    week = load_page("view=week")
    assert '<li class="placed now-line" data-h="12" data-m="30"' in column(week, "2026-01-07")
    assert '<li class="placed now-line other-day" data-h="12" data-m="30"' in column(week, "2026-01-08")

    kiritimati = load_page("view=week&zone=Pacific/Kiritimati")  # in Kiritimati, the next day has begun
    assert '<li class="placed now-line" data-h="1" data-m="30"' in column(kiritimati, "2026-01-08")
    assert "placed now-line" not in load_page("view=week&date=2026-02-02")


def test_page_uses_the_week_start_hour_cycle_and_language_of_the_user(load_page, make_event, viewer):
    make_event(**times("2026-01-05T15:00"))
    viewer.week_start, viewer.hour_cycle, viewer.language = 6, 12, "de"
    viewer.save()

    page = load_page()

    assert items(cell(page, "2026-01-05")) == ["3:00 PM Stand-up"]
    assert re.findall(r'<th scope="col"[^>]*><abbr title="(\w+)">', page)[0] == "Sonntag"
    assert "Januar 2026" in page
    assert 'aria-label="Montag, 5. Januar 2026"' in page


def test_week_with_a_clock_change_notes_it_and_has_the_hour_twice(load_page):
    page = load_page("view=week&date=2026-10-25")

    assert "Sunday has 25 hours." in page
    assert "At 03:00, the clock in Berlin goes back to 02:00." in page
    assert 'data-hours="25"' in page
    assert page.count("background missing") == 6
    assert "02:00 again, UTC+1" in column(page, "2026-10-25")
    scale = re.search(r'<ol class="hour-scale first".*?</ol>', page, re.DOTALL)[0]
    assert re.findall(r">(\d\d)<", scale)[:4] == ["01", "02", "02", "03"]


def test_short_day_notes_its_missing_hour(load_page, make_job):
    page = load_page("view=day&date=2027-03-28")

    assert "This day has 23 hours." in page
    assert '<li class="placed background missing" data-h="2" data-dh="1"' in page
    assert "02:00 to 03:00 does not exist on this day" in page


def test_day_that_a_zone_skipped_is_marked_as_missing(load_page):
    page = load_page("view=day&date=2011-12-30&zone=Pacific/Apia")

    assert "Friday does not exist." in page
    assert '<li class="placed background missing" data-dh="24"' in page
    assert "does not exist" in cell(load_page("date=2011-12-30&zone=Pacific/Apia"), "2011-12-30")


def test_tables_have_row_and_column_headers(load_page, make_event):
    make_event()

    for view, columns in (("month", 8), ("week", 7), ("day&date=2026-01-05", 1), ("agenda&date=2026-01-05", 3)):
        page = load_page(f"view={view}")
        table = re.search(r'<table class="(?:month|week|week single|agenda)"(.*?)</table>', page, re.DOTALL)[1]
        assert "<caption" in table
        head = re.search(r"<thead.*?</thead>", table, re.DOTALL)[0]
        assert head.count('scope="col"') == columns
        assert re.search(r'scope="row(group)?"', table)
