"""The API /api/feeds."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiToken, Role
from calendars.models import Feed


def test_feed_address_is_returned_only_once(api, calendar, weekly):
    response = api.post("/api/feeds", {"name": "Phone", "calendarId": str(calendar.pk)})

    feed = response.json()
    assert (response.status_code, response["Cache-Control"]) == (201, "no-store")
    assert feed["address"].startswith("http://testserver/calendar/feeds/")
    assert b"Stand-up" in Client().get(feed["address"].removeprefix("http://testserver")).content
    later = api.get(response["Location"]).json()
    assert later == {name: value for name, value in feed.items() if name != "address"} | {
        "lastReadAt": later["lastReadAt"]
    }
    assert later["lastReadAt"]
    secret = feed["address"].rpartition("/")[2].removesuffix(".ics")
    assert secret not in str(api.get("/api/feeds").json())


def test_feed_can_have_a_query(api, calendar, collection):
    query = {"calendars": [str(calendar.pk)], "collections": [collection.pk], "runs": True}

    assert api.post("/api/feeds", {"name": "Wall", "query": query}).json()["query"] == query
    empty = api.post("/api/feeds", {"name": "Wall", "query": {}}).json()
    assert empty["query"] == {"calendars": None, "collections": None, "runs": False}


def test_revoked_feed_is_not_found(api, calendar):
    feed = api.post("/api/feeds", {"name": "Phone", "calendarId": str(calendar.pk)}).json()

    assert api.delete(f"/api/feeds/{feed['id']}").status_code == 204

    assert Client().get(feed["address"].removeprefix("http://testserver")).status_code == 404
    assert api.get(f"/api/feeds/{feed['id']}").status_code == 404


@pytest.mark.parametrize(
    "body, target",
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x"}, "calendarId"),
        ({"name": "x", "calendarId": "x"}, "calendarId"),
        ({"name": "x", "calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"}, "calendarId"),
        ({"name": "x", "query": []}, "query"),
        ({"name": "x", "query": {"runs": "yes"}}, "query.runs"),
        ({"name": "x", "query": {"calendars": [5]}}, "query.calendars[0]"),
        ({"name": "x", "query": {"collections": [10**9]}}, "query.collections[0]"),
    ],
)
def test_invalid_feed_is_refused_with_its_path(api, body, target):
    response = api.post("/api/feeds", body)

    assert (response.status_code, response.json()["error"]["target"]) == (400, target), response.content
    assert not Feed.objects.exists()


def test_feed_with_a_calendar_and_a_query_is_refused(api, calendar):
    body = {"name": "x", "calendarId": str(calendar.pk), "query": {}}

    assert api.post("/api/feeds", body).status_code == 400


@pytest.mark.parametrize(
    "options", [{"role": Role.OPERATOR}, {"role": Role.READER}, {"expires_at": timezone.now() + timedelta(days=1)}]
)
def test_limited_token_cannot_create_a_feed(api_of, owner, calendar, options):
    api = api_of(ApiToken.objects.issue(owner, "limited", **options)[1])

    response = api.post("/api/feeds", {"name": "Phone", "calendarId": str(calendar.pk)})

    assert response.status_code == 403
    assert not Feed.objects.exists()


def test_feeds_are_filtered_by_their_calendar(api, calendar):
    api.post("/api/feeds", {"name": "One", "calendarId": str(calendar.pk)})
    api.post("/api/feeds", {"name": "Two", "query": {}})

    found = api.get(f"/api/feeds?calendar={calendar.pk}").json()["value"]

    assert [each["name"] for each in found] == ["One"]
