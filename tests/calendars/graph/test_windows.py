"""The time windows of /calendarView and /instances."""

import pytest

from api import pagination
from tests.calendars.graph.conftest import YEAR, at, event, read_error, recurrence

DAILY = recurrence({"type": "daily", "interval": 1}, type="noEnd")


@pytest.fixture(params=["/me/calendarView", "/me/events/{}/instances"])
def path(request, graph, calendar) -> str:
    """The address of a window.  A series is on ten Mondays from 5 January 2026, 10:00 to 11:00 UTC."""
    return request.param.format(graph.create(event(recurrence=recurrence()))["id"])


@pytest.fixture
def instances(graph, calendar) -> str:
    return f"/me/events/{graph.create(event(recurrence=recurrence()))['id']}/instances"


def find_starts(graph, path: str, start: str, end: str, **query) -> list[str]:
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
        # without an offset, the time is in UTC
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
def test_window_contains_overlapping_occurrences(graph, path, start, end, is_in):
    assert find_starts(graph, path, start, end) == (["2026-01-12T10:00"] if is_in else [])


def test_window_is_not_affected_by_the_preferred_zone(graph, path):
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
def test_event_of_zero_length_is_in_the_window_of_its_start(graph, calendar, start, end, is_in):
    graph.create(event("2026-01-05T10:00:00", "2026-01-05T10:00:00"))

    assert find_starts(graph, "/me/calendarView", start, end) == (["2026-01-05T10:00"] if is_in else [])


@pytest.mark.parametrize(
    "start, end, member",
    [
        (None, "2026-01-13T00:00:00Z", "startDateTime"),
        ("2026-01-12T00:00:00Z", None, "endDateTime"),
        (None, None, "startDateTime"),
        ("", "2026-01-13T00:00:00Z", "startDateTime"),
        ("yesterday", "2026-01-13T00:00:00Z", "startDateTime"),
        ("2026-01-12T00:00:00 01:00", "2026-01-13T00:00:00Z", "startDateTime"),  # an unescaped + is decoded as a space
        ("2026-01-12T00:00:00Z", "2026-13-13T00:00:00Z", "endDateTime"),
        ("2026-01-12T00:00:00Z", "0", "endDateTime"),
        ("2026-01-12T00:00:00Z", "9" * 5000, "endDateTime"),
        ("2026-01-12T00:00:00Z", "2026-01-11T23:59:59Z", "endDateTime"),
        ("10000-01-01", "10000-01-02", "startDateTime"),
    ],
)
def test_missing_or_invalid_window_is_refused(graph, path, start, end, member):
    parameters = {"startDateTime": start, "endDateTime": end}

    response = graph.get(path, **{name: text for name, text in parameters.items() if text is not None})

    assert read_error(response) == (400, "ErrorInvalidParameter")
    assert response.json()["error"]["message"].startswith(f"{member}: ")


def test_unescaped_plus_in_a_window_is_refused(graph, path):
    query = "startDateTime=2026-01-12T00:00:00+01:00&endDateTime=2026-01-13T00:00:00Z"

    assert read_error(graph.get(f"{path}?{query}")) == (400, "ErrorInvalidParameter")
    assert graph.get(f"{path}?{query.replace('+', '%2B')}").status_code == 200


@pytest.mark.parametrize("name", ["startdatetime", "STARTDATETIME", "StartDateTime"])
def test_window_parameters_ignore_case(graph, path, name):
    assert graph.values(path, **{name: "2026-01-12", "enddatetime": "2026-01-13"})


@pytest.mark.parametrize("start, end", [("0001-01-01", "9999-12-31"), ("0001-01-01T00:00:00+14:00", "9999-12-31")])
def test_window_of_instances_may_span_all_years(graph, instances, start, end):
    response = graph.get(instances, startDateTime=start, endDateTime=end)

    assert response.status_code in (200, 400)
    if "+" not in start:
        assert len(find_starts(graph, instances, start, end)) == 10


