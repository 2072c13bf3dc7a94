"""The header Prefer and its time zones."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calendars.graph.errors import Refusal
from calendars.graph.preferences import parse_preferences
from tests.calendars.graph.conftest import YEAR, at, event, read_error, recurrence


@pytest.mark.parametrize(
    "header, zone, body_type, page_length, applied",
    [
        ("", "UTC", "html", None, ()),
        ('outlook.timezone="Europe/Berlin"', "Europe/Berlin", "html", None, ('outlook.timezone="Europe/Berlin"',)),
        ("outlook.timezone=Europe/Berlin", "Europe/Berlin", "html", None, ('outlook.timezone="Europe/Berlin"',)),
        ("Outlook.TimeZone = Eastern Standard Time", "Eastern Standard Time", "html", None, None),
        ('outlook.body-content-type="text"', "UTC", "text", None, ('outlook.body-content-type="text"',)),
        ('outlook.body-content-type="HTML"', "UTC", "html", None, ('outlook.body-content-type="html"',)),
        ('outlook.body-content-type="markdown"', "UTC", "html", None, ()),
        ("odata.maxpagesize=5", "UTC", "html", 5, ("odata.maxpagesize=5",)),
        ('odata.maxpagesize="5"', "UTC", "html", 5, ("odata.maxpagesize=5",)),
        ("odata.maxpagesize=99999999999999999999999", "UTC", "html", 1000, ("odata.maxpagesize=1000",)),
        ("odata.maxpagesize=0", "UTC", "html", None, ()),
        ("odata.maxpagesize=x", "UTC", "html", None, ()),
        ('outlook.timezone="UTC",outlook.body-content-type="text" , odata.maxpagesize=2', "UTC", "text", 2, None),
        ("odata.maxpagesize=2; foo=1, odata.maxpagesize=3", "UTC", "html", 2, ("odata.maxpagesize=2",)),
        ('IdType="ImmutableId", return=minimal', "UTC", "html", None, ()),
        ('foo="a, odata.maxpagesize=7", bar', "UTC", "html", None, ()),
        (',,;="', "UTC", "html", None, ()),
        ("x" * 100_000, "UTC", "html", None, ()),
    ],
)
def test_prefer_header_is_parsed(header, zone, body_type, page_length, applied):
    found = parse_preferences(header)

    assert (found.zone_name, found.body_type, found.page_length) == (zone, body_type, page_length)
    assert applied is None or found.applied == applied


@given(st.text(alphabet='outk.timezn=",; -5UTC', max_size=60) | st.text())
def test_prefer_header_with_any_text_is_parsed_or_refused(text):
    with suppress(Refusal):
        assert parse_preferences(text).zone is not None


@pytest.mark.parametrize("name", ["Middle-earth", "", "UTC+1", "x" * 1000, "../UTC", "localtime"])
def test_prefer_header_with_an_unknown_zone_is_refused(name):
    with pytest.raises(Refusal):
        parse_preferences(f'outlook.timezone="{name}"')


@pytest.mark.parametrize("zone", ["Tokyo Standard Time", "Asia/Tokyo", "asia/tokyo", "TOKYO STANDARD TIME"])
def test_each_response_with_events_uses_the_preferred_zone_name(graph, calendar, zone):
    prefer = {"Prefer": f'outlook.timezone="{zone}"'}
    made = graph.post("/me/events", event(recurrence=recurrence()), prefer)
    path = f"/me/events/{made.json()['id']}"
    responses = [
        made,
        graph.get(path, prefer),
        graph.get(f"{path}_20260105", prefer),
        graph.patch(path, {"subject": "New"}, prefer),
        graph.get("/me/events", prefer),
        graph.get("/me/calendarView", prefer, **YEAR),
        graph.get(f"{path}/instances", prefer, **YEAR),
        graph.get("/me/calendarView/delta", prefer, **YEAR),
    ]

    for response in responses:
        body = response.json()
        event_in_body = body["value"][0] if "value" in body else body
        assert event_in_body["start"] == at("2026-01-05T19:00:00.0000000", zone)
        assert response["Preference-Applied"] == f'outlook.timezone="{zone}"'


def test_times_are_in_utc_without_a_preference(graph, calendar):
    made = graph.post("/me/events", event(zone="Tokyo Standard Time"))

    assert made.json()["start"] == at("2026-01-05T01:00:00.0000000", "UTC")
    assert "Preference-Applied" not in made.headers


@pytest.mark.parametrize("method, path", [("GET", "/me/events"), ("POST", "/me/events"), ("GET", "/me/calendarView")])
def test_unknown_zone_in_prefer_has_its_own_error_code(graph, calendar, method, path):
    response = graph.call(method, path, event(), {"Prefer": 'outlook.timezone="Middle-earth"'}, **YEAR)

    assert read_error(response) == (400, "TimeZoneNotSupportedException")
    assert graph.values("/me/events") == []


def test_supported_time_zones_are_listed(graph, calendar):
    windows = [each["alias"] for each in graph.read("/me/outlook/supportedTimeZones")["value"]]
    iana = graph.read("/me/outlook/supportedTimeZones(TimeZoneStandard=microsoft.graph.timeZoneStandard'Iana')")

    assert {"UTC", "W. Europe Standard Time", "Samoa Standard Time"} <= set(windows)
    assert windows == [each["alias"] for each in graph.read("/me/outlook/supportedTimeZones()")["value"]]
    assert "Europe/Berlin" in [each["alias"] for each in iana["value"]]
    for name in windows:
        assert parse_preferences(f'outlook.timezone="{name}"').zone_name == name
