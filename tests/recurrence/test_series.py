from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.counting import count_within
from recurrence.days import EveryNDays, MonthDay, NthOfWeekdays, Weekly
from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, Counted, between
from recurrence.series import Series
from tests.recurrence.samples import utc

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
NINE = 9 * 3600
FIFTH = date(2026, 1, 5)  # a Monday


def series(days=None, start=NINE, length=HOUR, zone=UTC, last=None):
    return Series(days or EveryNDays(FIFTH), start, length, zone, last)


def days_in(series, start, end):
    return [each.day.day for each in series.occurrences(utc(start), utc(end))]


# Windows are half open


@pytest.mark.parametrize(
    "start, end, days",
    [
        ("2026-01-07T09:00Z", "2026-01-07T10:00Z", [7]),
        ("2026-01-07T09:59Z", "2026-01-08T09:01Z", [7, 8]),
        # occurrences that end at the start of the window, or start at its end, are not in the window
        ("2026-01-07T10:00Z", "2026-01-08T09:00Z", []),
        ("2026-01-07T09:30Z", "2026-01-07T09:31Z", [7]),
        ("2026-01-07T09:30Z", "2026-01-07T09:30Z", [7]),
        ("2026-01-08T00:00Z", "2026-01-07T00:00Z", []),
        ("2025-01-01T00:00Z", "2026-01-05T09:00Z", []),
        ("2025-01-01T00:00Z", "2026-01-05T09:00:00.000001Z", [5]),
    ],
)
def test_window_has_overlapping_occurrences(start, end, days):
    assert days_in(series(), start, end) == days


@pytest.mark.parametrize(
    "start, end, days",
    [
        ("2026-01-07T09:00Z", "2026-01-08T09:00Z", [7]),
        ("2026-01-07T08:59Z", "2026-01-07T09:00Z", []),
        ("2026-01-07T09:00:00.000001Z", "2026-01-07T10:00Z", []),
    ],
)
def test_occurrence_of_zero_length_is_in_the_window_of_its_start(start, end, days):
    assert days_in(series(length=timedelta(0)), start, end) == days


def test_occurrences_of_several_days_overlap_each_other():
    assert days_in(series(length=3 * DAY), "2026-01-20T10:00Z", "2026-01-20T11:00Z") == [18, 19, 20]


@pytest.mark.parametrize(
    "zone, start, length, window",
    [
        # in UTC, the occurrence ends two days after its local day
        ("Pacific/Pago_Pago", 23.5, 23, ("2026-01-09T09:00Z", "2026-01-09T09:01Z")),
        ("America/New_York", 23.75, 23, ("2026-01-09T03:00Z", "2026-01-09T03:01Z")),
        ("Pacific/Pago_Pago", 23.5, 71, ("2026-01-11T09:00Z", "2026-01-11T09:01Z")),
        # in UTC, the occurrence starts the day before its local day
        ("Pacific/Kiritimati", 0, 1, ("2026-01-06T10:00Z", "2026-01-06T10:01Z")),
        ("Pacific/Kiritimati", 0, 0, ("2026-01-06T10:00Z", "2026-01-06T10:01Z")),
    ],
)
def test_window_considers_the_offset_of_the_zone(zone, start, length, window):
    weekly = series(Weekly(date(2025, 1, 1), frozenset({2})), int(start * 3600), length * HOUR, ZoneInfo(zone))

    assert days_in(weekly, *window) == [7]


def test_occurrences_of_a_window_are_computed_lazily():
    endless = series().occurrences(FIRST_INSTANT, LAST_INSTANT)

    assert next(endless).day == FIFTH
    assert next(endless).day == FIFTH + DAY


@given(st.integers(0, 60 * 24 * 400), st.integers(0, 60 * 24 * 40), st.sampled_from([UTC, BERLIN, NEW_YORK]))
def test_fire_times_in_a_window_are_the_starts_of_occurrences(minutes, length, zone):
    daily = series(Weekly(FIFTH, frozenset({0, 2, 5}), 2), zone=zone)
    start = utc("2025-12-20T00:00Z") + timedelta(minutes=minutes)
    end = start + timedelta(minutes=length)

    starts = [each.start for each in daily.occurrences(start, end) if each.start >= start]

    assert [*between(daily, start, end)] == starts
    assert count_within(daily, start, end) == len(starts)


def test_series_counts_by_arithmetic():
    old = series(EveryNDays(date(1900, 1, 1)), zone=NEW_YORK)

    assert isinstance(old, Counted)
    assert old.count_before(utc("2000-01-01T14:00Z")) == 36_524
    assert old.count_before(utc("2000-01-01T14:00:00.000001Z")) == 36_525
    assert old.count_before(FIRST_INSTANT) == 0


