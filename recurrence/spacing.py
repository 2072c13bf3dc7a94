"""Find fire times of a schedule that are too close to each other."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING

from recurrence.schedules import Schedule, just_before
from recurrence.zones import clock_shift

if TYPE_CHECKING:  # `recurrence.wire` imports this module
    from recurrence.wire.parsed import Parsed

FIRES_CHECKED = 100
SPAN_CHECKED = timedelta(days=4 * 366)  # with a leap day


def shortest_gap_below(parsed: "Parsed", since: datetime, limit: timedelta) -> timedelta | None:
    """Return the time between the first two fire times that are less than `limit` apart; None: there are none.

    The first FIRES_CHECKED fire times from `since` (included) on are compared, if they lie in SPAN_CHECKED and in the
    schedule's run budget.  If clocks change between two fire times, these may be closer by the size of the change.
    """
    fires = islice(_fires(parsed.schedule, since), min(parsed.count or FIRES_CHECKED, FIRES_CHECKED))
    near = takewhile(lambda fire: fire - since < max(SPAN_CHECKED, limit), fires)
    for earlier, later in pairwise(near):
        gap = later - earlier
        if gap < limit and gap < limit - clock_shift(parsed.zone, earlier, later):
            return gap
    return None


def _fires(schedule: Schedule, since: datetime) -> Iterator[datetime]:
    fire = schedule.after(just_before(since))
    while fire is not None:
        yield fire
        fire = schedule.after(fire)
