"""How the calendar page is read: zones, clocks that change, and tables that name their rows."""

import re

import pytest

from tests.calendars.conftest import times
from tests.calendars.page.reading import cell, column, items

pytestmark = pytest.mark.django_db


def test_zones_move_everything_and_the_second_scale_is_ones_own(look, make_event):
    make_event()

    page = look("view=day&date=2026-01-05&zone=Asia/Kolkata")

    assert items(page) == ["14:30 Stand-up"]
    assert (
        '<abbr title="Asia/Kolkata, UTC+05:30">Kolkata</abbr><abbr title="Europe/Berlin, UTC+01:00">Berlin</abbr>'
        in page
    )
    assert "view=week&amp;date=2026-01-05&amp;zone=Asia/Kolkata" in page  # every link keeps it


def test_the_present_time_stands_on_today_in_the_zone_that_is_shown(look):
    week = look("view=week")
    assert '<li class="placed now-line" data-h="12" data-m="30"' in column(week, "2026-01-07")
    assert '<li class="placed now-line other-day" data-h="12" data-m="30"' in column(week, "2026-01-08")

    kiritimati = look("view=week&zone=Pacific/Kiritimati")  # where tomorrow has begun
    assert '<li class="placed now-line" data-h="1" data-m="30"' in column(kiritimati, "2026-01-08")
    assert "now-line" not in look("view=week&date=2026-02-02")


def test_the_viewer_chooses_how_weeks_and_times_are_written(look, make_event, viewer):
    make_event(**times("2026-01-05T15:00"))
    viewer.week_start, viewer.hour_cycle, viewer.language = 6, 12, "de"
    viewer.save()

    page = look()

    assert items(cell(page, "2026-01-05")) == ["3:00 PM Stand-up"]
    assert re.findall(r'<th scope="col"[^>]*><abbr title="(\w+)">', page)[0] == "Sonntag"
    assert "Januar 2026" in page
    assert 'aria-label="Montag, 5. Januar 2026"' in page


def test_a_week_with_a_clock_change_says_so_and_has_the_hour_twice(look):
    page = look("view=week&date=2026-10-25")

    assert "Sunday has 25 hours." in page
    assert "At 03:00 the clock in Berlin goes back to 02:00." in page
    assert 'data-hours="25"' in page
    assert page.count("background missing") == 6
    assert "02:00 again, UTC+1" in column(page, "2026-10-25")
    scale = re.search(r'<ol class="hour-scale first".*?</ol>', page, re.DOTALL)[0]
    assert re.findall(r">(\d\d)<", scale)[:4] == ["01", "02", "02", "03"]


def test_a_day_that_clocks_shorten_says_what_it_does_not_have(look, make_job):
    page = look("view=day&date=2027-03-28")

    assert "This day has 23 hours." in page
    assert '<li class="placed background missing" data-h="2" data-dh="1"' in page
    assert "02:00 to 03:00 does not exist on this day" in page


def test_a_day_that_was_left_out_is_hatched(look):
    page = look("view=day&date=2011-12-30&zone=Pacific/Apia")

    assert "Friday does not exist." in page
    assert '<li class="placed background missing" data-dh="24"' in page
    assert "does not exist" in cell(look("date=2011-12-30&zone=Pacific/Apia"), "2011-12-30")


def test_tables_name_their_rows_and_columns(look, make_event):
    make_event()

    for view, columns in (("month", 8), ("week", 7), ("day&date=2026-01-05", 1), ("agenda&date=2026-01-05", 3)):
        page = look(f"view={view}")
        table = re.search(r'<table class="(?:month|week|week single|agenda)"(.*?)</table>', page, re.DOTALL)[1]
        assert "<caption" in table
        head = re.search(r"<thead.*?</thead>", table, re.DOTALL)[0]
        assert head.count('scope="col"') == columns
        assert re.search(r'scope="row(group)?"', table)
