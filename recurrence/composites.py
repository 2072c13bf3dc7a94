"""Schedules made of other schedules."""

from dataclasses import dataclass
from datetime import datetime

from recurrence.schedules import FIRST_INSTANT, Schedule, count, just_after, just_before, require_utc


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
