"""Shared calendars in the Graph API: visibility and permissions."""

import pytest

from accounts.models import Role
from calendars.models import Calendar, Event, EventException, Share
from tests.calendars.graph.conftest import YEAR, event, read_error, recurrence

MISSING = (404, "ErrorItemNotFound")
DENIED = (403, "ErrorAccessDenied")
WINDOW = "startDateTime=2026-01-01T00:00:00Z&endDateTime=2027-01-01T00:00:00Z"
READS = (
    "/users/ada",
    "/users/ada/calendar",
    "/users/ada/calendars",
    "/users/ada/calendars/{calendar}",
    "/me/calendars/{calendar}",
    "/users/ada/events",
    "/me/calendars/{calendar}/events",
    "/users/ada/events/{event}",
    "/me/events/{event}",
    "/me/events/{event}_20260112",
    f"/me/events/{{event}}/instances?{WINDOW}",
    f"/users/ada/calendarView?{WINDOW}",
    f"/me/calendars/{{calendar}}/calendarView?{WINDOW}",
    f"/users/ada/calendarView/delta?{WINDOW}",
)
WRITES = (
    ("POST", "/users/ada/events", event()),
    ("POST", "/me/calendars/{calendar}/events", event()),
    ("PATCH", "/me/events/{event}", {"subject": "New"}),
    ("PATCH", "/users/ada/events/{event}_20260112", {"subject": "New"}),
    ("DELETE", "/me/events/{event}", None),
    ("DELETE", "/me/events/{event}_20260112", None),
    ("POST", "/me/events/{event}/cancel", {}),
)
OWNER_WRITES = (
    ("POST", "/users/ada/calendars", {"name": "New"}),
    ("PATCH", "/me/calendars/{calendar}", {"name": "New"}),
    ("PATCH", "/users/ada/calendar", {"name": "New"}),
    ("DELETE", "/me/calendars/{calendar}", None),
)


@pytest.fixture
def places(graph, calendar) -> dict:
    return {"calendar": calendar.pk.hex, "event": graph.create(event(recurrence=recurrence()))["id"]}


def dump_calendars() -> list:
    return [list(model.objects.order_by("pk").values()) for model in (Calendar, Event, EventException)]


def test_calendar_that_is_not_shared_is_not_found(places, make_graph_client):
    stranger = make_graph_client("eve")
    stranger.get("/me/calendar")
    before = dump_calendars()

    for method, path, body in [*(("GET", path, None) for path in READS), *WRITES, *OWNER_WRITES]:
        assert read_error(stranger.call(method, path.format(**places), body)) == MISSING, path
    assert dump_calendars() == before


@pytest.mark.parametrize(
    "name", ["bob", "nobody", "0", "99999999999999999999999", "bob@example.org", "%00", "", "..%2f"]
)
def test_user_without_shared_calendars_is_not_found(graph, make_graph_client, calendar, name):
    make_graph_client("bob", email="bob@example.org")

    for path in ("", "/calendars", "/events", "/calendar"):
        assert read_error(graph.get(f"/users/{name}{path}")) == MISSING


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_shared_calendar_can_be_read(places, make_sharing_client, role):
    caller = make_sharing_client(role=role)

    for path in READS:
        assert caller.get(path.format(**places)).status_code == 200, path


@pytest.mark.parametrize("role, token_role", [(Role.READER, Role.OWNER), (Role.OPERATOR, Role.READER)])
def test_reader_cannot_change_a_shared_calendar(places, make_sharing_client, role, token_role):
    reader = make_sharing_client(role=role, token_role=token_role)
    before = dump_calendars()

    for method, path, body in WRITES:
        assert read_error(reader.call(method, path.format(**places), body)) == DENIED, path
    assert dump_calendars() == before


