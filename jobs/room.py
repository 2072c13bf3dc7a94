"""Room for calls: how many a worker process has in hand, in all and to one host.  Knows no runs and no database.

A host never gets more places than it leaves free, so one that is slow can take half of them at most.  A tenant leaves
a fifth of what it finds to others, whatever hosts it calls; and so that many slow ones do not get all it may have, they
find an end at SLOW_SHARE and any hosts at OPEN_SHARE: what is above is for the first call to yet another.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

TENANT_SHARE = 4  # places for one tenant to each that it leaves free
OPEN_SHARE = 0.7  # of all places: when a tenant has so many, it finds one more for a host that has none
SLOW_SHARE = 0.5  # the same for slow hosts
SLOW_S = 0.5  # a host is slow whose calls take longer
REMEMBERED = 1000  # slow hosts without a call at the moment


@dataclass(eq=False, slots=True)
class Place:
    """Room for one call, from before it begins until its outcome has been taken over."""

    host: str
    tenant: Hashable
    taken_at: float


@dataclass(slots=True)
class Host:
    """What is known of a host while calls to it are out."""

    out: dict[Place, None] = field(default_factory=dict)  # the oldest first
    took_s: float = 0.0  # how long calls to it take: an average in which the last ones weigh most
    promised_at: float = 0.0  # when the last place that was promised comes free


class Room:
    """`limit` places in all, `per_host` of them for one host; `narrow` hosts have less.  For use by many threads."""

    def __init__(
        self,
        limit: int,
        per_host: int,
        monotonic: Callable[[], float] = time.monotonic,
        narrow: Mapping[str, int] | None = None,
    ):
        self.limit = limit
        self.per_host = per_host
        self.narrow = narrow or {}
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._hosts: dict[str, Host] = {}
        self._slow: dict[str, float] = {}  # `took_s` of slow hosts without a call
        self._tenants: Counter[Hashable] = Counter()  # places that each has
        self._taken = 0

    def take(self, name: str, tenant: Hashable = None) -> Place | None:
        """A place for a call of the tenant to the host; None when there is none."""
        with self._lock:
            if self._free(name, tenant) <= 0:
                return None
            place = Place(name, tenant, self._monotonic())
            if name not in self._hosts:
                self._hosts[name] = Host(took_s=self._slow.pop(name, 0.0))
            self._hosts[name].out[place] = None
            self._tenants[tenant] += 1
            self._taken += 1
            return place

    def end(self, place: Place) -> None:
        """The call has ended.  The next one to its host may begin; in all it counts until `leave`."""
        with self._lock:
            host = self._hosts[place.host]
            lasted = self._monotonic() - place.taken_at
            host.took_s = (host.took_s * 7 + lasted) / 8 if host.took_s else lasted
            self._vacate(place)

    def leave(self, place: Place) -> None:
        with self._lock:
            self._taken -= 1
            self._tenants[place.tenant] -= 1
            if not self._tenants[place.tenant]:
                del self._tenants[place.tenant]
            self._vacate(place)

    @property
    def is_empty(self) -> bool:
        return self._taken == 0

    def free(self, name: str, tenant: Hashable = None) -> int:
        """How many calls of the tenant to the host could begin now."""
        with self._lock:
            return self._free(name, tenant)

    def pace_s(self, name: str) -> float:
        """After how many seconds, on the average, one more of the calls to the host ends; 0 when none is out."""
        with self._lock:
            return self._pace_s(name)

    def promise(self, name: str) -> float:
        """In how many seconds a place for one more call to the host may be expected: each is promised to one."""
        with self._lock:
            host = self._hosts.get(name)
            if host is None:
                return 0.0
            now = self._monotonic()
            host.promised_at = max(host.promised_at, now) + self._pace_s(name)
            return host.promised_at - now

    def _pace_s(self, name: str) -> float:
        host = self._hosts.get(name)
        if host is None:
            return 0.0
        lasts_s = self._monotonic() - next(iter(host.out)).taken_at
        return max(host.took_s, lasts_s) / len(host.out)

    def _free(self, name: str, tenant: Hashable) -> int:
        host = self._hosts.get(name)
        out = len(host.out) if host else 0
        free = self.limit - self._taken
        is_slow = (host.took_s if host else self._slow.get(name, 0.0)) >= SLOW_S
        share = math.ceil(self.limit * (SLOW_SHARE if is_slow else OPEN_SHARE))
        open_to_it = max(share - self._tenants[tenant], 0 if out else 1)
        per_host = self.narrow.get(name, self.per_host)
        return min(per_host - out, (free - out + 1) // 2, self._free_for(tenant, free), open_to_it)

    def _free_for(self, tenant: Hashable, free: int) -> int:
        if tenant is None:
            return free
        return (TENANT_SHARE * free - self._tenants[tenant] + TENANT_SHARE) // (TENANT_SHARE + 1)

    def _vacate(self, place: Place) -> None:
        host = self._hosts.get(place.host)
        if host is None or place not in host.out:
            return
        del host.out[place]
        if not host.out:
            del self._hosts[place.host]
            if host.took_s >= SLOW_S:
                self._slow[place.host] = host.took_s
                if len(self._slow) > REMEMBERED:
                    del self._slow[next(iter(self._slow))]
