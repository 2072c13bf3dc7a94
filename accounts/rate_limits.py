"""Limits for the number of events in fixed windows of time.

A RateLimit counts in the cache.  With the default cache each process has counts of its own, so two web processes
together allow twice as much.  Failed sign-ins are counted in the database, see `accounts.sign_in_limits`.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv6Address, IPv6Network, ip_address

from django.core.cache import cache
from rest_framework.throttling import BaseThrottle

IPV6_PREFIX = 64  # bits: a caller with one IPv6 address usually has all that begin with the same


@dataclass(frozen=True, slots=True)
class Window:
    """At most `most` events of one kind and origin in each window; 0 means without limit."""

    name: str
    most: int
    window_s: int

    def retry_after_s(self, now: datetime) -> float:
        """Return the seconds until the next window begins."""
        return self.window_s - now.timestamp() % self.window_s

    def key(self, origin: str, now: datetime) -> str:
        """Return a key of fixed length for this origin in the window at `now`."""
        digest = hashlib.sha256(origin.encode(errors="replace")).hexdigest()
        return f"limit:{self.name}:{int(now.timestamp() // self.window_s)}:{digest}"


@dataclass(frozen=True, slots=True)
class RateLimit(Window):
    """A window whose events are counted in the cache."""

    def count(self, origin: str, now: datetime) -> int:
        """Count one more event and return the number of events in this window."""
        key = self.key(origin, now)
        cache.add(key, 0, self.window_s)
        try:
            return cache.incr(key)
        except ValueError:  # the window ended, or the cache dropped the key, between the two calls
            return 1

    def is_exhausted(self, origin: str, now: datetime) -> bool:
        return 0 < self.most <= cache.get(self.key(origin, now), 0)


def address_of(request, ipv6_prefix: int = IPV6_PREFIX) -> str:
    """Return the caller's address, behind as many proxies as the settings say; empty on a local socket.

    For IPv6 return the network: a caller who has one address can send from all others in the network.
    """
    return network_of(BaseThrottle().get_ident(request) or "", ipv6_prefix)


def network_of(text: str, ipv6_prefix: int = IPV6_PREFIX) -> str:
    """Return the network of an IPv6 address and any other text as it is; IPv4 within IPv6 becomes IPv4.

    A port is left out: some proxies write it behind the address, and each connection has another one.
    """
    host = text.strip(' "')
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return text
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Network((int(address), ipv6_prefix), strict=False))
