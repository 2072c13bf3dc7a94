from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.elapsed import EveryWithinPeriod
from recurrence.schedules import between
from recurrence.times import Times
from tests.recurrence.samples import by_day, first, instants, times, utc

QUARTERS = [0, 15, 30, 45]
MINUTE, HOUR = 1, 60


def test_every_seventh_minute_at_two_minutes_of_a_day():
    # 05:00 is 295 minutes after the start, 1 more than a multiple of 7; each day adds 1440, 5 more than a multiple of 7
    rule = EveryWithinPeriod(MINUTE, 7, utc("2026-01-01T00:05Z"), Times.of([5], [0, 30]))

    assert first(3, rule) == [utc("2026-01-05T05:00Z"), utc("2026-01-06T05:30Z"), utc("2026-01-12T05:00Z")]


def test_every_fifth_hour_at_two_minutes_of_office_hours():
    # hours 8, 13, 18, 23 of the first day, 4, 9, 14, 19 of the second, 0, 5, 10, 15, 20 of the third
    rule = EveryWithinPeriod(HOUR, 5, utc("2026-01-01T08:20Z"), Times.of(range(9, 17), [15, 45]))

    assert by_day(first(6, rule)) == "01-01 13:15 13:45, 01-02 09:15 09:45 14:15 14:45"


def test_every_24th_hour_from_eight_never_fires_at_nine():
    rule = EveryWithinPeriod(HOUR, 24, utc("2026-01-01T08:00Z"), Times.of([9], [0]))

    assert rule.after(utc("2026-01-01T00:00Z")) is None
    assert rule.count_before(utc("2999-01-01T00:00Z")) == 0


def test_period_of_the_start_counts_as_a_whole_hour():
    rule = EveryWithinPeriod(HOUR, 2, utc("2026-01-01T08:20Z"), Times.of(range(24), QUARTERS))

    assert [fire.strftime("%H:%M") for fire in first(4, rule)] == ["08:30", "08:45", "10:00", "10:15"]


@given(
    st.sampled_from([MINUTE, HOUR]),
    st.one_of(st.integers(1, 100), st.integers(1, 1000)),
    instants(years=1),
    times(most_hours=24, most_minutes=60),
    st.integers(0, 900),
)
@settings(max_examples=40)
def test_every_within_period_equals_a_scan_of_all_minutes(period, interval, start, times, skipped):
    rule = EveryWithinPeriod(period, interval, start, times)
    beginning = start + timedelta(days=skipped, seconds=-7)
    end = beginning + timedelta(days=9)

    found = list(between(rule, beginning, end))

    assert found == [f for f in scan_minutes(period, interval, start, set(times), beginning, end) if f >= start]
    assert rule.count_before(end) - rule.count_before(beginning) == len(found)


def scan_minutes(period, interval, start, times, beginning, end):
    epoch = datetime(2000, 1, 1, tzinfo=UTC)
    anchor = int((start - epoch).total_seconds()) // (60 * period)
    second = min(times) % 60
    for minute in range(int((beginning - epoch).total_seconds()) // 60, int((end - epoch).total_seconds()) // 60 + 1):
        if (minute // period - anchor) % interval == 0 and minute % 1440 * 60 + second in times:
            fire = epoch + timedelta(minutes=minute, seconds=second)
            if beginning <= fire < end:
                yield fire


def test_every_within_period_ends_with_the_last_year():
    rule = EveryWithinPeriod(MINUTE, 7, utc("2026-01-01T00:05Z"), Times.of([5], [0]))

    assert rule.after(utc("9999-12-31T12:00Z")) is None


@pytest.mark.parametrize(
    "period, interval, times",
    [(30, 1, Times.of([5], [0])), (MINUTE, 0, Times.of([5], [0])), (MINUTE, 2, Times.of([5], [0], [0, 30]))],
)
def test_invalid_every_within_period_is_refused(period, interval, times):
    with pytest.raises(ValueError, match="must"):
        EveryWithinPeriod(period, interval, utc("2026-01-01T00:05Z"), times)
