"""Every credential of a request, sent by worker processes to peers that check it."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from tests.live.actions.jobs import (
    AUDIENCE,
    CLIENT_SECRET,
    http,
    message,
    request_json,
    wait_for_run,
    with_certificate,
    with_token,
)
from tests.live.installation import VERSION
from tests.peers.oauth import ProtectedTarget, TokenAuthority
from tests.peers.target import Target
from tests.peers.tls import thumbprint
from tests.peers.webhooks import Receiver


def test_basic_authentication_is_sent(target, carry_out):
    run = carry_out(http(target.url, authentication={"type": "Basic", "username": "ada", "password": "pässword: 1"}))

    (call,) = target.calls
    scheme, _, pair = call.headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(pair).decode()) == ("Basic", "ada:pässword: 1")
    assert run["state"] == "succeeded"


@pytest.fixture
def strict_target(peer, authority):
    """A target that accepts only callers with a certificate of the authority."""
    return peer(Target, tls=authority.server(demands_certificate=True))


@pytest.mark.parametrize("password", ["opensesame", ""])
def test_client_certificate_is_sent(password, strict_target, authority, live, make):
    certificate = authority.client("nightly backup", password)
    job = make(with_certificate(strict_target, authority, certificate))

    run = job.run()
    shown = request_json(live, "GET", job.path + VERSION)["properties"]["action"]["request"]["authentication"]

    assert run["state"] == "succeeded", message(run)
    (call,) = strict_target.calls
    assert thumbprint(call.certificate) == certificate.thumbprint == shown["certificateThumbprint"]
    assert shown["certificateSubjectName"] == certificate.subject
    assert datetime.fromisoformat(shown["certificateExpirationDate"]) == certificate.expires_at
    assert job.read()["warnings"] == []


def test_target_that_requires_a_certificate_refuses_a_job_without_one(strict_target, authority, carry_out):
    run = carry_out(http(strict_target.url, certificateAuthority=authority.pem))

    assert run["state"] == "failed"
    assert strict_target.calls == []
    assert strict_target.refused


@pytest.mark.parametrize(
    "days, warning, state",
    [(29, "certificate_expires_soon", "succeeded"), (-1, "certificate_expired", "failed")],
)
def test_expiring_certificate_has_a_warning(days, warning, state, strict_target, authority, make):
    expires_at = datetime.now(UTC) + timedelta(days=days)
    job = make(with_certificate(strict_target, authority, authority.client(expires_at=expires_at)))

    assert [found["code"] for found in job.read()["warnings"]] == [warning]
    assert job.run()["state"] == state


def test_jobs_share_a_token_until_it_is_refused(tokens, peer, carry_out):
    protected = peer(ProtectedTarget, tokens, audience=AUDIENCE)
    path = "/contoso/oauth2/token"

    assert [carry_out(with_token(protected, "contoso"))["state"] for _ in range(2)] == ["succeeded"] * 2
    assert len(tokens.calls_to(path)) == 1

    tokens.revoke()
    run = carry_out(with_token(protected, "contoso"))

    assert (run["state"], len(run["attempts"])) == ("succeeded", 1)
    assert len(tokens.calls_to(path)) == 2
    sent = [call.headers["Authorization"] for call in protected.calls]
    assert sent[0] == sent[1] == sent[2] != sent[3]
    assert len(sent) == 4


def test_token_that_is_refused_again_is_renewed_only_once(tokens, peer, carry_out):
    protected = peer(ProtectedTarget, tokens, audience="https://another.example.org/")

    run = carry_out(with_token(protected, "fabrikam"))

    assert (run["state"], run["attempts"][0]["statusCode"]) == ("failed", 401)
    assert len(tokens.calls_to("/fabrikam/oauth2/token")) == 2
    assert len(protected.calls) == 2


def test_target_is_not_called_without_a_token(tokens, peer, carry_out):
    protected = peer(ProtectedTarget, tokens)

    run = carry_out(with_token(protected, "contoso", secret="a wrong secret"))

    assert run["state"] == "failed"
    assert "invalid_client" in message(run)
    assert "a wrong secret" not in str(run)
    assert protected.calls == []


def test_job_can_name_its_own_token_authority(tokens, peer, authority, carry_out):
    own = peer(TokenAuthority, {"quando": CLIENT_SECRET}, tls=authority.server())
    protected = peer(ProtectedTarget, own, audience=AUDIENCE, tls=authority.server())
    action = with_token(protected, "tailspin")
    action["request"]["authentication"]["authority"] = own.url
    action["request"]["certificateAuthority"] = authority.pem

    run = carry_out(action)

    assert run["state"] == "succeeded", message(run)
    assert [token.tenant for token in own.issued] == ["tailspin"]
    assert tokens.calls_to("/tailspin/oauth2/token") == []


def test_requests_are_signed_with_overlapping_secrets(peer, make):
    receiver = peer(Receiver)
    job = make(http(receiver.url, body='{"hello": "wörld"}'))
    assert job.run()["state"] == "failed"  # the job is not signed yet

    first = job.new_secret("PT1H")
    receiver.secrets = [first]
    assert job.run()["state"] == "succeeded"

    second = job.new_secret("PT1H")
    receiver.secrets = [first, second]
    run = job.run()
    assert receiver.verified_with(receiver.calls[-1]) == [first, second]
    assert receiver.calls[-1].headers["webhook-id"] == run["id"]

    third = job.new_secret("PT0S")
    receiver.secrets = [first, second, third]
    assert job.run()["state"] == "succeeded"
    assert receiver.verified_with(receiver.calls[-1]) == [third]

    request_json(job.live, "DELETE", f"{job.url}/signing-secret")
    job.run()
    assert receiver.calls[-1].headers["webhook-signature"] is None


def test_requests_of_error_actions_are_signed(target, peer, live, make):
    receiver = peer(Receiver)
    job = make(http(f"{target.url}/status/500") | {"errorAction": http(receiver.url, body="it failed")})
    receiver.secrets = [job.new_secret("PT0S")]

    error_run = wait_for_run(live, job.run()["errorRun"])

    assert error_run["state"] == "succeeded", message(error_run)
