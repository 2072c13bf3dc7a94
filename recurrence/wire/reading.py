"""Typed values out of a JSON document, each refused under the path of its field.

A member that is null counts as absent.  A boolean is not an integer, nor is 5.0 or "5".
"""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from reprlib import Repr
from typing import NoReturn, TypeVar

from recurrence.wire.errors import WireError

T = TypeVar("T")

LONGEST_LIST = 1000

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# ISO 8601 as far as schedulers write it: a date, or a date and a time, with up to seven digits of a second's fraction
INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?(?:[Zz]|([+-])(\d\d):?([0-5]\d))?)?",
    re.ASCII,
)


def mapping(value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        _refuse(path, "invalid", "must be an object", value)
    return value


def text(value: object, path: str) -> str:
    if not isinstance(value, str):
        _refuse(path, "invalid", "must be a string", value)
    return value


def integer(value: object, path: str, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        _refuse(path, "invalid", "must be an integer", value)
    if not lowest <= value <= highest:
        _refuse(path, "out_of_range", f"must be {lowest} to {highest}", value)
    return value


def number_from_either_end(value: object, path: str, highest: int) -> int:
    """Read 1 to `highest`, or -1 (the last) to -`highest`."""
    number = integer(value, path, -highest, highest)
    if number == 0:
        _refuse(path, "out_of_range", f"must be 1 to {highest}, or -1 (the last) to -{highest}", value)
    return number


def word(value: object, path: str, words: Mapping[str, T]) -> T:
    """Look up a word, in any case."""
    found = words.get(text(value, path).lower())
    if found is None:
        _refuse(path, "unknown_value", f"must be one of {', '.join(words)}", value)
    return found


def items(value: object, path: str) -> list[tuple[str, object]]:
    """Return the items of a list, which must have some, each with its own path."""
    if not isinstance(value, list):
        _refuse(path, "invalid", "must be a list", value)
    if not value:
        _refuse(path, "invalid", "must not be empty; leave it out to choose nothing", value)
    if len(value) > LONGEST_LIST:
        raise WireError(path, "out_of_range", f"must have at most {LONGEST_LIST} items, not {len(value)}")
    return [(f"{path}[{index}]", item) for index, item in enumerate(value)]


def one_or_items(value: object, path: str) -> list[tuple[str, object]]:
    """Return the items of a list, or a value that stands alone as the only one, under the path itself."""
    return items(value, path) if isinstance(value, list) else [(path, value)]


def instant(value: object, path: str) -> datetime:
    """Read an ISO 8601 time.  Without an offset it is in UTC; a bare date is its midnight; a seventh digit is lost."""
    match = INSTANT.fullmatch(text(value, path))
    if match is None:
        _refuse(path, "invalid", "must be a time such as 2026-01-05T08:00:00Z", value)
    year, month, day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups(default="0")
    microsecond = int(fraction[:6].ljust(6, "0"))
    try:
        wall = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), microsecond, UTC)
        offset = timezone(timedelta(hours=int(offset_hours), minutes=int(offset_minutes))).utcoffset(None)
        return wall + offset if sign == "-" else wall - offset
    except (ValueError, OverflowError):
        _refuse(path, "out_of_range", "must be a time that exists", value)


def day(value: object, path: str) -> date:
    """Read a plain date."""
    if not DAY.fullmatch(text(value, path)):
        _refuse(path, "invalid", "must be a date such as 2026-01-05", value)
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        _refuse(path, "out_of_range", "must be a date that exists", value)


def warnings_of_unknown(definition: Mapping[str, object], known: Collection[str]) -> list[str]:
    """A sentence for each member that a format does not know."""
    unknown = [name for name, value in definition.items() if name not in known and value is not None]
    return [f"{shown(name)} is not known here and is ignored" for name in unknown]


def shown(value: object) -> str:
    """Return a value as it may stand in a message: short, whatever was sent."""
    try:
        return SHORT.repr(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return "a very large number"


def _refuse(path: str, code: str, expected: str, value: object) -> NoReturn:
    raise WireError(path, code, f"{expected}, not {shown(value)}")


SHORT = Repr()
SHORT.maxstring = SHORT.maxlong = SHORT.maxother = 60
SHORT.maxlevel = 2
SHORT.maxlist = SHORT.maxdict = 4
