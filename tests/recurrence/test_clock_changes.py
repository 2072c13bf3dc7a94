"""Remarks on fire times that are affected by a clock change."""

from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

import pytest

from recurrence import wire
from recurrence.clock_changes import clock_changes
from recurrence.preview import preview
from recurrence.wire import parse
from recurrence.zones import instants_at, skipped
from tests.conftest import utc
from tests.recurrence.wire.graph_events import NEW_YEAR, event

BERLIN = ZoneInfo("Europe/Berlin")
SPRING, AUTUMN = "2026-03-07T12:00Z", "2026-10-31T12:00Z"  # before New York's clocks change


def clock_remarks(expression, since, zone="America/New_York", limit=3, **members):
    definition = {"expression": expression, "timeZone": zone, **members}
    parsed = wire.parse("quartz", definition, utc(since))
    fires, _ = preview(parsed, created_at=utc(since), limit=limit)
    return clock_changes(parsed.schedule, fires, utc(since))


@pytest.mark.parametrize(
    "expression, since, expected",
    [
        ("0 30 2 * * ?", SPRING, ["moved from 02:30, which clocks skip", "", ""]),
        ("0 15,45 2 * * ?", SPRING, ["moved from 02:15 and 02:45, which clocks skip", "", ""]),
        ("0,1,2,3 30 2 * * ?", SPRING, ["moved from its times from 02:00 to 03:00, which clocks skip", "", ""]),
        ("0 30 3 * * ?", SPRING, ["", "", ""]),
        ("0 30 1 * * ?", AUTUMN, ["01:30 happens twice; this is the first", "", ""]),
        ("0 0 2 * * ?", AUTUMN, ["", "", ""]),  # the repeated hour ends here
        # the end of the gap is also one of the fire times
        ("0 0 2,3 * * ?", SPRING, ["also takes the place of 02:00, which clocks skip", "", ""]),
        # an interval: skipped times fire once, repeated times fire twice
        ("0 0/30 2 * * ?", SPRING, ["moved from 02:00 and 02:30, which clocks skip", "", ""]),
        ("0 0 0/2 * * ?", "2026-03-08T06:00Z", ["moved from 02:00, which clocks skip", "", ""]),
        (
            "0 0/15 * * * ?",
            "2026-03-08T06:40Z",
            ["", "also takes the place of its times from 02:00 to 03:00, which clocks skip", "", ""],
        ),
        (
            "0 0/30 1 * * ?",
            AUTUMN,
            [
                f"01:{minute} happens twice; this is the {which}"
                for which in ("first", "second")
                for minute in ("00", "30")
            ],
        ),
    ],
)
def test_fire_time_has_a_remark_on_its_clock_change(expression, since, expected):
    assert clock_remarks(expression, since, limit=len(expected)) == expected


def test_fire_times_of_a_schedule_with_skips_and_extra_times_have_remarks():
    extras = ["2026-03-08T12:00:00Z"]

    assert clock_remarks("0 30 2 * * ?", SPRING, skips=["2026-03-09"], extras=extras) == [
        "moved from 02:30, which clocks skip",
        "",
        "",
    ]
    assert clock_remarks("0 30 2 * * ?", SPRING, skips=["2026-03-08"], extras=extras) == ["", "", ""]


@pytest.mark.parametrize(
    "expression, since, policy, expected",
    [
        (
            "0 15,45 2 * * ?",
            SPRING,
            {"gap": "shift"},
            ["moved from 02:15, which clocks skip", "moved from 02:45, which clocks skip", ""],
        ),
        ("0 30 2,3 * * ?", SPRING, {"gap": "shift"}, ["also takes the place of 02:30, which clocks skip", ""]),
        ("0 30 3 * * ?", SPRING, {"gap": "shift"}, ["", ""]),
        (
            "0 15,45 2 * * ?",
            SPRING,
            {"gap": "skip"},
            ["02:15 and 02:45 on 8 March 2026 are left out: clocks skip them", ""],
        ),
        ("0 30 1 * * ?", AUTUMN, {"repeat": "second"}, ["01:30 happens twice; this is the second", ""]),
        (
            "0 30 1 * * ?",
            AUTUMN,
            {"repeat": "both"},
            ["01:30 happens twice; this is the first", "01:30 happens twice; this is the second", ""],
        ),
    ],
)
def test_fire_time_has_a_remark_on_the_policy_of_its_clock_change(expression, since, policy, expected):
    assert clock_remarks(expression, since, limit=len(expected), clockChange=policy) == expected


