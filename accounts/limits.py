"""How often something may happen: counted in the cache, in windows of the clock.

With the default cache each process counts for itself, so several web processes together allow as many times more.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.core.cache import cache
from rest_framework.throttling import BaseThrottle


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` events of one kind and origin in each window; 0 means without limit."""

    name: str
    most: int
    window_s: int

    def count(self, origin: str, now: datetime) -> int:
        """Count one more event; returns how many there are now in this window."""
        key = self._key(origin, now)
        cache.add(key, 0, self.window_s)
        try:
            return cache.incr(key)
        except ValueError:  # the window ended, or the cache made room, between the two lines
            return 1

    def is_exhausted(self, origin: str, now: datetime) -> bool:
        return 0 < self.most <= cache.get(self._key(origin, now), 0)

    def forget(self, origin: str, now: datetime) -> None:
        cache.delete(self._key(origin, now))

    def wait_s(self, now: datetime) -> float:
        """Seconds until the next window begins."""
        return self.window_s - now.timestamp() % self.window_s

    def _key(self, origin: str, now: datetime) -> str:
        digest = hashlib.sha256(origin.encode(errors="replace")).hexdigest()
        return f"limit:{self.name}:{int(now.timestamp() // self.window_s)}:{digest}"


def address_of(request) -> str:
    """The caller's address, as seen behind as many proxies as the settings say; empty on a local socket."""
    return BaseThrottle().get_ident(request) or ""
