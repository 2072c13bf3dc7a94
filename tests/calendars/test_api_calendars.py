"""The API /api/calendars."""

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


def test_calendar_is_created_and_returned(api, bob):
    body = {"name": "Releases", "hue": "moss", "shares": [{"user": "bob", "role": "operator"}]}

    response = api.post("/api/calendars", body)

    assert response.status_code == 201, response.content
    calendar = response.json()
    assert {name: calendar[name] for name in body} == body
    assert (calendar["owner"], calendar["role"], calendar["isDefault"]) == ("ada", "owner", False)
    again = api.get(response["Location"])
    assert (again.json(), again["ETag"]) == (calendar, response["ETag"])


def test_calendar_requires_only_a_name(api):
    calendar = api.post("/api/calendars", {"name": "Releases"}).json()

    assert (calendar["shares"], calendar["revision"]) == ([], 1)


def test_each_user_has_a_default_calendar(api):
    (calendar,) = api.get("/api/calendars").json()["value"]

    assert calendar["isDefault"] is True


def test_default_calendar_cannot_be_deleted(api, calendar):
    response = api.delete(f"/api/calendars/{calendar.pk}")

    assert (response.status_code, response.json()["error"]["code"]) == (409, "is_default")
    assert Calendar.objects.filter(pk=calendar.pk).exists()


def test_a_calendar_is_deleted_with_its_events(api, owner, make_event):
    other = Calendar.objects.create(owner=owner, name="Other")
    make_event(other)

    assert api.delete(f"/api/calendars/{other.pk}").status_code == 204

    assert not Event.objects.exists()
    assert api.get(f"/api/calendars/{other.pk}").status_code == 404


def test_patch_changes_sent_members_and_put_removes_missing_shares(api, calendar, bob):
    sharing.share(calendar, bob, Role.READER)
    address = f"/api/calendars/{calendar.pk}"

    patched = api.patch(address, {"name": "Mine"}).json()
    assert (patched["name"], patched["shares"]) == ("Mine", [{"user": "bob", "role": "reader"}])

    assert api.put(address, {"name": "Mine", "hue": "clay"}).json()["shares"] == []
    assert Calendar.objects.get(pk=calendar.pk).hue == "clay"


def test_patch_replaces_all_shares(api, calendar, bob, make_user):
    make_user("carol")
    sharing.share(calendar, bob, Role.READER)

    shares = [{"user": "bob", "role": "operator"}, {"user": "carol", "role": "reader"}]
    assert api.patch(f"/api/calendars/{calendar.pk}", {"shares": shares}).json()["shares"] == shares

    assert Share.objects.count() == 2


@pytest.mark.parametrize(
    "shares, target",
    [
        ([{"user": "eve", "role": "reader"}], "shares[0].user"),  # shares no subscription with the owner
        ([{"user": "nobody", "role": "reader"}], "shares[0].user"),
        ([{"user": "ada", "role": "reader"}], "shares[0].user"),  # the owner
        ([{"user": "bob", "role": "owner"}], "shares[0].role"),
        ([{"user": "bob"}], "shares[0].role"),
        ([{"role": "reader"}], "shares[0].user"),
        ([{"user": "bob", "role": "reader"}, {"user": "nobody", "role": "reader"}], "shares[1].user"),
        ("bob", "shares"),
    ],
)
def test_invalid_share_is_refused_with_its_path_and_changes_nothing(api, calendar, bob, make_user, shares, target):
    make_user("eve", in_subscription=Subscription.objects.create(name="elsewhere"))

    response = api.patch(f"/api/calendars/{calendar.pk}", {"name": "Other", "shares": shares})

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)
    assert not Share.objects.exists()
    assert Calendar.objects.get(pk=calendar.pk).name == calendar.name


def test_shared_calendar_does_not_show_its_other_shares(api_of_bob, calendar, bob, make_user):
    sharing.share(calendar, bob, Role.OPERATOR)
    sharing.share(calendar, make_user("carol"), Role.READER)

    calendar_of_bob = api_of_bob.get(f"/api/calendars/{calendar.pk}").json()

    assert (calendar_of_bob["owner"], calendar_of_bob["role"], calendar_of_bob["shares"]) == ("ada", "operator", [])


def test_calendar_can_be_changed_only_by_its_owner(api_of_bob, calendar, bob):
    sharing.share(calendar, bob, Role.OPERATOR)
    address = f"/api/calendars/{calendar.pk}"

    statuses = [
        api_of_bob.patch(address, {"name": "Mine"}).status_code,
        api_of_bob.put(address, {"name": "Mine"}).status_code,
        api_of_bob.delete(address).status_code,
    ]

    assert statuses == [403, 403, 403]


@pytest.mark.parametrize("role, create, rename, share", [(Role.READER, 403, 403, 403), (Role.OPERATOR, 201, 200, 403)])
def test_token_role_limits_changes_of_calendars(api_of, owner, calendar, bob, role, create, rename, share):
    api = api_of(ApiToken.objects.issue(owner, "limited", role=role)[1])
    address, shares = f"/api/calendars/{calendar.pk}", [{"user": "bob", "role": "reader"}]

    assert api.post("/api/calendars", {"name": "More"}).status_code == create
    assert api.patch(address, {"name": "Mine"}).status_code == rename
    assert api.patch(address, {"shares": shares}).status_code == share
    assert api.get(address).json()["role"] == role.label


def test_calendar_change_with_an_outdated_etag_is_refused(api, calendar, make_event):
    address = f"/api/calendars/{calendar.pk}"
    etag = api.get(address)["ETag"]
    make_event()  # a new event changes the version of its calendar

    stale = api.patch(address, {"name": "Mine"}, HTTP_IF_MATCH=etag)
    fresh = api.patch(address, {"name": "Mine"}, HTTP_IF_MATCH=api.get(address)["ETag"])

    assert (stale.status_code, fresh.status_code) == (412, 200)


def test_calendar_list_takes_the_same_number_of_queries_for_many_calendars(
    api, owner, bob, calendar, django_assert_max_num_queries
):
    for number in range(20):
        sharing.share(Calendar.objects.create(owner=owner, name=str(number)), bob, Role.READER)
    api.get("/api/calendars")

    with django_assert_max_num_queries(4):
        assert len(api.get("/api/calendars").json()["value"]) == 21