# The ends of a series


@pytest.mark.parametrize(
    "days",
    [
        EveryNDays(FIFTH, 5),
        Weekly(FIFTH, frozenset({0}), 3),
        MonthDay(FIFTH, 5, 7),
        NthOfWeekdays(FIFTH, frozenset({0}), 1, 24),
    ],
)
def test_endless_series_ends_with_the_calendar(days):
    endless = series(days)

    *_, last = endless.occurrences(utc("9990-01-01T00:00Z"), LAST_INSTANT)

    assert last.day.year in (9998, 9999)
    assert endless.last_occurrence is None
    assert endless.after(last.start) is None
    assert endless.day_after(last.day) is None
    assert endless.after(last.start - timedelta(microseconds=1)) == last.start


@pytest.mark.parametrize("zone", [ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Etc/GMT+12"), ZoneInfo("Asia/Manila")])
@pytest.mark.parametrize("length", [timedelta(0), 36 * HOUR, 366 * DAY])
def test_series_stays_in_the_calendar_in_each_zone(zone, length):
    first = series(EveryNDays(date(1, 1, 3)), 86_399, length, zone).first
    *_, last = series(EveryNDays(date(9990, 1, 1)), 86_399, length, zone, date.max).occurrences(
        utc("9995-01-01T00:00Z"), LAST_INSTANT
    )

    assert first.start >= FIRST_INSTANT
    assert last.end <= LAST_INSTANT


@pytest.mark.parametrize("last", [date(2026, 1, 25), date(2026, 1, 31), date(2026, 2, 1)])
def test_last_occurrence_is_on_the_last_day_of_the_rule_up_to_the_end(last):
    weekly = series(Weekly(FIFTH, frozenset({0, 6})), last=last)

    assert weekly.last_occurrence.day == {25: date(2026, 1, 25), 31: date(2026, 1, 26), 1: last}[last.day]


def test_series_may_end_on_the_last_day_of_the_calendar():
    assert series(last=date.max).last_occurrence.day.year == 9999


def test_day_before_and_day_after_accept_any_day():
    weekly = series(Weekly(FIFTH, frozenset({0})), last=date(2026, 1, 19))

    assert (weekly.day_before(date(2026, 1, 14)), weekly.day_after(date(2026, 1, 14))) == (
        date(2026, 1, 12),
        date(2026, 1, 19),
    )
    assert (weekly.day_before(FIFTH), weekly.day_before(date.min)) == (None, None)
    assert (weekly.day_after(date(2026, 1, 19)), weekly.day_after(date.max)) == (None, None)
    assert weekly.day_before(date.max) == date(2026, 1, 19)
    assert weekly.day_after(date.min) == FIFTH


def test_occurrence_is_found_by_its_start():
    daily = series(zone=BERLIN, length=30 * HOUR)

    assert daily.occurrence_starting_at(utc("2026-07-01T07:00Z")).day == date(2026, 7, 1)
    assert daily.occurrence_starting_at(utc("2026-07-01T07:00:01Z")) is None
    assert daily.occurrence_starting_at(LAST_INSTANT) is None


def test_series_with_the_same_meaning_are_equal():
    assert series(zone=BERLIN) == series(zone=ZoneInfo("Europe/Berlin"))
    assert len({series(), series(), series(length=DAY)}) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"start": -1},
        {"start": 86_400},
        {"length": -HOUR},
        {"last": date(2026, 1, 4)},
        {"days": Weekly(FIFTH, frozenset({1}))},  # its first day is another day
        {"days": EveryNDays(date(2011, 12, 30)), "zone": ZoneInfo("Pacific/Apia")},
        {"days": EveryNDays(date.min)},
        {"days": EveryNDays(date.max)},
    ],
)
def test_invalid_series_is_refused(change):
    with pytest.raises(ValueError, match="must"):
        series(**change)


# Clock changes


@given(st.sampled_from([BERLIN, NEW_YORK, ZoneInfo("Australia/Lord_Howe")]), st.integers(0, 95), st.integers(0, 200))
def test_occurrences_equal_separately_converted_wall_times(zone, quarter, length):
    daily = series(EveryNDays(date(2026, 1, 1)), quarter * 900, length * timedelta(minutes=15), zone)

    for occurrence in daily.occurrences(utc("2026-01-01T00:00Z"), utc("2027-01-01T00:00Z")):
        wall = datetime.combine(occurrence.day, datetime.min.time()) + timedelta(minutes=15 * quarter)
        assert occurrence.start == wall.replace(tzinfo=zone).astimezone(UTC)
        end = (wall + daily.length).replace(tzinfo=zone).astimezone(UTC)
        assert occurrence.end == max(occurrence.start, end)
