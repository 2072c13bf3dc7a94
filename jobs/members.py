"""Read the members of a JSON object one by one, so that whatever is wrong is refused with its path.

null counts as absent, and a member nobody asks for is ignored.  A bool is not a number, and a number is not a text.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NoReturn

from jobs.errors import Invalid

PRINTABLE = r"[^\x00-\x1f\x7f-\x9f]*"
NUMBERS_END = 2**63
SHOWN_LENGTH = 200  # characters of a refused value that the answer repeats
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # PostgreSQL refuses NUL, UTF-8 a lone surrogate


class Members:
    """The members of `value`; raises Invalid unless it is an object.  The path of a whole document may be empty."""

    def __init__(self, value: object, path: str):
        if not isinstance(value, dict):
            code = "required" if value is None else "wrong_type"
            raise Invalid(f"must be an object, not {shown(value)}", path=path or None, code=code)
        self.value = value
        self.path = path

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def refuse(self, name: str, message: str, code: str = "invalid") -> NoReturn:
        raise Invalid(message, path=self._path(name), code=code)

    def require(self, *names: str) -> None:
        for name in names:
            if name not in self:
                self.refuse(name, "is required", "required")

    def required_members(self, name: str) -> "Members":
        self.require(name)
        return Members(self.value[name], self._path(name))

    def required_text(self, name: str, limit: int, pattern: str | None = None, expected: str = "") -> str:
        self.require(name)
        return self.text(name, limit, pattern, expected) or ""

    def required_choice(self, name: str, choices: Iterable[str]) -> str:
        self.require(name)
        return self.choice(name, choices) or ""

    def members(self, name: str) -> "Members | None":
        if name not in self:
            return None
        return Members(self.value[name], self._path(name))

    def text(self, name: str, limit: int, pattern: str | None = None, expected: str = "") -> str | None:
        """A text of at most `limit` characters that `pattern`, if given, matches whole; `expected` describes it."""
        value = self.value.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(name, f"must be a text, not {shown(value)}", "wrong_type")
        if len(value) > limit:
            self.refuse(name, f"must have at most {limit} characters, not {len(value)}", "too_long")
        if _UNSTORABLE.search(value):
            self.refuse(name, "must not contain NUL or half of a surrogate pair", "malformed")
        if pattern and not re.fullmatch(pattern, value):
            self.refuse(name, f"must be {expected}, not {shown(value)}", "malformed")
        return value

    def choice(self, name: str, choices: Iterable[str]) -> str | None:
        """One of `choices` in any case; returned as spelled there."""
        value = self.text(name, SHOWN_LENGTH)
        if value is None:
            return None
        for choice in choices:
            if choice.lower() == value.lower():
                return choice
        self.refuse(name, f"must be one of {', '.join(choices)}, not {shown(value)}", "unknown_value")

    def integer(self, name: str, low: int, high: int) -> int | None:
        value = self.value.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(name, f"must be a whole number, not {shown(value)}", "wrong_type")
        if not low <= value <= high:
            self.refuse(name, f"must be {low} to {high}, not {shown(value)}", "out_of_range")
        return value

    def boolean(self, name: str) -> bool | None:
        value = self.value.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, f"must be true or false, not {shown(value)}", "wrong_type")
        return value

    def scalar(self, name: str, limit: int) -> str | int | float | bool | None:
        """A text of at most `limit` characters, a number of 64 bits, true or false."""
        value = self.value.get(name)
        if isinstance(value, str):
            return self.text(name, limit)
        if value is not None and not isinstance(value, int | float):
            self.refuse(name, f"must be a text, a number, true or false, not {shown(value)}", "wrong_type")
        # 1e30 comes back from a database as a whole number, which no answer can hold
        if value is not None and not -NUMBERS_END <= value < NUMBERS_END:
            self.refuse(name, f"must be a number of at most 64 bits, not {shown(value)}", "out_of_range")
        return value

    def instant(self, name: str) -> datetime | None:
        """A point in time; without an offset it is UTC."""
        text = self.text(name, 64)
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            self.refuse(name, f"must be a time such as 2030-01-01T08:00:00Z, not {shown(text)}", "malformed")

    def json_object(self, name: str, limit: int) -> dict[str, Any] | None:
        """An object of any members, which has at most `limit` characters as JSON."""
        members = self.members(name)
        if members is None:
            return None
        try:
            text = json.dumps(members.value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            self.refuse(name, "must hold nothing but JSON", "malformed")
        if len(text) > limit:
            self.refuse(name, f"must have at most {limit} characters as JSON, not {len(text)}", "too_long")
        if any(_UNSTORABLE.search(each) for each in _texts_in(members.value)):
            self.refuse(name, "must not contain NUL or half of a surrogate pair", "malformed")
        return members.value

    def texts(self, name: str, count: int, name_limit: int, value_limit: int) -> dict[str, str] | None:
        """An object of at most `count` texts with limited names."""
        members = self.members(name)
        if members is None:
            return None
        if len(members.value) > count:
            self.refuse(name, f"must have at most {count} members, not {len(members.value)}", "too_long")
        for key in members.value:
            if not key or len(key) > name_limit or not key.isprintable():
                self.refuse(name, f"must have names of 1 to {name_limit} printable characters, not {shown(key)}")
        return {key: members.required_text(key, value_limit) for key in members.value}

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _texts_in(name)
            yield from _texts_in(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)


def shown(value: object) -> str:
    """The value as a message may repeat it: on one line and cut off when long."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and abs(value) > 10**SHOWN_LENGTH:
        return "a number of very many digits"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = ascii(value) if isinstance(value, str) and _UNSTORABLE.search(value) else repr(value)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"
