"""Graph's recurring events: published examples, and each pattern with each range."""

from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

import pytest

from recurrence.schedules import between
from recurrence.wire import parse, render
from recurrence.wire.graph import read, read_date_time
from tests.recurrence.samples import utc
from tests.recurrence.wire.graph_events import LONG_AGO, NEVER, NEW_YEAR, event, first_days, series

PACIFIC = "Pacific Standard Time"
MON_TO_FRI = ["monday", "tuesday", "wednesday", "thursday", "friday"]
ALL_DAYS = ["sunday", *MON_TO_FRI, "saturday"]

DAILY = {"type": "daily"}
FORTNIGHTLY = {"type": "weekly", "interval": 2, "daysOfWeek": ["sunday", "tuesday"]}
MONTHLY_ON_THE_30TH = {"type": "absoluteMonthly", "dayOfMonth": 30}
FIRST_THURSDAY = {"type": "relativeMonthly", "daysOfWeek": ["Thursday"], "index": "first"}
LEAP_DAY = {"type": "absoluteYearly", "month": 2, "dayOfMonth": 29}
LAST_FRIDAY_OF_MAY = {"type": "relativeYearly", "month": 5, "daysOfWeek": ["friday"], "index": "last"}


# The examples of the article, and of questions about it


def test_every_monday_of_a_season():
    weekly = series(
        {"type": "weekly", "daysOfWeek": ["Monday"]},
        {"type": "endDate", "endDate": "2017-12-31"},
        start="2017-09-04T13:00:00",
        end="2017-09-04T13:30:00",
        zone=PACIFIC,
    )

    found = [*weekly.occurrences(LONG_AGO, NEVER)]

    assert len(found) == 17
    assert found[-1] == weekly.last_occurrence
    assert found[-1].day == date(2017, 12, 25)
    assert (found[0].start, found[0].end) == (utc("2017-09-04T20:00Z"), utc("2017-09-04T20:30Z"))


@pytest.mark.parametrize(
    "interval, days",
    [
        # the interval is counted from the first occurrence, in September, and not from the month of the start
        (2, "2017-09-07 2017-11-02 2018-01-04 2018-03-01 2018-05-03 2018-07-05"),
        (1, "2017-09-07 2017-10-05 2017-11-02"),
    ],
)
def test_interval_of_the_first_thursday_is_counted_from_the_first_occurrence(interval, days):
    found = series(FIRST_THURSDAY | {"interval": interval}, start="2017-08-29T13:00:00", zone=PACIFIC)

    assert first_days(len(days.split()), found) == days.split()


