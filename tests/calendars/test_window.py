"""The days of each view, and the query of the page address."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from django.http import QueryDict

from calendars.pages.filters import BadAddress, Filter, Query
from calendars.pages.window import View, days_of, midnight, week_number, window_of

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY, SATURDAY, SUNDAY = 0, 5, 6
WEDNESDAY = date(2026, 10, 21)


@pytest.mark.parametrize(
    "view, chosen, week_start, first, last, count",
    [
        (View.MONTH, WEDNESDAY, MONDAY, date(2026, 9, 28), date(2026, 11, 1), 35),
        (View.MONTH, WEDNESDAY, SUNDAY, date(2026, 9, 27), date(2026, 10, 31), 35),
        (View.MONTH, date(2026, 8, 31), MONDAY, date(2026, 7, 27), date(2026, 9, 6), 42),  # six weeks
        (View.MONTH, date(2027, 2, 14), MONDAY, date(2027, 2, 1), date(2027, 2, 28), 28),  # four
        (View.WEEK, WEDNESDAY, MONDAY, date(2026, 10, 19), date(2026, 10, 25), 7),
        (View.WEEK, date(2026, 10, 25), SUNDAY, date(2026, 10, 25), date(2026, 10, 31), 7),
        (View.WORK_WEEK, WEDNESDAY, MONDAY, date(2026, 10, 19), date(2026, 10, 23), 5),
        (View.WORK_WEEK, WEDNESDAY, SUNDAY, date(2026, 10, 19), date(2026, 10, 23), 5),
        (View.WORK_WEEK, WEDNESDAY, SATURDAY, date(2026, 10, 18), date(2026, 10, 22), 5),  # from Sunday to Thursday
        (View.DAY, WEDNESDAY, MONDAY, WEDNESDAY, WEDNESDAY, 1),
        (View.AGENDA, WEDNESDAY, MONDAY, WEDNESDAY, date(2026, 10, 27), 7),
    ],
)
def test_view_shows_whole_days(view, chosen, week_start, first, last, count):
    days = days_of(view, chosen, week_start)

    assert (days[0], days[-1], len(days)) == (first, last, count)


def test_window_is_from_midnight_to_midnight_in_its_zone():
    window = window_of(View.WEEK, date(2026, 10, 25), BERLIN, MONDAY)

    assert window.start == datetime(2026, 10, 18, 22, tzinfo=UTC)  # summer time
    assert window.end == datetime(2026, 10, 25, 23, tzinfo=UTC)  # standard time


@pytest.mark.parametrize(
    "view, chosen, before, after",
    [
        (View.MONTH, date(2026, 1, 31), date(2025, 12, 31), date(2026, 2, 28)),
        (View.WEEK, WEDNESDAY, date(2026, 10, 14), date(2026, 10, 28)),
        (View.DAY, date(2026, 3, 1), date(2026, 2, 28), date(2026, 3, 2)),
        (View.MONTH, date(1900, 1, 5), date(1900, 1, 5), date(1900, 2, 5)),  # the first year of the calendar
        (View.DAY, date(2199, 12, 31), date(2199, 12, 30), date(2199, 12, 31)),
    ],
)
def test_window_has_the_dates_of_the_previous_and_next_view(view, chosen, before, after):
    window = window_of(view, chosen, BERLIN, MONDAY)

    assert (window.previous_date, window.next_date) == (before, after)


@pytest.mark.parametrize(
    "first, number",
    [(date(2026, 10, 19), 43), (date(2026, 10, 18), 43), (date(2026, 12, 28), 53), (date(2027, 1, 4), 1)],
)
def test_week_number_is_that_of_its_thursday(first, number):
    assert week_number(first) == number


def test_day_without_midnight_starts_with_its_first_wall_time():
    assert midnight(date(2018, 11, 4), ZoneInfo("America/Sao_Paulo")) == datetime(2018, 11, 4, 3, tzinfo=UTC)


ADDRESS = (
    "view=week&date=2026-10-21&zone=Asia/Kolkata&beside=UTC&q=stand"
    "&off=0123456789abcdef0123456789abcdef&noruns=3,7&failures=1"
)


def test_query_is_unchanged_after_parsing_and_rendering():
    query = Query.parse(QueryDict(ADDRESS))

    assert (query.view, query.date, query.zone, query.second_zone, query.text) == (
        View.WEEK,
        WEDNESDAY,
        "Asia/Kolkata",
        "UTC",
        "stand",
    )
    assert query.filter.noruns == {3, 7}
    assert query.address("/calendar/") == f"/calendar/?{ADDRESS}"


def test_empty_query_is_the_default_query():
    assert Query.parse(QueryDict("")) == Query()
    assert Query().address("/calendar/") == "/calendar/"


@pytest.mark.parametrize(
    "text, zone",
    [
        ("berlin", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("europe/berlin", "Europe/Berlin"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("utc", "UTC"),
    ],
)
def test_zone_is_found_by_its_name_in_any_case_and_by_its_city(text, zone):
    assert Query.parse({"zone": text}).zone == zone


@pytest.mark.parametrize(
    "parameter, text",
    [
        ("view", "year"),
        ("date", "yesterday"),
        ("date", "0001-01-01"),
        ("date", "9999-12-31"),
        ("date", "2026-02-30"),
        ("zone", "Mars/Olympus"),
        ("zone", "\0"),
        ("beside", "x" * 500),
        ("off", "1,2"),
        ("off", "\0"),
        ("noruns", "-1"),
        ("noruns", "9" * 30),
        ("noruns", "²"),
        ("noruns", ",".join(["1"] * 2000)),
        ("failures", "yes"),
        ("q", "x" * 201),
        ("q", "a\0b"),
    ],
)
def test_invalid_query_parameter_is_refused_by_name(parameter, text):
    with pytest.raises(BadAddress) as caught:
        Query.parse({parameter: text})

    assert caught.value.parameter == parameter


def test_switches_hide_listed_entries_that_are_not_checked():
    first, second, not_listed = (f"{number:032x}" for number in (1, 2, 3))
    before = Filter.parse({"off": f"{first},{not_listed}", "noruns": "5"})
    form = QueryDict(f"had={first},{second}&calendar={first}&hadruns=5,6&collection=5&collection=6&cancelled=1")

    after = Filter.from_switches(form, before)

    assert sorted(each.hex for each in after.off) == [second, not_listed]
    assert after.noruns == frozenset()
    assert (after.noskipped, after.cancelled, after.failures) == (True, True, False)
