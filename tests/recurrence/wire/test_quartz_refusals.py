"""Refused Quartz expressions, with messages that name the accepted forms."""

import pytest

from recurrence.wire import WireError, parse
from tests.recurrence.samples import CREATED_AT

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
        # out of range, and numbers that Quartz uses internally
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
        # text after a number is not ignored
        *[(field, part) for field in FIELDS for part in ("5*", "1.5", "1;5", "1-2-3", "*-5", "5C", "1//2", "1/2/3")],
        *[("minute", part) for part in ("5-", "-", "/", "*/", "5/", "**", "*5", "+5", "0x5", "5_0", "1e1", "5#2")],
        # empty items
        *[(field, part) for field in FIELDS for part in (",", "1,", ",1", "1,,5")],
        # L outside the day fields
        *[(field, "L") for field in ("second", "minute", "hour", "month", "year")],
        ("month", "3L"),
        ("hour", "5L"),
        # W, L and # cannot be in a list
        *[("day of month", part) for part in ("1,L", "L,1", "15W,20", "LW,1", "1W-5W", "L-3,L", "1-15W", "WL", "W")],
        *[("day of month", part) for part in ("L-", "L-W", "L--3", "L3W", "6L", "MON", "2#1")],
        *[("day of week", part) for part in ("6#3,2", "2,6#3", "6#3#2", "6L,2", "L,2", "2,L", "2#1-3", "2-6L")],
        *[("day of week", part) for part in ("LW", "L-3", "5W", "#2", "6#", "6#L", "FRIL#2", "LFRI", "L6")],
        # H of other schedulers, and @ of crontab
        *[(field, "H") for field in FIELDS],
        ("minute", "@5"),
        # ? in a field that is not for days, or in a list
        *[(field, "?") for field in ("second", "minute", "hour", "month", "year")],
        *[("day of month", part) for part in ("?,1", "?/2", "1-?", "??")],
        *[("day of week", part) for part in ("?,1", "?/2", "2-?", "?#1")],
    ],
)  # fmt: skip
def test_error_of_a_field_has_its_name_its_text_and_the_accepted_forms(field, part):
    message = refusal(expression_with(field, part))

    assert message.startswith(f"the {field} must ")
    assert message.endswith(f", not {part.upper()!r}")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "must have 6 or 7 fields"),
        ("  ", "must have 6 or 7 fields"),
        ("@daily", "must have 6 or 7 fields"),
        # a crontab line
        ("15 10 * * 5", "must have 6 or 7 fields"),
        ("15 10 * * ?", "must have 6 or 7 fields"),
        # extra fields that Quartz up to 2.4 ignores
        ("0 0 0 * * ? * *", "must have 6 or 7 fields"),
        ("0 0 0 * * ? 2026 #", "must have 6 or 7 fields"),
        # exactly one of the day fields must be ?
        ("* * * * * *", "one of day of month and day of week must be ?, and only one, not '*' and '*'"),
        ("0 0 0 1 * *", "one of day of month and day of week must be ?, and only one, not '1' and '*'"),
        ("0 0 0 * * MON", "one of day of month and day of week must be ?, and only one, not '*' and 'MON'"),
        ("0 0 0 ? * ?", "one of day of month and day of week must be ?, and only one, not '?' and '?'"),
        # a line break is not a space
        ("0 0 0 * * ?\n", "the day of week must hold ? alone"),
        ("0 0 0 * * ? 2026\n", "the year must be numbers from 1970 to 2099"),
        ("0\n0 0 0 * * ?", "the second must be numbers from 0 to 59"),
        ("0\u00a00 0 0 * * ?", "must be written in ASCII"),
        ("٠ 0 0 * * ?", "must be written in ASCII"),
        ("0 0 0 * * ?" + " " * 300, "must have at most 256 characters, not 311"),
    ],
)
def test_invalid_expression_is_refused(text, message):
    assert refusal(text).startswith(message)


def test_calendar_character_is_refused_with_its_own_message():
    assert "C, which Quartz gave up" in refusal("0 0 0 5C * ?")
    assert "C, which Quartz gave up" in refusal("0 0 0 ? * 1C")


def test_error_message_lists_the_accepted_numbers_names_and_forms():
    assert refusal("0 0 0 ? * 0") == (
        "the day of week must be numbers from 1 to 7 or names from SUN to SAT, ranges such as a-b, steps such as */n, "
        "with commas between them, or *, not '0'"
    )
    assert refusal("0 */60 * * * ?") == "the minute must have steps of 1 to 59, not '*/60'"
    assert refusal("0 0 0 * * ? */0") == "the year must have steps of 1 or more, not '*/0'"
