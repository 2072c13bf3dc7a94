"""What schedules of different formats have in common: the forms between reading one format and writing another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from recurrence.bits import lowest, mask_of, members
from recurrence.cron import ALL_MONTHS, ALL_YEARS
from recurrence.schedules import just_before
from recurrence.wire.clocks import ClockChange, Policy, Preset
from recurrence.wire.crontab import ALL_MONTH_DAYS, ALL_WEEKDAYS
from recurrence.wire.parsed import Parsed
from recurrence.zones import NOTHING, Fold, Gap

MONTHS_A_YEAR = 12
SHORTEST_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # the least number of days of each month
LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
WORKDAYS = frozenset(range(5))
LAST = -1
DEFAULT_MEMBERS = {
    "zone": "timeZone",
    "clock_change": "clockChange",
    "start": "startTime",
    "end": "endTime",
}


# Days.  In sets and tuples 0 is Monday; in masks of weekdays 0 is Sunday.


@dataclass(frozen=True, slots=True)
class DaySets:
    """Days that are in both sets, or in one of them if `are_alternatives`.  Days that a month lacks are left out."""

    month_days: int = ALL_MONTH_DAYS
    weekdays: int = ALL_WEEKDAYS
    are_alternatives: bool = False

    @property
    def are_both_limited(self) -> bool:
        return self.month_days != ALL_MONTH_DAYS and self.weekdays != ALL_WEEKDAYS


@dataclass(frozen=True, slots=True)
class MonthDays:
    """Days of the month by their numbers; -1 is the last.  Days that a month lacks are left out."""

    numbers: frozenset[int]


@dataclass(frozen=True, slots=True)
class NthWeekdays:
    """Weekdays of the month by their numbers; -1 is the last one, None every one."""

    choices: frozenset[tuple[int, int | None]]


@dataclass(frozen=True, slots=True)
class Position:
    """The day with this number among the days of the month that have one of the weekdays; -1 is the last."""

    weekdays: frozenset[int]
    number: int


@dataclass(frozen=True, slots=True)
class DayOrLast:
    """A day of the month, or the last day of a month that lacks it."""

    day: int


@dataclass(frozen=True, slots=True)
class NearestWorkday:
    """A form of Quartz with W."""

    word: str


Days = DaySets | MonthDays | NthWeekdays | Position | DayOrLast | NearestWorkday
EVERY_DAY = DaySets()


@dataclass(frozen=True, slots=True)
class Interval:
    """Only each `number`-th day, week or month, counted from that of the first fire time."""

    number: int
    unit: str
    week_start: int = 0


# Schedules


@dataclass(frozen=True, slots=True)
class Pattern:
    """Times of the day on some days, in the wall time of `zone`; sets of numbers are bit masks.

    `length` is that of an occurrence.  `members` maps a property of the pattern to the source's member.
    """

    hours: int
    minutes: int
    seconds: int = 1
    days: Days = EVERY_DAY
    months: int = ALL_MONTHS
    years: int = ALL_YEARS
    interval: Interval | None = None
    is_stepping: bool = True
    zone: str = "UTC"
    clock_change: ClockChange = Preset.CRON
    start: datetime | None = None
    end: datetime | None = None
    count: int | None = None
    length: timedelta = NOTHING
    members: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_every_day(self) -> bool:
        return self.days == EVERY_DAY and self.interval is None

    @property
    def has_one_time(self) -> bool:
        return self.hours.bit_count() == self.minutes.bit_count() == self.seconds.bit_count() == 1

    @property
    def first_time(self) -> tuple[int, int, int]:
        return lowest(self.hours), lowest(self.minutes), lowest(self.seconds)

    @property
    def policy(self) -> ClockChange:
        """What happens at clock changes, so that it does not depend on how a text is written."""
        if self.clock_change is Preset.CRON:
            return Policy(Gap.END, Fold.BOTH if self.is_stepping else Fold.FIRST)
        return self.clock_change

    def loss_text(self, what: str, message: str) -> str:
        return f"{self.members.get(what, self.members.get('all', 'expression'))}: {message}"


@dataclass(frozen=True, slots=True)
class Elapsed:
    """`first`, and again each time that `interval` of elapsed time has passed, up to `end`.

    The schedule begins at `start`; None: it began before it is translated.
    """

    interval: timedelta
    first: datetime
    start: datetime | None = None
    end: datetime | None = None
    count: int | None = None
    zone: str = "UTC"  # in which people see the times
    members: Mapping[str, str] = field(default_factory=dict)

    @property
    def last(self) -> datetime | None:
        """The last fire time; None: there is no end."""
        return self.end and self.first + (self.end - self.first) // self.interval * self.interval


@dataclass(frozen=True, slots=True)
class Single:
    """One fire time; `member` names it in the source."""

    at: datetime
    member: str
    zone: str = "UTC"


Source = Pattern | Elapsed | Single


@dataclass(slots=True)
class Context:
    """What a translation needs in addition to the source's form; readers and writers add losses and notes."""

    format: str
    parsed: Parsed
    now: datetime
    begins_at_creation: bool = False
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skips: set[str] = field(default_factory=set)
    extras: set[str] = field(default_factory=set)

    def first_fire(self) -> datetime | None:
        """Return the first fire time from now on; a run because of the creation does not count."""
        return self.parsed.schedule.after(self.now if self.begins_at_creation else just_before(self.now))

    def lose(self, *losses: str) -> None:
        self.losses += losses


def start_if_ahead(start: datetime | None, now: datetime) -> datetime | None:
    return start if start is not None and start > now else None


def weekdays_mask(weekdays: Iterable[int]) -> int:
    """Return the mask of weekdays, of which 0 is Monday."""
    return mask_of((day + 1) % 7 for day in weekdays)


def weekday_numbers(mask: int) -> list[int]:
    """Return the weekdays of a mask in their order; 0 is Monday."""
    return sorted((day - 1) % 7 for day in members(mask))


def days_of_position(weekdays: frozenset[int], number: int) -> Days:
    """Return the simplest days for the day with this number among those with one of the weekdays."""
    if len(weekdays) == 1:
        return NthWeekdays(frozenset((day, number) for day in weekdays))
    if len(weekdays) == 7:
        return days_of_numbers({number})
    return Position(weekdays, number)


def days_of_numbers(numbers: Iterable[int]) -> Days:
    """Return the days of the month with these numbers; negative ones count from the end."""
    numbers = frozenset(numbers)
    return DaySets(month_days=mask_of(numbers)) if min(numbers) > 0 else MonthDays(numbers)


def day_or_last(day: int, months: int) -> Days:
    """Return the simplest days for a day of the month, or the last one of a month that lacks it."""
    numbers = [*members(months)]
    if all(day <= SHORTEST_MONTHS[month - 1] for month in numbers):
        return DaySets(month_days=1 << day)
    if all(day >= LONGEST_MONTHS[month - 1] for month in numbers):
        return MonthDays(frozenset({LAST}))
    return DayOrLast(day)


def months_from(month: int, step: int) -> int:
    """Return the mask of each `step`-th month; `step` divides a year."""
    return mask_of((month - 1 + number) % MONTHS_A_YEAR + 1 for number in range(0, MONTHS_A_YEAR, step))


def month_step(months: int) -> int | None:
    """Return the number of months from each to the next, also over the end of the year; None if that varies."""
    number = months.bit_count()
    step = MONTHS_A_YEAR // number
    first = lowest(months)
    is_even = MONTHS_A_YEAR % number == 0 and months == mask_of(range(first, 13, step)) and first <= step
    return step if is_even else None
