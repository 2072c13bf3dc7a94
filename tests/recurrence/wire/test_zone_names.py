from datetime import UTC
from zoneinfo import ZoneInfo, available_timezones

import pytest
from tzlocal.windows_tz import win_tz

from recurrence.wire import WireError
from recurrence.wire.zone_names import iana_name, windows_name, zone_of


@pytest.mark.parametrize(
    "name, iana",
    [
        ("Europe/Berlin", "Europe/Berlin"),
        # in any case
        ("europe/BERLIN", "Europe/Berlin"),
        ("America/Port-au-Prince", "America/Port-au-Prince"),
        ("utc", "UTC"),
        ("EST5EDT", "EST5EDT"),
        # older names of a zone are kept
        ("Asia/Calcutta", "Asia/Calcutta"),
        # those of Windows
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("pacific standard time", "America/Los_Angeles"),
        ("India Standard Time", "Asia/Calcutta"),
        ("UTC-11", "Etc/GMT+11"),
        # those that only calendars write
        ("Kamchatka Standard Time", "Asia/Kamchatka"),
        ("Asia/Toshkent", "Asia/Tashkent"),
    ],
)
def test_a_zone_is_known_by_its_name(name, iana):
    assert iana_name(name, "timeZone") == iana
    assert str(zone_of(name, "timeZone")) == iana


@pytest.mark.parametrize(
    "name", [None, "UTC", "utc", "Etc/UTC", "Zulu", "etc/universal", "UCT", "tzone://Microsoft/Utc"]
)
def test_utc_is_one_under_all_of_its_names(name):
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
def test_windows_has_a_name_for_most_zones(zone, name):
    assert windows_name(zone) == name


def test_a_name_of_windows_is_found_again_through_its_zone():
    assert [name for name in win_tz if windows_name(zone_of(name, "timeZone")) != name] == []


def test_every_name_of_windows_is_a_zone_of_this_installation():
    names = available_timezones()

    assert len(win_tz) > 130
    assert [name for name in win_tz if iana_name(name, "timeZone") not in names] == []


def test_every_iana_name_is_found_in_its_own_spelling():
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
        # no zone of its own, but whatever the machine has
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
def test_an_unknown_name_is_refused(name):
    with pytest.raises(WireError) as caught:
        zone_of(name, "timeZone")

    assert (caught.value.path, caught.value.code) == ("timeZone", "unknown_value")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("value", [5, True, ["UTC"], {"name": "UTC"}])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(WireError) as caught:
        zone_of(value, "timeZone")

    assert (caught.value.path, caught.value.code) == ("timeZone", "invalid")


def test_a_zone_is_the_same_object_each_time():
    assert zone_of("Romance Standard Time", "timeZone") is ZoneInfo("Europe/Paris")
