"""The members that every format has: skips, extras, closed days and jitter."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recurrence import wire
from recurrence.closed_days import ClosedDays
from recurrence.composites import Skipping, WithExtras
from recurrence.describe import describe
from recurrence.differences import Difference, differences
from recurrence.open_days import OnOpenDays, Rule
from recurrence.preview import preview
from recurrence.schedules import just_before
from recurrence.spacing import shortest_gap_below
from recurrence.wire import WireError
from recurrence.wire.common import rendered_duration
from tests.recurrence.samples import CREATED_AT, first, utc

BERLIN = ZoneInfo("Europe/Berlin")
WEEKEND = ClosedDays.of({"weekend": ["saturday", "sunday"]})
CALENDARS = {
    "weekend": WEEKEND,
    "ten years": ClosedDays.of({"dates": [{"from": "2026-01-01", "to": "2035-12-31"}]}),
}
NOT_ON_WEEKENDS = {"calendar": "weekend", "rule": "skip"}
NEVER_OPEN = {"calendar": "ten years", "rule": "after"}
UNTIL_NOON = {"frequency": "Day", "endTime": "2026-01-02T12:00:00Z"}
DEFINITIONS = {
    "azure": {"startTime": "2026-01-02T09:00:00Z", "recurrence": {"frequency": "Day", "interval": 1}},
    "quartz": {"expression": "0 0 9 * * ?"},
    "simple": {"startTime": "2026-01-02T09:00:00Z", "interval": 86_400_000},
    "outlook": {
        "start": {"dateTime": "2026-01-02T09:00:00", "timeZone": "UTC"},
        "end": {"dateTime": "2026-01-02T10:00:00", "timeZone": "UTC"},
        "recurrence": {
            "pattern": {"type": "daily", "interval": 1},
            "range": {"type": "noEnd", "startDate": "2026-01-02"},
        },
    },
    "rrule": {"start": {"dateTime": "2026-01-02T09:00:00", "timeZone": "UTC"}, "rrule": "FREQ=DAILY"},
    "once": {"at": "2026-01-02T09:00:00Z"},
}
FIRST_DAY = utc("2026-01-02T00:00Z")


def parse(format="quartz", **members):
    return wire.parse(format, {**DEFINITIONS[format], **members}, CREATED_AT, CALENDARS.get)


def days_of(parsed, number=4):
    return [f"{fire:%m-%d}" for fire in first(number, parsed.schedule, FIRST_DAY)]


def refused(parsed_or_members, format="quartz"):
    with pytest.raises(WireError) as caught:
        parsed = parse(format, **parsed_or_members)
        wire.refuse_unreachable(parsed, CREATED_AT)
    return [(each.path, each.code) for each in (caught.value, *caught.value.others)]


@pytest.mark.parametrize("format", [name for name in DEFINITIONS if name != "once"])
def test_every_format_applies_the_members_in_their_order(format):
    parsed = parse(
        format,
        skips=["2026-01-05", "2026-01-06T09:00:00Z"],
        closedDays={"calendar": "weekend", "rule": "after"},
        extras=["2026-01-10T12:00:00Z"],
        jitter="PT10M",
    )
    wire.refuse_unreachable(parsed, CREATED_AT)

    # the 3rd and the 4th move to Monday the 5th, whose own time is skipped; the extra time stays on a Saturday
    assert days_of(parsed, 8) == ["01-02", "01-05", "01-07", "01-08", "01-09", "01-10", "01-12", "01-13"]
    assert parsed.jitter == timedelta(minutes=10)


def test_a_moved_run_is_a_skip_and_an_extra():
    parsed = parse("once", skips=["2026-01-02"], extras=["2026-01-03T10:00:00Z"])
    wire.refuse_unreachable(parsed, CREATED_AT)

    assert first(2, parsed.schedule) == [utc("2026-01-03T10:00Z")]


def test_dates_are_days_on_the_clocks_of_the_schedule():
    tokyo = parse(timeZone="Asia/Tokyo", expression="0 0 8 * * ?", skips=["2026-01-04"])

    assert first(2, tokyo.schedule, FIRST_DAY) == [utc("2026-01-02T23:00Z"), utc("2026-01-04T23:00Z")]


def test_a_document_without_the_members_compiles_to_the_same_schedule():
    assert parse(skips=None, extras=[], closedDays=None, jitter=None) == parse()
    assert wire.render("quartz", {**DEFINITIONS["quartz"], "skips": [], "jitter": None}) == DEFINITIONS["quartz"]


@pytest.mark.parametrize("format", DEFINITIONS)
def test_the_canonical_form_has_the_members_and_compiles_to_the_same(format):
    members = {
        "skips": ["2026-01-06T10:00:00+01:00", "2026-01-05", "2026-01-05"],
        "extras": ["2026-01-11T12:00:00.5Z", "2026-01-10T12:00:00"],
        "closedDays": {"rule": "NEAREST", "calendar": "weekend"},
        "jitter": "PT90M",
    }

    canonical = wire.render(format, {**DEFINITIONS[format], **members})

    assert {name: canonical[name] for name in members} == {
        "skips": ["2026-01-05", "2026-01-06T09:00:00Z"],
        "extras": ["2026-01-10T12:00:00Z", "2026-01-11T12:00:00.500000Z"],
        "closedDays": {"calendar": "weekend", "rule": "nearest"},
        "jitter": "PT1H30M",
    }
    assert wire.render(format, canonical) == canonical
    assert wire.parse(format, canonical, CREATED_AT, CALENDARS.get) == parse(format, **members)


@pytest.mark.parametrize(
    "members, faults",
    [
        ({"skips": "2026-01-05"}, [("skips", "invalid")]),
        (
            {"skips": ["2026-02-30", "tomorrow", 5]},
            [("skips[0]", "out_of_range"), ("skips[1]", "invalid"), ("skips[2]", "invalid")],
        ),
        ({"skips": ["2026-01-05"] * 1001}, [("skips", "out_of_range")]),
        ({"extras": ["2026-01-05"]}, [("extras[0]", "invalid")]),
        ({"extras": {}}, [("extras", "invalid")]),
        ({"closedDays": "weekend"}, [("closedDays", "invalid")]),
        ({"closedDays": {}}, [("closedDays.calendar", "required"), ("closedDays.rule", "required")]),
        ({"closedDays": {"calendar": "weekend"}}, [("closedDays.rule", "required")]),
        ({"closedDays": {"calendar": "weekend", "rule": "later"}}, [("closedDays.rule", "unknown_value")]),
        ({"closedDays": {"calendar": 1, "rule": "skip"}}, [("closedDays.calendar", "invalid")]),
        ({"closedDays": {"calendar": "", "rule": "skip"}}, [("closedDays.calendar", "out_of_range")]),
        ({"closedDays": {"calendar": "weekend", "rule": "skip", "zone": 1}}, [("closedDays.zone", "unknown")]),
        ({"closedDays": {"calendar": "holidays", "rule": "skip"}}, [("closedDays.calendar", "unknown_value")]),
        ({"jitter": 600}, [("jitter", "invalid")]),
        ({"jitter": "10 minutes"}, [("jitter", "invalid")]),
        ({"jitter": "PT"}, [("jitter", "invalid")]),
        ({"jitter": "P1DT"}, [("jitter", "invalid")]),
        ({"jitter": "-PT5M"}, [("jitter", "invalid")]),
        ({"jitter": "PT0S"}, [("jitter", "out_of_range")]),
        ({"jitter": "PT24H0.001S"}, [("jitter", "out_of_range")]),
        (
            {"expression": "* *", "jitter": "PT", "skips": [1]},
            [("expression", "invalid"), ("skips[0]", "invalid"), ("jitter", "invalid")],
        ),
    ],
)
def test_a_fault_names_its_path(members, faults):
    assert refused(members) == faults


def test_a_document_with_closed_days_is_refused_where_no_calendars_are_known():
    definition = {**DEFINITIONS["quartz"], "closedDays": {"calendar": "weekend", "rule": "skip"}}

    with pytest.raises(WireError, match=r"closedDays\.calendar"):
        wire.parse("quartz", definition, CREATED_AT)


@pytest.mark.parametrize(
    "format, members, path",
    [
        ("once", {"skips": ["2026-01-02"]}, "skips"),
        ("azure", {"recurrence": UNTIL_NOON, "skips": ["2026-01-02"]}, "skips"),
        ("once", {"at": "2026-01-03T09:00:00Z", "closedDays": NOT_ON_WEEKENDS}, "closedDays"),
        ("quartz", {"expression": "0 0 9 ? * SUN", "closedDays": NOT_ON_WEEKENDS}, "closedDays"),
        ("rrule", {"rrule": "FREQ=DAILY;COUNT=3", "closedDays": NEVER_OPEN}, "closedDays"),
        ("simple", {"repeatCount": 1, "skips": ["2026-01-02", "2026-01-03T09:00:00Z"]}, "skips"),
    ],
)
def test_a_schedule_of_which_nothing_is_left_is_refused(format, members, path):
    assert refused(members, format) == [(path, "never_fires")]


def test_a_schedule_with_only_extra_times_left_is_accepted():
    parsed = parse("once", skips=["2026-01-02"], extras=["2027-01-01T00:00:00Z"])

    wire.refuse_unreachable(parsed, CREATED_AT)


@pytest.mark.parametrize(
    "members, is_refused",
    [
        ({"jitter": "PT23H59M59.999S"}, False),
        ({"jitter": "PT24H"}, True),
        ({"jitter": "PT10M", "extras": ["2026-02-01T09:10:00Z"]}, True),
        ({"jitter": "PT9M", "extras": ["2026-02-01T09:10:00Z"]}, False),
        ({"jitter": "PT1M", "expression": "0 * * * * ?"}, True),
        ({"jitter": "PT59S", "expression": "0 * * * * ?"}, False),
        ({"jitter": "PT12H", "expression": "0 0 9 3 1 ? 2026"}, False),  # a single fire time
    ],
)
def test_jitter_is_shorter_than_the_time_between_two_fire_times(members, is_refused):
    if is_refused:
        assert refused(members) == [("jitter", "out_of_range")]
    else:
        wire.refuse_unreachable(parse(**members), CREATED_AT)


def test_the_run_at_the_creation_does_not_count_for_jitter():
    definition = {"recurrence": {"frequency": "Day", "schedule": {"hours": [0], "minutes": [5]}}, "jitter": "PT10M"}

    wire.refuse_unreachable(wire.parse("azure", definition, CREATED_AT), CREATED_AT)


def test_base_of_is_the_schedule_of_the_format_alone():
    members = {"skips": ["2026-01-05"], "extras": ["2026-01-10T12:00:00Z"]}
    parsed = parse(closedDays={"calendar": "weekend", "rule": "before"}, **members)

    assert wire.base_of(parsed.schedule) == parse().schedule == wire.base_of(parse().schedule)
    match parsed.schedule:
        case WithExtras(OnOpenDays(Skipping(), closed=closed, rule=Rule.BEFORE, calendar="weekend")):
            assert closed is WEEKEND
        case _:
            pytest.fail(repr(parsed.schedule))


@pytest.mark.parametrize(
    "members, words",
    [
        ({"skips": ["2026-12-24"]}, "every day at 09:00 UTC, except on 24 December 2026"),
        (
            {"skips": ["2026-12-31T09:00:00Z", "2026-12-24"]},
            "every day at 09:00 UTC, except on 24 December 2026 and 31 December 2026 at 09:00 UTC",
        ),
        (
            {"skips": [f"2026-12-{day}" for day in range(10, 24)] + ["2026-12-31T09:00:00Z"]},
            "every day at 09:00 UTC, except on 14 dates and at 1 time",
        ),
        (
            {"closedDays": {"calendar": "weekend", "rule": "skip"}},
            "every day at 09:00 UTC, on open days of weekend",
        ),
        (
            {"closedDays": {"calendar": "weekend", "rule": "nearest"}, "extras": ["2026-12-24T10:00:00Z"]},
            "every day at 09:00 UTC, moved from closed days of weekend to the nearest open day, and on 24 December 2026"
            " at 10:00 UTC",
        ),
        ({"jitter": "PT90M"}, "every day at 09:00 UTC, up to 90 minutes later"),
    ],
)
def test_the_members_are_described(members, words):
    assert describe(parse(**members)) == words


@pytest.mark.parametrize("text", ["PT1S", "PT0.005S", "PT10.25S", "PT10M", "PT1H", "PT24H", "PT23H59M59.999S"])
def test_a_duration_is_rendered_as_it_is_read(text):
    assert rendered_duration(parse(jitter=text).jitter) == text


def test_skips_hold_in_all_years_at_the_same_cost():
    parsed = parse(skips=[str(date(year, 12, 24)) for year in range(2026, 2096)], timeZone="Europe/Berlin")

    assert parsed.schedule.after(just_before(utc("2095-12-24T08:00Z"))) == utc("2095-12-25T08:00Z")
    assert parsed.schedule.after(datetime(9999, 12, 31, 23, tzinfo=UTC)) is None


def test_two_schedules_differ_where_only_one_skips_or_adds_a_fire_time():
    plain, changed = parse(), parse(skips=["2026-01-05"], extras=["2026-01-07T12:00:00Z"])

    found = differences(plain, changed, CREATED_AT, utc("2027-01-01T00:00Z"), 10)

    assert found == [
        Difference(utc("2026-01-05T09:00Z"), only_in_first=True),
        Difference(utc("2026-01-07T12:00Z"), only_in_first=False),
    ]


def test_the_shortest_time_between_fire_times_counts_moves_and_extra_times():
    parsed = parse(extras=["2026-01-05T09:20:00Z"], closedDays={"calendar": "weekend", "rule": "after"})

    assert shortest_gap_below(parsed, CREATED_AT, timedelta(hours=1)) == timedelta(minutes=20)


def test_the_count_of_a_preview_is_that_of_the_fire_times_that_remain():
    recurrence = {"frequency": "Day", "count": 5}
    parsed = parse("azure", recurrence=recurrence, closedDays={"calendar": "weekend", "rule": "skip"})

    fires, more = preview(parsed, created_at=CREATED_AT, limit=10)
    later, _ = preview(parsed, created_at=CREATED_AT, after=fires[2], limit=10)

    assert [f"{fire:%m-%d}" for fire in fires] == ["01-02", "01-05", "01-06", "01-07", "01-08"]
    assert (more, later) == (False, fires[3:])
