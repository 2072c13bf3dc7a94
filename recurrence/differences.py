"""When two schedules differ.  Compared by their fire times, with an end to the work however many these are."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from recurrence.schedules import count, just_after, just_before
from recurrence.wire.parsed import Parsed

STEPS = 10_000  # fire times compared one by one; of what comes after them, the first of each hour
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Difference:
    """A fire time that only one of the two has."""

    at: datetime
    is_ours: bool


def differences(ours: Parsed, theirs: Parsed, created_at: datetime, end: datetime, most: int) -> list[Difference]:
    """The first differences, at most `most`, in (created_at, end): what either does at its creation does not count.

    Beyond STEPS fire times, differences are looked for at the beginning of each hour only.
    """
    if (ours.schedule, ours.count) == (theirs.schedule, theirs.count):
        return []
    found: list[Difference] = []
    our_fires, their_fires = (_fires(each, created_at, end) for each in (ours, theirs))
    ours_next, theirs_next = next(our_fires, None), next(their_fires, None)
    for _ in range(STEPS):
        if len(found) == most or ours_next is theirs_next is None:
            return found
        if ours_next == theirs_next:
            ours_next, theirs_next = next(our_fires, None), next(their_fires, None)
        elif theirs_next is None or (ours_next is not None and ours_next < theirs_next):
            assert ours_next is not None
            found.append(Difference(ours_next, True))
            ours_next = next(our_fires, None)
        else:
            found.append(Difference(theirs_next, False))
            theirs_next = next(their_fires, None)
    reached = min(fire for fire in (ours_next, theirs_next) if fire is not None) if ours_next or theirs_next else end
    return found + _by_the_hour(ours, theirs, reached, end, most - len(found))


def _fires(parsed: Parsed, created_at: datetime, end: datetime) -> Iterator[datetime]:
    left = parsed.count
    if left is not None:
        left -= count(parsed.schedule, created_at, just_after(created_at))
    fire = parsed.schedule.after(created_at)
    while fire is not None and fire < end and left != 0:
        yield fire
        left = None if left is None else left - 1
        fire = parsed.schedule.after(fire)


def _by_the_hour(ours: Parsed, theirs: Parsed, start: datetime, end: datetime, most: int) -> list[Difference]:
    found: list[Difference] = []
    hour = start.replace(minute=0, second=0, microsecond=0) + HOUR
    while hour < end and len(found) < most:
        fires = ours.schedule.after(just_before(hour)), theirs.schedule.after(just_before(hour))
        first = min((fire for fire in fires if fire is not None), default=end)
        if first >= end:
            break
        if fires[0] != fires[1]:
            found.append(Difference(first, fires[0] == first))
        hour = first.replace(minute=0, second=0, microsecond=0) + HOUR
    return found
