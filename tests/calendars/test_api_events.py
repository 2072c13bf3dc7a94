"""The API /api/events."""

import pytest

from accounts.models import ApiToken, Role
from calendars import editing, sharing
from calendars.models import Calendar, Event
from tests.calendars.conftest import day, days, recurrence, times
from tests.conftest import NOW

MEETING = {
    "subject": "Budget",
    "body": "Bring numbers",
    "location": "Room 4",
    "categories": ["Red"],
    "attendees": [{"name": "Bob", "address": "bob@example.com", "type": "optional"}],
    "showAs": "oof",
    "importance": "high",
    "sensitivity": "personal",
    "reminderMinutes": 30,
    "startLocal": "2026-01-05T10:00:00",
    "endLocal": "2026-01-05T11:30:00",
    "timeZone": "Europe/Berlin",
}
WEEKLY = {
    "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]},
    "range": {"type": "numbered", "startDate": "2026-01-05", "numberOfOccurrences": 4},
}


@pytest.fixture
def create(api):
    """Return a function that creates an event and returns its document."""

    def post(**members) -> dict:
        response = api.post("/api/events", {**MEETING, **members})
        assert response.status_code == 201, response.content
        return response.json()

    return post


def test_event_is_created_and_returned(api, calendar):
    response = api.post("/api/events", MEETING)

    assert response.status_code == 201, response.content
    event = response.json()
    assert {name: event[name] for name in MEETING} == MEETING
    assert (event["type"], event["recurrence"], event["description"]) == ("single", None, None)
    assert (event["start"], event["end"]) == ("2026-01-05T09:00:00Z", "2026-01-05T10:30:00Z")
    assert event["calendarId"] == str(calendar.pk)
    assert api.get(response["Location"]).json() == event


def test_event_requires_only_start_and_end(api):
    event = api.post("/api/events", {"startLocal": "2026-01-05T10:00:00", "endLocal": "2026-01-05T11:00"}).json()

    assert (event["timeZone"], event["start"]) == ("UTC", "2026-01-05T10:00:00Z")
    assert (event["subject"], event["showAs"], event["reminderMinutes"]) == ("", "busy", None)


def test_series_has_a_description_and_its_exceptions(api, create):
    series = create(recurrence=WEEKLY)
    event = Event.objects.get()
    editing.cancel_occurrence(event, day("2026-01-12"), NOW)
    editing.change_occurrence(event, day("2026-01-19"), {"subject": "Other"}, NOW)

    document = api.get(f"/api/events/{series['id']}").json()

    assert (document["type"], document["description"]) == ("series", "every week on Monday, until 26 January 2026")
    assert document["recurrence"]["pattern"]["daysOfWeek"] == ["monday"]
    assert document["exceptions"] == [
        {"id": f"{series['id']}_20260112", "isCancelled": True},
        {"id": f"{series['id']}_20260119", "isCancelled": False},
    ]


def test_all_day_event_has_dates(create):
    event = create(isAllDay=True, startLocal="2026-01-05", endLocal="2026-01-07")

    assert (event["startLocal"], event["endLocal"]) == ("2026-01-05T00:00:00", "2026-01-07T00:00:00")
    assert (event["startDate"], event["endDate"]) == ("2026-01-05", "2026-01-07")


