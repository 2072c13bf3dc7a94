"""/api/occurrences."""

import pytest

from accounts.models import ApiToken, Role
from calendars import editing, sharing
from calendars.models import Calendar, Event
from tests.calendars.conftest import day, days, recurrence, times
from tests.conftest import NOW

JANUARY = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"


@pytest.fixture
def listed(api):
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


def test_single_events_and_occurrences_of_series_are_listed_by_their_start(listed, weekly, make_event):
    make_event(subject="Lunch", **times("2026-01-12T12:00"))

    found = listed("from=2026-01-05T10:00:00Z&to=2026-01-19T09:00:00Z&timeZone=Europe/Berlin")

    assert [(each["subject"], each["startLocal"], each["type"]) for each in found] == [
        ("Stand-up", "2026-01-12T10:00:00", "occurrence"),
        ("Lunch", "2026-01-12T12:00:00", "single"),
    ]


def test_an_occurrence_is_told_whole(listed, weekly):
    first = listed("from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z&timeZone=America/New_York")[0]

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


def test_the_window_is_half_open(listed, make_event):
    make_event(subject="ends then", **times("2026-01-05T09:00", zone="UTC"))
    make_event(subject="begins then", **times("2026-01-05T11:00", zone="UTC"))
    make_event(subject="is within", **times("2026-01-05T10:30", "2026-01-05T10:30", "UTC"))
    make_event(subject="is around", **times("2026-01-01T00:00", "2026-01-09T00:00", "UTC"))

    found = listed("from=2026-01-05T10:00:00Z&to=2026-01-05T11:00:00Z")

    assert [each["subject"] for each in found] == ["is around", "is within"]


def test_what_is_all_day_is_where_the_asked_zone_has_its_midnights(listed, make_event):
    make_event(is_all_day=True, **times("2026-01-05T00:00", "2026-01-06T00:00"))

    (tokyo,) = listed("from=2026-01-04T15:00:00Z&to=2026-01-04T16:00:00Z&timeZone=Asia/Tokyo")

    assert (tokyo["start"], tokyo["startLocal"]) == ("2026-01-04T15:00:00Z", "2026-01-05T00:00:00")
    assert (tokyo["startDate"], tokyo["endDate"]) == ("2026-01-05", "2026-01-06")
    assert listed("from=2026-01-04T15:00:00Z&to=2026-01-04T16:00:00Z") == []


def test_cancelled_ones_come_along_if_asked_for(listed, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), NOW)

    assert [each["start"][8:10] for each in listed()] == ["05", "19", "26"]
    assert [(each["start"][8:10], each["isCancelled"]) for each in listed(f"{JANUARY}&cancelled=true")][1] == (
        "12",
        True,
    )


