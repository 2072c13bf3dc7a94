"""Token requests to an authority, and for how long its token is used again."""

from urllib.parse import parse_qs

import pytest

from jobs.actions import oauth
from tests.jobs.attempts import attempt
from tests.jobs.oauth.tokens import SECRET, FixedResponse, document, token_of
from tests.peers.oauth import TokenAuthority


def test_a_call_is_made_with_a_token_of_the_authority(issuer, protected):
    outcome = attempt(document(f"{protected.url}/hook"))

    assert (outcome.succeeded, outcome.status_code) == (True, 200)
    (asked,) = issuer.calls
    assert (asked.method, asked.path) == ("POST", "/contoso.example/oauth2/token")
    assert parse_qs(asked.body, strict_parsing=True) == {
        "grant_type": ["client_credentials"],
        "client_id": ["app"],
        "client_secret": [SECRET],
        "resource": ["https://api.example"],
    }
    assert protected.calls[0].headers.get_all("Authorization") == [f"Bearer {issuer.issued[0].text}"]


def test_default_audience_is_that_of_the_original_service(issuer, target):
    attempt(document(target.url, audience=None))

    assert issuer.issued[0].resource == "https://management.core.windows.net/"


def test_token_replaces_the_authorization_header_of_the_job(issuer, target):
    attempt(document(target.url, request={"headers": {"authorization": "Basic of the job"}}))

    assert target.calls[0].headers.get_all("Authorization") == [f"Bearer {issuer.issued[0].text}"]


def test_job_may_name_its_own_authority_and_certificate_authority(peer, target, authority):
    issuer = peer(TokenAuthority, {"app": SECRET}, tls=authority.server())
    trusting = {"certificateAuthority": authority.pem}

    assert not attempt(document(target.url, authority=f"{issuer.url}/")).succeeded
    assert attempt(document(target.url, authority=f"{issuer.url}/", request=trusting)).succeeded
    assert [call.path for call in issuer.calls] == ["/contoso.example/oauth2/token"]


# Sharing


def test_a_token_is_used_again(issuer, protected):
    for _ in range(3):
        assert attempt(document(protected.url)).succeeded

    assert len(issuer.calls) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": "fabrikam.example"},
        {"clientId": "other"},
        {"audience": "https://other.example"},
        {"secret": "another"},
    ],
)
def test_token_is_reused_only_for_the_same_grant(issuer, target, other):
    issuer.clients |= {"other": SECRET}
    assert attempt(document(target.url)).succeeded

    outcome = attempt(document(target.url, **other))

    assert len(issuer.calls) == 2
    assert outcome.succeeded is ("secret" not in other)


@pytest.mark.parametrize("life, used_s", [(3600, 3300), (7200, 6900), (600, 540), (10, 9)])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_token_is_used_until_shortly_before_its_end(peer, target, settings, clock, life, used_s, as_text):
    issuer = peer(FixedResponse, token_of(expires_in=str(life) if as_text else life))
    settings.OAUTH_AUTHORITY = issuer.url
    attempt(document(target.url))

    clock.now += used_s - 0.1
    attempt(document(target.url))
    assert len(issuer.calls) == 1

    clock.now += 0.2
    attempt(document(target.url))
    assert len(issuer.calls) == 2


@pytest.mark.parametrize("expiry", [{}, {"expires_in": 0}, {"expires_in": "0"}, {"expires_in": -1}])
def test_token_without_a_lifetime_is_used_once(peer, target, settings, expiry):
    issuer = peer(FixedResponse, token_of(**expiry))
    settings.OAUTH_AUTHORITY = issuer.url

    assert attempt(document(target.url)).succeeded
    assert attempt(document(target.url)).succeeded
    assert len(issuer.calls) == 2


def test_no_token_is_used_for_more_than_a_day(peer, target, settings, clock):
    issuer = peer(FixedResponse, token_of(expires_in=10**15))
    settings.OAUTH_AUTHORITY = issuer.url
    attempt(document(target.url))

    clock.now += 86_400
    attempt(document(target.url))

    assert len(issuer.calls) == 2


def test_number_of_cached_tokens_has_a_limit(issuer, target, monkeypatch):
    monkeypatch.setattr(oauth, "KEPT_LIMIT", 2)
    for tenant in ("a", "b", "a", "c", "a", "b"):  # c replaces b, which was used longer ago than a
        attempt(document(target.url, tenant=tenant))

    assert [token.tenant for token in issuer.issued] == ["a", "b", "c", "b"]
