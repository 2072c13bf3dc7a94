from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.schedules import (
    FIRST_INSTANT,
    LAST_INSTANT,
    TICK,
    Every,
    Once,
    between,
    count,
    just_after,
    just_before,
)
from tests.recurrence.samples import CREATED_AT, first, instants, utc


class Listed:
    """A schedule that has only the method `after`."""

    def __init__(self, *fires):
        self.fires = fires

    def after(self, instant):
        return next((fire for fire in self.fires if fire > instant), None)


def test_once_fires_once():
    once = Once(utc("2026-01-05T08:00Z"))

    assert once.after(utc("2026-01-05T07:59:59Z")) == utc("2026-01-05T08:00Z")
    assert once.after(utc("2026-01-05T08:00Z")) is None


def test_every_repeats_from_its_start_by_elapsed_time():
    every = Every(timedelta(minutes=90), utc("2026-01-05T08:00Z"))

    assert first(3, every) == [utc("2026-01-05T08:00Z"), utc("2026-01-05T09:30Z"), utc("2026-01-05T11:00Z")]


def test_every_does_not_round_to_seconds():
    every = Every(timedelta(hours=1), utc("2026-01-05T08:00:00.250001Z"))

    assert every.after(utc("2026-01-05T08:00:00.250001Z")) == utc("2026-01-05T09:00:00.250001Z")
    assert every.after(utc("2026-01-05T09:00:00.25Z")) == utc("2026-01-05T09:00:00.250001Z")


def test_every_ends_with_the_last_year():
    every = Every(timedelta(days=500), utc("2026-01-05T08:00Z"))

    assert every.after(utc("9999-12-31T00:00Z")) is None


@given(st.integers(1, 10**7), instants())
def test_next_fire_time_of_every_is_within_one_interval(seconds, instant):
    every = Every(timedelta(seconds=seconds), CREATED_AT)

    fire = every.after(instant)

    assert instant < fire <= instant + every.interval
    assert (fire - CREATED_AT) % every.interval == timedelta(0)


@given(st.integers(1, 10**6), instants(years=1))
def test_count_of_every_equals_a_walk(seconds, instant):
    every = Every(timedelta(seconds=seconds), instant)
    end = instant + timedelta(seconds=seconds * 20, microseconds=seconds % 3)

    assert every.count_before(end) == len(list(between(every, FIRST_INSTANT, end)))
    assert every.count_before(instant - timedelta(days=900)) == 0


def test_between_is_half_open():
    every = Every(timedelta(hours=1), utc("2026-01-05T08:00Z"))

    window = between(every, utc("2026-01-05T09:00Z"), utc("2026-01-05T11:00Z"))

    assert list(window) == [utc("2026-01-05T09:00Z"), utc("2026-01-05T10:00Z")]


def test_between_works_from_the_first_instant():
    once = Once(utc("2026-01-05T08:00Z"))

    assert list(between(once, FIRST_INSTANT, LAST_INSTANT)) == [once.at]


def test_count_of_a_schedule_without_counting_is_a_walk():
    every = Every(timedelta(hours=1), CREATED_AT)
    listed = Listed(*between(every, CREATED_AT, CREATED_AT + timedelta(hours=9)))

    assert count(listed, CREATED_AT + TICK, CREATED_AT + timedelta(hours=4)) == 3
    assert count(every, CREATED_AT + TICK, CREATED_AT + timedelta(hours=4)) == 3


def test_count_in_an_empty_window_is_zero():
    every = Every(timedelta(hours=1), CREATED_AT)

    assert count(every, CREATED_AT + timedelta(hours=4), CREATED_AT) == 0


def test_first_and_last_instants_have_no_neighbour():
    assert just_before(FIRST_INSTANT) == FIRST_INSTANT
    assert just_after(LAST_INSTANT) == LAST_INSTANT


@pytest.mark.parametrize(
    "instant",
    [
        datetime(2026, 1, 5, 8),  # noqa: DTZ001 - naive on purpose
        datetime(2026, 1, 5, 8, tzinfo=ZoneInfo("Europe/London")),  # the offset is zero only in winter
    ],
)
def test_schedules_accept_only_instants_in_utc(instant):
    with pytest.raises(ValueError, match="in UTC"):
        Once(instant)
    with pytest.raises(ValueError, match="in UTC"):
        Every(timedelta(hours=1), instant)


def test_interval_of_zero_is_refused():
    with pytest.raises(ValueError, match="longer than nothing"):
        Every(timedelta(0), CREATED_AT)