def test_a_moved_one_is_where_it_is_now_and_says_where_it_was(listed, weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Late", **times("2026-01-13T15:00")}, NOW)

    moved = listed()[1]

    assert (moved["id"], moved["subject"]) == (f"{weekly.pk.hex}_20260112", "Late")
    assert (moved["start"], moved["originalStart"]) == ("2026-01-13T14:00:00Z", "2026-01-12T09:00:00Z")
    assert moved["isException"] is True


def test_occurrences_are_filtered(listed, weekly, make_event, owner):
    other = make_event(Calendar.objects.create(owner=owner, name="Other"), subject="Other")

    assert {each["subject"] for each in listed(f"{JANUARY}&calendar={other.calendar_id}")} == {"Other"}
    assert {each["subject"] for each in listed(f"{JANUARY}&event={weekly.pk.hex}")} == {"Stand-up"}
    assert listed(f"{JANUARY}&event=x") == []


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
def test_a_wrong_question_is_refused_by_its_parameter(api, query, target):
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


def test_a_list_takes_as_many_queries_for_many_series_as_for_one(api, make_event, django_assert_max_num_queries):
    for _ in range(10):
        editing.cancel_occurrence(make_event(recurrence=recurrence()), day("2026-01-12"), NOW)
    api.get(f"/api/occurrences?{JANUARY}")

    with django_assert_max_num_queries(3):
        assert len(api.get(f"/api/occurrences?{JANUARY}").json()["value"]) == 30


# One of them


def test_one_is_read_by_its_id_in_any_zone(api, second):
    found = api.get(f"{second}?timeZone=Asia/Kolkata").json()

    assert (found["startLocal"], found["timeZone"]) == ("2026-01-12T14:30:00", "Asia/Kolkata")
    assert found["body"] == ""


@pytest.mark.parametrize("name", ["{id}_20260113", "{id}", "{id}_20260332", "x", "{id}_20260112_1"])
def test_what_is_none_is_missing(api, weekly, name):
    assert api.get(f"/api/occurrences/{name.format(id=weekly.pk.hex)}").status_code == 404


def test_a_patch_makes_it_an_exception_and_leaves_the_others(api, second, weekly, listed):
    body = {"subject": "Late", "startLocal": "2026-01-12T15:00:00", "endLocal": "2026-01-12T16:00:00"}

    changed = api.patch(second, body).json()

    assert (changed["subject"], changed["start"], changed["isException"]) == ("Late", "2026-01-12T14:00:00Z", True)
    assert [each["subject"] for each in listed()] == ["Stand-up", "Late", "Stand-up", "Stand-up"]


def test_what_was_answered_can_be_sent_back_and_changes_nothing(api, second):
    for zone in ("UTC", "America/New_York"):
        document = api.get(f"{second}?timeZone={zone}").json()

        assert api.patch(f"{second}?timeZone={zone}", document).json() == document
    assert not Event.objects.get().exceptions.exists()


@pytest.mark.parametrize(
    "query", ["", "?timeZone=Europe/Berlin", "?timeZone=America/New_York", "?timeZone=Asia/Kolkata"]
)
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_changed_time_is_read_in_the_zone_in_which_it_was_answered(api, second, query, is_whole):
    document = api.get(second + query).json()
    later = {name: document[name].replace(":00:00", ":15:00").replace(":30:00", ":45:00") for name in LOCAL}

    changed = api.patch(second + query, {**document, **later} if is_whole else later).json()

    assert (document["start"], changed["start"], changed["end"]) == (
        "2026-01-12T09:00:00Z", "2026-01-12T09:15:00Z", "2026-01-12T10:15:00Z"
    )  # fmt: skip
    assert {name: changed[name] for name in LOCAL} == later
    assert changed["timeZone"] == document["timeZone"]


def test_an_occurrence_is_answered_in_the_zone_of_its_event_and_says_so(api, second, listed, make_event):
    make_event(subject="Call", **times("2026-01-12T20:00", zone="Asia/Tokyo"))

    read, restored = api.get(second).json(), listed("from=2026-01-12T00:00:00Z&to=2026-01-13T00:00:00Z")

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


def test_a_time_that_clocks_skip_can_be_sent_back_as_they_show_it(api, make_event):
    event = make_event(recurrence=recurrence("daily", start="2026-03-01"), **times("2026-03-01T02:30"))
    address = f"/api/occurrences/{event.pk.hex}_20260329"

    document = api.get(address).json()

    assert document["startLocal"] == "2026-03-29T03:30:00"
    assert api.patch(address, document).json() == document


def test_a_start_is_read_in_the_zone_of_the_event_or_in_the_one_that_is_sent(api, second):
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
def test_a_wrong_change_is_refused_and_changes_nothing(api, second, weekly, body, code, target):
    response = api.patch(second, body)

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["target"]) == (400, code, target)
    assert not weekly.exceptions.exists()


def test_it_is_cancelled_and_restored(api, second, weekly):
    assert api.delete(second).status_code == 204
    assert (api.get(second).status_code, api.delete(second).status_code) == (404, 404)
    assert "2026-01-12" not in days(weekly)

    restored = api.post(f"{second}/restore")

    assert (restored.status_code, restored.json()["isException"]) == (200, False)
    assert api.post(f"{second}/restore").status_code == 404  # it is as its series has it


