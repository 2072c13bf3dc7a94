"""Decide which network addresses outbound calls may reach.

An address is open when it is public, or within the installation's own list (EGRESS_ALLOW).  `ipaddress.is_global` is
True for multicast, for site-local and for every form that wraps an IPv4 address.  So the lists are written out here.
Source: the IANA registries of special-purpose addresses.
"""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from aiohttp.abc import AbstractResolver, ResolveResult
from django.conf import settings

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Addresses where clouds give credentials to every caller: closed even if EGRESS_ALLOW lists them
ALWAYS_CLOSED = {
    ip_address(text)
    for text in (
        *("169.254.169.254", "fd00:ec2::254"),  # AWS, Azure, Google and others
        *("169.254.170.2", "169.254.170.23", "fd00:ec2::23"),  # AWS containers
        *("fd20:ce::254", "168.63.129.16", "100.100.100.200", "192.0.0.192"),  # Google, Azure's host, Alibaba, Oracle
    )
}
NOT_PUBLIC = {
    ip_network(text): kind
    for text, kind in {
        "0.0.0.0/8": "the address of no host",
        "10.0.0.0/8": "a private address",
        "100.64.0.0/10": "a private address of a carrier",
        "127.0.0.0/8": "a loopback address",
        "169.254.0.0/16": "a link-local address",
        "172.16.0.0/12": "a private address",
        "192.0.0.0/24": "reserved for protocols",
        "192.0.2.0/24": "reserved for documentation",
        "192.88.99.0/24": "a relay of 6to4",
        "192.168.0.0/16": "a private address",
        "198.18.0.0/15": "reserved for benchmarks",
        "198.51.100.0/24": "reserved for documentation",
        "203.0.113.0/24": "reserved for documentation",
        "224.0.0.0/4": "a multicast address",
        "240.0.0.0/4": "a reserved address",
        "2001::/23": "reserved for protocols",  # Teredo among them
        "2001:db8::/32": "reserved for documentation",
        "2002::/16": "an address of 6to4",
        "3fff::/20": "reserved for documentation",
        # outside 2000::/3 nothing in IPv6 is public
        "::/128": "the address of no host",
        "::1/128": "a loopback address",
        "64:ff9b::/96": "an address of NAT64",
        "64:ff9b:1::/48": "an address of NAT64",
        "fc00::/7": "a private address",
        "fe80::/10": "a link-local address",
        "ff00::/8": "a multicast address",
    }.items()
}
PUBLIC_IPV6 = IPv6Network("2000::/3")
COMPATIBLE = IPv6Network("::/96")
NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))

LOOKUPS = ThreadPoolExecutor(max_workers=256, thread_name_prefix="lookup")  # a lookup that hangs blocks one thread


class ClosedAddress(Exception):
    """An outbound call would reach an address that calls must not reach."""

    def __init__(self, address: str):
        super().__init__(f"the address {address} is not public, and EGRESS_ALLOW does not list it")


def refuse_closed(text: str) -> None:
    """Raise ClosedAddress unless calls may reach the literal address `text`."""
    try:
        address = ip_address(text)
    except ValueError:
        raise ClosedAddress(text) from None
    if not is_open(address, allowed(tuple(settings.EGRESS_ALLOW))):
        raise ClosedAddress(text)


def closed_host_reason(host: str) -> str | None:
    """Return why calls cannot reach the literal address `host`, as "is ..."; None when they can.

    For a name the result is None as well: its addresses are known only when it is called.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return closed_reason(address, allowed(tuple(settings.EGRESS_ALLOW)))


def is_open(address: Address, allow: Sequence[Network] = ()) -> bool:
    return closed_reason(address, allow) is None


def closed_reason(address: Address, allow: Sequence[Network] = ()) -> str | None:
    """Return why calls must not reach `address`, as "is ..."; None when they may.

    An address that wraps an IPv4 address is open only if both addresses are open.
    """
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return closed_reason(address.ipv4_mapped, allow)  # not a wrapper: the same address in another notation
    if address in ALWAYS_CLOSED:
        return "is where clouds give credentials to whoever asks, and no setting opens it"
    if getattr(address, "scope_id", None):
        return "has a zone"
    if (kind := kind_of(address)) and not any(address in network for network in allow):
        return f"is {kind}, and EGRESS_ALLOW does not open it"
    for inner in wrapped(address):
        if reason := closed_reason(inner, allow):
            return f"leads to {inner}, which {reason}"
    return None


def kind_of(address: Address) -> str | None:
    """Return the kind of an address that is not public, to be written after "is"; None for a public one."""
    for network, kind in NOT_PUBLIC.items():
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return "not a public address"
    return None


def wrapped(address: Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses to which a gateway would forward packets for `address`."""
    if not isinstance(address, IPv6Address):
        return
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if any(address in network for network in NAT64) or (address in COMPATIBLE and int(address) > 1):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


@lru_cache(maxsize=8)
def allowed(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in networks)


class CheckedResolver(AbstractResolver):
    """Look a name up once for each call, and return addresses only if all are open.

    The call uses the addresses that were checked, so a second lookup cannot return others.
    """

    def __init__(self) -> None:
        # lookups in progress, by name and family
        self._pending: dict[tuple[str, int], asyncio.Future[list[tuple]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._look_up(host, port, family)
        for _, _, _, _, sockaddr in found:
            refuse_closed(str(sockaddr[0]))
        return [
            ResolveResult(
                hostname=host,
                host=str(sockaddr[0]),
                port=port,
                family=family_,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for family_, _, protocol, _, sockaddr in found
        ]

    async def _look_up(self, host: str, port: int, family: int) -> list[tuple]:
        """Look the name up.  Concurrent calls for the same name share one lookup and one thread."""
        key = host, family
        if key not in self._pending:
            loop = asyncio.get_running_loop()
            self._pending[key] = loop.run_in_executor(LOOKUPS, lookup, host, port, family)
            self._pending[key].add_done_callback(lambda _: self._pending.pop(key))
        return await asyncio.shield(self._pending[key])

    async def close(self) -> None:
        pass


def lookup(host: str, port: int, family: int) -> list[tuple]:
    try:
        return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    except UnicodeError:  # an empty label, or one that is too long
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None


def checked_socket(info: tuple) -> socket.socket:
    """Create the socket for a connection to the address in `info`, after a last check that also covers literals."""
    family, type_, protocol, _, sockaddr = info
    refuse_closed(str(sockaddr[0]))
    return socket.socket(family, type_, protocol)