@pytest.mark.parametrize(
    "start, pattern, days",
    [
        # one occurrence a month, on a Thursday or a Friday
        (
            "2017-05-15",
            {"type": "relativeMonthly", "daysOfWeek": ["thursday", "friday"]},
            "2017-06-01 2017-07-06 2017-08-03 2017-09-01",
        ),
        ("2017-04-02", {"type": "weekly", "daysOfWeek": ["Thursday"]}, "2017-04-06 2017-04-13"),
        # weeks start on Sunday by default
        ("2024-05-05", FORTNIGHTLY, "2024-05-05 2024-05-07 2024-05-19 2024-05-21"),
        ("2024-05-05", FORTNIGHTLY | {"firstDayOfWeek": "Sunday"}, "2024-05-05 2024-05-07 2024-05-19 2024-05-21"),
        ("2024-05-05", FORTNIGHTLY | {"firstDayOfWeek": "monday"}, "2024-05-05 2024-05-14 2024-05-19 2024-05-28"),
        ("2024-05-05", FORTNIGHTLY | {"firstDayOfWeek": "tuesday"}, "2024-05-05 2024-05-14 2024-05-19 2024-05-28"),
        # a start after the last day of its week belongs to the next week; an iCalendar rule would skip one more week
        (
            "2024-03-01",
            {"type": "weekly", "interval": 2, "daysOfWeek": ["tuesday"]},
            "2024-03-05 2024-03-19 2024-04-02",
        ),
        # a day that a month does not have is its last day; the next occurrence is on the 30th again
        (
            "2012-08-30",
            MONTHLY_ON_THE_30TH | {"interval": 2},
            "2012-08-30 2012-10-30 2012-12-30 2013-02-28 2013-04-30",
        ),
        ("2026-01-31", {"type": "absoluteMonthly", "dayOfMonth": 31}, "2026-01-31 2026-02-28 2026-03-31 2026-04-30"),
        # the day has passed in the month of the start, so the interval is counted from the next month
        (
            "2026-01-31",
            {"type": "absoluteMonthly", "dayOfMonth": 5, "interval": 3},
            "2026-02-05 2026-05-05 2026-08-05",
        ),
        ("2023-06-01", LEAP_DAY, "2024-02-29 2025-02-28 2026-02-28 2027-02-28 2028-02-29"),
        ("2023-02-28", LEAP_DAY | {"interval": 4}, "2023-02-28 2027-02-28 2031-02-28"),
        ("2026-06-01", LAST_FRIDAY_OF_MAY | {"interval": 2}, "2027-05-28 2029-05-25"),
        # the index counts all listed days together: working days, weekend days or all days
        ("2026-01-01", FIRST_THURSDAY | {"daysOfWeek": MON_TO_FRI, "index": "fourth"}, "2026-01-06 2026-02-05"),
        (
            "2026-01-01",
            FIRST_THURSDAY | {"daysOfWeek": ["saturday", "sunday"], "index": "last"},
            "2026-01-31 2026-02-28 2026-03-29",
        ),
        ("2026-01-01", FIRST_THURSDAY | {"daysOfWeek": ALL_DAYS, "index": "last"}, "2026-01-31 2026-02-28"),
        (
            "2026-01-01",
            FIRST_THURSDAY | {"daysOfWeek": ["thursday", "friday"], "index": "second"},
            "2026-01-02 2026-02-06 2026-03-06 2026-04-03",
        ),
        # the last is the fourth or fifth
        ("2026-01-01", FIRST_THURSDAY | {"index": "last"}, "2026-01-29 2026-02-26 2026-03-26 2026-04-30"),
        ("2026-01-01", FIRST_THURSDAY | {"index": "fourth"}, "2026-01-22 2026-02-26 2026-03-26 2026-04-23"),
        # the same day twice counts once
        ("2026-01-05", {"type": "weekly", "daysOfWeek": ["monday", "Monday"]}, "2026-01-05 2026-01-12"),
    ],
)
def test_pattern_has_the_expected_days(start, pattern, days):
    found = series(pattern, start=f"{start}T10:00:00")

    assert first_days(len(days.split()), found) == days.split()


def test_ten_occurrences_from_august_30_end_on_the_last_day_of_february():
    limits = {"type": "numbered", "numberOfOccurrences": 10}
    counted = series(MONTHLY_ON_THE_30TH | {"interval": 2}, limits, start="2012-08-30T10:00:00")

    assert counted.last_occurrence.day == date(2014, 2, 28)
    assert len(first_days(100, counted)) == 10


def test_window_does_not_restart_the_count_of_a_series():
    counted = series(DAILY, {"type": "numbered", "numberOfOccurrences": 10})

    assert first_days(100, counted, utc("2026-01-12T00:00Z")) == ["2026-01-12", "2026-01-13", "2026-01-14"]


# Each pattern with each range


