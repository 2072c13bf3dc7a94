"""Calendars of others: who finds what, and who may do what with it."""

import pytest

from accounts.models import Role
from calendars.models import Calendar, Event, EventException, Share
from tests.calendars.graph.conftest import YEAR, error_of, event, recurrence

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
OWNERS = (
    ("POST", "/users/ada/calendars", {"name": "New"}),
    ("PATCH", "/me/calendars/{calendar}", {"name": "New"}),
    ("PATCH", "/users/ada/calendar", {"name": "New"}),
    ("DELETE", "/me/calendars/{calendar}", None),
)


@pytest.fixture
def places(graph, calendar) -> dict:
    return {"calendar": calendar.pk.hex, "event": graph.create(event(recurrence=recurrence()))["id"]}


def everything() -> list:
    return [list(model.objects.order_by("pk").values()) for model in (Calendar, Event, EventException)]


def test_a_stranger_finds_nothing(places, graph_of):
    stranger = graph_of("eve")
    stranger.get("/me/calendar")
    before = everything()

    for method, path, body in [*(("GET", path, None) for path in READS), *WRITES, *OWNERS]:
        assert error_of(stranger.call(method, path.format(**places), body)) == MISSING, path
    assert everything() == before


@pytest.mark.parametrize(
    "name", ["bob", "nobody", "0", "99999999999999999999999", "bob@example.org", "%00", "", "..%2f"]
)
def test_who_shares_nothing_looks_like_nobody(graph, graph_of, calendar, name):
    graph_of("bob", email="bob@example.org")

    for path in ("", "/calendars", "/events", "/calendar"):
        assert error_of(graph.get(f"/users/{name}{path}")) == MISSING


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_who_sees_a_calendar_reads_it(places, sharing, role):
    caller = sharing(role=role)

    for path in READS:
        assert caller.get(path.format(**places)).status_code == 200, path


@pytest.mark.parametrize("role, token_role", [(Role.READER, Role.OWNER), (Role.OPERATOR, Role.READER)])
def test_a_reader_changes_nothing(places, sharing, role, token_role):
    reader = sharing(role=role, token_role=token_role)
    before = everything()

    for method, path, body in WRITES:
        assert error_of(reader.call(method, path.format(**places), body)) == DENIED, path
    assert everything() == before


@pytest.mark.parametrize("method, path, body", WRITES)
@pytest.mark.parametrize("token_role", [Role.OPERATOR, Role.OWNER])
def test_an_operator_changes_events(places, sharing, token_role, method, path, body):
    operator = sharing(role=Role.OPERATOR, token_role=token_role)

    assert operator.call(method, path.format(**places), body).status_code < 300


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_a_calendar_itself_is_its_owners(places, sharing, role):
    other = sharing(role=role)
    before = everything()

    for method, path, body in OWNERS:
        assert error_of(other.call(method, path.format(**places), body)) == DENIED, path
    assert everything() == before


def test_shared_calendars_are_listed_with_what_may_be_done(places, sharing, graph):
    reader, operator = sharing("rea"), sharing("oli", Role.OPERATOR)
    reader.get("/me/calendar"), operator.get("/me/calendar")

    for caller, can_edit in ((reader, False), (operator, True)):
        shared = {each["id"]: each for each in caller.values("/me/calendars")}[places["calendar"]]
        assert (shared["owner"]["name"], shared["canEdit"]) == ("ada", can_edit)
        assert (shared["canShare"], shared["isRemovable"], shared["isDefaultCalendar"]) == (False, False, False)
        assert len(caller.values("/me/calendars")) == 2
        assert [each["id"] for each in caller.values("/users/ada/calendars")] == [places["calendar"]]


def test_a_person_is_named_by_number_name_or_mail(places, sharing, owner):
    owner.email = "ada@example.org"
    owner.save()
    reader = sharing()

    for name in (owner.pk, "ada", "ada@example.org", "Ada@Example.org"):
        assert reader.read(f"/users/{name}/events")["value"][0]["id"] == places["event"]


def test_a_number_names_the_person_before_the_one_with_that_user_name(places, sharing, graph_of, owner):
    reader = sharing()
    double = graph_of(str(owner.pk))
    Share.objects.create(calendar=Calendar.objects.default_of(double.user), user=reader.user)

    assert reader.read(f"/users/{owner.pk}")["displayName"] == "ada"


