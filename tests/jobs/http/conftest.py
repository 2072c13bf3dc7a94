"""The outbound client against a real server on this machine."""

import pytest

from tests.jobs.attempts import carry_out
from tests.peers.raw import Raw

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-Answer: yes\r\n\r\nthanks"


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8", "::1/128"]


@pytest.fixture
def serve(peer):
    return lambda answer=OK, **fields: peer(Raw, answer, **fields)


def call(uri, secrets=None, method="GET", context=None, **request):
    """Return the result of a stored request, which is not validated again."""
    action = {"type": "Http", "request": {"uri": uri, "method": method, **request}}
    return carry_out([(action, secrets or {})], **(context or {}))[0]