@pytest.mark.parametrize("start, end", [("0001-01-01", "0003-01-01"), ("9998-01-01", "9999-12-31")])
def test_window_in_the_first_or_last_years_is_empty(graph, calendar, start, end):
    assert find_starts(graph, "/me/calendarView", start, end) == []


@pytest.mark.parametrize("view", ["/me/calendarView", "/me/calendarView/delta"])
@pytest.mark.parametrize(
    "start, end, is_accepted",
    [
        ("2026-01-01T00:00:00Z", "2030-12-31T00:00:00Z", True),  # 1,825 days
        ("2026-01-01T00:00:00Z", "2030-12-31T00:00:01Z", False),
        ("2024-01-01", "2029-01-01", False),  # five years, with two leap days
        ("0001-01-01", "9999-12-31", False),
    ],
)
def test_calendar_view_window_has_at_most_1825_days(graph, calendar, view, start, end, is_accepted):
    response = graph.get(view, startDateTime=start, endDateTime=end)

    if is_accepted:
        assert response.status_code == 200
    else:
        assert read_error(response) == (400, "ErrorInvalidRequest")
        assert response.json()["error"]["message"] == "endDateTime: must be at most 1825 days after startDateTime"


@pytest.mark.parametrize("day", ["2076-01-06", "2500-01-06", "4000-01-06"])
def test_endless_series_has_occurrences_in_each_window(graph, calendar, day):
    graph.create(event(recurrence=DAILY))

    assert find_starts(graph, "/me/calendarView", f"{day}T00:00:00", f"{day}T23:00:00") == [f"{day}T10:00"]


def test_window_does_not_restart_the_count_of_a_series(graph, path):
    assert len(find_starts(graph, path, "2026-02-01", "2027-01-01")) == 6


def test_calendar_view_is_sorted_by_start(graph, calendar):
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


def test_calendar_view_has_only_events_of_its_calendar(graph, calendar, other_calendar):
    here, there = graph.create(event()), graph.create(event(), f"/me/calendars/{other_calendar.pk}/events")

    for path in ("/me/calendarView", "/me/calendar/calendarView", f"/me/calendars/{calendar.pk}/calendarView"):
        assert [each["id"] for each in graph.values(path, **YEAR)] == [here["id"]]
    assert [each["id"] for each in graph.values(f"/me/calendars/{other_calendar.pk}/calendarView", **YEAR)] == [
        there["id"]
    ]


def test_only_a_series_has_instances(graph, calendar):
    master, single = graph.create(event(recurrence=recurrence()))["id"], graph.create(event())["id"]

    for id in (single, f"{master}_20260112"):
        assert read_error(graph.get(f"/me/events/{id}/instances", **YEAR)) == (400, "ErrorInvalidParameter")


@pytest.mark.parametrize(
    "address", ["/me/calendarView", "/me/calendarView/delta", "/me/events/{}/instances", "/me/events"]
)
def test_page_is_shorter_if_its_bodies_are_long(graph, calendar, monkeypatch, address):
    """Each of a thousand occurrences repeats the body of its series, which may have 262,144 characters."""
    monkeypatch.setattr(pagination, "PAGE_BYTES", 350_000)
    body = {"contentType": "html", "content": "x" * 100_000}
    masters = [graph.create(event(recurrence=recurrence(), body=body))["id"] for _ in range(4)]
    path = address.format(masters[0])

    page = graph.read(path, {"Prefer": "odata.maxpagesize=100"}, **YEAR)

    assert len(page["value"]) == 3
    values = graph.values(path, {"Prefer": "odata.maxpagesize=100"}, **YEAR)
    expected = {"/me/events": 4, "/me/events/{}/instances": 10}.get(address, 40)
    assert len({each["id"] for each in values}) == len(values) == expected


def test_page_without_bodies_has_the_requested_length(graph, calendar, monkeypatch):
    monkeypatch.setattr(pagination, "PAGE_BYTES", 350_000)
    body = {"contentType": "html", "content": "x" * 100_000}
    master = graph.create(event(recurrence=recurrence(), body=body))["id"]

    page = graph.read(f"/me/events/{master}/instances", _top=100, _select="subject", **YEAR)

    assert len(page["value"]) == 10