@pytest.mark.parametrize(
    "pattern, days",
    [
        (DAILY, "2026-01-05 2026-01-06 2026-01-07 2026-01-08"),
        (DAILY | {"interval": 3}, "2026-01-05 2026-01-08 2026-01-11 2026-01-14"),
        (FORTNIGHTLY, "2026-01-06 2026-01-18 2026-01-20 2026-02-01"),
        (MONTHLY_ON_THE_30TH, "2026-01-30 2026-02-28 2026-03-30 2026-04-30"),
        (FIRST_THURSDAY, "2026-02-05 2026-03-05 2026-04-02 2026-05-07"),
        (LEAP_DAY, "2026-02-28 2027-02-28 2028-02-29 2029-02-28"),
        (LAST_FRIDAY_OF_MAY, "2026-05-29 2027-05-28 2028-05-26 2029-05-25"),
    ],
)
@pytest.mark.parametrize("type", ["noEnd", "endDate", "numbered"])
def test_each_pattern_works_with_each_range(pattern, days, type):
    days = days.split()
    limits = {"type": type, "endDate": days[2], "numberOfOccurrences": 3}

    found = series(pattern, limits)

    assert first_days(4, found) == (days if type == "noEnd" else days[:3])
    assert found.last_occurrence == (None if type == "noEnd" else found.occurrence_on(date.fromisoformat(days[2])))
    starts = [each.start for each in found.occurrences(NEW_YEAR, utc("2029-12-31T00:00Z"))]
    assert [*between(found, NEW_YEAR, utc("2029-12-31T00:00Z"))] == starts


def test_last_occurrence_may_be_before_the_end_date():
    found = series({"type": "weekly", "daysOfWeek": ["monday"]}, {"type": "endDate", "endDate": "2026-01-25"})

    assert found.last_occurrence.day == date(2026, 1, 19)


def test_end_date_limits_the_local_day_of_the_start():
    limits = {"type": "endDate", "endDate": "2026-01-06"}
    late = series(DAILY, limits, start="2026-01-05T23:00:00", end="2026-01-06T02:00:00", zone="America/New_York")

    assert late.last_occurrence.start == utc("2026-01-07T04:00Z")
    assert late.last_occurrence.end == utc("2026-01-07T07:00Z")


@pytest.mark.parametrize("pattern", [DAILY, FORTNIGHTLY, MONTHLY_ON_THE_30TH, FIRST_THURSDAY, LAST_FRIDAY_OF_MAY])
def test_too_large_count_is_an_endless_series(pattern):
    assert series(pattern, {"type": "numbered", "numberOfOccurrences": 2**31 - 1}).last_occurrence is None


@pytest.mark.parametrize(
    "pattern, days",
    [(DAILY, "2525-12-31"), (FORTNIGHTLY, "2526-01-01"), (LEAP_DAY, "2526-02-28"), (FIRST_THURSDAY, "2526-01-03")],
)
def test_endless_series_has_occurrences_in_500_years(pattern, days):
    assert first_days(1, series(pattern), utc("2525-12-31T00:00Z")) == [days]


# Clock changes


def local(occurrence, zone):
    return [f"{at.astimezone(ZoneInfo(zone)):%m-%d %H:%M}" for at in (occurrence.start, occurrence.end)]


