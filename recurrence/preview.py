"""What a schedule would do: its next fire times, for someone who is about to write it or wonders."""

from datetime import datetime

from recurrence.schedules import count, just_after, just_before
from recurrence.series import Series
from recurrence.wire.parsed import Parsed


def preview(
    parsed: Parsed,
    *,
    created_at: datetime,
    after: datetime | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    limit: int,
) -> tuple[list[datetime], bool]:
    """Return the first `limit` fire times of a window, earliest first, and whether the window holds more.

    The window begins at `start` (included) or behind `after` (not included), with both given at the later of the
    two, and never before `created_at`, where it begins by default.  It ends before `end` (not included), or never.
    Only a series, which is on a calendar whoever created it when, may be asked for what was before `created_at`.
    `parsed.count` is counted from the first fire time at or after `created_at`, so a late window of a counted series
    holds what is left of it.  "More" means fire times behind the last one answered that lie within both.
    """
    is_asked_for_the_past = isinstance(parsed.schedule, Series) and (after or start)
    bounds = [] if is_asked_for_the_past else [just_before(created_at)]
    if after is not None:
        bounds.append(after)
    if start is not None:
        bounds.append(just_before(start))
    last = max(bounds)
    left = limit + 1
    if parsed.count is not None:
        left = min(left, parsed.count - count(parsed.schedule, created_at, just_after(last)))

    fires: list[datetime] = []
    while len(fires) < left:
        fire = parsed.schedule.after(last)
        if fire is None or (end is not None and fire >= end):
            break
        fires.append(fire)
        last = fire
    return fires[:limit], len(fires) > limit
