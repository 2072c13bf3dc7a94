"""The share of each subscription in the runs at normal priority."""

import uuid

import pytest

from triggers.fair_share import BURST, RATE, REMEMBERED, FairShare

BUSY, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


class Clock:
    def __init__(self):
        self.seconds = 1_000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def share(clock):
    return FairShare(clock)


def taken(share, subscription_id, tries):
    return sum(share.take(subscription_id) for _ in range(tries))


def test_idle_subscription_has_a_whole_share(share):
    assert taken(share, BUSY, 10 * BURST) == BURST


def test_share_of_one_subscription_does_not_depend_on_others(share):
    taken(share, BUSY, 10 * BURST)

    assert taken(share, OTHER, 10 * BURST) == BURST


def test_used_share_returns_at_the_rate(share, clock):
    taken(share, BUSY, 10 * BURST)

    clock.seconds += 3

    assert taken(share, BUSY, 10 * BURST) == pytest.approx(3 * RATE, abs=1)


def test_share_never_exceeds_the_burst(share, clock):
    taken(share, BUSY, BURST)

    clock.seconds += 86_400

    assert taken(share, BUSY, 10 * BURST) == BURST


def test_only_subscriptions_with_a_used_share_are_remembered(share, clock):
    taken(share, BUSY, 10 * BURST)
    for number in range(10, 10 + REMEMBERED):
        share.take(uuid.UUID(int=number))
    clock.seconds += 1

    share.take(OTHER)

    assert set(share._used) == {BUSY, OTHER}
