"""Formats of one closed address, and names that lead to it: in a saved job, in a call, and in a redirect.

A job can only be saved with a plain name or address.  A closed address is refused when the job is saved; the address
of a name is checked at each call.
"""

import re
import socket
from contextlib import ExitStack, suppress
from threading import Thread

import pytest

from api.errors import Invalid
from jobs.actions import addresses, documents
from tests.jobs.attempts import carry_out
from tests.peers.server import Answer, Server

# Each host with True if it is a plain name or address
HOSTS = {
    # the usual format, and names of the address
    "127.0.0.2": True,
    "localhost": True,
    "LOCALHOST": True,
    "LocalHost": True,
    "localhost.": True,
    "rebound.example": True,
    "Rebound.EXAMPLE.": True,
    "127.0.0.2.rebound.example": True,
    "0x7f000002.rebound.example": True,
    # decimal, octal, hexadecimal, and mixtures
    "2130706434": False,
    "017700000002": False,
    "0x7f000002": False,
    "0X7F000002": False,
    "0x7F.0x0.0x0.0x2": False,
    "0177.0.0.2": False,
    "0177.0x0.0.02": False,
    "0x7f.0.0.2": False,
    "127.0.0.0x2": False,
    "127.0.0.02": False,
    "127.0.0.002": False,
    "127.000.000.002": False,
    "6425673730": False,  # larger by 2 ** 32
    "0x17f000002": False,
    "127.0.0.258": False,
    "383.0.0.2": False,
    "0b1111111.0.0.2": False,
    "+127.0.0.2": False,
    "-127.0.0.2": False,
    # short
    "127.2": False,
    "127.0.2": False,
    "127.0x2": False,
    "0": False,
    "0.0.0.0": True,
    "127.0.0.2.0": False,
    # trailing dots and empty labels
    "127.0.0.2.": False,
    "2130706434.": False,
    "127.0.0.2..": False,
    "127..0.2": False,
    ".127.0.0.2": False,
    "127.0.0.2.rebound..example": False,
    ".": False,
    "..": False,
    "": False,
    # IPv6, wrapped IPv4, zones
    "[::1]": True,
    "[::]": True,
    "[0:0:0:0:0:0:0:1]": True,
    "[0000:0000:0000:0000:0000:0000:0000:0001]": True,
    "[::127.0.0.2]": True,
    "[::7f00:2]": True,
    "[::ffff:127.0.0.2]": True,
    "[::FFFF:127.0.0.2]": True,
    "[::ffff:7f00:2]": True,
    "[0:0:0:0:0:ffff:7f00:0002]": True,
    "[::ffff:0:127.0.0.2]": True,  # SIIT
    "[64:ff9b::7f00:2]": True,  # NAT64
    "[64:ff9b::127.0.0.2]": True,
    "[64:ff9b:1::7f00:2]": True,
    "[2002:7f00:2::]": True,  # 6to4
    "[2001:0:7f00:2::]": True,  # Teredo
    "[fe80::1]": True,
    "[fe80::1%lo]": False,
    "[fe80::1%25lo]": False,
    "[::1%25lo]": False,
    "[::ffff:127.0.0.2%251]": False,
    "[127.0.0.2]": False,
    "[2130706434]": False,
    "[v1.127.0.0.2]": False,
    "[::ffff:127.0.0.02]": False,
    "[::ffff:0x7f.0.0.2]": False,
    "::ffff:7f00:2": False,
    "[::1": False,
    "[::1]evil": False,
    "[::1].rebound.example": False,
    "[]": False,
    "[::1][::1]": False,
    # user info
    "user@127.0.0.2": False,
    "user:password@127.0.0.2": False,
    "@127.0.0.2": False,
    ":@127.0.0.2": False,
    "8.8.8.8@127.0.0.2": False,
    "8.8.8.8:80@127.0.0.2": False,
    "a@b@127.0.0.2": False,
    "8.8.8.8%40127.0.0.2": False,
    # backslashes, percent signs, spaces, control characters
    "8.8.8.8\\@127.0.0.2": False,
    "127.0.0.2\\.example": False,
    "127.0.0.2\\": False,
    "\\127.0.0.2": False,
    "%31%32%37.0.0.2": False,
    "127%2e0%2e0%2e2": False,
    "127.0.0.2%00": False,
    "127.0.0.2%20": False,
    "127.0.0.2%2f": False,
    "127.0.0.2%23.example": False,
    " 127.0.0.2": False,
    "127.0.0.2 ": False,
    "127.0.0.2\t": False,
    "127.\n0.0.2": False,
    "127.0.0.2\r\n": False,
    "127.0.0.2\0.example": False,
    "\x01127.0.0.2": False,
    "\ufeff127.0.0.2": False,
    "127.0.0.2\u200b": False,
    "127\u00ad.0.0.2": False,
    # other digits and dots, international names
    "１２７.０.０.２": False,
    "①②⑦.⓪.⓪.②": False,
    "١٢٧.٠.٠.٢": False,
    "127。0。0。2": False,
    "127．0．0．2": False,
    "ⓛocalhost": False,
    "ｌｏｃａｌｈｏｓｔ": False,
    "lOCALHOſT": False,
    "xn--exmple-cua.example": True,  # no such name
    "xn--127-.0.0.2": False,
    "xn--.example": False,
    "xn--0.example": True,  # punycode of nothing
    "xn--a-ecp.ru": True,
    "xn--ls8h.example": True,
    "XN--EXMPLE-CUA.example": True,
    # characters that no name contains
    "127.0.0.2;.example": False,
    "127.0.0.2,.example": False,
    "127.0.0.2&.example": False,
    "127.0.0.2=": False,
    "*.0.0.2": False,
    "127.0.0.2'": False,
    "{127.0.0.2}": False,
    "127.0.0.2|": False,
    "-.example": False,
    "a" * 64 + ".example": False,
    "a." * 130: False,
}
URIS = {
    **{f"http://{host}:{{port}}/": is_plain for host, is_plain in HOSTS.items()},
    # the port
    "http://127.0.0.2:+{port}/": False,
    "http://127.0.0.2:-{port}/": False,
    "http://127.0.0.2:0/": False,
    "http://127.0.0.2:65536/": False,
    "http://127.0.0.2:{port}:80/": False,
    "http://127.0.0.2:80:{port}/": False,
    "http://127.0.0.2:{port}x/": False,
    "http://127.0.0.2:８０/": False,
    "http://127.0.0.2: {port}/": False,
    "http://127.0.0.2:{port}\\/": False,
    "http://127.0.0.2:{port}\\@8.8.8.8/": False,
    "http://127.0.0.2:0{port}/": True,
    # the scheme and its separator
    "HTTP://127.0.0.2:{port}/": True,
    "hTtP://127.0.0.2:{port}/": True,
    "http:127.0.0.2:{port}/": False,
    "http:/127.0.0.2:{port}/": False,
    "http:///127.0.0.2:{port}/": False,
    "http:////127.0.0.2:{port}/": False,
    "http:\\\\127.0.0.2:{port}/": False,
    "http:/\\127.0.0.2:{port}/": False,
    "http://\\127.0.0.2:{port}/": False,
    "\thttp://127.0.0.2:{port}/": False,
    " http://127.0.0.2:{port}/": False,
    "ht\ntp://127.0.0.2:{port}/": False,
    "//127.0.0.2:{port}/": False,
    "127.0.0.2:{port}": False,
    "url:http://127.0.0.2:{port}/": False,
    "ftp://127.0.0.2:{port}/": False,
    "file:///etc/passwd": False,
    "gopher://127.0.0.2:{port}/": False,
    "ws://127.0.0.2:{port}/": False,
    "unix:///tmp/socket": False,
    "data:,x": False,
    "javascript:x": False,
    "": False,
    # where the host ends
    "http://127.0.0.2:{port}?x": True,
    "http://127.0.0.2:{port}#x": True,
    "http://127.0.0.2:{port}?@8.8.8.8/": True,
    "http://127.0.0.2:{port}#@8.8.8.8/": True,
    "http://127.0.0.2:{port}/@8.8.8.8": True,
    "http://127.0.0.2:{port};@8.8.8.8/": False,
}