@pytest.mark.parametrize("method, path, body", WRITES)
@pytest.mark.parametrize("token_role", [Role.OPERATOR, Role.OWNER])
def test_operator_can_change_events_of_a_shared_calendar(places, make_sharing_client, token_role, method, path, body):
    operator = make_sharing_client(role=Role.OPERATOR, token_role=token_role)

    assert operator.call(method, path.format(**places), body).status_code < 300


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_only_the_owner_can_change_the_calendar_itself(places, make_sharing_client, role):
    other = make_sharing_client(role=role)
    before = dump_calendars()

    for method, path, body in OWNER_WRITES:
        assert read_error(other.call(method, path.format(**places), body)) == DENIED, path
    assert dump_calendars() == before


def test_shared_calendars_are_listed_with_their_permissions(places, make_sharing_client, graph):
    reader, operator = make_sharing_client("rea"), make_sharing_client("oli", Role.OPERATOR)
    reader.get("/me/calendar"), operator.get("/me/calendar")

    for caller, can_edit in ((reader, False), (operator, True)):
        shared = {each["id"]: each for each in caller.values("/me/calendars")}[places["calendar"]]
        assert (shared["owner"]["name"], shared["canEdit"]) == ("ada", can_edit)
        assert (shared["canShare"], shared["isRemovable"], shared["isDefaultCalendar"]) == (False, False, False)
        assert len(caller.values("/me/calendars")) == 2
        assert [each["id"] for each in caller.values("/users/ada/calendars")] == [places["calendar"]]


def test_user_is_found_by_id_name_or_mail_address(places, make_sharing_client, owner):
    owner.email = "ada@example.org"
    owner.save()
    reader = make_sharing_client()

    for name in (owner.pk, "ada", "ada@example.org", "Ada@Example.org"):
        assert reader.read(f"/users/{name}/events")["value"][0]["id"] == places["event"]


def test_user_id_takes_precedence_over_an_equal_user_name(places, make_sharing_client, make_graph_client, owner):
    reader = make_sharing_client()
    double = make_graph_client(str(owner.pk))
    Share.objects.create(calendar=Calendar.objects.default_of(double.user), user=reader.user)

    assert reader.read(f"/users/{owner.pk}")["displayName"] == "ada"


def test_mail_address_of_a_user_ignores_case(places, make_sharing_client, owner):
    owner.email = "Ada@example.org"
    owner.save()

    assert make_sharing_client().read("/users/aDA@Example.org")["displayName"] == "ada"


def test_events_of_calendars_that_are_not_shared_are_not_found(places, make_sharing_client, other_calendar, graph):
    hidden = graph.create(event(), f"/me/calendars/{other_calendar.pk}/events")["id"]
    operator = make_sharing_client(role=Role.OPERATOR)

    for path in (f"/me/events/{hidden}", f"/users/ada/events/{hidden}", f"/users/ada/calendars/{other_calendar.pk}"):
        assert read_error(operator.get(path)) == MISSING
    assert read_error(operator.patch(f"/me/events/{hidden}", {"subject": "x"})) == MISSING


def test_default_calendar_that_is_not_shared_is_not_found(make_graph_client, other_calendar, calendar):
    reader = make_graph_client("rea")
    Share.objects.create(calendar=other_calendar, user=reader.user)

    assert [each["id"] for each in reader.values("/users/ada/calendars")] == [other_calendar.pk.hex]
    for path in ("/users/ada/calendar", "/users/ada/events", f"/users/ada/calendarView?{WINDOW}"):
        assert read_error(reader.get(path)) == MISSING


def test_event_is_not_found_below_a_user_who_does_not_own_it(places, make_sharing_client, make_graph_client, graph):
    reader = make_sharing_client()
    third = make_graph_client("third")
    Share.objects.create(calendar=Calendar.objects.default_of(third.user), user=reader.user)

    assert read_error(reader.get(f"/users/third/events/{places['event']}")) == MISSING
    assert read_error(reader.get(f"/users/third/calendars/{places['calendar']}")) == MISSING


# Private events


