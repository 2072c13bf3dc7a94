"""Jitter: a part of a duration by which each fire time starts later, so that many triggers do not start at once."""

from datetime import datetime, timedelta
from hashlib import blake2b

from recurrence.schedules import LAST_INSTANT
from recurrence.zones import NOTHING

MILLISECOND = timedelta(milliseconds=1)
DIGEST_BYTES = 8


def start_of(fire_at: datetime, jitter: timedelta, trigger_key: str) -> datetime:
    """Return the fire time with its delay, at most the last instant of the calendar."""
    return fire_at + min(delay_of(jitter, trigger_key, fire_at), LAST_INSTANT - fire_at)


def latest_start(fire_at: datetime, jitter: timedelta) -> datetime:
    """Return the end of the window in which a fire time starts, at most the last instant of the calendar."""
    return fire_at + min(jitter, LAST_INSTANT - fire_at)


def delay_of(jitter: timedelta, trigger_key: str, fire_at: datetime) -> timedelta:
    """Return by how much a fire time of a trigger starts later: whole milliseconds in [0, jitter).

    The delay depends on the arguments alone, so it is the same on every machine whenever somebody asks.  The delays of
    many triggers, and of many fire times of one trigger, are spread evenly.
    """
    if jitter <= NOTHING:
        return NOTHING
    digest = blake2b(f"{trigger_key}\n{fire_at.isoformat()}".encode(), digest_size=DIGEST_BYTES).digest()
    steps = -(-jitter // MILLISECOND)
    return int.from_bytes(digest, "big") * steps // (1 << 8 * DIGEST_BYTES) * MILLISECOND
