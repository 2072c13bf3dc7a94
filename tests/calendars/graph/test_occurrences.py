"""Changing a series and its occurrences in the Graph API."""

import pytest

from calendars.models import Calendar, Event, EventException
from tests.calendars.graph.conftest import YEAR, at, event, read_error, recurrence

VALUE = "ErrorPropertyValidationFailure"
CROSSING = "ErrorOccurrenceCrossingBoundary"
MISSING = (404, "ErrorItemNotFound")


@pytest.fixture
def master(graph, calendar) -> str:
    """Ten Mondays from 5 January to 9 March 2026, 10:00 to 11:00 UTC."""
    return graph.create(event(recurrence=recurrence(), location={"displayName": "Room 1"}))["id"]


def dump_calendars() -> list:
    return [list(model.objects.order_by("pk").values()) for model in (Calendar, Event, EventException)]


def occurrence_id(master: str, day: str) -> str:
    return f"{master}_2026{day}"


def times_on(day: str, hour: int = 15) -> dict:
    return {"start": at(f"2026-{day}T{hour}:00:00"), "end": at(f"2026-{day}T{hour + 1}:00:00")}


def read_cancelled_ids(graph, master: str) -> list[str]:
    return graph.read(f"/me/events/{master}", _select="subject,cancelledOccurrences")["cancelledOccurrences"]


# Occurrences


@pytest.mark.parametrize("zone", [None, "Tokyo Standard Time", "America/New_York"])
def test_changed_time_is_in_the_zone_of_the_response(graph, calendar, zone):
    """A response names its zone: UTC or that of the header `Prefer`, independent of the zone of the series."""
    berlin = event("2026-01-05T10:00:00", "2026-01-05T11:00:00", zone="Europe/Berlin", recurrence=recurrence())
    address = f"/me/events/{occurrence_id(graph.create(berlin)['id'], '0112')}"
    headers = {"Prefer": f'outlook.timezone="{zone}"'} if zone else {}

    document = graph.read(address, headers)
    later = {
        side: {**document[side], "dateTime": document[side]["dateTime"].replace(":00:00.", ":15:00.")}
        for side in ("start", "end")
    }
    response = graph.patch(address, {**document, **later}, headers)

    assert document["start"]["timeZone"] == (zone or "UTC")
    assert response.status_code == 200, response.content
    assert {side: response.json()[side] for side in later} == later
    assert graph.read(address)["start"]["dateTime"] == "2026-01-12T09:15:00.0000000"


def test_occurrence_refers_to_its_series(graph, master):
    read = graph.read(f"/me/events/{occurrence_id(master, '0112')}")

    expected = {
        "id": occurrence_id(master, "0112"),
        "type": "occurrence",
        "seriesMasterId": master,
        "occurrenceId": f"OID.{master}.2026-01-12",
        "originalStart": "2026-01-12T10:00:00Z",
        "recurrence": None,
    }
    assert {name: read[name] for name in expected} == expected
    assert read["iCalUId"] != graph.read(f"/me/events/{master}")["iCalUId"]
    assert read == graph.read(f"/me/events/{read['occurrenceId']}")


@pytest.mark.parametrize("day", ["0104", "0113", "0316", "0230", "2026"])
def test_a_day_without_an_occurrence_is_not_found(graph, master, day):
    assert read_error(graph.get(f"/me/events/{occurrence_id(master, day)}")) == MISSING
    assert read_error(graph.get(f"/me/events/OID.{master}.2026-{day[:2]}-{day[2:]}")) == MISSING


@pytest.mark.parametrize("name", ["{0}_20260112", "OID.{0}.2026-01-12"])
def test_changed_occurrence_becomes_an_exception(graph, master, name):
    changed = graph.change(name.format(master), {"subject": "Other", **times_on("01-13")})

    assert changed["id"] == occurrence_id(master, "0112")
    assert (changed["type"], changed["seriesMasterId"]) == ("exception", master)
    assert changed["originalStart"] == "2026-01-12T10:00:00Z"
    assert changed["start"]["dateTime"] == "2026-01-13T15:00:00.0000000"
    assert changed["location"]["displayName"] == "Room 1"
    assert graph.read(f"/me/events/{name.format(master)}") == changed
    others = [each for each in graph.instances(master) if each["id"] != changed["id"]]
    assert {(each["subject"], each["type"]) for each in others} == {("Stand-up", "occurrence")}
    assert len(others) == 9


def test_exception_is_found_in_windows_by_its_moved_time(graph, master):
    graph.change(occurrence_id(master, "0112"), times_on("01-14"))
    there = {"startDateTime": "2026-01-14T00:00:00Z", "endDateTime": "2026-01-15T00:00:00Z"}
    here = {"startDateTime": "2026-01-12T00:00:00Z", "endDateTime": "2026-01-13T00:00:00Z"}

    for path in (f"/me/events/{master}/instances", "/me/calendarView"):
        assert [each["id"] for each in graph.values(path, **there)] == [occurrence_id(master, "0112")]
        assert graph.values(path, **here) == []


