"""When two schedules differ.  Compared by their fire times, with an end to the work however many these are.

The first STEPS fire times are compared one by one.  After them, which is where they are many, the first one is compared
that comes at or after each midnight, and after each half hour near a change of the clocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from recurrence.schedules import count, just_after, just_before
from recurrence.wire.parsed import Parsed
from recurrence.zones import EPOCH, stretch_at

STEPS = 10_000
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
NEAR_A_CHANGE = [timedelta(minutes=30 * number) for number in range(-6, 9)]


@dataclass(frozen=True, slots=True)
class Difference:
    """A fire time that only one of the two has."""

    at: datetime
    is_ours: bool


def differences(ours: Parsed, theirs: Parsed, created_at: datetime, end: datetime, most: int) -> list[Difference]:
    """The first differences, at most `most`, in (created_at, end): what either does at its creation does not count."""
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
    return found + _probed(ours, theirs, reached, end, most - len(found))


def _fires(parsed: Parsed, created_at: datetime, end: datetime) -> Iterator[datetime]:
    left = parsed.count
    if left is not None:
        left -= count(parsed.schedule, created_at, just_after(created_at))
    fire = parsed.schedule.after(created_at)
    while fire is not None and fire < end and left != 0:
        yield fire
        left = None if left is None else left - 1
        fire = parsed.schedule.after(fire)


def _probed(ours: Parsed, theirs: Parsed, start: datetime, end: datetime, most: int) -> list[Difference]:
    found: list[Difference] = []
    known = start
    for probe in _probes(start, end, {ours.zone, theirs.zone}):
        if len(found) == most:
            break
        if probe <= known:
            continue
        fires = ours.schedule.after(just_before(probe)), theirs.schedule.after(just_before(probe))
        known = min((fire for fire in fires if fire is not None), default=end)
        if fires[0] != fires[1] and known < end:
            found.append(Difference(known, fires[0] == known))
    return found


def _probes(start: datetime, end: datetime, zones: set[tzinfo]) -> list[datetime]:
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    moments = {midnight + number * DAY for number in range((end - midnight) // DAY + 1)}
    for zone in zones - {UTC}:
        moments |= {change + offset for change in _changes(zone, start, end) for offset in NEAR_A_CHANGE}
    return sorted(moment for moment in moments if start < moment < end)


def _changes(zone: tzinfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """The changes of the clocks, and some instants at which nothing changes."""
    second = (start - EPOCH) // SECOND
    while (second := stretch_at(zone, second).end) < (end - EPOCH) // SECOND:
        yield EPOCH + second * SECOND
