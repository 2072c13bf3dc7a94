"""Schedules on open days: fire times on closed days are left out, or move to an open day."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from functools import lru_cache

from recurrence.closed_days import LAST_DAY, ClosedDays
from recurrence.moved_days import UnknownMonthError, moved_schedule
from recurrence.schedules import FIRST_INSTANT, LAST_INSTANT, TICK, Schedule, between, just_before
from recurrence.written_times import WrittenTimes, written_times
from recurrence.zones import (
    EPOCH,
    EPOCH_DAY,
    NOTHING,
    SECOND,
    instant_of,
    missing_days,
    offset_period_at,
    parts_of_day,
    start_of_day,
)

MAX_MOVE = 31  # days: a fire time without an open day so near is left out
MAX_CLOSED_PERIODS = 500  # a schedule that fires in so many closed periods, and not in between, never fires
MAX_CLOSED_DAYS = 40 * 366  # nor if they take so long: 29 February on a given weekday comes once in forty years
MAX_CACHED = 2000  # days in a cache
MAX_GIVEN_UP = 100  # fire times of a schedule, in a cache
MAX_MOVES = 62  # days from which fire times move to one day, to be cached
NOON = timedelta(hours=12)
ONE_DAY = timedelta(days=1)
EARLIEST = datetime(4, 1, 1, tzinfo=UTC)  # fire times before are not found, because moves would leave the calendar
NO_RUN = (EPOCH, EPOCH)  # [start, end)


class Rule(Enum):
    """What happens with a fire time on a closed day: it is left out, or moves to the same time on an open day."""

    SKIP = "skip"
    BEFORE = "before"
    AFTER = "after"
    NEAREST = "nearest"  # of two open days that are equally near, the later one


Moves = tuple[tuple[datetime, datetime, timedelta], ...]  # the start and the end of a day, and how far it moves


@dataclass(frozen=True, slots=True)
class Target:
    """An open day with its start and its end.  The fire times of the days from `first` to `last` move to it.

    `moves` None: there are many moves, or clocks change on or before one of the days.
    """

    first: int
    last: int
    start: datetime
    end: datetime
    moves: Moves | None


class OpenDays:
    """The days to which a rule moves fire times, on the clocks of a zone.  Days are ordinals, as in `date.toordinal`.

    The open day is never earlier for a later closed day, so the days that move to one day lie in a row.  A day that the
    zone skipped at the date line is not open.
    """

    def __init__(self, closed: ClosedDays, rule: Rule, zone: tzinfo):
        self.closed = closed
        self.rule = rule
        self.zone = zone
        self._missing = missing_days(zone)
        self.settled_runs: dict[int, tuple[datetime, datetime]] = {}  # by day in UTC
        self._targets: dict[int, Target] = {}
        self._targets_of_closed: dict[int, int | None] = {}

    def is_open(self, day: int) -> bool:
        return not self.closed.is_closed_at(day) and day not in self._missing

    def open_bits(self, first: int, length: int) -> int:
        """Return the open days of `length` days from the day `first` on: bit 0 is `first`."""
        found = ~self.closed.closed_bits(first, length) & (1 << length) - 1
        for day in self._missing:
            if first <= day < first + length:
                found &= ~(1 << day - first)
        return found

    def target_of(self, day: int) -> int | None:
        """Return the day to which the fire times of `day` move; None: they are left out."""
        if self.is_open(day):
            return day
        try:
            return self._targets_of_closed[day]
        except KeyError:
            target = self._find_target(day)
        if len(self._targets_of_closed) >= MAX_CACHED:
            self._targets_of_closed.clear()
        self._targets_of_closed[day] = target
        return target

    def _find_target(self, day: int) -> int | None:
        previous = self._previous_open(day) if self.rule in (Rule.BEFORE, Rule.NEAREST) else None
        following = self._next_open(day) if self.rule in (Rule.AFTER, Rule.NEAREST) else None
        found = [each for each in (following, previous) if each is not None and abs(each - day) <= MAX_MOVE]
        return min(found, key=lambda each: abs(each - day), default=None)

    def sources_of(self, day: int) -> tuple[int, int]:
        """Return the first and the last day whose fire times move to `day` or are on it; `day` is open."""
        first = last = day
        if self.rule in (Rule.AFTER, Rule.NEAREST):
            first = max(day - MAX_MOVE, 1)
            previous = self._previous_open(day - 1)
            if previous is not None:
                half = previous + 1 if self.rule is Rule.AFTER else -(-(previous + day) // 2)
                first = max(first, half)
        if self.rule in (Rule.BEFORE, Rule.NEAREST):
            last = min(day + MAX_MOVE, LAST_DAY)
            following = self._next_open(day + 1)
            if following is not None:
                half = following - 1 if self.rule is Rule.BEFORE else -(-(day + following) // 2) - 1
                last = min(last, half)
        return first, last

    def next_kept(self, day: int) -> int | None:
        """Return the first day after `day` whose fire times are not left out; `day` has no target.  None: none."""
        following = self._next_open(day)
        if following is None or self.rule in (Rule.SKIP, Rule.BEFORE):
            return following
        return max(following - MAX_MOVE, day + 1)

    def settled_run(self, utc_day: int) -> tuple[datetime, datetime]:
        """Return the instants [start, end) of open days in a row around a day in UTC, which no moved fire time joins.

        Empty if there are none.  A run may be shorter than possible.
        """
        run = self.settled_runs.get(utc_day)
        if run is None:
            if len(self.settled_runs) >= MAX_CACHED:
                self.settled_runs.clear()
            noon = EPOCH + timedelta(utc_day - EPOCH_DAY) + NOON
            run = self.settled_runs[utc_day] = self.settled_run_around(local_day(noon, self.zone))
        return run

    def settled_run_around(self, day: int) -> tuple[datetime, datetime]:
        """Return the same instants for the open days around a day in the zone."""
        first, last = self.closed.open_run_at(day)
        first += self.rule in (Rule.AFTER, Rule.NEAREST)
        last -= self.rule in (Rule.BEFORE, Rule.NEAREST)
        if not first <= day <= last or any(first - 1 <= missing <= last + 1 for missing in self._missing):
            return NO_RUN
        return start_of_day(max(first, 1), self.zone), start_of_day(last + 1, self.zone)

    def target(self, day: int) -> Target:
        """Return what is known about an open day."""
        found = self._targets.get(day)
        if found is None:
            if len(self._targets) >= MAX_CACHED:
                self._targets.clear()
            first, last = self.sources_of(day)
            start, end = start_of_day(day, self.zone), start_of_day(day + 1, self.zone)
            found = self._targets[day] = Target(first, last, start, end, self._find_moves(day, first, last))
        return found

    def next_source(self, day: int, target: int | None, today: int) -> int | None:
        """Return the first day that may move to a later day than `today`; the days before `day` do not.

        `target` is the day to which `day` moves.  None: there is no such day.
        """
        if target is None:
            return self.next_kept(day)
        found = self.target(target)
        return found.first if target > today else found.last + 1

    def _find_moves(self, day: int, first: int, last: int) -> Moves | None:
        if last - first > MAX_MOVES or any(first - 1 <= missing <= last for missing in self._missing):
            return None
        parts = {each: [*parts_of_day(each, self.zone)] for each in range(first, last + 1)}
        if any([end - start for start, end, _ in found] != [ONE_DAY] for found in parts.values()):
            return None
        start = parts.pop(day)[0][0]
        return tuple((low, high, start - low) for ((low, high, _),) in parts.values())

    def _next_open(self, day: int) -> int | None:
        found = self.closed.next_open_at(day)
        while found in self._missing:
            found = self.closed.next_open_at(found + 1)
        return found

    def _previous_open(self, day: int) -> int | None:
        found = self.closed.previous_open_at(day)
        while found in self._missing:
            found = self.closed.previous_open_at(found - 1)
        return found


open_days = lru_cache(maxsize=512)(OpenDays)


@dataclass(frozen=True, slots=True)
class OnOpenDays:
    """The fire times of `schedule` on open days; those on closed days are left out or move, as `rule` says.

    A day is a day on the clocks of `zone`.  A fire time moves to the same wall time on another day; one that a clock
    change has moved keeps the wall time of its rule.  If clocks skip the wall time on the other day, it fires when they
    have skipped it; if they show it twice, it fires the first time.  Fire times that meet are one.  `calendar` is the
    name of the closed-day calendar.
    """

    schedule: Schedule
    closed: ClosedDays
    rule: Rule
    zone: tzinfo
    calendar: str = ""
    days: OpenDays = field(init=False, repr=False, compare=False)
    _runs: dict[int, tuple[datetime, datetime]] = field(init=False, repr=False, compare=False)
    _given_up: set[datetime] = field(default_factory=set, init=False, repr=False, compare=False)  # nothing follows
    _looks_back: bool = field(init=False, repr=False, compare=False)  # fire times may move to a later day
    _moved: Callable[[datetime], datetime | None] = field(init=False, repr=False, compare=False)
    _moved_start: datetime = field(init=False, repr=False, compare=False)  # `_moved` can be asked from here on
    _moved_end: datetime = field(init=False, repr=False, compare=False)  # its later answers are not right

    def __post_init__(self) -> None:
        object.__setattr__(self, "days", open_days(self.closed, self.rule, self.zone))
        object.__setattr__(self, "_runs", self.days.settled_runs)
        object.__setattr__(self, "_looks_back", self.rule in (Rule.AFTER, Rule.NEAREST))
        moved = moved_schedule(self.schedule, self.days) or (self.schedule.after, LAST_INSTANT, FIRST_INSTANT)
        for name, value in zip(("_moved", "_moved_start", "_moved_end"), moved, strict=True):
            object.__setattr__(self, name, value)

    def after(self, instant: datetime) -> datetime | None:
        if instant >= self._moved_start:
            try:
                fire = self._moved(instant)
            except UnknownMonthError:
                fire = None
            if fire is not None and fire < self._moved_end:
                return fire
        return self._after_in_any_month(instant)

    def _after_in_any_month(self, instant: datetime) -> datetime | None:
        fire = self.schedule.after(instant)
        if fire is not None:
            run = self._runs.get(fire.toordinal()) or self.days.settled_run(fire.toordinal())
            if run[0] <= fire < run[1] and (run[0] <= instant or not self._looks_back or self._is_settled(instant)):
                return fire
        if instant < EARLIEST:
            return self._after_in_any_month(EARLIEST)
        try:
            return self._first_open(fire) if self.rule is Rule.SKIP else self._search(instant, fire)
        except OverflowError:  # after the last day of the calendar
            return None

    def moved_from(self, fire: datetime) -> list[datetime]:
        """Return the fire times of `schedule` that are at this fire time or move to it, earliest first."""
        day = self._day(fire)
        own = [fire] if self.schedule.after(just_before(fire)) == fire else []
        if not self.days.is_open(day):
            return []
        first, last = self.days.sources_of(day)
        found = {
            source
            for each in range(first, last + 1)
            if each != day
            for part in self._parts_of_day(each)
            for source in self._from_wall_times(day, each, fire, *part)
        }
        return sorted(found.union(own))

    def fires_on(self, day: int, start: datetime, end: datetime) -> set[datetime]:
        """Return the fire times in [start, end), which lies within the day with this ordinal."""
        if not self.days.is_open(day):
            return set()
        found = set(between(self.schedule, start, end))
        first, last = self.days.sources_of(day)
        for each in range(first, last + 1):
            for schedule, low, high, offset in () if each == day else self._parts_of_day(each):
                move = _midnight(day) - _midnight(each) + offset
                found |= {_instant_showing(fire + move, self.zone) for fire in between(schedule, low, high)}
        return {fire for fire in found if start <= fire < end}

    def _parts_of_day(self, day: int) -> Iterator[tuple[Schedule, datetime, datetime, timedelta]]:
        """Yield the parts [start, end) of a day with an offset, each with the schedule to ask for its fire times.

        A day with wall times that clocks skip is one part in wall times.
        """
        written = written_times(self.schedule, day, self.zone)
        if written is not None:
            yield written, _midnight(day), _midnight(day + 1), NOTHING
            return
        for start, end, offset in parts_of_day(day, self.zone):
            yield self.schedule, start, end, offset

    def _from_wall_times(
        self,
        day: int,
        source: int,
        fire: datetime,
        schedule: Schedule,
        start: datetime,
        end: datetime,
        offset: timedelta,
    ) -> Iterator[datetime]:
        """Yield the fire times of a part of the day `source` that move to `fire`, which is on `day`."""
        earliest = _highest_wall_time(just_before(fire), self.zone) - _midnight(day)
        latest = _highest_wall_time(fire, self.zone) - _midnight(day)
        midnight = _midnight(source) - offset
        for each in between(schedule, max(start, midnight + earliest + TICK), min(end, midnight + latest + TICK)):
            if _instant_showing(_midnight(day) + (each - midnight), self.zone) == fire:
                yield schedule.instant_of(each) if isinstance(schedule, WrittenTimes) else each

    def _is_settled(self, instant: datetime) -> bool:
        low, high = self.days.settled_run(instant.toordinal())
        return low <= instant < high

    def _first_open(self, fire: datetime | None) -> datetime | None:
        """Return the first fire time on an open day from `fire` on."""
        if fire in self._given_up:
            return None
        first = fire
        last: int | None = None
        for _ in range(MAX_CLOSED_PERIODS):
            if fire is None:
                return None
            day = self._day(fire)
            last = last or day + MAX_CLOSED_DAYS
            if day > last:
                break
            if self.days.is_open(day):
                return fire
            following = self.days.next_kept(day)
            fire = None if following is None else self.schedule.after(just_before(start_of_day(following, self.zone)))
        if first is not None:
            if len(self._given_up) >= MAX_GIVEN_UP:
                self._given_up.clear()
            self._given_up.add(first)
        return None

    def _search(self, instant: datetime, following: datetime | None) -> datetime | None:
        """Return the first fire time after `instant`, where fire times move.

        `following` is the first fire time of `schedule` after `instant`.  The later a fire time, the later the day to
        which it moves.  So the first fire time that moves to a later day than today decides the day of the answer.
        """
        days, today = self.days, self._day(instant)
        day, target = today, days.target_of(today)
        if target == today and (found := self._first_on(today, instant, following)) is not None:
            return found
        last: int | None = None
        for _ in range(MAX_CLOSED_PERIODS):
            source = days.next_source(day, target, today)
            if source is None:
                return None
            start = start_of_day(source, self.zone)
            # the fire times of a closed day before today can move to a later day
            since = just_before(start) if source <= today else max(just_before(start), instant)
            is_known = instant < start and (following is None or start <= following)
            fire = following if is_known else self.schedule.after(since)
            if fire is None:
                return None
            day = self._day(fire)
            last = last or day + MAX_CLOSED_DAYS
            if day > last:
                return None
            target = days.target_of(day)
            if target is not None and target > today:
                since = max(instant, just_before(days.target(target).start))
                own = fire if day == target else self.schedule.after(since)
                return self._first_on(target, instant, own)
        return None

    def _first_on(self, day: int, instant: datetime, own: datetime | None) -> datetime | None:
        """Return the first fire time after `instant` on an open day; None: there is none.

        `own` is the first fire time of `schedule` after `instant` that is not before the day.
        """
        target = self.days.target(day)
        found = own if own is not None and own < target.end else None
        if target.moves is None:
            moved = self._first_moved(target.first, target.last, day, _highest_wall_time(instant, self.zone))
            return moved if found is None or (moved is not None and moved < found) else found
        fire: datetime | None = None
        for low, high, distance in target.moves:
            since = max(instant - distance, low - TICK)
            if fire is None or fire <= since:  # else it is the first one after `since`, too
                fire = self.schedule.after(since)
                if fire is None:
                    break
            if fire < high and (found is None or fire + distance < found):
                found = fire + distance
        return found

    def _first_moved(self, first: int, last: int, target: int, wall: datetime) -> datetime | None:
        """Return the earliest instant to which a fire time of the days from `first` to `last` moves, without `target`.

        It shows a later wall time than `wall`.
        """
        since = max(wall - _midnight(target), timedelta(-1))
        found: timedelta | None = None
        day = first
        while day <= last:
            following: datetime | None = None
            for schedule, start, end, offset in () if day == target else self._parts_of_day(day):
                midnight = _midnight(day) - offset
                fire = schedule.after(max(just_before(start), midnight + since))
                if fire is None:
                    break
                if fire < end:
                    found = fire - midnight if found is None else min(found, fire - midnight)
                else:
                    following = fire
            day = max(day + 1, self._day(following)) if following is not None else day + 1
        return None if found is None else _instant_showing(_midnight(target) + found, self.zone)

    def _day(self, instant: datetime) -> int:
        return local_day(instant, self.zone)


def local_day(instant: datetime, zone: tzinfo) -> int:
    """Return the ordinal of the day of an instant on the clocks of a zone."""
    if zone is UTC:
        return instant.toordinal()
    try:
        return instant.astimezone(zone).toordinal()
    except OverflowError:  # on the first or the last day of the calendar
        return instant.toordinal()


def _midnight(day: int) -> datetime:
    """Return the wall time at which a day begins, written as if it were in UTC."""
    return EPOCH + timedelta(day - EPOCH_DAY)


def _highest_wall_time(instant: datetime, zone: tzinfo) -> datetime:
    """Return the latest wall time, written as if it were in UTC, that clocks have shown or skipped up to `instant`.

    A wall time that is not later belongs to an instant that is not later, see `_instant_showing`.
    """
    if zone is UTC:
        return instant
    period = offset_period_at(zone, (instant - EPOCH) // SECOND)
    wall = instant + period.offset * SECOND
    if period.before <= period.offset:
        return wall
    return max(wall, EPOCH + (period.start + period.before) * SECOND - TICK)


def _instant_showing(wall: datetime, zone: tzinfo) -> datetime:
    """Return the first instant at which clocks show `wall`, written as if it were in UTC, or have skipped it."""
    if zone is UTC:
        return wall
    instant = instant_of(wall.replace(tzinfo=None), zone)
    if instant.astimezone(zone).replace(tzinfo=UTC) == wall:
        return instant
    return EPOCH + offset_period_at(zone, (instant - EPOCH) // SECOND).start * SECOND
