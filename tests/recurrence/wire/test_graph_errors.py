"""Errors of Graph's recurring events: paths and codes."""

from copy import deepcopy
from functools import reduce
from operator import getitem

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.wire import WireError, parse, render
from tests.recurrence.wire.graph_events import NEW_YEAR, event

DAILY = {"type": "daily"}
WEEKLY = {"type": "weekly", "daysOfWeek": ["monday"]}
MONTHLY = {"type": "absoluteMonthly", "dayOfMonth": 5}
RELATIVE = {"type": "relativeMonthly", "daysOfWeek": ["monday"]}
YEARLY = {"type": "absoluteYearly", "dayOfMonth": 5, "month": 5}
RELATIVE_YEARLY = {"type": "relativeYearly", "daysOfWeek": ["monday"], "month": 5}
ALL_TYPES = [DAILY, WEEKLY, MONTHLY, RELATIVE, YEARLY, RELATIVE_YEARLY]


def refusal(definition):
    with pytest.raises(WireError) as caught:
        parse("outlook", definition, NEW_YEAR)
    with pytest.raises(WireError):
        render("outlook", definition)
    assert len(caught.value.message) < 300
    return caught.value.path.removeprefix("recurrence."), caught.value.code


@pytest.mark.parametrize(
    "change, path, code",
    [
        ({"type": None}, "type", "required"),
        ({"type": "hourly"}, "type", "unknown_value"),
        ({"type": ""}, "type", "unknown_value"),
        ({"type": 1}, "type", "invalid"),
        ({"interval": None}, "interval", "required"),
        ({"interval": 0}, "interval", "out_of_range"),
        ({"interval": -1}, "interval", "out_of_range"),
        ({"interval": 2**31}, "interval", "out_of_range"),
        ({"interval": 10**5000}, "interval", "out_of_range"),
        ({"interval": "1"}, "interval", "invalid"),
        ({"interval": 1.0}, "interval", "invalid"),
        ({"interval": True}, "interval", "invalid"),
        # ignored members are still validated
        ({"index": "fifth"}, "index", "unknown_value"),
        ({"index": 1}, "index", "invalid"),
        ({"firstDayOfWeek": "someday"}, "firstDayOfWeek", "unknown_value"),
        ({"firstDayOfWeek": 0}, "firstDayOfWeek", "invalid"),
        ({"daysOfWeek": ["monday", "noday"]}, "daysOfWeek[1]", "unknown_value"),
        ({"daysOfWeek": [None]}, "daysOfWeek[0]", "invalid"),
        ({"daysOfWeek": "monday"}, "daysOfWeek", "invalid"),
        ({"daysOfWeek": {"monday": True}}, "daysOfWeek", "invalid"),
        ({"daysOfWeek": ["monday"] * 1001}, "daysOfWeek", "out_of_range"),
        # and ignored numbers must be numbers
        ({"dayOfMonth": "5"}, "dayOfMonth", "invalid"),
        ({"dayOfMonth": 2**31}, "dayOfMonth", "out_of_range"),
        ({"month": 5.5}, "month", "invalid"),
        ({"month": -(10**30)}, "month", "out_of_range"),
    ],
)
@pytest.mark.parametrize("pattern", ALL_TYPES, ids=lambda pattern: pattern["type"])
def test_invalid_member_of_each_pattern_type_is_refused(pattern, change, path, code):
    assert refusal(event(pattern | change)) == (f"pattern.{path}", code)


@pytest.mark.parametrize(
    "pattern, change, path, code",
    [
        (WEEKLY, {"daysOfWeek": None}, "daysOfWeek", "required"),
        (WEEKLY, {"daysOfWeek": []}, "daysOfWeek", "required"),
        (RELATIVE, {"daysOfWeek": []}, "daysOfWeek", "required"),
        (RELATIVE_YEARLY, {"daysOfWeek": None}, "daysOfWeek", "required"),
        (MONTHLY, {"dayOfMonth": None}, "dayOfMonth", "required"),
        # the placeholder is accepted only where it is ignored
        (MONTHLY, {"dayOfMonth": 0}, "dayOfMonth", "out_of_range"),
        (MONTHLY, {"dayOfMonth": 32}, "dayOfMonth", "out_of_range"),
        (MONTHLY, {"dayOfMonth": -1}, "dayOfMonth", "out_of_range"),
        (YEARLY, {"dayOfMonth": 0}, "dayOfMonth", "out_of_range"),
        (YEARLY, {"month": None}, "month", "required"),
        (YEARLY, {"month": 0}, "month", "out_of_range"),
        (YEARLY, {"month": 13}, "month", "out_of_range"),
        (RELATIVE_YEARLY, {"month": 0}, "month", "out_of_range"),
    ],
)
def test_missing_member_of_a_pattern_type_is_refused(pattern, change, path, code):
    assert refusal(event(pattern | change)) == (f"pattern.{path}", code)


