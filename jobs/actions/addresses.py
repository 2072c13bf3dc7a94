"""Which network addresses outbound calls may reach.

An address is open when it is public, or within the installation's own list (EGRESS_ALLOW).  `ipaddress.is_global`
calls multicast, site-local and every way to wrap an IPv4 address global, so the lists are written out here.  Source:
the IANA registries of special-purpose addresses.
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

# Where clouds hand out credentials to whoever asks: closed even if a list allows it
ALWAYS_CLOSED = {
    ip_address(text)
    for text in (
        *("169.254.169.254", "fd00:ec2::254"),  # AWS, Azure, Google and others
        *("169.254.170.2", "169.254.170.23", "fd00:ec2::23"),  # AWS containers
        *("fd20:ce::254", "168.63.129.16", "100.100.100.200", "192.0.0.192"),  # Google, Azure's host, Alibaba, Oracle
    )
}
NOT_PUBLIC = [
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        # outside 2000::/3 nothing in IPv6 is public, which closes loopback, private, link-local and multicast
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
]
PUBLIC_IPV6 = IPv6Network("2000::/3")
COMPATIBLE = IPv6Network("::/96")
NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))

LOOKUPS = ThreadPoolExecutor(max_workers=256, thread_name_prefix="lookup")  # a name server that hangs takes one of them


class ClosedAddress(Exception):
    """An outbound call would reach an address that is closed to it."""

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


def is_open(address: Address, allow: Sequence[Network] = ()) -> bool:
    """May calls reach `address`?  One that wraps an IPv4 address must be open itself, and so must the wrapped one."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return is_open(address.ipv4_mapped, allow)  # not a wrapper: the same address in another notation
    if address in ALWAYS_CLOSED or getattr(address, "scope_id", None):
        return False
    if not is_public(address) and not any(address in network for network in allow):
        return False
    return all(is_open(inner, allow) for inner in wrapped(address))


def is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return False
    return not any(address in network for network in NOT_PUBLIC)


def wrapped(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses to which a gateway would pass on what is sent to `address`."""
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
    """Looks names up once a call, and answers only when every address is open: what is checked is what is called."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[str, int], asyncio.Future[list[tuple]]] = {}  # by name and family

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._found(host, port, family)
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

    async def _found(self, host: str, port: int, family: int) -> list[tuple]:
        """Calls that need a name while it is being looked up get the same answer, and no thread of their own."""
        key = host, family
        if key not in self._under_way:
            loop = asyncio.get_running_loop()
            self._under_way[key] = loop.run_in_executor(LOOKUPS, lookup, host, port, family)
            self._under_way[key].add_done_callback(lambda _: self._under_way.pop(key))
        return await asyncio.shield(self._under_way[key])

    async def close(self) -> None:
        pass


def lookup(host: str, port: int, family: int) -> list[tuple]:
    try:
        return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is empty or too long
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None


def checked_socket(info: tuple) -> socket.socket:
    """Make the socket for a connection to the address in `info`; the last check before it, also for literals."""
    family, type_, protocol, _, sockaddr = info
    refuse_closed(str(sockaddr[0]))
    return socket.socket(family, type_, protocol)
