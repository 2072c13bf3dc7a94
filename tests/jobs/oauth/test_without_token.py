"""An authority that issues no token: the attempt fails with its reason."""

import time

import pytest

from jobs.actions import http, oauth
from tests.jobs.attempts import attempt
from tests.jobs.oauth.tokens import SECRET, FixedResponse, document, token_of
from tests.peers.oauth import refusal
from tests.peers.server import Answer


def test_refused_token_fails_the_attempt_with_the_reason_of_the_authority(issuer, protected):
    outcome = attempt(document(protected.url, secret="wrong secret"))

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, None, True)
    assert outcome.message == (
        "Authority '127.0.0.1' refused a token with the error 'invalid_client': "
        "the client secret is not the one of this client."
    )
    assert protected.calls == []


@pytest.mark.parametrize(
    "answer, message",
    [
        (refusal(400, "invalid_scope", "one\r\ntwo\x1b[31m\tthree"), "the error 'invalid_scope': one two [31m three."),
        (refusal(400, "invalid_scope", "x" * 5000), f"the error 'invalid_scope': {'x' * 200}…."),
        (refusal(400, "invalid_client", SECRET), "the error 'invalid_client': ********."),
        (refusal(400, "invalid_client", "it+" + "the+client%27s+secret+%26+more"), "'invalid_client': it+********."),
        (refusal(400, SECRET, "x"), "the error '********': x."),
        (refusal(400, "invalid_client", "x" * 190 + SECRET), f"'invalid_client': {'x' * 190}********."),
        (refusal(400, "two\nlines", "x"), "answered 'Bad Request' without a token that can be used."),
        (Answer(400, body='{"error": {"code": 1}}'), "answered 'Bad Request' without a token that can be used."),
        (Answer(500, body="<html>"), "answered 'Internal Server Error' without a token that can be used."),
        (Answer(302, {"Location": "/elsewhere"}), "answered 'Found' without a token that can be used."),
        (Answer(201, body='{"access_token": "x"}'), "answered 'Created' without a token that can be used."),
        (Answer(body=""), "answered 'OK' without a token that can be used."),
        (Answer(body="null"), "answered 'OK' without a token that can be used."),
        (Answer(body='["access_token"]'), "answered 'OK' without a token that can be used."),
        (Answer(body="[" * 50_000), "answered 'OK' without a token that can be used."),
        (Answer(body="{}"), "answered 'OK' without a token that can be used."),
        (Answer(body='{"access_token": null}'), "answered 'OK' without a token that can be used."),
        (Answer(body='{"access_token": ["a"]}'), "answered 'OK' without a token that can be used."),
        (token_of(""), "answered 'OK' without a token that can be used."),
        (token_of("a b"), "answered 'OK' without a token that can be used."),
        (token_of("a\r\nX-Injected: 1"), "answered 'OK' without a token that can be used."),
        (token_of("tökén"), "answered 'OK' without a token that can be used."),
        (token_of("x" * 20_000), "answered 'OK' without a token that can be used."),
        (token_of("x" * 100_000), "answered 'OK' without a token that can be used."),
        (token_of(token_type="mac"), "answered 'OK' without a token that can be used."),
        (token_of(expires_in="soon"), "answered 'OK' without a token that can be used."),
        (token_of(expires_in=True), "answered 'OK' without a token that can be used."),
        (token_of(expires_in=[1]), "answered 'OK' without a token that can be used."),
        (Answer(body='{"access_token": "x", "expires_in": NaN}'), "answered 'OK' without a token that can be used."),
    ],
)
def test_response_without_a_usable_token_fails_the_attempt(peer, settings, target, answer, message):
    issuer = peer(FixedResponse, answer)
    settings.OAUTH_AUTHORITY = issuer.url

    outcome = attempt(document(target.url))

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, None, True)
    assert outcome.message.startswith("Authority '127.0.0.1' ")
    assert outcome.message.endswith(message)
    assert SECRET not in f"{outcome}"
    assert target.calls == []


@pytest.mark.parametrize("type_", ["Bearer", "bearer", "BEARER", None])
def test_the_type_of_a_token_is_read_in_any_case(peer, settings, target, type_):
    settings.OAUTH_AUTHORITY = peer(FixedResponse, token_of(token_type=type_)).url

    assert attempt(document(target.url)).succeeded
    assert target.calls[0].headers["Authorization"] == "Bearer a-token"


def test_retry_after_of_an_authority_delays_the_retry(peer, settings, target):
    settings.OAUTH_AUTHORITY = peer(FixedResponse, Answer(429, {"Retry-After": "70"})).url

    assert attempt(document(target.url)).retry_after.total_seconds() == 70


def test_authority_at_a_closed_address_is_not_called(issuer, target, settings):
    settings.EGRESS_ALLOW = []

    outcome = attempt(document("http://localhost/"))

    assert outcome.message.startswith("There is no token for the call: Host '127.0.0.1' was not called")
    assert issuer.calls == []


def test_authority_that_does_not_respond_is_named_in_the_error(peer, settings, target, monkeypatch):
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.2)
    settings.OAUTH_AUTHORITY = peer(FixedResponse, token_of(), pause=5).url

    outcome = attempt(document(target.url))

    assert outcome.message.startswith("There is no token for the call: No complete answer from host '127.0.0.1'")
    assert outcome.may_retry


def test_token_request_and_call_share_one_time_limit(peer, settings, monkeypatch):
    monkeypatch.setattr(oauth, "FLOW_LIMIT_S", 1.0)
    settings.OAUTH_AUTHORITY = peer(FixedResponse, token_of(), pause=0.6).url
    target = peer(FixedResponse, Answer(), pause=0.6)
    started = time.monotonic()

    outcome = attempt(document(target.url))

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert "tokens included" in outcome.message
    assert time.monotonic() - started < 1.5
