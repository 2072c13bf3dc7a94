"""When a run that failed is tried again.  Pure: the caller brings `now` and the chance.

Source: the original service's retry policy, with its defaults of 4 times and 30 s.  Additions of ours: intervals that
double (Exponential), and a target's `Retry-After`, which is obeyed up to a cap.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import random
from typing import Any

from jobs import durations

DEFAULT_COUNT = 4
DEFAULT_INTERVAL = timedelta(seconds=30)
DEFAULT_MOST = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Try up to `count` more times after the first, `interval` after each failure.

    Where it is growing, the interval doubles with each failure up to `most`, and chance takes up to half of it away, so
    that jobs that failed together do not come back together.  `most` is also the cap of what a target asks for.
    """

    count: int = DEFAULT_COUNT
    interval: timedelta = DEFAULT_INTERVAL
    is_growing: bool = False
    most: timedelta = DEFAULT_MOST


NO_RETRY = RetryPolicy(count=0)


def policy_of(action: Mapping[str, Any], enclosing: Mapping[str, Any] | None = None) -> RetryPolicy:
    """The policy of an action document; an error action without one of its own takes that of the `enclosing` action."""
    document = action.get("retryPolicy") or (enclosing or {}).get("retryPolicy") or {}
    if document.get("retryType") == "None":
        return NO_RETRY
    return RetryPolicy(
        count=document.get("retryCount", DEFAULT_COUNT),
        interval=_duration(document, "retryInterval", DEFAULT_INTERVAL),
        is_growing=document.get("retryType") == "Exponential",
        most=_duration(document, "maximumRetryInterval", DEFAULT_MOST),
    )


def next_attempt(
    policy: RetryPolicy,
    failed_count: int,
    now: datetime,
    retry_after: timedelta | None = None,
    chance: Callable[[], float] = random,
) -> datetime | None:
    """When a run whose attempts failed `failed_count` times is tried again; None: its policy is used up.

    Not before what the target asked for, `retry_after`, as far as the cap goes.  `chance` is from [0, 1).
    """
    if failed_count > policy.count:
        return None
    wait = _grown(policy, failed_count, chance()) if policy.is_growing else policy.interval
    return now + max(wait, min(retry_after or timedelta(0), policy.most))


def _grown(policy: RetryPolicy, failed_count: int, chance: float) -> timedelta:
    return min(policy.interval * 2 ** (failed_count - 1), policy.most) * (1 - chance / 2)


def _duration(document: Mapping[str, Any], name: str, default: timedelta) -> timedelta:
    text = document.get(name)
    return default if text is None else durations.parse(text)
