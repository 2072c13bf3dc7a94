"""Request bodies: JSON in its strict sense, within limits that hold before anything looks at the meaning.

Length comes first, then the encoding, the depth, the syntax and the values.  Every refusal is a ParseError (400),
apart from a body beyond the general limit (413).
"""

import json
import re
from collections import Counter
from typing import NoReturn

from django.conf import settings
from django.http import UnreadablePostError
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

DEPTH_LIMIT = 32  # arrays and objects inside each other
LIST_LIMIT = 1_000  # items of an array, members of an object
INTEGERS = range(-(2**63), 2**63)
INTEGER_DIGITS = 20  # no longer text is looked at: 64 bits and a sign
ECHO = 50  # characters of a value that a message shows

# strings (also one that never ends, so that the search stays linear), or a bracket
STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class TooLarge(APIException):
    """The body is longer than any request to this server may be."""

    status_code = 413
    default_code = "too_large"


class StrictJSONParser(BaseParser):
    """A view may set `body_limit`, in bytes; beyond it the answer is 400, as the original scheduler's was for jobs."""

    media_type = "application/json"

    def parse(self, stream, media_type=None, parser_context=None):
        context = parser_context or {}
        body = read(stream, content_length(context.get("request")), getattr(context.get("view"), "body_limit", None))
        return parsed(body)


class StrictTextJSONParser(StrictJSONParser):
    """The other media type that clients of the original scheduler send."""

    media_type = "text/json"


def content_length(request) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except (AttributeError, ValueError):
        return 0


def read(stream, announced: int, own_limit: int | None) -> bytes:
    """Return the whole body; raises ParseError or TooLarge before reading more than the limit."""
    limit = min(own_limit or settings.BODY_LIMIT, settings.BODY_LIMIT)
    try:
        body = b"" if announced > limit else stream.read(limit + 1)
    except (UnreadablePostError, OSError):
        raise ParseError("the body ended before its announced length", "unreadable") from None
    if announced <= limit and len(body) <= limit:
        return body
    message = f"the body is longer than {limit} bytes"
    raise ParseError(message, "too_large") if own_limit else TooLarge(message)


def parsed(body: bytes) -> object:
    """Return the value that the body spells; raises ParseError."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise ParseError(f"the body is not UTF-8 text, at byte {error.start}", "not_utf8") from None
    check_depth(text)
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as error:
        message = f"the body is not JSON: {error.msg}, at line {error.lineno} column {error.colno}"
        raise ParseError(message, "not_json") from None
    check(value)
    return value


def check_depth(text: str) -> None:
    """Raise ParseError when brackets nest deeper than DEPTH_LIMIT, before a recursive reader would find out."""
    if text.count("[") + text.count("{") <= DEPTH_LIMIT:
        return
    depth = 0
    for match in STRING_OR_BRACKET.finditer(text):
        mark = match[0]
        if mark in "[{":
            depth += 1
            if depth > DEPTH_LIMIT:
                raise ParseError(f"the body nests deeper than {DEPTH_LIMIT} levels", "too_deep")
        elif mark in "]}":
            depth -= 1


def check(value: object, path: str = "") -> None:
    """Raise ParseError for lists beyond LIST_LIMIT and for text that databases and UTF-8 cannot hold.

    The text is not repeated: it may be a secret.
    """
    if isinstance(value, str):
        if "\0" in value or LONE_SURROGATE.search(value):
            refuse(path, "must not contain NUL or half of a surrogate pair", "bad_text")
    elif isinstance(value, dict):
        check_length(value, path)
        for name, member in value.items():
            check(name, path)
            check(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        check_length(value, path)
        for index, item in enumerate(value):
            check(item, f"{path}[{index}]")


def check_length(value: dict | list, path: str) -> None:
    if len(value) > LIST_LIMIT:
        refuse(path, f"must have at most {LIST_LIMIT} entries, not {len(value)}", "too_many")


def refuse(path: str, message: str, code: str) -> NoReturn:
    raise ParseError({path: message} if path else f"the body {message}", code)


def shown(text: str) -> str:
    return text[:ECHO].encode("ascii", "backslashreplace").decode().replace("\0", "\\x00")


def to_object(pairs: list[tuple[str, object]]) -> dict:
    """Two members of one name are refused: readers disagree about which of them counts."""
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
    raise ParseError(f"the member '{shown(twice)}' is given twice in one object", "duplicate_member")


def to_integer(text: str) -> int:
    if len(text) <= INTEGER_DIGITS and (number := int(text)) in INTEGERS:
        return number
    raise ParseError(f"the number {text[:ECHO]} does not fit into 64 bits", "out_of_range")


def to_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ParseError(f"the number {text[:ECHO]} is too large", "out_of_range")
    return number


def refuse_constant(text: str) -> None:
    raise ParseError(f"{text} is not a JSON number", "not_json")


DECODER = json.JSONDecoder(
    object_pairs_hook=to_object, parse_int=to_integer, parse_float=to_float, parse_constant=refuse_constant
)
