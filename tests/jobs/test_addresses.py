"""Which addresses outbound calls may reach, in every format."""

import asyncio
import socket
from ipaddress import ip_address, ip_network

import pytest

from jobs.actions import addresses
from jobs.actions.addresses import CheckedResolver, ClosedAddress, checked_socket, is_open, refuse_closed


@pytest.fixture(autouse=True)
def allow_no_closed_network(settings):
    settings.EGRESS_ALLOW = []


PUBLIC = ["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "2606:4700::1111", "2a00:1450::1"]
CLOSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",  # carriers
    "127.0.0.1",
    "127.255.255.254",
    "169.254.1.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",  # multicast, which is_global calls global
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",  # IPv4-compatible loopback
    "::808:808",  # IPv4-compatible, even of a public address
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",  # NAT64 of loopback
    "64:ff9b::808:808",  # NAT64 of a public address: the gateway decides what it reaches
    "64:ff9b:1::808:808",
    "100::1",
    "2001::1",  # Teredo
    "2001:db8::1",
    "2002:7f00:1::",  # 6to4 of loopback
    "2002:808:808::",  # 6to4 of a public address
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",  # site-local
    "ff02::1",
    "fe80::1%eth0",
    "2606:4700::1111%eth0",  # a zone makes any address local
]
NEVER = ["169.254.169.254", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "169.254.170.2"]
EVERYTHING = [ip_network("0.0.0.0/0"), ip_network("::/0")]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_open(address):
    assert is_open(ip_address(address))


@pytest.mark.parametrize("address", CLOSED + NEVER)
def test_other_addresses_are_closed(address):
    assert not is_open(ip_address(address))


def test_ipv4_mapped_address_is_treated_like_its_ipv4_address():
    assert is_open(ip_address("::ffff:8.8.8.8"))
    assert is_open(ip_address("::ffff:10.1.2.3"), [ip_network("10.0.0.0/8")])


@pytest.mark.parametrize("address", ["10.1.2.3", "fd00::5"])
def test_networks_in_egress_allow_are_open(address):
    assert is_open(ip_address(address), [ip_network("10.0.0.0/8"), ip_network("fd00::/8")])


@pytest.mark.parametrize(
    "address",
    [
        *NEVER,
        "::ffff:169.254.169.254",
        "::a9fe:a9fe",  # each wraps 169.254.169.254
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2001:0:a9fe:a9fe::1",
    ],
)
def test_metadata_services_stay_closed_even_when_all_networks_are_allowed(address):
    assert not is_open(ip_address(address), EVERYTHING)


def test_allowed_nat64_gateway_does_not_open_the_closed_addresses_behind_it():
    nat64 = [ip_network("64:ff9b::/96")]

    assert is_open(ip_address("64:ff9b::808:808"), nat64)
    assert not is_open(ip_address("64:ff9b::a00:1"), nat64)


def test_loopback_can_be_allowed():
    assert is_open(ip_address("127.0.0.1"), [ip_network("127.0.0.0/8")])
    assert is_open(ip_address("::1"), [ip_network("::1/128")])


def test_egress_allow_lists_networks(settings):
    settings.EGRESS_ALLOW = ["10.0.0.0/8"]

    refuse_closed("10.1.2.3")
    with pytest.raises(ClosedAddress, match=r"192\.168\.0\.1 is not public"):
        refuse_closed("192.168.0.1")


def test_text_that_is_not_an_address_is_closed():
    with pytest.raises(ClosedAddress):
        refuse_closed("example.com")


def resolve(host):
    return asyncio.run(CheckedResolver().resolve(host, 80))


def answers(*found):
    return lambda host, port, family: [
        (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
        for address in found
    ]


def test_name_resolves_to_checked_addresses_with_its_host_name(monkeypatch):
    monkeypatch.setattr(addresses, "lookup", answers("8.8.8.8", "2606:4700::1111"))

    found = resolve("example.com")

    assert [(answer["hostname"], answer["host"]) for answer in found] == [
        ("example.com", "8.8.8.8"),
        ("example.com", "2606:4700::1111"),
    ]


def test_name_with_one_closed_address_is_closed(monkeypatch):
    monkeypatch.setattr(addresses, "lookup", answers("8.8.8.8", "10.0.0.1"))

    with pytest.raises(ClosedAddress, match=r"10\.0\.0\.1"):
        resolve("example.com")


def test_name_is_checked_at_each_lookup(monkeypatch):
    """The first lookup returns a public address, which is used for that call; the next one returns loopback."""
    turns = iter([answers("8.8.8.8"), answers("127.0.0.1")])
    monkeypatch.setattr(addresses, "lookup", lambda *question: next(turns)(*question))

    assert [answer["host"] for answer in resolve("rebound.example")] == ["8.8.8.8"]
    with pytest.raises(ClosedAddress):
        resolve("rebound.example")


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["127.0.0.1", "8.8.8.8"],
        ["8.8.8.8", "::1"],
        ["2606:4700::1111", "::ffff:127.0.0.1"],
        ["8.8.8.8", "64:ff9b::7f00:1"],
        ["8.8.8.8", "2002:7f00:1::"],
        ["8.8.8.8", "169.254.169.254"],
        ["8.8.8.8", "fe80::1%lo"],
        ["8.8.8.8", "0.0.0.0"],
    ],
)
def test_name_with_a_public_and_a_closed_address_is_closed(monkeypatch, found):
    monkeypatch.setattr(addresses, "lookup", answers(*found))

    with pytest.raises(ClosedAddress):
        resolve("mixed.example")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "127.1",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
        "0",
        "017700000001",
        "0x7f000001",
        "127.0.1",
    ],
)
def test_loopback_is_closed_by_all_its_names(host):
    with pytest.raises(ClosedAddress):
        resolve(host)


@pytest.mark.parametrize("host", ["no-such-name.invalid", "a" * 64 + ".example.com", "a..b"])
def test_name_that_cannot_be_resolved_raises_an_os_error(host):
    with pytest.raises(OSError):
        resolve(host)


def test_literal_address_is_checked_when_its_socket_is_created():
    with pytest.raises(ClosedAddress):
        checked_socket((socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80)))

    checked_socket((socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 80))).close()
