"""Every form of a Quartz expression: its fire times, its canonical text, and what is refused."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from recurrence.combine import Limited
from recurrence.rules import Zoned
from recurrence.schedules import between
from recurrence.wire import WireError, parse
from recurrence.wire.quartz import AsQuartz, parse_expression, render
from recurrence.zones import Fold, Gap
from tests.recurrence.samples import CREATED_AT, first, utc


def after(text, instant="2026-01-01T00:00Z", number=3):
    """The first fire times from `instant` on, as "01-05 08:00:00, 01-06 08:00:00"."""
    return ", ".join(f"{fire:%m-%d %H:%M:%S}" for fire in first(number, parse_expression(text).rule, utc(instant)))


def of_a_minute(text):
    fires = between(parse_expression(text).rule, utc("2026-01-01T00:00Z"), utc("2026-01-01T00:01Z"))
    return [fire.second for fire in fires]


def of_an_hour(text):
    fires = between(parse_expression(text).rule, utc("2026-01-01T00:00Z"), utc("2026-01-01T01:00Z"))
    return [fire.minute for fire in fires]


def of_a_day(text):
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
        # the examples of the documentation that we follow
        ("0 0 12 * * ?", "01-01 12:00:00, 01-02 12:00:00, 01-03 12:00:00"),
        ("0 15 10 ? * * 2013", ""),
        ("0 10,44 14 ? 3 WED", "03-04 14:10:00, 03-04 14:44:00, 03-11 14:10:00"),
        ("0 15 10 ? * 6L 2013-2015", ""),
        ("0 15 10 ? * 6#3", "01-16 10:15:00, 02-20 10:15:00, 03-20 10:15:00"),
        # and of the jobs that come with it
        ("0 45 5 1 * ?", "01-01 05:45:00, 02-01 05:45:00, 03-01 05:45:00"),
        ("5 0 0 * * ?", "01-01 00:00:05, 01-02 00:00:05, 01-03 00:00:05"),
        ("0 1 0 11 * ?", "01-11 00:01:00, 02-11 00:01:00, 03-11 00:01:00"),
        ("0 1/15 * * * ?", "01-01 00:01:00, 01-01 00:16:00, 01-01 00:31:00"),
        ("0 0/5 * * * ?", "01-01 00:00:00, 01-01 00:05:00, 01-01 00:10:00"),
        ("0 0 * * * ?", "01-01 00:00:00, 01-01 01:00:00, 01-01 02:00:00"),
        # both ways of saying every day
        ("0 0 0 * * ?", "01-01 00:00:00, 01-02 00:00:00, 01-03 00:00:00"),
        ("0 0 0 ? * *", "01-01 00:00:00, 01-02 00:00:00, 01-03 00:00:00"),
        ("* * * * * ?", "01-01 00:00:00, 01-01 00:00:01, 01-01 00:00:02"),
        # spaces and tabs, in any number and at either end
        (" \t0  0\t12 \t * * ?\t", "01-01 12:00:00, 01-02 12:00:00, 01-03 12:00:00"),
    ],
)
def test_an_expression_fires_at_its_times(text, expected):
    assert after(text) == expected


@pytest.mark.parametrize(
    "text, instant, expected",
    [
        ("0 15 10 ? * * 2013", "2013-12-31T00:00Z", "12-31 10:15:00"),
        ("0 15 10 ? * 6L 2013-2015", "2015-10-01T00:00Z", "10-30 10:15:00, 11-27 10:15:00, 12-25 10:15:00"),
        ("0 0 0 29 2 ?", "2026-01-01T00:00Z", "02-29 00:00:00, 02-29 00:00:00, 02-29 00:00:00"),
        # never, whatever the year
        ("0 0 0 30 2 ?", "1970-01-01T00:00Z", ""),
        ("0 0 0 31 4,6,9,11 ?", "1970-01-01T00:00Z", ""),
        ("0 0 0 31W 2 ?", "1970-01-01T00:00Z", ""),
        ("0 0 0 29 2 ? 2027", "1970-01-01T00:00Z", ""),
        # the first and the last that there are
        ("* * * * * ?", "1900-01-01T00:00Z", "01-01 00:00:00, 01-01 00:00:01, 01-01 00:00:02"),
        ("0 59 23 31 12 ? 2099", "2026-01-01T00:00Z", "12-31 23:59:00"),
        ("* * * * * ?", "2099-12-31T23:59:58Z", "12-31 23:59:58, 12-31 23:59:59"),
        ("* * * * * ?", "2100-01-01T00:00Z", ""),
    ],
)
def test_an_expression_ends_where_it_has_no_more_times(text, instant, expected):
    assert after(text, instant) == expected


def test_a_far_but_real_fire_time_is_found():
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
        # steps begin anew in each cycle
        ("*/45", [0, 45]),
        ("*/59", [0, 59]),
        ("1/15", [1, 16, 31, 46]),
        ("50/20", [50]),
        ("10-40/10", [10, 20, 30, 40]),
        ("10-39/10", [10, 20, 30]),
        # ranges wrap
        ("55-5/5", [0, 5, 55]),
        ("58-1", [0, 1, 58, 59]),
        # all swallow the others
        ("*,5", [*range(60)]),
        ("5,*/30,40-41", [0, 5, 30, 40, 41]),
    ],
)
def test_seconds_and_minutes_have_items(item, expected):
    assert of_a_minute(f"{item} * * * * ?") == expected
    assert of_an_hour(f"0 {item} * * * ?") == expected


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
def test_hours_have_items(item, expected):
    assert of_a_day(f"0 0 {item} * * ?") == expected


@pytest.mark.parametrize(
    "month, text, expected",
    [
        ("2026-02", "* * ?", [*range(1, 29)]),
        ("2026-02", "31 * ?", []),
        ("2026-04", "31 * ?", []),
        # a step starts anew in each month: from the 31st to the 1st
        ("2026-01", "*/2 * ?", [*range(1, 32, 2)]),
        ("2026-02", "*/2 * ?", [*range(1, 28, 2)]),
        ("2026-01", "*/31 * ?", [1]),
        ("2026-01", "28/1 * ?", [28, 29, 30, 31]),
        # ranges that wrap count 31 days in every month
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
        # Saturday 31 January: the Friday before; Tuesday 31 March
        ("2026-01", "LW * ?", [30]),
        ("2026-03", "LW * ?", [31]),
        # Sunday 31 May: two days back, not into June
        ("2026-05", "LW * ?", [29]),
        ("2026-01", "L-6W * ?", [26]),
        ("2026-01", "l-7w * ?", [23]),
        # the 1st is a Saturday in August: not the Friday before, for that is July
        ("2026-08", "1W * ?", [3]),
        ("2026-08", "L-30W * ?", [3]),
        ("2026-02", "1W * ?", [2]),
        ("2026-08", "15W * ?", [14]),
        ("2026-08", "16W * ?", [17]),
        ("2026-08", "17W * ?", [17]),
        ("2026-05", "31W * ?", [29]),
        # a month without the day has none
        ("2031-02", "29W * ?", []),
        ("2027-02", "31W * ?", []),
        ("2027-04", "31W * ?", []),
        ("2026-04", "L-30W * ?", []),
    ],
)
def test_days_of_the_month_have_items(month, text, expected):
    assert days_of(month, text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        # January 2026 begins with a Thursday; 1 is Sunday
        ("1", [4, 11, 18, 25]),
        ("SUN", [4, 11, 18, 25]),
        ("7", [3, 10, 17, 24, 31]),
        ("L", [3, 10, 17, 24, 31]),
        ("mon", [5, 12, 19, 26]),
        ("2-3", [5, 6, 12, 13, 19, 20, 26, 27]),
        ("TUE-WED", [6, 7, 13, 14, 20, 21, 27, 28]),
        ("2,FRI", [2, 5, 9, 12, 16, 19, 23, 26, 30]),
        # names and numbers may be mixed in a range, and steps stand behind names too
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
def test_days_of_the_week_have_items(text, expected):
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
        # never past the last month
        ("7/6", [7]),
        ("APR-SEP/5", [4, 9]),
    ],
)
def test_months_have_items(item, expected):
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
def test_years_have_items(item, expected):
    assert years_of(item) == expected


# Canonical text


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
    ],
)
def test_an_expression_has_one_canonical_text(text, canonical):
    assert str(parse_expression(text)) == canonical
    assert parse_expression(canonical) == parse_expression(text)


# Refusals

FIELDS = ("second", "minute", "hour", "day of month", "month", "day of week", "year")


def refusal(text):
    with pytest.raises(WireError) as caught:
        parse("quartz", {"expression": text}, CREATED_AT)
    assert caught.value.path == "expression"
    return caught.value.message


def expression_with(field, part):
    parts = ["0", "0", "0", "?" if field == "day of week" else "1", "*", "?", "*"]
    if field == "day of week":
        parts[3:6] = ["?", "*", part]
    parts[FIELDS.index(field)] = part
    return " ".join(parts)


@pytest.mark.parametrize(
    "field, part",
    [
        # out of range, and the numbers that Quartz keeps for itself
        *[(field, part) for field in ("second", "minute") for part in ("60", "99", "98", "-1", "5-60", "60/5")],
        *[("hour", part) for part in ("24", "99", "0-24", "23-24/2", "10000000000000000000")],
        *[("day of month", part) for part in ("0", "32", "99", "98", "0-5", "0W", "32W", "L-31", "L-31W", "L-100")],
        *[("month", part) for part in ("0", "13", "99", "JAN-13")],
        *[("day of week", part) for part in ("0", "8", "99", "98", "0#1", "8#1", "0L", "8L", "2#0", "2#6", "2#99")],
        *[("year", part) for part in ("1969", "20", "2100", "99999", "99", "1969-2000", "2000-2100", "2100/2")],
        # steps
        *[(field, part) for field in ("second", "minute") for part in ("*/0", "5/0", "/0", "*/60", "0/60", "0-9/60")],
        *[("hour", part) for part in ("*/24", "/24", "0/24", "0-9/24", "*/0", "5-8/0")],
        *[("day of month", part) for part in ("*/32", "1/32", "*/0", "L/2", "15W/2", "1-9/99")],
        *[("month", part) for part in ("*/13", "JAN/13", "JAN/0", "*/0", "JAN-MAR/13")],
        *[("day of week", part) for part in ("*/8", "2/8", "MON/0", "MON-FRI/8")],
        *[("year", part) for part in ("*/0", "2020/0", "2020/-1")],
        # a range of years does not wrap
        ("year", "2030-2026"),
        # longer names, other names, other languages
        *[("day of week", part) for part in ("MONDAY", "TUES", "MONFRI", "QUA", "JAN", "MO", "M")],
        *[("month", part) for part in ("JANUARY", "DEZ", "JANL", "SUN", "J")],
        ("hour", "SUN"),
        # what stands behind a number is not ignored
        *[(field, part) for field in FIELDS for part in ("5*", "1.5", "1;5", "1-2-3", "*-5", "5C", "1//2", "1/2/3")],
        *[("minute", part) for part in ("5-", "-", "/", "*/", "5/", "**", "*5", "+5", "0x5", "5_0", "1e1", "5#2")],
        # empty items
        *[(field, part) for field in FIELDS for part in (",", "1,", ",1", "1,,5")],
        # L outside the day fields
        *[(field, "L") for field in ("second", "minute", "hour", "month", "year")],
        ("month", "3L"),
        ("hour", "5L"),
        # W, L and # stand alone
        *[("day of month", part) for part in ("1,L", "L,1", "15W,20", "LW,1", "1W-5W", "L-3,L", "1-15W", "WL", "W")],
        *[("day of month", part) for part in ("L-", "L-W", "L--3", "L3W", "6L", "MON", "2#1")],
        *[("day of week", part) for part in ("6#3,2", "2,6#3", "6#3#2", "6L,2", "L,2", "2,L", "2#1-3", "2-6L")],
        *[("day of week", part) for part in ("LW", "L-3", "5W", "#2", "6#", "6#L", "FRIL#2", "LFRI", "L6")],
        # H of others, and @ of crontab
        *[(field, "H") for field in FIELDS],
        ("minute", "@5"),
        # ? in a field that is none of days, or with others
        *[(field, "?") for field in ("second", "minute", "hour", "month", "year")],
        *[("day of month", part) for part in ("?,1", "?/2", "1-?", "??")],
        *[("day of week", part) for part in ("?,1", "?/2", "2-?", "?#1")],
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused_by_name_with_its_text_and_what_would_do(field, part):
    message = refusal(expression_with(field, part))

    assert message.startswith(f"the {field} must ")
    assert message.endswith(f", not {part.upper()!r}")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "must have 6 or 7 fields"),
        ("  ", "must have 6 or 7 fields"),
        ("@daily", "must have 6 or 7 fields"),
        # a line of crontab
        ("15 10 * * 5", "must have 6 or 7 fields"),
        ("15 10 * * ?", "must have 6 or 7 fields"),
        # what Quartz ignores, up to 2.4
        ("0 0 0 * * ? * *", "must have 6 or 7 fields"),
        ("0 0 0 * * ? 2026 #", "must have 6 or 7 fields"),
        # exactly one of the day fields is ?
        ("* * * * * *", "one of day of month and day of week must be ?, and only one, not '*' and '*'"),
        ("0 0 0 1 * *", "one of day of month and day of week must be ?, and only one, not '1' and '*'"),
        ("0 0 0 * * MON", "one of day of month and day of week must be ?, and only one, not '*' and 'MON'"),
        ("0 0 0 ? * ?", "one of day of month and day of week must be ?, and only one, not '?' and '?'"),
        # a line break is no space
        ("0 0 0 * * ?\n", "the day of week must hold ? alone"),
        ("0 0 0 * * ? 2026\n", "the year must be numbers from 1970 to 2099"),
        ("0\n0 0 0 * * ?", "the second must be numbers from 0 to 59"),
        ("0\u00a00 0 0 * * ?", "must be written in ASCII"),
        ("٠ 0 0 * * ?", "must be written in ASCII"),
        ("0 0 0 * * ?" + " " * 300, "must have at most 256 characters, not 311"),
    ],
)
def test_a_wrong_expression_is_refused(text, message):
    assert refusal(text).startswith(message)


def test_a_calendar_is_refused_with_a_message_of_its_own():
    assert "C, which Quartz gave up" in refusal("0 0 0 5C * ?")
    assert "C, which Quartz gave up" in refusal("0 0 0 ? * 1C")


def test_a_refusal_names_the_numbers_the_names_and_the_forms():
    assert refusal("0 0 0 ? * 0") == (
        "the day of week must be numbers from 1 to 7 or names from SUN to SAT, ranges such as a-b, steps such as */n, "
        "with commas between them, or *, not '0'"
    )
    assert refusal("0 */60 * * * ?") == "the minute must have steps of 1 to 59, not '*/60'"
    assert refusal("0 0 0 * * ? */0") == "the year must have steps of 1 or more, not '*/0'"


# The other members

DAILY = {"expression": "0 30 2 * * ?"}
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    "members, schedule",
    [
        ({}, parse_expression(DAILY["expression"]).rule),
        ({"timeZone": None, "clockChange": None}, parse_expression(DAILY["expression"]).rule),
        ({"timeZone": "UTC", "clockChange": "quartz"}, parse_expression(DAILY["expression"]).rule),
        (
            {"timeZone": "Europe/Berlin"},
            Zoned(parse_expression(DAILY["expression"]).rule, BERLIN, Gap.END, Fold.FIRST),
        ),
        (
            {"timeZone": "Europe/Berlin", "clockChange": "CRON", "expression": "0 */30 2 * * ?"},
            Zoned(parse_expression("0 */30 2 * * ?").rule, BERLIN, Gap.SKIP, Fold.BOTH),
        ),
        (
            {"timeZone": "Europe/Berlin", "clockChange": "Quartz"},
            AsQuartz(Zoned(parse_expression(DAILY["expression"]).rule, BERLIN, Gap.SKIP, Fold.SECOND)),
        ),
        (
            {"startTime": "2026-01-02", "endTime": "2026-01-03T02:30:00Z"},
            Limited(parse_expression(DAILY["expression"]).rule, utc("2026-01-02T00:00Z"), utc("2026-01-03T02:30Z")),
        ),
    ],
)
def test_a_definition_is_compiled_with_its_zone_its_rule_and_its_bounds(members, schedule):
    parsed = parse("quartz", DAILY | members, CREATED_AT)

    assert parsed.schedule == schedule
    assert (parsed.count, parsed.warnings) == (None, ())


@pytest.mark.parametrize(
    "part, is_stepping",
    [
        ("5", False),
        ("5,6", False),
        ("*", True),
        ("*/5", True),
        ("/5", True),
        ("5/5", True),
        ("5-7", True),
        ("5-5", True),
    ],
)
def test_any_star_dash_or_slash_in_a_time_field_makes_an_interval(part, is_stepping):
    for text in (f"{part} 0 0 * * ?", f"0 {part} 0 * * ?", f"0 0 {part} * * ?"):
        assert parse_expression(text).is_stepping is is_stepping
    assert not parse_expression(f"0 0 0 {part} * ?").is_stepping
    assert not parse_expression(f"0 0 0 ? * {part}").is_stepping


def test_both_bounds_are_included():
    bounds = {"startTime": "2026-01-02T02:30:00Z", "endTime": "2026-01-03T02:30:00Z"}

    schedule = parse("quartz", DAILY | bounds, CREATED_AT).schedule

    assert first(9, schedule) == [utc("2026-01-02T02:30Z"), utc("2026-01-03T02:30Z")]


@pytest.mark.parametrize(
    "members, path, code",
    [
        ({"expression": None}, "expression", "required"),
        ({"expression": 5}, "expression", "invalid"),
        ({"expression": ["0 0 0 * * ?"]}, "expression", "invalid"),
        ({"expression": "0 0 0 * * *"}, "expression", "not_allowed"),
        ({"expression": "0 0 0 * * ?" + " " * 300}, "expression", "out_of_range"),
        ({"timeZone": "Europe/Atlantis"}, "timeZone", "unknown_value"),
        ({"timeZone": 1}, "timeZone", "invalid"),
        ({"clockChange": "java"}, "clockChange", "unknown_value"),
        ({"clockChange": True}, "clockChange", "invalid"),
        ({"startTime": "soon"}, "startTime", "invalid"),
        ({"endTime": "2026-02-30"}, "endTime", "out_of_range"),
        ({"startTime": "2026-02-02", "endTime": "2026-02-01"}, "endTime", "out_of_range"),
    ],
)
def test_a_wrong_member_is_refused_under_its_path(members, path, code):
    with pytest.raises(WireError) as caught:
        parse("quartz", DAILY | members, CREATED_AT)

    assert (caught.value.path, caught.value.code) == (path, code)


@pytest.mark.parametrize(
    "members",
    [
        {"expression": "0 15 10 ? * 6L 2013-2015"},
        {"expression": "0 0 0 30 2 ?"},
        {"endTime": "2025-12-31"},
        # every second Sunday of March, always skipped
        {"expression": "0 30 2 ? 3 1#2", "timeZone": "America/New_York", "clockChange": "quartz"},
    ],
)
def test_what_never_fires_again_is_accepted_with_a_warning(members):
    parsed = parse("quartz", DAILY | members, CREATED_AT)

    assert parsed.warnings == ("It will not fire again.",)
    assert parsed.may_never_fire
    assert parsed.schedule.after(CREATED_AT) is None


def test_a_fire_time_at_the_creation_is_one():
    assert parse("quartz", {"expression": "0 0 0 1 1 ? 2026"}, CREATED_AT).warnings == ()


def test_unknown_members_are_warned_of():
    assert parse("quartz", DAILY | {"timezone": "Europe/Berlin", "note": None}, CREATED_AT).warnings == (
        "'timezone' is not known here and is ignored",
    )


def test_a_definition_is_rendered_in_canonical_text():
    definition = {
        "expression": "0 30 2 ? * fri",
        "timeZone": "romance standard time",
        "clockChange": "QUARTZ",
        "startTime": "2026-01-02T01:00:00+01:00",
        "endTime": None,
        "note": "mine",
    }

    assert render(definition) == {
        "expression": "0 30 2 ? * FRI",
        "timeZone": "Europe/Paris",
        "clockChange": "quartz",
        "startTime": "2026-01-02T00:00:00Z",
    }
    assert render(render(definition)) == render(definition)
    assert render(DAILY) == DAILY


def test_a_definition_is_told_in_its_zone():
    assert parse("quartz", DAILY, CREATED_AT).zone is UTC
    assert parse("quartz", DAILY | {"timeZone": "europe/berlin"}, CREATED_AT).zone == BERLIN
