"""Splitting a series: "this and following" occurrences end or change."""

from datetime import date, timedelta

import pytest

from calendars import editing
from calendars.errors import CalendarError
from calendars.models import Event
from tests.calendars.conftest import day, days, expand, recurrence, starts, times, wall, wall_time
from tests.calendars.editing.stored import LATER, SECOND, dump_calendars, subjects
from tests.conftest import NOW, utc


@pytest.fixture
def with_exceptions_around(weekly):
    """Three exceptions on each side of 2 February: another subject, a move to Tuesday, a cancellation."""
    for n, text in enumerate(["2026-01-12", "2026-02-02"]):
        first = day(text)
        editing.change_occurrence(weekly, first, {"subject": f"Other {n}"}, NOW)
        tuesday = f"{first + timedelta(days=8)}T15:00"
        editing.change_occurrence(weekly, first + timedelta(days=7), times(tuesday), NOW)
        editing.cancel_occurrence(weekly, first + timedelta(days=14), NOW)
    return weekly


MIDDLE = day("2026-02-02")
BEFORE = ["2026-01-05", "2026-01-12", "2026-01-20"]
AFTER = ["2026-02-02", "2026-02-10", "2026-02-23", "2026-03-02", "2026-03-09"]


def test_split_divides_the_number_of_occurrences(weekly):
    rest = editing.change_following(weekly, MIDDLE, {"subject": "Planning"}, LATER)

    weekly.refresh_from_db()
    assert weekly.recurrence["range"]["numberOfOccurrences"] == 4
    assert rest.recurrence["range"]["numberOfOccurrences"] == 6
    assert rest.recurrence["range"]["startDate"] == "2026-02-02"
    assert (len(days(weekly)), len(days(rest))) == (4, 6)


@pytest.mark.parametrize("range", [{"type": "noEnd"}, {"type": "endDate", "endDate": "2026-03-10"}])
def test_series_without_a_count_ends_the_day_before_the_split(make_event, range):
    series = make_event(recurrence=recurrence(**range))

    rest = editing.change_following(series, MIDDLE, {"subject": "Planning"}, LATER)

    series.refresh_from_db()
    assert series.recurrence["range"]["endDate"] == "2026-02-01"
    assert series.covers_until == utc("2026-01-26T10:00Z")
    assert rest.recurrence["range"]["type"] == range["type"]
    assert days(rest)[:2] == ["2026-02-02", "2026-02-09"]


@pytest.mark.parametrize(
    "pattern, start, third, remaining_days",
    [
        # the interval is counted on from the period of the day on which the series is split
        ({"type": "daily", "interval": 3}, "2026-01-05", "2026-01-11", ["2026-01-11", "2026-01-14"]),
        (
            {"type": "weekly", "interval": 2, "daysOfWeek": ["monday", "saturday"], "firstDayOfWeek": "monday"},
            "2026-01-05",
            "2026-01-19",
            ["2026-01-19", "2026-01-24"],
        ),
        # February has no 31st: the day of the split is not the day of the pattern
        (
            {"type": "absoluteMonthly", "interval": 1, "dayOfMonth": 31},
            "2025-12-31",
            "2026-02-28",
            ["2026-02-28", "2026-03-31"],
        ),
        (
            {"type": "relativeMonthly", "interval": 2, "daysOfWeek": ["friday"], "index": "last"},
            "2026-01-30",
            "2026-05-29",
            ["2026-05-29", "2026-07-31"],
        ),
    ],
)
def test_split_keeps_all_days_of_the_series(make_event, pattern, start, third, remaining_days):
    series = make_event(**times(f"{start}T10:00"), recurrence=recurrence(pattern, start, count=4))
    whole = days(series, "2025-01-01")

    rest = editing.change_following(series, day(third), {"subject": "Planning"}, LATER)

    series.refresh_from_db()
    assert days(rest, "2025-01-01") == remaining_days
    assert days(series, "2025-01-01") + days(rest, "2025-01-01") == whole


def test_exceptions_move_to_the_new_series_if_its_times_stay_the_same(with_exceptions_around):
    rest = editing.change_following(with_exceptions_around, MIDDLE, {"show_as": "free"}, LATER)

    with_exceptions_around.refresh_from_db()
    assert (days(with_exceptions_around), days(rest)) == (BEFORE, AFTER)
    assert subjects(rest)[:2] == ["Other 1", "Stand-up"]
    assert {each.details.show_as for each in expand(with_exceptions_around)} == {"busy"}
    assert {each.details.show_as for each in expand(rest)} == {"free"}


def test_exceptions_of_the_new_series_are_deleted_if_its_times_change(with_exceptions_around):
    rest = editing.change_following(with_exceptions_around, MIDDLE, times("2026-02-03T08:00"), LATER)

    with_exceptions_around.refresh_from_db()
    assert days(with_exceptions_around) == BEFORE
    # Mondays that begin on or after the Tuesday
    assert starts(rest)[:2] == ["2026-02-09T08:00", "2026-02-16T08:00"]
    assert not rest.exceptions.exists()


def test_following_occurrences_can_get_another_pattern(with_exceptions_around):
    rest = editing.change_following(
        with_exceptions_around, MIDDLE, {"recurrence": recurrence("daily", "2026-02-02", count=3)}, LATER
    )

    assert days(rest) == ["2026-02-02", "2026-02-03", "2026-02-04"]
    assert not rest.exceptions.exists()


