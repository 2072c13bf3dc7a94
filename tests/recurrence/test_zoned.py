"""Wall times in a zone: the fast path in periods without clock changes equals the general path."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recurrence.days import EveryNDays
from recurrence.rules import CalendarRule, ZonedRule
from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, between
from recurrence.times import Times
from recurrence.wire.quartz import parse_expression
from recurrence.zones import Fold, Gap, offset_period_at, repeated_by, stable_range_at
from tests.recurrence.samples import instants, times, utc
from tests.recurrence.wire.quartz_texts import expressions, expressions_of_every_day

CHANGES = [
    ("America/New_York", "2026-03-08T07:00Z"),
    ("America/New_York", "2026-11-01T06:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
    ("America/Sao_Paulo", "2018-02-18T02:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00Z"),
    ("Africa/Casablanca", "2025-02-23T02:00Z"),
    ("Africa/Casablanca", "2025-04-06T02:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00Z"),
    ("Pacific/Kiritimati", "1994-12-31T10:00Z"),
    ("Pacific/Kwajalein", "1993-08-20T12:00Z"),
    ("Europe/Volgograd", "2018-10-27T22:00Z"),
    ("Europe/Volgograd", "2020-12-26T23:00Z"),
    ("Asia/Kathmandu", "1985-12-31T18:30Z"),  # a change by 15 minutes at the start of the year
]
NEAR = st.sampled_from([0, 1, 900, 1800, 3599, 3600, 3601, 7200, 86_400, 90_000]) | st.integers(0, 100_000)
RULES = expressions_of_every_day().map(lambda text: parse_expression(text).rule)
ANY_RULES = expressions().map(lambda text: parse_expression(text).rule)
POLICIES = st.sampled_from(Gap), st.sampled_from(Fold)
MICROSECONDS = st.sampled_from([0, 1, 999_999])


@given(RULES, *POLICIES, st.sampled_from(CHANGES), st.sampled_from([-1, 1]), NEAR, MICROSECONDS)
@settings(max_examples=150)
def test_fast_path_equals_the_general_path_near_a_clock_change(rule, gap, fold, change, sign, distance, microsecond):
    zoned = ZonedRule(rule, ZoneInfo(change[0]), gap, fold)
    instant = utc(change[1]) + timedelta(seconds=sign * distance, microseconds=microsecond)

    assert zoned.after(instant) == zoned._after_in_zone(instant)


@given(ANY_RULES, *POLICIES, st.sampled_from(CHANGES), st.integers(1969, 2101), st.sampled_from([-1, 1]), NEAR)
@settings(max_examples=100)
@example(parse_expression("0 0 0 29 2 ?").rule, Gap.END, Fold.FIRST, CHANGES[0], 2096, 1, 86_400 * 59)
def test_fast_path_equals_the_general_path_at_the_ends_of_years(rule, gap, fold, change, year, sign, distance):
    zoned = ZonedRule(rule, ZoneInfo(change[0]), gap, fold)
    instant = datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=sign * distance)

    assert zoned.after(instant) == zoned._after_in_zone(instant)


@given(times(), *POLICIES, st.sampled_from(CHANGES), instants(utc("1990-01-01T00:00Z"), years=50))
def test_zoned_rule_equals_the_calendar_rule_of_the_same_times(times, gap, fold, change, instant):
    zone = ZoneInfo(change[0])
    cron = parse_expression("0 0 0 * * ?").rule
    zoned = ZonedRule(type(cron)(times, cron.days), zone, gap, fold)
    calendar = CalendarRule(EveryNDays(date(1970, 1, 1)), times, zone, gap, fold)

    assert zoned.after(instant) == calendar.after(instant)


@given(RULES, *POLICIES, st.sampled_from(CHANGES), st.integers(-90_000, 90_000), st.integers(0, 7200))
@settings(max_examples=80)
def test_between_agrees_with_after(rule, gap, fold, change, offset, length):
    zoned = ZonedRule(rule, ZoneInfo(change[0]), gap, fold)
    start = utc(change[1]) + timedelta(seconds=offset)
    end = start + timedelta(seconds=length)

    found = list(between(zoned, start, end))

    assert found == sorted(set(found))
    assert all(start <= fire < end and fire.tzinfo is UTC for fire in found)
    for fire in found[:50]:
        assert zoned.after(fire - timedelta(microseconds=1)) == fire


@given(st.sampled_from(CHANGES), instants(utc("1975-01-01T00:00Z"), years=80))
def test_wall_times_are_unique_in_a_stable_range(change, instant):
    zone = ZoneInfo(change[0])

    for low, high, offset in stable_range_at(zone, instant.year):
        if low <= instant < high:
            wall = instant.astimezone(zone)
            assert wall.utcoffset() == offset
            assert wall.replace(fold=1).astimezone(UTC) == wall.replace(fold=0).astimezone(UTC) == instant


@pytest.mark.parametrize("name", ["Europe/Berlin", "Pacific/Apia", "UTC"])
@pytest.mark.parametrize("year", [1, 2, 1970, 2026, 9998, 9999])
def test_stable_ranges_are_known_in_each_year(name, year):
    parts = stable_range_at(ZoneInfo(name), year)

    assert all(low < high for low, high, _ in parts)
    assert [low for low, _, _ in parts] == sorted(low for low, _, _ in parts)


@pytest.mark.parametrize(
    "instant, hours",
    [
        ("2026-11-01T04:59:59Z", 0),
        ("2026-11-01T05:00:00Z", 1),
        ("2026-11-01T05:59:59.999Z", 1),
        # in the second pass, nothing is repeated later
        ("2026-11-01T06:00:00Z", 0),
        ("2026-11-01T06:59:59Z", 0),
        ("2026-03-08T06:59:59Z", 0),
        ("2026-03-08T07:00:00Z", 0),
    ],
)
def test_repetition_is_known_in_the_first_pass(instant, hours):
    assert repeated_by(ZoneInfo("America/New_York"), utc(instant)) == timedelta(hours=hours)


def test_repetition_may_be_half_an_hour():
    assert repeated_by(ZoneInfo("Australia/Lord_Howe"), utc("2026-04-04T14:30Z")) == timedelta(minutes=30)
    assert offset_period_at(ZoneInfo("Australia/Lord_Howe"), 0).offset == 36_000


@pytest.mark.parametrize("name", ["America/New_York", "Asia/Tokyo"])
def test_zoned_rule_works_at_the_ends_of_the_calendar(name):
    zoned = ZonedRule(parse_expression("0 0 12 * * ?").rule, ZoneInfo(name))

    first = zoned.after(FIRST_INSTANT)
    assert (first.astimezone(ZoneInfo(name)).year, first.astimezone(ZoneInfo(name)).hour) == (1970, 12)
    assert zoned.after(LAST_INSTANT) is None


def test_zoned_rule_accepts_any_schedule():
    berlin = ZoneInfo("Europe/Berlin")
    daily = CalendarRule(EveryNDays(date(2026, 3, 28)), Times.of([2], [30]), UTC)

    assert list(between(ZonedRule(daily, berlin), utc("2026-03-28T00:00Z"), utc("2026-03-31T00:00Z"))) == [
        utc("2026-03-28T01:30Z"), utc("2026-03-29T01:00Z"), utc("2026-03-30T00:30Z")
    ]  # fmt: skip
