"""Requests that the outbound client refuses to send, and addresses that it does not call."""

import asyncio
import socket
from threading import Event

import pytest

from jobs.actions import addresses, http, perform
from tests.jobs.attempts import CONTEXT, carry_out
from tests.jobs.http.conftest import call


@pytest.mark.parametrize(
    "uri",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://user@127.0.0.1/",
        "http://user:password@127.0.0.1/",
        "http://@127.0.0.1/",
        "gopher://127.0.0.1/",
    ],
)
def test_malformed_uris_are_refused_without_a_retry(uri):
    outcome = call(uri)

    assert (outcome.succeeded, outcome.may_retry, outcome.status_code) == (False, False, None)
    assert "password" not in outcome.message


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "elsewhere"},
        {"Content-Length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"connection": "keep-alive"},
        {"Proxy-Authorization": "x"},
        {"Metadata-Flavor": "Google"},
        {"X-Line": "a\r\nX-Second: b"},
        {"X-Nul": "a\0b"},
        {"X\r\nX-Second": "b"},
        {"": "b"},
    ],
)
def test_headers_that_a_job_may_not_set_are_refused_before_the_call(serve, headers):
    server = serve()

    outcome = call(server.url, headers=headers)

    assert (outcome.succeeded, outcome.may_retry) == (False, False)
    assert server.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
def test_closed_addresses_are_not_called(serve, settings, host):
    settings.EGRESS_ALLOW = []
    server = serve()

    outcome = call(f"http://{host}:{server.port}/")

    assert not outcome.succeeded
    assert "was not called" in outcome.message
    assert server.requests == []


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "2130706433", "0177.0.0.1"])
def test_closed_addresses_in_other_formats_are_not_called(serve, settings, host):
    settings.EGRESS_ALLOW = []
    server = serve()

    assert not call(f"http://{host}:{server.port}/").succeeded
    assert server.requests == []


def test_name_that_changes_its_address_between_check_and_call_is_not_called_there(serve, settings, monkeypatch):
    """The checked address is the one that is called: the name is looked up once, so there is no second answer."""
    server = serve()
    answers = iter(["127.0.0.1", "10.0.0.1"])
    asked = []

    def rebinding(host, port, family):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr("jobs.actions.addresses.lookup", rebinding)

    assert call(f"http://rebind.example:{server.port}/").succeeded
    assert asked == ["rebind.example"]
    assert server.headers["Host"] == f"rebind.example:{server.port}"


def test_each_call_looks_up_its_name_again(serve, monkeypatch):
    server = serve()
    answers = iter(["127.0.0.1", "10.0.0.1"])
    monkeypatch.setattr(
        "jobs.actions.addresses.lookup",
        lambda host, port, family: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))],
    )

    async def twice():
        async with http.open_session() as session:
            action = {"type": "Http", "request": {"uri": f"http://rebind.example:{server.port}/", "method": "GET"}}
            return [await perform(action, {}, CONTEXT, session) for _ in range(2)]

    first, second = asyncio.run(twice())

    assert first.succeeded
    assert "was not called" in second.message
    assert "10.0.0.1" not in second.message  # addresses of internal names are not shown


def test_slow_name_server_does_not_delay_other_hosts(serve, monkeypatch):
    monkeypatch.setattr(http, "CONNECT_LIMIT_S", 1.0)
    server, is_over = serve(), Event()
    lookup = addresses.lookup
    asked = []

    def hanging(host, port, family):
        asked.append(host)
        if host == "hangs.example":
            is_over.wait(5)
        return lookup("127.0.0.1", port, family)

    monkeypatch.setattr("jobs.actions.addresses.lookup", hanging)
    slow = {"type": "Http", "request": {"uri": f"http://hangs.example:{server.port}/", "method": "GET"}}
    fast = {"type": "Http", "request": {"uri": f"http://answers.example:{server.port}/", "method": "GET"}}

    *hung, fast_outcome = carry_out([(slow, {})] * 300 + [(fast, {})])
    is_over.set()

    assert fast_outcome.succeeded
    assert not any(outcome.succeeded for outcome in hung)
    assert asked == ["hangs.example", "answers.example"]