@pytest.mark.parametrize(
    "day, is_allowed",
    [("01-06", True), ("01-05", False), ("01-04", False), ("01-18", True), ("01-19", False), ("01-26", False)],
)
def test_occurrence_can_move_only_between_its_neighbours(graph, master, day, is_allowed):
    before = dump_calendars()

    response = graph.patch(f"/me/events/{occurrence_id(master, '0112')}", times_on(day))

    if is_allowed:
        assert response.status_code == 200
    else:
        assert read_error(response) == (400, CROSSING)
        assert dump_calendars() == before


def test_a_moved_neighbour_does_not_stop_a_change_of_other_properties(graph, master):
    graph.change(occurrence_id(master, "0112"), times_on("01-18"))

    assert graph.change(occurrence_id(master, "0112"), {"subject": "Other"})["start"]["dateTime"][:10] == "2026-01-18"
    assert graph.change(occurrence_id(master, "0119"), {"subject": "Other"})["type"] == "exception"


def test_occurrence_cannot_have_a_recurrence(graph, master):
    before = dump_calendars()

    for sent in (recurrence(), {"pattern": {}, "range": {}}):
        response = graph.patch(f"/me/events/{occurrence_id(master, '0112')}", {"subject": "Other", "recurrence": sent})
        assert read_error(response) == (400, VALUE)

    assert dump_calendars() == before
    assert graph.change(occurrence_id(master, "0112"), {"recurrence": None})["type"] == "occurrence"


@pytest.mark.parametrize("remove", ["DELETE", "POST"])
@pytest.mark.parametrize("is_exception", [False, True])
def test_deleted_occurrence_is_cancelled(graph, master, remove, is_exception):
    id = occurrence_id(master, "0112")
    if is_exception:
        graph.change(id, {"subject": "Other"})

    response = graph.call(remove, f"/me/events/{id}" + ("/cancel" if remove == "POST" else ""))

    assert response.status_code == (202 if remove == "POST" else 204)
    path = f"/me/events/{id}"
    for answer in (
        graph.get(path),
        graph.patch(path, {"subject": "x"}),
        graph.delete(path),
        graph.post(f"{path}/cancel"),
    ):
        assert read_error(answer) == MISSING
    days = ["2026-01-05", "2026-01-19"]
    assert (
        graph.days(master)[:2]
        == [each["start"]["dateTime"][:10] for each in graph.values("/me/calendarView", **YEAR)][:2]
        == days
    )
    assert len(graph.instances(master)) == 9  # the cancelled occurrence still counts
    assert graph.days(master)[-1] == "2026-03-09"
    assert read_cancelled_ids(graph, master) == [f"OID.{master}.2026-01-12"]


def test_cancelled_occurrences_are_returned_if_selected(graph, master):
    for day in ("0119", "0112"):
        graph.delete(f"/me/events/{occurrence_id(master, day)}")

    assert read_cancelled_ids(graph, master) == [f"OID.{master}.2026-01-{day}" for day in (12, 19)]
    assert "cancelledOccurrences" not in graph.read(f"/me/events/{master}")
    assert "cancelledOccurrences" not in graph.read("/me/events", _select="cancelledOccurrences")["value"][0]
    assert "cancelledOccurrences" not in graph.read(
        f"/me/events/{occurrence_id(master, '0105')}", _select="cancelledOccurrences"
    )


def test_exceptions_are_returned_if_expanded(graph, master):
    graph.delete(f"/me/events/{occurrence_id(master, '0112')}")
    changed = graph.change(occurrence_id(master, "0119"), {"subject": "Other"})
    path = f"/me/events/{master}"
    del changed["@odata.context"]

    both = graph.read(path, _select="subject,exceptionOccurrences", _expand="exceptionOccurrences")

    assert both["exceptionOccurrences"] == [changed]
    assert set(both) == {"@odata.context", "@odata.etag", "id", "subject", "exceptionOccurrences"}
    assert graph.read(path, _expand="exceptionOccurrences")["exceptionOccurrences"] == [changed]
    assert "exceptionOccurrences" not in graph.read(path, _select="subject,exceptionOccurrences")


# The series