@pytest.mark.parametrize(
    "limits, path, code",
    [
        ({"type": None}, "type", "required"),
        ({"type": "forever"}, "type", "unknown_value"),
        ({"type": []}, "type", "invalid"),
        ({"startDate": None}, "startDate", "required"),
        ({"startDate": "2026-01-05T10:00:00"}, "startDate", "invalid"),
        ({"startDate": "05-01-2026"}, "startDate", "invalid"),
        ({"startDate": "2026-1-5"}, "startDate", "invalid"),
        ({"startDate": "2026-01-05\n"}, "startDate", "invalid"),
        ({"startDate": "\u0662\u0660\u0662\u0666-01-05"}, "startDate", "invalid"),
        ({"startDate": 20260105}, "startDate", "invalid"),
        ({"startDate": "2026-02-30"}, "startDate", "out_of_range"),
        ({"startDate": "0000-01-01"}, "startDate", "out_of_range"),
        # the start date must be the day of the start
        ({"startDate": "2026-01-04"}, "startDate", "not_allowed"),
        ({"startDate": "2026-01-06"}, "startDate", "not_allowed"),
        ({"startDate": "0001-01-01"}, "startDate", "not_allowed"),
        ({"type": "endDate"}, "endDate", "required"),
        ({"type": "endDate", "endDate": "soon"}, "endDate", "invalid"),
        ({"type": "endDate", "endDate": "2026-01-04"}, "endDate", "never_fires"),
        ({"type": "endDate", "endDate": "0001-01-01"}, "endDate", "never_fires"),
        ({"endDate": "2026-13-01"}, "endDate", "out_of_range"),  # ignored, but not a date
        ({"type": "numbered"}, "numberOfOccurrences", "required"),
        ({"type": "numbered", "numberOfOccurrences": 0}, "numberOfOccurrences", "out_of_range"),
        ({"type": "numbered", "numberOfOccurrences": -3}, "numberOfOccurrences", "out_of_range"),
        ({"type": "numbered", "numberOfOccurrences": 2**31}, "numberOfOccurrences", "out_of_range"),
        ({"type": "numbered", "numberOfOccurrences": "3"}, "numberOfOccurrences", "invalid"),
        ({"numberOfOccurrences": 2**63}, "numberOfOccurrences", "out_of_range"),
        ({"recurrenceTimeZone": "Mars"}, "recurrenceTimeZone", "unknown_value"),
        ({"recurrenceTimeZone": "UTC\0"}, "recurrenceTimeZone", "unknown_value"),
        ({"recurrenceTimeZone": "\ud800"}, "recurrenceTimeZone", "unknown_value"),
        ({"recurrenceTimeZone": 5}, "recurrenceTimeZone", "invalid"),
        # the start is on the 5th in Berlin, but on the 6th in Kiritimati
        ({"recurrenceTimeZone": "Pacific/Kiritimati"}, "startDate", "not_allowed"),
    ],
)
def test_invalid_member_of_a_range_is_refused(limits, path, code):
    assert refusal(event(DAILY, limits, start="2026-01-05T12:00:00")) == (f"range.{path}", code)


def test_end_before_the_first_occurrence_is_refused():
    limits = {"type": "endDate", "endDate": "2026-01-31"}

    assert refusal(event(RELATIVE | {"index": "first"}, limits, start="2026-01-06T10:00:00")) == (
        "range.endDate",
        "never_fires",
    )


