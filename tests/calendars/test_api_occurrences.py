"""The API /api/occurrences."""

from datetime import timedelta

import pytest

from accounts.models import ApiToken, Role
from api import pagination
from calendars import editing, expansion, sharing
from calendars.expansion import exceptions_in, without_long_details
from calendars.models import Calendar, Event
from tests.calendars.conftest import day, days, recurrence, times
from tests.conftest import NOW

JANUARY = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"


@pytest.fixture
def list_occurrences(api):
    def get(query: str = JANUARY) -> list[dict]:
        response = api.get(f"/api/occurrences?{query}")
        assert response.status_code == 200, response.content
        return response.json()["value"]

    return get


LOCAL = ("startLocal", "endLocal")


@pytest.fixture
def second(weekly) -> str:
    """The address of the occurrence of 12 January."""
    return f"/api/occurrences/{weekly.pk.hex}_20260112"


def test_occurrences_are_sorted_by_start(list_occurrences, weekly, make_event):
    make_event(subject="Lunch", **times("2026-01-12T12:00"))

    found = list_occurrences("from=2026-01-05T10:00:00Z&to=2026-01-19T09:00:00Z&timeZone=Europe/Berlin")

    assert [(each["subject"], each["startLocal"], each["type"]) for each in found] == [
        ("Stand-up", "2026-01-12T10:00:00", "occurrence"),
        ("Lunch", "2026-01-12T12:00:00", "single"),
    ]


def test_occurrence_document_has_all_members(list_occurrences, weekly):
    first = list_occurrences("from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z&timeZone=America/New_York")[0]

    assert first == {
        "id": f"{weekly.pk.hex}_20260105",
        "eventId": weekly.pk.hex,
        "calendarId": str(weekly.calendar_id),
        "type": "occurrence",
        "subject": "Stand-up",
        "location": "",
        "categories": [],
        "showAs": "busy",
        "sensitivity": "normal",
        "importance": "normal",
        "isAllDay": False,
        "start": "2026-01-05T09:00:00Z",
        "end": "2026-01-05T10:00:00Z",
        "startLocal": "2026-01-05T04:00:00",
        "endLocal": "2026-01-05T05:00:00",
        "timeZone": "America/New_York",
        "startDate": None,
        "endDate": None,
        "isException": False,
        "isCancelled": False,
        "originalStart": "2026-01-05T09:00:00Z",
    }


def test_occurrence_window_is_half_open(list_occurrences, make_event):
    make_event(subject="ends then", **times("2026-01-05T09:00", zone="UTC"))
    make_event(subject="begins then", **times("2026-01-05T11:00", zone="UTC"))
    make_event(subject="is within", **times("2026-01-05T10:30", "2026-01-05T10:30", "UTC"))
    make_event(subject="is around", **times("2026-01-01T00:00", "2026-01-09T00:00", "UTC"))

    found = list_occurrences("from=2026-01-05T10:00:00Z&to=2026-01-05T11:00:00Z")

    assert [each["subject"] for each in found] == ["is around", "is within"]


def test_all_day_event_is_at_midnight_of_the_requested_zone(list_occurrences, make_event):
    make_event(is_all_day=True, **times("2026-01-05T00:00", "2026-01-06T00:00"))

    (tokyo,) = list_occurrences("from=2026-01-04T15:00:00Z&to=2026-01-04T16:00:00Z&timeZone=Asia/Tokyo")

    assert (tokyo["start"], tokyo["startLocal"]) == ("2026-01-04T15:00:00Z", "2026-01-05T00:00:00")
    assert (tokyo["startDate"], tokyo["endDate"]) == ("2026-01-05", "2026-01-06")
    assert list_occurrences("from=2026-01-04T15:00:00Z&to=2026-01-04T16:00:00Z") == []


def test_cancelled_occurrences_are_listed_on_request(list_occurrences, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), NOW)

    assert [each["start"][8:10] for each in list_occurrences()] == ["05", "19", "26"]
    assert [(each["start"][8:10], each["isCancelled"]) for each in list_occurrences(f"{JANUARY}&cancelled=true")][
        1
    ] == (
        "12",
        True,
    )


