"""Calendars and people."""

import pytest

from calendars.models import Calendar, Color
from tests.calendars.graph.conftest import error_of, event

VALUE = "ErrorPropertyValidationFailure"
LITERAL = "UnableToDeserializePostBody"


def test_the_default_calendar_is_there(graph, owner):
    read = graph.read("/me/calendar")

    expected = {
        "name": "Calendar",
        "isDefaultCalendar": True,
        "canEdit": True,
        "canShare": True,
        "canViewPrivateItems": True,
        "isRemovable": False,
        "owner": {"name": "ada", "address": "ada"},
    }
    assert {name: read[name] for name in expected} == expected
    assert [each["id"] for each in graph.values("/me/calendars")] == [read["id"]]
    assert graph.read(f"/me/calendars/{read['id']}")["id"] == read["id"]


def test_an_owner_is_named_by_mail_and_whole_name(graph, owner):
    owner.first_name, owner.last_name, owner.email = "Ada", "Lovelace", "ada@example.org"
    owner.save()

    assert graph.read("/me/calendar")["owner"] == {"name": "Ada Lovelace", "address": "ada@example.org"}
    made = graph.create(event())
    assert made["organizer"] == {"emailAddress": {"name": "Ada Lovelace", "address": "ada@example.org"}}


def test_a_calendar_lives_and_dies(graph, calendar):
    response = graph.post("/me/calendars", {"name": "Work", "color": "LightGreen"})
    made = response.json()
    path = f"/me/calendars/{made['id']}"
    assert (response.status_code, made["name"], made["color"], made["hexColor"]) == (
        201,
        "Work",
        "lightGreen",
        "#5d913c",
    )
    assert (made["isDefaultCalendar"], made["isRemovable"]) == (False, True)

    changed = graph.patch(path, {"name": "Home", "color": "lightRed"}).json()
    assert (changed["name"], changed["color"], changed["changeKey"] != made["changeKey"]) == ("Home", "lightRed", True)
    assert graph.read(path) == changed
    graph.create(event(), f"{path}/events")

    assert graph.delete(path).status_code == 204
    assert error_of(graph.get(path)) == (404, "ErrorItemNotFound")
    assert [each["name"] for each in graph.values("/me/calendars")] == ["Calendar"]


def test_what_get_returns_patch_takes(graph, calendar, other_calendar):
    for hue in Color.values:
        Calendar.objects.filter(pk=other_calendar.pk).update(hue=hue)
        read = graph.read(f"/me/calendars/{other_calendar.pk}")

        assert graph.patch(f"/me/calendars/{other_calendar.pk}", read).json() == read


@pytest.mark.parametrize("colour", ["auto", "lightBlue", "lightGray", "lightBrown", "LIGHTPINK"])
def test_every_colour_of_theirs_is_one_of_ours(graph, calendar, colour):
    assert graph.post("/me/calendars", {"name": "Work", "color": colour}).status_code == 201


def test_the_default_calendar_stays(graph, calendar):
    for path in ("/me/calendar", f"/me/calendars/{calendar.pk}"):
        assert error_of(graph.delete(path)) == (400, "ErrorDeleteDistinguishedFolder")
    assert graph.patch("/me/calendar", {"name": "Mine"}).json()["name"] == "Mine"


@pytest.mark.parametrize(
    "body, code, target",
    [
        ({}, VALUE, "name"),
        ({"name": None}, VALUE, "name"),
        ({"name": ""}, VALUE, "name"),
        ({"name": "  "}, VALUE, "name"),
        ({"name": 5}, LITERAL, "name"),
        ({"name": "x" * 300}, VALUE, "name"),
        ({"name": "a\nb"}, VALUE, "name"),
        ({"name": "Work", "color": "mauve"}, VALUE, "color"),
        ({"name": "Work", "color": 5}, LITERAL, "color"),
        ({"name": "Work", "color": "maxColor"}, VALUE, "color"),
    ],
)
def test_a_wrong_calendar_is_refused(graph, calendar, other_calendar, body, code, target):
    before = list(Calendar.objects.values())

    calls = [graph.post("/me/calendars", body)]
    if body and body.get("name") is not None:
        calls.append(graph.patch(f"/me/calendars/{other_calendar.pk}", body))

    for response in calls:
        error = response.json()["error"]
        named = error["message"].partition(": ")[0]
        assert (response.status_code, error["code"], named) == (400, code, target)
    assert list(Calendar.objects.values()) == before


def test_a_list_of_calendars_has_pages_order_and_filters(graph, calendar):
    for name in ("b", "C", "a"):
        graph.post("/me/calendars", {"name": name})

    assert [each["name"] for each in graph.values("/me/calendars", _top=2)] == ["Calendar", "b", "C", "a"]
    assert [each["name"] for each in graph.values("/me/calendars", _orderby="name", _top=1)] == [
        "a",
        "b",
        "C",
        "Calendar",
    ]
    assert [each["name"] for each in graph.values("/me/calendars", _filter="name eq 'B'")] == ["b"]
    assert [set(each) for each in graph.values("/me/calendars", _select="name", _top=1)] == [{"id", "name"}] * 4
    assert graph.read("/me/calendars", _count="true")["@odata.count"] == 4
    assert error_of(graph.get("/me/calendars", _filter="color eq 'auto'")) == (400, "BadRequest")
    assert error_of(graph.get("/me/calendars", _expand="events")) == (400, "BadRequest")


def test_people_are_told(graph, owner, calendar):
    owner.first_name, owner.email = "Ada", "ada@example.org"
    owner.save()

    me = graph.read("/me")

    expected = {"id": str(owner.pk), "displayName": "Ada", "mail": "ada@example.org", "userPrincipalName": "ada"}
    assert {name: me[name] for name in expected} == expected
    for name in (owner.pk, "ada", "ada@example.org", "ADA@example.org"):
        assert graph.read(f"/users/{name}") == me
    assert set(graph.read("/me", _select="mail")) == {"@odata.context", "id", "mail"}
