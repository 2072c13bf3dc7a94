"""Format times and days for a viewer: in the viewer's hour cycle and the active language.

Times are formatted as they are: convert an instant to a zone first (`instant.astimezone(zone)`).  For whole dates use
the formats in `scheduler_site.formats`, such as `date_format(day, "LONG_DATE_FORMAT")`.
"""

from datetime import date, datetime, time

from django.utils.formats import date_format
from django.utils.translation import pgettext

NOON = 12


def time_words(wall_time: datetime | time, hour_cycle: int, *, with_seconds: bool = False) -> str:
    """Format a time as 18:00, or 6:00 pm when the hour cycle is 12; 18:00:30 with seconds."""
    minutes = f":{wall_time.minute:02}:{wall_time.second:02}" if with_seconds else f":{wall_time.minute:02}"
    if hour_cycle != NOON:
        return f"{wall_time.hour:02}{minutes}"
    return _with_half_day(f"{wall_time.hour % NOON or NOON}{minutes}", wall_time.hour)


def moment_words(wall_time: datetime, hour_cycle: int) -> str:
    """Format a date and time as Wed 21 October 2026, 18:00."""
    return f"{date_format(wall_time, 'DATE_FORMAT')}, {time_words(wall_time, hour_cycle)}"


def hour_words(hour: int, hour_cycle: int) -> str:
    """Format an hour of a scale, from 0 to 23, as 18 or 6 pm."""
    return f"{hour:02}" if hour_cycle != NOON else _with_half_day(str(hour % NOON or NOON), hour)


def time_pattern(half_day: str) -> str:
    """Return how the active language writes a time before noon ("am") or after noon ("pm"); %s stands for the time."""
    return pgettext("time of day", "%s am") if half_day == "am" else pgettext("time of day", "%s pm")


def days_words(first: date, last: date) -> str:
    """Format a range of days, both ends included.

    Examples: 19–25 October 2026, 28 September – 4 October 2026, 21 October 2026.
    """
    end = date_format(last, "SHORT_DATE_FORMAT")
    if first == last:
        return end
    if first.year != last.year:
        return f"{date_format(first, 'SHORT_DATE_FORMAT')} – {end}"
    if first.month != last.month:
        return f"{date_format(first, 'MONTH_DAY_FORMAT')} – {end}"
    return f"{date_format(first, 'DAY_OF_MONTH_FORMAT')}–{end}"


def _with_half_day(digits: str, hour: int) -> str:
    return time_pattern("am" if hour < NOON else "pm") % digits
