"""Single events in the Graph API: members, responses and refused values."""

import pytest

from calendars.models import Calendar, Event, EventException
from tests.calendars.graph.conftest import YEAR, at, event, read_error, recurrence

VALUE = "ErrorPropertyValidationFailure"
LITERAL = "UnableToDeserializePostBody"
FULL = {
    "@odata.type": "#microsoft.graph.event",
    "subject": "Plan the week",
    "body": {"contentType": "html", "content": "<p>Bring <b>tea</b></p>"},
    "location": {"displayName": "Room 1", "locationType": "conferenceRoom", "address": {"city": "Berlin"}},
    "categories": ["Red", "Blue"],
    "attendees": [
        {"emailAddress": {"address": "bob@example.org", "name": "Bob"}, "type": "optional"},
        {"emailAddress": {"address": "eve@example.org"}},
    ],
    "showAs": "tentative",
    "sensitivity": "personal",
    "importance": "high",
    "isReminderOn": True,
    "reminderMinutesBeforeStart": 30,
    "transactionId": "a-key",
    "responseRequested": False,
    "isOnlineMeeting": True,
    "hideAttendees": True,
    "somethingElse": {"a": [1]},
}


def dump_calendars() -> list:
    return [list(model.objects.order_by("pk").values()) for model in (Calendar, Event, EventException)]


# Members of an event


def test_event_is_returned_as_it_was_sent(graph, calendar):
    made = graph.create(event(**FULL))

    read = graph.read(f"/me/events/{made['id']}")
    assert read == made
    for name in ("subject", "body", "categories", "showAs", "sensitivity", "importance", "isReminderOn"):
        assert read[name] == FULL[name]
    assert read["reminderMinutesBeforeStart"] == 30
    assert read["transactionId"] == "a-key"
    assert read["bodyPreview"] == "Bring tea"
    assert read["location"]["displayName"] == "Room 1"
    assert read["location"]["address"] == {"city": "Berlin"}
    assert read["locations"] == [read["location"]]
    assert [each["emailAddress"]["address"] for each in read["attendees"]] == ["bob@example.org", "eve@example.org"]
    assert [each["type"] for each in read["attendees"]] == ["optional", "required"]


def test_missing_members_of_an_event_have_defaults(graph, calendar):
    made = graph.create({"start": at("2026-01-05T10:00:00"), "end": at("2026-01-05T10:00:00")})

    expected = {
        "subject": "",
        "bodyPreview": "",
        "importance": "normal",
        "sensitivity": "normal",
        "showAs": "busy",
        "type": "singleInstance",
        "isAllDay": False,
        "isCancelled": False,
        "isOrganizer": True,
        "hasAttachments": False,
        "recurrence": None,
        "seriesMasterId": None,
        "occurrenceId": None,
        "categories": [],
        "attendees": [],
        "locations": [],
        "body": {"contentType": "html", "content": ""},
        "organizer": {"emailAddress": {"name": "ada", "address": "ada"}},
        "responseStatus": {"response": "organizer", "time": "0001-01-01T00:00:00Z"},
        "start": {"dateTime": "2026-01-05T10:00:00.0000000", "timeZone": "UTC"},
        "originalStartTimeZone": "UTC",
    }
    assert {name: made[name] for name in expected} == expected
    assert "transactionId" not in made
    assert "originalStart" not in made


def test_created_event_has_a_location_header(graph, calendar):
    response = graph.post("/me/events", event())

    assert response["Location"] == f"http://testserver/v1.0/me/events/{response.json()['id']}"
    assert graph.read(response["Location"])["id"] == response.json()["id"]


def test_patch_of_an_event_changes_only_the_sent_members(graph, calendar):
    made = graph.create(event(**FULL))

    changed = graph.change(made["id"], {"subject": "New", "showAs": "OOF"})

    sent = {"subject": "New", "showAs": "oof"}
    later = {name: changed[name] for name in ("@odata.etag", "changeKey", "lastModifiedDateTime")}
    assert changed == made | sent | later
    assert graph.read(f"/me/events/{made['id']}") == changed
    assert later["changeKey"] != made["changeKey"]


