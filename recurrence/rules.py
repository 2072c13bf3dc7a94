"""Days x times x zone: the schedule behind every written recurrence that names days and times of day."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import chain

from recurrence.days import LAST_DAY, DateRule
from recurrence.schedules import FIRST_INSTANT, Schedule, between, just_before
from recurrence.times import Times
from recurrence.zones import (
    DAY,
    EPOCH,
    EPOCH_DAY,
    Calm,
    Fold,
    Gap,
    Stretch,
    calm,
    day_and_second,
    instant_at,
    stretch_at,
)

ONE_SECOND = timedelta(seconds=1)
ONE_DAY = timedelta(days=1)
FIRST_READING = (date.min.toordinal() - EPOCH_DAY) * DAY
BARREN_STRETCHES = 100  # a rule without a fire time through so many changes of the clocks has none but skipped ones


class WallClock:
    """Fire times that are readings of the clocks in a zone.

    A reading that clocks skip follows `gap`, one that they show twice follows `fold`.
    """

    __slots__ = ()
    zone: tzinfo
    gap: Gap
    fold: Fold

    def readings(self, first: int, beyond: int) -> Iterator[int]:
        """The readings in [first, beyond), whether clocks show them or not."""
        reading = self._reading_on_or_after(first)
        while reading is not None and reading < beyond:
            yield reading
            reading = self._reading_on_or_after(reading + 1)

    def _reading_on_or_after(self, reading: int) -> int | None:
        raise NotImplementedError

    def _after_in_zone(self, instant: datetime) -> datetime | None:
        earliest = (instant - EPOCH) // ONE_SECOND + 1
        for _ in range(BARREN_STRETCHES):
            stretch = stretch_at(self.zone, earliest)
            fire = self._first_in(stretch, earliest)
            if fire is not None:
                return instant_at(fire)
            reading = self._reading_on_or_after(stretch.end + min(stretch.offset, stretch.after))
            if reading is None:
                return None
            earliest = max(stretch.end, reading - DAY)  # no clock is a day away from UTC
        return None

    def _first_in(self, stretch: Stretch, earliest: int) -> int | None:
        """The first fire time in [earliest, end of the stretch); `earliest` lies in the stretch."""
        offset = stretch.offset
        lowest, beyond = earliest + offset, stretch.end + offset
        if self.fold is Fold.FIRST and stretch.before > offset:
            lowest = max(lowest, stretch.start + stretch.before)
        if self.fold is Fold.SECOND and stretch.after < offset:
            beyond = stretch.end + stretch.after
        reading = self._reading_on_or_after(lowest)
        fire = reading - offset if reading is not None and reading < beyond else None

        if stretch.before < offset and self.gap is not Gap.SKIP:
            skipped = self._reading_on_or_after(earliest + stretch.before)
            if skipped is not None and skipped < stretch.start + offset:
                if self.gap is Gap.SHIFT:
                    shifted = skipped - stretch.before
                    return shifted if fire is None else min(fire, shifted)
                if earliest == stretch.start:
                    return stretch.start
        return fire


@dataclass(frozen=True, slots=True)
class CalendarRule(WallClock):
    """The times `times` of the days `days`, as clocks in `zone` show them.

    A reading that clocks skip follows `gap`, one that they show twice follows `fold`.
    """

    days: DateRule
    times: Times
    zone: tzinfo
    gap: Gap = Gap.END
    fold: Fold = Fold.FIRST

    def after(self, instant: datetime) -> datetime | None:
        if self.zone is not UTC:
            return self._after_in_zone(instant)
        instant = instant.astimezone(UTC)
        found = self._on_or_after(instant.date(), instant.hour * 3600 + instant.minute * 60 + instant.second + 1)
        return found and EPOCH + timedelta(found[0].toordinal() - EPOCH_DAY, found[1])

    def count_before(self, instant: datetime) -> int:
        """Return how many fire times lie before `instant`: by arithmetic in UTC, elsewhere by walking them."""
        if self.zone is not UTC:
            return sum(1 for _ in between(self, FIRST_INSTANT, instant))
        day, second = day_and_second(instant)
        total = self.days.count_before(day) * self.times.per_day
        if self.days.on_or_after(day) == day:
            total += self.times.count_before(second)
        return total

    def _on_or_after(self, day: date, second: int) -> tuple[date, int] | None:
        """The first day and time of day, as clocks show them, not earlier than this one."""
        time = self.times.on_or_after(second)
        if time is None:
            if day == date.max:
                return None
            day, time = day + ONE_DAY, self.times.first
        found = self.days.on_or_after(day)
        if found is None:
            return None
        return found, time if found == day else self.times.first

    def _reading_on_or_after(self, reading: int) -> int | None:
        day, second = divmod(max(reading, FIRST_READING), DAY)
        if day + EPOCH_DAY > LAST_DAY:
            return None
        found = self._on_or_after(date.fromordinal(day + EPOCH_DAY), second)
        return found and (found[0].toordinal() - EPOCH_DAY) * DAY + found[1]


@dataclass(frozen=True, slots=True)
class Zoned(WallClock):
    """The fire times of `rule`, a schedule in UTC, taken for readings of the clocks in `zone`."""

    rule: Schedule
    zone: tzinfo
    gap: Gap = Gap.END
    fold: Fold = Fold.FIRST

    def after(self, instant: datetime) -> datetime | None:
        parts = iter(calm(self.zone, instant.year))
        for low, high, offset in parts:
            if low <= instant < high:
                reading = self.rule.after(instant + offset)
                if reading is None:
                    return None
                fire = reading - offset
                if fire < high:
                    return fire
                # the parts between the two hold no reading of the rule, neither a skipped nor a repeated one
                return self._calm_instant_of(reading, parts) or self._after_in_zone(instant)
        return self._after_in_zone(instant)

    def _calm_instant_of(self, reading: datetime, parts: Iterator[Calm]) -> datetime | None:
        """The instant of a reading if it lies in one of these parts, or near its own year; None where clocks change."""
        for low, high, offset in chain(parts, calm(self.zone, reading.year)):
            fire = reading - offset
            if low <= fire < high:
                return fire
        return None

    def _reading_on_or_after(self, reading: int) -> int | None:
        at = instant_at(reading)
        found = None if at is None else self.rule.after(just_before(at))
        return None if found is None else (found - EPOCH) // ONE_SECOND
