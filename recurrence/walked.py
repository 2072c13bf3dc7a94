"""The days of a rule that only python-dateutil can say, found by walking."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from heapq import merge
from itertools import chain, dropwhile, groupby, islice, takewhile

from dateutil.rrule import rrulestr

PATIENCE = 100  # years that a rule is followed at least
DAYS_OF_400_YEARS = 146_097  # after which the calendar repeats, weekdays included

Meter = Callable[[int], None]  # is told how many days were looked through just now, and may raise to end that


def unmetered(days: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class WalkedDays:
    """The days of a rule that only python-dateutil can say, found by walking from `anchor`, a hundred years or more.

    `rule` has no end of its own: that is `until` or `count`, which apply neither to `besides` nor to `without`.
    dateutil walks a rule that never fits to the last year there is, so it is given the same days near that year.
    """

    anchor: date
    rule: str
    count: int | None = None
    until: date | None = None
    without: frozenset[date] = frozenset()
    besides: frozenset[date] = frozenset()
    meter: Meter = field(default=unmetered, repr=False, compare=False)
    start: date = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first = next(self._walk(), None)
        if first is None:
            raise ValueError(f"{self.rule!r} must have a day in a hundred years from {self.anchor!r}")
        object.__setattr__(self, "start", first)

    @property
    def last(self) -> date:
        return deque(self._walk(), maxlen=1)[0]

    def on_or_after(self, day: date) -> date | None:
        return next(dropwhile(lambda each: each < day, self._walk()), None)

    def count_before(self, day: date) -> int:
        return sum(1 for _ in takewhile(lambda each: each < day, self._walk()))

    def nth(self, number: int) -> date | None:
        return next(islice(self._walk(), number - 1, None), None)

    def ordinals(self, first: int, last: int) -> Iterator[int]:
        ordinals = dropwhile(lambda each: each < first, map(date.toordinal, self._walk()))
        return takewhile(lambda each: each <= last, ordinals)

    def _walk(self) -> Iterator[date]:
        found = takewhile(lambda each: each <= (self.until or date.max), islice(self._found(), self.count))
        days = merge(found, sorted(self.besides))
        return (day for day, _ in groupby(days) if day not in self.without)

    def _found(self) -> Iterator[date]:
        """What dateutil finds, up to the last year there is."""
        ahead = max(0, (date.max.year - PATIENCE - self.anchor.year) // 400) * DAYS_OF_400_YEARS
        before = self.anchor.toordinal() + ahead
        self.meter(0)  # which may be enough: dateutil looks for the first day up to the last year there is
        rule = rrulestr(self.rule, dtstart=datetime.combine(date.fromordinal(before), time()))
        for each in chain(_until_the_last_year(rule), [None]):
            ordinal = (each or date.max).toordinal()
            self.meter(ordinal - before)
            before = ordinal
            if each is not None:
                yield date.fromordinal(ordinal - ahead)


def _until_the_last_year(rule: Iterable[datetime]) -> Iterator[datetime]:
    with suppress(ValueError):  # which dateutil raises for the week that leads from the last year into none
        yield from rule