@pytest.mark.parametrize(
    "zone, day, span, expected, utc_start",
    [
        # clocks skip 02:00 to 03:00: a start in this hour is one hour later
        ("America/New_York", "2026-03-08", "02:30 03:30", ["03-08 03:30", "03-08 03:30"], "2026-03-08T07:30Z"),
        ("America/New_York", "2026-03-08", "02:30 02:45", ["03-08 03:30", "03-08 03:45"], "2026-03-08T07:30Z"),
        # an end before the shifted start is equal to the start
        ("America/New_York", "2026-03-08", "02:45 03:15", ["03-08 03:45", "03-08 03:45"], "2026-03-08T07:45Z"),
        # the end is a wall time, so the occurrence is one hour shorter
        ("America/New_York", "2026-03-08", "01:00 04:00", ["03-08 01:00", "03-08 04:00"], "2026-03-08T06:00Z"),
        # a repeated start is the first instant, and an occurrence across the repetition is one hour longer
        ("America/New_York", "2026-11-01", "01:30 01:45", ["11-01 01:30", "11-01 01:45"], "2026-11-01T05:30Z"),
        ("America/New_York", "2026-11-01", "00:30 03:00", ["11-01 00:30", "11-01 03:00"], "2026-11-01T04:30Z"),
        ("Europe/London", "2026-03-29", "01:30 02:30", ["03-29 02:30", "03-29 02:30"], "2026-03-29T01:30Z"),
        ("Europe/London", "2026-10-25", "01:30 02:30", ["10-25 01:30", "10-25 02:30"], "2026-10-25T00:30Z"),
        # a change by half an hour
        ("Australia/Lord_Howe", "2026-10-04", "02:15 03:00", ["10-04 02:45", "10-04 03:00"], "2026-10-03T15:45Z"),
        ("Australia/Lord_Howe", "2026-04-05", "01:45 02:15", ["04-05 01:45", "04-05 02:15"], "2026-04-04T14:45Z"),
        # a change at midnight: the day starts at 01:00
        ("America/Sao_Paulo", "2017-10-15", "00:00 02:00", ["10-15 01:00", "10-15 02:00"], "2017-10-15T03:00Z"),
        ("America/Sao_Paulo", "2017-10-14", "23:00 00:30", ["10-14 23:00", "10-15 01:30"], "2017-10-15T02:00Z"),
        ("America/Sao_Paulo", "2018-02-17", "23:30 00:30", ["02-17 23:30", "02-18 00:30"], "2018-02-18T01:30Z"),
        ("Asia/Kolkata", "2026-03-29", "01:30 02:30", ["03-29 01:30", "03-29 02:30"], "2026-03-28T20:00Z"),
    ],
)
def test_occurrence_keeps_its_wall_times_at_a_clock_change(zone, day, span, expected, utc_start):
    start, end = span.split()
    later = date(2017, 1, 1) + timedelta(days=end < start)
    daily = series(DAILY, start=f"2017-01-01T{start}:00", end=f"{later}T{end}:00", zone=zone)

    found = daily.occurrence_on(date.fromisoformat(day))

    assert local(found, zone) == expected
    assert found.start == utc(utc_start)


def test_series_in_utc_keeps_its_time_in_utc():
    starts = [each.start.hour for each in series(DAILY, zone="UTC").occurrences(NEW_YEAR, utc("2026-12-31T00:00Z"))]

    assert set(starts) == {10}


@pytest.mark.parametrize(
    "pattern, start, days",
    [
        (DAILY, "2011-12-28", "2011-12-28 2011-12-29 2011-12-31 2012-01-01"),
        # the skipped day still counts for intervals of days
        (DAILY | {"interval": 2}, "2011-12-28", "2011-12-28 2012-01-01 2012-01-03 2012-01-05"),
        # the series starts one day later, and the intervals are counted from that day
        (DAILY | {"interval": 2}, "2011-12-30", "2011-12-31 2012-01-02 2012-01-04 2012-01-06"),
        ({"type": "weekly", "daysOfWeek": ["friday"]}, "2011-12-23", "2011-12-23 2012-01-06 2012-01-13 2012-01-20"),
        (MONTHLY_ON_THE_30TH, "2011-11-30", "2011-11-30 2012-01-30 2012-02-29 2012-03-30"),
    ],
)
def test_day_that_a_zone_skipped_is_no_occurrence_and_does_not_count(pattern, start, days):
    days = days.split()
    limits = {"type": "numbered", "numberOfOccurrences": 4}

    found = series(pattern, limits, start=f"{start}T10:00:00", zone="Pacific/Apia")

    assert first_days(9, found) == days
    assert found.occurrence_on(date(2011, 12, 30)) is None
    assert [found.day_after(date.fromisoformat(day)) for day in days] == [*map(date.fromisoformat, days[1:]), None]
    assert [found.day_before(date.fromisoformat(day)) for day in days] == [None, *map(date.fromisoformat, days[:-1])]


# Zones


def test_recurrence_uses_its_own_zone():
    limits = {"startDate": "2026-01-05", "recurrenceTimeZone": "Eastern Standard Time"}
    daily = series(DAILY, limits, start="2026-01-05T15:00:00", zone="UTC")

    assert daily.zone == ZoneInfo("America/New_York")
    assert daily.occurrence_on(date(2026, 1, 6)).start == utc("2026-01-06T15:00Z")
    assert daily.occurrence_on(date(2026, 7, 6)).start == utc("2026-07-06T14:00Z")