def test_moved_occurrence_has_its_current_and_original_start(list_occurrences, weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Late", **times("2026-01-13T15:00")}, NOW)

    moved = list_occurrences()[1]

    assert (moved["id"], moved["subject"]) == (f"{weekly.pk.hex}_20260112", "Late")
    assert (moved["start"], moved["originalStart"]) == ("2026-01-13T14:00:00Z", "2026-01-12T09:00:00Z")
    assert moved["isException"] is True


def test_occurrences_are_filtered_by_calendar_and_event(list_occurrences, weekly, make_event, owner):
    other = make_event(Calendar.objects.create(owner=owner, name="Other"), subject="Other")

    assert {each["subject"] for each in list_occurrences(f"{JANUARY}&calendar={other.calendar_id}")} == {"Other"}
    assert {each["subject"] for each in list_occurrences(f"{JANUARY}&event={weekly.pk.hex}")} == {"Stand-up"}
    assert list_occurrences(f"{JANUARY}&event=x") == []


@pytest.mark.parametrize(
    "query, target",
    [
        ("", "from"),
        ("from=2026-01-01T00:00:00Z", "to"),
        ("from=2026-01-01&to=2026-02-01T00:00:00Z", "from"),
        ("from=2026-01-01T00:00:00&to=2026-02-01T00:00:00Z", "from"),
        ("from=0001-01-01T00:00:00Z&to=2026-02-01T00:00:00Z", "from"),
        ("from=2026-01-01T00:00:00Z&to=9999-12-31T23:59:59Z", "to"),
        ("from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("from=2026-01-01T00:00:00Z&to=2031-02-01T00:00:00Z", "to"),  # more than five years
        (f"{JANUARY}&timeZone=Mars/Base", "timeZone"),
        (f"{JANUARY}&cancelled=yes", "cancelled"),
        (f"{JANUARY}&limit=0", "limit"),
        (f"{JANUARY}&limit=1001", "limit"),
        (f"{JANUARY}&cursor=x", "cursor"),
        (f"{JANUARY}&cursor=!!!", "cursor"),
        (f"{JANUARY}&cursor=MDAwMS0wMS0wMSB4", "cursor"),  # 0001-01-01 x
        (f"{JANUARY}&calendar=x", "calendar"),
        (f"{JANUARY}&color=red", "color"),
    ],
)
def test_invalid_parameter_is_refused_by_name(api, query, target):
    response = api.get(f"/api/occurrences?{query}")

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_have_each_occurrence_once_and_in_order(api, weekly, make_event, limit):
    make_event(subject="long", **times("2025-12-30T10:00", "2026-01-20T10:00"))
    make_event(subject="daily", recurrence=recurrence("daily", count=12))
    make_event(subject="at once", recurrence=recurrence("daily", count=12))
    editing.change_occurrence(weekly, day("2026-01-12"), times("2026-01-17T15:00"), NOW)
    query = "from=2026-01-01T00:00:00Z&to=2026-04-01T00:00:00Z"
    whole = api.get(f"/api/occurrences?{query}&limit=1000").json()["value"]

    address, found = f"/api/occurrences?{query}&limit={limit}", []
    while address:
        page = api.get(address).json()
        assert len(page["value"]) <= limit
        found += page["value"]
        address = page["nextLink"]

    assert len(whole) == 10 + 1 + 24
    assert found == whole == sorted(whole, key=lambda each: (each["start"], each["id"]))


def test_occurrence_list_takes_the_same_number_of_queries_for_many_series(
    api, make_event, django_assert_max_num_queries
):
    for _ in range(10):
        editing.cancel_occurrence(make_event(recurrence=recurrence()), day("2026-01-12"), NOW)
    api.get(f"/api/occurrences?{JANUARY}")

    with django_assert_max_num_queries(4):  # the token, the events, the exceptions, the details of the events
        assert len(api.get(f"/api/occurrences?{JANUARY}").json()["value"]) == 30


def test_details_of_large_occurrences_are_loaded_for_a_few_rows_at_once(
    api, make_event, monkeypatch, django_assert_num_queries
):
    for number in range(6):
        make_event(**times(f"2026-01-{number + 5:02}T09:00"), locations=[{"displayName": f"Room {number}"}])
    monkeypatch.setattr(expansion, "ROWS_AT_ONCE", 2)
    api.get(f"/api/occurrences?{JANUARY}")  # writes when the token was last used

    with django_assert_num_queries(2 + 3):  # the token, the events, and the details of two events three times
        found = api.get(f"/api/occurrences?{JANUARY}").json()["value"]

    assert [each["location"] for each in found] == [f"Room {number}" for number in range(6)]


def test_events_in_a_window_are_loaded_without_their_bodies(weekly, make_event):
    """A window may have thousands of events, and each may have a megabyte."""
    editing.change_occurrence(weekly, day("2026-01-12"), {"body": "x" * 10_000, "subject": "Changed"}, NOW)
    make_event(body="y" * 10_000)

    rows = without_long_details(Event.objects.all())
    stored = exceptions_in([weekly], NOW, NOW + timedelta(days=31), with_long_details=False)

    assert [row.body for row in rows] == ["", ""]
    assert [each.changes for each in stored[weekly.pk].values()] == [{"subject": "Changed", "body_type": "text"}]


def test_page_of_occurrences_ends_early_when_they_are_large(api, make_event, monkeypatch):
    for number in range(7):
        make_event(**times(f"2026-01-{number + 5:02}T09:00"), locations=[{"displayName": str(number) * 1_000}])
    monkeypatch.setattr(pagination, "PAGE_BYTES", 4_000)
    address, pages = f"/api/occurrences?{JANUARY}", []
    while address:
        page = api.get(address).json()
        pages.append([each["location"][0] for each in page["value"]])
        address = page["nextLink"]

    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert "".join(map("".join, pages)) == "0123456"


# Single occurrences


def test_occurrence_is_read_by_id_in_the_requested_zone(api, second):
    found = api.get(f"{second}?timeZone=Asia/Kolkata").json()

    assert (found["startLocal"], found["timeZone"]) == ("2026-01-12T14:30:00", "Asia/Kolkata")
    assert found["body"] == ""


@pytest.mark.parametrize("name", ["{id}_20260113", "{id}", "{id}_20260332", "x", "{id}_20260112_1"])
def test_unknown_occurrence_is_not_found(api, weekly, name):
    assert api.get(f"/api/occurrences/{name.format(id=weekly.pk.hex)}").status_code == 404


def test_patch_of_an_occurrence_creates_an_exception(api, second, weekly, list_occurrences):
    body = {"subject": "Late", "startLocal": "2026-01-12T15:00:00", "endLocal": "2026-01-12T16:00:00"}

    changed = api.patch(second, body).json()

    assert (changed["subject"], changed["start"], changed["isException"]) == ("Late", "2026-01-12T14:00:00Z", True)
    assert [each["subject"] for each in list_occurrences()] == ["Stand-up", "Late", "Stand-up", "Stand-up"]


def test_sending_back_an_occurrence_document_changes_nothing(api, second):
    for zone in ("UTC", "America/New_York"):
        document = api.get(f"{second}?timeZone={zone}").json()

        assert api.patch(f"{second}?timeZone={zone}", document).json() == document
    assert not Event.objects.get().exceptions.exists()


@pytest.mark.parametrize(
    "query", ["", "?timeZone=Europe/Berlin", "?timeZone=America/New_York", "?timeZone=Asia/Kolkata"]
)
@pytest.mark.parametrize("is_whole", [True, False])
def test_changed_time_is_in_the_zone_of_the_request(api, second, query, is_whole):
    document = api.get(second + query).json()
    later = {name: document[name].replace(":00:00", ":15:00").replace(":30:00", ":45:00") for name in LOCAL}

    changed = api.patch(second + query, {**document, **later} if is_whole else later).json()

    assert (document["start"], changed["start"], changed["end"]) == (
        "2026-01-12T09:00:00Z", "2026-01-12T09:15:00Z", "2026-01-12T10:15:00Z"
    )  # fmt: skip
    assert {name: changed[name] for name in LOCAL} == later
    assert changed["timeZone"] == document["timeZone"]


def test_occurrence_is_returned_in_the_zone_of_its_event(api, second, list_occurrences, make_event):
    make_event(subject="Call", **times("2026-01-12T20:00", zone="Asia/Tokyo"))

    read, restored = api.get(second).json(), list_occurrences("from=2026-01-12T00:00:00Z&to=2026-01-13T00:00:00Z")

    assert (read["startLocal"], read["timeZone"]) == ("2026-01-12T10:00:00", "Europe/Berlin")
    assert [(each["startLocal"], each["timeZone"]) for each in restored] == [
        ("2026-01-12T10:00:00", "Europe/Berlin"),
        ("2026-01-12T20:00:00", "Asia/Tokyo"),
    ]


@pytest.mark.parametrize("query", ["", "?timeZone=Asia/Tokyo"])
def test_an_all_day_occurrence_keeps_its_dates_in_every_zone(api, make_event, query):
    event = make_event(is_all_day=True, recurrence=recurrence(), **times("2026-01-05T00:00", "2026-01-06T00:00"))
    address = f"/api/occurrences/{event.pk.hex}_20260112{query}"

    document = api.get(address).json()
    moved = api.patch(address, {"startLocal": "2026-01-13", "endLocal": "2026-01-14"}).json()

    assert (document["startLocal"], document["startDate"]) == ("2026-01-12T00:00:00", "2026-01-12")
    assert (moved["startLocal"], moved["startDate"], moved["endDate"]) == (
        "2026-01-13T00:00:00", "2026-01-13", "2026-01-14"
    )  # fmt: skip


def test_skipped_wall_time_can_be_sent_back_as_shown(api, make_event):
    event = make_event(recurrence=recurrence("daily", start="2026-03-01"), **times("2026-03-01T02:30"))
    address = f"/api/occurrences/{event.pk.hex}_20260329"

    document = api.get(address).json()

    assert document["startLocal"] == "2026-03-29T03:30:00"
    assert api.patch(address, document).json() == document


def test_start_is_in_the_zone_of_the_event_or_in_the_sent_zone(api, second):
    body = {"startLocal": "2026-01-12T15:00:00", "endLocal": "2026-01-12T16:00:00"}

    assert api.patch(second, body).json()["start"] == "2026-01-12T14:00:00Z"
    assert api.patch(second, {**body, "timeZone": "UTC"}).json()["start"] == "2026-01-12T15:00:00Z"


@pytest.mark.parametrize(
    "body, code, target",
    [
        ({"startLocal": "2026-01-19T10:00:00", "endLocal": "2026-01-19T11:00:00"}, "crosses_a_neighbour", "startLocal"),
        ({"endLocal": "2026-01-12T09:00:00"}, "ends_before_it_starts", "endLocal"),
        ({"recurrence": {"pattern": {"type": "daily", "interval": 1}}}, "unknown", "recurrence"),
        ({"showAs": "asleep"}, "invalid_choice", "showAs"),
        ({"subject": None}, "null", "subject"),
    ],
)
def test_invalid_change_of_an_occurrence_changes_nothing(api, second, weekly, body, code, target):
    response = api.patch(second, body)

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["target"]) == (400, code, target)
    assert not weekly.exceptions.exists()


def test_occurrence_is_cancelled_and_restored(api, second, weekly):
    assert api.delete(second).status_code == 204
    assert (api.get(second).status_code, api.delete(second).status_code) == (404, 404)
    assert "2026-01-12" not in days(weekly)

    restored = api.post(f"{second}/restore")

    assert (restored.status_code, restored.json()["isException"]) == (200, False)
    assert api.post(f"{second}/restore").status_code == 404  # it does not differ from its series


def test_etag_of_an_occurrence_is_outdated_only_by_its_own_changes(api, second, weekly):
    etag = api.get(second)["ETag"]
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Other"}, NOW)
    assert api.patch(second, {"subject": "Late"}, HTTP_IF_MATCH=etag).status_code == 200

    assert api.patch(second, {"subject": "Later"}, HTTP_IF_MATCH=etag).status_code == 412
    assert api.delete(second, HTTP_IF_MATCH=etag).status_code == 412


def test_single_event_has_one_occurrence(api, make_event):
    event = make_event()
    address = f"/api/occurrences/{event.pk.hex}"

    assert api.patch(address, {"subject": "Other"}).json()["subject"] == "Other"
    assert api.post(f"{address}/restore").status_code == 404
    assert api.patch(f"{address}/following", {"subject": "All"}).json()["subject"] == "All"
    assert api.delete(address).status_code == 204
    assert not Event.objects.exists()


# This occurrence and the following ones


def test_patch_of_following_occurrences_creates_a_new_series(api, weekly):
    response = api.patch(f"/api/occurrences/{weekly.pk.hex}_20260202/following", {"subject": "New"})

    rest = response.json()
    assert (response.status_code, rest["subject"], rest["startLocal"]) == (200, "New", "2026-02-02T10:00:00")
    assert rest["id"] != weekly.pk.hex
    weekly.refresh_from_db()
    assert days(weekly)[-1] == "2026-01-26"
    assert days(Event.objects.get(pk=rest["id"])) == [
        "2026-02-02", "2026-02-09", "2026-02-16", "2026-02-23", "2026-03-02", "2026-03-09",
    ]  # fmt: skip


def test_following_occurrences_can_get_another_recurrence(api, weekly):
    daily = recurrence("daily", "2026-02-02", count=3)

    rest = api.patch(f"/api/occurrences/{weekly.pk.hex}_20260202/following", {"recurrence": daily}).json()

    assert days(Event.objects.get(pk=rest["id"])) == ["2026-02-02", "2026-02-03", "2026-02-04"]


def test_patch_from_the_first_occurrence_changes_the_series(api, weekly):
    rest = api.patch(f"/api/occurrences/{weekly.pk.hex}_20260105/following", {"subject": "New"}).json()

    assert rest["id"] == weekly.pk.hex


def test_delete_of_following_occurrences_ends_the_series(api, weekly):
    assert api.delete(f"/api/occurrences/{weekly.pk.hex}_20260202/following").status_code == 204

    weekly.refresh_from_db()
    assert days(weekly)[-1] == "2026-01-26"

    api.delete(f"/api/occurrences/{weekly.pk.hex}_20260105/following")
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "method, suffix", [("patch", "/following"), ("delete", "/following"), ("delete", ""), ("patch", "")]
)
def test_outdated_etag_of_a_changed_series_is_refused(api, second, weekly, method, suffix):
    etag = api.get(second)["ETag"]
    editing.change(weekly, {"subject": "Other"}, NOW)

    body = {"subject": "Mine"} if method == "patch" else None
    response = getattr(api, method)(f"{second}{suffix}", body, HTTP_IF_MATCH=etag)

    assert response.status_code == 412