@pytest.mark.parametrize(
    "members, target",
    [
        ({"startLocal": None}, "startLocal"),
        ({"startLocal": "2026-01-05T10:00:00Z"}, "startLocal"),
        ({"startLocal": "2026-02-30T10:00:00"}, "startLocal"),
        ({"startLocal": "0001-01-01T00:00:00"}, "startLocal"),
        ({"endLocal": "9999-12-31T23:59:59"}, "endLocal"),
        ({"endLocal": "2026-01-05T09:00:00"}, "endLocal"),
        ({"timeZone": "Mars/Base"}, "timeZone"),
        ({"timeZone": "../../etc/passwd"}, "timeZone"),
        ({"timeZone": 5}, "timeZone"),
        ({"isAllDay": True}, "startLocal"),
        ({"isAllDay": "yes"}, "isAllDay"),
        ({"subject": "x" * 256}, "subject"),
        ({"categories": [5]}, "categories[0]"),
        ({"attendees": [{"name": 5}]}, "attendees[0].name"),
        ({"attendees": [{"address": "a"}, {"address": "b\r\nBcc: c"}]}, "attendees[1].address"),
        ({"attendees": [{"address": "b\x7fc"}]}, "attendees[0].address"),
        ({"showAs": "asleep"}, "showAs"),
        ({"reminderMinutes": -1}, "reminderMinutes"),
        ({"reminderMinutes": True}, "reminderMinutes"),
        ({"recurrence": []}, "recurrence"),
        ({"recurrence": {}}, "recurrence.pattern"),
        ({"recurrence": {**WEEKLY, "pattern": {"type": "weekly", "interval": 0}}}, "recurrence.pattern.interval"),
        ({"recurrence": {**WEEKLY, "range": {"type": "noEnd"}}}, "recurrence.range.startDate"),
        (
            {"recurrence": {**WEEKLY, "range": {**WEEKLY["range"], "numberOfOccurrences": 1000}}},
            "recurrence.range.numberOfOccurrences",
        ),
        ({"calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"}, "calendarId"),
        ({"calendarId": "x"}, "calendarId"),
        ({"key": ""}, "key"),
    ],
)
def test_invalid_member_is_refused_with_its_path_and_creates_nothing(api, members, target):
    response = api.post("/api/events", {**MEETING, **members})

    assert (response.status_code, response.json()["error"]["target"]) == (400, target), response.content
    assert not Event.objects.exists()


def test_error_names_the_allowed_characters_or_numbers(api):
    limits = {**WEEKLY["range"], "numberOfOccurrences": 1000}

    character = api.post("/api/events", {**MEETING, "attendees": [{"address": "b\tc"}]}).json()["error"]["message"]
    count = api.post("/api/events", {**MEETING, "recurrence": {**WEEKLY, "range": limits}}).json()["error"]["message"]

    assert character == "must not contain control characters, which are U+0000 to U+001F and U+007F to U+009F"
    assert count == "must be 1 to 999, not 1000; a longer series has an end date"


@pytest.mark.parametrize("count, message", [(0, "must be 1 to 999, not 0"), (None, "is required here, 1 to 999")])
def test_error_of_too_few_occurrences_names_the_limits(api, count, message):
    limits = {**WEEKLY["range"], "numberOfOccurrences": count}

    response = api.post("/api/events", {**MEETING, "recurrence": {**WEEKLY, "range": limits}})

    assert (response.status_code, response.json()["error"]["message"]) == (400, message)


def test_series_may_have_999_occurrences(create):
    limits = {**WEEKLY["range"], "numberOfOccurrences": 999}

    assert create(recurrence={**WEEKLY, "range": limits})["recurrence"]["range"]["numberOfOccurrences"] == 999


def test_stored_series_above_the_limit_can_be_changed_and_keeps_its_count(api, create):
    address = f"/api/events/{create(recurrence=WEEKLY)['id']}"
    event = Event.objects.get()
    event.recurrence["range"]["numberOfOccurrences"] = 2000
    event.save()

    document = api.get(address).json()
    moved = api.patch(address, {"startLocal": "2026-01-05T09:00:00"})
    other = {**document["recurrence"], "pattern": {**document["recurrence"]["pattern"], "interval": 2}}
    sent_back = api.put(address, {**document, "subject": "Other", "recurrence": other})
    more = {**other, "range": {**other["range"], "numberOfOccurrences": 1999}}

    assert moved.json()["recurrence"]["range"]["numberOfOccurrences"] == 2000
    assert (sent_back.status_code, sent_back.json()["subject"]) == (200, "Other")
    assert sent_back.json()["recurrence"]["range"]["numberOfOccurrences"] == 2000
    assert api.patch(address, {"recurrence": more}).status_code == 400


@pytest.mark.parametrize("header", [True, False])
def test_event_creation_with_a_key_is_repeatable(api, header):
    body = MEETING if header else {**MEETING, "key": "budget"}
    options = {"HTTP_IDEMPOTENCY_KEY": "budget"} if header else {}

    first, second = (api.post("/api/events", body, **options) for _ in range(2))

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert Event.objects.count() == 1


@pytest.mark.parametrize("header", ["", "é", "x" * 256])
def test_invalid_idempotency_key_is_refused(api, header):
    response = api.post("/api/events", MEETING, HTTP_IDEMPOTENCY_KEY=header.encode().decode("latin-1"))

    assert (response.status_code, response.json()["error"]["target"]) == (400, "Idempotency-Key")


