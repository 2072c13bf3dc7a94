"""Windows of /calendarView and /instances."""

import pytest

from calendars.graph import documents
from tests.calendars.graph.conftest import YEAR, at, error_of, event, recurrence

DAILY = recurrence({"type": "daily", "interval": 1}, type="noEnd")


@pytest.fixture(params=["/me/calendarView", "/me/events/{}/instances"])
def path(request, graph, calendar) -> str:
    """Ten Mondays from 5 January 2026, 10:00 to 11:00 UTC."""
    return request.param.format(graph.create(event(recurrence=recurrence()))["id"])


@pytest.fixture
def instances(graph, calendar) -> str:
    return f"/me/events/{graph.create(event(recurrence=recurrence()))['id']}/instances"


def found(graph, path: str, start: str, end: str, **query) -> list[str]:
    window = {"startDateTime": start, "endDateTime": end}
    return [each["start"]["dateTime"][:16] for each in graph.values(path, **window, **query)]


@pytest.mark.parametrize(
    "start, end, is_in",
    [
        ("2026-01-12T00:00:00Z", "2026-01-13T00:00:00Z", True),
        ("2026-01-12T10:59:59Z", "2026-01-12T12:00:00Z", True),
        ("2026-01-12T11:00:00Z", "2026-01-12T12:00:00Z", False),  # it has ended
        ("2026-01-12T09:00:00Z", "2026-01-12T10:00:00Z", False),  # it begins
        ("2026-01-12T09:00:00Z", "2026-01-12T10:00:00.0000001Z", False),
        ("2026-01-12T09:00:00Z", "2026-01-12T10:00:01Z", True),
        ("2026-01-12T10:15:00Z", "2026-01-12T10:30:00Z", True),
        # without an offset it is UTC; an offset counts
        ("2026-01-12T10:00:00", "2026-01-12T10:30:00", True),
        ("2026-01-12T12:00:00+02:00", "2026-01-12T12:30:00+02:00", True),
        ("2026-01-12T10:00:00+02:00", "2026-01-12T10:30:00+02:00", False),
        ("2026-01-12T04:30:00-06:00", "2026-01-12T04:45:00-06:00", True),
        ("2026-01-12T10:00:00.0000000", "2026-01-12T10:30:00.123", True),
        ("2026-01-12T10:00", "2026-01-12T10:30", True),
        ("2026-01-12", "2026-01-13", True),
        ("2026-01-13", "2026-01-13", False),
    ],
)
def test_what_overlaps_the_window_belongs_to_it(graph, path, start, end, is_in):
    assert found(graph, path, start, end) == (["2026-01-12T10:00"] if is_in else [])


def test_the_zone_that_answers_are_in_has_no_influence(graph, path):
    window = {"startDateTime": "2026-01-12T10:00:00", "endDateTime": "2026-01-12T11:00:00"}

    value = graph.values(path, {"Prefer": 'outlook.timezone="Tokyo Standard Time"'}, **window)

    assert [each["start"] for each in value] == [at("2026-01-12T19:00:00.0000000", "Tokyo Standard Time")]


@pytest.mark.parametrize(
    "start, end, is_in",
    [
        ("2026-01-05T10:00:00", "2026-01-05T10:00:01", True),
        ("2026-01-05T09:00:00", "2026-01-05T10:00:00", False),
        ("2026-01-05T10:00:01", "2026-01-05T11:00:00", False),
    ],
)
def test_an_event_of_no_length_belongs_where_it_starts(graph, calendar, start, end, is_in):
    graph.create(event("2026-01-05T10:00:00", "2026-01-05T10:00:00"))

    assert found(graph, "/me/calendarView", start, end) == (["2026-01-05T10:00"] if is_in else [])


@pytest.mark.parametrize(
    "start, end, named",
    [
        (None, "2026-01-13T00:00:00Z", "startDateTime"),
        ("2026-01-12T00:00:00Z", None, "endDateTime"),
        (None, None, "startDateTime"),
        ("", "2026-01-13T00:00:00Z", "startDateTime"),
        ("yesterday", "2026-01-13T00:00:00Z", "startDateTime"),
        ("2026-01-12T00:00:00 01:00", "2026-01-13T00:00:00Z", "startDateTime"),  # a bare + reads as a blank
        ("2026-01-12T00:00:00Z", "2026-13-13T00:00:00Z", "endDateTime"),
        ("2026-01-12T00:00:00Z", "0", "endDateTime"),
        ("2026-01-12T00:00:00Z", "9" * 5000, "endDateTime"),
        ("2026-01-12T00:00:00Z", "2026-01-11T23:59:59Z", "endDateTime"),
        ("10000-01-01", "10000-01-02", "startDateTime"),
    ],
)
def test_a_window_that_is_missing_or_unreadable_is_refused(graph, path, start, end, named):
    given = {"startDateTime": start, "endDateTime": end}

    response = graph.get(path, **{name: text for name, text in given.items() if text is not None})

    assert error_of(response) == (400, "ErrorInvalidParameter")
    assert response.json()["error"]["message"].startswith(f"{named}: ")


def test_a_bare_plus_in_the_address_is_refused(graph, path):
    query = "startDateTime=2026-01-12T00:00:00+01:00&endDateTime=2026-01-13T00:00:00Z"

    assert error_of(graph.get(f"{path}?{query}")) == (400, "ErrorInvalidParameter")
    assert graph.get(f"{path}?{query.replace('+', '%2B')}").status_code == 200


@pytest.mark.parametrize("name", ["startdatetime", "STARTDATETIME", "StartDateTime"])
def test_the_parameters_come_in_any_case(graph, path, name):
    assert graph.values(path, **{name: "2026-01-12", "enddatetime": "2026-01-13"})


