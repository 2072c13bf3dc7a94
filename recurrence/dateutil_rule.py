"""The days of a rule that only python-dateutil understands.  They are found one after the other, from the first day."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from heapq import merge
from itertools import chain, groupby, islice, takewhile
from threading import Lock

from dateutil.rrule import rrulestr

from recurrence.year_days import DayChoice, YearDays

MAX_EMPTY_YEARS = 100  # a rule is searched for at least so many years
JUMP = 3_653  # days; what is further away is searched from a period near it, not from the first day on
LAST_AND_FIRST_WEEKS = frozenset((1, 52, 53))
WHOLE_WEEK = 7  # days; the first week that dateutil searches begins with its start, the others are whole
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
PARTS_WITH_DAYS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")
LAST_DAY = date.max.toordinal()
MONTHS_OF_YEAR = 12
DAYS_OF_400_YEARS = 146_097  # the calendar repeats after these days, weekdays included

Budget = Callable[[int], None]  # called with the number of days just searched; may raise to stop the search


def no_budget(days: int) -> None:
    """Default budget: no limit on the days searched."""


@dataclass(frozen=True, slots=True)
class DateutilDays:
    """The days of a rule that only python-dateutil understands, searched from `anchor` on, for a hundred years or more.

    `rule` has no end of its own.  The end is `until` (included) or `count`; neither applies to the added days
    `rdates` or the removed days `exdates`.  dateutil searches a rule that never fits up to the last year of the
    calendar.  To keep that search short, dateutil gets an equal part of the calendar close to that year.  Days far
    from the anchor are searched from a period of the rule near them, so that the age of a series costs nothing, unless
    a `count` has to be counted.
    """

    anchor: date
    rule: str
    count: int | None = None
    until: date | None = None
    exdates: frozenset[date] = frozenset()
    rdates: frozenset[date] = frozenset()
    budget: Budget = field(default=no_budget, repr=False, compare=False)
    start: date = field(init=False, repr=False, compare=False)
    _found_days: "FoundDays" = field(init=False, repr=False, compare=False)
    _later_days: "FoundDays" = field(init=False, repr=False, compare=False)  # those near the day of the last question

    def __post_init__(self) -> None:
        object.__setattr__(self, "_found_days", FoundDays(self._days))
        object.__setattr__(self, "_later_days", self._found_days)
        first = self.nth(1)
        if first is None:
            raise ValueError(f"{self.rule!r} must have a day in a hundred years from {self.anchor!r}")
        object.__setattr__(self, "start", first)

    @property
    def last(self) -> date:
        return date.fromordinal(self._found_days.until(LAST_DAY)[-1])

    def last_before(self, day: date) -> date | None:
        """Return the last day if it is before `day`, else None.  The days from `day` on are not searched."""
        last = self._found_days.until(day.toordinal())[-1]
        return date.fromordinal(last) if last < day.toordinal() else None

    def on_or_after(self, day: date) -> date | None:
        found = self._days_near(day.toordinal()).until(day.toordinal())
        position = bisect_left(found, day.toordinal())
        return date.fromordinal(found[position]) if position < len(found) else None

    def count_before(self, day: date) -> int:
        return bisect_left(self._found_days.until(day.toordinal()), day.toordinal())

    def nth(self, number: int) -> date | None:
        found = self._found_days.until(LAST_DAY, number)
        return date.fromordinal(found[number - 1]) if number <= len(found) else None

    def ordinals(self, first: int, last: int) -> Iterator[int]:
        near = self._days_near(first)
        position = bisect_left(near.until(first), first)
        while position < len(found := near.until(LAST_DAY, position + 1)) and found[position] <= last:
            yield found[position]
            position += 1

    def _days_near(self, ordinal: int) -> "FoundDays":
        """Return found days that are complete from `ordinal` on."""
        if self.count is not None or self._found_days.is_near(ordinal):
            return self._found_days
        near = self._later_days
        if not near.is_near(ordinal):
            start, complete_from = self._period_before(ordinal)
            near = FoundDays(lambda: self._days(start, complete_from), complete_from)
            object.__setattr__(self, "_later_days", near)
        return near

    def _period_before(self, ordinal: int) -> tuple[date, int]:
        """Return the first day of a period of the rule before `ordinal`, and the ordinal from which dateutil finds all.

        Each period of the rule is a number of intervals after the one of the anchor.
        """
        parts = dict(part.split("=") for part in self.rule.split(";"))
        interval, frequency = int(parts.get("INTERVAL", 1)), parts["FREQ"]
        if frequency in ("DAILY", "WEEKLY"):
            step = interval * (WHOLE_WEEK if frequency == "WEEKLY" else 1)
            start = ordinal - WHOLE_WEEK - (ordinal - WHOLE_WEEK - self.anchor.toordinal()) % step
            return date.fromordinal(start), start + WHOLE_WEEK
        step = interval * (MONTHS_OF_YEAR if frequency == "YEARLY" else 1)
        first = 0 if frequency == "YEARLY" else self.anchor.month - 1
        first += self.anchor.year * MONTHS_OF_YEAR
        day = date.fromordinal(ordinal)
        month = day.year * MONTHS_OF_YEAR + day.month - 1
        year, month = divmod(month - (month - first) % step, MONTHS_OF_YEAR)
        start_day = date(year, month + 1, 1)
        return start_day, start_day.toordinal()

    def _days(self, start: date | None = None, complete_from: int = 0) -> Iterator[date]:
        """Yield the days from `complete_from` on.  `start` is the first day of a period; None: the anchor."""
        rule_days = takewhile(lambda each: each <= (self.until or date.max), islice(self._rule_days(start), self.count))
        days = merge(rule_days, sorted(self.rdates))
        return (day for day, _ in groupby(days) if day.toordinal() >= complete_from and day not in self.exdates)

    def _rule_days(self, start: date | None) -> Iterator[date]:
        """Yield the days that dateutil finds, up to the last year of the calendar."""
        begin = start or self.anchor
        ahead = max(0, (date.max.year - MAX_EMPTY_YEARS - begin.year) // 400) * DAYS_OF_400_YEARS
        before = begin.toordinal() + ahead
        self.budget(0)  # may raise already: the search for the first day can go up to the last year of the calendar
        rule = self._days_by_arithmetic(date.fromordinal(before))
        if rule is None:
            text = self.rule if start is None else self._rule_with_days()
            rule = _until_the_last_year(rrulestr(text, dtstart=datetime.combine(date.fromordinal(before), time())))
        for each in chain(rule, [None]):
            ordinal = (each or date.max).toordinal()
            self.budget(ordinal - before)
            before = ordinal
            if each is not None:
                yield date.fromordinal(ordinal - ahead)

    def _days_by_arithmetic(self, begin: date) -> Iterator[date] | None:
        """Return the days of a rule with FREQ=DAILY, or no days if no year has one; None: dateutil must search them.

        dateutil searches a rule without days day by day, for hundreds of years.
        """
        parts = dict(part.split("=") for part in self.rule.split(";"))
        days = YearDays(begin, _choice_of(parts))
        if parts["FREQ"] == "DAILY" and "BYWEEKNO" not in parts:
            return _every_nth_day(days, int(parts.get("INTERVAL", 1))) if _takes_first(parts) else iter(())
        return iter(()) if days.on_or_after(begin) is None else None

    def _rule_with_days(self) -> str:
        """Return the rule with the days that dateutil would take from the start of the search."""
        parts = dict(part.split("=") for part in self.rule.split(";"))
        if parts["FREQ"] in ("MONTHLY", "YEARLY") and not any(name in parts for name in PARTS_WITH_DAYS):
            month = {"BYMONTH": str(self.anchor.month)} if parts["FREQ"] == "YEARLY" else {}
            parts = month | parts | {"BYMONTHDAY": str(self.anchor.day)}
        return ";".join(f"{name}={value}" for name, value in parts.items())


class FoundDays:
    """The ordinals of the days found so far.  A search continues where the last one stopped: no day is found twice."""

    __slots__ = ("_begin", "_complete_from", "_found_days", "_lock", "_rest")

    def __init__(self, begin: Callable[[], Iterator[date]], complete_from: int = 0):
        """`begin` starts a search, which yields all days from the ordinal `complete_from` on."""
        self._begin = begin
        self._complete_from = complete_from
        self._lock = Lock()  # threads share schedules that were compiled once
        self._restart()

    def is_near(self, ordinal: int) -> bool:
        """Return True if the days from `ordinal` on can be found in a short search."""
        found = self._found_days
        return self._complete_from <= ordinal <= (found[-1] if found else self._complete_from) + JUMP

    def until(self, ordinal: int, count: int = LAST_DAY) -> "array[int]":
        """Return the first days, in order: up to one that is not before `ordinal`, or `count` days."""
        with self._lock:
            found = self._found_days
            try:
                while len(found) < count and (not found or found[-1] < ordinal):
                    found.append(next(self._rest).toordinal())
            except StopIteration:
                pass
            except BaseException:  # for example from the budget: the search stopped half way and cannot continue
                self._restart()
                raise
            return found

    def _restart(self) -> None:
        self._found_days = array("i")
        self._rest = self._begin()


def _choice_of(parts: Mapping[str, str]) -> DayChoice:
    """Return the days that the parts allow in a year.  The numbers of weekdays, INTERVAL and BYSETPOS leave out more.

    With BYWEEKNO the weeks beside it are allowed, too: at the turn of a year dateutil takes some days of other weeks.
    """
    months, month_days, year_days, weeks = (
        frozenset(map(int, parts[name].split(","))) if name in parts else frozenset[int]()
        for name in ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")
    )
    if weeks:
        weeks = frozenset(each + beside for each in weeks for beside in (-1, 0, 1)) - {0} | LAST_AND_FIRST_WEEKS
    weekdays = frozenset(WEEKDAYS.index(each[-2:]) for each in parts["BYDAY"].split(",")) if "BYDAY" in parts else ()
    week_start = WEEKDAYS.index(parts.get("WKST", "MO"))
    return DayChoice(months, month_days, frozenset(weekdays), year_days, weeks, week_start)


def _takes_first(parts: Mapping[str, str]) -> bool:
    """Return True if BYSETPOS leaves the only day of a period of one day."""
    return "BYSETPOS" not in parts or not {"1", "+1", "-1"}.isdisjoint(parts["BYSETPOS"].split(","))


def _every_nth_day(days: YearDays, interval: int) -> Iterator[date]:
    """Yield those of the days that are a number of intervals after the start."""
    start, ordinal = days.start.toordinal(), days.start.toordinal()
    while ordinal <= LAST_DAY:
        found = days.on_or_after(date.fromordinal(ordinal))
        if found is None:
            return
        if found.toordinal() > ordinal:
            ordinal = found.toordinal() + (start - found.toordinal()) % interval
            if ordinal > found.toordinal():
                continue
        yield found
        ordinal += interval


def _until_the_last_year(rule: Iterable[datetime]) -> Iterator[datetime]:
    with suppress(ValueError):  # dateutil raises it for the week that ends after the last year
        yield from rule
