"""How the common members of a schedule led to its fire times: which are added or moved, and which are left out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from heapq import merge
from itertools import islice

from recurrence.composites import Skipping, WithExtras
from recurrence.open_days import OnOpenDays, local_day
from recurrence.schedules import Schedule, just_after, just_before
from recurrence.wire.common import layers_of
from recurrence.wire.parsed import Parsed
from recurrence.zones import start_of_day

MOST_LISTED = 3  # days before a fire time on which others are left out
SEARCHED_DAYS = 60  # days with closed fire times that are looked at, between two fire times


@dataclass(frozen=True, slots=True)
class ClosedFire:
    """The fire time that a schedule would have without closed days and skips.

    `at` is the first fire time of its day.  `reason` is the name of the closed day, or an empty text.  `is_skip` is
    True for a fire time that the member `skips` leaves out.
    """

    at: datetime
    reason: str = ""
    is_skip: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """What led to a fire time.

    * `is_extra`: only the member `extras` has it.
    * `moved_from`: the fire times on closed days that moved to it, earliest first.
    * `left_out`: a fire time for each day since the previous fire time on which some are left out, at most MOST_LISTED.
    * `has_more_left_out`: there are more such days.
    """

    is_extra: bool = False
    moved_from: tuple[ClosedFire, ...] = ()
    left_out: tuple[ClosedFire, ...] = ()
    has_more_left_out: bool = False


def origins_of(parsed: Parsed, fires: Sequence[datetime], since: datetime) -> list[Origin]:
    """Return the origin of each fire time.

    `fires` are all fire times after `since` up to the last one, earliest first.  The cost of each is bounded.
    """
    layers = [layer for _, layer in layers_of(parsed.schedule)[1:]]
    if not layers:
        return [Origin()] * len(fires)
    return [_origin(layers, parsed.zone, before, fire) for before, fire in zip((since, *fires), fires, strict=False)]


def _origin(layers: Sequence[Schedule], zone: tzinfo, before: datetime, fire: datetime) -> Origin:
    is_extra, moved_from, left_out = False, [], []
    for layer in layers:
        match layer:
            case WithExtras(inner):
                is_extra = inner.after(just_before(fire)) != fire
            case OnOpenDays():
                sources = layer.moved_from(fire) if layer.after(just_before(fire)) == fire else []
                moved_from = [_closed_fire(layer, each) for each in sources if each != fire]
                left_out.append(_closed_out(layer, before, fire))
            case Skipping():
                left_out.append(_skipped(layer, zone, before, fire))
    found = list(islice(merge(*left_out, key=lambda each: each.at), MOST_LISTED + 1))
    return Origin(is_extra, tuple(moved_from), tuple(found[:MOST_LISTED]), len(found) > MOST_LISTED)


def _closed_out(layer: OnOpenDays, before: datetime, fire: datetime) -> Iterator[ClosedFire]:
    """Yield the fire times between two others that closed days leave out, one for each day."""
    for at in islice(_first_of_days(layer.schedule, layer.zone, before, fire), SEARCHED_DAYS):
        if layer.days.target_of(local_day(at, layer.zone)) is None:
            yield _closed_fire(layer, at)


def _skipped(layer: Skipping, zone: tzinfo, before: datetime, fire: datetime) -> Iterator[ClosedFire]:
    """Yield the fire times between two others that are skipped, one for each day."""
    for start, end in layer.ranges_within(just_after(before), fire):
        for at in _first_of_days(layer.schedule, zone, just_before(start), end):
            yield ClosedFire(at, is_skip=True)


def _first_of_days(schedule: Schedule, zone: tzinfo, after: datetime, end: datetime) -> Iterator[datetime]:
    """Yield the first fire time of each day after an instant and before `end`."""
    fire = schedule.after(after)
    while fire is not None and fire < end:
        yield fire
        day = local_day(fire, zone)
        if day >= date.max.toordinal():
            return
        fire = schedule.after(max(fire, just_before(start_of_day(day + 1, zone))))


def _closed_fire(layer: OnOpenDays, at: datetime) -> ClosedFire:
    day = date.fromordinal(local_day(at, layer.zone))
    closed = next(iter(layer.closed.closed_between(day, day)), None)
    if closed is None:
        return ClosedFire(at)
    return ClosedFire(at, closed.name or ("weekend" if closed.source == "weekend" else ""))