@pytest.mark.parametrize(
    "name, value, path, code",
    [
        ("start", None, "start", "required"),
        ("start", "2026-01-05T10:00:00", "start", "invalid"),
        ("start", {"timeZone": "UTC"}, "start.dateTime", "required"),
        ("start", {"dateTime": 5, "timeZone": "UTC"}, "start.dateTime", "invalid"),
        ("start", {"dateTime": "2026-01-05", "timeZone": "UTC"}, "start.dateTime", "invalid"),
        ("start", {"dateTime": "2026-01-05 10:00:00", "timeZone": "UTC"}, "start.dateTime", "invalid"),
        ("start", {"dateTime": "2026-01-05T10:00:00.12345678", "timeZone": "UTC"}, "start.dateTime", "invalid"),
        ("start", {"dateTime": "2026-01-05T24:00:00", "timeZone": "UTC"}, "start.dateTime", "out_of_range"),
        ("start", {"dateTime": "2026-02-30T10:00:00", "timeZone": "UTC"}, "start.dateTime", "out_of_range"),
        (
            "start",
            {"dateTime": "0001-01-01T00:00:00+14:00", "timeZone": "UTC"},
            "start.dateTime",
            "out_of_range",
        ),
        ("start", {"dateTime": "2026-01-05T10:00:00", "timeZone": "Mars"}, "start.timeZone", "unknown_value"),
        ("start", {"dateTime": "2026-01-05T10:00:00", "timeZone": ""}, "start.timeZone", "unknown_value"),
        ("end", None, "end", "required"),
        ("end", {"dateTime": "2026-01-05T09:59:59", "timeZone": "Europe/Berlin"}, "end", "out_of_range"),
        ("end", {"dateTime": "2027-01-06T10:00:01", "timeZone": "Europe/Berlin"}, "end", "out_of_range"),
        ("end", {"dateTime": "9999-12-31T23:59:59", "timeZone": "Etc/GMT+12"}, "end", "out_of_range"),
        ("recurrence", None, "recurrence", "required"),
        ("recurrence", [], "recurrence", "invalid"),
        ("recurrence", {}, "pattern", "required"),
        ("recurrence", {"pattern": "daily"}, "pattern", "invalid"),
        ("recurrence", {"pattern": DAILY}, "range", "required"),
        ("recurrence", {"pattern": DAILY, "range": 5}, "range", "invalid"),
    ],
)
def test_invalid_member_of_an_event_is_refused(name, value, path, code):
    assert refusal(event(DAILY) | {name: value}) == (path, code)


@pytest.mark.parametrize(
    "pattern, start, zone",
    [
        # before the first and after the last instant, after conversion to UTC or another zone
        (DAILY, "0001-01-01T00:00:00", "Asia/Tokyo"),
        (DAILY, "0001-01-02T00:00:00", "UTC"),
        (DAILY, "9999-12-31T22:00:00", "America/New_York"),
        (DAILY, "9999-12-30T10:00:00", "UTC"),
        # the first matching day would be in the year 10000
        (YEARLY, "9999-06-01T10:00:00", "UTC"),
        (RELATIVE_YEARLY, "9999-06-01T10:00:00", "UTC"),
        (MONTHLY, "9999-12-06T10:00:00", "UTC"),
        (WEEKLY, "9999-12-28T10:00:00", "UTC"),
    ],
)
def test_start_outside_the_calendar_is_refused(pattern, start, zone):
    assert refusal(event(pattern, start=start, zone=zone)) == ("start", "out_of_range")


def test_event_of_zero_length_is_accepted():
    parsed = parse("outlook", event(DAILY, end="2026-01-05T10:00:00"), NEW_YEAR)

    assert parsed.schedule.first.start == parsed.schedule.first.end


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
odd_values = json_values | st.sampled_from(
    ["0001-01-01", "9999-12-31", "0001-01-01T00:00:00", "9999-12-31T23:59:59.9999999", "Pacific/Apia", "endDate"]
)


def member_paths(part):
    """Yield the path to each member of a document, at each depth."""
    for name, value in part.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, *path) for path in member_paths(value))


WHOLE = event(DAILY, {"endDate": "2026-12-31", "numberOfOccurrences": 5, "recurrenceTimeZone": "UTC"}, zone="UTC")
ALL_PATHS = sorted(member_paths(WHOLE))


@given(
    st.sampled_from(ALL_TYPES),
    st.sampled_from(["noEnd", "endDate", "numbered"]),
    st.dictionaries(st.sampled_from(ALL_PATHS), odd_values, min_size=1, max_size=3),
)
@settings(max_examples=400)
def test_any_document_is_rendered_or_refused(pattern, type, changes):
    definition = deepcopy(WHOLE)
    definition["recurrence"]["pattern"] |= pattern
    definition["recurrence"]["range"]["type"] = type
    for (*path, name), value in sorted(changes.items(), reverse=True, key=lambda change: change[0]):
        reduce(getitem, path, definition)[name] = value

    try:
        rendered = render("outlook", definition)
    except WireError as error:
        assert error.path
        assert error.code
        assert error.message
        return
    assert render("outlook", rendered) == rendered
    assert parse("outlook", rendered, NEW_YEAR).schedule == parse("outlook", definition, NEW_YEAR).schedule
