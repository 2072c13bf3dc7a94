"""The schedule part of crontab lines: five fields, from minutes to weekdays, or a word such as `@daily`.

Source: Vixie's cron and its manual page crontab(5).  If one of the two day fields begins with `*`, a day must satisfy
both fields; else one of them is enough.  A line that cron implementations understand differently, such as `5/15` or
`FRI-SUN`, is refused: it would run at other times elsewhere.  Where clocks change, a line follows the rule of Cronos by
default, as Quartz expressions do.  Debian's cron differs: it leaves out the times in a gap if minute or hour begins
with `*`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import NoReturn

from recurrence.bits import mask_of, members
from recurrence.cron import CronRule, Days, DaysOfShape
from recurrence.cron_days import BothDays, EitherDays, EveryWeekday, NumberedDays
from recurrence.schedules import just_before
from recurrence.times import Times
from recurrence.wire import clocks, json_values
from recurrence.wire.clocks import Clocks, read_clocks, render_clocks
from recurrence.wire.cron_text import SIGNS, as_interval, format_field, format_times, listed, without_star
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed

PATH = "expression"
MEMBERS: json_values.Known = {PATH: None, **clocks.MEMBERS}
LONGEST = 256  # characters
WORDS = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}
ITEM = re.compile(
    r"(?:(?P<all>\*)|(?P<low>[0-9]+|[A-Z]{3})(?P<range>-(?P<high>[0-9]+|[A-Z]{3}))?)(?:/(?P<step>[0-9]+))?"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a field may hold: `low` to `high`, or one of `names` for `low` and the numbers after it."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        names = f" or names from {self.names[0]} to {self.names[-1]}" if self.names else ""
        return (
            f"numbers from {self.low} to {self.high}{names}, ranges such as a-b, steps such as */n or a-b/n,"
            " with commas between them, or *"
        )


MINUTE = Kind("minute", 0, 59)
HOUR = Kind("hour", 0, 23)
DAY_OF_MONTH = Kind("day of month", 1, 31)
MONTH = Kind("month", 1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"))
DAY_OF_WEEK = Kind("day of week", 0, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))
KINDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
ALL_MONTH_DAYS = mask_of(range(1, 32))
ALL_WEEKDAYS = mask_of(range(7))


@dataclass(frozen=True, slots=True)
class Line:
    """A checked line: sets of numbers as bit masks; in `weekdays`, 0 is Sunday.

    A day must be in both sets of days, or in one of them if `days_are_alternatives`.  `is_stepping`: minutes or hours
    read like an interval, which fires in both passes of a repeated hour.
    """

    minutes: int
    hours: int
    month_days: int
    months: int
    weekdays: int
    days_are_alternatives: bool
    is_stepping: bool

    def __str__(self) -> str:
        """Return the line in canonical text, with numbers in place of names."""
        minutes, hours = listed(self.minutes), listed(self.hours)
        if self.is_stepping:
            minutes, hours = format_times(self.minutes, 60), format_times(self.hours, 24)
            hours = hours if any(sign in minutes for sign in SIGNS) else as_interval(hours)
        months = format_field(self.months, 1, 12)
        return f"{minutes} {hours} {self._month_days()} {months} {self._weekdays()}"

    def _month_days(self) -> str:
        text = format_field(self.month_days, 1, 31)
        if self.days_are_alternatives:
            return without_star(text, 1, 31)
        if text.startswith("*") or self._weekdays().startswith("*"):
            return text
        return _with_star(self.month_days, 1, 31)

    def _weekdays(self) -> str:
        text = format_field(self.weekdays, 0, 6)
        if self.days_are_alternatives:
            return without_star(text, 0, 6)
        if text.startswith("*") or self.month_days & 1 << 1:
            return text
        return _with_star(self.weekdays, 0, 6)

    @property
    def rule(self) -> CronRule:
        """The rule in UTC."""
        return _rule(self)

    def days(self) -> Days:
        return Days(self._days_text(), self._days_of_shape())

    def _days_text(self) -> str:
        """Return the days as Quartz writes them, so that equal rules compare equal.

        Quartz cannot write both kinds of days at once; then the text is our own.
        """
        if self.weekdays == ALL_WEEKDAYS:
            return f"{format_field(self.month_days, 1, 31)} ?"
        weekdays = format_field(self.weekdays, 0, 6, DAY_OF_WEEK.names)
        if self.month_days == ALL_MONTH_DAYS:
            return f"? {weekdays}"
        return f"{format_field(self.month_days, 1, 31)} {'or' if self.days_are_alternatives else 'and'} {weekdays}"

    def _days_of_shape(self) -> DaysOfShape:
        month_days = NumberedDays(self.month_days)
        weekdays = EveryWeekday(frozenset((number - 1) % 7 for number in members(self.weekdays)))
        if self.weekdays == ALL_WEEKDAYS:
            return month_days
        if self.month_days == ALL_MONTH_DAYS:
            return weekdays
        return (EitherDays if self.days_are_alternatives else BothDays)(month_days, weekdays)


@lru_cache(maxsize=4096)
def _rule(line: Line) -> CronRule:
    return CronRule(Times(line.hours, line.minutes), line.days(), line.months)


def _with_star(mask: int, low: int, high: int) -> str:
    """Return a field for the set that begins with a star, so that a day must be in both sets of days.

    The set must contain the number `low`.
    """
    rest = mask & ~(1 << low)
    return f"*/{high - low + 1}" + (f",{format_field(rest, low, high)}" if rest else "")


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile `expression`, and the members of `recurrence.wire.clocks`.

    A line that never fires again is no error; the result has a warning.  Raises WireError.
    """
    line, clocks = _read(definition)
    schedule = clocks.schedule_of(line.rule, line.is_stepping)
    warnings = json_values.warnings_of_unknown(definition, MEMBERS)
    if schedule.after(just_before(created_at.astimezone(UTC))) is None:
        warnings.append("It will not fire again.")
    return Parsed(schedule, None, clocks.zone, tuple(warnings), may_never_fire=True)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with single spaces, names in capitals, words such as `@daily`, and the zone's IANA name.

    Members that were not sent and unknown members are absent.  Raises WireError where `parse` would.
    """
    _, clocks = _read(definition)
    text = " ".join(str(definition[PATH]).upper().split())
    return {PATH: text.lower() if text in WORDS else text, **render_clocks(definition, clocks)}


def _read(definition: Mapping[str, object]) -> tuple[Line, Clocks]:
    faults = Faults()
    line = faults.read(_line_of, definition.get(PATH))
    clocks = faults.read(read_clocks, definition)
    faults.refuse()
    return line, clocks


def _line_of(value: object) -> Line:
    if value is None:
        raise WireError(PATH, "required", "is required, such as */15 9-17 * * MON-FRI")
    return parse_line(json_values.text(value, PATH))


@lru_cache(maxsize=4096)
def parse_line(text: str) -> Line:
    """Parse a line.  Raises a WireError that names the field, its text, and what would be accepted."""
    if len(text) > LONGEST:
        raise WireError(PATH, "out_of_range", f"must have at most {LONGEST} characters, not {len(text)}")
    if not text.isascii():
        raise WireError(PATH, "invalid", f"must be written in ASCII, not {json_values.shown(text)}")
    stripped = text.strip(" \t").upper()
    if stripped == "@REBOOT":
        raise WireError(PATH, "not_allowed", "must not be @reboot, which is no time")
    texts = re.split("[ \t]+", WORDS.get(stripped, stripped))
    if len(texts) != len(KINDS):
        names = ", ".join(kind.name for kind in KINDS)
        raise WireError(PATH, "invalid", f"must have 5 fields, {names}, not {len(texts) if stripped else 0}")
    masks = [_mask(kind, part) for kind, part in zip(KINDS, texts, strict=True)]
    return _line(texts, *masks)


def _line(texts: list[str], minutes: int, hours: int, month_days: int, months: int, weekdays: int) -> Line:
    weekdays = (weekdays | weekdays >> 7) & ALL_WEEKDAYS  # 7 is Sunday too
    days_are_alternatives = not (texts[2].startswith("*") or texts[4].startswith("*"))
    if days_are_alternatives and (month_days == ALL_MONTH_DAYS or weekdays == ALL_WEEKDAYS):  # then it is every day
        month_days, weekdays, days_are_alternatives = ALL_MONTH_DAYS, ALL_WEEKDAYS, False
    is_stepping = any(sign in texts[0] + texts[1] for sign in SIGNS)
    return Line(minutes, hours, month_days, months, weekdays, days_are_alternatives, is_stepping)


def _mask(kind: Kind, text: str) -> int:
    mask = 0
    for part in text.split(","):
        match = ITEM.fullmatch(part)
        if not match:
            _refuse(kind, text, f"must be {kind.expected}")
        if match["step"] and not (match["all"] or match["range"]):
            _refuse(kind, text, f"must have steps of a range, such as {part.partition('/')[0]}-{kind.high}/n")
        low, high = kind.low, kind.high
        if match["low"]:
            low = high = _number(kind, match["low"], text)
        if match["high"]:
            high = _number(kind, match["high"], text)
        if high < low:
            sunday = ", where Sunday is 7" if kind is DAY_OF_WEEK else ""
            _refuse(kind, text, f"must have ranges that begin with the lower number{sunday}")
        step = int((match["step"] or "1")[:9])
        if not step:
            _refuse(kind, text, "must have steps of 1 or more")
        mask |= mask_of(range(low, high + 1, step))
    return mask


def _number(kind: Kind, word: str, text: str) -> int:
    if word in kind.names:
        return kind.names.index(word) + kind.low
    number = int(word[:9]) if word.isdigit() else -1
    if not kind.low <= number <= kind.high:
        _refuse(kind, text, f"must be {kind.expected}")
    return number


def _refuse(kind: Kind, text: str, expected: str) -> NoReturn:
    raise WireError(PATH, "invalid", f"the {kind.name} {expected}, not {json_values.shown(text)}")
