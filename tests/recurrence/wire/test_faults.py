"""Documents with several errors: each error is reported with its path, in each format."""

import pytest

from recurrence import wire
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.json_values import unknown_members
from tests.conftest import NOW

WRONG_TIME = {"dateTime": "noon", "timeZone": "Mars"}
TIME = {"dateTime": "2026-01-05T09:00:00", "timeZone": "UTC"}


def faults_of(definition: dict, parse) -> list[tuple[str, str]]:
    with pytest.raises(WireError) as caught:
        parse(definition, NOW)
    return [(fault.path, fault.code) for fault in (caught.value, *caught.value.others)]


@pytest.mark.parametrize(
    "format, definition, expected",
    [
        (
            "azure",
            {
                "startTime": "soon",
                "recurrence": {
                    "frequency": "day",
                    "interval": 0,
                    "count": "5",
                    "endTime": 7,
                    "schedule": {"minutes": [0, 60, "x"], "hours": {}, "weekDays": ["monday"], "months": [1]},
                },
            },
            [
                ("startTime", "invalid"),
                ("recurrence.interval", "out_of_range"),
                ("recurrence.count", "invalid"),
                ("recurrence.endTime", "invalid"),
                ("recurrence.schedule.weekDays", "not_allowed"),
                ("recurrence.schedule.months", "not_allowed"),
                ("recurrence.schedule.minutes[1]", "out_of_range"),
                ("recurrence.schedule.minutes[2]", "invalid"),
                ("recurrence.schedule.hours", "invalid"),
            ],
        ),
        (
            # an unknown frequency causes no other errors
            "azure",
            {"recurrence": {"frequency": "often", "interval": 1001, "schedule": {"weekDays": ["noday"]}}},
            [
                ("recurrence.frequency", "unknown_value"),
                ("recurrence.interval", "out_of_range"),
                ("recurrence.schedule.weekDays[0]", "unknown_value"),
            ],
        ),
        (
            "azure",
            {
                "recurrence": {
                    "frequency": "month",
                    "schedule": {"monthlyOccurrences": [{"day": "x", "Occurrence": 9}, {"Occurrence": 1}]},
                }
            },
            [
                ("recurrence.schedule.monthlyOccurrences[0].day", "unknown_value"),
                ("recurrence.schedule.monthlyOccurrences[0].Occurrence", "out_of_range"),
                ("recurrence.schedule.monthlyOccurrences[1].day", "required"),
            ],
        ),
        (
            "quartz",
            {"expression": "* *", "timeZone": "Mars", "clockChange": "java", "startTime": "x", "endTime": 5},
            [
                ("expression", "invalid"),
                ("timeZone", "unknown_value"),
                ("clockChange", "unknown_value"),
                ("startTime", "invalid"),
                ("endTime", "invalid"),
            ],
        ),
        (
            "simple",
            {"interval": 0, "repeatCount": "x", "startTime": "soon", "endTime": []},
            [
                ("interval", "out_of_range"),
                ("repeatCount", "invalid"),
                ("startTime", "invalid"),
                ("endTime", "invalid"),
            ],
        ),
        (
            "outlook",
            {
                "start": WRONG_TIME,
                "end": 5,
                "recurrence": {"pattern": {"type": "weekly", "index": "x"}, "range": {"type": "endDate", "endDate": 1}},
            },
            [
                ("start.timeZone", "unknown_value"),
                ("start.dateTime", "invalid"),
                ("end", "invalid"),
                ("recurrence.pattern.index", "unknown_value"),
                ("recurrence.pattern.interval", "required"),
                ("recurrence.pattern.daysOfWeek", "required"),
                ("recurrence.range.startDate", "required"),
                ("recurrence.range.endDate", "invalid"),
            ],
        ),
        ("outlook", {}, [("start", "required"), ("end", "required"), ("recurrence", "required")]),
        (
            "rrule",
            {"start": TIME, "end": WRONG_TIME, "rrule": "FREQ=NEVER", "exdates": ["x", "2026-13-01"], "rdates": 5},
            [
                ("end.timeZone", "unknown_value"),
                ("end.dateTime", "invalid"),
                ("rrule", "invalid"),
                ("exdates[0]", "invalid"),
                ("exdates[1]", "out_of_range"),
                ("rdates", "invalid"),
            ],
        ),
    ],
)
def test_all_errors_of_a_definition_are_reported(format, definition, expected):
    assert faults_of(definition, lambda *args: wire.parse(format, *args)) == expected
    assert faults_of(definition, lambda *args: wire.render(format, args[0])) == expected


def test_all_errors_of_a_crontab_line_are_reported():
    definition = {"expression": "61 * * * *", "timeZone": "Mars"}

    assert faults_of(definition, lambda *args: wire.parse("cron", *args)) == [
        ("expression", "invalid"),
        ("timeZone", "unknown_value"),
    ]


@pytest.mark.parametrize(
    "format, definition, expected",
    [
        ("azure", {"timezone": "UTC", "recurrence": {"frequency": "day"}}, [("", "timezone")]),
        (
            "azure",
            {"recurrence": {"every": 2, "schedule": {"weekdays": [], "monthlyOccurrences": [{}, {"nth": 1}]}}},
            [
                ("recurrence", "every"),
                ("recurrence.schedule", "weekdays"),
                ("recurrence.schedule.monthlyOccurrences[1]", "nth"),
            ],
        ),
        (
            "azure",
            {"recurrence": {"schedule": {"monthlyOccurences": [{"occurrence": 1}]}}},
            [],
        ),  # accepted alternative names
        ("quartz", {"expression": "x", "timezone": None}, [("", "timezone")]),
        ("simple", {"count": 5}, [("", "count")]),
        ("once", {"at": 5, "on": 6}, [("", "on")]),
        (
            "outlook",
            {"start": {"timezone": "UTC"}, "recurrence": {"pattern": {"days": []}, "range": {"until": 1}, "x": 1}},
            [("start", "timezone"), ("recurrence.pattern", "days"), ("recurrence.range", "until"), ("recurrence", "x")],
        ),
        ("solar", {"place": "x"}, [("", "place")]),
        ("rrule", {"rule": "x", "exdates": [{"a": 1}]}, [("", "rule")]),
        ("outlook", {"start": 5, "recurrence": [1]}, []),  # values that are not objects have no members
    ],
)
def test_unknown_members_of_a_format_are_found(format, definition, expected):
    found = unknown_members(definition, wire.MEMBERS[format])

    assert [(each.within, each.name) for each in found] == expected


def test_errors_of_parts_are_collected():
    inner, outer = Faults(), Faults()
    inner.add(WireError("a", "invalid", "x"))
    inner.add(WireError("b", "invalid", "x"))
    outer.read(inner.refuse)
    outer.add(WireError("c", "invalid", "x"))

    with pytest.raises(WireError) as caught:
        outer.refuse()

    assert [fault.path for fault in (caught.value, *caught.value.others)] == ["a", "b", "c"]


def test_no_errors_means_no_refusal():
    faults = Faults()

    assert faults.read(int, "5") == 5
    faults.refuse()