def test_patch_with_the_event_that_get_returns_changes_nothing(graph, calendar):
    single = graph.create(event(**FULL, zone="W. Europe Standard Time"))
    master = graph.create(event("2026-01-05T00:30:00", "2026-01-05T01:30:00", "Tokyo Standard Time", **SERIES))
    all_day = graph.create(event("2026-01-05T00:00:00", "2026-01-06T00:00:00", isAllDay=True, **SERIES))
    ids = [single["id"], master["id"], f"{master['id']}_20260112", all_day["id"], f"{all_day['id']}_20260112"]
    before = dump_calendars()

    for id in ids:
        for zone in ("UTC", "Eastern Standard Time", "Asia/Kolkata"):
            prefer = {"Prefer": f'outlook.timezone="{zone}", outlook.body-content-type="text"'}
            read = graph.read(f"/me/events/{id}", prefer)
            assert graph.change(id, read, prefer) == read

    assert dump_calendars() == before


SERIES = {"recurrence": recurrence()}


def test_patch_with_a_changed_get_response_changes_only_the_difference(graph, calendar):
    made = graph.create(event(**FULL))
    before = dump_calendars()

    read = graph.read(f"/me/events/{made['id']}")
    read["location"]["displayName"] = "Room 2"
    read["end"] = at("2026-01-05T13:00:00", "W. Europe Standard Time")
    changed = graph.change(made["id"], read)

    assert [each["displayName"] for each in changed["locations"]] == ["Room 2"]
    assert changed["end"]["dateTime"] == "2026-01-05T12:00:00.0000000"
    assert changed["start"] == made["start"]
    assert dump_calendars() != before


@pytest.mark.parametrize(
    "sent, names",
    [
        ({"location": {"displayName": "C"}}, ["C"]),
        ({"locations": [{"displayName": "C"}, {"displayName": "D"}]}, ["C", "D"]),
        ({"location": {"displayName": ""}}, []),
        ({"location": {}}, []),
        ({"location": None}, []),
        ({"locations": []}, []),
        ({"locations": [{"displayName": ""}]}, []),
        # both, as in a response: the changed one counts
        ({"location": {"displayName": "A"}, "locations": [{"displayName": "C"}]}, ["C"]),
        ({"location": {"displayName": "C"}, "locations": [{"displayName": "A"}, {"displayName": "B"}]}, ["C"]),
        ({"location": {"displayName": "C"}, "locations": [{"displayName": "C"}, {"displayName": "D"}]}, ["C", "D"]),
        ({"subject": "No place"}, ["A", "B"]),
    ],
)
def test_setting_the_location_replaces_the_locations(graph, calendar, sent, names):
    made = graph.create(event(locations=[{"displayName": "A"}, {"displayName": "B"}]))

    changed = graph.change(made["id"], sent)

    assert [each["displayName"] for each in changed["locations"]] == names
    assert changed["location"]["displayName"] == (names[0] if names else "")


def test_null_resets_a_member_to_its_default(graph, calendar):
    made = graph.create(event(**FULL))
    members = ("subject", "body", "location", "categories", "attendees", "showAs", "sensitivity", "importance")

    changed = graph.change(made["id"], dict.fromkeys((*members, "isReminderOn", "reminderMinutesBeforeStart")))

    blank = graph.create(event(subject=None))
    assert {name: changed[name] for name in members} == {name: blank[name] for name in members}
    assert (changed["isReminderOn"], changed["reminderMinutesBeforeStart"]) == (False, 15)


def test_attendees_are_stored_and_not_invited(graph, calendar):
    status = {"response": "accepted", "time": "2026-01-01T09:00:00Z"}
    sent = [{"emailAddress": {"address": "bob@example.org"}, "status": status, "type": "Resource"}]

    made = graph.create(event(attendees=sent))

    assert made["attendees"] == [{**sent[0], "type": "resource"}]
    assert graph.create(event(attendees=made["attendees"]))["attendees"] == made["attendees"]


@pytest.mark.parametrize("path", ["/me/events", "/me/calendar/events", "/me/calendars/{}/events"])
def test_repeated_transaction_id_creates_no_second_event(graph, calendar, path):
    path = path.format(calendar.pk)
    first = graph.create(event(transactionId="key"), path)

    again = graph.create(event(transactionId="key"), path)

    assert again == first
    assert len(graph.values("/me/events")) == 1
    assert graph.create(event(transactionId="other"), path)["id"] != first["id"]
    assert graph.create(event(transactionId=None), path)["id"] != graph.create(event(), path)["id"]


