"""The format of solar events."""

import pytest

from recurrence.describe import describe
from recurrence.wire import WireError, parse, refuse_unreachable, render
from tests.recurrence.samples import CREATED_AT, first, utc

BERLIN = {"event": "sunset", "latitude": 52.52, "longitude": 13.41}


def test_sunset_fires_every_day():
    fires = first(2, parse("solar", BERLIN, CREATED_AT).schedule, CREATED_AT)

    assert fires == [utc("2026-01-01T15:02:29Z"), utc("2026-01-02T15:03:35Z")]


def test_bounds_are_included():
    bounds = {"startTime": "2026-01-02T15:03:35Z", "endTime": "2026-01-03T15:04:44Z"}

    assert len(first(5, parse("solar", BERLIN | bounds, CREATED_AT).schedule)) == 2


def test_zone_is_that_of_the_display():
    parsed = parse("solar", BERLIN | {"timeZone": "W. Europe Standard Time"}, CREATED_AT)

    assert str(parsed.zone) == "Europe/Berlin"
    assert parsed.schedule == parse("solar", BERLIN, CREATED_AT).schedule


@pytest.mark.parametrize(
    "members, words",
    [
        ({}, "at sunset at 52.52, 13.41"),
        ({"offset": "-PT45M"}, "45 minutes before sunset at 52.52, 13.41"),
        ({"offset": "PT1H1S"}, "1 hour and 1 second after sunset at 52.52, 13.41"),
        ({"event": "noon", "latitude": -33}, "at solar noon at -33, 13.41"),
        ({"event": "dawn", "endTime": "2026-02-01"}, "at dawn at 52.52, 13.41, until 1 February 2026 at 00:00 UTC"),
        (
            {"startTime": "2026-02-01", "timeZone": "Europe/Berlin"},
            "at sunset at 52.52, 13.41, from 1 February 2026 at 01:00 Europe/Berlin",
        ),
    ],
)
def test_solar_schedule_is_described(members, words):
    assert describe(parse("solar", BERLIN | members, CREATED_AT)) == words


@pytest.mark.parametrize(
    "members, canonical",
    [
        ({}, {}),
        ({"event": "Sunset", "offset": None, "unknown": 1}, {}),
        ({"offset": "+PT90M"}, {"offset": "PT1H30M"}),
        ({"offset": "-PT0S"}, {"offset": "PT0S"}),
        ({"offset": "-PT00720M"}, {"offset": "-PT12H"}),
        ({"timeZone": "europe/berlin"}, {"timeZone": "Europe/Berlin"}),
        ({"endTime": "2026-02-01"}, {"endTime": "2026-02-01T00:00:00Z"}),
    ],
)
def test_definition_is_rendered(members, canonical):
    rendered = render("solar", BERLIN | members)

    assert rendered == BERLIN | canonical
    assert parse("solar", rendered, CREATED_AT).schedule == parse("solar", BERLIN | members, CREATED_AT).schedule
    assert render("solar", rendered) == rendered


@pytest.mark.parametrize(
    "members, path, code",
    [
        ({"event": None}, "event", "required"),
        ({"event": "moonrise"}, "event", "unknown_value"),
        ({"event": 5}, "event", "invalid"),
        ({"latitude": None}, "latitude", "required"),
        ({"latitude": 90.5}, "latitude", "out_of_range"),
        ({"latitude": float("nan")}, "latitude", "out_of_range"),
        ({"longitude": "13.41"}, "longitude", "invalid"),
        ({"longitude": True}, "longitude", "invalid"),
        ({"longitude": 10**400}, "longitude", "out_of_range"),
        ({"offset": "45 minutes"}, "offset", "invalid"),
        ({"offset": "PT"}, "offset", "invalid"),
        ({"offset": "P1D"}, "offset", "invalid"),
        ({"offset": -45}, "offset", "invalid"),
        ({"offset": "PT12H1S"}, "offset", "out_of_range"),
        ({"timeZone": "Mars"}, "timeZone", "unknown_value"),
        ({"clockChange": "cron"}, "clockChange", "not_allowed"),
        ({"startTime": "2026-02-01", "endTime": "2026-01-01"}, "endTime", "out_of_range"),
    ],
)
def test_wrong_definition_is_refused(members, path, code):
    for read in (lambda document: parse("solar", document, CREATED_AT), lambda document: render("solar", document)):
        with pytest.raises(WireError) as caught:
            read(BERLIN | members)
        assert (caught.value.path, caught.value.code) == (path, code)


def test_all_faults_are_reported():
    with pytest.raises(WireError) as caught:
        parse("solar", {"event": "x", "latitude": 91, "offset": "x", "clockChange": {}, "timeZone": "x"}, CREATED_AT)

    paths = [fault.path for fault in (caught.value, *caught.value.others)]
    assert paths == ["event", "latitude", "longitude", "offset", "timeZone", "clockChange"]


def test_schedule_without_a_fire_time_before_its_end_is_refused():
    svalbard = {"event": "sunrise", "latitude": 78.22, "longitude": 15.65, "endTime": "2026-02-01"}

    with pytest.raises(WireError) as caught:
        refuse_unreachable(parse("solar", svalbard, CREATED_AT), CREATED_AT)

    assert caught.value.code == "never_fires"
