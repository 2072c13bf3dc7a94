"""Events of the sun.  The answers are compared with those of astral."""

from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from time import process_time

import pytest
from astral import Observer, sun
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, between
from recurrence.solar import SolarEvent, SolarRule, event_on
from tests.recurrence.samples import first, instants, utc, walk

DAY = timedelta(days=1)
YEAR = 365 * DAY
PLACES = [
    *((0.0, 0.0), (52.52, 13.41), (-33.87, 151.21), (40.7, -74.0), (52.0, 90.0), (52.0, 60.0), (52.0, -90.0)),
    *((60.0, 179.0), (60.0, -179.0), (-65.0, 179.99), (10.0, 180.0), (10.0, -180.0), (65.7, -45.0)),
    *((69.65, 18.96), (78.22, 15.65), (78.0, -90.0), (-78.0, 179.0), (78.0, -179.5)),
]
POLAR = 60.0  # degrees: closer to a pole some days have no event
YEARS = (1970, 2000, 2026, 2059, 2099)


def astral_instants(event, latitude, longitude, year):
    """Return what astral answers for each date of a year; dates without the event are left out."""
    found = []
    for number in range(366):
        try:
            day = date(year, 1, 1) + timedelta(number)
            found.append(getattr(sun, event.value)(Observer(latitude, longitude, 0.0), day))
        except ValueError:
            continue
    return found


def distance_to_nearest(instant, others):
    position = bisect_left(others, instant)
    return min((abs(instant - each) for each in others[max(0, position - 1) : position + 1]), default=YEAR)


def is_near_midnight(instant):
    """Return True if the date in UTC, by which astral numbers its events, is about to change or has just changed."""
    minutes = instant.hour * 60 + instant.minute
    return min(minutes, 1440 - minutes) < 15


@pytest.mark.parametrize("latitude, longitude", PLACES)
def test_events_are_those_of_astral(latitude, longitude):
    asked = differing = 0
    for number, event in enumerate(SolarEvent):
        year = YEARS[(number + int(longitude)) % len(YEARS)]
        theirs = astral_instants(event, latitude, longitude, year)
        rule = SolarRule(event, latitude, longitude)
        ours = [*between(rule, datetime(year, 1, 1, tzinfo=UTC) - DAY, datetime(year + 1, 1, 1, tzinfo=UTC) + 2 * DAY)]

        for instant in theirs:
            asked += 1
            differing += distance_to_nearest(instant, ours) > timedelta(seconds=1) and not is_near_midnight(instant)
        window = (datetime(year, 1, 1, 1, tzinfo=UTC), datetime(year, 12, 31, 23, tzinfo=UTC))
        for instant in ours:
            if window[0] < instant < window[1] and event not in (SolarEvent.NOON, SolarEvent.MIDNIGHT):
                asked += 1
                is_other = distance_to_nearest(instant, theirs) > timedelta(seconds=1)
                differing += is_other and not is_near_midnight(instant)

    assert asked > 1700
    assert differing <= (4 if abs(latitude) > POLAR else 0)  # on the last day before a polar day or night


@pytest.mark.parametrize("event", SolarEvent)
@pytest.mark.parametrize("longitude", [-180.0, -179.0, -90.0, 0.0, 60.0, 90.0, 179.0, 180.0])
def test_no_event_is_lost_or_doubled(event, longitude):
    rule = SolarRule(event, 52.0, longitude)

    fires = [*between(rule, utc("2026-01-01T12:00Z"), utc("2028-01-01T12:00Z"))]

    assert 729 <= len(fires) <= 731
    assert all(abs(later - earlier - DAY) < timedelta(minutes=5) for earlier, later in pairwise(fires))


@given(
    st.sampled_from(SolarEvent),
    st.floats(-90, 90),
    st.floats(-180, 180),
    st.integers(-43_200, 43_200),
    instants(utc("1970-01-01T00:00Z"), years=129),
)
@settings(max_examples=300)
def test_next_fire_time_is_later_and_the_first_of_all(event, latitude, longitude, offset, instant):
    rule = SolarRule(event, latitude, longitude, timedelta(seconds=offset))

    fire = rule.after(instant)

    day = (instant - rule.offset + timedelta(minutes=4 * longitude)).date()
    near = (event_on(event, latitude, longitude, day + timedelta(each)) for each in range(-3, 4))
    expected = min((each + rule.offset for each in near if each and each + rule.offset > instant), default=None)
    assert fire is None or fire > instant
    assert fire == expected if expected else fire is None or fire > instant + DAY
    assert fire is None or fire.microsecond == 0


def test_offset_moves_each_fire_time():
    sunset = SolarRule(SolarEvent.SUNSET, 52.52, 13.41)
    before = SolarRule(SolarEvent.SUNSET, 52.52, 13.41, timedelta(minutes=-45))
    start = utc("2026-06-01T00:00Z")

    assert first(5, before, start) == [fire - timedelta(minutes=45) for fire in first(5, sunset, start)]


def test_polar_night_has_no_sunrise():
    rule = SolarRule(SolarEvent.SUNRISE, 78.22, 15.65)  # Longyearbyen

    assert rule.after(utc("2025-11-15T00:00Z")) == utc("2026-02-16T10:17:12Z")  # the polar night
    assert rule.after(utc("2026-05-15T00:00Z")) > utc("2026-08-20T00:00Z")  # the polar day


@pytest.mark.parametrize("latitude", [90.0, 89.8, 89.0, 78.0, 67.0, 66.5, -66.0, -90.0])
@pytest.mark.parametrize("event", SolarEvent)
def test_gap_costs_little(event, latitude):
    rule = SolarRule(event, latitude, 15.0)
    costs = []
    for month in range(1, 13):
        event_on.cache_clear()
        begin = process_time()
        rule.after(datetime(2026, month, 2, tzinfo=UTC))
        costs.append(process_time() - begin)

    assert sorted(costs)[-2] < 0.005


@pytest.mark.parametrize("event", SolarEvent)
@pytest.mark.parametrize("longitude", [-180.0, 180.0])
def test_ends_of_the_calendar(event, longitude):
    rule = SolarRule(event, 50.0, longitude, timedelta(hours=12))

    assert rule.after(LAST_INSTANT) is None
    assert next(walk(rule, FIRST_INSTANT)).year == 1
    assert len(list(islice(walk(rule, utc("9999-12-20T00:00Z")), 30))) < 10


@pytest.mark.parametrize(
    "latitude, longitude, offset", [(90.1, 0, 0), (0, -180.5, 0), (float("nan"), 0, 0), (0, 0, 0.5)]
)
def test_impossible_rule_is_refused(latitude, longitude, offset):
    with pytest.raises(ValueError, match="must be"):
        SolarRule(SolarEvent.NOON, latitude, longitude, timedelta(seconds=offset))
