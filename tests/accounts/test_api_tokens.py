from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.fields import rendered
from accounts.models import ApiToken, Role


def test_the_text_of_a_token_is_shown_once_and_signs_in(api, api_of):
    issued = api.post("/api/tokens", {"name": "ci"})

    assert (issued.status_code, issued["Cache-Control"]) == (201, "no-store")
    text = issued.json()["token"]
    assert api_of(text).get("/api/jobs").status_code == 200
    listed = api.get("/api/tokens")
    assert [token["name"] for token in listed.json()["value"]] == ["tests", "ci"]
    assert text not in listed.content.decode()
    assert ApiToken.objects.get(name="ci").digest not in listed.content.decode()


def test_tokens_of_others_are_neither_listed_nor_revoked(api, make_user):
    theirs, _ = ApiToken.objects.issue(make_user("bob"), "his")

    assert [token["name"] for token in api.get("/api/tokens").json()["value"]] == ["tests"]
    assert api.delete(f"/api/tokens/{theirs.pk}").status_code == 404
    assert ApiToken.objects.filter(pk=theirs.pk).exists()


def test_a_revoked_token_is_gone(api, owner, api_of):
    token, text = ApiToken.objects.issue(owner, "lost")

    assert api.delete(f"/api/tokens/{token.pk}").status_code == 204

    assert api_of(text).get("/api/jobs").status_code == 401
    assert api.delete(f"/api/tokens/{token.pk}").status_code == 404


@pytest.mark.parametrize("role", ["reader", "operator"])
def test_a_lesser_token_makes_none_and_revokes_itself_alone(owner, api_of, role):
    other, _ = ApiToken.objects.issue(owner, "other")
    token, text = ApiToken.objects.issue(owner, "mine", role=Role[role.upper()])
    client = api_of(text)

    assert client.post("/api/tokens", {"name": "more", "role": role}).status_code == 403
    assert client.delete(f"/api/tokens/{other.pk}").status_code == 403
    assert client.delete(f"/api/tokens/{token.pk}").status_code == 204


def test_a_token_makes_none_that_outlives_it(owner, api_of):
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
def test_a_wrong_member_is_refused(api, change, target):
    response = api.post("/api/tokens", {"name": "ci"} | change)

    assert response.status_code == 400
    assert response.json()["error"]["target"] == target
    assert ApiToken.objects.count() == 1


def test_subscriptions_tell_what_the_caller_may_do_there(owner, api_of):
    client = api_of(ApiToken.objects.issue(owner, "watch", role=Role.READER)[1])

    [subscription] = client.get("/api/subscriptions").json()["value"]

    assert (subscription["name"], subscription["role"]) == ("default", "reader")
    assert client.get(f"/api/subscriptions/{subscription['id']}").json() == subscription