def test_transaction_id_cannot_be_changed(graph, calendar):
    made = graph.create(event(transactionId="key"))

    assert read_error(graph.patch(f"/me/events/{made['id']}", {"transactionId": "other"})) == (400, VALUE)
    assert graph.change(made["id"], {"transactionId": "key"})["transactionId"] == "key"


# The calendar of an event


def test_event_is_created_in_the_calendar_of_the_address(graph, calendar, other_calendar):
    default, target_in_message = (
        graph.create(event()),
        graph.create(event(), f"/me/calendars/{other_calendar.pk}/events"),
    )

    assert [each["id"] for each in graph.values("/me/events")] == [default["id"]]
    assert [each["id"] for each in graph.values("/me/calendar/events")] == [default["id"]]
    assert [each["id"] for each in graph.values(f"/me/calendars/{other_calendar.pk.hex}/events")] == [
        target_in_message["id"]
    ]
    assert graph.read(f"/me/events/{target_in_message['id']}") == target_in_message | {
        "@odata.context": default["@odata.context"]
    }


def test_event_list_has_masters_and_single_events_but_no_occurrences(graph, calendar):
    master, single = graph.create(event(**SERIES)), graph.create(event("2026-02-01T10:00:00", "2026-02-01T11:00:00"))

    found = graph.values("/me/events")

    assert [(each["id"], each["type"]) for each in found] == [
        (master["id"], "seriesMaster"),
        (single["id"], "singleInstance"),
    ]


def test_deleted_event_is_not_found(graph, calendar):
    made = graph.create(event(**SERIES))
    path = f"/me/events/{made['id']}"

    response = graph.delete(path)

    assert (response.status_code, response.content) == (204, b"")
    for answer in (graph.get(path), graph.patch(path, {}), graph.delete(path), graph.post(f"{path}/cancel")):
        assert read_error(answer) == (404, "ErrorItemNotFound")
    assert graph.get(f"{path}_20260112").status_code == 404
    assert graph.values("/me/events") == graph.values("/me/calendarView", **YEAR) == []


def test_cancelled_event_is_not_found(graph, calendar):
    made = graph.create(event())

    assert graph.post(f"/me/events/{made['id']}/cancel", {"comment": "Off"}).status_code == 202
    assert read_error(graph.get(f"/me/events/{made['id']}")) == (404, "ErrorItemNotFound")


# Bodies


@pytest.mark.parametrize(
    "sent, html, text",
    [
        ({"contentType": "html", "content": "<p>Hi &amp; <b>bye</b></p>"}, "<p>Hi &amp; <b>bye</b></p>", "Hi & bye"),
        ({"contentType": "HTML", "content": "<p>Hi"}, "<p>Hi", "Hi"),
        ({"contentType": "text", "content": "a < b\nc"}, "a &lt; b<br>\nc", "a < b\nc"),
        ({"content": "plain"}, "plain", "plain"),
        ({"contentType": "Text", "content": ""}, "", ""),
        ({"contentType": "html", "content": None}, "", ""),
    ],
)
def test_event_body_is_returned_as_html_or_text(graph, calendar, sent, html, text):
    made = graph.create(event(body=sent))

    assert made["body"] == {"contentType": "html", "content": html}
    returned = graph.get(f"/me/events/{made['id']}", {"Prefer": 'outlook.body-content-type="text"'})
    assert returned.json()["body"] == {"contentType": "text", "content": text}
    assert returned["Preference-Applied"] == 'outlook.body-content-type="text"'


def test_body_preview_has_at_most_255_characters(graph, calendar):
    made = graph.create(event(body={"contentType": "html", "content": "<style>p {}</style><p>" + "word " * 500}))

    assert made["bodyPreview"].startswith("word word")
    assert len(made["bodyPreview"]) <= 255


# Times


