"""Decide which responses count as success: those with a status of 2xx, unless an action says otherwise.

Our addition to the original's contract, in `request.success`:
`statusCodes`: numbers and ranges such as "200-299";
`bodyContains`: a text;
`bodyPath`: the path of a value in a JSON body, and `bodyValue`: the value that it must equal.

A path is a singular query of RFC 9535: names and indexes only, so the cost of a lookup is limited by its length.
"""

import re
from collections.abc import Mapping
from typing import Any

import jsonpath_rfc9535 as jsonpath
import orjson

from api.json_object import JsonObject, collected, shorten_repr
from jobs.actions.members import CODES_LIMIT, SUCCESS

JSON_LIMIT = 262_144  # bytes; parsing more would delay other calls
STATUS = "its status does not count as success"


def parse(members: JsonObject) -> dict[str, Any]:
    """Return the checked test.  Raises Invalid with the path of the member."""
    codes = {"statusCodes": _codes(members)} if "statusCodes" in members else {}
    test = SUCCESS.read(members)
    if "bodyPath" in test and not _is_singular(test["bodyPath"]):
        members.fault("bodyPath", "must be a path of names and indexes such as $.items[0].state", "malformed")
    if "bodyValue" in members:
        members.require("bodyPath")
    return codes | test


def needs_body(test: Mapping[str, Any]) -> bool:
    """Return True if the test needs the whole body."""
    return "bodyContains" in test or "bodyPath" in test


def problem(test: Mapping[str, Any], status: int, body: bytes) -> str | None:
    """Return why a response is not a success, to be written after "but"; None if it is one.

    The result is STATUS if the status alone decides.
    """
    if not any(low <= status <= high for low, high in map(_range, test.get("statusCodes", ("200-299",)))):
        return STATUS
    if (text := test.get("bodyContains")) and text not in body.decode(errors="replace"):
        return "its body does not hold the text that it must"
    if path := test.get("bodyPath"):
        return _problem_of_value(path, test, body)
    return None


def _problem_of_value(path: str, test: Mapping[str, Any], body: bytes) -> str | None:
    if len(body) > JSON_LIMIT:
        return f"its body is longer than {JSON_LIMIT // 1024} KiB, too long to look for a path"
    try:
        document = orjson.loads(body)
    except ValueError:
        return "its body is not JSON"
    found = jsonpath.compile(path).find(document).values()
    if not found:
        return f"its body has nothing at {path}"
    if "bodyValue" in test and not _are_equal(found[0], test["bodyValue"]):
        return f"its body does not hold the value that it must at {path}"
    return None


def _are_equal(value: object, wanted: object) -> bool:
    """Compare two JSON values; True and 1 are different here, unlike in Python."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


@collected
def _codes(members: JsonObject) -> list[int | str]:
    codes = members.value["statusCodes"]
    if not isinstance(codes, list) or not 1 <= len(codes) <= CODES_LIMIT:
        members.refuse("statusCodes", f"must be a list of 1 to {CODES_LIMIT} codes and ranges", "wrong_type")
    for code in codes:
        if not _is_code(code):
            message = f'must hold codes of 100 to 599 and ranges such as "200-299", not {shorten_repr(code)}'
            members.refuse("statusCodes", message, "out_of_range")
    return codes


def _is_code(code: object) -> bool:
    if isinstance(code, bool) or not isinstance(code, int | str):
        return False
    if isinstance(code, str) and not re.fullmatch(r"[0-9]{3}-[0-9]{3}", code):
        return False
    low, high = _range(code)
    return 100 <= low <= high <= 599


def _range(code: int | str) -> tuple[int, int]:
    if isinstance(code, int):
        return code, code
    low, _, high = code.partition("-")
    return int(low), int(high)


def _is_singular(path: str) -> bool:
    try:
        return jsonpath.compile(path).singular_query()
    except (jsonpath.JSONPathError, RecursionError):
        return False