@pytest.fixture
def secret(graph, calendar) -> str:
    body = {"contentType": "text", "content": "tell nobody"}
    members = {
        "subject": "Zsecret",
        "body": body,
        "location": {"displayName": "hideout"},
        "categories": ["hush"],
        "attendees": [{"emailAddress": {"address": "spy@example.org"}}],
    }
    return graph.create(event(recurrence=recurrence(), sensitivity="private", **members))["id"]


WORDS = ("secret", "nobody", "hideout", "hush", "spy@")


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_others_see_only_the_time_of_a_private_event(secret, make_sharing_client, role):
    other = make_sharing_client(role=role)

    for path in (
        f"/me/events/{secret}",
        f"/me/events/{secret}_20260112",
        "/users/ada/events",
        f"/users/ada/calendarView?{WINDOW}",
        f"/me/events/{secret}/instances?{WINDOW}",
        f"/users/ada/calendarView/delta?{WINDOW}",
    ):
        text = other.get(path).content.decode()
        assert "2026-01-" in text
        assert not any(word in text for word in WORDS), path


def test_private_occurrence_does_not_hide_the_rest_of_its_series(graph, calendar, make_sharing_client):
    master = graph.create(event(recurrence=recurrence()))["id"]
    graph.change(f"{master}_20260112", {"subject": "Zsecret", "sensitivity": "confidential"})
    reader = make_sharing_client()

    expanded = reader.read(f"/me/events/{master}", _expand="exceptionOccurrences")["exceptionOccurrences"]
    subjects = [each["subject"] for each in reader.values("/users/ada/calendarView", _top=3, **YEAR)]

    assert [each["subject"] for each in expanded] == [""]
    assert subjects[:3] == ["Stand-up", "", "Stand-up"]


@pytest.mark.parametrize(
    "filter", ["contains(subject,'secret')", "startswith(subject,'Z')", "subject eq 'Zsecret'", "not (subject eq '')"]
)
def test_filter_does_not_reveal_private_values(secret, make_sharing_client, filter):
    reader = make_sharing_client()

    assert reader.values("/users/ada/events", _filter=filter) == []
    assert reader.values("/users/ada/calendarView", _filter=filter, **YEAR) == []
    assert reader.values("/users/ada/events", _filter="subject eq ''")


def test_sorting_does_not_reveal_private_values(graph, secret, make_sharing_client):
    graph.create(event(subject="M"))
    reader = make_sharing_client()

    assert [each["subject"] for each in reader.values("/users/ada/events", _orderby="subject")] == ["", "M"]


def test_private_event_can_be_changed_only_by_its_owner(graph, secret, make_sharing_client):
    operator = make_sharing_client(role=Role.OPERATOR)
    before = dump_calendars()

    for id in (secret, f"{secret}_20260112"):
        assert read_error(operator.patch(f"/me/events/{id}", {"subject": "Seen"})) == DENIED
        assert read_error(operator.delete(f"/me/events/{id}")) == DENIED
        assert read_error(operator.post(f"/me/events/{id}/cancel")) == DENIED
    assert dump_calendars() == before
    assert graph.change(secret, {"subject": "Mine"})["subject"] == "Mine"


def test_organizer_of_an_event_is_the_owner_of_its_calendar(graph, calendar, make_sharing_client):
    id = graph.create(event())["id"]

    assert graph.read(f"/me/events/{id}")["isOrganizer"] is True
    shared = make_sharing_client().read(f"/me/events/{id}")
    assert (shared["isOrganizer"], shared["organizer"]["emailAddress"]["name"]) == (False, "ada")


def test_transaction_id_of_a_private_event_is_visible_only_to_its_owner(graph, calendar, make_sharing_client):
    id = graph.create(event(sensitivity="private", transactionId="raise-of-bob"))["id"]

    assert graph.read(f"/me/events/{id}")["transactionId"] == "raise-of-bob"
    assert "transactionId" not in make_sharing_client(role=Role.OPERATOR).read(f"/me/events/{id}")