@pytest.mark.parametrize("start, end", [("0001-01-01", "9999-12-31"), ("0001-01-01T00:00:00+14:00", "9999-12-31")])
def test_a_window_of_instances_may_reach_to_the_ends_of_time(graph, instances, start, end):
    response = graph.get(instances, startDateTime=start, endDateTime=end)

    assert response.status_code in (200, 400)
    if "+" not in start:
        assert len(found(graph, instances, start, end)) == 10


@pytest.mark.parametrize("start, end", [("0001-01-01", "0003-01-01"), ("9998-01-01", "9999-12-31")])
def test_a_view_at_the_ends_of_time_is_empty(graph, calendar, start, end):
    assert found(graph, "/me/calendarView", start, end) == []


@pytest.mark.parametrize("view", ["/me/calendarView", "/me/calendarView/delta"])
@pytest.mark.parametrize(
    "start, end, is_taken",
    [
        ("2026-01-01T00:00:00Z", "2030-12-31T00:00:00Z", True),  # 1,825 days
        ("2026-01-01T00:00:00Z", "2030-12-31T00:00:01Z", False),
        ("2024-01-01", "2029-01-01", False),  # five years, with two leap days
        ("0001-01-01", "9999-12-31", False),
    ],
)
def test_a_view_is_of_1825_days_at_most(graph, calendar, view, start, end, is_taken):
    response = graph.get(view, startDateTime=start, endDateTime=end)

    if is_taken:
        assert response.status_code == 200
    else:
        assert error_of(response) == (400, "ErrorInvalidRequest")
        assert response.json()["error"]["message"] == "endDateTime: must be at most 1825 days after startDateTime"


@pytest.mark.parametrize("day", ["2076-01-06", "2500-01-06", "4000-01-06"])
def test_a_series_without_end_goes_on_in_any_window(graph, calendar, day):
    graph.create(event(recurrence=DAILY))

    assert found(graph, "/me/calendarView", f"{day}T00:00:00", f"{day}T23:00:00") == [f"{day}T10:00"]


def test_a_window_inside_a_numbered_series_does_not_count_anew(graph, path):
    assert len(found(graph, path, "2026-02-01", "2027-01-01")) == 6


def test_a_view_is_in_order_whatever_it_is_made_of(graph, calendar):
    graph.create(event("2026-01-06T09:00:00", "2026-01-06T09:30:00", subject="single"))
    master = graph.create(event(recurrence=DAILY))["id"]
    graph.create(event("2026-01-04T00:00:00", "2026-01-05T00:00:00", isAllDay=True, recurrence=None))
    graph.change(f"{master}_20260107", {"start": at("2026-01-07T23:00:00"), "end": at("2026-01-07T23:30:00")})
    graph.change(f"{master}_20260108", {"start": at("2026-01-08T00:00:00"), "end": at("2026-01-08T00:30:00")})
    graph.delete(f"/me/events/{master}_20260109")

    window = {"startDateTime": "2026-01-04", "endDateTime": "2026-01-11"}
    value = graph.values("/me/calendarView", _top=2, **window)

    assert [(each["start"]["dateTime"][8:16], each["type"]) for each in value] == [
        ("04T00:00", "singleInstance"),
        ("05T10:00", "occurrence"),
        ("06T09:00", "singleInstance"),
        ("06T10:00", "occurrence"),
        ("07T23:00", "exception"),
        ("08T00:00", "exception"),
        ("10T10:00", "occurrence"),
    ]


def test_a_view_has_only_its_own_calendar(graph, calendar, other_calendar):
    here, there = graph.create(event()), graph.create(event(), f"/me/calendars/{other_calendar.pk}/events")

    for path in ("/me/calendarView", "/me/calendar/calendarView", f"/me/calendars/{calendar.pk}/calendarView"):
        assert [each["id"] for each in graph.values(path, **YEAR)] == [here["id"]]
    assert [each["id"] for each in graph.values(f"/me/calendars/{other_calendar.pk}/calendarView", **YEAR)] == [
        there["id"]
    ]


def test_instances_are_of_series_only(graph, calendar):
    master, single = graph.create(event(recurrence=recurrence()))["id"], graph.create(event())["id"]

    for id in (single, f"{master}_20260112"):
        assert error_of(graph.get(f"/me/events/{id}/instances", **YEAR)) == (400, "ErrorInvalidParameter")


@pytest.mark.parametrize(
    "address", ["/me/calendarView", "/me/calendarView/delta", "/me/events/{}/instances", "/me/events"]
)
def test_a_page_ends_where_long_bodies_fill_it(graph, calendar, monkeypatch, address):
    """A thousand occurrences repeat the body of their series, which may have 262,144 characters."""
    monkeypatch.setattr(documents, "PAGE_BODIES_LENGTH", 25)
    body = {"contentType": "html", "content": "x" * 10}
    masters = [graph.create(event(recurrence=recurrence(), body=body))["id"] for _ in range(4)]
    path = address.format(masters[0])

    page = graph.read(path, {"Prefer": "odata.maxpagesize=100"}, **YEAR)

    assert len(page["value"]) == 3
    told = graph.values(path, {"Prefer": "odata.maxpagesize=100"}, **YEAR)
    expected = {"/me/events": 4, "/me/events/{}/instances": 10}.get(address, 40)
    assert len({each["id"] for each in told}) == len(told) == expected


def test_a_page_without_bodies_is_as_long_as_asked_for(graph, calendar, monkeypatch):
    monkeypatch.setattr(documents, "PAGE_BODIES_LENGTH", 25)
    body = {"contentType": "html", "content": "x" * 10}
    master = graph.create(event(recurrence=recurrence(), body=body))["id"]

    page = graph.read(f"/me/events/{master}/instances", _top=100, _select="subject", **YEAR)

    assert len(page["value"]) == 10
