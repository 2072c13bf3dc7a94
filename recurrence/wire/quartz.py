"""Quartz cron expressions: six or seven fields, from seconds to years.

Source: the documentation and the behaviour of Quartz 2.3.2, where both agree; docs/time.md lists where we differ.
Texts that Quartz accepts but ignores or misunderstands, such as `MONDAY`, `5C`, `6#3,2` or a step of 0, are refused.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import NoReturn

from recurrence.bits import mask_of, members
from recurrence.cron import FIRST_YEAR, LAST_YEAR, CronRule, Days, DaysOfShape
from recurrence.cron_days import EveryWeekday, NthWeekday, NumberedDays, OneDay
from recurrence.schedules import Schedule, just_before
from recurrence.times import Times
from recurrence.wire import clocks, json_values
from recurrence.wire.clocks import ClockChange, Clocks, Preset, read_clocks, render_clocks
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed

LONGEST = 256  # characters
PATH = "expression"
MEMBERS: json_values.Known = {PATH: None, **clocks.MEMBERS}

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONDAY = 2  # Quartz counts from Sunday, 1; dates count from Monday, 0


@dataclass(frozen=True, slots=True)
class Kind:
    """What a field may hold: `low` to `high`, or one of `names` for `low` and the numbers after it."""

    name: str
    low: int
    high: int
    cycle: int | None  # a range that wraps counts modulo this number; None: ranges do not wrap
    step_limit: int | None
    names: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        numbers = f"numbers from {self.low} to {self.high}"
        names = f" or names from {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"{numbers}{names}, ranges such as a-b, steps such as */n, with commas between them, or *"


SECOND = Kind("second", 0, 59, 60, 59)
MINUTE = Kind("minute", 0, 59, 60, 59)
HOUR = Kind("hour", 0, 23, 24, 23)
DAY_OF_MONTH = Kind("day of month", 1, 31, 31, 31)
MONTH = Kind("month", 1, 12, 12, 12, MONTH_NAMES)
DAY_OF_WEEK = Kind("day of week", 1, 7, 7, 7, WEEKDAY_NAMES)
YEAR = Kind("year", FIRST_YEAR, LAST_YEAR, None, None)
KINDS = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR)

ITEM = re.compile(r"(?:(?P<all>\*)|(?P<low>[0-9]+|[A-Z]{3})(?:-(?P<high>[0-9]+|[A-Z]{3}))?)?(?:/(?P<step>[0-9]+))?")
DAY_OF_MONTH_WORD = re.compile(r"(?P<last>L)(?:-(?P<before>[0-9]+))?(?P<near>W)?|(?P<day>[0-9]+)W")
DAY_OF_WEEK_WORD = re.compile(r"(?P<day>[0-9]+|[A-Z]{3})(?:(?P<last>L)|#(?P<number>[0-9]+))")


@dataclass(frozen=True, slots=True)
class Field:
    """A parsed field: its canonical text, and the mask of its numbers; the mask is 0 for `?` and for L, W and #."""

    text: str
    mask: int = 0

    @property
    def is_stepping(self) -> bool:
        """True if the field reads like an interval, which fires in both passes of a repeated hour."""
        return any(sign in self.text for sign in "*-/")


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression and its rule in UTC.  Two are equal when their canonical texts are equal."""

    second: Field
    minute: Field
    hour: Field
    day_of_month: Field
    month: Field
    day_of_week: Field
    year: Field
    rule: CronRule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        times = Times(self.hour.mask, self.minute.mask, self.second.mask)
        days = _days(self.day_of_month.text, self.day_of_week.text)
        object.__setattr__(self, "rule", CronRule(times, days, self.month.mask, self.year.mask >> FIRST_YEAR))

    def __str__(self) -> str:
        fields = [self.second, self.minute, self.hour, self.day_of_month, self.month, self.day_of_week]
        if self.year.text != "*":
            fields.append(self.year)
        return " ".join(field.text for field in fields)

    @property
    def is_stepping(self) -> bool:
        return self.second.is_stepping or self.minute.is_stepping or self.hour.is_stepping


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile `expression`, `timeZone` (UTC by default), `clockChange`, `startTime` and `endTime`, both included.

    An expression that never fires again is no error; the result has a warning.  Raises WireError.
    """
    document = _read(definition)
    schedule = document.clocks.schedule_of(document.expression.rule, document.expression.is_stepping)
    warnings = [
        *json_values.warnings_of_unknown(definition, MEMBERS),
        *_never_again(schedule, created_at.astimezone(UTC)),
    ]
    return Parsed(schedule, None, document.clocks.zone, tuple(warnings), may_never_fire=True)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with canonical text: names in capitals, each list in order, the zone's IANA name.

    Members that were not sent and unknown members are absent.  Raises WireError where `parse` would.
    """
    document = _read(definition)
    return {PATH: str(document.expression), **render_clocks(definition, document.clocks)}


def in_zone(expression: Expression, zone: tzinfo, clock_change: ClockChange = Preset.CRON) -> Schedule:
    """Return the schedule of an expression in the wall times of a zone."""
    return clocks.in_zone(expression.rule, zone, clock_change, expression.is_stepping)


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Expression:
    """Parse an expression.  Raises a WireError that names the field, its text, and what would be accepted."""
    if len(text) > LONGEST:
        raise WireError(PATH, "out_of_range", f"must have at most {LONGEST} characters, not {len(text)}")
    if not text.isascii():
        raise WireError(PATH, "invalid", f"must be written in ASCII, not {json_values.shown(text)}")
    texts = re.split("[ \t]+", text.strip(" \t").upper())
    if len(texts) not in (6, 7):
        names = "second, minute, hour, day of month, month, day of week and perhaps year"
        raise WireError(PATH, "invalid", f"must have 6 or 7 fields, {names}, not {len(texts) if text.strip() else 0}")
    _check_question_marks(texts)
    fields = [PLAIN[position].get(part) or _field(position, part) for position, part in enumerate(texts)]
    return Expression(*fields, *([] if len(texts) == 7 else [EVERY_YEAR]))


def _check_question_marks(texts: list[str]) -> None:
    """Raise WireError unless exactly one of the two day fields is `?`, and no other field is."""
    if "?" in (texts[3], texts[5]) and "".join(texts).count("?") == 1:
        return
    for kind, text in zip(KINDS, texts, strict=False):
        if "?" in text and kind not in (DAY_OF_MONTH, DAY_OF_WEEK):
            _refuse(kind, text, "must not hold ?, which only the day of month and the day of week may")
        if "?" in text and text != "?":
            _refuse(kind, text, "must hold ? alone")
    if (texts[3] == "?") is (texts[5] == "?"):
        message = "one of day of month and day of week must be ?, and only one, not"
        raise WireError(PATH, "not_allowed", f"{message} {texts[3]!r} and {texts[5]!r}")


@lru_cache(maxsize=8192)
def _field(position: int, text: str) -> Field:
    kind = KINDS[position]
    if text == "?":
        return Field(text)
    if kind is DAY_OF_MONTH and ("L" in text or "W" in text):
        return _day_of_month_word(text)
    if kind is DAY_OF_WEEK and ("L" in text or "#" in text):
        return _day_of_week_word(text)
    if "C" in text and re.search("[0-9]C", text):
        _refuse(kind, text, f"must not hold C, which Quartz gave up, but {kind.expected}")
    items = [_item(kind, part, text) for part in text.split(",")]
    return _listed(kind, items)


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list: each `step`-th number from `low` to `high` (included); with `high` None, `low` alone."""

    low: int
    high: int | None
    step: int
    is_all: bool = False

    def sort_key(self) -> tuple[int, int, int, bool]:
        """Return a key that differs for different items, so that a list has one order."""
        return self.low, -1 if self.high is None else self.high, self.step, self.is_all

    def mask(self, kind: Kind) -> int:
        if self.high is None:
            return 1 << self.low
        if self.low <= self.high:
            return mask_of(range(self.low, self.high + 1, self.step))
        cycle = kind.cycle or 0
        numbers = range(self.low, self.high + cycle + 1, self.step)
        return mask_of(number if number <= kind.high else number - cycle for number in numbers)

    def text(self, kind: Kind) -> str:
        if self.is_all:
            return "*" if self.step == 1 else f"*/{self.step}"
        if self.high is None:
            return _named(kind, self.low)
        if self.high == kind.high and self.step > 1 and not kind.names:
            return f"{self.low}/{self.step}"
        words = f"{_named(kind, self.low)}-{_named(kind, self.high)}"
        return words if self.step == 1 else f"{words}/{self.step}"


