"""Validation of the authority and the client of a job when it is saved."""

import pytest

from api.errors import Invalid
from jobs.actions import documents
from tests.jobs.attempts import attempt
from tests.jobs.oauth.tokens import document


@pytest.mark.parametrize(
    "member, value",
    [
        ("authority", "http://login.example"),  # the secret would be sent in clear text
        ("authority", "ftp://login.example"),
        ("authority", "login.example"),
        ("authority", ""),
        ("authority", "https://"),
        ("authority", "https://login.example?x="),
        ("authority", "https://login.example/?"),
        ("authority", "https://login.example/#"),
        ("authority", "https://user:pw@login.example"),
        ("authority", "https://login.example\\@evil.example"),
        ("authority", "https://login.example\r\nX: y"),
        ("authority", "https://2130706433"),
        ("tenant", "contoso/../fabrikam"),
        ("tenant", "contoso.example/x?"),
        ("tenant", ".."),
        ("tenant", "a\n"),
        ("tenant", "a%2Fb"),
        ("tenant", ""),
        ("audience", "https://api.example\r\nX: y"),
        ("audience", "a\n"),
        ("clientId", "a\nb"),
    ],
)
def test_grant_with_a_wrong_value_is_refused(member, value):
    with pytest.raises(Invalid) as caught:
        documents.parse(document("https://api.example", **{member: value}))

    assert caught.value.path == f"action.request.authentication.{member}"


def test_an_authority_may_have_a_path(issuer, target, settings):
    settings.OAUTH_AUTHORITY = f"{issuer.url}/deep"

    attempt(document(target.url))

    assert issuer.calls[0].path == "/deep/contoso.example/oauth2/token"