def test_recurrence_without_a_start_has_remarks_after_its_creation():
    definition = {"timeZone": "America/New_York", "recurrence": {"frequency": "Day", "schedule": {"hours": [2]}}}
    parsed = parse("azure", definition, utc("2026-03-07T12:30Z"))
    fires, _ = preview(parsed, created_at=utc("2026-03-07T12:30Z"), limit=3)

    assert clock_changes(parsed.schedule, fires, utc("2026-03-07T12:30Z")) == [
        "",
        "moved from 02:30, which clocks skip",
        "",
    ]


@pytest.mark.parametrize(
    "expression, since, expected",
    [
        ("0 30 2 * * ?", SPRING, ["02:30 on 8 March 2026 is left out: clocks skip it", ""]),
        ("0 30 1 * * ?", AUTUMN, ["01:30 happens twice; this is the second", ""]),
    ],
)
def test_remark_describes_the_clock_change_rule_of_quartz(expression, since, expected):
    assert clock_remarks(expression, since, limit=2, clockChange="quartz") == expected


def test_remark_of_a_rare_schedule_counts_the_skipped_times():
    # the fifth Sunday of March is the day of the clock change; February has the next fifth Sunday in 2032
    (expected,) = clock_remarks("0 30 2 ? 2,3 1#5", "2026-01-01T00:00Z", "Europe/Berlin", limit=1, clockChange="quartz")

    assert expected == "02:30 on 29 March 2026 is left out: clocks skip it, and so on 2 more times"


def test_times_skipped_before_the_start_have_no_remark():
    assert clock_remarks("0 30 2 * * ?", SPRING, limit=1, clockChange="quartz", startTime="2026-03-09T00:00:00Z") == [
        ""
    ]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_zone_without_clock_changes_has_no_remarks(zone):
    assert clock_remarks("0 30 2 * * ?", SPRING, zone, limit=2) == ["", ""]


@pytest.mark.parametrize("format, definition", [("simple", {"interval": 3_600_000}), ("once", {"at": "2030-01-01"})])
def test_formats_without_a_zone_have_no_remarks(format, definition):
    parsed = wire.parse(format, definition, utc(SPRING))

    assert clock_changes(parsed.schedule, [parsed.schedule.after(utc(SPRING))], utc(SPRING)) == [""]


@pytest.mark.parametrize(
    "instant, number",
    [
        ("2026-10-24T23:59:59Z", 0),
        ("2026-10-25T00:00:00Z", 1),
        ("2026-10-25T00:59:59Z", 1),
        ("2026-10-25T01:00:00Z", 2),
        ("2026-10-25T01:59:59Z", 2),
        ("2026-10-25T02:00:00Z", 0),
        ("2026-03-29T01:00:00Z", 0),
    ],
)
def test_wall_time_is_unique_or_the_first_or_second_of_a_repetition(instant, number):
    assert instants_at(BERLIN, utc(instant)) == number


def test_skipped_wall_times_are_found_up_to_and_including_the_end():
    change = utc("2026-03-29T01:00Z")

    (gap,) = skipped(BERLIN, utc("2025-12-01T00:00Z"), change)

    assert (gap.at, gap.beyond - gap.first) == (change, 3_600)
    assert not [*skipped(BERLIN, change, utc("2026-12-01T00:00Z"))]
    assert len([*skipped(BERLIN, utc("2000-01-01T00:00Z"), utc("2010-01-01T00:00Z"))]) == 10
    assert not [*skipped(UTC, utc("2000-01-01T00:00Z"), utc("2010-01-01T00:00Z"))]


@pytest.mark.parametrize(
    "start, day, zone, expected",
    [
        ("02:30", "2026-03-08", "America/New_York", "moved from 02:30, which clocks skip"),
        ("02:15", "2026-10-04", "Australia/Lord_Howe", "moved from 02:15, which clocks skip"),
        ("02:00", "2026-03-08", "America/New_York", "moved from 02:00, which clocks skip"),
        ("03:00", "2026-03-08", "America/New_York", ""),
        ("01:30", "2026-11-01", "America/New_York", "01:30 happens twice; this is the first"),
    ],
)
def test_calendar_occurrence_has_a_remark_on_its_clock_change(start, day, zone, expected):
    daily = parse("outlook", event({"type": "daily"}, start=f"2026-01-05T{start}:00", zone=zone), NEW_YEAR).schedule
    fire = daily.occurrence_on(date.fromisoformat(day)).start

    assert clock_changes(daily, [fire], fire - timedelta(hours=20)) == [expected]


def test_day_that_a_zone_skipped_has_no_remark():
    daily = parse("outlook", event({"type": "daily"}, start="2011-12-29T10:00:00", zone="Pacific/Apia"), NEW_YEAR)
    fires = [each.start for each in daily.schedule.occurrences(utc("2011-12-29T00:00Z"), utc("2012-01-02T00:00Z"))]

    assert clock_changes(daily.schedule, fires, utc("2011-12-29T00:00Z")) == [""] * len(fires)
