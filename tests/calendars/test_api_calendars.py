"""/api/calendars."""

import pytest

from accounts.models import ApiToken, Role, Subscription
from calendars import sharing
from calendars.models import Calendar, Event, Share


@pytest.fixture
def bob(make_user):
    return make_user("bob", Role.READER)


@pytest.fixture
def api_of_bob(api_of, bob):
    return api_of(ApiToken.objects.issue(bob, "tests")[1])


def test_a_calendar_is_created_and_answered_whole(api, bob):
    body = {"name": "Releases", "hue": "moss", "shares": [{"user": "bob", "role": "operator"}]}

    response = api.post("/api/calendars", body)

    assert response.status_code == 201, response.content
    calendar = response.json()
    assert {name: calendar[name] for name in body} == body
    assert (calendar["owner"], calendar["role"], calendar["isDefault"]) == ("ada", "owner", False)
    again = api.get(response["Location"])
    assert (again.json(), again["ETag"]) == (calendar, response["ETag"])


def test_a_name_is_enough(api):
    calendar = api.post("/api/calendars", {"name": "Releases"}).json()

    assert (calendar["shares"], calendar["revision"]) == ([], 1)


def test_everybody_has_a_default_calendar(api):
    (calendar,) = api.get("/api/calendars").json()["value"]

    assert calendar["isDefault"] is True


def test_the_default_calendar_stays(api, calendar):
    response = api.delete(f"/api/calendars/{calendar.pk}")

    assert (response.status_code, response.json()["error"]["code"]) == (409, "is_default")
    assert Calendar.objects.filter(pk=calendar.pk).exists()


def test_a_calendar_is_deleted_with_its_events(api, owner, make_event):
    other = Calendar.objects.create(owner=owner, name="Other")
    make_event(other)

    assert api.delete(f"/api/calendars/{other.pk}").status_code == 204

    assert not Event.objects.exists()
    assert api.get(f"/api/calendars/{other.pk}").status_code == 404


def test_a_patch_changes_what_it_sends_and_a_put_withdraws_shares_that_it_leaves_out(api, calendar, bob):
    sharing.share(calendar, bob, Role.READER)
    address = f"/api/calendars/{calendar.pk}"

    patched = api.patch(address, {"name": "Mine"}).json()
    assert (patched["name"], patched["shares"]) == ("Mine", [{"user": "bob", "role": "reader"}])

    assert api.put(address, {"name": "Mine", "hue": "clay"}).json()["shares"] == []
    assert Calendar.objects.get(pk=calendar.pk).hue == "clay"


def test_shares_are_replaced_as_a_whole(api, calendar, bob, make_user):
    make_user("carol")
    sharing.share(calendar, bob, Role.READER)

    shares = [{"user": "bob", "role": "operator"}, {"user": "carol", "role": "reader"}]
    assert api.patch(f"/api/calendars/{calendar.pk}", {"shares": shares}).json()["shares"] == shares

    assert Share.objects.count() == 2


@pytest.mark.parametrize(
    "shares, target",
    [
        ([{"user": "eve", "role": "reader"}], "shares[0].user"),  # in no subscription of the owner's
        ([{"user": "nobody", "role": "reader"}], "shares[0].user"),
        ([{"user": "ada", "role": "reader"}], "shares[0].user"),  # the owner
        ([{"user": "bob", "role": "owner"}], "shares[0].role"),
        ([{"user": "bob"}], "shares[0].role"),
        ([{"role": "reader"}], "shares[0].user"),
        ([{"user": "bob", "role": "reader"}, {"user": "nobody", "role": "reader"}], "shares[1].user"),
        ("bob", "shares"),
    ],
)
def test_a_wrong_share_is_refused_by_its_path_and_changes_nothing(api, calendar, bob, make_user, shares, target):
    make_user("eve", in_subscription=Subscription.objects.create(name="elsewhere"))

    response = api.patch(f"/api/calendars/{calendar.pk}", {"name": "Other", "shares": shares})

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)
    assert not Share.objects.exists()
    assert Calendar.objects.get(pk=calendar.pk).name == calendar.name


def test_who_it_is_shared_with_sees_it_and_not_with_whom_else(api_of_bob, calendar, bob, make_user):
    sharing.share(calendar, bob, Role.OPERATOR)
    sharing.share(calendar, make_user("carol"), Role.READER)

    seen = api_of_bob.get(f"/api/calendars/{calendar.pk}").json()

    assert (seen["owner"], seen["role"], seen["shares"]) == ("ada", "operator", [])


def test_only_its_owner_changes_a_calendar(api_of_bob, calendar, bob):
    sharing.share(calendar, bob, Role.OPERATOR)
    address = f"/api/calendars/{calendar.pk}"

    statuses = [
        api_of_bob.patch(address, {"name": "Mine"}).status_code,
        api_of_bob.put(address, {"name": "Mine"}).status_code,
        api_of_bob.delete(address).status_code,
    ]

    assert statuses == [403, 403, 403]


@pytest.mark.parametrize("role, create, rename, share", [(Role.READER, 403, 403, 403), (Role.OPERATOR, 201, 200, 403)])
def test_a_tokens_own_role_limits_it(api_of, owner, calendar, bob, role, create, rename, share):
    api = api_of(ApiToken.objects.issue(owner, "limited", role=role)[1])
    address, shares = f"/api/calendars/{calendar.pk}", [{"user": "bob", "role": "reader"}]

    assert api.post("/api/calendars", {"name": "More"}).status_code == create
    assert api.patch(address, {"name": "Mine"}).status_code == rename
    assert api.patch(address, {"shares": shares}).status_code == share
    assert api.get(address).json()["role"] == role.label


def test_a_stale_version_is_refused(api, calendar, make_event):
    address = f"/api/calendars/{calendar.pk}"
    etag = api.get(address)["ETag"]
    make_event()  # a change in it is one of it

    stale = api.patch(address, {"name": "Mine"}, HTTP_IF_MATCH=etag)
    fresh = api.patch(address, {"name": "Mine"}, HTTP_IF_MATCH=api.get(address)["ETag"])

    assert (stale.status_code, fresh.status_code) == (412, 200)


def test_a_list_takes_as_many_queries_for_many_calendars_as_for_one(
    api, owner, bob, calendar, django_assert_max_num_queries
):
    for number in range(20):
        sharing.share(Calendar.objects.create(owner=owner, name=str(number)), bob, Role.READER)
    api.get("/api/calendars")

    with django_assert_max_num_queries(4):
        assert len(api.get("/api/calendars").json()["value"]) == 21
