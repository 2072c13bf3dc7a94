"""Calendars and users in the Graph API."""

import pytest

from calendars.models import Calendar, Color
from tests.calendars.graph.conftest import event, read_error

VALUE = "ErrorPropertyValidationFailure"
LITERAL = "UnableToDeserializePostBody"


def test_default_calendar_exists(graph, owner):
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


def test_owner_has_mail_address_and_full_name(graph, owner):
    owner.first_name, owner.last_name, owner.email = "Ada", "Lovelace", "ada@example.org"
    owner.save()

    assert graph.read("/me/calendar")["owner"] == {"name": "Ada Lovelace", "address": "ada@example.org"}
    made = graph.create(event())
    assert made["organizer"] == {"emailAddress": {"name": "Ada Lovelace", "address": "ada@example.org"}}


def test_calendar_is_created_changed_and_deleted(graph, calendar):
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
    assert read_error(graph.get(path)) == (404, "ErrorItemNotFound")
    assert [each["name"] for each in graph.values("/me/calendars")] == ["Calendar"]


def test_patch_accepts_the_calendar_that_get_returns(graph, calendar, other_calendar):
    for hue in Color.values:
        Calendar.objects.filter(pk=other_calendar.pk).update(hue=hue)
        read = graph.read(f"/me/calendars/{other_calendar.pk}")

        assert graph.patch(f"/me/calendars/{other_calendar.pk}", read).json() == read


@pytest.mark.parametrize("color", ["auto", "lightBlue", "lightGray", "lightBrown", "LIGHTPINK"])
def test_each_graph_color_is_accepted(graph, calendar, color):
    assert graph.post("/me/calendars", {"name": "Work", "color": color}).status_code == 201


def test_default_calendar_can_be_renamed_but_not_deleted(graph, calendar):
    for path in ("/me/calendar", f"/me/calendars/{calendar.pk}"):
        assert read_error(graph.delete(path)) == (400, "ErrorDeleteDistinguishedFolder")
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
def test_invalid_calendar_is_refused(graph, calendar, other_calendar, body, code, target):
    before = list(Calendar.objects.values())

    calls = [graph.post("/me/calendars", body)]
    if body and body.get("name") is not None:
        calls.append(graph.patch(f"/me/calendars/{other_calendar.pk}", body))

    for response in calls:
        error = response.json()["error"]
        target_in_message = error["message"].partition(": ")[0]
        assert (response.status_code, error["code"], target_in_message) == (400, code, target)
    assert list(Calendar.objects.values()) == before


def test_calendar_list_supports_pages_order_and_filters(graph, calendar):
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
    assert read_error(graph.get("/me/calendars", _filter="color eq 'auto'")) == (400, "BadRequest")
    assert read_error(graph.get("/me/calendars", _expand="events")) == (400, "BadRequest")


def test_user_is_found_by_id_name_and_mail_address(graph, owner, calendar):
    owner.first_name, owner.email = "Ada", "ada@example.org"
    owner.save()

    me = graph.read("/me")

    expected = {"id": str(owner.pk), "displayName": "Ada", "mail": "ada@example.org", "userPrincipalName": "ada"}
    assert {name: me[name] for name in expected} == expected
    for name in (owner.pk, "ada", "ada@example.org", "ADA@example.org"):
        assert graph.read(f"/users/{name}") == me
    assert set(graph.read("/me", _select="mail")) == {"@odata.context", "id", "mail"}
