from datetime import UTC, datetime
from zoneinfo import ZoneInfo, available_timezones

import pytest
from tzlocal.windows_tz import win_tz

from recurrence import wire
from recurrence.wire import WireError
from recurrence.wire.zone_names import iana_name, windows_name, zone_of, zones_in


@pytest.mark.parametrize(
    "name, iana",
    [
        ("Europe/Berlin", "Europe/Berlin"),
        # case is ignored
        ("europe/BERLIN", "Europe/Berlin"),
        ("America/Port-au-Prince", "America/Port-au-Prince"),
        ("utc", "UTC"),
        ("EST5EDT", "EST5EDT"),
        # older names of a zone are not changed
        ("Asia/Calcutta", "Asia/Calcutta"),
        # Windows names
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("pacific standard time", "America/Los_Angeles"),
        ("India Standard Time", "Asia/Calcutta"),
        ("UTC-11", "Etc/GMT+11"),
        # names that only calendar programs use
        ("Kamchatka Standard Time", "Asia/Kamchatka"),
        ("Asia/Toshkent", "Asia/Tashkent"),
    ],
)
def test_zone_is_found_by_name(name, iana):
    assert iana_name(name, "timeZone") == iana
    assert str(zone_of(name, "timeZone")) == iana


@pytest.mark.parametrize(
    "name", [None, "UTC", "utc", "Etc/UTC", "Zulu", "etc/universal", "UCT", "tzone://Microsoft/Utc"]
)
def test_all_names_of_utc_are_the_same_zone(name):
    assert zone_of(name, "timeZone") is UTC


@pytest.mark.parametrize(
    "zone, name",
    [
        (ZoneInfo("Europe/Berlin"), "W. Europe Standard Time"),
        (ZoneInfo("Asia/Kolkata"), "India Standard Time"),
        (ZoneInfo("Asia/Calcutta"), "India Standard Time"),
        (UTC, "UTC"),
        (ZoneInfo("Antarctica/Troll"), None),
    ],
)
def test_most_zones_have_a_windows_name(zone, name):
    assert windows_name(zone) == name


def test_windows_name_is_unchanged_after_conversion_to_a_zone():
    assert [name for name in win_tz if windows_name(zone_of(name, "timeZone")) != name] == []


def test_each_windows_name_is_an_available_zone():
    names = available_timezones()

    assert len(win_tz) > 130
    assert [name for name in win_tz if iana_name(name, "timeZone") not in names] == []


def test_iana_names_are_found_with_their_exact_case():
    names = available_timezones() - {"localtime", "Factory"}

    assert [name for name in names if iana_name(name.upper(), "timeZone") != name] == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Berlin",
        "Europe/Atlantis",
        "GMT+2",
        "UTC+02:00",
        "+02:00",
        "CEST",
        "Standard Time",
        # not a zone, but the local zone of the machine
        "localtime",
        "Factory",
        # paths to files
        "posix/Europe/Berlin",
        "right/UTC",
        "../zoneinfo/UTC",
        "/etc/localtime",
        "Europe/Berlin\n",
        " UTC",
        "x" * 10_000,
    ],
)
def test_unknown_zone_name_is_refused(name):
    with pytest.raises(WireError) as caught:
        zone_of(name, "timeZone")

    assert (caught.value.path, caught.value.code) == ("timeZone", "unknown_value")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("value", [5, True, ["UTC"], {"name": "UTC"}])
def test_zone_name_must_be_text(value):
    with pytest.raises(WireError) as caught:
        zone_of(value, "timeZone")

    assert (caught.value.path, caught.value.code) == ("timeZone", "invalid")


def test_same_zone_name_returns_the_same_object():
    assert zone_of("Romance Standard Time", "timeZone") is ZoneInfo("Europe/Paris")


SPAN = {
    "start": {"dateTime": "2026-01-05T09:00:00", "timeZone": "W. Europe Standard Time"},
    "end": {"dateTime": "2026-01-05T10:00:00", "timeZone": "europe/paris"},
}
DAILY = {"pattern": {"type": "daily", "interval": 1}, "range": {"type": "noEnd", "startDate": "2026-01-05"}}


@pytest.mark.parametrize(
    "format, document, names",
    [
        ("quartz", {"expression": "0 0 9 * * ?", "timeZone": "Asia/Tokyo"}, {"Asia/Tokyo"}),
        ("quartz", {"expression": "0 0 9 * * ?", "timeZone": "Etc/Zulu"}, set()),
        ("quartz", {"expression": "0 0 9 * * ?"}, set()),
        ("azure", {"startTime": "2026-01-05T09:00:00Z"}, set()),
        ("rrule", SPAN | {"rrule": "FREQ=DAILY"}, {"Europe/Berlin", "Europe/Paris"}),
        (
            "outlook",
            SPAN | {"recurrence": DAILY | {"range": DAILY["range"] | {"recurrenceTimeZone": "Asia/Tokyo"}}},
            {"Europe/Berlin", "Europe/Paris", "Asia/Tokyo"},
        ),
    ],
)
def test_zones_of_a_document_are_found_without_compiling_it(format, document, names):
    found = zones_in(document)

    assert found == names
    assert str(wire.parse(format, document, datetime(2026, 1, 1, tzinfo=UTC)).zone) in (found or {"UTC"})


@pytest.mark.parametrize(
    "document", [{"timeZone": 7}, {"timeZone": "Nowhere"}, {"timeZone": ["Asia/Tokyo"]}, "x", None]
)
def test_texts_that_name_no_zone_are_left_out(document):
    assert zones_in(document) == set()
    assert zones_in([document, {"list": [{"timeZone": "Asia/Tokyo"}, document]}]) == {"Asia/Tokyo"}
