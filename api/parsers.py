"""Parsers of request bodies: strict JSON, within limits that are checked before the content is interpreted.

The checks run in this order: length, encoding, depth, syntax, values.  Every refusal is a ParseError (400), except
for a body that is longer than the general limit (413).
"""

import json
import re
from collections import Counter
from typing import NoReturn

from django.conf import settings
from django.http import UnreadablePostError
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

from api.fields import shown_name

DEPTH_LIMIT = 32  # arrays and objects inside each other
LIST_LIMIT = 1_000  # items of an array, members of an object
INTEGERS = range(-(2**63), 2**63)
INTEGER_DIGITS = 20  # characters of the longest 64-bit integer with its sign; longer texts are not converted
ECHO = 50  # characters of a value that a message shows

# a string or a bracket; a string without an end matches to the end of the text, so that the search stays linear
STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class TooLarge(APIException):
    """The body is longer than the limit for all requests to this server."""

    status_code = 413
    default_code = "too_large"


class StrictJSONParser(BaseParser):
    """Parser of `application/json`.

    A view may set `body_limit`, in bytes.  A longer body is refused with 400, as the original scheduler did for jobs.
    """

    media_type = "application/json"

    def parse(self, stream, media_type=None, parser_context=None):
        context = parser_context or {}
        body = read(stream, content_length(context.get("request")), getattr(context.get("view"), "body_limit", None))
        return parsed(body)


class StrictTextJSONParser(StrictJSONParser):
    """Parser of `text/json`, the other media type that clients of the original scheduler send."""

    media_type = "text/json"


def content_length(request) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except (AttributeError, ValueError):
        return 0


def read(stream, announced: int, own_limit: int | None) -> bytes:
    """Return the whole body.  Raise ParseError or TooLarge without reading more than one byte beyond the limit."""
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
    """Return the value of the JSON in the body.  Raise ParseError when it is refused."""
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
    """Raise ParseError when brackets nest deeper than DEPTH_LIMIT.

    This runs before the JSON decoder, which is recursive and would exceed its stack.
    """
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
    """Raise ParseError for arrays and objects longer than LIST_LIMIT, and for text that databases or UTF-8 cannot hold.

    The message does not repeat the text, because it may be a secret.
    """
    if isinstance(value, str):
        if "\0" in value or LONE_SURROGATE.search(value):
            refuse(path, "must not contain NUL or half of a surrogate pair", "bad_text")
    elif isinstance(value, dict):
        check_length(value, path)
        for name, member in value.items():
            check(name, path)
            shown = shown_name(
                name
            )  # a path is written for each member and item below: a long one would be copied often
            check(member, f"{path}.{shown}" if path else shown)
    elif isinstance(value, list):
        check_length(value, path)
        for index, item in enumerate(value):
            check(item, f"{path}[{index}]")


def check_length(value: dict | list, path: str) -> None:
    if len(value) > LIST_LIMIT:
        refuse(path, f"must have at most {LIST_LIMIT} entries, not {len(value)}", "too_many")


def refuse(path: str, message: str, code: str) -> NoReturn:
    raise ParseError({path: message} if path else f"the body {message}", code)


def to_object(pairs: list[tuple[str, object]]) -> dict:
    """Return the members as a dict.  Raise ParseError for a name that occurs twice.

    JSON parsers disagree about which of the two members counts.
    """
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    duplicate = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
    raise ParseError(f"the member '{shown_name(duplicate)}' is given twice in one object", "duplicate_member")


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
