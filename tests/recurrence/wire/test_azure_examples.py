"""The 31 published examples of advanced schedules, and combinations with a start that is not on the hour."""

import pytest

from recurrence.wire import parse
from tests.recurrence.samples import CREATED_AT, by_day, first, utc

START = "2026-01-01T08:20:00Z"  # a Thursday, with minutes, so that default minutes can be seen

QUARTERS = [0, 15, 30, 45]
MON_WED_FRI = ["monday", "wednesday", "friday"]
MON_TO_FRI = ["monday", "tuesday", "wednesday", "thursday", "friday"]
NINE_TO_FOUR = [9, 10, 11, 12, 13, 14, 15, 16]
THIRD_WEDNESDAY = [{"day": "wednesday", "occurrence": 3}]
FIRST_FRIDAY = [{"day": "friday", "occurrence": 1}]
LAST_FRIDAY = [{"day": "friday", "occurrence": -1}]
THIRD_FRIDAY_FROM_THE_END = [{"day": "friday", "occurrence": -3}]
FIFTH_FRIDAY = [{"day": "friday", "occurrence": 5}]
EACH_FRIDAY = [{"day": "friday"}]
FIRST_AND_LAST_FRIDAY = [*FIRST_FRIDAY, *LAST_FRIDAY]

EXAMPLES = [
    # hours without minutes run at the minute of START; hour 5 of the first day is in the past
    (1, "day", {"hours": [5]}, "01-02 05:20, 01-03 05:20"),
    (2, "day", {"minutes": [15], "hours": [5]}, "01-02 05:15, 01-03 05:15"),
    (3, "day", {"minutes": [15], "hours": [5, 17]}, "01-01 17:15, 01-02 05:15 17:15"),
    (4, "day", {"minutes": [15, 45], "hours": [5, 17]}, "01-01 17:15 17:45, 01-02 05:15 05:45"),
    # minutes without hours run in each hour
    (5, "day", {"minutes": QUARTERS}, "01-01 08:30 08:45 09:00 09:15"),
    (6, "day", {"hours": list(range(24))}, "01-01 08:20 09:20 10:20"),
    (7, "day", {"minutes": [0]}, "01-01 09:00 10:00 11:00"),
    (8, "day", {"minutes": [15]}, "01-01 09:15 10:15 11:15"),
    (9, "week", {"hours": [17], "weekDays": ["saturday"]}, "01-03 17:20, 01-10 17:20"),
    (10, "week", {"hours": [17], "weekDays": MON_WED_FRI}, "01-02 17:20, 01-05 17:20, 01-07 17:20"),
    (11, "week", {"minutes": [15, 45], "hours": [17], "weekDays": MON_WED_FRI}, "01-02 17:15 17:45, 01-05 17:15"),
    (12, "week", {"hours": [5, 17], "weekDays": MON_WED_FRI}, "01-02 05:20 17:20, 01-05 05:20"),
    (
        13,
        "week",
        {"minutes": [15, 45], "hours": [5, 17], "weekDays": MON_WED_FRI},
        "01-02 05:15 05:45 17:15 17:45, 01-05 05:15",
    ),
    (14, "week", {"minutes": QUARTERS, "weekDays": MON_TO_FRI}, "01-01 08:30 08:45 09:00"),
    (15, "week", {"minutes": QUARTERS, "hours": NINE_TO_FOUR, "weekDays": MON_TO_FRI}, "01-01 09:00 09:15"),
    (16, "week", {"weekDays": ["sunday"]}, "01-04 08:20, 01-11 08:20"),
    (17, "week", {"weekDays": ["tuesday", "thursday"]}, "01-01 08:20, 01-06 08:20, 01-08 08:20"),
    (18, "month", {"minutes": [0], "hours": [6], "monthDays": [28]}, "01-28 06:00, 02-28 06:00, 03-28 06:00"),
    (19, "month", {"minutes": [0], "hours": [6], "monthDays": [-1]}, "01-31 06:00, 02-28 06:00, 03-31 06:00"),
    (20, "month", {"minutes": [0], "hours": [6], "monthDays": [1, -1]}, "01-31 06:00, 02-01 06:00, 02-28 06:00"),
    (21, "month", {"monthDays": [1, -1]}, "01-01 08:20, 01-31 08:20, 02-01 08:20"),
    (22, "month", {"monthDays": [1, 14]}, "01-01 08:20, 01-14 08:20, 02-01 08:20"),
    (23, "month", {"monthDays": [2]}, "01-02 08:20, 02-02 08:20, 03-02 08:20"),
    (
        24,
        "month",
        {"minutes": [0], "hours": [5], "monthlyOccurrences": FIRST_FRIDAY},
        "01-02 05:00, 02-06 05:00, 03-06 05:00",
    ),
    (25, "month", {"monthlyOccurrences": FIRST_FRIDAY}, "01-02 08:20, 02-06 08:20, 03-06 08:20"),
    # January has five Fridays; the third from the end is the 16th
    (26, "month", {"monthlyOccurrences": THIRD_FRIDAY_FROM_THE_END}, "01-16 08:20, 02-13 08:20, 03-13 08:20"),
    (
        27,
        "month",
        {"minutes": [15], "hours": [5], "monthlyOccurrences": FIRST_AND_LAST_FRIDAY},
        "01-02 05:15, 01-30 05:15, 02-06 05:15",
    ),
    (28, "month", {"monthlyOccurrences": FIRST_AND_LAST_FRIDAY}, "01-02 08:20, 01-30 08:20, 02-06 08:20"),
    # February to April have four
    (29, "month", {"monthlyOccurrences": FIFTH_FRIDAY}, "01-30 08:20, 05-29 08:20, 07-31 08:20"),
    (30, "month", {"minutes": QUARTERS, "monthlyOccurrences": LAST_FRIDAY}, "01-30 00:00 00:15"),
    (
        31,
        "month",
        {"minutes": [15, 45], "hours": [5, 17], "monthlyOccurrences": THIRD_WEDNESDAY},
        "01-21 05:15 05:45 17:15 17:45, 02-18 05:15",
    ),
]


