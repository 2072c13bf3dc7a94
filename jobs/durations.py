"""Durations in the two forms that clients of the original service send: ISO 8601 and `[d.]hh:mm:ss`.

A month counts 30 days and a year 365: calendar lengths have no meaning for a wait or a time to live.
"""

import re
from datetime import timedelta

_ISO = re.compile(
    r"P(?=[0-9T])(?:([0-9]{1,4})Y)?(?:([0-9]{1,5})M)?(?:([0-9]{1,5})W)?(?:([0-9]{1,6})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,8})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,10})(?:[.,]([0-9]{1,9}))?S)?)?"
)
_CLOCK = re.compile(r"(?:([0-9]{1,6})\.)?([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?")
_MISPLACED_DAYS = re.compile(r"PT([0-9]{1,6}D)")


def parse(text: str) -> timedelta:
    """Return the duration; digits below the microsecond are cut off.  Raises ValueError if `text` has neither form."""
    if match := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds, fraction = match.groups()
        return timedelta(int(days or 0), int(seconds), _microseconds(fraction), 0, int(minutes), int(hours))
    if match := _ISO.fullmatch(canonical(text)):
        *whole, fraction = match.groups()
        years, months, weeks, days, hours, minutes, seconds = (int(number or 0) for number in whole)
        days += 365 * years + 30 * months
        return timedelta(days, seconds, _microseconds(fraction), 0, minutes, hours, weeks)
    raise ValueError(f"{text[:50]!r} is not a duration such as PT30S or 00:00:30")


def render(span: timedelta) -> str:
    """Return the duration in ISO 8601, in hours, minutes and seconds; fractions of a second are left out."""
    minutes, seconds = divmod(span // timedelta(seconds=1), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "H"), (minutes, "M"), (seconds, "S"))
    return "PT" + ("".join(f"{number}{unit}" for number, unit in parts if number) or "0S")


def canonical(text: str) -> str:
    """Correct durations such as `PT1D`, which the original's documentation uses, to the ISO 8601 form `P1D`."""
    return _MISPLACED_DAYS.sub(r"P\1", text) if _MISPLACED_DAYS.fullmatch(text) else text


def _microseconds(fraction: str | None) -> int:
    return int((fraction or "")[:6].ljust(6, "0"))
