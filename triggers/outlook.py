"""What triggers are going to do, for pages: their next fire times and their schedules in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Any

from recurrence.describe import describe
from recurrence.wire import WireError
from triggers.models import MAIN, Trigger, parsed

MOST_SAID = 3  # schedules of a job in one line


def in_words(trigger: Trigger) -> str:
    return words_and_warnings(trigger.format, trigger.definition, trigger.anchored_at)[0]


def words_and_warnings(format: str, definition: dict[str, Any], anchored_at: datetime) -> tuple[str, tuple[str, ...]]:
    try:
        schedule = parsed(format, definition, anchored_at)
    except WireError as error:  # written when the format was read more generously
        return f"cannot be read: {error}", ()
    return describe(schedule), schedule.warnings


def of_all_in_words(triggers: Iterable[Trigger]) -> str:
    """The schedules of a job in one line; without any it runs by hand only."""
    said = [in_words(trigger) for trigger in in_order(triggers)]
    if len(said) > MOST_SAID:
        said[MOST_SAID - 1 :] = [f"and {len(said) - MOST_SAID + 1} more triggers"]
    return "; ".join(said) or "only by hand"


def in_order(triggers: Iterable[Trigger]) -> list[Trigger]:
    """The job's own schedule first, then the triggers beside it as they were made."""
    return sorted(triggers, key=lambda each: (each.name != MAIN, each.pk))


def upcoming(triggers: Iterable[Trigger], limit: int) -> list[datetime]:
    """The next fire times of all of them, at most `limit`: none while the job is stopped or when nothing is left."""
    return list(islice(merge(*map(_from_next, triggers)), limit))


@dataclass(frozen=True, slots=True)
class Outlook:
    """The fire times of one trigger in a window; `more` when there are more than were asked for."""

    trigger: Trigger
    fires: tuple[datetime, ...]
    more: bool


def within(triggers: Iterable[Trigger], end: datetime, limit: int) -> list[Outlook]:
    """What each trigger does before `end` (not included), at most `limit` times each."""
    outlooks = []
    for trigger in triggers:
        fires = []
        for fire in islice(_from_next(trigger), limit + 1):
            if fire >= end:
                break
            fires.append(fire)
        outlooks.append(Outlook(trigger, tuple(fires[:limit]), len(fires) > limit))
    return outlooks


def _from_next(trigger: Trigger):
    fire, left = trigger.next_fire_at, trigger.fires_left
    try:
        schedule = trigger.parsed.schedule
    except WireError:
        return
    while fire is not None and left != 0:
        yield fire
        left = None if left is None else left - 1
        fire = schedule.after(fire)
