"""The next fire times of triggers, and their schedules in words, for pages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from itertools import islice, takewhile
from typing import Any

from recurrence.describe import describe
from recurrence.wire import WireError
from triggers.gates import HoldWindow
from triggers.models import MAIN, Trigger, parsed
from triggers.upcoming import find_hold, fires_of

MOST_DESCRIBED = 3  # schedules of a job in one line
Windows = Mapping[int, Sequence[HoldWindow]]  # by job
NO_WINDOWS: Windows = {}


def describe_trigger(trigger: Trigger) -> str:
    return words_and_warnings(trigger.format, trigger.definition, trigger.anchored_at)[0]


def words_and_warnings(format: str, definition: dict[str, Any], anchored_at: datetime) -> tuple[str, tuple[str, ...]]:
    try:
        schedule = parsed(format, definition, anchored_at)
    except WireError as error:  # stored when the parser of its format accepted more
        return f"cannot be read: {error}", ()
    return describe(schedule), schedule.warnings


def describe_triggers(triggers: Iterable[Trigger]) -> str:
    """Return the schedules of a job in one line; a job without triggers runs by hand only."""
    texts = [describe_trigger(trigger) for trigger in in_order(triggers)]
    if len(texts) > MOST_DESCRIBED:
        texts[MOST_DESCRIBED - 1 :] = [f"and {len(texts) - MOST_DESCRIBED + 1} more triggers"]
    return "; ".join(texts) or "only by hand"


def in_order(triggers: Iterable[Trigger]) -> list[Trigger]:
    """Return the triggers sorted: the job's own schedule first, then the others in the order of their creation."""
    return sorted(triggers, key=lambda each: (each.name != MAIN, each.pk))


def upcoming(triggers: Iterable[Trigger], limit: int) -> list[datetime]:
    """Return the next fire times of all the triggers, at most `limit`.

    The list is empty while the job is stopped, and when no fire time is left.
    """
    return list(islice(merge(*map(fires_of, triggers)), limit))


@dataclass(frozen=True, slots=True)
class UpcomingFires:
    """When the runs of one trigger start in a window; `more` is True when there are more than the limit."""

    trigger: Trigger
    fires: tuple[datetime, ...]
    more: bool


def upcoming_fires(
    triggers: Iterable[Trigger], end: datetime, limit: int, windows: Windows = NO_WINDOWS
) -> list[UpcomingFires]:
    """Return when the runs of each trigger start before `end` (not included), at most `limit` fire times each.

    `windows` are the windows in which gates hold the jobs.  If several fire times are held until the same moment, one
    run starts at that moment.
    """
    found = []
    released: dict[tuple[int, datetime], int] = {}  # by job and moment of release, the index of the newest trigger
    for index, trigger in enumerate(triggers):
        fires = []
        next_fires = list(islice(takewhile(lambda fire: fire < end, fires_of(trigger)), limit + 1))
        for fire in next_fires[:limit]:
            hold = find_hold(windows.get(trigger.job_id, ()), fire)
            if hold is None:
                fires.append(fire)
            elif hold.until is not None and hold.until < end and not hold.is_dropped:
                released[trigger.job_id, hold.until] = index
        found.append(UpcomingFires(trigger, tuple(fires), len(next_fires) > limit))
    for (_, at), index in released.items():
        found[index] = replace(found[index], fires=tuple(sorted((*found[index].fires, at))))
    return found