def test_start_date_is_in_the_zone_of_the_recurrence():
    limits = {"startDate": "2026-01-06", "recurrenceTimeZone": "Tokyo Standard Time"}

    daily = series(DAILY, limits, start="2026-01-05T20:00:00", zone="UTC")

    assert daily.first.day == date(2026, 1, 6)
    assert daily.first.start == utc("2026-01-05T20:00Z")


def test_skipped_start_in_another_zone_moves_the_end():
    limits = {"recurrenceTimeZone": "UTC"}
    skipped = series(DAILY, limits, "2026-03-08T02:45:00", "2026-03-08T03:15:00", "America/New_York")

    assert (skipped.first.start, skipped.length) == (utc("2026-03-08T07:45Z"), timedelta(0))


def test_end_may_be_in_another_zone():
    meeting = event(DAILY)
    meeting["end"] = {"dateTime": "2026-01-05T10:30:00", "timeZone": "GMT Standard Time"}

    first = parse("outlook", meeting, NEW_YEAR).schedule.first

    assert (first.start, first.end) == (utc("2026-01-05T09:00Z"), utc("2026-01-05T10:30Z"))


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"dateTime": "2026-01-05T10:00:00", "timeZone": "Europe/Berlin"}, ("2026-01-05T10:00:00", "Europe/Berlin")),
        ({"dateTime": "2026-01-05T10:00", "timeZone": "utc"}, ("2026-01-05T10:00:00", "utc")),
        ({"dateTime": "2026-01-05T10:00:00.0000000", "timeZone": "UTC"}, ("2026-01-05T10:00:00", "UTC")),
        ({"dateTime": "2026-01-05T10:00:59.9999999", "timeZone": "UTC"}, ("2026-01-05T10:00:59", "UTC")),
        ({"dateTime": "2026-01-05T10:00:00."}, ("2026-01-05T10:00:00", "UTC")),
        # with an offset, the instant is converted to the zone
        ({"dateTime": "2026-07-05T10:00:00Z", "timeZone": "Europe/Berlin"}, ("2026-07-05T12:00:00", "Europe/Berlin")),
        ({"dateTime": "2026-07-05T10:00:00.5-07:00", "timeZone": "UTC"}, ("2026-07-05T17:00:00", "UTC")),
        ({"dateTime": "2026-01-05T10:00:00", "timeZone": "tzone://Microsoft/Utc"}, ("2026-01-05T10:00:00", None)),
    ],
)
def test_date_time_is_parsed_to_a_wall_time_and_a_zone(value, expected):
    wall, name, zone = read_date_time(value, "start")

    assert (wall.isoformat(), name) == (expected[0], expected[1] or value["timeZone"])
    assert zone is UTC or zone == ZoneInfo(name)


# Rendering

RENDERED_DAILY = {
    "type": "daily",
    "interval": 1,
    "month": 0,
    "dayOfMonth": 0,
    "daysOfWeek": [],
    "firstDayOfWeek": "sunday",
    "index": "first",
}
RENDERED_NO_END = {
    "type": "noEnd",
    "startDate": "2026-01-05",
    "endDate": "0001-01-01",
    "recurrenceTimeZone": "W. Europe Standard Time",
    "numberOfOccurrences": 0,
}


