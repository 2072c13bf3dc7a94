"""Limit the concurrent calls of a worker process, in total and per host.  Knows no runs and no database.

A host never gets more slots than it leaves free, so a slow host can take at most half of them.  A tenant leaves a fifth
of the free slots to other tenants, of all slots and of the slots of each host.  A tenant that has SLOW_SHARE of all
slots gets no more slots for slow hosts; a tenant that has OPEN_SHARE gets no more for any host.  A host without an
active call is an exception: one slot for it does not depend on the share.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

TENANT_SHARE = 4  # slots that one tenant may take for each slot that it leaves free
OPEN_SHARE = 0.7  # part of all slots; a tenant that has so many gets one more only for a host without a call
SLOW_SHARE = 0.5  # the same part for slow hosts
SLOW_S = 0.5  # a host is slow when its calls take this long or longer
REMEMBERED = 1000  # slow hosts without an active call that are remembered


@dataclass(eq=False, slots=True)
class Slot:
    """The permission for one call, from before the call begins until its result has been taken over."""

    host: str
    tenant: Hashable
    acquired_at: float


@dataclass(slots=True)
class Host:
    """The state of a host that has active calls."""

    active: dict[Slot, None] = field(default_factory=dict)  # active calls, oldest first
    tenants: Counter[Hashable] = field(default_factory=Counter)  # active calls of each tenant
    average_s: float = 0.0  # duration of its calls: an average in which recent calls weigh most
    reserved_until: float = 0.0  # when the slot that was reserved last becomes free


class CallLimiter:
    """Hand out at most `limit` slots, at most `per_host` for one host.  Thread-safe.

    `host_limits` holds lower limits for single hosts.
    """

    def __init__(
        self,
        limit: int,
        per_host: int,
        monotonic: Callable[[], float] = time.monotonic,
        host_limits: Mapping[str, int] | None = None,
    ):
        self.limit = limit
        self.per_host = per_host
        self.host_limits = host_limits or {}
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._hosts: dict[str, Host] = {}
        self._slow: dict[str, float] = {}  # `average_s` of slow hosts without an active call
        self._tenants: Counter[Hashable] = Counter()  # slots that each tenant has
        self._slot_count = 0

    def acquire(self, name: str, tenant: Hashable = None) -> Slot | None:
        """Return a slot for a call of the tenant to the host; None when no slot is free."""
        with self._lock:
            if self._free_slots(name, tenant) <= 0:
                return None
            slot = Slot(name, tenant, self._monotonic())
            if name not in self._hosts:
                self._hosts[name] = Host(average_s=self._slow.pop(name, 0.0))
            self._hosts[name].active[slot] = None
            self._hosts[name].tenants[tenant] += 1
            self._tenants[tenant] += 1
            self._slot_count += 1
            return slot

    def finish(self, slot: Slot) -> None:
        """Note that the call has ended: the next call to its host may begin.  The total counts it until `release`."""
        with self._lock:
            host = self._hosts[slot.host]
            elapsed_s = self._monotonic() - slot.acquired_at
            host.average_s = (host.average_s * 7 + elapsed_s) / 8 if host.average_s else elapsed_s
            self._release_slot(slot)

    def release(self, slot: Slot) -> None:
        with self._lock:
            self._slot_count -= 1
            self._tenants[slot.tenant] -= 1
            if not self._tenants[slot.tenant]:
                del self._tenants[slot.tenant]
            self._release_slot(slot)

    @property
    def is_empty(self) -> bool:
        return self._slot_count == 0

    def free_slots(self, name: str, tenant: Hashable = None) -> int:
        """Return how many calls of the tenant to the host could begin now."""
        with self._lock:
            return self._free_slots(name, tenant)

    def seconds_per_slot(self, name: str) -> float:
        """Return the average seconds until one more call to the host ends; 0 when the host has no active call."""
        with self._lock:
            return self._seconds_per_slot(name)

    def reserve_slot(self, name: str) -> float:
        """Return in how many seconds a slot for the host is expected.  Each slot is reserved for one caller."""
        with self._lock:
            host = self._hosts.get(name)
            if host is None:
                return 0.0
            now = self._monotonic()
            host.reserved_until = max(host.reserved_until, now) + self._seconds_per_slot(name)
            return host.reserved_until - now

    def _seconds_per_slot(self, name: str) -> float:
        host = self._hosts.get(name)
        if host is None:
            return 0.0
        elapsed_s = self._monotonic() - next(iter(host.active)).acquired_at
        return max(host.average_s, elapsed_s) / len(host.active)

    def _free_slots(self, name: str, tenant: Hashable) -> int:
        host = self._hosts.get(name)
        active = len(host.active) if host else 0
        free = self.limit - self._slot_count
        is_slow = (host.average_s if host else self._slow.get(name, 0.0)) >= SLOW_S
        share = math.ceil(self.limit * (SLOW_SHARE if is_slow else OPEN_SHARE))
        left_of_share = max(share - self._tenants[tenant], 0 if active else 1)
        per_host = self.host_limits.get(name, self.per_host)
        slots = min(per_host - active, (free - active + 1) // 2, left_of_share)
        if tenant is None:
            return slots
        taken = host.tenants[tenant] if host else 0
        return min(slots, _leave_share(per_host - active, taken), _leave_share(free, self._tenants[tenant]))

    def _release_slot(self, slot: Slot) -> None:
        host = self._hosts.get(slot.host)
        if host is None or slot not in host.active:
            return
        del host.active[slot]
        host.tenants[slot.tenant] -= 1
        if not host.tenants[slot.tenant]:
            del host.tenants[slot.tenant]
        if not host.active:
            del self._hosts[slot.host]
            if host.average_s >= SLOW_S:
                self._slow[slot.host] = host.average_s
                if len(self._slow) > REMEMBERED:
                    del self._slow[next(iter(self._slow))]


def _leave_share(free: int, taken: int) -> int:
    """Return how many of the free slots a tenant may take that has `taken` of them already."""
    return (TENANT_SHARE * free - taken + TENANT_SHARE) // (TENANT_SHARE + 1)
