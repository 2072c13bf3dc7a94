"""Closed days: which days a closed-day calendar closes, and their names.

`recurrence.wire.closed_days` reads and checks the document of a calendar.  Public holidays are those of the package
`holidays`: with substitute days ("observed"), and also on weekends.  The package knows most countries until LAST_YEAR;
for years that it does not know a country has no holidays.
"""

import warnings
from bisect import bisect_left
from calendar import isleap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from operator import itemgetter
from typing import Any

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
BLOCK = 128  # days whose bits are computed together
BLOCK_BITS = BLOCK.bit_length() - 1
EVERY_BIT = (1 << BLOCK) - 1
LAST_DAY = date.max.toordinal()
LAST_YEAR = 2100  # that the package knows; it takes as long to find no holidays in a later year
SEARCHED_DAYS = 20 * 366  # a search for an open day ends after so many days


@dataclass(frozen=True, slots=True)
class ClosedDay:
    """A closed day.  `name` is None for a day of the weekend and for a date without a name.

    `source` is the first of "dates", "calendars", "holidays" and "weekend" that closes the day.
    """

    day: date
    name: str | None
    source: str


@dataclass(frozen=True, slots=True)
class ClosedDays:
    """The closed days of one calendar.  Equal if they close the same days for the same reasons.

    * `weekend` contains weekdays, 0 is Monday.
    * `holidays` are pairs of a country and a subdivision, or None for the whole country.
    * `ranges` are the first day, the last day (included) and the name; `yearly` the month, the day and the name.
    * `event_days` are days of events in calendars, with their names.
    """

    weekend: frozenset[int] = frozenset()
    holidays: tuple[tuple[str, str | None], ...] = ()
    ranges: tuple[tuple[date, date, str | None], ...] = ()
    yearly: tuple[tuple[int, int, str | None], ...] = ()
    event_days: tuple[tuple[date, str], ...] = ()
    _spans: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)  # first and last ordinal
    _blocks: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        spans = [(first.toordinal(), last.toordinal()) for first, last, _ in self.ranges]
        spans += [(day.toordinal(), day.toordinal()) for day, _ in self.event_days]
        object.__setattr__(self, "_spans", tuple(_merge(spans)))

    @classmethod
    def of(cls, document: Mapping[str, Any], event_days: Mapping[date, str] | None = None) -> "ClosedDays":
        """Compile a document in its canonical form, and the days of the events in its calendars."""
        ranges, yearly = [], []
        for each in document.get("dates", ()):
            name = each.get("name")
            if "month" in each:
                yearly.append((each["month"], each["day"], name))
            else:
                first, last = each.get("date") or each["from"], each.get("date") or each["to"]
                ranges.append((date.fromisoformat(first), date.fromisoformat(last), name))
        return cls(
            frozenset(WEEKDAYS.index(name) for name in document.get("weekend", ())),
            tuple((each["country"], each.get("subdivision")) for each in document.get("holidays", ())),
            tuple(ranges),
            tuple(yearly),
            tuple(sorted((event_days or {}).items())),
        )

    def is_closed(self, day: date) -> bool:
        return self.is_closed_at(day.toordinal())

    def is_closed_at(self, ordinal: int) -> bool:
        """Return True if the day with this ordinal, as in `date.toordinal`, is closed."""
        number = ordinal >> BLOCK_BITS
        block = self._blocks.get(number)
        if block is None:
            block = self._closed_in(number)
        return bool(block >> (ordinal & BLOCK - 1) & 1)

    def name_of(self, day: date) -> str | None:
        """Return the name of a closed day; None for a day without a name and for an open day."""
        return next((name for _, name in self._reasons(day) if name), None)

    def closed_between(self, first: date, last: date) -> list[ClosedDay]:
        """Return the closed days from `first` to `last`, both included, earliest first."""
        days = (date.fromordinal(each) for each in range(first.toordinal(), last.toordinal() + 1))
        return [
            ClosedDay(day, self.name_of(day), next(source for source, _ in self._reasons(day)))
            for day in days
            if self.is_closed(day)
        ]

    def next_open(self, day: date) -> date | None:
        """Return the first open day that is not earlier than `day`; None: not within twenty years."""
        return _date(self.next_open_at(day.toordinal()))

    def previous_open(self, day: date) -> date | None:
        """Return the last open day that is not later than `day`; None: not within twenty years."""
        return _date(self.previous_open_at(day.toordinal()))

    def nearest_open(self, day: date) -> date | None:
        """Return the open day that is nearest to `day`, the later one of two; None: not within twenty years."""
        previous, following = self.previous_open(day), self.next_open(day)
        if previous is None or following is None:
            return previous or following
        return previous if day - previous < following - day else following

    def next_open_at(self, ordinal: int) -> int | None:
        number, position = divmod(ordinal, BLOCK)
        mask = EVERY_BIT >> position << position
        for _ in range(SEARCHED_DAYS // BLOCK + 1):
            found = ~self._block(number) & mask
            if found:
                ordinal = number * BLOCK + (found & -found).bit_length() - 1
                return ordinal if ordinal <= LAST_DAY else None
            number, mask = number + 1, EVERY_BIT
        return None

    def previous_open_at(self, ordinal: int) -> int | None:
        number, position = divmod(ordinal, BLOCK)
        mask = (2 << position) - 1
        for _ in range(SEARCHED_DAYS // BLOCK + 1):
            found = ~self._block(number) & mask
            if found:
                ordinal = number * BLOCK + found.bit_length() - 1
                return ordinal if ordinal > 0 else None
            number, mask = number - 1, EVERY_BIT
        return None

    def open_run_at(self, ordinal: int) -> tuple[int, int]:
        """Return the first and the last of the open days in a row around this one, cut short at the ends of a block.

        If the day is closed, the last day lies before the first.
        """
        number, position = divmod(ordinal, BLOCK)
        block = self._block(number)
        if block >> position & 1:
            return ordinal, ordinal - 1
        first = (block & (1 << position) - 1).bit_length()
        later = block >> position
        last = position + (later & -later).bit_length() - 2 if later else BLOCK - 1
        return number * BLOCK + first, number * BLOCK + last

    def closed_bits(self, first: int, length: int) -> int:
        """Return the closed days of `length` days, at most BLOCK, from the day `first` on: bit 0 is `first`."""
        number, position = divmod(first, BLOCK)
        bits = self._block(number) >> position
        if position + length > BLOCK:
            bits |= self._block(number + 1) << BLOCK - position
        return bits & (1 << length) - 1

    def _block(self, number: int) -> int:
        block = self._blocks.get(number)
        return self._closed_in(number) if block is None else block

    def _closed_in(self, number: int) -> int:
        """Return the closed days in a block of BLOCK days as bits, and keep the result."""
        first = number * BLOCK
        last = first + BLOCK - 1
        block = 0
        for weekday in self.weekend:
            block |= _EVERY_WEEK << (weekday + 1 - first) % 7
        for begin, end in self._spans[bisect_left(self._spans, first, key=itemgetter(1)) :]:
            if begin > last:
                break
            low, high = max(begin, first), min(end, last)
            block |= (1 << high - low + 1) - 1 << low - first
        for ordinal in self._single_days(first, last):
            if first <= ordinal <= last:
                block |= 1 << ordinal - first
        block &= EVERY_BIT
        self._blocks[number] = block
        return block

    def _single_days(self, first: int, last: int) -> Iterator[int]:
        """Yield the ordinals of holidays and yearly dates, at least all from `first` to `last`."""
        for year in range(_year(first), _year(last) + 1):
            for country, subdivision in self.holidays if year <= LAST_YEAR else ():
                yield from (day.toordinal() for day in holidays_of(country, subdivision, year))
            for month, number in {(month, number) for month, number, _ in self.yearly}:
                if not (month == 2 and number == 29 and not isleap(year)):
                    yield date(year, month, number).toordinal()

    def _reasons(self, day: date) -> Iterator[tuple[str, str | None]]:
        """Yield the sources that close a day, each with its name, the most specific source first."""
        for first, last, name in self.ranges:
            if first <= day <= last:
                yield "dates", name
        for month, number, name in self.yearly:
            if (day.month, day.day) == (month, number):
                yield "dates", name
        for event_day, name in self.event_days:
            if event_day == day:
                yield "calendars", name
        for country, subdivision in self.holidays if day.year <= LAST_YEAR else ():
            names = holidays_of(country, subdivision, day.year)
            if day in names:
                yield "holidays", names[day]
        if day.weekday() in self.weekend:
            yield "weekend", None


_EVERY_WEEK = sum(1 << position for position in range(0, BLOCK, 7))


@lru_cache(maxsize=4096)
def holidays_of(country: str, subdivision: str | None, year: int) -> Mapping[date, str]:
    """Return the public holidays of one year with their English names; none for a year that is not known."""
    import holidays  # takes 50 ms and 8 MB, so it is imported where the first holiday is needed

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Requested Holidays are available only")
        found = holidays.country_holidays(country, subdivision, year, expand=False, language="en_US")
    return dict(found)


@lru_cache(maxsize=1)
def countries() -> frozenset[str]:
    """Return the codes of the countries whose holidays are known, such as DE."""
    from holidays.registry import EntityLoader

    return frozenset(EntityLoader.get_country_codes(include_aliases=False))


@lru_cache(maxsize=256)
def subdivisions(country: str) -> tuple[str, ...]:
    """Return the codes of the subdivisions of a country that have holidays of their own, such as BE."""
    import holidays

    return tuple(sorted(getattr(holidays, country).subdivisions))


def _date(ordinal: int | None) -> date | None:
    return None if ordinal is None else date.fromordinal(ordinal)


def _year(ordinal: int) -> int:
    return date.fromordinal(min(max(ordinal, 1), LAST_DAY)).year


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges of days in order, those that meet or overlap as one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged
