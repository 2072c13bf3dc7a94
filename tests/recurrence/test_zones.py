from datetime import UTC, date, timedelta, timezone
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from struct import calcsize, iter_unpack, unpack_from
from zoneinfo import TZPATH, ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.zones import DAY, EPOCH, EPOCH_DAY, missing_days, offset_period_at
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
        # Apia moved across the date line and skipped 30 December 2011
        ("Pacific/Apia", "2011-12-30T10:00Z", -36_000, 50_400),
        # Kiritimati skipped the last day of a year
        ("Pacific/Kiritimati", "1994-12-31T10:00Z", -36_000, 50_400),
        # Paris left its local mean time at an odd second
        ("Europe/Paris", "1911-03-10T23:50:39Z", 561, 0),
        ("America/Sao_Paulo", "2018-11-04T03:00Z", -10_800, -7200),
    ],
)
def test_offset_period_changes_at_the_known_second(name, change, before, after):
    zone = ZoneInfo(name)
    at = seconds(utc(change))

    old, new = offset_period_at(zone, at - 1), offset_period_at(zone, at)

    assert (old.end, old.offset, old.after) == (at, before, after)
    assert (new.start, new.before, new.offset) == (at, before, after)


@given(st.sampled_from(ZONES), instants(utc("1985-01-01T00:00Z"), years=60))
@settings(max_examples=60)
def test_offset_period_has_the_offset_of_the_zone(name, instant):
    zone = ZoneInfo(name)

    period = offset_period_at(zone, seconds(instant))

    assert period.start <= seconds(instant) < period.end
    assert timedelta(seconds=period.offset) == instant.astimezone(zone).utcoffset()


@given(st.sampled_from(ZONES), instants(utc("1985-01-01T00:00Z"), years=60))
@settings(max_examples=60)
def test_offset_periods_have_no_gaps(name, instant):
    period = offset_period_at(ZoneInfo(name), seconds(instant))

    following = offset_period_at(ZoneInfo(name), period.end)

    assert following.offset == period.after
    assert following.start == period.end or following.before == following.offset


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=-12)), ZoneInfo("Pacific/Apia")])
@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00Z", "0002-06-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_offset_period_is_known_at_the_ends_of_the_calendar(zone, instant):
    at = seconds(utc(instant))

    period = offset_period_at(zone, at)

    assert period.start <= at < period.end


@pytest.mark.parametrize(
    "name, days",
    [
        ("Pacific/Apia", ["2011-12-30"]),
        ("Pacific/Kiritimati", ["1994-12-31"]),
        ("Pacific/Kwajalein", ["1993-08-21"]),
        ("Asia/Manila", ["1844-12-31"]),
        # these zones repeated a day
        ("America/Juneau", []),
        ("Pacific/Pago_Pago", []),
        ("Europe/Berlin", []),
        ("UTC", []),
    ],
)
def test_zone_that_crossed_the_date_line_has_a_missing_day(name, days):
    assert missing_days(ZoneInfo(name)) == {date.fromisoformat(day).toordinal() for day in days}


def test_missing_days_of_all_zones_equal_those_of_their_files():
    names = sorted(available_timezones() - {"localtime"})

    assert {name: missing_days(ZoneInfo(name)) for name in names} == {name: skipped_days(name) for name in names}


def test_fixed_offset_has_no_missing_days():
    assert missing_days(timezone(timedelta(hours=14))) == missing_days(UTC) == frozenset()


def skipped_days(name):
    """Return the days that clocks skipped, from the changes in the file of the zone (RFC 8536)."""
    data = file_of(name).read_bytes()
    _, _, leaps, times, types, characters = unpack_from(">6l", data, 20)
    old = 44 + times * 5 + types * 6 + characters + leaps * 8 + sum(unpack_from(">2l", data, 20))
    _, _, leaps, times, types, characters = unpack_from(">6l", data, old + 20)
    start = old + 44
    changes = unpack_from(f">{times}q{times}B", data, start)
    offsets = [offset for offset, _, _ in iter_unpack(">lBB", data[start + times * 9 :][: types * calcsize(">lBB")])]
    previous_offsets = [offsets[0], *(offsets[each] for each in changes[times:])]
    jumps = zip(changes[:times], pairwise(previous_offsets), strict=True)
    gaps = [(at + before, at + after) for at, (before, after) in jumps if after - before >= DAY]
    return frozenset(day + EPOCH_DAY for first, last in gaps for day in range(-(-first // DAY), last // DAY))


def file_of(name):
    """Return the path of the file of a zone, in the directories of the system or in the package `tzdata`."""
    system_paths = (Path(directory, name) for directory in TZPATH)
    return next(filter(Path.exists, system_paths), files("tzdata.zoneinfo").joinpath(*name.split("/")))
