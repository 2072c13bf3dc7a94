from datetime import UTC, date, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from recurrence.days import EveryNDays
from recurrence.describe import describe
from recurrence.rules import CalendarRule
from recurrence.schedules import Every, Once
from recurrence.times import Times
from recurrence.wire import Parsed, parse
from tests.recurrence.samples import CREATED_AT, documents, utc

START = "2026-01-05T08:00:00Z"  # a Monday

QUARTERS = [0, 15, 30, 45]
FIRST_FRIDAY = {"day": "friday", "occurrence": 1}
LAST_FRIDAY = {"day": "friday", "occurrence": -1}


def describe_recurrence(frequency, interval=1, plan=None, start=START, **others):
    recurrence = {"frequency": frequency, "interval": interval, "schedule": plan} | others
    return describe(parse("azure", {"startTime": start, "recurrence": recurrence}, CREATED_AT))


@pytest.mark.parametrize(
    "frequency, interval, expected",
    [
        ("minute", 1, "every minute from 5 January 2026 at 08:00 UTC"),
        ("minute", 15, "every 15 minutes from 5 January 2026 at 08:00 UTC"),
        # in UTC, elapsed time agrees with the calendar, so the longest unit is used
        ("minute", 120, "every 2 hours from 5 January 2026 at 08:00 UTC"),
        ("hour", 1, "every hour at :00 UTC"),
        ("hour", 6, "every 6 hours from 5 January 2026 at 08:00 UTC"),
        ("hour", 24, "every day at 08:00 UTC"),
        ("day", 1, "every day at 08:00 UTC"),
        ("day", 2, "every 2 days at 08:00 UTC"),
        ("day", 14, "every 2 weeks on Monday at 08:00 UTC"),
        ("week", 1, "every week on Monday at 08:00 UTC"),
        ("week", 3, "every 3 weeks on Monday at 08:00 UTC"),
        ("month", 1, "every month on the 5th at 08:00 UTC"),
        ("month", 3, "every 3 months on the 5th at 08:00 UTC"),
    ],
)
def test_recurrence_without_a_schedule_is_described(frequency, interval, expected):
    assert describe_recurrence(frequency, interval) == expected


@pytest.mark.parametrize(
    "frequency, interval, plan, expected",
    [
        ("day", 1, {"hours": 5}, "every day at 05:00 UTC"),
        ("day", 1, {"hours": [17, 5], "minutes": 15}, "every day at 05:15 and 17:15 UTC"),
        ("day", 2, {"hours": [5, 12, 17]}, "every 2 days at 05:00, 12:00 and 17:00 UTC"),
        # more than six times a day are summarized
        ("day", 1, {"minutes": 15}, "every hour at :15 UTC"),
        ("day", 1, {"minutes": QUARTERS}, "every 15 minutes (UTC)"),
        ("day", 3, {"minutes": 0}, "every 3 days, every hour at :00 UTC"),
        (
            "day",
            1,
            {"minutes": QUARTERS, "hours": [9, 10, 11]},
            "every 15 minutes between 09:00 and 11:45 UTC",
        ),
        ("day", 1, {"minutes": list(range(2, 60, 5))}, "every hour, every 5 minutes from :02 to :57 UTC"),
        ("day", 1, {"minutes": list(range(60)), "hours": 9}, "every minute between 09:00 and 09:59 UTC"),
        ("day", 1, {"minutes": [0, 1], "hours": [0, 5, 9, 20]}, "at :00 and :01 in the hours 00, 05, 09 and 20 UTC"),
        ("day", 1, {"minutes": list(range(7)), "hours": [9]}, "every minute from 09:00 to 09:06 UTC"),
        ("week", 1, {"weekDays": "saturday", "hours": 17}, "every week on Saturday at 17:00 UTC"),
        (
            "week",
            2,
            {"weekDays": ["monday", "wednesday", "friday"], "hours": 17},
            "every 2 weeks on Monday, Wednesday and Friday at 17:00 UTC",
        ),
        (
            "week",
            1,
            {"weekDays": ["friday", "thursday", "wednesday", "tuesday", "monday"], "minutes": QUARTERS},
            "every week from Monday to Friday, every 15 minutes (UTC)",
        ),
        (
            "week",
            1,
            {"weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]},
            "every day at 08:00 UTC",
        ),
        (
            "week",
            2,
            {"weekDays": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]},
            "every day of every 2 weeks at 08:00 UTC",
        ),
        ("month", 1, {"monthDays": -1, "hours": 6}, "every month on the last day at 06:00 UTC"),
        ("month", 1, {"monthDays": [14, 1]}, "every month on the 1st and 14th at 08:00 UTC"),
        ("month", 1, {"monthDays": [3, 11, 13, 22]}, "every month on the 3rd, 11th, 13th and 22nd at 08:00 UTC"),
        ("month", 1, {"monthDays": [1, -1]}, "every month on the 1st and the last day at 08:00 UTC"),
        ("month", 2, {"monthDays": [-3]}, "every 2 months on the 3rd day from the end at 08:00 UTC"),
        ("month", 1, {"monthlyOccurrences": [FIRST_FRIDAY]}, "every month on the first Friday at 08:00 UTC"),
        (
            "month",
            1,
            {"monthlyOccurrences": [LAST_FRIDAY, FIRST_FRIDAY]},
            "every month on the first Friday and the last Friday at 08:00 UTC",
        ),
        (
            "month",
            1,
            {"monthlyOccurrences": [{"day": "friday", "occurrence": -3}, {"day": "monday"}]},
            "every month on every Monday and the third Friday from the end at 08:00 UTC",
        ),
        ("month", 1, {"minutes": 0, "monthDays": [1]}, "every month on the 1st, every hour at :00 UTC"),
        ("hour", 1, {"hours": [9, 10]}, "every day at 09:00 and 10:00 UTC"),
        ("hour", 1, {"minutes": [15, 45]}, "every hour at :15 and :45 UTC"),
        ("minute", 1, {"hours": 9}, "every minute between 09:00 and 09:59 UTC"),
        ("hour", 2, {}, "every 2 hours from 5 January 2026 at 08:00 UTC"),
        ("hour", 2, {"minutes": [15, 45]}, "every 2 hours from 5 January 2026 at 08:00 UTC, at :15 and :45"),
        (
            "hour",
            5,
            {"hours": [9, 10, 11, 12]},
            "every 5 hours from 5 January 2026 at 08:00 UTC, only in the hours 09 to 12",
        ),
        (
            "minute",
            20,
            {"minutes": [0, 30], "hours": [9, 17]},
            "every 20 minutes from 5 January 2026 at 08:00 UTC, only at :00 and :30, only in the hours 09 and 17",
        ),
        (
            "minute",
            7,
            {"minutes": list(range(30)), "hours": 9},
            "every 7 minutes from 5 January 2026 at 08:00 UTC, only every minute from :00 to :29, only in the hour 09",
        ),
    ],
)  # fmt: skip
def test_schedule_is_described(frequency, interval, plan, expected):
    assert describe_recurrence(frequency, interval, plan) == expected


