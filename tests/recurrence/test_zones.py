from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.zones import EPOCH, stretch_at
from tests.recurrence.samples import instants, utc

ZONES = ["Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "America/New_York", "Asia/Tokyo"]


def seconds(instant):
    return (instant - EPOCH) // timedelta(seconds=1)


@pytest.mark.parametrize(
    "name, change, before, after",
    [
        ("Europe/Berlin", "2026-03-29T01:00Z", 3600, 7200),
        ("Europe/Berlin", "2026-10-25T01:00Z", 7200, 3600),
        # Lord Howe changes by half an hour
        ("Australia/Lord_Howe", "2026-04-04T15:00Z", 39_600, 37_800),
        ("Australia/Lord_Howe", "2026-10-03T15:30Z", 37_800, 39_600),
        # Apia went over the date line and skipped the 30 December 2011
        ("Pacific/Apia", "2011-12-30T10:00Z", -36_000, 50_400),
        # Kiritimati skipped the last day of a year
        ("Pacific/Kiritimati", "1994-12-31T10:00Z", -36_000, 50_400),
        # Paris gave up its own mean time at an odd second
        ("Europe/Paris", "1911-03-10T23:50:39Z", 561, 0),
        ("America/Sao_Paulo", "2018-11-04T03:00Z", -10_800, -7200),
    ],
)
def test_the_clocks_of_a_zone_change_at_a_known_second(name, change, before, after):
    zone = ZoneInfo(name)
    at = seconds(utc(change))

    old, new = stretch_at(zone, at - 1), stretch_at(zone, at)

    assert (old.end, old.offset, old.after) == (at, before, after)
    assert (new.start, new.before, new.offset) == (at, before, after)


@given(st.sampled_from(ZONES), instants(utc("1985-01-01T00:00Z"), years=60))
@settings(max_examples=60)
def test_a_stretch_has_the_offset_that_its_zone_has(name, instant):
    zone = ZoneInfo(name)

    stretch = stretch_at(zone, seconds(instant))

    assert stretch.start <= seconds(instant) < stretch.end
    assert timedelta(seconds=stretch.offset) == instant.astimezone(zone).utcoffset()


@given(st.sampled_from(ZONES), instants(utc("1985-01-01T00:00Z"), years=60))
@settings(max_examples=60)
def test_stretches_follow_each_other_without_a_hole(name, instant):
    stretch = stretch_at(ZoneInfo(name), seconds(instant))

    following = stretch_at(ZoneInfo(name), stretch.end)

    assert following.offset == stretch.after
    assert following.start == stretch.end or following.before == following.offset


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=-12)), ZoneInfo("Pacific/Apia")])
@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00Z", "0002-06-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_stretch_is_known_at_the_ends_of_the_calendar(zone, instant):
    at = seconds(utc(instant))

    stretch = stretch_at(zone, at)

    assert stretch.start <= at < stretch.end
