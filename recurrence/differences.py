"""Find the instants at which two schedules differ, by comparing their fire times with a bounded amount of work.

The first STEPS fire times are compared one by one.  After that only samples are compared: the first fire time at or
after each midnight, and at or after each half hour near a clock change.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from recurrence.counting import count_within
from recurrence.schedules import just_after, just_before
from recurrence.wire.parsed import Parsed
from recurrence.zones import EPOCH, offset_period_at

STEPS = 10_000
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
NEAR_A_CHANGE = [timedelta(minutes=30 * number) for number in range(-6, 9)]


@dataclass(frozen=True, slots=True)
class Difference:
    """A fire time that only one of the two schedules has."""

    at: datetime
    only_in_first: bool


def differences(first: Parsed, second: Parsed, created_at: datetime, end: datetime, limit: int) -> list[Difference]:
    """Return the first differences in (created_at, end), at most `limit`; a run at the creation does not count."""
    if (first.schedule, first.count) == (second.schedule, second.count):
        return []
    found: list[Difference] = []
    first_fires, second_fires = (fire_times(each, created_at, end) for each in (first, second))
    first_next, second_next = next(first_fires, None), next(second_fires, None)
    for _ in range(STEPS):
        if len(found) == limit or first_next is second_next is None:
            return found
        if first_next == second_next:
            first_next, second_next = next(first_fires, None), next(second_fires, None)
        elif second_next is None or (first_next is not None and first_next < second_next):
            assert first_next is not None
            found.append(Difference(first_next, True))
            first_next = next(first_fires, None)
        else:
            found.append(Difference(second_next, False))
            second_next = next(second_fires, None)
    reached = min(fire for fire in (first_next, second_next) if fire is not None) if first_next or second_next else end
    return found + _sampled(first, second, reached, end, limit - len(found))


def fire_times(parsed: Parsed, created_at: datetime, end: datetime) -> Iterator[datetime]:
    left = parsed.count
    if left is not None:
        left -= count_within(parsed.schedule, created_at, just_after(created_at))
    fire = parsed.schedule.after(created_at)
    while fire is not None and fire < end and left != 0:
        yield fire
        left = None if left is None else left - 1
        fire = parsed.schedule.after(fire)


def _sampled(first: Parsed, second: Parsed, start: datetime, end: datetime, limit: int) -> list[Difference]:
    found: list[Difference] = []
    known = start
    for moment in _sample_moments(start, end, {first.zone, second.zone}):
        if len(found) == limit:
            break
        if moment <= known:
            continue
        fires = first.schedule.after(just_before(moment)), second.schedule.after(just_before(moment))
        known = min((fire for fire in fires if fire is not None), default=end)
        if fires[0] != fires[1] and known < end:
            found.append(Difference(known, fires[0] == known))
    return found


def _sample_moments(start: datetime, end: datetime, zones: set[tzinfo]) -> list[datetime]:
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    moments = {midnight + number * DAY for number in range((end - midnight) // DAY + 1)}
    for zone in zones - {UTC}:
        moments |= {change + offset for change in _changes(zone, start, end) for offset in NEAR_A_CHANGE}
    return sorted(moment for moment in moments if start < moment < end)


def _changes(zone: tzinfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """Yield the clock changes of a zone, and also some instants without a change."""
    second = (start - EPOCH) // SECOND
    while (second := offset_period_at(zone, second).end) < (end - EPOCH) // SECOND:
        yield EPOCH + second * SECOND
