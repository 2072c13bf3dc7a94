"""Decide which runs are published at normal priority, so that a subscription with very many runs delays no other."""

import time
from collections.abc import Callable
from uuid import UUID

RATE = 20  # runs of one subscription a second at normal priority
BURST = 200  # runs at normal priority at once, of a subscription that had none for BURST / RATE seconds
REMEMBERED = 1_000  # subscriptions; with more, those with a whole share are forgotten


class FairShare:
    """The share of each subscription in the runs that are published at normal priority.

    Each process that publishes has shares of its own.  A share is no limit: workers also take runs at low priority, as
    soon as no others wait.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic):
        self._monotonic = monotonic
        self._used: dict[UUID, tuple[float, float]] = {}  # runs of each share that are used, and when, in seconds

    def take(self, subscription_id: UUID) -> bool:
        """Take one run from the share of the subscription; return False when nothing of the share is left."""
        now = self._monotonic()
        used = self._used_at(subscription_id, now)
        if used > BURST - 1:
            return False
        self._used[subscription_id] = used + 1, now
        if len(self._used) > REMEMBERED:
            self._used = {key: value for key, value in self._used.items() if self._used_at(key, now)}
        return True

    def _used_at(self, subscription_id: UUID, now: float) -> float:
        used, moment = self._used.get(subscription_id, (0.0, now))
        return max(used - (now - moment) * RATE, 0.0)
