"""When a failed run is retried."""

from datetime import timedelta

import pytest

from jobs.worker.retries import NO_RETRY, RetryPolicy, next_attempt, policy_of
from tests.conftest import NOW


@pytest.mark.parametrize(
    "document, policy",
    [
        ({}, RetryPolicy(4, timedelta(seconds=30))),  # the original's default
        ({"retryPolicy": {"retryType": "None"}}, NO_RETRY),
        ({"retryPolicy": {"retryType": "None", "retryCount": 3}}, NO_RETRY),
        ({"retryPolicy": {"retryType": "Fixed"}}, RetryPolicy()),
        ({"retryPolicy": {"retryCount": 0}}, RetryPolicy(0)),
        ({"retryPolicy": {"retryCount": 20, "retryInterval": "PT1H"}}, RetryPolicy(20, timedelta(hours=1))),
        ({"retryPolicy": {"retryInterval": "00:01:00"}}, RetryPolicy(4, timedelta(minutes=1))),
    ],
)
def test_retry_policy_is_read_from_its_action(document, policy):
    assert policy_of(document) == policy


def test_error_action_has_its_own_retry_policy_or_that_of_its_action():
    own, outer = {"retryPolicy": {"retryCount": 1}}, {"retryPolicy": {"retryCount": 2}}

    assert policy_of(own, enclosing=outer).count == 1
    assert policy_of({}, enclosing=outer).count == 2
    assert policy_of({}, enclosing={}).count == 4


def test_fixed_policy_retries_after_each_interval_until_the_count_is_used_up():
    policy = RetryPolicy(2, timedelta(seconds=45))

    moments = [next_attempt(policy, failed_count, NOW) for failed_count in (1, 2, 3)]

    assert moments == [NOW + timedelta(seconds=45), NOW + timedelta(seconds=45), None]


def test_policy_without_retries_has_no_next_attempt():
    assert next_attempt(NO_RETRY, 1, NOW) is None


# Growing intervals


def growing(interval=timedelta(seconds=30), count=20, **fields) -> RetryPolicy:
    return RetryPolicy(count, interval, is_growing=True, **fields)


def waits(policy: RetryPolicy, chance: float, counts=range(1, 8)) -> list[float]:
    """Return the seconds between each failure and the next attempt."""
    return [(next_attempt(policy, count, NOW, chance=lambda: chance) - NOW).total_seconds() for count in counts]


@pytest.mark.parametrize(
    "document, policy",
    [
        ({"retryType": "Exponential"}, growing(count=4)),
        ({"retryType": "Exponential", "retryCount": 20, "retryInterval": "PT1M"}, growing(timedelta(minutes=1))),
        (
            {"retryType": "Exponential", "maximumRetryInterval": "PT5M"},
            growing(count=4, max_interval=timedelta(minutes=5)),
        ),
        ({"retryType": "Fixed", "maximumRetryInterval": "PT5M"}, RetryPolicy(max_interval=timedelta(minutes=5))),
    ],
)
def test_growing_retry_policy_is_read_from_its_action(document, policy):
    assert policy_of({"retryPolicy": document}) == policy


def test_growing_intervals_double_up_to_the_maximum():
    assert waits(growing(max_interval=timedelta(minutes=5)), chance=0) == [30, 60, 120, 240, 300, 300, 300]


def test_jitter_shortens_an_interval_by_up_to_half():
    policy = growing(max_interval=timedelta(minutes=5))

    assert waits(policy, chance=0.5) == [22.5, 45, 90, 180, 225, 225, 225]
    least = waits(policy, chance=1 - 2**-53)
    assert least == pytest.approx([15, 30, 60, 120, 150, 150, 150])


def test_random_jitter_stays_within_its_bounds_and_spreads():
    policy = growing()
    found = {(next_attempt(policy, 3, NOW) - NOW).total_seconds() for _ in range(1000)}

    assert 60 < min(found) < 66
    assert 114 < max(found) <= 120
    assert len(found) > 900


def test_default_maximum_of_growing_intervals_is_a_day():
    assert waits(growing(timedelta(hours=10)), chance=0, counts=range(1, 5)) == [36_000, 72_000, 86_400, 86_400]


def test_longest_intervals_do_not_overflow_dates():
    policy = growing(timedelta(days=548), max_interval=timedelta(days=548))

    assert next_attempt(policy, 20, NOW, chance=lambda: 0) == NOW + timedelta(days=548)


def test_growing_policy_has_no_attempt_after_its_count():
    assert next_attempt(growing(count=2), 2, NOW) is not None
    assert next_attempt(growing(count=2), 3, NOW) is None


# Retry-After


@pytest.mark.parametrize(
    "asked, waited",
    [
        (None, 30),
        (0, 30),
        (10, 30),  # not earlier than the interval of the job
        (31, 31),
        (3600, 3600),
        (86_400, 86_400),
        (86_401, 86_400),
        (999_999_999, 86_400),
    ],
)
@pytest.mark.parametrize("policy", [RetryPolicy(), growing()])
def test_retry_after_delays_the_next_attempt_up_to_the_maximum(policy, asked, waited):
    retry_after = None if asked is None else timedelta(seconds=asked)

    assert next_attempt(policy, 1, NOW, retry_after, chance=lambda: 0) == NOW + timedelta(seconds=waited)


def test_maximum_for_retry_after_is_that_of_the_job():
    policy = RetryPolicy(max_interval=timedelta(minutes=5))

    assert next_attempt(policy, 1, NOW, timedelta(hours=1)) == NOW + timedelta(minutes=5)


def test_interval_longer_than_the_maximum_is_not_shortened():
    policy = RetryPolicy(interval=timedelta(days=3), max_interval=timedelta(days=1))

    assert next_attempt(policy, 1, NOW, timedelta(days=2)) == NOW + timedelta(days=3)


def test_retry_after_does_not_add_attempts():
    assert next_attempt(RetryPolicy(1), 2, NOW, timedelta(seconds=1)) is None
