from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.errors import TooManyTokens
from accounts.models import MOST_TOKENS, ApiToken, Role
from api.fields import rendered
from tests.racing import in_threads


def test_token_text_is_returned_once_and_authenticates(api, api_of):
    issued = api.post("/api/tokens", {"name": "ci"})

    assert (issued.status_code, issued["Cache-Control"]) == (201, "no-store")
    text = issued.json()["token"]
    assert api_of(text).get("/api/jobs").status_code == 200
    listed = api.get("/api/tokens")
    assert [token["name"] for token in listed.json()["value"]] == ["tests", "ci"]
    assert text not in listed.content.decode()
    assert ApiToken.objects.get(name="ci").digest not in listed.content.decode()


def test_tokens_of_other_users_are_not_found(api, make_user):
    token_of_other_user, _ = ApiToken.objects.issue(make_user("bob"), "his")

    assert [token["name"] for token in api.get("/api/tokens").json()["value"]] == ["tests"]
    assert api.delete(f"/api/tokens/{token_of_other_user.pk}").status_code == 404
    assert ApiToken.objects.filter(pk=token_of_other_user.pk).exists()


def test_revoked_token_is_refused(api, owner, api_of):
    token, text = ApiToken.objects.issue(owner, "lost")

    assert api.delete(f"/api/tokens/{token.pk}").status_code == 204

    assert api_of(text).get("/api/jobs").status_code == 401
    assert api.delete(f"/api/tokens/{token.pk}").status_code == 404


@pytest.mark.parametrize("role", ["reader", "operator"])
def test_token_of_a_lower_role_can_only_revoke_itself(owner, api_of, role):
    other, _ = ApiToken.objects.issue(owner, "other")
    token, text = ApiToken.objects.issue(owner, "mine", role=Role[role.upper()])
    client = api_of(text)

    assert client.post("/api/tokens", {"name": "more", "role": role}).status_code == 403
    assert client.delete(f"/api/tokens/{other.pk}").status_code == 403
    assert client.delete(f"/api/tokens/{token.pk}").status_code == 204


def test_token_cannot_create_a_token_that_expires_later(owner, api_of):
    end = timezone.now() + timedelta(days=1)
    client = api_of(ApiToken.objects.issue(owner, "short", expires_at=end)[1])

    for expires_at in (None, rendered(end + timedelta(seconds=1))):
        assert client.post("/api/tokens", {"name": "long", "expiresAt": expires_at}).status_code == 403
    assert client.post("/api/tokens", {"name": "same", "expiresAt": rendered(end)}).status_code == 201


@pytest.mark.parametrize(
    "change, target",
    [
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": 5}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"role": "god"}, "role"),
        ({"role": ["reader"]}, "role"),
        ({"role": 3}, "role"),
        ({"expiresAt": "soon"}, "expiresAt"),
        ({"expiresAt": "2999-01-01"}, "expiresAt"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
    ],
)
def test_invalid_token_member_is_refused_by_name(api, change, target):
    response = api.post("/api/tokens", {"name": "ci"} | change)

    assert response.status_code == 400
    assert response.json()["error"]["target"] == target
    assert ApiToken.objects.count() == 1


def test_subscriptions_have_the_role_of_the_caller(owner, api_of):
    client = api_of(ApiToken.objects.issue(owner, "watch", role=Role.READER)[1])

    [subscription] = client.get("/api/subscriptions").json()["value"]

    assert (subscription["name"], subscription["role"]) == ("default", "reader")
    assert client.get(f"/api/subscriptions/{subscription['id']}").json() == subscription


# The limit of tokens


@pytest.fixture
def full_account_token(owner):
    """Create the maximum number of tokens for the owner; return the text of the first one."""
    text = ApiToken.objects.issue(owner, "first")[1]
    ApiToken.objects.bulk_create(
        ApiToken(user=owner, name=f"ci-{number}", prefix="x" * 8, digest=f"{number:064}")
        for number in range(MOST_TOKENS - 1)
    )
    return text


def test_number_of_tokens_of_an_account_is_limited(full_account_token, owner, api_of):
    refused = api_of(full_account_token).post("/api/tokens", {"name": "one more"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "too_many")
    assert "at most 100 tokens" in refused.json()["error"]["message"]
    assert owner.apitoken_set.count() == MOST_TOKENS


def test_revoked_token_does_not_count(full_account_token, owner, api_of):
    api_of(full_account_token).delete(f"/api/tokens/{owner.apitoken_set.last().pk}")

    assert api_of(full_account_token).post("/api/tokens", {"name": "one more"}).status_code == 201


def test_new_token_replaces_the_one_that_expired_first(full_account_token, owner, api_of):
    ended = owner.apitoken_set.order_by("pk")[7:9]
    for token, days in zip(ended, (1, 9), strict=True):
        ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(days=days))

    assert api_of(full_account_token).post("/api/tokens", {"name": "one more"}).status_code == 201
    assert owner.apitoken_set.filter(expires_at__lt=timezone.now()).get() == ended[0]
    assert owner.apitoken_set.count() == MOST_TOKENS


def test_tokens_of_other_users_do_not_count(full_account_token, make_user):
    assert ApiToken.objects.issue(make_user("bob"), "his")


def test_pages_and_command_refuse_too_many_tokens(full_account_token, owner, client):
    client.force_login(owner)

    page = client.post("/account/tokens/", {"name": "one more", "role": "3"})
    administration = client.post("/admin/accounts/apitoken/add/", {"name": "one more", "role": "3"}, follow=True)

    assert (page.status_code, "An account has at most 100 tokens; revoke one first" in page.text) == (200, True)
    assert "An account has at most 100 tokens; revoke one first." in administration.text
    with pytest.raises(CommandError, match="at most 100 tokens"):
        call_command("create_token", "ada", stdout=StringIO())
    assert owner.apitoken_set.count() == MOST_TOKENS


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_do_not_exceed_the_limit_of_tokens(full_account_token, owner):
    owner.apitoken_set.filter(name="ci-0").delete()

    def issue(name: str) -> bool:
        try:
            return bool(ApiToken.objects.issue(owner, name))
        except TooManyTokens:
            return False

    assert sorted(in_threads(issue, "one", "two", "three")) == [False, False, True]
    assert owner.apitoken_set.count() == MOST_TOKENS
