"""When a run that failed is tried again.  Pure: the caller brings `now`.

Source: the original service's retry policy; see reference section 10 for its defaults.  A target's `Retry-After` is not
read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs import durations

DEFAULT_COUNT = 4
DEFAULT_INTERVAL = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Try up to `count` more times after the first, `interval` after each failure."""

    count: int = DEFAULT_COUNT
    interval: timedelta = DEFAULT_INTERVAL


NO_RETRY = RetryPolicy(count=0)


def policy_of(action: Mapping[str, Any], enclosing: Mapping[str, Any] | None = None) -> RetryPolicy:
    """The policy of an action document; an error action without one of its own takes that of the `enclosing` action."""
    document = action.get("retryPolicy") or (enclosing or {}).get("retryPolicy") or {}
    if document.get("retryType") == "None":
        return NO_RETRY
    interval = document.get("retryInterval")
    return RetryPolicy(
        count=document.get("retryCount", DEFAULT_COUNT),
        interval=DEFAULT_INTERVAL if interval is None else durations.parse(interval),
    )


def next_attempt(policy: RetryPolicy, failed_count: int, now: datetime) -> datetime | None:
    """When a run whose attempts failed `failed_count` times is tried again; None: its policy is used up."""
    return now + policy.interval if failed_count <= policy.count else None
