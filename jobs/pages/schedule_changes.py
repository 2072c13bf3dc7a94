"""What saving a changed schedule changes in its runs over the next days, for the preview."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile

from django.utils import timezone

from jobs import humanize
from recurrence.comparison import LIMIT, Comparison, Move, Window, compare
from recurrence.schedules import LAST_INSTANT, TICK
from recurrence.wire import Parsed
from recurrence.zones import to_zone
from triggers.models import Trigger
from triggers.upcoming import fires_of

CHOICES = (30, 90, 365)  # days that are compared
MEMBER = "compare_days"  # the choice in the form


@dataclass(frozen=True, slots=True)
class Change:
    """A kind of change: how many runs, and the first of them in words."""

    name: str
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class ScheduleChanges:
    """The changes over `days` days.  `until` is where the comparison ended, if it ended earlier; else empty."""

    days: int
    changes: Sequence[Change]
    unchanged_count: int
    until: str
    choices: Sequence[int] = CHOICES
    limit: int = LIMIT


def chosen_days(values: Mapping[str, object]) -> int:
    """Return the chosen number of days in posted values; without a valid choice, the smallest one."""
    return next((days for days in CHOICES if str(days) == values.get(MEMBER)), CHOICES[0])


def find_changes(trigger: Trigger, parsed: Parsed | None, now: datetime, days: int) -> ScheduleChanges | None:
    """Compare the stored schedule of a trigger with `parsed` from `now` on; `parsed` None: the schedule is removed.

    At most LIMIT fire times of each are compared.  None: the stored schedule cannot be read.
    """
    stored = trigger.parsed_or_none
    if stored is None or now > LAST_INSTANT - timedelta(days=days):
        return None
    end = now + timedelta(days=days)
    before = _stored_window(trigger, stored, now, end)
    after = Window.of(parsed, now, now, end) if parsed else Window((), end, stored.zone)
    return _in_words(compare(before, after), now, days, end)


def _stored_window(trigger: Trigger, stored: Parsed, now: datetime, end: datetime) -> Window:
    """Return the coming fire times of a trigger; those that it would have, while it is stopped."""
    if trigger.next_fire_at is None:
        return Window.of(stored, now, now, end)
    fires = list(islice(takewhile(lambda fire: fire < end, fires_of(trigger)), LIMIT + 1))
    return Window(fires[:LIMIT], fires[LIMIT - 1] + TICK if len(fires) > LIMIT else end, stored.zone)


def _in_words(comparison: Comparison, now: datetime, days: int, end: datetime) -> ScheduleChanges:
    moved = comparison.moved
    changes = [
        Change("Moved", len(moved), _move_in_words(moved[0], now) if moved else ""),
        *(
            Change(name, len(fires), humanize.format_datetime(fires[0], now) if fires else "")
            for name, fires in (("Added", comparison.added), ("Removed", comparison.removed))
        ),
    ]
    return ScheduleChanges(
        days,
        [change for change in changes if change.count],
        comparison.unchanged_count,
        "" if comparison.end == end else humanize.format_datetime(comparison.end, now),
    )


def _move_in_words(move: Move, now: datetime) -> str:
    zone = timezone.get_current_timezone()
    after = to_zone(move.after, zone)
    is_same_day = to_zone(move.before, zone).date() == after.date()
    to = f"{after:%H:%M}" if is_same_day else humanize.format_datetime(move.after, now)
    return f"{humanize.format_datetime(move.before, now)} to {to}"
