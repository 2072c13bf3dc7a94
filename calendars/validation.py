"""Check the type and the limits of every value of an event before it is stored."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, NoReturn

from api.json_object import UNSTORABLE
from calendars.errors import CalendarError
from calendars.models import (
    EDITABLE,
    REMINDER_MOST,
    SUBJECT_LENGTH,
    BodyType,
    Importance,
    Sensitivity,
    ShowAs,
)
from recurrence.wire.json_values import shown

BODY_LENGTH = 262_144  # characters
CATEGORIES = 100
CATEGORY_LENGTH = 255  # characters
LOCATIONS = 50
ATTENDEES = 500  # Exchange's limit
LIST_LENGTH = 262_144  # characters of all locations, or attendees, as JSON
NUMBERS_END = 2**63
CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")


def check_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked values of `changes` whose names are in EDITABLE.  Raises CalendarError."""
    return {name: CHECKS[name](changes[name], PATHS[name]) for name in EDITABLE if name in changes}


def text(value: object, path: str, limit: int) -> str:
    if not isinstance(value, str):
        refuse(path, f"must be a text, not {shown(value)}")
    if len(value) > limit:
        refuse(path, f"must have at most {limit} characters, not {len(value)}", "too_long")
    if UNSTORABLE.search(value):
        refuse(path, "must not contain NUL or half of a surrogate pair")
    return value


def refuse(path: str, message: str, code: str = "invalid") -> NoReturn:
    raise CalendarError(message, path=path, code=code)


def one_of(words: type[Enum]) -> Callable[[object, str], str]:
    known = [word.value for word in words]

    def check(value: object, path: str) -> str:
        if value not in known:
            refuse(path, f"must be one of {', '.join(known)}, not {shown(value)}", "unknown_value")
        return str(value)

    return check


def text_of(limit: int) -> Callable[[object, str], str]:
    return lambda value, path: text(value, path, limit)


def boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        refuse(path, f"must be true or false, not {shown(value)}")
    return value


def minutes(value: object, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(path, f"must be a whole number, not {shown(value)}")
    if not 0 <= value <= REMINDER_MOST:
        refuse(path, f"must be 0 to {REMINDER_MOST}", "out_of_range")
    return value


def string_list(value: object, path: str) -> list[str]:
    return [text(item, f"{path}[{n}]", CATEGORY_LENGTH) for n, item in enumerate(json_list(value, path, CATEGORIES))]


def object_list(limit: int) -> Callable[[object, str], list[dict]]:
    """Return a check for a list of at most `limit` objects, which are stored as they are."""

    def check(value: object, path: str) -> list[dict]:
        listed = json_list(value, path, limit)
        for n, item in enumerate(listed):
            if not isinstance(item, dict):
                refuse(f"{path}[{n}]", f"must be an object, not {shown(item)}")
            if not isinstance(item.get("displayName") or "", str):
                refuse(f"{path}[{n}].displayName", "must be a text")
        _require_storable(listed, path)
        return listed

    return check


def attendees(value: object, path: str) -> list[dict]:
    listed = object_list(ATTENDEES)(value, path)
    for n, item in enumerate(listed):
        contact = item.get("emailAddress")
        address = contact.get("address") if isinstance(contact, dict) else None
        if isinstance(address, str) and CONTROL.search(address):
            message = "must not contain control characters, which are U+0000 to U+001F and U+007F to U+009F"
            refuse(f"{path}[{n}].emailAddress.address", message, "not_allowed")
    return listed


def json_list(value: object, path: str, limit: int) -> list:
    if not isinstance(value, list):
        refuse(path, f"must be a list, not {shown(value)}")
    if len(value) > limit:
        refuse(path, f"must have at most {limit} items, not {len(value)}", "too_many")
    return value


def _require_storable(value: list[dict], path: str) -> None:
    try:
        length = len(json.dumps(value, ensure_ascii=False, allow_nan=False))
        parts = list(_parts(value))
    except (TypeError, ValueError, RecursionError):
        refuse(path, "must hold nothing but JSON")
    if length > LIST_LENGTH:
        refuse(path, f"must have at most {LIST_LENGTH} characters as JSON, not {length}", "too_long")
    if any(isinstance(part, str) and UNSTORABLE.search(part) for part in parts):
        refuse(path, "must not contain NUL or half of a surrogate pair")
    # a database returns 1e30 as a whole number, which a response cannot contain
    if any(isinstance(part, int | float) and not -NUMBERS_END <= part < NUMBERS_END for part in parts):
        refuse(path, "must not contain numbers beyond 64 bits", "out_of_range")


def _parts(value: object) -> Iterator[object]:
    """Yield the texts and numbers of a document, with the names of members."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _parts(member)
    elif isinstance(value, list):
        for item in value:
            yield from _parts(item)
    else:
        yield value


CHECKS: dict[str, Callable[[object, str], Any]] = {
    "subject": text_of(SUBJECT_LENGTH),
    "body": text_of(BODY_LENGTH),
    "body_type": one_of(BodyType),
    "locations": object_list(LOCATIONS),
    "categories": string_list,
    "attendees": attendees,
    "show_as": one_of(ShowAs),
    "sensitivity": one_of(Sensitivity),
    "importance": one_of(Importance),
    "is_reminder_on": boolean,
    "reminder_minutes": minutes,
}
PATHS = {name: re.sub("_(.)", lambda match: match[1].upper(), name) for name in EDITABLE}
