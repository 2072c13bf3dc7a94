import pytest

from recurrence.describe import describe
from recurrence.describe_series import describe_days
from recurrence.wire import parse
from tests.recurrence.wire.graph_events import NEW_YEAR, event

MON_TO_FRI = ["monday", "tuesday", "wednesday", "thursday", "friday"]
DAILY = {"type": "daily"}


def parsed(*args, **members):
    return parse("outlook", event(*args, **members), NEW_YEAR)


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ({"type": "daily"}, "every day"),
        ({"type": "daily", "interval": 3}, "every 3 days"),
        ({"type": "weekly", "daysOfWeek": ["wednesday", "monday"]}, "every week on Monday and Wednesday"),
        ({"type": "weekly", "daysOfWeek": MON_TO_FRI}, "every week from Monday to Friday"),
        # the first listed day is the first day of the week, so both days are in one week
        (
            {"type": "weekly", "interval": 2, "daysOfWeek": ["tuesday", "sunday"]},
            "every 2 weeks on Sunday and Tuesday",
        ),
        (
            {"type": "weekly", "interval": 2, "daysOfWeek": ["tuesday", "sunday"], "firstDayOfWeek": "monday"},
            "every 2 weeks on Tuesday and Sunday",
        ),
        ({"type": "absoluteMonthly", "dayOfMonth": 28}, "every month on the 28th"),
        (
            {"type": "absoluteMonthly", "dayOfMonth": 29, "interval": 2},
            "every 2 months on the 29th or, if there is none, the last day",
        ),
        ({"type": "absoluteMonthly", "dayOfMonth": 31}, "every month on the last day"),
        ({"type": "absoluteYearly", "dayOfMonth": 4, "month": 7}, "every year on 4 July"),
        ({"type": "absoluteYearly", "dayOfMonth": 31, "month": 6, "interval": 2}, "every 2 years on 30 June"),
        (
            {"type": "absoluteYearly", "dayOfMonth": 29, "month": 2},
            "every year on 29 February or, if there is none, 28 February",
        ),
        ({"type": "absoluteYearly", "dayOfMonth": 30, "month": 2}, "every year on the last day of February"),
        ({"type": "relativeMonthly", "daysOfWeek": ["friday"], "index": "last"}, "every month on the last Friday"),
        (
            {"type": "relativeMonthly", "daysOfWeek": ["friday", "thursday"]},
            "every month on the first Thursday or Friday",
        ),
        (
            {"type": "relativeMonthly", "daysOfWeek": MON_TO_FRI, "index": "fourth"},
            "every month on the fourth weekday",
        ),
        (
            {"type": "relativeYearly", "daysOfWeek": ["sunday", "saturday"], "index": "second", "month": 5},
            "every year on the second weekend day of May",
        ),
        (
            {"type": "relativeMonthly", "daysOfWeek": [*MON_TO_FRI, "saturday", "sunday"], "index": "third"},
            "every month on the third day",
        ),
    ],
)
def test_days_of_a_series_are_described(pattern, expected):
    assert describe_days(parsed(pattern).schedule) == expected
    assert describe(parsed(pattern)) == f"{expected} from 10:00 to 11:00 Europe/Berlin"


@pytest.mark.parametrize(
    "start, end, expected",
    [
        ("10:00:00", "2026-01-05T10:30:00", "every day from 10:00 to 10:30 Europe/Berlin"),
        ("10:00:05", "2026-01-05T10:30:00", "every day from 10:00:05 to 10:30 Europe/Berlin"),
        ("10:00:00", "2026-01-05T10:00:00", "every day at 10:00 Europe/Berlin"),
        ("22:00:00", "2026-01-06T06:00:00", "every day from 22:00 to 06:00 the next day Europe/Berlin"),
        ("22:00:00", "2026-01-06T00:00:00", "every day from 22:00 to 00:00 the next day Europe/Berlin"),
        ("10:00:00", "2026-01-08T12:00:00", "every day from 10:00 to 12:00 3 days later Europe/Berlin"),
        ("00:00:00", "2026-01-06T00:00:00", "every day, all day"),
        ("00:00:00", "2026-01-08T00:00:00", "every day for 3 days"),
    ],
)
def test_times_of_a_series_are_described(start, end, expected):
    assert describe(parsed(DAILY, start=f"2026-01-05T{start}", end=end)) == expected


@pytest.mark.parametrize(
    "limits, expected",
    [
        ({"type": "endDate", "endDate": "2026-12-31"}, "every day, until 31 December 2026"),
        # a count is described by its last day
        ({"type": "numbered", "numberOfOccurrences": 10}, "every day, until 14 January 2026"),
    ],
)
def test_end_of_a_series_is_described(limits, expected):
    ended = parsed(DAILY, limits)

    assert describe_days(ended.schedule) == expected
    assert describe(ended) == expected.replace(",", " from 10:00 to 11:00 Europe/Berlin,")
