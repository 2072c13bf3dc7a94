"""When a failed run is tried again."""

from datetime import timedelta

import pytest

from jobs.retries import NO_RETRY, RetryPolicy, next_attempt, policy_of
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
def test_a_policy_is_read_from_its_action(document, policy):
    assert policy_of(document) == policy


def test_an_error_action_has_its_own_policy_or_that_of_its_action():
    own, outer = {"retryPolicy": {"retryCount": 1}}, {"retryPolicy": {"retryCount": 2}}

    assert policy_of(own, enclosing=outer).count == 1
    assert policy_of({}, enclosing=outer).count == 2
    assert policy_of({}, enclosing={}).count == 4


def test_attempts_are_an_interval_apart_until_they_are_used_up():
    policy = RetryPolicy(2, timedelta(seconds=45))

    moments = [next_attempt(policy, failed_count, NOW) for failed_count in (1, 2, 3)]

    assert moments == [NOW + timedelta(seconds=45), NOW + timedelta(seconds=45), None]


def test_without_retries_the_first_failure_is_the_last():
    assert next_attempt(NO_RETRY, 1, NOW) is None