def fires(frequency, plan, number, start=START, after=CREATED_AT):
    document = {"startTime": start, "recurrence": {"frequency": frequency, "schedule": plan}}
    schedule = parse("azure", document, CREATED_AT).schedule
    return by_day(first(number, schedule, after))


@pytest.mark.parametrize("number, frequency, plan, expected", EXAMPLES, ids=[f"row-{row[0]}" for row in EXAMPLES])
def test_published_example_has_the_expected_fire_times(number, frequency, plan, expected):
    assert fires(frequency, plan, expected.count(":")) == expected


@pytest.mark.parametrize(
    "number, frequency, plan, after, expected",
    [
        # rows 6 and 7 with a week or a month: only one day of each
        (6, "week", {"hours": list(range(24))}, "2026-01-01T22:00Z", "01-01 22:20 23:20, 01-08 00:20"),
        (6, "month", {"hours": list(range(24))}, "2026-01-01T22:00Z", "01-01 22:20 23:20, 02-01 00:20"),
        (7, "week", {"minutes": [0]}, "2026-01-01T22:00Z", "01-01 22:00 23:00, 01-08 00:00"),
        (7, "month", {"minutes": [0]}, "2026-01-01T22:00Z", "01-01 22:00 23:00, 02-01 00:00"),
        # row 6 is equal to every hour
        (6, "hour", {}, "2026-01-01T22:00Z", "01-01 22:20 23:20, 01-02 00:20"),
        # row 8 runs from :15 after midnight to :15 before it
        (8, "day", {"minutes": [15]}, "2026-01-01T22:30Z", "01-01 23:15, 01-02 00:15"),
        (14, "week", {"minutes": QUARTERS, "weekDays": MON_TO_FRI}, "2026-01-02T23:40Z", "01-02 23:45, 01-05 00:00"),
        (
            15,
            "week",
            {"minutes": QUARTERS, "hours": NINE_TO_FOUR, "weekDays": MON_TO_FRI},
            "2026-01-02T16:31Z",
            "01-02 16:45, 01-05 09:00",
        ),
        (
            30,
            "month",
            {"minutes": QUARTERS, "monthlyOccurrences": LAST_FRIDAY},
            "2026-01-30T23:31Z",
            "01-30 23:45, 02-27 00:00",
        ),
    ],
)
def test_published_example_has_no_other_fire_times(number, frequency, plan, after, expected):
    assert fires(frequency, plan, expected.count(":"), after=utc(after)) == expected


