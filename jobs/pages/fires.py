"""Rows of fire times, in the viewer's zone and in the zone of the schedule."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from django.utils import timezone
from django.utils.formats import date_format

from jobs import humanize
from recurrence.zones import to_zone

NOTHING = timedelta(0)
UPCOMING = 10  # fire times that a page lists


def fire_rows(
    fires: Sequence[datetime],
    now: datetime,
    zone: tzinfo = UTC,
    notes: Sequence[str] = (),
    held: Sequence[str] = (),
) -> list[dict]:
    """Return the rows of a list of fire times: day and time for the viewer, the time in another zone, and notes.

    `zone` is the zone of the schedule.  `own_day` is the day there if it differs.  A note says where the offset between
    the viewer's zone and `zone` changes.
    `held` has a text for each fire time that says what holds it; empty: it runs when it is due.
    """
    rows = []
    offset: timedelta | None = None  # of the viewer's zone from `zone`
    blanks = [""] * len(fires)
    for fire, note, hold in zip(fires, notes or blanks, held or blanks, strict=True):
        local, own = to_zone(fire, timezone.get_current_timezone()), to_zone(fire, zone)
        previous, offset = offset, (local.utcoffset() or NOTHING) - (own.utcoffset() or NOTHING)
        rows.append(
            {
                "at": fire,
                "day": humanize.format_date(fire, now),
                "clock": _clock(local),
                "other_zone_time": _second_clock(fire, local, own),
                "own_day": "" if own.date() == local.date() else date_format(own, "D j M"),
                "own_clock": _clock(own),
                "remarks": [remark for remark in (note, _offset_change(previous, offset)) if remark],
                "held": hold,
            }
        )
    return rows


def _second_clock(fire: datetime, local: datetime, own: datetime) -> str:
    """Return the fire time in the zone of the schedule, or in UTC if both zones show the same wall time."""
    if local.utcoffset() == own.utcoffset():
        return f"{_clock(fire.astimezone(UTC))} UTC" if local.utcoffset() else "UTC"
    return f"{_clock(own)} {place_name(str(own.tzinfo))}"


def zone_columns(fires: Sequence[datetime], zone: tzinfo) -> tuple[str, str] | None:
    """Return the headings of the times in the viewer's zone and in `zone`; None if both zones show the same times."""
    own, viewer = place_name(str(zone)), timezone.get_current_timezone()
    if all(to_zone(fire, viewer).utcoffset() == to_zone(fire, zone).utcoffset() for fire in fires):
        return None
    return place_name(timezone.get_current_timezone_name()), own


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def place_name(zone: str) -> str:
    return zone.rpartition("/")[2].replace("_", " ")


def _offset_change(before: timedelta | None, after: timedelta) -> str:
    """Return a note if the offset between the zones has changed since the previous fire time; else an empty text."""
    if before is None or before == after:
        return ""
    viewer_zone = place_name(timezone.get_current_timezone_name())
    direction = "later" if after > before else "earlier"
    return f"{humanize.format_duration(abs(after - before))} {direction} in {viewer_zone} from this run on"
