import base64
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.authentication import WRONG_TOKENS
from accounts.models import ApiToken, Role
from accounts.sign_in_limits import FAILURES_OF_NAME

ADDRESS = "/api/subscriptions"


@pytest.fixture
def frozen_clock():
    """Stop the clock, so that no time window ends while failures are counted."""
    with time_machine.travel("2026-01-01T00:00:10Z", tick=False):
        yield


def basic(text: str) -> dict:
    return {"HTTP_AUTHORIZATION": "Basic " + base64.b64encode(text.encode()).decode()}


def test_token_authenticates(api):
    assert api.get(ADDRESS).status_code == 200


def test_authorization_scheme_ignores_case(token):
    assert APIClient().get(ADDRESS, HTTP_AUTHORIZATION=f"bEaReR   {token}").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("header", [None, "Digest x", "Token x"])
def test_request_without_known_credentials_gets_a_bearer_challenge(header):
    response = APIClient().get(ADDRESS, **({"HTTP_AUTHORIZATION": header} if header else {}))

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="quando"'
    assert response.json()["error"]["code"] == "not_authenticated"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer no-such-token",
        "Bearer two words",
        "Bearer \x00",
        "Bearer é",
        "Bearer " + "x" * 5000,
        "Basic",
        "Basic !",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Basic " + base64.b64encode(b"a\0:b").decode(),
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
    ],
)
def test_unreadable_credentials_are_refused(owner, header):
    response = APIClient().get(ADDRESS, HTTP_AUTHORIZATION=header)

    assert response.status_code == 401
    assert response.json()["error"]["code"] == "authentication_failed"


def test_an_expired_token_is_refused(owner, api_of):
    _, text = ApiToken.objects.issue(owner, "old", expires_at=datetime(2020, 1, 1, tzinfo=UTC))

    assert api_of(text).get(ADDRESS).status_code == 401


def test_a_revoked_token_is_refused_at_once(owner, api_of):
    token, text = ApiToken.objects.issue(owner, "lost")
    client = api_of(text)
    assert client.get(ADDRESS).status_code == 200

    token.delete()

    assert client.get(ADDRESS).status_code == 401


def test_token_of_an_inactive_user_is_refused(owner, api):
    owner.is_active = False
    owner.save()

    assert api.get(ADDRESS).status_code == 401


def test_last_use_of_a_token_is_stored_once_a_minute(api, owner, django_assert_num_queries):
    api.get(ADDRESS)
    token = ApiToken.objects.get(user=owner)
    first = token.last_used_at
    assert timezone.now() - first < timedelta(minutes=1)

    api.get(ADDRESS)
    token.refresh_from_db()
    assert token.last_used_at == first

    ApiToken.objects.update(last_used_at=first - timedelta(minutes=2))
    api.get(ADDRESS)
    token.refresh_from_db()
    assert token.last_used_at > first


def test_user_name_and_password_authenticate(owner):
    assert APIClient().get(ADDRESS, **basic("ada:correct horse")).status_code == 200
    assert APIClient().get(ADDRESS, **basic("ada:wrong")).status_code == 401
    assert APIClient().get(ADDRESS, **basic("nobody:correct horse")).status_code == 401


def test_user_name_with_many_failures_is_refused_even_with_the_right_password(frozen_clock, owner, make_user):
    make_user("bob")
    for _ in range(FAILURES_OF_NAME.most):
        assert APIClient().get(ADDRESS, **basic("ada:wrong")).status_code == 401

    response = APIClient().get(ADDRESS, **basic("ADA:correct horse"))

    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= FAILURES_OF_NAME.window_s
    assert APIClient().get(ADDRESS, **basic("bob:correct horse")).status_code == 200
    assert APIClient(REMOTE_ADDR="203.0.113.9").get(ADDRESS, **basic("ada:correct horse")).status_code == 200


def test_success_resets_the_failures(frozen_clock, owner):
    for _ in range(2):
        for _ in range(FAILURES_OF_NAME.most - 1):
            APIClient().get(ADDRESS, **basic("ada:wrong"))
        assert APIClient().get(ADDRESS, **basic("ada:correct horse")).status_code == 200


def test_ip_address_with_many_failures_is_refused(frozen_clock, owner, token):
    for number in range(WRONG_TOKENS.most):
        APIClient().get(ADDRESS, HTTP_AUTHORIZATION=f"Bearer guess-{number}")

    response = APIClient().get(ADDRESS, HTTP_AUTHORIZATION="Bearer guess")

    assert response.status_code == 429
    assert APIClient(REMOTE_ADDR="203.0.113.9").get(ADDRESS, HTTP_AUTHORIZATION=f"Bearer {token}").status_code == 200


def test_wrong_tokens_do_not_lock_out_others_at_the_same_ip_address(frozen_clock, owner, token):
    for number in range(WRONG_TOKENS.most + 1):
        APIClient().get(ADDRESS, HTTP_AUTHORIZATION=f"Bearer guess-{number}")

    assert APIClient().get(ADDRESS, HTTP_AUTHORIZATION=f"Bearer {token}").status_code == 200


def test_ip_address_cannot_be_forged_by_a_header(frozen_clock, owner):
    for number in range(WRONG_TOKENS.most):
        APIClient().get(ADDRESS, HTTP_AUTHORIZATION="Bearer guess", HTTP_X_FORWARDED_FOR=f"10.0.0.{number}")

    response = APIClient().get(ADDRESS, HTTP_AUTHORIZATION="Bearer guess", HTTP_X_FORWARDED_FOR="10.9.9.9")

    assert response.status_code == 429


def test_browser_session_requires_a_csrf_token_for_writes(owner):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    body = {"name": "from a page"}

    assert browser.get(ADDRESS).status_code == 200
    refused = browser.post("/api/tokens", body, content_type="application/json")
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["error"]["message"]
    assert not ApiToken.objects.exists()

    browser.cookies["csrftoken"] = "a" * 32
    accepted = browser.post("/api/tokens", body, content_type="application/json", headers={"X-CSRFToken": "a" * 32})
    assert accepted.status_code == 201


def test_requests_above_the_limit_are_refused_for_the_rest_of_the_minute(
    frozen_clock, api, make_user, api_of, settings
):
    settings.API_REQUESTS_PER_MINUTE = 3

    *allowed, refused = [api.get(ADDRESS) for _ in range(4)]

    assert [response.status_code for response in allowed] == [200, 200, 200]
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "throttled")
    assert refused["Retry-After"] == "50"
    other = ApiToken.objects.issue(make_user("bob"), "his", role=Role.READER)[1]
    assert api_of(other).get(ADDRESS).status_code == 200


def test_request_limit_counts_all_tokens_of_an_account(frozen_clock, api, owner, api_of, settings):
    settings.API_REQUESTS_PER_MINUTE = 3
    second = api_of(ApiToken.objects.issue(owner, "second")[1])
    password = basic("ada:correct horse")

    responses = [api.get(ADDRESS), second.get(ADDRESS), APIClient().get(ADDRESS, **password), second.get(ADDRESS)]

    assert [response.status_code for response in responses] == [200, 200, 200, 429]