def test_an_address_names_its_person_in_any_case(places, sharing, owner):
    owner.email = "Ada@example.org"
    owner.save()

    assert sharing().read("/users/aDA@Example.org")["displayName"] == "ada"


def test_only_the_calendars_that_are_shared_are_found(places, sharing, other_calendar, graph):
    hidden = graph.create(event(), f"/me/calendars/{other_calendar.pk}/events")["id"]
    operator = sharing(role=Role.OPERATOR)

    for path in (f"/me/events/{hidden}", f"/users/ada/events/{hidden}", f"/users/ada/calendars/{other_calendar.pk}"):
        assert error_of(operator.get(path)) == MISSING
    assert error_of(operator.patch(f"/me/events/{hidden}", {"subject": "x"})) == MISSING


def test_a_default_calendar_that_is_not_shared_is_not_found(graph_of, other_calendar, calendar):
    reader = graph_of("rea")
    Share.objects.create(calendar=other_calendar, user=reader.user)

    assert [each["id"] for each in reader.values("/users/ada/calendars")] == [other_calendar.pk.hex]
    for path in ("/users/ada/calendar", "/users/ada/events", f"/users/ada/calendarView?{WINDOW}"):
        assert error_of(reader.get(path)) == MISSING


def test_an_event_of_another_person_is_not_found_below_a_third(places, sharing, graph_of, graph):
    reader = sharing()
    third = graph_of("third")
    Share.objects.create(calendar=Calendar.objects.default_of(third.user), user=reader.user)

    assert error_of(reader.get(f"/users/third/events/{places['event']}")) == MISSING
    assert error_of(reader.get(f"/users/third/calendars/{places['calendar']}")) == MISSING


# What is private


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
def test_of_what_is_private_others_see_that_it_is(secret, sharing, role):
    other = sharing(role=role)

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


def test_an_occurrence_that_is_private_is_veiled_alone(graph, calendar, sharing):
    master = graph.create(event(recurrence=recurrence()))["id"]
    graph.change(f"{master}_20260112", {"subject": "Zsecret", "sensitivity": "confidential"})
    reader = sharing()

    expanded = reader.read(f"/me/events/{master}", _expand="exceptionOccurrences")["exceptionOccurrences"]
    subjects = [each["subject"] for each in reader.values("/users/ada/calendarView", _top=3, **YEAR)]

    assert [each["subject"] for each in expanded] == [""]
    assert subjects[:3] == ["Stand-up", "", "Stand-up"]


@pytest.mark.parametrize(
    "filter", ["contains(subject,'secret')", "startswith(subject,'Z')", "subject eq 'Zsecret'", "not (subject eq '')"]
)
def test_nobody_finds_out_by_asking(secret, sharing, filter):
    reader = sharing()

    assert reader.values("/users/ada/events", _filter=filter) == []
    assert reader.values("/users/ada/calendarView", _filter=filter, **YEAR) == []
    assert reader.values("/users/ada/events", _filter="subject eq ''")


def test_nobody_finds_out_by_sorting(graph, secret, sharing):
    graph.create(event(subject="M"))
    reader = sharing()

    assert [each["subject"] for each in reader.values("/users/ada/events", _orderby="subject")] == ["", "M"]


def test_what_is_private_is_changed_by_its_owner(graph, secret, sharing):
    operator = sharing(role=Role.OPERATOR)
    before = everything()

    for id in (secret, f"{secret}_20260112"):
        assert error_of(operator.patch(f"/me/events/{id}", {"subject": "Seen"})) == DENIED
        assert error_of(operator.delete(f"/me/events/{id}")) == DENIED
        assert error_of(operator.post(f"/me/events/{id}/cancel")) == DENIED
    assert everything() == before
    assert graph.change(secret, {"subject": "Mine"})["subject"] == "Mine"


def test_whose_event_it_is_can_be_told(graph, calendar, sharing):
    id = graph.create(event())["id"]

    assert graph.read(f"/me/events/{id}")["isOrganizer"] is True
    theirs = sharing().read(f"/me/events/{id}")
    assert (theirs["isOrganizer"], theirs["organizer"]["emailAddress"]["name"]) == (False, "ada")


def test_the_key_of_something_private_is_its_owners(graph, calendar, sharing):
    id = graph.create(event(sensitivity="private", transactionId="raise-of-bob"))["id"]

    assert graph.read(f"/me/events/{id}")["transactionId"] == "raise-of-bob"
    assert "transactionId" not in sharing(role=Role.OPERATOR).read(f"/me/events/{id}")
