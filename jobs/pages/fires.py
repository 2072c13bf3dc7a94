"""Fire times as lines of a list, on the clocks of whoever looks and beside them on the schedule's own."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from django.utils import timezone

from jobs import words

NOTHING = timedelta(0)
UPCOMING = 10  # fire times that a page lists


def runs(fire: datetime) -> str:
    """Why a fire time is held where nothing is known to hold it: not at all."""
    return ""


def fire_rows(
    fires: Sequence[datetime],
    now: datetime,
    zone: tzinfo = UTC,
    notes: Sequence[str] = (),
    why_held: Callable[[datetime], str] = runs,
) -> list[dict]:
    """Fire times as lines of a list: day and clock of the viewer, another clock beside it, and what is worth a note.

    `zone` is the schedule's own; where the viewer's clocks move and its own do not, that is noted.
    """
    rows = []
    ahead: timedelta | None = None
    for fire, note in zip(fires, notes or [""] * len(fires), strict=True):
        local, own = timezone.localtime(fire), fire.astimezone(zone)
        before, ahead = ahead, (local.utcoffset() or NOTHING) - (own.utcoffset() or NOTHING)
        rows.append(
            {
                "at": fire,
                "day": words.day(fire, now),
                "clock": _clock(local),
                "beside": _beside_clock(fire, local, own),
                "asides": [aside for aside in (note, _shift(before, ahead)) if aside],
                "held": why_held(fire),
            }
        )
    return rows


def _beside_clock(fire: datetime, local: datetime, own: datetime) -> str:
    """The same moment on the schedule's own clocks, or in UTC where those show the same as the viewer's."""
    if local.utcoffset() == own.utcoffset():
        return f"{_clock(fire.astimezone(UTC))} UTC" if local.utcoffset() else "UTC"
    return f"{_clock(own)} {place_name(str(own.tzinfo))}"


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def place_name(zone: str) -> str:
    return zone.rpartition("/")[2].replace("_", " ")


def _shift(before: timedelta | None, after: timedelta) -> str:
    if before is None or before == after:
        return ""
    place = place_name(timezone.get_current_timezone_name())
    return f"{words.span(abs(after - before))} {'later' if after > before else 'earlier'} in {place} from here"