@pytest.mark.parametrize(
    "sent, returned",
    [
        (at("2026-07-01T10:00:00"), "2026-07-01T10:00:00"),
        (at("2026-07-01T10:00"), "2026-07-01T10:00:00"),
        (at("2026-07-01T10:00:00.1"), "2026-07-01T10:00:00"),
        (at("2026-07-01T10:00:00.1234567"), "2026-07-01T10:00:00"),
        (at("2026-07-01T10:00:00", "Eastern Standard Time"), "2026-07-01T14:00:00"),
        (at("2026-07-01T10:00:00", "America/New_York"), "2026-07-01T14:00:00"),
        (at("2026-07-01T10:00:00", "tzone://Microsoft/Utc"), "2026-07-01T10:00:00"),
        (at("2026-07-01T10:00:00", "Samoa Standard Time"), "2026-06-30T21:00:00"),
        # an offset gives the instant
        (at("2026-07-01T10:00:00Z", "Eastern Standard Time"), "2026-07-01T10:00:00"),
        (at("2026-07-01T10:00:00+02:00"), "2026-07-01T08:00:00"),
        ({"dateTime": "2026-07-01T10:00:00"}, "2026-07-01T10:00:00"),
        ({"dateTime": "2026-07-01T10:00:00", "timeZone": None, "@odata.type": "x"}, "2026-07-01T10:00:00"),
    ],
)
def test_start_of_an_event_is_parsed(graph, calendar, sent, returned):
    made = graph.create({"start": sent, "end": at("2026-07-02T10:00:00")})

    assert made["start"] == {"dateTime": f"{returned}.0000000", "timeZone": "UTC"}
    assert made["originalStartTimeZone"] == sent.get("timeZone") or "UTC"


def test_start_and_end_may_be_in_different_zones(graph, calendar):
    made = graph.create(
        {"start": at("2026-07-01T10:00:00", "Tokyo Standard Time"), "end": at("2026-07-01T05:00:00", "Europe/Berlin")}
    )

    assert (made["start"]["dateTime"][11:16], made["end"]["dateTime"][11:16]) == ("01:00", "03:00")
    assert (made["originalStartTimeZone"], made["originalEndTimeZone"]) == ("Tokyo Standard Time", "Europe/Berlin")


@pytest.mark.parametrize("prefer", ["UTC", "Hawaiian Standard Time", "Pacific/Kiritimati"])
def test_all_day_event_keeps_its_dates_in_each_zone(graph, calendar, prefer):
    header = {"Prefer": f'outlook.timezone="{prefer}"'}
    made = graph.create(
        event("2026-03-10T00:00:00", "2026-03-12T00:00:00", "Pacific Standard Time", isAllDay=True), headers=header
    )

    assert made["isAllDay"] is True
    assert made["start"] == {"dateTime": "2026-03-10T00:00:00.0000000", "timeZone": prefer}
    assert made["end"] == {"dateTime": "2026-03-12T00:00:00.0000000", "timeZone": prefer}
    window = {"startDateTime": "2026-03-11T12:00:00Z", "endDateTime": "2026-03-11T13:00:00Z"}
    assert [each["start"] for each in graph.values("/me/calendarView", header, **window)] == [made["start"]]
    later = {"startDateTime": "2026-03-12T00:00:00Z", "endDateTime": "2026-03-13T00:00:00Z"}
    assert graph.values("/me/calendarView", header, **later) == []


def test_event_can_become_all_day_and_back(graph, calendar):
    made = graph.create(event())

    days = {"start": at("2026-01-05T00:00:00"), "end": at("2026-01-06T00:00:00")}
    assert graph.change(made["id"], {"isAllDay": True, **days})["isAllDay"] is True
    back = graph.change(made["id"], {"isAllDay": False, "start": made["start"], "end": made["end"]})
    assert (back["start"], back["end"], back["isAllDay"]) == (made["start"], made["end"], False)


# Refused values