# Changes


def test_sending_back_an_event_document_changes_nothing(api, create):
    """This includes values from Graph clients that this API cannot express, and the exceptions of a series."""
    address = f"/api/events/{create(recurrence=WEEKLY)['id']}"
    event = Event.objects.get()
    message = {"locations": [{"displayName": "Room 4", "address": {"city": "Bonn"}}]}
    editing.change(event, {**message, **times("2026-01-05T10:00", zone="W. Europe Standard Time")}, NOW)
    editing.cancel_occurrence(event, day("2026-01-12"), NOW)
    before = Event.objects.values().get()

    document = api.get(address).json()
    for method in (api.put, api.patch):
        assert method(address, document).json() == document

    assert Event.objects.values().get() == before


def test_patch_keeps_and_put_resets_missing_members(api, create):
    address = f"/api/events/{create(recurrence=WEEKLY)['id']}"

    patched = api.patch(address, {"subject": "Other"}).json()
    assert {name: patched[name] for name in MEETING} == {**MEETING, "subject": "Other"}
    assert patched["type"] == "series"

    when = {name: MEETING[name] for name in ("startLocal", "endLocal", "timeZone")}
    put = api.put(address, when).json()
    assert (put["subject"], put["attendees"], put["reminderMinutes"], put["type"]) == ("", [], None, "single")


def test_changed_start_moves_the_series(api, create):
    address = f"/api/events/{create(recurrence=WEEKLY)['id']}"

    api.patch(address, {"startLocal": "2026-01-12T15:00:00", "endLocal": "2026-01-12T16:00:00"})

    assert days(Event.objects.get()) == ["2026-01-12", "2026-01-19", "2026-01-26", "2026-02-02"]


@pytest.mark.parametrize("series_members", [{}, {"recurrence": WEEKLY}])
def test_change_of_only_the_zone_keeps_the_wall_times(api, create, series_members):
    address = f"/api/events/{create(**series_members)['id']}"

    event = api.patch(address, {"timeZone": "America/New_York"}).json()

    assert (event["startLocal"], event["start"]) == ("2026-01-05T10:00:00", "2026-01-05T15:00:00Z")


def test_changed_start_instant_is_refused_and_not_ignored(api, create):
    event = create()
    address = f"/api/events/{event['id']}"

    same = api.patch(address, {"start": event["start"], "subject": "Other"})
    other = api.patch(address, {"start": "2026-01-06T09:00:00Z"})

    assert same.status_code == 200
    assert (other.status_code, other.json()["error"]["target"]) == (400, "start")


def test_an_event_moves_to_another_calendar(api, create, owner):
    address = f"/api/events/{create()['id']}"
    other = Calendar.objects.create(owner=owner, name="Other")

    assert api.patch(address, {"calendarId": str(other.pk)}).json()["calendarId"] == str(other.pk)


def test_refused_move_undoes_the_whole_change(api, create):
    address = f"/api/events/{create()['id']}"

    response = api.patch(address, {"subject": "Other", "calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"})

    assert (response.status_code, response.json()["error"]["target"]) == (400, "calendarId")
    assert Event.objects.get().subject == "Budget"


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_event_change_with_an_outdated_etag_is_refused(api, create, method):
    address = f"/api/events/{create()['id']}"
    etag = api.get(address)["ETag"]
    api.patch(address, {"subject": "Other"})

    body = None if method == "delete" else MEETING
    stale = getattr(api, method)(address, body, HTTP_IF_MATCH=etag)
    fresh = getattr(api, method)(address, body, HTTP_IF_MATCH=api.get(address)["ETag"])

    assert (stale.status_code, fresh.status_code < 300) == (412, True)


def test_deleted_event_is_not_found(api, create):
    address = f"/api/events/{create(recurrence=WEEKLY)['id']}"

    assert api.delete(address).status_code == 204
    assert api.get(address).status_code == 404


@pytest.mark.parametrize("item", ["0" * 31, "0" * 32, "x", "0" * 32 + "_20260105", "%00", "OID." + "0" * 32])
def test_invalid_event_id_is_not_found(api, item):
    assert api.get(f"/api/events/{item}").status_code == 404


# Lists