def _item(kind: Kind, part: str, text: str) -> Item:
    match = ITEM.fullmatch(part)
    if not match or not part:
        _refuse(kind, text, f"must be {kind.expected}")
    step = _step(kind, match["step"], text)
    if match["all"] or not match["low"]:
        return Item(kind.low, kind.high, step or 1, is_all=True)
    low = _number(kind, match["low"], text)
    if not match["high"]:
        return Item(low, None if step is None else kind.high, step or 1)
    high = _number(kind, match["high"], text)
    if high < low and kind.cycle is None:
        _refuse(kind, text, "must have ranges that begin with the earlier year")
    return Item(low, high, step or 1)


def _listed(kind: Kind, items: list[Item]) -> Field:
    mask = 0
    for item in items:
        mask |= item.mask(kind)
    star = next((item for item in items if item.is_all and item.step == 1), None)
    sorted_items = [star] if star else sorted(set(items), key=Item.sort_key)
    return Field(",".join(dict.fromkeys(item.text(kind) for item in sorted_items)), mask)


def _step(kind: Kind, digits: str | None, text: str) -> int | None:
    if digits is None:
        return None
    step = int(digits)
    if step < 1 or (kind.step_limit is not None and step > kind.step_limit):
        _refuse(kind, text, f"must have steps of 1 {f'to {kind.step_limit}' if kind.step_limit else 'or more'}")
    return step


