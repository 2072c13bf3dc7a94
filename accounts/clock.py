"""Times and days in the viewer's own manner: their hour cycle, and the language that is active.

Readings are taken as they are: who has an instant makes it a reading of a zone first (`instant.astimezone(zone)`).
Whole dates go by the names in `scheduler_site.formats`, such as `date_format(day, "LONG_DATE_FORMAT")`.
"""

from datetime import date, datetime, time

from django.utils.formats import date_format
from django.utils.translation import pgettext

NOON = 12


def time_words(reading: datetime | time, hour_cycle: int, *, with_seconds: bool = False) -> str:
    """18:00, or 6:00 pm when the hour cycle is 12; 18:00:30 with seconds."""
    behind = f":{reading.minute:02}:{reading.second:02}" if with_seconds else f":{reading.minute:02}"
    if hour_cycle != NOON:
        return f"{reading.hour:02}{behind}"
    return _of_half_day(f"{reading.hour % NOON or NOON}{behind}", reading.hour)


def moment_words(reading: datetime, hour_cycle: int) -> str:
    """Wed 21 October 2026, 18:00."""
    return f"{date_format(reading, 'DATE_FORMAT')}, {time_words(reading, hour_cycle)}"


def hour_words(hour: int, hour_cycle: int) -> str:
    """An hour of a scale, 0 to 23: 18, or 6 pm."""
    return f"{hour:02}" if hour_cycle != NOON else _of_half_day(str(hour % NOON or NOON), hour)


def time_pattern(half_day: str) -> str:
    """How the active language writes a time before noon ("am") or after it ("pm"), with %s in the time's place."""
    return pgettext("time of day", "%s am") if half_day == "am" else pgettext("time of day", "%s pm")


def days_words(first: date, last: date) -> str:
    """From one day to another, both included: 19–25 October 2026, 28 September – 4 October 2026, 21 October 2026."""
    end = date_format(last, "SHORT_DATE_FORMAT")
    if first == last:
        return end
    if first.year != last.year:
        return f"{date_format(first, 'SHORT_DATE_FORMAT')} – {end}"
    if first.month != last.month:
        return f"{date_format(first, 'MONTH_DAY_FORMAT')} – {end}"
    return f"{date_format(first, 'DAY_OF_MONTH_FORMAT')}–{end}"


def _of_half_day(figures: str, hour: int) -> str:
    return time_pattern("am" if hour < NOON else "pm") % figures