def test_events_are_filtered_by_calendar_text_and_time(api, create, owner):
    other = Calendar.objects.create(owner=owner, name="Other")
    create(subject="One", calendarId=str(other.pk))
    create(subject="Two", body="what Three said", startLocal="2026-03-05T10:00:00", endLocal="2026-03-05T11:00:00")
    create(subject="Series", recurrence={**WEEKLY, "range": {"type": "noEnd", "startDate": "2026-01-05"}})

    def subjects(query: str) -> list[str]:
        return [each["subject"] for each in api.get(f"/api/events?{query}").json()["value"]]

    assert subjects("") == ["One", "Series", "Two"] or subjects("") == ["Series", "One", "Two"]
    assert subjects(f"calendar={other.pk}") == ["One"]
    assert subjects("search=tHREE") == ["Two"]
    assert subjects("from=2026-03-05T09:59:00Z") == ["Series", "Two"]
    assert subjects("from=2026-03-05T10:00:00Z") == ["Series"]
    assert set(subjects("to=2026-03-05T09:00:00Z")) == {"One", "Series"}
    assert subjects("from=2026-01-05T10:30:00Z&to=2026-01-05T10:31:00Z") == ["Series"]


@pytest.mark.parametrize(
    "query", ["calendar=x", "from=yesterday", "color=red", "search=a&search=b", "search=" + "x" * 201]
)
def test_invalid_event_filter_is_refused(api, query):
    assert api.get(f"/api/events?{query}").status_code == 400


def test_pages_of_events_have_each_event_once(api, create):
    made = {create(subject=str(n), startLocal=f"2026-01-0{n}T08:00:00")["id"] for n in range(1, 6)}

    address, found = "/api/events?limit=2", []
    while address:
        page = api.get(address).json()
        found += [each["id"] for each in page["value"]]
        address = page["nextLink"]

    assert len(found) == 5
    assert set(found) == made


def test_event_list_takes_the_same_number_of_queries_for_many_series(api, make_event, django_assert_max_num_queries):
    for _ in range(10):
        editing.cancel_occurrence(make_event(recurrence=recurrence()), day("2026-01-12"), NOW)
    api.get("/api/events")

    with django_assert_max_num_queries(4):
        assert len(api.get("/api/events").json()["value"]) == 10


# Permissions


@pytest.fixture
def api_of_bob(api_of, make_user, calendar):
    """The API client of an operator of the owner's calendar."""
    bob = make_user("bob", Role.READER)
    sharing.share(calendar, bob, Role.OPERATOR)
    return api_of(ApiToken.objects.issue(bob, "tests")[1])


def test_operator_can_change_events_and_reader_cannot(api_of_bob, calendar, create):
    address = f"/api/events/{create()['id']}"

    assert api_of_bob.patch(address, {"subject": "Bob's"}).status_code == 200
    assert api_of_bob.get(address).json()["canEdit"] is True

    calendar.shares.update(role=Role.READER)

    assert api_of_bob.patch(address, {"subject": "Mine"}).status_code == 403
    assert api_of_bob.post("/api/events", {**MEETING, "calendarId": str(calendar.pk)}).status_code == 403
    assert api_of_bob.get(address).json()["canEdit"] is False


def test_private_event_is_hidden_from_others_and_cannot_be_changed(api_of_bob, create):
    address = f"/api/events/{create(sensitivity='private')['id']}"

    document = api_of_bob.get(address).json()

    assert (document["subject"], document["body"], document["location"], document["attendees"]) == ("", "", "", [])
    assert (document["sensitivity"], document["showAs"], document["canEdit"]) == ("private", "oof", False)
    for method in (api_of_bob.patch, api_of_bob.put):
        assert method(address, MEETING).status_code == 403
    assert api_of_bob.delete(address).status_code == 403
    assert Event.objects.get().subject == "Budget"


def test_search_does_not_find_private_events_of_others(api, api_of_bob, create):
    create(sensitivity="private")

    assert api_of_bob.get("/api/events?search=Budget").json()["value"] == []
    assert len(api.get("/api/events?search=Budget").json()["value"]) == 1


def test_new_event_is_in_the_default_calendar_of_the_caller(api_of_bob, calendar):
    assert api_of_bob.post("/api/events", MEETING).json()["calendarId"] != str(calendar.pk)