def _number(kind: Kind, word: str, text: str) -> int:
    if word in kind.names:
        return kind.names.index(word) + kind.low
    number = int(word) if word.isdigit() else -1
    if not kind.low <= number <= kind.high:
        _refuse(kind, text, f"must be {kind.expected}")
    return number


def _named(kind: Kind, number: int) -> str:
    return kind.names[number - kind.low] if kind.names else str(number)


def _refuse(kind: Kind, text: str, expected: str) -> NoReturn:
    raise WireError(PATH, "invalid", f"the {kind.name} {expected}, not {json_values.shown(text)}")


# Days


def _day_of_month_word(text: str) -> Field:
    match = DAY_OF_MONTH_WORD.fullmatch(text)
    expected = "must be L, L-n, LW, L-nW or nW alone, n a day before the last, 0 to 30, or a day, 1 to 31"
    if not match:
        _refuse(DAY_OF_MONTH, text, expected)
    if match["last"]:
        before = int(match["before"] or 0)
        if before > 30:
            _refuse(DAY_OF_MONTH, text, expected)
        return Field("L" + (f"-{before}" if before else "") + (match["near"] or ""))
    day = int(match["day"])
    if not 1 <= day <= 31:
        _refuse(DAY_OF_MONTH, text, expected)
    return Field(f"{day}W")


def _day_of_week_word(text: str) -> Field:
    if text == "L":
        return Field("SAT", 1 << 7)
    match = DAY_OF_WEEK_WORD.fullmatch(text)
    expected = "must be L, a weekday and L, or a weekday, # and 1 to 5, alone: 6L is the last Friday, 6#3 the third"
    if not match:
        _refuse(DAY_OF_WEEK, text, expected)
    name = _named(DAY_OF_WEEK, _number(DAY_OF_WEEK, match["day"], text))
    if match["last"]:
        return Field(f"{name}L")
    if not 1 <= int(match["number"]) <= 5:
        _refuse(DAY_OF_WEEK, text, expected)
    return Field(f"{name}#{int(match['number'])}")


@lru_cache(maxsize=2048)
def _days(day_of_month: str, day_of_week: str) -> Days:
    """Return the days of two canonical fields, one of which is `?`."""
    if day_of_month == "?":
        return Days(f"? {day_of_week}", _weekdays(day_of_week))
    return Days(f"{day_of_month} ?", _month_days(day_of_month))


def _month_days(text: str) -> DaysOfShape:
    if match := DAY_OF_MONTH_WORD.fullmatch(text):
        day = -int(match["before"] or 0) if match["last"] else int(match["day"])
        return OneDay(day, is_near=text.endswith("W"))
    return NumberedDays(_field(3, text).mask)


def _weekdays(text: str) -> DaysOfShape:
    if match := DAY_OF_WEEK_WORD.fullmatch(text):
        return NthWeekday((_number(DAY_OF_WEEK, match["day"], text) - MONDAY) % 7, int(match["number"] or 0))
    return EveryWeekday(frozenset((number - MONDAY) % 7 for number in members(_field(5, text).mask)))


# The other members of a definition


@dataclass(frozen=True, slots=True)
class Document:
    expression: Expression
    clocks: Clocks


def _read(definition: Mapping[str, object]) -> Document:
    faults = Faults()
    document = Document(
        faults.read(_expression, definition.get(PATH)),
        faults.read(read_clocks, definition),
    )
    faults.refuse()
    return document


def _expression(value: object) -> Expression:
    if value is None:
        raise WireError(PATH, "required", "must be a cron expression such as 0 15 10 ? * MON-FRI")
    return parse_expression(json_values.text(value, PATH))


def _never_again(schedule: Schedule, created_at: datetime) -> Iterator[str]:
    if schedule.after(just_before(created_at)) is None:
        yield "It will not fire again."


EVERY_YEAR = _field(6, "*")
PLAIN = [  # the fields with a single number, a name, * or ?, parsed once
    {text: _field(position, text) for text in ("*", "?", *map(str, range(kind.low, kind.high + 1)), *kind.names)}
    for position, kind in enumerate(KINDS)
]
