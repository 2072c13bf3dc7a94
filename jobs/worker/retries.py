"""Compute when a failed run is tried again.  Pure functions: the caller passes `now` and the random numbers.

Source: the original service's retry policy, with its defaults of 4 times and 30 s.  Our additions: intervals that
double (Exponential), and a target's `Retry-After`, which is obeyed up to a limit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import random
from typing import Any

from jobs import durations

DEFAULT_COUNT = 4
DEFAULT_INTERVAL = timedelta(seconds=30)
DEFAULT_MAX_INTERVAL = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Try up to `count` more times after the first, `interval` after each failure.

    If `is_growing`, the interval doubles with each failure up to `max_interval`, and is shortened at random by up to
    half.  So jobs that failed together do not come back together.  `max_interval` also limits the wait that a target
    asks for.
    """

    count: int = DEFAULT_COUNT
    interval: timedelta = DEFAULT_INTERVAL
    is_growing: bool = False
    max_interval: timedelta = DEFAULT_MAX_INTERVAL


NO_RETRY = RetryPolicy(count=0)


def policy_of(action: Mapping[str, Any], enclosing: Mapping[str, Any] | None = None) -> RetryPolicy:
    """Return the policy of an action document.  An error action without one takes that of the `enclosing` action."""
    document = action.get("retryPolicy") or (enclosing or {}).get("retryPolicy") or {}
    if document.get("retryType") == "None":
        return NO_RETRY
    return RetryPolicy(
        count=document.get("retryCount", DEFAULT_COUNT),
        interval=_duration(document, "retryInterval", DEFAULT_INTERVAL),
        is_growing=document.get("retryType") == "Exponential",
        max_interval=_duration(document, "maximumRetryInterval", DEFAULT_MAX_INTERVAL),
    )


def next_attempt(
    policy: RetryPolicy,
    failed_count: int,
    now: datetime,
    retry_after: timedelta | None = None,
    chance: Callable[[], float] = random,
) -> datetime | None:
    """Return when a run with `failed_count` failed attempts is tried again; None when the policy is used up.

    It is not tried earlier than the target asked for with `retry_after`, up to the limit of the policy.  `chance`
    returns a number in [0, 1).
    """
    if failed_count > policy.count:
        return None
    wait = _growing_interval(policy, failed_count, chance()) if policy.is_growing else policy.interval
    return now + max(wait, min(retry_after or timedelta(0), policy.max_interval))


def _growing_interval(policy: RetryPolicy, failed_count: int, chance: float) -> timedelta:
    return min(policy.interval * 2 ** (failed_count - 1), policy.max_interval) * (1 - chance / 2)


def _duration(document: Mapping[str, Any], name: str, default: timedelta) -> timedelta:
    text = document.get(name)
    return default if text is None else durations.parse(text)
