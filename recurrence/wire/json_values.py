"""Read typed values from a JSON document.  An error names the path of the field.

A member that is null counts as absent.  A boolean is not an integer, and neither is 5.0 or "5".
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from reprlib import Repr
from typing import Any, NoReturn, TypeVar

from recurrence.wire.errors import Faults, WireError

T = TypeVar("T")

Known = Mapping[str, Any]  # known members of an object; a value lists the members of that member, None: it has none

LONGEST_LIST = 1000

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# the forms of ISO 8601 that schedulers write: a date, or a date and a time, with up to seven digits after the seconds
INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?(?:([Zz])|([+-])(\d\d):?([0-5]\d))?)?",
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


def number(value: object, path: str, lowest: int, highest: int) -> float:
    """Read a number with or without a fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(path, "invalid", "must be a number", value)
    if not lowest <= value <= highest:
        _refuse(path, "out_of_range", f"must be {lowest} to {highest}", value)
    return float(value)


def number_from_either_end(value: object, path: str, highest: int) -> int:
    """Read 1 to `highest`, or -1 (the last) to -`highest`."""
    number = integer(value, path, -highest, highest)
    if number == 0:
        _refuse(path, "out_of_range", f"must be 1 to {highest}, or -1 (the last) to -{highest}", value)
    return number


def word(value: object, path: str, words: Mapping[str, T]) -> T:
    """Return the value of a word in `words`; capital and small letters count as the same."""
    found = words.get(text(value, path).lower())
    if found is None:
        _refuse(path, "unknown_value", f"must be one of {', '.join(words)}", value)
    return found


def items(value: object, path: str) -> list[tuple[str, object]]:
    """Return the items of a list, each with its own path.  An empty list is refused."""
    if not isinstance(value, list):
        _refuse(path, "invalid", "must be a list", value)
    if not value:
        _refuse(path, "invalid", "must not be empty; leave it out to choose nothing", value)
    if len(value) > LONGEST_LIST:
        raise WireError(path, "out_of_range", f"must have at most {LONGEST_LIST} items, not {len(value)}")
    return [(f"{path}[{index}]", item) for index, item in enumerate(value)]


def one_or_items(value: object, path: str) -> list[tuple[str, object]]:
    """Return the items of a list; a value that is no list is the only item, and has the path of the list."""
    return items(value, path) if isinstance(value, list) else [(path, value)]


def each(items: Iterable[tuple[str, object]], reader: Callable[..., T], *args: Any) -> tuple[T, ...]:
    """Read each of the items, which are pairs of a path and a value."""
    faults = Faults()
    found = tuple(faults.read(reader, item, path, *args) for path, item in items)
    faults.refuse()
    return found


def instant(value: object, path: str) -> datetime:
    """Read an ISO 8601 time, in UTC if it has no offset.

    A date without a time is its midnight.  A seventh digit of the second's fraction is dropped.
    """
    time = instant_or_wall(value, path)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def instant_or_wall(value: object, path: str) -> datetime:
    """Read an ISO 8601 time: an instant in UTC if it has an offset, else a wall time, which has no tzinfo."""
    match = INSTANT.fullmatch(text(value, path))
    if match is None:
        _refuse(path, "invalid", "must be a time such as 2026-01-05T08:00:00Z", value)
    year, month, day, hour, minute, second, fraction, zulu, sign, offset_hours, offset_minutes = match.groups("0")
    microsecond = int(fraction[:6].ljust(6, "0"))
    zone = None if zulu == sign == "0" else UTC
    try:
        time = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), microsecond, zone)
        if sign == "0":
            return time
        offset = timezone(timedelta(hours=int(offset_hours), minutes=int(offset_minutes))).utcoffset(None)
        return time + offset if sign == "-" else time - offset
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


@dataclass(frozen=True, slots=True)
class Unknown:
    """A member that a format does not know.  `within` is the path of its object, whose known members are `known`."""

    within: str
    name: str
    value: object
    known: Known

    @property
    def path(self) -> str:
        return f"{self.within}.{self.name}" if self.within else self.name


def unknown_members(value: object, known: Known, path: str = "") -> Iterator[Unknown]:
    """Yield the members of a document that its format does not know."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown_members(item, known, f"{path}[{index}]")
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if name not in known:
                yield Unknown(path, name, member, known)
            elif known[name] is not None:
                yield from unknown_members(member, known[name], f"{path}.{name}" if path else name)


def warnings_of_unknown(definition: Mapping[str, object], known: Known, annotations: Collection[str] = ()) -> list[str]:
    """Return a sentence for each member that a format does not know; null counts as absent.

    Names that begin with one of the `annotations` are ignored.
    """
    return [
        f"{each.within}{': ' if each.within else ''}{shown(each.name)} is not known here and is ignored"
        for each in unknown_members(definition, known)
        if each.value is not None and not each.name.startswith(tuple(annotations))
    ]


def shown(value: object) -> str:
    """Return a short text of any value, for a message."""
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
