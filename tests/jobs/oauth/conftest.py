"""An authority that issues tokens, a target that accepts only these tokens, and a clock for their lifetime."""

import pytest

from jobs.actions import oauth
from tests.jobs.oauth.tokens import SECRET
from tests.peers.oauth import ProtectedTarget, TokenAuthority


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Start each test without tokens and with its own clock."""
    clock = Clock()
    monkeypatch.setattr(oauth, "TOKENS", oauth.Tokens(clock))
    return clock


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer(peer, settings):
    issuer = peer(TokenAuthority, {"app": SECRET})
    settings.OAUTH_AUTHORITY = issuer.url
    return issuer


@pytest.fixture
def protected(peer, issuer):
    return peer(ProtectedTarget, issuer, audience="https://api.example")