@pytest.mark.parametrize(
    "pattern, rendered",
    [
        ({"type": "DAILY"}, RENDERED_DAILY),
        # ignored members are rendered as Graph's placeholders
        (
            {"type": "Daily", "month": 7, "dayOfMonth": 99, "daysOfWeek": ["MONDAY"], "index": "LAST"},
            RENDERED_DAILY,
        ),
        ({"type": "daily", "month": None, "daysOfWeek": None, "index": None, "firstDayOfWeek": None}, RENDERED_DAILY),
        (
            {"type": "weekly", "daysOfWeek": ["Tuesday", "Monday", "tuesday"], "firstDayOfWeek": "MONDAY"},
            RENDERED_DAILY | {"type": "weekly", "daysOfWeek": ["monday", "tuesday"], "firstDayOfWeek": "monday"},
        ),
        (
            {"type": "absolutemonthly", "dayOfMonth": 5, "month": 3},
            RENDERED_DAILY | {"type": "absoluteMonthly", "dayOfMonth": 5},
        ),
        (
            {"type": "relativeMonthly", "daysOfWeek": ["monday"], "index": "First", "firstDayOfWeek": "friday"},
            RENDERED_DAILY | {"type": "relativeMonthly", "daysOfWeek": ["monday"]},
        ),
        (
            {"type": "absoluteYearly", "dayOfMonth": 5, "month": 1, "index": "last"},
            RENDERED_DAILY | {"type": "absoluteYearly", "dayOfMonth": 5, "month": 1},
        ),
        (
            {"type": "RELATIVEYEARLY", "daysOfWeek": ["MONDAY"], "month": 1},
            RENDERED_DAILY | {"type": "relativeYearly", "daysOfWeek": ["monday"], "month": 1},
        ),
    ],
)
def test_pattern_is_rendered_completely_in_canonical_form(pattern, rendered):
    recurrence = render("outlook", event(pattern, zone="W. Europe Standard Time"))["recurrence"]

    assert recurrence == {"pattern": rendered, "range": RENDERED_NO_END}


@pytest.mark.parametrize(
    "limits, rendered",
    [
        ({"type": "NOEND", "endDate": "2020-01-01", "numberOfOccurrences": 7}, {}),
        ({"endDate": "0001-01-01", "numberOfOccurrences": 0, "recurrenceTimeZone": ""}, {}),
        ({"type": "enddate", "endDate": "2026-02-01"}, {"type": "endDate", "endDate": "2026-02-01"}),
        (
            {"type": "Numbered", "numberOfOccurrences": 7, "endDate": "0001-01-01"},
            {"type": "numbered", "numberOfOccurrences": 7},
        ),
        # the zone keeps the name that was sent
        ({"recurrenceTimeZone": "Europe/Berlin"}, {"recurrenceTimeZone": "Europe/Berlin"}),
        ({"recurrenceTimeZone": "romance standard time"}, {"recurrenceTimeZone": "romance standard time"}),
    ],
)
def test_range_is_rendered_completely_in_canonical_form(limits, rendered):
    recurrence = render("outlook", event(DAILY, limits, zone="W. Europe Standard Time"))["recurrence"]

    assert recurrence["range"] == RENDERED_NO_END | rendered


def test_rendered_event_starts_with_the_first_occurrence():
    rendered = render("outlook", event(FIRST_THURSDAY, start="2017-08-29T13:00:00", zone=PACIFIC))

    assert rendered["start"] == {"dateTime": "2017-09-07T13:00:00", "timeZone": PACIFIC}
    assert rendered["end"] == {"dateTime": "2017-09-07T14:00:00", "timeZone": PACIFIC}
    assert rendered["recurrence"]["range"]["startDate"] == "2017-09-07"


def test_recurrence_is_read_with_the_times_of_its_event():
    recurrence = event(FIRST_THURSDAY, start="2017-08-29T13:00:00")["recurrence"]

    found = read(
        recurrence, utc("2017-08-29T13:00Z").replace(tzinfo=None), utc("2017-08-29T14:00Z").replace(tzinfo=None), UTC
    )

    assert (found.start.isoformat(), found.end.isoformat()) == ("2017-09-07T13:00:00", "2017-09-07T14:00:00")
    assert (found.zone, found.series.first.start) == (UTC, utc("2017-09-07T13:00Z"))
    assert found.document["range"]["recurrenceTimeZone"] == "UTC"


def test_unknown_members_except_annotations_get_a_warning():
    meeting = event(DAILY | {"@odata.type": "#microsoft.graph.recurrencePattern", "intervall": 2}) | {"subject": "x"}

    parsed = parse("outlook", meeting, NEW_YEAR)

    assert parsed.warnings == (
        "recurrence.pattern: 'intervall' is not known here and is ignored",
        "'subject' is not known here and is ignored",
    )


def test_ended_series_gets_a_warning():
    ended = event(DAILY, {"type": "endDate", "endDate": "2020-01-05"}, start="2020-01-01T10:00:00")

    assert parse("outlook", ended, NEW_YEAR).warnings == ("It will not fire again.",)
