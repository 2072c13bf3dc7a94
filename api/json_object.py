"""Read the members of a JSON object one by one; each fault is refused with its path.

null counts as absent, and unknown members are ignored.  A bool is not a number, and a number is not a text.

With `Faults`, all faults are collected: a refused member then reads as absent.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

from api.errors import Invalid
from recurrence.wire import Faults

P = ParamSpec("P")
T = TypeVar("T")
Pattern = str | re.Pattern[str] | None

PRINTABLE = r"[^\x00-\x1f\x7f-\x9f]*"
NUMBERS_END = 2**63
SHOWN_LENGTH = 200  # characters of a refused value that the message repeats
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # PostgreSQL refuses NUL, UTF-8 a lone surrogate


def collected(read: "Callable[Concatenate[JsonObject, P], T]") -> "Callable[Concatenate[JsonObject, P], T]":
    """Decorate a reader.  If faults are collected, it adds its fault and returns None instead of raising Invalid."""

    @wraps(read)
    def reading(self: "JsonObject", *args: P.args, **kwargs: P.kwargs) -> T:
        if self.faults is None:
            return read(self, *args, **kwargs)
        return self.faults.read(read, self, *args, **kwargs)

    return reading


class JsonObject:
    """The members of `value`; raises Invalid unless it is an object.  The path of a whole document may be empty.

    Without `faults`, the first faulty member raises Invalid.  With `faults`, the caller must call `faults.refuse`.
    """

    def __init__(self, value: object, path: str, faults: Faults | None = None):
        if not isinstance(value, dict):
            code = "required" if value is None else "wrong_type"
            raise Invalid(f"must be an object, not {shorten_repr(value)}", path=path or None, code=code)
        self.value = value
        self.path = path
        self.faults = faults
        self.refused: set[str] = set()  # names of faulty members

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def refuse(self, name: str, message: str, code: str = "invalid") -> NoReturn:
        self.refused.add(name)
        raise Invalid(message, path=self._path(name), code=code)

    @collected
    def fault(self, name: str, message: str, code: str = "invalid") -> None:
        """Refuse a member; return normally if faults are collected."""
        self.refuse(name, message, code)

    def require(self, *names: str) -> None:
        for name in names:
            if name not in self:
                self.fault(name, "is required", "required")

    def required_members(self, name: str) -> "JsonObject":
        """Return an object that must be present.  Raises Invalid, even if faults are collected."""
        if name not in self:
            self.refuse(name, "is required", "required")
        return JsonObject(self.value[name], self._path(name), self.faults)

    def required_text(self, name: str, limit: int, pattern: Pattern = None, expected: str = "") -> str:
        """Return a text that must be present.  If faults are collected, a fault returns None."""
        self.require(name)
        return cast(str, self.text(name, limit, pattern, expected))

    def required_choice(self, name: str, choices: Iterable[str]) -> str:
        """Return a choice that must be present.  If faults are collected, a fault returns None."""
        self.require(name)
        return cast(str, self.choice(name, choices))

    @collected
    def members(self, name: str) -> "JsonObject | None":
        if name not in self:
            return None
        return JsonObject(self.value[name], self._path(name), self.faults)

    @collected
    def text(self, name: str, limit: int, pattern: Pattern = None, expected: str = "") -> str | None:
        """Return a text of at most `limit` characters.

        `pattern`, if given, must match the whole text; `expected` describes the pattern.
        """
        value = self.value.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(name, f"must be a text, not {shorten_repr(value)}", "wrong_type")
        if len(value) > limit:
            self.refuse(name, f"must have at most {limit} characters, not {len(value)}", "too_long")
        if UNSTORABLE.search(value):
            self.refuse(name, "must not contain NUL or half of a surrogate pair", "malformed")
        if pattern and not re.fullmatch(pattern, value):
            self.refuse(name, f"must be {expected}, not {shorten_repr(value)}", "malformed")
        return value

    @collected
    def choice(self, name: str, choices: Iterable[str]) -> str | None:
        """Return one of `choices`, as it is written there.  Upper and lower case are not distinguished."""
        value = self.text(name, SHOWN_LENGTH)
        if value is None:
            return None
        found = next((choice for choice in choices if choice.lower() == value.lower()), None)
        if found is None:
            self.refuse(name, f"must be one of {', '.join(choices)}, not {shorten_repr(value)}", "unknown_value")
        return found

    @collected
    def integer(self, name: str, low: int, high: int) -> int | None:
        value = self.value.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(name, f"must be a whole number, not {shorten_repr(value)}", "wrong_type")
        if not low <= value <= high:
            self.refuse(name, f"must be {low} to {high}, not {shorten_repr(value)}", "out_of_range")
        return value

    @collected
    def boolean(self, name: str) -> bool | None:
        value = self.value.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, f"must be true or false, not {shorten_repr(value)}", "wrong_type")
        return value

    @collected
    def scalar(self, name: str, limit: int) -> str | int | float | bool | None:
        """Return a text of at most `limit` characters, a number of 64 bits, true or false."""
        value = self.value.get(name)
        if isinstance(value, str):
            return self.text(name, limit)
        if value is not None and not isinstance(value, int | float):
            self.refuse(name, f"must be a text, a number, true or false, not {shorten_repr(value)}", "wrong_type")
        # a database returns 1e30 as an integer, which a response cannot contain
        if value is not None and not -NUMBERS_END <= value < NUMBERS_END:
            self.refuse(name, f"must be a number of at most 64 bits, not {shorten_repr(value)}", "out_of_range")
        return value

    @collected
    def instant(self, name: str) -> datetime | None:
        """Return an instant in UTC.  A text without an offset is in UTC."""
        text = self.text(name, 64)
        if text is None:
            return None
        try:
            instant = datetime.fromisoformat(text)
            return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            self.refuse(name, f"must be a time such as 2030-01-01T08:00:00Z, not {shorten_repr(text)}", "malformed")

    @collected
    def json_object(self, name: str, limit: int) -> dict[str, Any] | None:
        """Return an object with any members, of at most `limit` characters as JSON."""
        members = self.members(name)
        if members is None:
            return None
        try:
            text = json.dumps(members.value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            self.refuse(name, "must hold nothing but JSON", "malformed")
        if len(text) > limit:
            self.refuse(name, f"must have at most {limit} characters as JSON, not {len(text)}", "too_long")
        if any(UNSTORABLE.search(each) for each in texts_in(members.value)):
            self.refuse(name, "must not contain NUL or half of a surrogate pair", "malformed")
        return members.value

    @collected
    def texts(self, name: str, count: int, name_limit: int, value_limit: int) -> dict[str, str] | None:
        """Return an object of at most `count` texts with limited names."""
        members = self.members(name)
        if members is None:
            return None
        if len(members.value) > count:
            self.refuse(name, f"must have at most {count} members, not {len(members.value)}", "too_long")
        for key in members.value:
            if not key or len(key) > name_limit or not key.isprintable():
                self.refuse(name, f"must have names of 1 to {name_limit} printable characters, not {shorten_repr(key)}")
        found = {key: members.required_text(key, value_limit) for key in members.value}
        return {key: text for key, text in found.items() if text is not None}

    @collected
    def names(self, name: str, count: int, pattern: re.Pattern[str], expected: str) -> list[str] | None:
        """Return a list of at most `count` texts, without duplicates in any letter case.

        `pattern` must match each whole text; `expected` describes the pattern.
        """
        value = self.value.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.refuse(name, f"must be a list, not {shorten_repr(value)}", "wrong_type")
        if len(value) > count:
            self.refuse(name, f"must have at most {count} entries, not {len(value)}", "too_long")
        for entry in value:
            if not isinstance(entry, str) or not re.fullmatch(pattern, entry):
                self.refuse(name, f"must hold {expected}, not {shorten_repr(entry)}", "malformed")
        return list({entry.lower(): entry for entry in reversed(value)}.values())[::-1]

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts of a document, with the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from texts_in(name)
            yield from texts_in(member)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def shorten_repr(value: object) -> str:
    """Return the value for a message: on one line, cut off if it is long."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and abs(value) > 10**SHOWN_LENGTH:
        return "a number of very many digits"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = ascii(value) if isinstance(value, str) and UNSTORABLE.search(value) else repr(value)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"
