"""Preview the fire times of a schedule in a window."""

from datetime import datetime

from recurrence.counting import count_within
from recurrence.schedules import just_after, just_before
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

    The window begins at `start` (included) or after `after` (not included).  With both it begins at the later one.  It
    never begins before `created_at`, which is the default.  It ends before `end` (not included), or never.
    `parsed.count` is counted from the first fire time at or after `created_at`.  So a later window of a schedule with a
    count has only the rest of the count.  "More" means further fire times in the window and within the count.
    """
    bounds = [just_before(created_at)]
    if after is not None:
        bounds.append(after)
    if start is not None:
        bounds.append(just_before(start))
    last = max(bounds)
    left = limit + 1
    if parsed.count is not None:
        left = min(left, parsed.count - count_within(parsed.schedule, created_at, just_after(last)))

    fires: list[datetime] = []
    while len(fires) < left:
        fire = parsed.schedule.after(last)
        if fire is None or (end is not None and fire >= end):
            break
        fires.append(fire)
        last = fire
    return fires[:limit], len(fires) > limit
