"""The members of a definition that say how a schedule reads clocks."""

from dataclasses import replace
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from recurrence.composites import Bounded
from recurrence.counting import count_within
from recurrence.describe import describe
from recurrence.rules import QuartzSchedule, ZonedRule
from recurrence.schedules import Once
from recurrence.series import Series, occurrence_starting_at
from recurrence.wire import WireError, parse, render
from recurrence.wire.clocks import Clocks, Policy, Preset, read_clocks, render_clocks
from recurrence.zones import Fold, Gap
from tests.recurrence.samples import CREATED_AT, by_day, first, utc
from tests.recurrence.wire.graph_events import event

NEW_YORK = ZoneInfo("America/New_York")
ZONE = {"timeZone": "America/New_York"}
RULE = Once(utc("2026-03-08T02:30Z"))


@pytest.mark.parametrize(
    "clock_change, expected",
    [
        (None, Preset.CRON),
        ("cron", Preset.CRON),
        ("Quartz", Preset.QUARTZ),
        ({}, Policy(Gap.END, Fold.FIRST)),
        ({"gap": "shift"}, Policy(Gap.SHIFT, Fold.FIRST)),
        ({"repeat": "both", "gap": None}, Policy(Gap.END, Fold.BOTH)),
        ({"gap": "Skip", "repeat": "SECOND"}, Policy(Gap.SKIP, Fold.SECOND)),
    ],
)
def test_clock_change_is_a_preset_or_an_object(clock_change, expected):
    assert read_clocks(ZONE | {"clockChange": clock_change}) == Clocks(NEW_YORK, expected)


@pytest.mark.parametrize(
    "clock_change, is_interval, expected",
    [
        (None, False, ZonedRule(RULE, NEW_YORK, Gap.END, Fold.FIRST)),
        (None, True, ZonedRule(RULE, NEW_YORK, Gap.END, Fold.BOTH)),
        ("quartz", False, QuartzSchedule(ZonedRule(RULE, NEW_YORK, Gap.SKIP, Fold.SECOND))),
        ("quartz", True, QuartzSchedule(ZonedRule(RULE, NEW_YORK, Gap.SKIP, Fold.SECOND))),
        ({"gap": "shift", "repeat": "second"}, False, ZonedRule(RULE, NEW_YORK, Gap.SHIFT, Fold.SECOND)),
        ({"gap": "shift", "repeat": "second"}, True, ZonedRule(RULE, NEW_YORK, Gap.SHIFT, Fold.SECOND)),
    ],
)
def test_only_the_presets_distinguish_intervals(clock_change, is_interval, expected):
    clocks = read_clocks(ZONE | {"clockChange": clock_change})

    assert clocks.schedule_of(RULE, is_interval) == expected


def test_clock_change_has_no_effect_in_utc():
    assert read_clocks({"clockChange": {"gap": "skip"}}).schedule_of(RULE) == RULE


def test_bounds_without_an_offset_are_in_utc():
    clocks = read_clocks(ZONE | {"startTime": "2026-03-01", "endTime": "2026-03-09T10:00:00-01:00"})

    assert (clocks.start, clocks.end) == (utc("2026-03-01T00:00Z"), utc("2026-03-09T11:00Z"))
    assert clocks.bounded(RULE) == Bounded(RULE, clocks.start, clocks.end)