def test_single_run_is_described():
    assert describe(parse("azure", {"startTime": START}, CREATED_AT)) == "once on 5 January 2026 at 08:00 UTC"


def test_run_at_creation_is_described():
    assert (
        describe_recurrence("day", plan={"hours": 5}, start=None)
        == "on 1 January 2026 at 00:00 UTC, then every day at 05:00 UTC"
    )


def test_seconds_are_described_if_not_zero():
    assert describe_recurrence("day", start="2026-01-05T08:00:07Z") == "every day at 08:00:07 UTC"
    assert describe_recurrence("hour", start="2026-01-05T08:00:07Z") == "every hour at :00:07 UTC"


@pytest.mark.parametrize(
    "limits, expected",
    [
        ({"endTime": "2027-03-01"}, "every day at 08:00 UTC, until 1 March 2027 at 00:00 UTC"),
        ({"count": 10}, "every day at 08:00 UTC, 10 times"),
        ({"count": 1}, "every day at 08:00 UTC, once"),
        (
            {"count": 10, "endTime": "2027-03-01T12:30:00Z"},
            "every day at 08:00 UTC, until 1 March 2027 at 12:30 UTC, 10 times",
        ),
    ],
)
def test_end_and_count_are_described(limits, expected):
    assert describe_recurrence("day", **limits) == expected


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    "schedule, zone, expected",
    [
        (Once(utc("2026-07-05T22:30Z")), BERLIN, "once on 6 July 2026 at 00:30 Europe/Berlin"),
        (
            CalendarRule(EveryNDays(date(2026, 1, 1)), Times.of([9], [0]), BERLIN),
            BERLIN,
            "every day at 09:00 Europe/Berlin",
        ),
        # with clock changes, 24 hours are not always a day
        (Every(timedelta(days=1), utc(START)), BERLIN, "every day from 5 January 2026 at 09:00 Europe/Berlin"),
        (Every(timedelta(hours=1), utc(START)), timezone(timedelta(hours=5.5)), "every hour at :30 UTC+05:30"),
        (Every(timedelta(seconds=90), utc(START)), UTC, "every 90 seconds from 5 January 2026 at 08:00 UTC"),
        (
            Every(timedelta(milliseconds=500), utc(START)),
            UTC,
            "every 500 milliseconds from 5 January 2026 at 08:00 UTC",
        ),
        (Every(timedelta(milliseconds=1), utc(START)), UTC, "every millisecond from 5 January 2026 at 08:00 UTC"),
        (Every(timedelta(seconds=2), utc(START)), UTC, "every 2 seconds from 5 January 2026 at 08:00 UTC"),
    ],
)
def test_times_are_described_in_their_zone(schedule, zone, expected):
    assert describe(Parsed(schedule, None, zone)) == expected


@given(documents())
def test_each_document_has_a_description(document):
    text = describe(parse("azure", document, CREATED_AT))

    assert text == text.strip()
    assert "  " not in text
    assert "UTC" in text


def test_unknown_kind_of_schedule_has_no_description():
    with pytest.raises(TypeError, match="no words"):
        describe(Parsed(object(), None, UTC))
