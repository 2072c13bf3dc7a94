"""Times as the pages say them, and the geometry of charts."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from jobs import charts, words
from tests.conftest import utc

NOW = utc("2026-10-21T12:32:07Z")


@pytest.mark.parametrize(
    "seconds, says",
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (13 * 60, "13 min"),
        (3 * 3600, "3 h"),
        (3 * 3600 + 28 * 60, "3 h 28 min"),
        (86400, "1 day"),
        (9 * 86400, "9 days"),
        (90 * 86400, "3 months"),
        (1000 * 86400, "2 years"),
    ],
)
def test_a_span_is_said_at_the_precision_one_acts_on(seconds, says):
    assert words.span(timedelta(seconds=seconds)) == says


@pytest.mark.parametrize(
    "seconds, says",
    [(0.64, "640 ms"), (30.84, "30.8 s"), (30, "30 s"), (60, "1 min"), (391, "6 min 31 s"), (4140, "1 h 09 min")],
)
def test_a_length_is_said_at_the_precision_one_compares(seconds, says):
    assert words.took(timedelta(seconds=seconds)) == says


@pytest.mark.parametrize(
    "instant, says",
    [
        ("2026-10-21T12:35:00Z", "today 14:35"),
        ("2026-10-21T22:30:00Z", "tomorrow 00:30"),  # today in UTC, tomorrow in Berlin
        ("2026-10-20T16:00:00Z", "yesterday 18:00"),
        ("2026-10-25T03:00:00Z", "Sun 25 October, 04:00"),
        ("2027-01-01T00:00:00Z", "Fri 1 January 2027, 01:00"),
    ],
)
def test_a_moment_is_said_in_the_viewers_zone(instant, says):
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert words.moment(utc(instant), NOW) == says


def test_what_ran_stands_on_the_line_and_what_failed_hangs_from_it():
    chart = charts.hours_chart([charts.Hour(ran=30), charts.Hour(ran=3, late=3, failed=2), charts.Hour(due=15)])

    tall, mixed, due = chart.bars
    assert tall.ran.y + tall.ran.height == charts.BASE
    assert tall.ran.height == charts.HEIGHT
    assert mixed.ran.y + mixed.ran.height < mixed.late.y
    assert mixed.fell.y > charts.BASE
    assert (due.ran, due.due.height) == (None, charts.HEIGHT / 2)
    assert mixed.middle < chart.here < due.middle


@pytest.mark.parametrize("top, steps", [(0, "1"), (3, "1"), (4, "2"), (31, "20"), (300, "100"), (301, "200")])
def test_the_scale_is_round_and_holds_the_highest_bar(top, steps):
    assert charts.hours_chart([charts.Hour(ran=top)]).grid[0][1] == steps


def test_more_starts_than_fit_are_a_number():
    assert charts.stack(10, 120, 9).count == 0
    assert charts.stack(10, 120, 10) == charts.Stack(charts.place(10, 120), (), 10)