@pytest.mark.parametrize(
    "wall, start, end",
    [
        ("2026-03-08T01:59:59", "2026-03-08T06:59:59Z", "2026-03-08T06:59:59Z"),
        # clocks skip it: the gap ends at 07:00Z, and half an hour later clocks show 03:30
        ("2026-03-08T02:30:00", "2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z"),
        ("2026-03-08T03:00:00", "2026-03-08T07:00:00Z", "2026-03-08T07:00:00Z"),
        # clocks show it twice
        ("2026-11-01T01:30:00", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"),
        ("2026-11-01T01:30:00.5", "2026-11-01T05:30:00.5Z", "2026-11-01T06:30:00.5Z"),
        ("2026-11-01", "2026-11-01T04:00:00Z", "2026-11-01T04:00:00Z"),
        ("2026-11-01T01:30:00Z", "2026-11-01T01:30:00Z", "2026-11-01T01:30:00Z"),
    ],
)
def test_bounds_as_wall_times_include_all_instants_of_their_wall_time(wall, start, end):
    clocks = read_clocks(ZONE | {"startTime": wall, "endTime": wall}, has_wall_bounds=True)

    assert (clocks.start, clocks.end) == (utc(start), utc(end))


@pytest.mark.parametrize(
    "members, path, code",
    [
        ({"timeZone": "Mars"}, "timeZone", "unknown_value"),
        ({"clockChange": "java"}, "clockChange", "unknown_value"),
        ({"clockChange": ["cron"]}, "clockChange", "invalid"),
        ({"clockChange": False}, "clockChange", "invalid"),
        ({"clockChange": {"gap": "both"}}, "clockChange.gap", "unknown_value"),
        ({"clockChange": {"gap": "next", "repeat": 2}}, "clockChange.repeat", "invalid"),
        ({"startTime": "soon"}, "startTime", "invalid"),
        ({"endTime": "0001-01-01", "timeZone": "Asia/Tokyo"}, "endTime", "out_of_range"),
        ({"startTime": "2026-01-02", "endTime": "2026-01-01"}, "endTime", "out_of_range"),
    ],
)
def test_invalid_member_is_refused_with_its_path(members, path, code):
    with pytest.raises(WireError) as caught:
        read_clocks(members, has_wall_bounds=True)

    assert (caught.value.path, caught.value.code) == (path, code)


def test_all_faults_are_reported():
    with pytest.raises(WireError) as caught:
        read_clocks({"timeZone": 1, "clockChange": {"gap": 1, "repeat": "x"}, "startTime": "2026-01-01", "endTime": 5})

    assert [fault.path for fault in (caught.value, *caught.value.others)] == [
        "timeZone",
        "clockChange.gap",
        "clockChange.repeat",
        "endTime",
    ]


@pytest.mark.parametrize("name", [None, "America/New_York", "eastern standard time"])
def test_zone_of_the_document_may_be_repeated(name):
    assert read_clocks({"timeZone": name}, own_zone=NEW_YORK) == Clocks(NEW_YORK)


@pytest.mark.parametrize(
    "name, code", [("America/Toronto", "not_allowed"), ("UTC", "not_allowed"), ("Mars", "unknown_value")]
)
def test_another_zone_than_that_of_the_document_is_refused(name, code):
    with pytest.raises(WireError) as caught:
        read_clocks({"timeZone": name}, own_zone=NEW_YORK)

    assert (caught.value.path, caught.value.code) == ("timeZone", code)


def test_a_format_can_have_its_own_default():
    default = Policy(Gap.SHIFT, Fold.FIRST)

    assert read_clocks({}, default=default).clock_change == default
    assert read_clocks({"timeZone": "UTC"}, default=default).clock_change == default
    assert read_clocks({"clockChange": "cron"}, default=default).clock_change is Preset.CRON


def test_members_are_rendered_as_they_were_sent_in_canonical_form():
    definition = {
        "timeZone": "eastern standard time",
        "clockChange": {"gap": "SHIFT"},
        "startTime": "2026-01-02T01:00:00+01:00",
        "endTime": None,
        "note": "mine",
    }

    rendered = render_clocks(definition, read_clocks(definition))

    assert rendered == {
        "timeZone": "America/New_York",
        "clockChange": {"gap": "shift", "repeat": "first"},
        "startTime": "2026-01-02T00:00:00Z",
    }
    assert render_clocks(rendered, read_clocks(rendered)) == rendered
    assert render_clocks({}, read_clocks({})) == {}
    assert render_clocks({"clockChange": "CRON"}, Clocks(UTC)) == {"clockChange": "cron"}


@pytest.mark.parametrize("format, definition", [("once", {"at": "2026-01-05"}), ("simple", {"interval": 60_000})])
def test_format_without_clocks_has_a_zone_and_no_clock_change(format, definition):
    in_zone = definition | {"timeZone": "eastern standard time"}

    assert parse(format, in_zone, CREATED_AT) == replace(parse(format, definition, CREATED_AT), zone=NEW_YORK)
    assert render(format, in_zone)["timeZone"] == "America/New_York"
    for members, path, code in (
        ({"clockChange": "cron"}, "clockChange", "not_allowed"),
        ({"timeZone": "Mars"}, "timeZone", "unknown_value"),
    ):
        for use in (lambda document: parse(format, document, CREATED_AT), lambda document: render(format, document)):
            with pytest.raises(WireError) as caught:
                use(definition | members)
            assert (caught.value.path, caught.value.code) == (path, code)


# Calendar series


OUTLOOK = event({"type": "daily"}, start="2026-03-01T02:30:00", zone="America/New_York")


@pytest.mark.parametrize(
    "clock_change, spring, autumn",
    [
        # each day at 02:30 in spring, and at 01:30 in autumn
        (None, "03-08 07:30, 03-09 06:30", "11-01 05:30, 11-02 06:30"),
        ({"gap": "shift"}, "03-08 07:30, 03-09 06:30", "11-01 05:30, 11-02 06:30"),
        ("cron", "03-08 07:00, 03-09 06:30", "11-01 05:30, 11-02 06:30"),
        ("quartz", "03-09 06:30, 03-10 06:30", "11-01 06:30, 11-02 06:30"),
        ({"gap": "skip", "repeat": "both"}, "03-09 06:30, 03-10 06:30", "11-01 05:30 06:30"),
    ],
)
def test_series_moves_and_repeats_by_its_clock_change(clock_change, spring, autumn):
    at_half_past_one = event({"type": "daily"}, start="2026-03-01T01:30:00", zone="America/New_York")

    found = [
        by_day(first(2, parse("outlook", document | {"clockChange": clock_change}, CREATED_AT).schedule, utc(since)))
        for document, since in ((OUTLOOK, "2026-03-07T12:00Z"), (at_half_past_one, "2026-10-31T12:00Z"))
    ]

    assert found == [spring, autumn]


def test_series_without_clock_members_is_the_series_itself():
    series = parse("outlook", OUTLOOK, CREATED_AT).schedule

    assert isinstance(series, Series)
    for members in ({"timeZone": "eastern standard time"}, {"clockChange": {"gap": "shift", "repeat": "first"}}):
        assert parse("outlook", OUTLOOK | members, CREATED_AT).schedule == series


def test_series_has_bounds():
    bounds = {"startTime": "2026-03-08T07:30:00Z", "endTime": "2026-03-10T06:29:59Z"}

    parsed = parse("outlook", OUTLOOK | bounds, CREATED_AT)

    assert by_day(first(9, parsed.schedule, CREATED_AT)) == "03-08 07:30, 03-09 06:30"
    assert render("outlook", OUTLOOK | bounds) == render("outlook", OUTLOOK) | bounds
    assert describe(parsed).endswith(
        "from 8 March 2026 at 03:30 America/New_York, until 10 March 2026 at 02:29:59 America/New_York"
    )


def test_series_with_a_policy_has_the_same_days_as_without():
    limits = {"type": "numbered", "numberOfOccurrences": 12}
    weekdays = {"type": "weekly", "daysOfWeek": ["monday", "friday"], "interval": 2}
    document = event(weekdays, limits, start="2026-03-02T02:30:00", zone="America/New_York")

    plain = parse("outlook", document, CREATED_AT)
    moved = parse("outlook", document | {"clockChange": "cron"}, CREATED_AT)

    assert first(20, moved.schedule, CREATED_AT) == first(20, plain.schedule, CREATED_AT)
    assert describe(moved) == describe(plain)
    assert count_within(moved.schedule, CREATED_AT, utc("2026-04-01T00:00Z")) == 5


DECEMBER_2011 = utc("2011-12-01T00:00Z")


def test_day_that_a_zone_never_had_has_no_fire_time_under_any_policy():
    document = event({"type": "daily"}, start="2011-12-28T10:00:00", zone="Pacific/Apia")

    fires = {
        by_day(
            first(
                3, parse("outlook", document | {"clockChange": change}, CREATED_AT).schedule, utc("2011-12-01T00:00Z")
            )
        )
        for change in (None, "cron", "quartz", {"repeat": "both"})
    }

    assert fires == {"12-28 20:00, 12-29 20:00, 12-30 20:00"}


def test_zone_of_a_series_is_that_of_its_recurrence():
    document = event(
        {"type": "daily"}, {"recurrenceTimeZone": "Europe/Berlin"}, zone="UTC", start="2026-01-05T09:00:00"
    )

    assert parse("outlook", document | {"timeZone": "W. Europe Standard Time"}, CREATED_AT).zone == ZoneInfo(
        "Europe/Berlin"
    )
    for name, code in (("UTC", "not_allowed"), ("Mars", "unknown_value")):
        with pytest.raises(WireError) as caught:
            parse("outlook", document | {"timeZone": name}, CREATED_AT)
        assert (caught.value.path, caught.value.code) == ("timeZone", code)


def test_moved_occurrence_keeps_its_length():
    schedule = parse("outlook", OUTLOOK | {"clockChange": "cron"}, CREATED_AT).schedule
    series = parse("outlook", OUTLOOK, CREATED_AT).schedule

    plain = occurrence_starting_at(schedule, utc("2026-03-09T06:30Z"))
    moved = occurrence_starting_at(schedule, utc("2026-03-08T07:00Z"))

    assert plain == series.occurrence_starting_at(utc("2026-03-09T06:30Z"))
    assert (moved.day.isoformat(), moved.end - moved.start) == ("2026-03-08", series.length)
    assert occurrence_starting_at(RULE, RULE.at) is None
