"""Quartz expressions compared with a scan of all days and seconds, which does not use the engine."""

from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recurrence.schedules import between
from recurrence.wire.quartz import in_zone, parse_expression
from tests.recurrence.samples import instants, utc
from tests.recurrence.wire.quartz_by_hand import ScannedExpression
from tests.recurrence.wire.quartz_texts import expressions, expressions_of_every_day

CHANGES = [
    ("America/New_York", "2026-03-08T07:00Z"),
    ("America/New_York", "2026-11-01T06:00Z"),
    ("Europe/London", "2026-03-29T01:00Z"),
    ("Europe/London", "2026-10-25T01:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
    ("America/Sao_Paulo", "2018-02-18T02:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00Z"),
    ("America/Santiago", "2026-04-05T03:00Z"),
    ("America/Santiago", "2026-09-06T04:00Z"),
    ("Africa/Casablanca", "2025-02-23T02:00Z"),
    ("Africa/Casablanca", "2025-04-06T02:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00Z"),
    ("Asia/Kolkata", "2026-03-29T01:00Z"),  # no clock change
]

microseconds = st.sampled_from([0, 1, 500_000, 999_999])


@given(expressions(), instants(utc("1969-12-30T00:00Z"), years=131), microseconds)
@settings(max_examples=150)
@example("0 0 0 29 2 ?", utc("2096-02-29T00:00Z"), 0)  # 2100 has no leap day, and is after the last year
@example("0 0 0 29 2 ? 2021-2099/2", utc("2020-01-01T00:00Z"), 0)
@example("0 0 0 ? 2 2#5", utc("2016-02-29T00:00Z"), 0)
@example("* * * * * ?", utc("2099-12-31T23:59:58Z"), 1)
def test_next_fire_time_equals_a_scan(text, instant, microsecond):
    instant = instant.replace(microsecond=microsecond)

    assert parse_expression(text).rule.after(instant) == ScannedExpression(text).after(instant)


@given(expressions_of_every_day(), st.sampled_from(CHANGES), st.integers(-2 * 3600, 3600))
@settings(max_examples=80)
def test_fire_times_at_a_clock_change_equal_a_scan_of_all_seconds(text, change, offset):
    zone, start = ZoneInfo(change[0]), utc(change[1]) + timedelta(seconds=offset)
    end = start + timedelta(hours=3)

    found = list(between(in_zone(parse_expression(text), zone), start, end))

    assert found == list(ScannedExpression(text).fires_in_zone(zone, start, end))


@given(expressions_of_every_day(), st.sampled_from(CHANGES), st.integers(-3 * 3600, 3 * 3600), microseconds)
@settings(max_examples=80)
def test_next_fire_time_with_the_rule_of_quartz_equals_a_scan_of_all_seconds(text, change, offset, microsecond):
    zone, instant = ZoneInfo(change[0]), utc(change[1]) + timedelta(seconds=offset, microseconds=microsecond)
    end = instant + timedelta(hours=3)

    found = in_zone(parse_expression(text), zone, "quartz").after(instant)

    assert (found if found and found < end else None) == ScannedExpression(text).after_as_quartz(zone, instant, end)


@pytest.mark.parametrize("clock_change", ["cron", "quartz"])
@given(expressions(), instants(utc("1975-01-01T00:00Z"), years=120), microseconds)
@settings(max_examples=25)
def test_zone_without_clock_changes_only_shifts_the_fire_times(clock_change, text, instant, microsecond):
    zone, offset = ZoneInfo("Asia/Kolkata"), timedelta(hours=5, minutes=30)
    instant = instant.replace(microsecond=microsecond)

    found = in_zone(parse_expression(text), zone, clock_change).after(instant)

    expected = ScannedExpression(text).after(instant + offset)
    assert found == (expected and (expected - offset).astimezone(UTC))
