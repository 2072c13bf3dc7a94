"""Pages and filters of lists: `$top`, `$skip`, `$skiptoken` and `$filter`."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.utils.encoding import escape_uri_path
from rest_framework.request import Request
from rest_framework.response import Response

from api.json_object import shorten_repr
from api.links import absolute
from operations.arm_base import WrongQuery, parameter

PAGE_LENGTH = 1000  # the original answered 135 entries at once, so its page was longer than the longest `$top`
TOP_LIMIT = 100
FILTER_LIMIT = 1024  # characters
NUMBER_LIMIT = 2**31 - 1


def page(
    request: Request,
    rows: QuerySet,
    render: Callable[[list[Any]], list[dict[str, Any]]],
    token_of: Callable[[Any], str],
) -> Response:
    """Return one page of `rows`.

    `render` turns rows into documents.  `token_of` returns the token of a row, after which the next page continues.
    """
    top = number_of(request, "$top", 1, TOP_LIMIT)
    skip = number_of(request, "$skip", 0, NUMBER_LIMIT) or 0
    length = top or PAGE_LENGTH
    found = list(rows[skip : skip + length + 1])
    shown_rows = found[:length]
    has_more = len(found) > length and top is None
    return Response(
        {
            "value": render(shown_rows),
            "nextLink": next_link(request, token_of(shown_rows[-1])) if has_more else None,
        }
    )


def next_link(request: Request, token: str) -> str:
    query = {name: value for name, value in request.query_params.items() if name.lower() not in ("$skip", "$skiptoken")}
    address = f"{escape_uri_path(request.path)}?{urlencode({**query, '$skiptoken': token})}"
    return absolute(request, address)


def number_of(request: Request, name: str, low: int, high: int) -> int | None:
    text = parameter(request, name)
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,10}", text) or not low <= int(text) <= high:
        raise WrongQuery(name, f"must be a whole number, {low} to {high}, not {shorten_repr(text)}")
    return int(text)


def filter_of(request: Request, member: str, values: Mapping[str, Any] | list[str]) -> str | None:
    """Return the value that `$filter` requires of `member`, as it is written in `values`; None without a filter.

    The grammar has one form: the member, `eq`, and a value, in any letter case, with or without quotes.
    """
    text = parameter(request, "$filter")
    if text is None:
        return None
    if len(text) <= FILTER_LIMIT and (
        match := re.fullmatch(rf"\s*{member}\s+eq\s+('?)([a-z]+)\1\s*", text, re.IGNORECASE)
    ):
        for value in values:
            if value.lower() == match[2].lower():
                return value
    raise WrongQuery("$filter", f"must be `{member} eq` one of {', '.join(values)}, not {shorten_repr(text)}")


def wrong_token(token: str) -> WrongQuery:
    return WrongQuery("$skiptoken", f"does not come from a nextLink of this list: {shorten_repr(token)}")