# Permissions


@pytest.fixture
def bob(make_user, calendar):
    bob = make_user("bob", Role.READER)
    sharing.share(calendar, bob, Role.READER)
    return bob


def test_reader_can_read_but_not_change_an_occurrence(api_of, bob, second):
    api = api_of(ApiToken.objects.issue(bob, "tests")[1])

    assert api.get(second).status_code == 200
    statuses = {
        api.patch(second, {"subject": "Mine"}).status_code,
        api.delete(second).status_code,
        api.post(f"{second}/restore").status_code,
        api.patch(f"{second}/following", {"subject": "Mine"}).status_code,
        api.delete(f"{second}/following").status_code,
    }
    assert statuses == {403}


def test_private_occurrence_is_hidden_from_others_and_cannot_be_changed(api_of, bob, calendar, second, weekly):
    calendar.shares.update(role=Role.OPERATOR)
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Doctor", "sensitivity": "private"}, NOW)
    api = api_of(ApiToken.objects.issue(bob, "tests")[1])

    subjects = [each["subject"] for each in api.get(f"/api/occurrences?{JANUARY}").json()["value"]]

    assert subjects == ["Stand-up", "", "Stand-up", "Stand-up"]
    assert api.get(second).json()["subject"] == ""
    assert api.patch(second, {"subject": "Mine"}).status_code == 403
    assert api.delete(second).status_code == 403
    assert api.post(f"{second}/restore").status_code == 403
