"""Descriptions of Quartz expressions."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.describe import describe
from recurrence.wire import crontab, parse
from tests.recurrence.samples import CREATED_AT
from tests.recurrence.wire.quartz_texts import expressions


def describe_expression(expression, **members):
    return describe(parse("quartz", {"expression": expression} | members, CREATED_AT))


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("0 0 12 * * ?", "every day at 12:00 UTC"),
        ("0 15 10 ? * *", "every day at 10:15 UTC"),
        ("5 0 0 * * ?", "every day at 00:00:05 UTC"),
        ("0,30 15 10 * * ?", "every day at 10:15 and 10:15:30 UTC"),
        # up to six times a day are listed, more are summarized
        ("0 0 0/4 * * ?", "every day at 00:00, 04:00, 08:00, 12:00, 16:00 and 20:00 UTC"),
        ("0 0/30 8-10 * * ?", "every day at 08:00, 08:30, 09:00, 09:30, 10:00 and 10:30 UTC"),
        ("0 0 * * * ?", "every hour at :00 UTC"),
        ("7 15 * * * ?", "every hour at :15:07 UTC"),
        ("0 15 9-17 * * ?", "every hour from 09:15 to 17:15 UTC"),
        ("0 15 */2 * * ?", "every 2 hours from 00:15 to 22:15 UTC"),
        # steps restart each day
        ("0 0 1/3 * * ?", "every 3 hours from 01:00 to 22:00 UTC"),
        ("0 15 0-3,6-9 * * ?", "every day at 00:15, 01:15, 02:15, 03:15, 06:15, 07:15, 08:15 and 09:15 UTC"),
        ("0 0 22-5 * * ?", "every day at 00:00, 01:00, 02:00, 03:00, 04:00, 05:00, 22:00 and 23:00 UTC"),
    ],
)
def test_hours_are_described(expression, expected):
    assert describe_expression(expression) == expected


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("0 * * * * ?", "every minute (UTC)"),
        ("0 0/5 * * * ?", "every 5 minutes (UTC)"),
        ("0 */15 * * * ?", "every 15 minutes (UTC)"),
        ("0 0,20,40 * * * ?", "every 20 minutes (UTC)"),
        ("0 0/30 * * * ?", "every 30 minutes (UTC)"),
        ("0 1/15 * * * ?", "every hour at :01, :16, :31 and :46 UTC"),
        ("0 3,17,22,41,55 * * * ?", "every hour at :03, :17, :22, :41 and :55 UTC"),
        ("0 3,17,22,41,55 9-17 * * ?", "every hour at :03, :17, :22, :41 and :55 between 09:03 and 17:55 UTC"),
        ("0 3,17,22,41 9,17 * * ?", "every day at :03, :17, :22 and :41 in the hours 09 and 17 UTC"),
        ("0 0-9,30 14,15 * * ?", "every hour at :00 to :09 and :30 between 14:00 and 15:30 UTC"),
        ("0 50-9/3 14 * * ?", "every day at :02, :05, :08, :50, :53, :56 and :59 in the hour 14 UTC"),
        # a step that does not divide the hour restarts each hour
        ("0 */7 * * * ?", "every hour, every 7 minutes from :00 to :56 UTC"),
        ("0 2/5 * * * ?", "every hour, every 5 minutes from :02 to :57 UTC"),
        ("0 */7 9-17 * * ?", "every hour, every 7 minutes from :00 to :56 between 09:00 and 17:56 UTC"),
        ("0 */7 9 * * ?", "every 7 minutes from 09:00 to 09:56 UTC"),
        ("0 0-9 14 * * ?", "every minute from 14:00 to 14:09 UTC"),
        ("0 */7 9,17 * * ?", "every 7 minutes from :00 to :56 in the hours 09 and 17 UTC"),
        ("0 0/15 9-17 * * ?", "every 15 minutes between 09:00 and 17:45 UTC"),
        ("0 0/5 9 * * ?", "every 5 minutes between 09:00 and 09:55 UTC"),
        ("0 0/15 9,17 * * ?", "every 15 minutes in the hours 09 and 17 UTC"),
        ("0 0/15 22-2 * * ?", "every 15 minutes in the hours 00 to 02, 22 and 23 UTC"),
        ("0 */15 */2 * * ?", "every 15 minutes in every 2nd hour from 00 to 22 UTC"),
        ("30 * * * * ?", "at second 30 of every minute (UTC)"),
        ("30 */5 * * * ?", "at second 30 of every 5th minute (UTC)"),
        ("30 */5 8-10 * * ?", "every day at second 30 of every 5th minute between 08:00:30 and 10:55:30 UTC"),
        ("30 3,17 9-12 * * ?", "every hour at :03:30 and :17:30 between 09:03:30 and 12:17:30 UTC"),
        # many irregular minutes are counted
        (
            "0 1,3,7,9,12,15,19,22,25,30,33,37,40,45,49 * * * ?",
            "every hour at 15 of its minutes (UTC)",
        ),
    ],
)
def test_minutes_are_described(expression, expected):
    assert describe_expression(expression) == expected


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("* * * * * ?", "every second (UTC)"),
        ("*/10 * * * * ?", "every 10 seconds (UTC)"),
        ("0,30 * * * * ?", "every 30 seconds (UTC)"),
        ("0,20,40 * * * * ?", "every 20 seconds (UTC)"),
        ("*/7 * * * * ?", "every 7 seconds from second 0 to second 56 of every minute (UTC)"),
        ("5,10,20-30 * * * * ?", "at the seconds 5, 10 and 20 to 30 of every minute (UTC)"),
        ("1,3,7,9,12,15,19,22,25,30,33,37,40 * * * * ?", "at 13 seconds of every minute (UTC)"),
        ("* * 9-17 * * ?", "every second between 09:00:00 and 17:59:59 UTC"),
        ("* * 9,17 * * ?", "every second in the hours 09 and 17 UTC"),
        ("* 5 9 * * ?", "every second between 09:05:00 and 09:05:59 UTC"),
        ("* 0-5 9 * * ?", "every second between 09:00:00 and 09:05:59 UTC"),
        ("* 5 * * * ?", "every second in the minute :05 of every hour (UTC)"),
        ("*/30 0,15 * * * ?", "every 30 seconds in the minutes :00 and :15 of every hour (UTC)"),
        ("* */5 9-17 * * ?", "every second in every 5th minute from :00 to :55 of the hours 09 to 17 UTC"),
        ("5,10 0 9-17 * * ?", "every day at the seconds 5 and 10 of the minute :00 of the hours 09 to 17 UTC"),
        ("*/7 0 * * * ?", "every 7 seconds from second 0 to second 56 of the minute :00 of every hour (UTC)"),
        ("0,5 1,3,7,9,12,15,19,22,25,30,33,37,40 * * * ?", "at the seconds 0 and 5 of 13 minutes of every hour (UTC)"),
    ],
)
def test_seconds_are_described(expression, expected):
    assert describe_expression(expression) == expected


@pytest.mark.parametrize(
    "days, expected",
    [
        ("1 * ?", "on the 1st of each month"),
        ("1,15 * ?", "on the 1st and 15th of each month"),
        ("2,3,22,23 * ?", "on the 2nd, 3rd, 22nd and 23rd of each month"),
        ("11-13 * ?", "on the 11th to 13th of each month"),
        ("28-3 * ?", "on the 1st to 3rd and 28th to 31st of each month"),
        ("*/10 * ?", "on the 1st, 11th, 21st and 31st of each month"),
        ("*/2 * ?", "on every 2nd day from the 1st to the 31st of each month"),
        ("1/3 * ?", "on every 3rd day from the 1st to the 31st of each month"),
        ("L * ?", "on the last day of each month"),
        ("L-1 * ?", "on the day 1 day before the last day of each month"),
        ("L-3 * ?", "on the day 3 days before the last day of each month"),
        ("LW * ?", "on the last weekday (Monday to Friday) of each month"),
        ("15W * ?", "on the weekday (Monday to Friday) nearest to the 15th of each month"),
        (
            "L-2W * ?",
            "on the weekday (Monday to Friday) nearest to the day 2 days before the last day of each month",
        ),
        # 1 is Sunday
        ("? * 1", "on Sundays"),
        ("? * 7", "on Saturdays"),
        ("? * L", "on Saturdays"),
        ("? * 2-6", "on weekdays"),
        ("? * MON-FRI", "on weekdays"),
        ("? * MON-FRI/2", "on Mondays, Wednesdays and Fridays"),
        ("? * SAT-SUN", "on Saturdays and Sundays"),
        ("? * 2,4", "on Mondays and Wednesdays"),
        ("? * 6L", "on the last Friday of each month"),
        ("? * SUNL", "on the last Sunday of each month"),
        ("? * 6#3", "on the third Friday of each month"),
        ("? * 1#1", "on the first Sunday of each month"),
        ("? * SAT#5", "on the fifth Saturday of each month"),
        ("25 12 ?", "on the 25th of December"),
        ("L 2 ?", "on the last day of February"),
        ("1,15 1-3 ?", "on the 1st and 15th of January to March"),
        ("LW MAR,OCT ?", "on the last weekday (Monday to Friday) of March and October"),
        ("? 3 WED", "on Wednesdays in March"),
        ("? NOV-FEB SUN,SAT", "on Saturdays and Sundays in January, February, November and December"),
        ("? 11 5#4", "on the fourth Thursday of November"),
        ("* 3 ?", "on every day of March"),
        ("? 3,4 *", "on every day of March and April"),
        ("1-31 6-8 ?", "on every day of June to August"),
    ],
)
def test_days_and_months_are_described(days, expected):
    assert describe_expression(f"0 15 10 {days}") == f"at 10:15 UTC {expected}"


@pytest.mark.parametrize(
    "years, expected",
    [
        ("*", ""),
        ("1970-2099", ""),
        ("2027", ", in 2027"),
        ("2026,2028", ", in 2026 and 2028"),
        ("2013-2015", ", 2013 to 2015"),
        ("2013,2014", ", in 2013 and 2014"),
        ("2013-2015,2020", ", in 2013 to 2015 and 2020"),
        ("2030/1", ", 2030 to 2099"),
        ("2011/7", ", every 7 years from 2011 to 2095"),
        ("1970-1990/3,2001/5", ", in 27 of the years 1970 to 2096"),
    ],
)
def test_years_are_described(years, expected):
    assert describe_expression(f"0 15 10 ? * 6L {years}") == f"at 10:15 UTC on the last Friday of each month{expected}"


def test_times_days_and_years_are_described_together():
    assert describe_expression("0 0/15 9-17 ? * MON-FRI") == "every 15 minutes between 09:00 and 17:45 UTC on weekdays"
    assert describe_expression("0 10,44 14 ? 3 WED") == "at 14:10 and 14:44 UTC on Wednesdays in March"
    assert describe_expression("0 15 10 ? * * 2013") == "every day at 10:15 UTC, in 2013"
    assert describe_expression("0 0/5 * * 3 ? 2026") == "every 5 minutes (UTC) on every day of March, in 2026"
    assert describe_expression("* * * ? * MON") == "every second (UTC) on Mondays"


@pytest.mark.parametrize(
    "members, expected",
    [
        ({"timeZone": "Europe/Berlin"}, "at 10:15 Europe/Berlin on weekdays"),
        # the canonical name of the zone
        ({"timeZone": "romance standard time"}, "at 10:15 Europe/Paris on weekdays"),
        # the clock change rule is not described
        ({"timeZone": "Europe/Berlin", "clockChange": "quartz"}, "at 10:15 Europe/Berlin on weekdays"),
        ({"startTime": "2026-03-01T08:00:00Z"}, "at 10:15 UTC on weekdays, from 1 March 2026 at 08:00 UTC"),
        (
            {"timeZone": "Europe/Berlin", "startTime": "2026-07-01", "endTime": "2027-01-01"},
            "at 10:15 Europe/Berlin on weekdays, from 1 July 2026 at 02:00 Europe/Berlin, "
            "until 1 January 2027 at 01:00 Europe/Berlin",
        ),
    ],
)
def test_zone_and_bounds_are_described(members, expected):
    assert describe_expression("0 15 10 ? * MON-FRI", **members) == expected


@pytest.mark.parametrize(
    "line, expected",
    [
        ("15 10 * * MON-FRI", "at 10:15 UTC on weekdays"),
        ("15 10 1,15 * *", "at 10:15 UTC on the 1st and 15th of each month"),
        ("15 10 * 3 *", "at 10:15 UTC on every day of March"),
        ("15 10 13 * FRI", "at 10:15 UTC on the 13th of each month and on Fridays"),
        ("15 10 1,15 6 MON-FRI", "at 10:15 UTC on the 1st and 15th of June and on weekdays in June"),
        ("15 10 1-7 * */7", "at 10:15 UTC on the 1st to 7th of each month, only on Sundays"),
        (
            "*/15 * */2 3 1",
            "every 15 minutes (UTC) on every 2nd day from the 1st to the 31st of March, only on Mondays",
        ),
        ("@daily", "every day at 00:00 UTC"),
    ],
)
def test_crontab_line_is_described_like_a_quartz_expression(line, expected):
    assert describe(crontab.parse({"expression": line}, CREATED_AT)) == expected


def test_expression_that_never_fires_is_described():
    assert describe_expression("0 0 0 30 2 ?") == "at 00:00 UTC on the 30th of February"


@given(expressions())
@settings(max_examples=150)
def test_description_of_an_expression_has_no_special_characters(text):
    description = describe_expression(text)

    assert description == description.strip()
    assert "  " not in description
    assert ",," not in description
    assert re.fullmatch(r"[a-zA-Z0-9 :,()/]+", description)
    assert not re.search(r"[*#?]|\b[0-9]*[LW]\b|/\d", description)
    assert description.split()[0] in ("every", "at")


ITEMS = ["0", "5", "*", "*/5", "/10", "1/5", "0-9", "0-50/5", "0,5", "5-9,20", "0,20", "*/7"]
HOURS = ["0", "9", "*", "*/2", "9-17", "9,17", "9-10", "1/3", "22-2", "0-22"]


@given(st.lists(st.tuples(*map(st.sampled_from, (ITEMS, ITEMS, HOURS))).map(" ".join), min_size=50, max_size=50))
@settings(max_examples=50)
def test_different_times_have_different_descriptions(times):
    description = {}
    for text in times:
        rule = parse("quartz", {"expression": f"{text} * * ?"}, CREATED_AT).schedule
        assert description.setdefault(describe_expression(f"{text} * * ?"), rule) == rule
