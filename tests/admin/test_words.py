"""Formats of times and durations on pages, and the geometry of charts."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from jobs import charts, humanize
from tests.conftest import utc

NOW = utc("2026-10-21T12:32:07Z")


@pytest.mark.parametrize(
    "seconds, expected",
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (13 * 60, "13 min"),
        (3 * 3600, "3 h"),
        (3 * 3600 + 28 * 60, "3 h 28 min"),
        (86400, "1 day"),
        (86400 + 59 * 60, "1 day"),
        (29 * 3600 + 48 * 60, "1 day 5 h"),
        (3 * 86400 - 1, "2 days 23 h"),
        (9 * 86400, "9 days"),
        (10 * 86400 - 1, "9 days 23 h"),
        (10 * 86400 + 3600, "10 days"),
        (90 * 86400, "3 months"),
        (1000 * 86400, "2 years"),
    ],
)
def test_duration_is_formatted_with_a_useful_precision(seconds, expected):
    assert humanize.format_duration(timedelta(seconds=seconds)) == expected


@pytest.mark.parametrize(
    "language, ahead, ago",
    [
        ("en", "in 2 days 5 h", "2 days 5 h ago"),
        ("de", "in 2 Tagen 5 h", "vor 2 Tagen 5 h"),
        ("pt-br", "em 2 dias 5 h", "há 2 dias 5 h"),
        ("tr", "2 gün 5 sa sonra", "2 gün 5 sa önce"),
    ],
)
def test_relative_time_in_days_has_hours_in_each_language(language, ahead, ago):
    with translation.override(language):
        texts = [humanize.format_relative(NOW + sign * timedelta(hours=53, minutes=40), NOW) for sign in (1, -1)]

    assert texts == [ahead, ago]


@pytest.mark.parametrize(
    "seconds, expected",
    [(0.64, "640 ms"), (30.84, "30.8 s"), (30, "30 s"), (60, "1 min"), (391, "6 min 31 s"), (4140, "1 h 09 min")],
)
def test_elapsed_time_is_formatted_with_a_comparable_precision(seconds, expected):
    assert humanize.format_elapsed(timedelta(seconds=seconds)) == expected


@pytest.mark.parametrize(
    "instant, expected",
    [
        ("2026-10-21T12:35:00Z", "today 14:35"),
        ("2026-10-21T22:30:00Z", "tomorrow 00:30"),  # today in UTC, but tomorrow in Berlin
        ("2026-10-20T16:00:00Z", "yesterday 18:00"),
        ("2026-10-25T03:00:00Z", "Sun 25 October, 04:00"),
        ("2027-01-01T00:00:00Z", "Fri 1 January 2027, 01:00"),
    ],
)
def test_instant_is_formatted_in_the_current_zone(instant, expected):
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert humanize.format_datetime(utc(instant), NOW) == expected


def test_chart_shows_successes_above_and_failures_below_the_line():
    chart = charts.hours_chart([charts.Hour(ran=30), charts.Hour(ran=3, late=3, failed=2), charts.Hour(due=15)])

    tall, mixed, due = ({part.kind: part for part in bar.parts} for bar in chart.bars)
    assert tall["ran"].y + tall["ran"].height == chart.base_y
    assert mixed["ran"].y + mixed["ran"].height < mixed["late"].y
    assert mixed["failed"].y > chart.base_y
    assert due.keys() == {"due"}
    assert due["due"].height == pytest.approx(tall["ran"].height / 2, abs=0.1)
    assert chart.bars[1].middle < chart.now_x < chart.bars[2].middle


@pytest.mark.parametrize("ran, failed", [(33, 2), (2, 33), (1, 1), (300, 30)])
def test_chart_has_one_scale_for_successes_and_failures(ran, failed):
    chart = charts.hours_chart([charts.Hour(ran=ran, failed=failed), charts.Hour(missed=failed), charts.Hour()])

    standing, hanging = chart.bars[0].parts
    (missed,) = chart.bars[1].parts
    assert standing.height / ran == pytest.approx(hanging.height / failed, rel=0.02)
    assert missed.height == hanging.height
    assert standing.y >= charts.TOP
    assert hanging.y + hanging.height <= charts.BOTTOM


@pytest.mark.parametrize("top, steps", [(0, "1"), (3, "1"), (4, "2"), (31, "20"), (300, "100"), (301, "200")])
def test_chart_scale_is_round_and_includes_the_highest_bar(top, steps):
    assert charts.hours_chart([charts.Hour(ran=top)]).grid[0][1] == steps


def test_dots_that_do_not_fit_are_shown_as_a_number():
    assert charts.stack_dots(10, 120, 9).count == 0
    assert charts.stack_dots(10, 120, 10) == charts.Stack(charts.x_position(10, 120), (), 10)
