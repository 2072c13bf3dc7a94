"""Times of a day in whole seconds: all combinations of a set of hours, a set of minutes and a set of seconds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from recurrence.bits import count_below, lowest, mask_of, members

ALL_HOURS = (1 << 24) - 1
ALL_MINUTES = (1 << 60) - 1


@dataclass(frozen=True, slots=True)
class Times:
    """Every hour of `hours` with every minute of `minutes` and every second of `seconds`, each a bit mask.

    A time of day is the number of its second, 0 to 86399, in wall time.
    """

    hours: int
    minutes: int
    seconds: int = 1
    first: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_mask(self.hours, "hours", 24)
        _require_mask(self.minutes, "minutes", 60)
        _require_mask(self.seconds, "seconds", 60)
        object.__setattr__(self, "first", lowest(self.hours) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds))

    @classmethod
    def of(cls, hours: Iterable[int], minutes: Iterable[int], seconds: Iterable[int] = (0,)) -> Self:
        return cls(mask_of(hours), mask_of(minutes), mask_of(seconds))

    @property
    def per_day(self) -> int:
        return self.hours.bit_count() * self.minutes.bit_count() * self.seconds.bit_count()

    def on_or_after(self, second: int) -> int | None:
        """Return the first time that is not earlier than `second`, which may be 86400; None: there is none."""
        hour, within_hour = divmod(second, 3600)
        if self.hours >> hour & 1:
            minute, within_minute = divmod(within_hour, 60)
            if self.minutes >> minute & 1:
                later = self.seconds >> within_minute
                if later:
                    return second + lowest(later)
            later = self.minutes >> (minute + 1)
            if later:
                return hour * 3600 + (minute + 1 + lowest(later)) * 60 + lowest(self.seconds)
        later = self.hours >> (hour + 1)
        if later:
            return (hour + 1 + lowest(later)) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
        return None

    def count_before(self, second: int) -> int:
        """Return how many times are earlier than `second`; 86400 counts all times."""
        hour, within_hour = divmod(second, 3600)
        minute, within_minute = divmod(within_hour, 60)
        per_minute = self.seconds.bit_count()
        total = count_below(self.hours, hour) * self.minutes.bit_count() * per_minute
        if self.hours >> hour & 1:
            total += count_below(self.minutes, minute) * per_minute
            if self.minutes >> minute & 1:
                total += count_below(self.seconds, within_minute)
        return total

    def __iter__(self) -> Iterator[int]:
        for hour in members(self.hours):
            for minute in members(self.minutes):
                for second in members(self.seconds):
                    yield hour * 3600 + minute * 60 + second


def _require_mask(mask: int, name: str, size: int) -> None:
    if not 0 < mask < 1 << size:
        raise ValueError(f"{name} must hold at least one number and none above {size - 1}, not {mask:#x}")
