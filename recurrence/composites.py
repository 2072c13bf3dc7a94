"""Schedules made of other schedules."""

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo

from recurrence.schedules import FIRST_INSTANT, TICK, Schedule, count, just_after, just_before, require_utc
from recurrence.zones import parts_of_day


@dataclass(frozen=True, slots=True)
class Bounded:
    """The fire times of `schedule` that are neither before `start` nor later than `until`.

    Both bounds are included, as in every format that has them.  None: no bound.
    """

    schedule: Schedule
    start: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name, bound in (("start", self.start), ("until", self.until)):
            if bound is not None:
                require_utc(bound, name)

    def after(self, instant: datetime) -> datetime | None:
        if self.start is not None and instant < self.start:
            instant = just_before(self.start)
        fire = self.schedule.after(instant)
        if fire is not None and self.until is not None and fire > self.until:
            return None
        return fire

    def count_before(self, instant: datetime) -> int:
        if self.until is not None and instant > self.until:
            instant = just_after(self.until)
        return count(self.schedule, self.start or FIRST_INSTANT, instant)


@dataclass(frozen=True, slots=True)
class FirstThen:
    """`first`, and after it the fire times of `then`; earlier fire times of `then` do not count."""

    first: datetime
    then: Schedule

    def __post_init__(self) -> None:
        require_utc(self.first, "first")

    def after(self, instant: datetime) -> datetime | None:
        return self.first if instant < self.first else self.then.after(instant)

    def count_before(self, instant: datetime) -> int:
        return int(self.first < instant) + count(self.then, just_after(self.first), instant)


@dataclass(frozen=True, slots=True)
class Skipping:
    """The fire times of `schedule` without those on `days`, on the clocks of `zone`, and without `instants`."""

    schedule: Schedule
    days: frozenset[date]
    instants: frozenset[datetime]
    zone: tzinfo
    _starts: tuple[datetime, ...] = field(init=False, repr=False, compare=False)  # of ranges without fire times
    _ends: tuple[datetime, ...] = field(init=False, repr=False, compare=False)  # not included
    _utc_days: frozenset[int] = field(init=False, repr=False, compare=False)  # the ordinals of days with a range

    def __post_init__(self) -> None:
        for instant in self.instants:
            require_utc(instant, "instants")
        ordinals = [day.toordinal() for day in self.days]
        ranges = [(start, end) for day in ordinals for start, end, _ in parts_of_day(day, self.zone)]
        merged = _merge(ranges + [(instant, just_after(instant)) for instant in self.instants])
        object.__setattr__(self, "_starts", tuple(start for start, _ in merged))
        object.__setattr__(self, "_ends", tuple(end for _, end in merged))
        days = {day for start, end in ranges for day in range(start.toordinal(), end.toordinal() + 1)}
        object.__setattr__(self, "_utc_days", frozenset(days | {instant.toordinal() for instant in self.instants}))

    def after(self, instant: datetime) -> datetime | None:
        fire = self.schedule.after(instant)
        while fire is not None and fire.toordinal() in self._utc_days:
            index = bisect_right(self._starts, fire) - 1
            if index < 0 or fire >= self._ends[index]:
                return fire
            fire = self.schedule.after(self._ends[index] - TICK)
        return fire

    def ranges_within(self, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
        """Return the parts of [start, end) without fire times, each [start, end), earliest first."""
        first = bisect_right(self._ends, start)
        found = zip(self._starts[first:], self._ends[first:], strict=True)
        return [(max(low, start), min(high, end)) for low, high in found if low < end]


@dataclass(frozen=True, slots=True)
class WithExtras:
    """The fire times of `schedule`, and `instants`."""

    schedule: Schedule
    instants: frozenset[datetime]
    _sorted: tuple[datetime, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for instant in self.instants:
            require_utc(instant, "instants")
        if not self.instants:
            raise ValueError("instants must not be empty")
        object.__setattr__(self, "_sorted", tuple(sorted(self.instants)))

    def after(self, instant: datetime) -> datetime | None:
        fire = self.schedule.after(instant)
        if instant >= self._sorted[-1]:
            return fire
        extra = self._sorted[bisect_right(self._sorted, instant)]
        return extra if fire is None or extra < fire else fire

    def within(self, start: datetime, end: datetime) -> list[datetime]:
        """Return the extra instants in [start, end), earliest first."""
        return [instant for instant in self._sorted if start <= instant < end]


def _merge(ranges: list[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Return ranges [start, end) in order, those that meet or overlap as one."""
    merged: list[tuple[datetime, datetime]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif start < end:
            merged.append((start, end))
    return merged
