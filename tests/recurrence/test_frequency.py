"""How often a schedule fires, in words."""

from datetime import UTC, datetime, timedelta

import pytest

from recurrence import wire
from recurrence.closed_days import ClosedDays
from recurrence.frequency import describe_frequency
from recurrence.schedules import just_before

NOW = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
OPEN_WEEKDAYS = ClosedDays.of({"weekend": ["saturday", "sunday"], "holidays": [{"country": "DE"}]})


def frequency(format: str, left: int | None = None, **definition) -> str:
    schedule = wire.parse(format, definition, NOW, closed_days=lambda name: OPEN_WEEKDAYS).schedule
    first = schedule.after(just_before(NOW))
    assert first is not None
    return describe_frequency(schedule, first, left)


@pytest.mark.parametrize(
    "expression, text",
    [
        ("@hourly", "24 runs a day"),  # also in the week of a clock change
        ("* * * * *", "1,440 runs a day"),
        ("0 9 * * *", "1 run a day"),
        ("0 9 * * 1", "1 run a week"),
        ("0 9 * * 1-5", "5 runs a week"),
        ("*/10 9-17 * * 1-5", "about 39 runs a day, 270 a week"),
        ("0 9 1 * *", "1 run a month"),
        ("0 9 1,10,20 * *", "3 runs a month"),
        ("0 9 1 */5 *", "about 3 runs a year"),
        ("* 8 1 1 *", "about 1 run a week"),  # sixty times on one day
    ],
)
def test_frequency_of_crontab_lines(expression, text):
    assert frequency("cron", expression=expression, timeZone="America/New_York") == text


def test_weeks_with_holidays_make_the_frequency_inexact():
    closed = {"calendar": "office", "rule": "skip"}

    assert frequency("cron", expression="0 9 * * *", closedDays=closed, startTime="2026-02-23T00:00:00Z") == (
        "about 5 runs a week"
    )


@pytest.mark.parametrize(
    "left, definition, text",
    [
        (None, {"interval": 60_000, "endTime": "2026-01-07T00:00:00Z"}, "2,880 runs in all"),
        (500, {"interval": 60_000}, "500 runs in all"),
        (10**9, {"interval": 60_000}, "1,440 runs a day"),
        (20, {"interval": 60_000, "endTime": "2026-01-07T00:00:00Z"}, "20 runs in all"),
        (None, {"interval": 7 * 86_400_000, "endTime": "2026-03-01T00:00:00Z"}, "8 runs in all"),
    ],
)
def test_schedule_that_ends_within_a_year_has_a_number_of_runs(left, definition, text):
    assert frequency("simple", left, startTime="2026-01-05T00:00:00Z", **definition) == text


def test_schedule_at_the_end_of_the_calendar_has_no_frequency():
    schedule = wire.parse("simple", {"interval": 60_000}, NOW).schedule

    assert describe_frequency(schedule, datetime(9999, 12, 1, tzinfo=UTC)) == ""


def test_schedule_that_fires_often_is_counted_by_arithmetic():
    class Steps:
        """A schedule that counts how often it is asked."""

        def __init__(self, schedule):
            self.schedule, self.asked = schedule, 0

        def after(self, instant):
            self.asked += 1
            return self.schedule.after(instant)

        def count_before(self, instant):
            return self.schedule.count_before(instant)

    steps = Steps(wire.parse("simple", {"interval": 1}, NOW).schedule)

    assert describe_frequency(steps, NOW + timedelta(days=1)) == "86,400,000 runs a day"
    assert steps.asked < 100