@pytest.mark.parametrize(
    "number, plan, expected",
    [
        (9, {"hours": [17], "weekDays": ["saturday"]}, "01-03 17:00"),
        (10, {"hours": [17], "weekDays": MON_WED_FRI}, "01-02 17:00, 01-05 17:00"),
        (12, {"hours": [5, 17], "weekDays": MON_WED_FRI}, "01-02 05:00 17:00"),
    ],
)
def test_published_examples_with_full_hours_need_a_start_on_the_hour(number, plan, expected):
    assert fires("week", plan, expected.count(":"), start="2026-01-01T08:00:00Z") == expected


@pytest.mark.parametrize(
    "frequency, interval, plan, expected",
    [
        # the interval is counted from the period of the start
        ("day", 2, {"hours": [5]}, "01-03 05:20, 01-05 05:20"),
        ("week", 2, {"weekDays": ["monday", "friday"]}, "01-02 08:20, 01-12 08:20, 01-16 08:20"),
        # weeks start on Monday, so Sunday is the last day
        ("week", 2, {"weekDays": ["sunday"]}, "01-04 08:20, 01-18 08:20"),
        ("month", 3, {"monthDays": [1, -1]}, "01-01 08:20, 01-31 08:20, 04-01 08:20"),
        # only months with a 31st
        ("month", 1, {"monthDays": [31]}, "01-31 08:20, 03-31 08:20, 05-31 08:20"),
        # an occurrence without a number is each of these weekdays in the month
        (
            "month",
            2,
            {"monthlyOccurrences": EACH_FRIDAY, "hours": 5},
            "01-02 05:20, 01-09 05:20, 01-16 05:20, 01-23 05:20, 01-30 05:20",
        ),
        # hours and minutes limit the frequencies minute and hour
        ("hour", 1, {"hours": [9, 10]}, "01-01 09:20 10:20, 01-02 09:20"),
        ("hour", 1, {"minutes": [0, 30]}, "01-01 08:30 09:00 09:30"),
        ("hour", 3, {"minutes": [0, 30]}, "01-01 08:30 11:00 11:30"),
        ("hour", 5, {"hours": [9, 13]}, "01-01 13:20, 01-02 09:20, 01-06 13:20"),
        ("minute", 1, {"minutes": [0, 30]}, "01-01 08:30 09:00 09:30"),
        ("minute", 1, {"hours": [9]}, "01-01 09:00 09:01 09:02"),
        # every 15 minutes from :20 on are :20, :35, :50 and :05
        ("minute", 15, {"hours": [9, 10]}, "01-01 09:05 09:20 09:35 09:50 10:05"),
        ("minute", 20, {"minutes": [0, 30]}, "01-01 09:00 10:00"),
        ("minute", 1, {}, "01-01 08:20 08:21"),
    ],
)
def test_interval_skips_periods_and_schedule_limits_or_adds_times(frequency, interval, plan, expected):
    document = {"startTime": START, "recurrence": {"frequency": frequency, "interval": interval, "schedule": plan}}
    schedule = parse("azure", document, CREATED_AT).schedule

    found = first(expected.count(":"), schedule)

    assert by_day(found) == expected


def test_minutes_without_hours_can_be_limited_to_the_hour_of_the_first_execution(monkeypatch):
    monkeypatch.setattr("recurrence.wire.azure.MINUTES_ALONE_RUN_EVERY_HOUR", False)

    assert fires("day", {"minutes": [30, 45]}, 3) == "01-01 08:30 08:45, 01-02 08:30"
    assert fires("hour", {"minutes": [30]}, 2) == "01-01 08:30 09:30"