MALFORMED = [
    ({"subject": 5}, LITERAL, "subject"),
    ({"subject": ["a"]}, LITERAL, "subject"),
    ({"subject": "x" * 256}, VALUE, "subject"),
    ({"body": "text"}, LITERAL, "body"),
    ({"body": {"contentType": "markdown", "content": ""}}, VALUE, "body.contentType"),
    ({"body": {"contentType": "html", "content": 5}}, LITERAL, "body.content"),
    ({"body": {"contentType": "html", "content": "x" * 300_000}}, VALUE, "body.content"),
    ({"start": None}, VALUE, "start"),
    ({"start": {}}, VALUE, "start.dateTime"),
    ({"start": "2026-01-05T10:00:00"}, LITERAL, "start"),
    ({"start": at("2026-01-05")}, LITERAL, "start.dateTime"),
    ({"start": at("05/01/2026 10:00")}, LITERAL, "start.dateTime"),
    ({"start": at(5)}, LITERAL, "start.dateTime"),
    ({"start": at("2026-02-30T10:00:00")}, VALUE, "start.dateTime"),
    ({"start": at("2026-01-05T25:00:00")}, VALUE, "start.dateTime"),
    ({"start": at("2026-01-05T10:00:00.12345678")}, LITERAL, "start.dateTime"),
    ({"start": at("0001-01-01T00:00:00")}, VALUE, "start"),
    ({"start": at("0001-01-01T00:00:00", "Tokyo Standard Time")}, VALUE, "start"),
    ({"end": at("9999-12-31T23:59:59", "Hawaiian Standard Time")}, VALUE, "end"),
    ({"start": at("0001-01-01T00:00:00+14:00")}, VALUE, "start.dateTime"),
    ({"start": at("2026-01-05T10:00:00", "Middle-earth")}, "TimeZoneNotSupportedException", "start.timeZone"),
    ({"end": at("2026-01-05T11:00:00", "")}, "TimeZoneNotSupportedException", "end.timeZone"),
    ({"end": at("2026-01-05T11:00:00", "x" * 5000)}, "TimeZoneNotSupportedException", "end.timeZone"),
    ({"end": at("2026-01-05T11:00:00", 5)}, LITERAL, "end.timeZone"),
    ({"end": at("2026-01-05T09:59:59")}, "ErrorCalendarEndDateIsEarlierThanStartDate", "end"),
    ({"end": at("2126-01-05T09:59:59")}, VALUE, "end"),
    ({"isAllDay": True}, VALUE, "start"),
    ({"isAllDay": "yes"}, LITERAL, "isAllDay"),
    ({"isAllDay": 1}, LITERAL, "isAllDay"),
    ({"showAs": "away"}, VALUE, "showAs"),
    ({"showAs": 1}, LITERAL, "showAs"),
    ({"sensitivity": "secret"}, VALUE, "sensitivity"),
    ({"importance": "urgent"}, VALUE, "importance"),
    ({"isReminderOn": "true"}, LITERAL, "isReminderOn"),
    ({"reminderMinutesBeforeStart": -1}, VALUE, "reminderMinutesBeforeStart"),
    ({"reminderMinutesBeforeStart": 2**62}, VALUE, "reminderMinutesBeforeStart"),
    ({"reminderMinutesBeforeStart": 1.5}, LITERAL, "reminderMinutesBeforeStart"),
    ({"reminderMinutesBeforeStart": "15"}, LITERAL, "reminderMinutesBeforeStart"),
    ({"categories": "Red"}, LITERAL, "categories"),
    ({"categories": [5]}, LITERAL, "categories[0]"),
    ({"categories": ["x" * 300]}, VALUE, "categories[0]"),
    ({"categories": [str(n) for n in range(200)]}, "ErrorQuotaExceeded", "categories"),
    ({"location": "Room 1"}, LITERAL, "location"),
    ({"location": {"displayName": 5}}, LITERAL, "location.displayName"),
    ({"location": {"address": "Berlin"}}, LITERAL, "location.address"),
    ({"location": {"coordinates": {"latitude": "north"}}}, LITERAL, "location.coordinates.latitude"),
    ({"location": {"coordinates": {"latitude": 1e300}}}, VALUE, "location.coordinates.latitude"),
    ({"locations": {}}, LITERAL, "locations"),
    ({"locations": ["Room 1"]}, LITERAL, "locations[0]"),
    ({"attendees": {}}, LITERAL, "attendees"),
    ({"attendees": ["bob@example.org"]}, LITERAL, "attendees[0]"),
    ({"attendees": [{}]}, VALUE, "attendees[0].emailAddress"),
    ({"attendees": [{"emailAddress": {"name": "Bob"}}]}, VALUE, "attendees[0].emailAddress.address"),
    ({"attendees": [{"emailAddress": {"address": 5}}]}, LITERAL, "attendees[0].emailAddress.address"),
    ({"attendees": [{"emailAddress": {"address": "b"}, "type": "boss"}]}, VALUE, "attendees[0].type"),
    ({"attendees": [{"emailAddress": {"address": "b\r\nBcc: c"}}]}, VALUE, "attendees[0].emailAddress.address"),
    ({"attendees": [{"emailAddress": {"address": "b\x85"}}]}, VALUE, "attendees[0].emailAddress.address"),
    (
        {"attendees": [{"emailAddress": {"address": "b"}, "status": {"response": "x"}}]},
        VALUE,
        "attendees[0].status.response",
    ),
    (
        {"attendees": [{"emailAddress": {"address": "b"}, "status": {"time": "soon"}}]},
        LITERAL,
        "attendees[0].status.time",
    ),
    ({"transactionId": 5}, LITERAL, "transactionId"),
    ({"transactionId": "x" * 300}, VALUE, "transactionId"),
    ({"recurrence": 5}, LITERAL, "recurrence"),
    ({"recurrence": []}, LITERAL, "recurrence"),
    ({"recurrence": {}}, VALUE, "recurrence.pattern"),
]


