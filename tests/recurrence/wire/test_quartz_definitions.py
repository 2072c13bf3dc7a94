"""The other members of a definition with a Quartz expression."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from recurrence.composites import Bounded
from recurrence.rules import QuartzSchedule, ZonedRule
from recurrence.wire import WireError, parse
from recurrence.wire.quartz import parse_expression, render
from recurrence.zones import Fold, Gap
from tests.recurrence.samples import CREATED_AT, first, utc

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
            ZonedRule(parse_expression(DAILY["expression"]).rule, BERLIN, Gap.END, Fold.FIRST),
        ),
        (
            {"timeZone": "Europe/Berlin", "clockChange": "CRON", "expression": "0 */30 2 * * ?"},
            ZonedRule(parse_expression("0 */30 2 * * ?").rule, BERLIN, Gap.END, Fold.BOTH),
        ),
        (
            {"timeZone": "Europe/Berlin", "clockChange": "Quartz"},
            QuartzSchedule(ZonedRule(parse_expression(DAILY["expression"]).rule, BERLIN, Gap.SKIP, Fold.SECOND)),
        ),
        (
            {"startTime": "2026-01-02", "endTime": "2026-01-03T02:30:00Z"},
            Bounded(parse_expression(DAILY["expression"]).rule, utc("2026-01-02T00:00Z"), utc("2026-01-03T02:30Z")),
        ),
    ],
)
def test_definition_is_parsed_with_zone_clock_change_rule_and_bounds(members, schedule):
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
def test_star_dash_or_slash_in_a_time_field_makes_an_interval(part, is_stepping):
    for text in (f"{part} 0 0 * * ?", f"0 {part} 0 * * ?", f"0 0 {part} * * ?"):
        assert parse_expression(text).is_stepping is is_stepping
    assert not parse_expression(f"0 0 0 {part} * ?").is_stepping
    assert not parse_expression(f"0 0 0 ? * {part}").is_stepping


def test_definition_includes_both_bounds():
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
def test_invalid_member_of_a_definition_is_refused_with_its_path(members, path, code):
    with pytest.raises(WireError) as caught:
        parse("quartz", DAILY | members, CREATED_AT)

    assert (caught.value.path, caught.value.code) == (path, code)


@pytest.mark.parametrize(
    "members",
    [
        {"expression": "0 15 10 ? * 6L 2013-2015"},
        {"expression": "0 0 0 30 2 ?"},
        {"endTime": "2025-12-31"},
        # the second Sunday of March, always skipped
        {"expression": "0 30 2 ? 3 1#2", "timeZone": "America/New_York", "clockChange": "quartz"},
    ],
)
def test_definition_that_never_fires_again_gets_a_warning(members):
    parsed = parse("quartz", DAILY | members, CREATED_AT)

    assert parsed.warnings == ("It will not fire again.",)
    assert parsed.may_never_fire
    assert parsed.schedule.after(CREATED_AT) is None


def test_fire_time_at_the_creation_counts():
    assert parse("quartz", {"expression": "0 0 0 1 1 ? 2026"}, CREATED_AT).warnings == ()


def test_unknown_members_of_a_definition_get_a_warning():
    members = {"timezone": "Europe/Berlin", "note": None, "clockChange": {"gap": "skip", "fold": 1}}

    assert parse("quartz", DAILY | members, CREATED_AT).warnings == (
        "'timezone' is not known here and is ignored",
        "clockChange: 'fold' is not known here and is ignored",
    )


def test_definition_is_rendered_in_canonical_form():
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


def test_parsed_definition_has_its_zone():
    assert parse("quartz", DAILY, CREATED_AT).zone is UTC
    assert parse("quartz", DAILY | {"timeZone": "europe/berlin"}, CREATED_AT).zone == BERLIN