def test_a_stale_version_is_refused_and_a_change_of_another_occurrence_makes_none(api, second, weekly):
    etag = api.get(second)["ETag"]
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Other"}, NOW)
    assert api.patch(second, {"subject": "Late"}, HTTP_IF_MATCH=etag).status_code == 200

    assert api.patch(second, {"subject": "Later"}, HTTP_IF_MATCH=etag).status_code == 412
    assert api.delete(second, HTTP_IF_MATCH=etag).status_code == 412


def test_a_single_event_is_its_own_only_occurrence(api, make_event):
    event = make_event()
    address = f"/api/occurrences/{event.pk.hex}"

    assert api.patch(address, {"subject": "Other"}).json()["subject"] == "Other"
    assert api.post(f"{address}/restore").status_code == 404
    assert api.patch(f"{address}/following", {"subject": "All"}).json()["subject"] == "All"
    assert api.delete(address).status_code == 204
    assert not Event.objects.exists()


# This one and all that follow


def test_from_one_on_the_series_is_another(api, weekly):
    response = api.patch(f"/api/occurrences/{weekly.pk.hex}_20260202/following", {"subject": "New"})

    rest = response.json()
    assert (response.status_code, rest["subject"], rest["startLocal"]) == (200, "New", "2026-02-02T10:00:00")
    assert rest["id"] != weekly.pk.hex
    weekly.refresh_from_db()
    assert days(weekly)[-1] == "2026-01-26"
    assert days(Event.objects.get(pk=rest["id"])) == [
        "2026-02-02", "2026-02-09", "2026-02-16", "2026-02-23", "2026-03-02", "2026-03-09",
    ]  # fmt: skip


def test_from_one_on_it_repeats_otherwise(api, weekly):
    daily = recurrence("daily", "2026-02-02", count=3)

    rest = api.patch(f"/api/occurrences/{weekly.pk.hex}_20260202/following", {"recurrence": daily}).json()

    assert days(Event.objects.get(pk=rest["id"])) == ["2026-02-02", "2026-02-03", "2026-02-04"]


def test_from_the_first_on_it_is_the_series_itself(api, weekly):
    rest = api.patch(f"/api/occurrences/{weekly.pk.hex}_20260105/following", {"subject": "New"}).json()

    assert rest["id"] == weekly.pk.hex


def test_from_one_on_it_is_cancelled(api, weekly):
    assert api.delete(f"/api/occurrences/{weekly.pk.hex}_20260202/following").status_code == 204

    weekly.refresh_from_db()
    assert days(weekly)[-1] == "2026-01-26"

    api.delete(f"/api/occurrences/{weekly.pk.hex}_20260105/following")
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "method, suffix", [("patch", "/following"), ("delete", "/following"), ("delete", ""), ("patch", "")]
)
def test_a_stale_version_is_refused_everywhere(api, second, weekly, method, suffix):
    etag = api.get(second)["ETag"]
    editing.change(weekly, {"subject": "Other"}, NOW)

    body = {"subject": "Mine"} if method == "patch" else None
    response = getattr(api, method)(f"{second}{suffix}", body, HTTP_IF_MATCH=etag)

    assert response.status_code == 412


# Others


@pytest.fixture
def bob(make_user, calendar):
    bob = make_user("bob", Role.READER)
    sharing.share(calendar, bob, Role.READER)
    return bob


def test_a_reader_sees_and_does_not_change(api_of, bob, second):
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


def test_a_private_occurrence_is_veiled_and_left_alone(api_of, bob, calendar, second, weekly):
    calendar.shares.update(role=Role.OPERATOR)
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Doctor", "sensitivity": "private"}, NOW)
    api = api_of(ApiToken.objects.issue(bob, "tests")[1])

    subjects = [each["subject"] for each in api.get(f"/api/occurrences?{JANUARY}").json()["value"]]

    assert subjects == ["Stand-up", "", "Stand-up", "Stand-up"]
    assert api.get(second).json()["subject"] == ""
    assert api.patch(second, {"subject": "Mine"}).status_code == 403
    assert api.delete(second).status_code == 403
    assert api.post(f"{second}/restore").status_code == 403