class ClosedServer:
    """A server at the closed address, and at the other loopback address that some forms stand for."""

    def __init__(self, stack: ExitStack):
        self.connections: list[tuple] = []
        listening = stack.enter_context(socket.create_server(("127.0.0.2", 0)))
        self.port = listening.getsockname()[1]
        Thread(target=self._accept, args=(listening,), daemon=True).start()
        with suppress(OSError):  # in use, or no such address on this machine
            listening = stack.enter_context(socket.create_server(("::1", self.port), family=socket.AF_INET6))
            Thread(target=self._accept, args=(listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, client = listening.accept()
                self.connections.append(client)
                connection.close()


@pytest.fixture(scope="module")
def closed_server():
    with ExitStack() as stack:
        yield ClosedServer(stack)


@pytest.fixture(autouse=True)
def names(monkeypatch):
    """Resolve rebound.example and its subdomains to the closed address, and no other name of a test domain."""
    real = addresses.lookup

    def lookup(host, port, family):
        name = host.lower().removesuffix(".")
        if name.endswith("rebound.example"):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", port))]
        if name.endswith((".example", ".invalid")):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return real(host, port, family)

    monkeypatch.setattr(addresses, "lookup", lookup)


def document(uri: str) -> dict:
    return {"type": "Http", "request": {"uri": uri, "method": "GET", "followRedirects": True}}


def can_be_saved(form: str) -> bool:
    try:
        documents.parse(document(form.replace("{port}", "8080")))
    except Invalid as error:
        assert error.path == "action.request.uri"
        return False
    return True


@pytest.mark.parametrize("form, is_plain", URIS.items())
def test_job_can_be_saved_with_plain_names_and_addresses_only(form, is_plain, settings):
    settings.EGRESS_ALLOW = ["0.0.0.0/0", "::/0"]

    assert can_be_saved(form) is is_plain


@pytest.mark.parametrize("form, is_plain", URIS.items())
def test_job_cannot_be_saved_with_a_closed_address(form, is_plain, settings):
    settings.EGRESS_ALLOW = []
    is_name = re.search(r"localhost|\.example\b|xn--", form, re.IGNORECASE)

    assert can_be_saved(form) is (is_plain and bool(is_name))


@pytest.mark.parametrize("form", URIS)
def test_call_never_reaches_a_closed_address(closed_server, form, settings):
    settings.EGRESS_ALLOW = []

    (outcome,) = carry_out([(document(form.replace("{port}", str(closed_server.port))), {})])

    assert (outcome.succeeded, outcome.status_code) == (False, None)
    assert "No connection" not in outcome.message  # no connection was attempted
    assert outcome.may_retry is URIS[form]  # an address that is not plain fails without a retry
    assert closed_server.connections == []


class Redirecting(Server):
    """A server that redirects every request to the same address."""

    location: bytes

    def answer(self, call):
        return Answer(302, {"Location": self.location.decode("latin-1")}, "")


@pytest.fixture(scope="module")
def redirecting():
    with Redirecting() as server:
        yield server


@pytest.mark.parametrize("form", URIS)
def test_redirect_never_reaches_a_closed_address(closed_server, redirecting, form, settings):
    settings.EGRESS_ALLOW = ["127.0.0.1/32"]
    redirecting.location = form.replace("{port}", str(closed_server.port)).encode()

    (outcome,) = carry_out([(document(redirecting.url), {})])

    assert not outcome.succeeded
    assert closed_server.connections == []
