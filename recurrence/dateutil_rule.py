"""The days of a rule that only python-dateutil understands.  They are found one after the other, from the first day."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from heapq import merge
from itertools import chain, groupby, islice, takewhile
from threading import Lock

from dateutil.rrule import rrulestr

MAX_EMPTY_YEARS = 100  # a rule is searched for at least so many years
LAST_DAY = date.max.toordinal()
DAYS_OF_400_YEARS = 146_097  # the calendar repeats after these days, weekdays included

Budget = Callable[[int], None]  # called with the number of days just searched; may raise to stop the search


def no_budget(days: int) -> None:
    """Default budget: no limit on the days searched."""


@dataclass(frozen=True, slots=True)
class DateutilDays:
    """The days of a rule that only python-dateutil understands, searched from `anchor` on, for a hundred years or more.

    `rule` has no end of its own.  The end is `until` (included) or `count`; neither applies to the added days
    `rdates` or the removed days `exdates`.  dateutil searches a rule that never fits up to the last year of the
    calendar.  To keep that search short, dateutil gets an equal part of the calendar close to that year.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "_found_days", FoundDays(self._walk))
        first = self.nth(1)
        if first is None:
            raise ValueError(f"{self.rule!r} must have a day in a hundred years from {self.anchor!r}")
        object.__setattr__(self, "start", first)

    @property
    def last(self) -> date:
        return date.fromordinal(self._found_days.until(LAST_DAY)[-1])

    def on_or_after(self, day: date) -> date | None:
        found = self._found_days.until(day.toordinal())
        position = bisect_left(found, day.toordinal())
        return date.fromordinal(found[position]) if position < len(found) else None

    def count_before(self, day: date) -> int:
        return bisect_left(self._found_days.until(day.toordinal()), day.toordinal())

    def nth(self, number: int) -> date | None:
        found = self._found_days.until(LAST_DAY, number)
        return date.fromordinal(found[number - 1]) if number <= len(found) else None

    def ordinals(self, first: int, last: int) -> Iterator[int]:
        position = bisect_left(self._found_days.until(first), first)
        while (day := self.nth(position + 1)) is not None and day.toordinal() <= last:
            yield day.toordinal()
            position += 1

    def _walk(self) -> Iterator[date]:
        found = takewhile(lambda each: each <= (self.until or date.max), islice(self._found(), self.count))
        days = merge(found, sorted(self.rdates))
        return (day for day, _ in groupby(days) if day not in self.exdates)

    def _found(self) -> Iterator[date]:
        """Yield the days that dateutil finds, up to the last year of the calendar."""
        ahead = max(0, (date.max.year - MAX_EMPTY_YEARS - self.anchor.year) // 400) * DAYS_OF_400_YEARS
        before = self.anchor.toordinal() + ahead
        self.budget(0)  # may raise already: the search for the first day can go up to the last year of the calendar
        rule = rrulestr(self.rule, dtstart=datetime.combine(date.fromordinal(before), time()))
        for each in chain(_until_the_last_year(rule), [None]):
            ordinal = (each or date.max).toordinal()
            self.budget(ordinal - before)
            before = ordinal
            if each is not None:
                yield date.fromordinal(ordinal - ahead)


class FoundDays:
    """The ordinals of the days found so far.  A search continues where the last one stopped: no day is found twice."""

    __slots__ = ("_begin", "_found_days", "_lock", "_rest")

    def __init__(self, begin: Callable[[], Iterator[date]]):
        self._begin = begin
        self._lock = Lock()  # threads share schedules that were compiled once
        self._restart()

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


def _until_the_last_year(rule: Iterable[datetime]) -> Iterator[datetime]:
    with suppress(ValueError):  # dateutil raises it for the week that ends after the last year
        yield from rule
