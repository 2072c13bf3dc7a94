"""Events of the sun at a place: sunrise, sunset, civil dawn and dusk, solar noon and solar midnight.

The positions of the sun are those of the package astral.  The events of a day are numbered by the solar day of the
place, from one solar midnight to the next: its noon lies on the date of the day in local mean time.  So a rising event
is at most half a day before the noon of its day, a setting one at most half a day after it, and no event is lost or
counted twice.  astral numbers them by dates in UTC, and loses or doubles one where the event crosses midnight in UTC.

Fire times are whole seconds: fractions are dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from functools import lru_cache
from math import degrees

from astral import Observer, SunDirection, refraction_at_zenith, sun
from astral.julian import julianday, julianday_to_juliancentury

ONE_DAY = timedelta(days=1)
ONE_MINUTE = timedelta(minutes=1)
DAY = 1440  # minutes
MINUTES_OF_DEGREE = 4  # the sun crosses one degree of longitude in so many minutes
MARGIN = timedelta(minutes=30)  # solar noon and 12:00 of local mean time are less than this apart
MAX_LATITUDE = 89.8  # degrees: astral takes places closer to a pole for this latitude
FASTEST_DECLINATION = 0.42  # degrees a day
DECLINATION_ERROR = 0.5  # degrees: more than the declination changes between the start of a day in UTC and an event
MAX_EMPTY_DAYS = 800  # an event that has not happened for so many days is not searched further
CIVIL_DEPRESSION = 6.0  # degrees below the horizon
FIRST_INSTANT = datetime(1, 1, 5, tzinfo=UTC)  # earlier events do not count, so that no calculation leaves the calendar
LAST_INSTANT = datetime(9999, 12, 27, tzinfo=UTC)
LAST_DAY = LAST_INSTANT.toordinal()


class SolarEvent(Enum):
    SUNRISE = "sunrise"
    SUNSET = "sunset"
    DAWN = "dawn"  # civil: the sun is 6 degrees below the horizon
    DUSK = "dusk"
    NOON = "noon"
    MIDNIGHT = "midnight"


RISING = (SolarEvent.SUNRISE, SolarEvent.DAWN)
WHOLE_DAY = (SolarEvent.NOON, SolarEvent.MIDNIGHT)  # they happen every day, at every place


def _zenith_of(degrees_below: float) -> float:
    zenith = 90.0 + degrees_below
    return zenith + refraction_at_zenith(zenith)


ZENITHS = {  # degrees, with refraction
    SolarEvent.SUNRISE: _zenith_of(sun.SUN_APPARENT_RADIUS),
    SolarEvent.SUNSET: _zenith_of(sun.SUN_APPARENT_RADIUS),
    SolarEvent.DAWN: _zenith_of(CIVIL_DEPRESSION),
    SolarEvent.DUSK: _zenith_of(CIVIL_DEPRESSION),
}


@dataclass(frozen=True, slots=True)
class SolarRule:
    """The instants `offset` after an event of the sun at a place; a negative offset lies before the event.

    Latitude and longitude are degrees, north and east are positive.  A day without the event has no fire time.
    """

    event: SolarEvent
    latitude: float
    longitude: float
    offset: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        if not (abs(self.latitude) <= 90 and abs(self.longitude) <= 180):
            raise ValueError(f"latitude and longitude must be degrees, not {self.latitude!r} and {self.longitude!r}")
        if self.offset % timedelta(seconds=1):
            raise ValueError(f"offset must be whole seconds, not {self.offset!r}")

    def after(self, instant: datetime) -> datetime | None:
        """Return the first fire time later than `instant`.  Past a gap of polar day or night it skips many days."""
        if instant > LAST_INSTANT:
            return None
        local = max(instant, FIRST_INSTANT) - self.offset + self.longitude * MINUTES_OF_DEGREE * ONE_MINUTE - MARGIN
        ordinal = local.toordinal()
        last = min(ordinal + MAX_EMPTY_DAYS, LAST_DAY)
        while ordinal <= last:
            day = date.fromordinal(ordinal)
            found = event_on(self.event, self.latitude, self.longitude, day)
            if found is not None and found + self.offset > instant:
                return found + self.offset
            ordinal += self._empty_days(day) if found is None else 1
        return None

    def _empty_days(self, day: date) -> int:
        """Return how many days from a day without the event on surely have none, at least 1."""
        latitude, zenith = _within_limits(self.latitude), ZENITHS[self.event]
        declination = sun.sun_declination(_century(day))
        below_at_noon = abs(latitude - declination) - zenith
        above_at_midnight = abs(latitude + declination) - (180 - zenith)
        distance = max(below_at_noon, above_at_midnight) - DECLINATION_ERROR
        return max(1, int(distance / FASTEST_DECLINATION))


@lru_cache(maxsize=1024)
def event_on(event: SolarEvent, latitude: float, longitude: float, day: date) -> datetime | None:
    """Return the instant of the event on a solar day of the place, in whole seconds; None: the day has none."""
    if event in WHOLE_DAY:
        find: Callable[[Observer, date], datetime] = sun.noon if event is SolarEvent.NOON else sun.midnight
        return find(Observer(latitude, longitude, 0.0), day)
    found = _crossing(event, latitude, longitude, day, 0)
    if found is None or found < 0:  # astral calculates an event from the beginning of its date in UTC
        before = _crossing(event, latitude, longitude, day - ONE_DAY, DAY)
        if before is None or (found is None and before >= DAY):
            return None
        found = before - DAY
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=int(found * 60 // 1))


def _crossing(event: SolarEvent, latitude: float, longitude: float, base: date, later: int) -> float | None:
    """Return the minutes from the beginning of `base` in UTC to the event of the solar day `later` minutes after it.

    astral calculates in two steps: with the declination at the beginning of `base`, then with that at the first result.
    """
    direction = SunDirection.RISING if event in RISING else SunDirection.SETTING
    latitude, minutes = _within_limits(latitude), 0.0
    for _ in range(2):
        century = _century(base, minutes / DAY)
        try:
            angle = sun.hour_angle(latitude, sun.sun_declination(century), ZENITHS[event], direction)
        except ValueError:  # the sun does not cross this height
            return None
        noon = DAY / 2 - longitude * MINUTES_OF_DEGREE - sun.eq_of_time(century)
        minutes = noon - degrees(angle) * MINUTES_OF_DEGREE + later
    return minutes


def _century(day: date, fraction: float = 0.0) -> float:
    return julianday_to_juliancentury(julianday(day) + fraction)


def _within_limits(latitude: float) -> float:
    return max(-MAX_LATITUDE, min(latitude, MAX_LATITUDE))