@pytest.mark.parametrize("members, code, target", MALFORMED)
def test_error_names_the_invalid_member_and_no_event_is_created(graph, calendar, members, code, target):
    before = dump_calendars()

    response = graph.post("/me/events", event() | members)

    assert response.status_code == 400, response.content
    error = response.json()["error"]
    assert (error["code"], error["message"].partition(": ")[0]) == (code, target)
    assert dump_calendars() == before


@pytest.mark.parametrize("members, code, target", MALFORMED)
def test_refused_patch_changes_nothing(graph, calendar, members, code, target):
    single, master = graph.create(event())["id"], graph.create(event(**SERIES))["id"]
    before = dump_calendars()

    for id in (single, master, f"{master}_20260112"):
        response = graph.patch(f"/me/events/{id}", {"subject": "New", "showAs": "free"} | members)

        assert response.status_code == 400, response.content
        target_in_message = response.json()["error"]["message"].partition(": ")[0]
        assert target_in_message == target or target.startswith(
            ("start", "end", "isAllDay", "transactionId", "recurrence")
        )
    assert dump_calendars() == before


@pytest.mark.parametrize("member", ["start", "end"])
def test_error_names_a_missing_start_or_end(graph, calendar, member):
    body = event()
    del body[member]

    error = graph.post("/me/events", body).json()["error"]

    assert (error["code"], error["message"]) == (VALUE, f"{member}: is required")


def test_error_message_repeats_only_a_short_part_of_the_value(graph, calendar):
    for members in ({"showAs": "x" * 9000}, {"start": at("x" * 9000)}, {"recurrence": {"pattern": "x" * 9000}}):
        assert len(graph.post("/me/events", event() | members).content) < 700


READ = [
    "subject",
    "body",
    "start",
    "end",
    "isAllDay",
    "recurrence",
    "location",
    "locations",
    "categories",
    "attendees",
    "showAs",
    "sensitivity",
    "importance",
    "isReminderOn",
    "reminderMinutesBeforeStart",
    "transactionId",
    "id",
    "@odata.type",
]
PARTS = {
    "pattern": ("type", "interval", "month", "dayOfMonth", "daysOfWeek", "firstDayOfWeek", "index"),
    "range": ("type", "startDate", "endDate", "recurrenceTimeZone", "numberOfOccurrences"),
}


@pytest.mark.parametrize("value", [5, 1.5, True, [[]], {"a": {"b": ["c"]}}, 2**63 - 1, -1, "x" * 9000, "", "\u202e"])
def test_invalid_values_never_cause_a_server_error(graph, calendar, value):
    made = graph.create(event(**SERIES))["id"]

    for member in READ:
        assert graph.post("/me/events", event() | {member: value}).status_code < 500
        assert graph.patch(f"/me/events/{made}_20260112", {member: value}).status_code < 500
    for part, members in PARTS.items():
        for member in members:
            sent = recurrence()
            sent[part] = sent[part] | {member: value}
            assert graph.patch(f"/me/events/{made}", {"recurrence": sent}).status_code < 500
