"""All forms of Quartz expressions: fire times and canonical text."""

import pytest

from recurrence.schedules import between
from recurrence.wire.quartz import parse_expression
from tests.recurrence.samples import first, utc


def fires_after(text, instant="2026-01-01T00:00Z", number=3):
    """Return the first fire times from `instant` on, as "01-05 08:00:00, 01-06 08:00:00"."""
    return ", ".join(f"{fire:%m-%d %H:%M:%S}" for fire in first(number, parse_expression(text).rule, utc(instant)))


def seconds_of_a_minute(text):
    fires = between(parse_expression(text).rule, utc("2026-01-01T00:00Z"), utc("2026-01-01T00:01Z"))
    return [fire.second for fire in fires]


def minutes_of_an_hour(text):
    fires = between(parse_expression(text).rule, utc("2026-01-01T00:00Z"), utc("2026-01-01T01:00Z"))
    return [fire.minute for fire in fires]


def hours_of_a_day(text):
    fires = between(parse_expression(text).rule, utc("2026-01-01T00:00Z"), utc("2026-01-02T00:00Z"))
    return [fire.hour for fire in fires]


def days_of(month, text):
    year, number = map(int, month.split("-"))
    end = utc(f"{year + number // 12}-{number % 12 + 1:02}-01")
    return [fire.day for fire in between(parse_expression(f"0 0 0 {text}").rule, utc(f"{month}-01"), end)]


def months_of(text):
    fires = between(parse_expression(f"0 0 0 1 {text} ?").rule, utc("2026-01-01"), utc("2027-01-01"))
    return [fire.month for fire in fires]


def years_of(text):
    fires = between(parse_expression(f"0 0 0 1 1 ? {text}").rule, utc("1960-01-01"), utc("2200-01-01"))
    return [fire.year for fire in fires]


@pytest.mark.parametrize(
    "text, expected",
    [
        # the examples of the Quartz documentation
        ("0 0 12 * * ?", "01-01 12:00:00, 01-02 12:00:00, 01-03 12:00:00"),
        ("0 15 10 ? * * 2013", ""),
        ("0 10,44 14 ? 3 WED", "03-04 14:10:00, 03-04 14:44:00, 03-11 14:10:00"),
        ("0 15 10 ? * 6L 2013-2015", ""),
        ("0 15 10 ? * 6#3", "01-16 10:15:00, 02-20 10:15:00, 03-20 10:15:00"),
        # and of the jobs that are shipped with Quartz
        ("0 45 5 1 * ?", "01-01 05:45:00, 02-01 05:45:00, 03-01 05:45:00"),
        ("5 0 0 * * ?", "01-01 00:00:05, 01-02 00:00:05, 01-03 00:00:05"),
        ("0 1 0 11 * ?", "01-11 00:01:00, 02-11 00:01:00, 03-11 00:01:00"),
        ("0 1/15 * * * ?", "01-01 00:01:00, 01-01 00:16:00, 01-01 00:31:00"),
        ("0 0/5 * * * ?", "01-01 00:00:00, 01-01 00:05:00, 01-01 00:10:00"),
        ("0 0 * * * ?", "01-01 00:00:00, 01-01 01:00:00, 01-01 02:00:00"),
        # both forms of every day
        ("0 0 0 * * ?", "01-01 00:00:00, 01-02 00:00:00, 01-03 00:00:00"),
        ("0 0 0 ? * *", "01-01 00:00:00, 01-02 00:00:00, 01-03 00:00:00"),
        ("* * * * * ?", "01-01 00:00:00, 01-01 00:00:01, 01-01 00:00:02"),
        # spaces and tabs, in any number and at both ends
        (" \t0  0\t12 \t * * ?\t", "01-01 12:00:00, 01-02 12:00:00, 01-03 12:00:00"),
    ],
)
def test_expression_has_the_expected_fire_times(text, expected):
    assert fires_after(text) == expected


@pytest.mark.parametrize(
    "text, instant, expected",
    [
        ("0 15 10 ? * * 2013", "2013-12-31T00:00Z", "12-31 10:15:00"),
        ("0 15 10 ? * 6L 2013-2015", "2015-10-01T00:00Z", "10-30 10:15:00, 11-27 10:15:00, 12-25 10:15:00"),
        ("0 0 0 29 2 ?", "2026-01-01T00:00Z", "02-29 00:00:00, 02-29 00:00:00, 02-29 00:00:00"),
        # never in any year
        ("0 0 0 30 2 ?", "1970-01-01T00:00Z", ""),
        ("0 0 0 31 4,6,9,11 ?", "1970-01-01T00:00Z", ""),
        ("0 0 0 31W 2 ?", "1970-01-01T00:00Z", ""),
        ("0 0 0 29 2 ? 2027", "1970-01-01T00:00Z", ""),
        # the first and the last possible fire times
        ("* * * * * ?", "1900-01-01T00:00Z", "01-01 00:00:00, 01-01 00:00:01, 01-01 00:00:02"),
        ("0 59 23 31 12 ? 2099", "2026-01-01T00:00Z", "12-31 23:59:00"),
        ("* * * * * ?", "2099-12-31T23:59:58Z", "12-31 23:59:58, 12-31 23:59:59"),
        ("* * * * * ?", "2100-01-01T00:00Z", ""),
    ],
)
def test_expression_without_more_fire_times_ends(text, instant, expected):
    assert fires_after(text, instant) == expected


