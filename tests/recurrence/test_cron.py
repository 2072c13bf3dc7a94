"""The cron rule: from sets of numbers to fire times.  The texts of expressions are tested with the Quartz format."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.cron import ALL_MONTHS, CronRule, Days
from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, between, count
from recurrence.times import Times
from tests.recurrence.samples import first, instants, times, utc

NOON = Times.of([12], [0])


def every_day(first_weekday, length):
    return (2 << length) - 2


def mondays(first_weekday, length):
    return sum(1 << day for day in range(1, length + 1) if (first_weekday + day - 1) % 7 == 0)


def the_31st(first_weekday, length):
    return 1 << 31 if length == 31 else 0


DAYS = st.sampled_from([Days("*", every_day), Days("MON", mondays), Days("31", the_31st)])
MONTHS = st.just(ALL_MONTHS) | st.integers(1, (1 << 12) - 1).map(lambda mask: mask << 1)
YEARS = st.sets(st.integers(50, 70), min_size=1).map(lambda years: sum(1 << year for year in years))
RULES = st.builds(CronRule, times(), DAYS, MONTHS, YEARS)


@given(RULES, instants(utc("2018-01-01T00:00Z"), years=26), st.integers(0, 999_999))
def test_next_fire_time_is_strictly_later_and_matches_the_rule(rule, instant, microsecond):
    instant = instant.replace(microsecond=microsecond)

    fire = rule.after(instant)

    if fire is not None:
        assert fire > instant
        assert fire.tzinfo is UTC
        assert fire.microsecond == 0
        assert rule.years >> (fire.year - 1970) & 1
        assert rule.months >> fire.month & 1
        assert (fire - fire.replace(hour=0, minute=0, second=0)).seconds in set(rule.times)
        assert rule.after(fire - timedelta(microseconds=1)) == fire
        assert rule.after(instant + (fire - instant) / 2) == fire  # there is no fire time in between


@given(RULES, instants(utc("2018-01-01T00:00Z"), years=26), st.integers(0, 400), st.sampled_from([0, 1, 999_999]))
@settings(max_examples=60)
def test_count_of_a_cron_rule_equals_a_walk(rule, instant, days, microsecond):
    end = instant + timedelta(days=days, microseconds=microsecond)

    assert count(rule, instant, end) == len(list(between(rule, instant, end)))


def test_cron_rule_counts_from_its_first_to_its_last_year():
    rule = CronRule(NOON, Days("*", every_day))
    days = (datetime(2100, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days

    assert rule.count_before(FIRST_INSTANT) == rule.count_before(utc("1970-01-01T12:00Z")) == 0
    assert rule.count_before(utc("1970-01-01T12:00:00.000001Z")) == 1
    assert rule.count_before(LAST_INSTANT) == rule.count_before(utc("2100-01-01T00:00Z")) == days


@pytest.mark.parametrize(
    "instant, expected",
    [
        (FIRST_INSTANT, "1970-01-01T12:00Z"),
        (utc("1969-12-31T23:59:59.999999Z"), "1970-01-01T12:00Z"),
        (utc("2099-12-31T11:59:59.999999Z"), "2099-12-31T12:00Z"),
        (utc("2099-12-31T12:00Z"), None),
        (utc("2100-01-01T00:00Z"), None),
        (LAST_INSTANT, None),
    ],
)
def test_cron_rule_fires_from_1970_to_2099(instant, expected):
    assert CronRule(NOON, Days("*", every_day)).after(instant) == (expected and utc(expected))


def test_cron_rule_without_days_never_fires():
    rule = CronRule(NOON, Days("31", the_31st), 1 << 2)

    assert rule.after(FIRST_INSTANT) is None
    assert rule.count_before(LAST_INSTANT) == 0


def test_cron_rule_skips_other_months_and_years():
    rule = CronRule(NOON, Days("31", the_31st), 1 << 1 | 1 << 2 | 1 << 12, 1 << 56 | 1 << 60)

    assert [f"{fire:%Y-%m-%d}" for fire in first(9, rule)] == ["2026-01-31", "2026-12-31", "2030-01-31", "2030-12-31"]


def test_cron_rules_with_the_same_meaning_are_equal():
    one, other = (CronRule(Times.of(hours, [0]), Days("*", every_day)) for hours in ([1, 2], [2, 1]))

    assert one == other
    assert hash(one) == hash(other)
    assert one != CronRule(Times.of([1, 2], [0]), Days("MON", mondays))
    assert one != CronRule(Times.of([1, 2], [0]), Days("*", every_day), months=2)
    assert repr(one.days) == "Days('*')"
    assert one.days != "*"