def test_following_occurrences_can_become_a_single_event(weekly):
    rest = editing.change_following(weekly, MIDDLE, {"recurrence": None}, LATER)

    assert days(rest) == ["2026-02-02"]
    assert not rest.is_series


def test_unchanged_recurrence_keeps_the_following_occurrences(with_exceptions_around):
    changes = {"recurrence": with_exceptions_around.recurrence, "show_as": "free"}

    assert days(editing.change_following(with_exceptions_around, MIDDLE, changes, LATER)) == AFTER


# the series is on ten Mondays from 5 January; six are left from 2 February
REPEATED = {
    "another pattern": ({"pattern": recurrence("daily")["pattern"]}, {}, "2026-02-02", 6),
    "another count": ({"range": {"numberOfOccurrences": 3}}, {}, "2026-02-02", 3),
    "another time": ({}, times("2026-02-02T12:00"), "2026-02-02", 6),
    "another day": ({"pattern": recurrence("daily")["pattern"]}, times("2026-02-04T10:00"), "2026-02-04", 6),
    "its own start": ({"range": {"startDate": "2026-02-09"}}, {}, "2026-02-09", 10),
}


@pytest.mark.parametrize("document, changes, first, count", REPEATED.values(), ids=REPEATED)
def test_recurrence_copied_from_the_series_applies_to_the_following_occurrences(
    weekly, document, changes, first, count
):
    pattern = {**weekly.recurrence["pattern"], **document.get("pattern", {})}
    whole = {"pattern": pattern, "range": {**weekly.recurrence["range"], **document.get("range", {})}}

    rest = editing.change_following(weekly, MIDDLE, {"recurrence": whole, **changes}, LATER)

    weekly.refresh_from_db()
    assert days(weekly)[-1] == "2026-01-26"
    assert (days(rest)[0], len(days(rest))) == (first, count)


@pytest.mark.parametrize("document", ["weekly", [], {"range": 5}, {"range": {}}, {"pattern": {}}])
def test_invalid_recurrence_of_the_following_occurrences_is_refused(weekly, document):
    before = dump_calendars()

    with pytest.raises(CalendarError):
        editing.change_following(weekly, MIDDLE, {"recurrence": document}, LATER)

    assert dump_calendars() == before


def test_following_occurrences_become_a_separate_event(calendar, make_event):
    series, _ = editing.create(
        calendar, {**times("2026-01-05T10:00"), "recurrence": recurrence()}, NOW, transaction_id="a"
    )

    rest = editing.change_following(series, MIDDLE, {"subject": "Planning"}, LATER)

    assert rest.pk != series.pk
    assert rest.uid != series.uid
    assert (rest.transaction_id, rest.created_at) == (None, LATER)
    assert Event.objects.get(pk=series.pk).transaction_id == "a"


def test_split_at_the_first_occurrence_changes_the_series_itself(with_exceptions_around):
    rest = editing.change_following(with_exceptions_around, day("2026-01-05"), {"subject": "Planning"}, LATER)

    assert rest == with_exceptions_around
    assert Event.objects.count() == 1
    assert days(rest) == BEFORE + AFTER


def test_refused_split_does_not_change_the_series(with_exceptions_around):
    before = dump_calendars()

    with pytest.raises(CalendarError):
        editing.change_following(with_exceptions_around, MIDDLE, {"end": wall("2026-02-02T09:00")}, LATER)

    assert dump_calendars() == before


def test_all_day_series_can_be_split(make_event):
    changes = {"is_all_day": True, **times("2026-01-05T00:00", "2026-01-07T00:00"), "recurrence": recurrence(count=3)}
    series = make_event(**changes)

    rest = editing.change_following(series, SECOND, {"subject": "Planning"}, LATER)

    assert (rest.start, rest.end) == (wall_time("2026-01-12"), wall_time("2026-01-14"))
    assert (rest.covers_from, rest.covers_until) == (utc("2026-01-12T00:00Z"), utc("2026-01-21T00:00Z"))


def test_days_that_a_zone_never_had_are_not_counted(make_event):
    # Samoa moved across the date line at the end of 29 December 2011, so it had no 30 December
    series = make_event(
        **times("2011-12-28T10:00", zone="Pacific/Apia"), recurrence=recurrence("daily", "2011-12-28", count=5)
    )

    rest = editing.change_following(series, date(2011, 12, 31), {"subject": "Planning"}, LATER)

    series.refresh_from_db()
    assert days(series, "2011-01-01") == ["2011-12-28", "2011-12-29"]
    assert days(rest, "2011-01-01") == ["2011-12-31", "2012-01-01", "2012-01-02"]


def test_series_can_be_ended_before_an_occurrence(with_exceptions_around):
    editing.truncate_series(with_exceptions_around, MIDDLE, LATER)

    event = Event.objects.get()
    assert days(event) == BEFORE
    assert event.exceptions.count() == 3
    assert event.covers_until == utc("2026-01-26T10:00Z")


def test_a_series_that_ends_before_its_first_occurrence_is_deleted(weekly):
    editing.truncate_series(weekly, day("2026-01-05"), LATER)

    assert not Event.objects.exists()