def test_rare_fire_time_is_found_after_decades():
    leap_mondays = parse_expression("0 0 0 ? 2 2#5").rule

    assert [fire.year for fire in first(9, leap_mondays, utc("2026-01-01T00:00Z"))] == [2044, 2072]


def test_fractions_of_a_second_are_dropped_as_by_quartz():
    every_second = parse_expression("* * * * * ?").rule

    assert every_second.after(utc("2026-01-01T12:00:00.500Z")) == utc("2026-01-01T12:00:01Z")


@pytest.mark.parametrize(
    "item, expected",
    [
        ("*", [*range(60)]),
        ("5", [5]),
        ("05", [5]),
        ("059", [59]),
        ("5,7,5", [5, 7]),
        ("5-8", [5, 6, 7, 8]),
        ("5-5", [5]),
        ("*/15", [0, 15, 30, 45]),
        ("/15", [0, 15, 30, 45]),
        # steps restart in each cycle
        ("*/45", [0, 45]),
        ("*/59", [0, 59]),
        ("1/15", [1, 16, 31, 46]),
        ("50/20", [50]),
        ("10-40/10", [10, 20, 30, 40]),
        ("10-39/10", [10, 20, 30]),
        # ranges wrap
        ("55-5/5", [0, 5, 55]),
        ("58-1", [0, 1, 58, 59]),
        # a star includes all others
        ("*,5", [*range(60)]),
        ("5,*/30,40-41", [0, 5, 30, 40, 41]),
    ],
)
def test_items_of_seconds_and_minutes(item, expected):
    assert seconds_of_a_minute(f"{item} * * * * ?") == expected
    assert minutes_of_an_hour(f"0 {item} * * * ?") == expected


@pytest.mark.parametrize(
    "item, expected",
    [
        ("*", [*range(24)]),
        ("08", [8]),
        ("22-2", [0, 1, 2, 22, 23]),
        ("22-2/2", [0, 2, 22]),
        ("*/23", [0, 23]),
        ("9/4", [9, 13, 17, 21]),
        ("9-17/4", [9, 13, 17]),
    ],
)
def test_items_of_hours(item, expected):
    assert hours_of_a_day(f"0 0 {item} * * ?") == expected


@pytest.mark.parametrize(
    "month, text, expected",
    [
        ("2026-02", "* * ?", [*range(1, 29)]),
        ("2026-02", "31 * ?", []),
        ("2026-04", "31 * ?", []),
        # steps restart in each month: from the 31st to the 1st
        ("2026-01", "*/2 * ?", [*range(1, 32, 2)]),
        ("2026-02", "*/2 * ?", [*range(1, 28, 2)]),
        ("2026-01", "*/31 * ?", [1]),
        ("2026-01", "28/1 * ?", [28, 29, 30, 31]),
        # ranges that wrap count 31 days in each month
        ("2026-01", "28-3 * ?", [1, 2, 3, 28, 29, 30, 31]),
        ("2026-02", "28-3 * ?", [1, 2, 3, 28]),
        ("2026-01", "28-3/2 * ?", [1, 3, 28, 30]),
        ("2026-02", "28-3/2 * ?", [1, 3, 28]),
        ("2026-02", "L * ?", [28]),
        ("2028-02", "L * ?", [29]),
        ("2026-01", "l * ?", [31]),
        ("2026-01", "L-3 * ?", [28]),
        ("2026-01", "L-0 * ?", [31]),
        ("2026-01", "L-30 * ?", [1]),
        ("2026-04", "L-30 * ?", []),
        ("2026-02", "L-27 * ?", [1]),
        # 31 January is a Saturday: the Friday before; 31 March is a Tuesday
        ("2026-01", "LW * ?", [30]),
        ("2026-03", "LW * ?", [31]),
        # 31 May is a Sunday: two days earlier, and not in June
        ("2026-05", "LW * ?", [29]),
        ("2026-01", "L-6W * ?", [26]),
        ("2026-01", "l-7w * ?", [23]),
        # 1 August is a Saturday: not the Friday before, because that is in July
        ("2026-08", "1W * ?", [3]),
        ("2026-08", "L-30W * ?", [3]),
        ("2026-02", "1W * ?", [2]),
        ("2026-08", "15W * ?", [14]),
        ("2026-08", "16W * ?", [17]),
        ("2026-08", "17W * ?", [17]),
        ("2026-05", "31W * ?", [29]),
        # a month without this day has no fire time
        ("2031-02", "29W * ?", []),
        ("2027-02", "31W * ?", []),
        ("2027-04", "31W * ?", []),
        ("2026-04", "L-30W * ?", []),
    ],
)
def test_items_of_days_of_the_month(month, text, expected):
    assert days_of(month, text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        # January 2026 starts with a Thursday; 1 is Sunday
        ("1", [4, 11, 18, 25]),
        ("SUN", [4, 11, 18, 25]),
        ("7", [3, 10, 17, 24, 31]),
        ("L", [3, 10, 17, 24, 31]),
        ("mon", [5, 12, 19, 26]),
        ("2-3", [5, 6, 12, 13, 19, 20, 26, 27]),
        ("TUE-WED", [6, 7, 13, 14, 20, 21, 27, 28]),
        ("2,FRI", [2, 5, 9, 12, 16, 19, 23, 26, 30]),
        # names and numbers may be mixed in a range, and names may have steps
        ("MON-3", [5, 6, 12, 13, 19, 20, 26, 27]),
        ("6-SAT", [2, 3, 9, 10, 16, 17, 23, 24, 30, 31]),
        ("MON-FRI/2", [2, 5, 7, 9, 12, 14, 16, 19, 21, 23, 26, 28, 30]),
        ("FRI/1", [2, 3, 9, 10, 16, 17, 23, 24, 30, 31]),
        ("6-2/2", [2, 4, 9, 11, 16, 18, 23, 25, 30]),
        ("FRI-MON/3", [2, 5, 9, 12, 16, 19, 23, 26, 30]),
        ("SAT-SUN", [3, 4, 10, 11, 17, 18, 24, 25, 31]),
        ("*/7", [4, 11, 18, 25]),
        ("6L", [30]),
        ("friL", [30]),
        ("7l", [31]),
        ("1L", [25]),
        ("6#1", [2]),
        ("fri#3", [16]),
        ("SAT#5", [31]),
        ("SUN#5", []),
        ("5#05", [29]),
    ],
)
def test_items_of_days_of_the_week(text, expected):
    assert days_of("2026-01", f"? * {text}") == expected


