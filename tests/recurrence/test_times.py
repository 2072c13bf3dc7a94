import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.times import Times
from tests.recurrence.samples import number_sets


def product(hours, minutes, seconds):
    return sorted(h * 3600 + m * 60 + s for h in hours for m in minutes for s in seconds)


@given(number_sets(0, 23), number_sets(0, 59), number_sets(0, 59), st.integers(0, 86_400))
def test_times_are_the_product_of_hours_minutes_and_seconds(hours, minutes, seconds, second):
    times = Times.of(hours, minutes, seconds)
    expected = product(hours, minutes, seconds)

    assert list(times) == expected
    assert times.per_day == len(expected)
    assert times.first == expected[0]
    assert times.on_or_after(second) == next((time for time in expected if time >= second), None)
    assert times.count_before(second) == sum(time < second for time in expected)


def test_times_in_another_order_are_equal():
    assert Times.of([17, 5], [0, 0]) == Times.of([5, 17], [0])


@pytest.mark.parametrize(
    "hours, minutes, seconds", [([], [0], [0]), ([24], [0], [0]), ([0], [60], [0]), ([0], [0], [])]
)
def test_invalid_times_are_refused(hours, minutes, seconds):
    with pytest.raises(ValueError, match="at least one number"):
        Times.of(hours, minutes, seconds)
