"""Texts about a fire time in a preview: that it was moved or added, what was left out before it, and its jitter."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from django.utils import timezone
from django.utils.formats import date_format

from recurrence.fire_origins import ClosedFire, Origin
from recurrence.jitter import latest_start
from recurrence.wire import Parsed
from recurrence.zones import to_zone


@dataclass(frozen=True, slots=True)
class FireMark:
    """A text with the name of its icon."""

    icon: str
    text: str


def fire_marks(fire: datetime, origin: Origin, parsed: Parsed, now: datetime) -> list[FireMark]:
    marks = []
    if origin.moved_from:
        marks.append(FireMark("moved", f"moved from {_days_in_words(origin.moved_from, parsed.zone, now)}"))
    if origin.is_extra:
        marks.append(FireMark("plus", "added"))
    if origin.left_out:
        days = _days_in_words(origin.left_out, parsed.zone, now)
        more = " and more days" if origin.has_more_left_out else ""
        marks.append(FireMark("close", f"left out before: {days}{more}"))
    if parsed.jitter:
        marks.append(FireMark("clock", _window_in_words(fire, parsed.jitter)))
    return marks


def _days_in_words(closed: Sequence[ClosedFire], zone: tzinfo, now: datetime) -> str:
    """Return the days of fire times in the zone of the schedule, each with the reason for which it is closed."""
    return "; ".join(_day_in_words(each, zone, now) for each in closed)


def _day_in_words(closed: ClosedFire, zone: tzinfo, now: datetime) -> str:
    local = to_zone(closed.at, zone)
    day = date_format(local, "D j M" if local.year == to_zone(now, zone).year else "D j M Y")
    reason = "skipped" if closed.is_skip else closed.reason
    return f"{day}, {reason}" if reason else day


def _window_in_words(fire: datetime, jitter: timedelta) -> str:
    """Return the span in which the run of a fire time starts, in the viewer's zone."""
    zone = timezone.get_current_timezone()
    first, last = to_zone(fire, zone), to_zone(latest_start(fire, jitter), zone)
    pattern = "%H:%M:%S" if first.second or last.second else "%H:%M"
    next_day = "" if first.date() == last.date() else " the next day"
    return f"starts between {first:{pattern}} and {last:{pattern}}{next_day}"
