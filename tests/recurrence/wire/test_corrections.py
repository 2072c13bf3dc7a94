"""Corrections of wrong schedules."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence import wire
from recurrence.wire import WireError
from recurrence.wire.corrections import LONGEST_CORRECTED, Correction, suggest_correction
from tests.recurrence.samples import CREATED_AT

START = {"dateTime": "2026-01-05T09:00:00"}


def corrections_of(format, definition):
    """Return the correction of each wrong member by its path."""
    with pytest.raises(WireError) as caught:
        wire.parse(format, definition, CREATED_AT)
    faults = (caught.value, *caught.value.others)
    return {fault.path: suggest_correction(format, definition, fault) for fault in faults}


@pytest.mark.parametrize(
    "format, text, corrected, words",
    [
        ("quartz", "0 0 9 * * *", "0 0 9 * * ?", "one of the two day fields must be ?"),
        ("quartz", "0 0 9 ? * ?", "0 0 9 * * ?", "one of the two day fields must be ?"),
        ("quartz", "0 0 9 * * MON-FRI", "0 0 9 ? * MON-FRI", "one of the two day fields must be ?"),
        ("quartz", "0 0 9 1 * * 2030", "0 0 9 1 * ? 2030", "one of the two day fields must be ?"),
        ("quartz", "*/5 9-17 * * 1-5", "0 */5 9-17 ? * MON-FRI", "crontab line"),
        ("quartz", "0 9 * * monday", "0 0 9 ? * MON", "crontab line"),
        ("quartz", "@daily", "0 0 0 * * ?", "crontab line"),
        ("quartz", "0 0 9 ? sept wednes", "0 0 9 ? SEP WED", "three letters"),
        ("quartz", "0 0 24 * * ?", "0 0 0 * * ?", "midnight is 0"),
        ("cron", "0 0 9 * * ?", "0 9 * * *", "quartz expression"),
        ("cron", "0 0 9 * * MON-FRI", "0 9 * * 1-5", "quartz expression"),
        ("cron", "0 9 * * monday-friday", "0 9 * * MON-FRI", "three letters"),
        ("cron", "0 9 * january tues,thurs", "0 9 * JAN TUE,THU", "three letters"),
        ("cron", "30 24 * * *", "30 0 * * *", "midnight is 0"),
        ("cron", "0 9 ? * 1", "0 9 * * 1", "* in place of ?"),
        ("rrule", "FREQ = DAILY; COUNT = 3", "FREQ=DAILY;COUNT=3", "no spaces"),
        ("rrule", "RRULE=FREQ=DAILY", "FREQ=DAILY", "no spaces"),
        ("rrule", "DAILY;COUNT=2", "FREQ=DAILY;COUNT=2", "begins with freq="),
        ("rrule", "freq=weekly;byday=monday,tu", "FREQ=WEEKLY;BYDAY=MO,TU", "two letters"),
    ],
)
def test_expression_is_corrected(format, text, corrected, words):
    definition = {"start": START, "rrule": text} if format == "rrule" else {"expression": text}
    path = "rrule" if format == "rrule" else "expression"

    correction = corrections_of(format, definition)[path]

    assert (correction.path, correction.value) == (path, corrected)
    assert words in correction.text.lower()
    wire.parse(format, definition | {path: corrected}, CREATED_AT)


@pytest.mark.parametrize(
    "name, corrected",
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("berlin", "Europe/Berlin"),
        ("Europe/berlin ", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("america/newyork", "America/New_York"),
        ("Nowhere Time", None),
        ("Mars", None),
        ("", None),
    ],
)
def test_zone_is_corrected(name, corrected):
    found = corrections_of("cron", {"expression": "0 9 * * *", "timeZone": name})["timeZone"]

    assert (found and found.value) == corrected


@pytest.mark.parametrize(
    "format, definition, path, corrected",
    [
        (
            "azure",
            {"startTime": "2026-1-5 9:00", "recurrence": {"frequency": "Day"}},
            "startTime",
            "2026-01-05T09:00:00Z",
        ),
        (
            "azure",
            {"startTime": "2026-1-5 9:00", "recurrence": {"frequency": "Day"}, "timeZone": "Europe/Berlin"},
            "startTime",
            "2026-01-05T09:00:00",
        ),
        ("azure", {"recurrence": {"frequency": "days"}}, "recurrence.frequency", "Day"),
        (
            "azure",
            {"recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday", "Tuesay"]}}},
            "recurrence.schedule.weekDays[1]",
            "Tuesday",
        ),
        ("once", {"at": "2026/1/5"}, "at", "2026-01-05T00:00:00Z"),
        (
            "rrule",
            {"start": {"dateTime": "2026-01-05 9:00"}, "rrule": "FREQ=DAILY"},
            "start.dateTime",
            START["dateTime"],
        ),
        ("rrule", {"start": START | {"timeZone": "Berlin"}, "rrule": "FREQ=DAILY"}, "start.timeZone", "Europe/Berlin"),
    ],
)
def test_member_is_corrected(format, definition, path, corrected):
    correction = corrections_of(format, definition)[path]

    assert (correction.path, correction.value) == (path, corrected)


def test_correction_of_one_member_leaves_the_faults_of_others():
    corrections = corrections_of("quartz", {"expression": "0 0 9 * * *", "timeZone": "Mars"})

    assert corrections["expression"].value == "0 0 9 * * ?"
    assert corrections["timeZone"] is None


@pytest.mark.parametrize(
    "format, definition",
    [
        ("cron", {"expression": "every day"}),
        ("cron", {"expression": 7}),
        ("cron", {}),
        ("quartz", {"expression": "0 0 9 1 * MON"}),  # one of both day fields is lost, whichever becomes ?
        ("once", {"at": "tomorrow"}),
        ("outlook", {"start": 5}),
        ("cron", {"expression": "0 24 * * *" + " " * LONGEST_CORRECTED}),
    ],
)
def test_unlikely_correction_is_not_offered(format, definition):
    assert set(corrections_of(format, definition).values()) == {None}


def test_unknown_format_has_no_correction():
    assert suggest_correction("sundial", {"expression": "x"}, WireError("expression", "invalid", "is wrong")) is None


fields = st.sampled_from(["*", "?", "0", "24", "monday", "SUN", "L", "MON#2", "*/5", "1-5", "x", "jan"])
values = st.lists(fields, min_size=4, max_size=8).map(" ".join) | st.text(max_size=20)


@given(st.sampled_from(["cron", "quartz", "rrule"]), values, st.sampled_from([None, "UTC", "Berlin", "x"]))
def test_corrected_member_is_accepted(format, text, zone):
    path = "rrule" if format == "rrule" else "expression"
    definition = {path: text} | ({"start": START} if format == "rrule" else {}) | ({"timeZone": zone} if zone else {})
    try:
        wire.parse(format, definition, CREATED_AT)
    except WireError as error:
        for fault in (error, *error.others):
            correction = suggest_correction(format, definition, fault)
            if correction is not None:
                assert isinstance(correction, Correction)
                assert fault.path not in paths_of_faults(format, definition | {fault.path: correction.value})


def paths_of_faults(format, definition):
    try:
        wire.parse(format, definition, CREATED_AT)
    except WireError as error:
        return [fault.path for fault in (error, *error.others)]
    return []


def test_correction_of_a_long_text_is_quick():
    definition = {"expression": "MONDAYMONDAY " * 19, "timeZone": "x" * 100}
    corrections_of("cron", definition)
    before = time.process_time()

    assert set(corrections_of("cron", definition).values()) == {None}
    assert time.process_time() - before < 0.5
