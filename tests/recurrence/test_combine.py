from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.composites import Bounded, FirstThen
from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, Every, Once, between
from tests.recurrence.samples import CREATED_AT, first, instants, utc

HOURLY = Every(timedelta(hours=1), CREATED_AT)


def test_bounded_schedule_includes_both_bounds():
    limited = Bounded(HOURLY, utc("2026-01-01T02:00Z"), utc("2026-01-01T04:00Z"))

    assert first(9, limited) == [utc("2026-01-01T02:00Z"), utc("2026-01-01T03:00Z"), utc("2026-01-01T04:00Z")]


def test_bound_of_none_does_not_limit():
    assert first(3, Bounded(HOURLY)) == first(3, HOURLY)


def test_first_fire_time_precedes_the_others():
    schedule = FirstThen(utc("2026-01-01T02:20Z"), HOURLY)

    assert first(3, schedule) == [utc("2026-01-01T02:20Z"), utc("2026-01-01T03:00Z"), utc("2026-01-01T04:00Z")]


def test_first_fire_time_that_is_also_in_the_rule_fires_once():
    schedule = FirstThen(utc("2026-01-01T02:00Z"), HOURLY)

    assert first(2, schedule) == [utc("2026-01-01T02:00Z"), utc("2026-01-01T03:00Z")]


@given(instants(years=1), st.integers(0, 100), st.integers(-100, 200), st.booleans())
def test_count_of_combined_schedules_equals_a_walk(start, hours, later, has_first):
    rule = FirstThen(start, HOURLY) if has_first else HOURLY
    limited = Bounded(rule, start, start + timedelta(hours=hours))
    instant = start + timedelta(hours=later)

    assert limited.count_before(instant) == len(list(between(limited, FIRST_INSTANT, instant)))


def test_bound_at_the_last_instant_can_be_counted():
    assert Bounded(Once(LAST_INSTANT), None, LAST_INSTANT).count_before(LAST_INSTANT) == 0


def test_bounds_must_be_instants_in_utc():
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 - naive on purpose

    with pytest.raises(ValueError, match="in UTC"):
        Bounded(HOURLY, naive)
    with pytest.raises(ValueError, match="in UTC"):
        Bounded(HOURLY, None, naive)
    with pytest.raises(ValueError, match="in UTC"):
        FirstThen(naive, HOURLY)