def test_series_change_applies_to_values_without_an_exception(graph, master):
    graph.change(occurrence_id(master, "0112"), {"subject": "Other"})
    graph.change(occurrence_id(master, "0119"), {"location": {"displayName": "Elsewhere"}, **times_on("01-20")})
    graph.delete(f"/me/events/{occurrence_id(master, '0126')}")

    graph.change(master, {"subject": "New", "location": {"displayName": "Room 2"}})

    found = {each["id"][-4:]: each for each in graph.instances(master)}
    assert (found["0105"]["subject"], found["0105"]["location"]["displayName"]) == ("New", "Room 2")
    assert (found["0112"]["subject"], found["0112"]["location"]["displayName"]) == ("Other", "Room 2")
    assert (found["0119"]["subject"], found["0119"]["location"]["displayName"]) == ("New", "Elsewhere")
    assert found["0119"]["start"]["dateTime"][:10] == "2026-01-20"
    assert "0126" not in found


@pytest.mark.parametrize(
    "change",
    [
        {"recurrence": recurrence({"type": "weekly", "interval": 2, "daysOfWeek": ["monday"]})},
        {"recurrence": recurrence(type="noEnd")},
        {"recurrence": recurrence(type="numbered", numberOfOccurrences=20)},
        {"start": at("2026-01-05T09:00:00")},
        {"end": at("2026-01-05T12:00:00")},
    ],
)
def test_exceptions_and_cancellations_are_deleted_if_the_times_change(graph, master, change):
    graph.change(occurrence_id(master, "0119"), {"subject": "Other"})
    graph.delete(f"/me/events/{occurrence_id(master, '0202')}")

    graph.change(master, change)

    assert {each["type"] for each in graph.instances(master)} == {"occurrence"}
    assert graph.get(f"/me/events/{occurrence_id(master, '0202')}").status_code == 200
    assert read_cancelled_ids(graph, master) == []


@pytest.mark.parametrize("zone", ["UTC", "Tokyo Standard Time"])
def test_patch_with_unchanged_members_keeps_exceptions(graph, master, zone):
    graph.change(occurrence_id(master, "0119"), {"subject": "Other"})
    graph.delete(f"/me/events/{occurrence_id(master, '0202')}")
    prefer = {"Prefer": f'outlook.timezone="{zone}"'}
    read = graph.read(f"/me/events/{master}", prefer)

    for sent in ({"recurrence": read["recurrence"]}, read, {"start": read["start"], "end": read["end"]}):
        graph.change(master, {**sent, "subject": "New"}, prefer)

    assert [each["id"][-4:] for each in graph.instances(master) if each["type"] == "exception"] == ["0119"]
    assert read_cancelled_ids(graph, master) == [f"OID.{master}.2026-02-02"]
    after = graph.read(f"/me/events/{master}", prefer)
    assert (after["recurrence"], after["start"], after["originalStartTimeZone"]) == (
        read["recurrence"],
        read["start"],
        read["originalStartTimeZone"],
    )


def test_a_series_becomes_a_single_event(graph, master):
    changed = graph.change(master, {"recurrence": None})

    assert (changed["type"], changed["recurrence"]) == ("singleInstance", None)
    assert changed["start"]["dateTime"] == "2026-01-05T10:00:00.0000000"
    assert [each["id"] for each in graph.values("/me/calendarView", **YEAR)] == [master]
    assert read_error(graph.get(f"/me/events/{occurrence_id(master, '0112')}")) == MISSING


def test_a_single_event_becomes_a_series(graph, calendar):
    id = graph.create(event())["id"]

    assert graph.change(id, {"recurrence": recurrence()})["type"] == "seriesMaster"
    assert len(graph.instances(id)) == 10


def test_series_change_applies_to_past_occurrences(graph, calendar):
    days = recurrence({"type": "daily", "interval": 1}, start="2020-01-06", type="numbered", numberOfOccurrences=5)
    master = graph.create(event("2020-01-06T10:00:00", "2020-01-06T11:00:00", recurrence=days))["id"]

    graph.change(master, {"subject": "New"})

    assert {each["subject"] for each in graph.instances(master, startDateTime="2020-01-01")} == {"New"}


def test_moved_start_moves_the_series(graph, master):
    changed = graph.change(master, times_on("01-06"))

    assert changed["recurrence"]["range"]["startDate"] == changed["start"]["dateTime"][:10]
    assert graph.read(f"/me/events/{master}") == changed


def test_series_across_midnight_keeps_its_wall_times_at_a_clock_change(graph, calendar):
    weekly = recurrence({"type": "weekly", "interval": 1, "daysOfWeek": ["saturday"]}, start="2026-03-21")
    made = graph.create(event("2026-03-21T22:00:00", "2026-03-22T06:00:00", "Europe/Berlin", recurrence=weekly))

    found = graph.instances(made["id"])[:2]

    assert [each["start"]["dateTime"][5:16] for each in found] == ["03-21T21:00", "03-28T21:00"]
    assert [each["end"]["dateTime"][5:16] for each in found] == ["03-22T05:00", "03-29T04:00"]