@pytest.mark.parametrize(
    "item, expected",
    [
        ("*", [*range(1, 13)]),
        ("3", [3]),
        ("mar", [3]),
        ("JAN,12", [1, 12]),
        ("NOV-FEB", [1, 2, 11, 12]),
        ("10-3/2", [2, 10, 12]),
        ("JAN-3", [1, 2, 3]),
        ("JAN/3", [1, 4, 7, 10]),
        ("*/12", [1]),
        # never after the last month
        ("7/6", [7]),
        ("APR-SEP/5", [4, 9]),
    ],
)
def test_items_of_months(item, expected):
    assert months_of(item) == expected


@pytest.mark.parametrize(
    "item, expected",
    [
        ("*", [*range(1970, 2100)]),
        ("1970", [1970]),
        ("2013-2015", [2013, 2014, 2015]),
        ("2026,2028", [2026, 2028]),
        ("2090/4", [2090, 2094, 2098]),
        ("*/50", [1970, 2020, 2070]),
        ("2090-2099/9", [2090, 2099]),
        # steps of years have no limit
        ("*/1000", [1970]),
    ],
)
def test_items_of_years(item, expected):
    assert years_of(item) == expected


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("  00\t015 10 ? jan-mar 6L 2013-2015 ", "0 15 10 ? JAN-MAR FRIL 2013-2015"),
        ("0 0 12 * * ? *", "0 0 12 * * ?"),
        ("0 0 12 1/1 * ? *", "0 0 12 1-31 * ?"),
        ("/5 */5 0/5 * * ?", "*/5 */5 0/5 * * ?"),
        ("1,1,3,2 5,* 3-3 * * ?", "1,2,3 * 3-3 * * ?"),
        ("0 0 0 ? 1,12 2,4", "0 0 0 ? JAN,DEC MON,WED"),
        ("0 0 0 ? 1-12/3 2-6/2", "0 0 0 ? JAN-DEC/3 MON-FRI/2"),
        ("0 0 0 ? 4/3 3/2", "0 0 0 ? APR-DEC/3 TUE-SAT/2"),
        ("0 0 0 ? * l", "0 0 0 ? * SAT"),
        ("0 0 0 ? * fri#03", "0 0 0 ? * FRI#3"),
        ("0 0 0 L-0 * ?", "0 0 0 L * ?"),
        ("0 0 0 l-03w * ?", "0 0 0 L-3W * ?"),
        ("0 0 0 lw * ?", "0 0 0 LW * ?"),
        ("0 0 0 015w * ?", "0 0 0 15W * ?"),
        ("0 0 0 28-3/2 10-3/2 ?", "0 0 0 28-3/2 OCT-MAR/2 ?"),
        ("5-59/5 20-59 9-23/2 * * ?", "5/5 20-59 9/2 * * ?"),
        ("0 0 0 1 1 ? 2026/1", "0 0 0 1 JAN ? 2026-2099"),
        ("0-0,*/2,0 */2,0/2 0 * * ?", "0,0-0,*/2 0/2,*/2 0 * * ?"),
    ],
)
def test_expression_has_one_canonical_text(text, canonical):
    assert str(parse_expression(text)) == canonical
    assert parse_expression(canonical) == parse_expression(text)
