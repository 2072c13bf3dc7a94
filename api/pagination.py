"""Keyset pagination: a page begins after a row, not after a number of rows.

So it is quick at any depth, and stable while rows are added.  A page ends early when its entries are large.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from api.links import page_of

LIMIT = 100
MOST = 1_000
PAGE_BYTES = 2_000_000  # of the entries of a page as JSON, unless its first entry alone is larger
CURSOR_EXAMPLE = "W1siaWQiXSwgWyI3Il1d"
ENTRIES = "The entries of this page, in the order of the list."

RenderRows = Callable[[list], Iterable[Any]]  # returns one document for each row, in the order of the rows


class KeysetPagination(BasePagination):
    """Paginates by `?limit=&cursor=`, and answers pages in the form of `api.links.page_of`.

    The `order_by` of the view's queryset decides the order.  Its fields are all ascending or all descending, and the
    last one is unique.  A view may have `split_by_subscription(queryset)`: it splits the queryset into parts that an
    index has in order each, where no index has the whole in order.
    """

    def page_response(self, queryset: QuerySet, view, render: RenderRows) -> Response:
        """Answer the page of `view.request`.

        At most `view.rows_at_once` rows are in memory and are rendered together, so that large rows do not fill the
        memory.
        """
        request, order = view.request, tuple(map(str, queryset.query.order_by))  # names of fields, no expressions
        limit = parse_limit(request)
        found: list[list] = []  # the cursor values of the rows that were loaded

        def documents() -> Iterator[Any]:
            for rows in load_in_chunks(queryset, view, order, limit + 1):
                wanted = rows[: limit - len(found)]
                found.extend(cursor_values(row, order) for row in rows)
                if wanted:
                    yield from render(wanted)

        page = fill_page(documents())
        cursor = encode_cursor(order, found[len(page) - 1]) if len(found) > len(page) else None
        return Response(page_of(request, page, cursor))

    def get_paginated_response_schema(self, schema: dict) -> dict:
        next_link = {
            "type": "string",
            "format": "uri",
            "nullable": True,
            "example": "https://quando.example.org/api/jobs?cursor=W1siaWQiXSwgWyI3Il1d",
            "description": "The URL of the next page; null: this is the last page.",
        }
        next_cursor = {
            "type": "string",
            "nullable": True,
            "example": CURSOR_EXAMPLE,
            "description": "The `cursor` of the next page; null: this is the last page.",
        }
        return {
            "type": "object",
            "required": ["value", "nextLink", "nextCursor"],
            "properties": {
                "value": {**schema, "description": ENTRIES},
                "nextLink": next_link,
                "nextCursor": next_cursor,
            },
        }

    def get_schema_operation_parameters(self, view) -> list[dict]:
        limit = {"type": "integer", "minimum": 1, "maximum": MOST, "default": LIMIT}
        return [
            {
                "name": "limit",
                "in": "query",
                "schema": limit,
                "example": 20,
                "description": (
                    "The maximum number of entries on a page. A page has fewer entries, at least one, if they would"
                    f" exceed {PAGE_BYTES // 1000000} MB. Continue until `nextCursor` is null."
                ),
            },
            {
                "name": "cursor",
                "in": "query",
                "schema": {"type": "string"},
                "example": CURSOR_EXAMPLE,
                "description": (
                    "The position at which the page begins: the `nextCursor` of the page before. By default the"
                    " first page."
                ),
            },
        ]


def fill_page(documents: Iterable[Any]) -> list[Any]:
    """Return these documents, or the first ones, as many as have at most PAGE_BYTES as JSON, but at least one.

    One more document is taken from `documents` than is returned, if there is one.
    """
    page: list[Any] = []
    size = 0
    for document in documents:
        size += len(orjson.dumps(document, default=str, option=orjson.OPT_UTC_Z))
        if page and size > PAGE_BYTES:
            break
        page.append(document)
    return page


def load_in_chunks(queryset: QuerySet, view, order: Sequence[str], most: int) -> Iterator[list]:
    """Yield the rows after the cursor of the request, at most `most`, in lists of at most `view.rows_at_once`."""
    cursor = view.request.query_params.get("cursor")
    after = field_values(decode_cursor(cursor, order), queryset.model, order) if cursor else None
    while most > 0:
        length = min(most, view.rows_at_once)
        following = queryset if after is None else queryset.filter(after_cursor_q(order, after))
        parts = view.split_by_subscription(following) if hasattr(view, "split_by_subscription") else [following]
        rows = [row for part in parts for row in part[:length]]
        if len(parts) > 1:
            rows.sort(key=lambda row: cursor_values(row, order), reverse=order[0].startswith("-"))
        del rows[length:]
        yield rows
        most -= length
        if len(rows) < length:
            return
        after = cursor_values(rows[-1], order)


def cursor_values(row: Any, order: Sequence[str]) -> list:
    names = [name.lstrip("-") for name in order]
    return [row[name] if isinstance(row, dict) else getattr(row, name) for name in names]


def parse_limit(request: Request) -> int:
    """Return the length of a page: the query parameter `limit`, or LIMIT without one.  Raise ValidationError."""
    text = request.query_params.get("limit")
    if text is None:
        return LIMIT
    if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST:
        return int(text)
    raise serializers.ValidationError({"limit": [f"must be a whole number, 1 to {MOST}"]}, "out_of_range")


def after_cursor_q(order: Sequence[str], values: list) -> Q:
    """Return the condition for rows that come after the row with these values."""
    comparison = "lt" if order[0].startswith("-") else "gt"
    condition = Q()
    for name, value in reversed(list(zip(order, values, strict=True))):
        name = name.lstrip("-")
        beyond = Q(**{f"{name}__{comparison}": value})
        # the outer bound is redundant, but the database can use it as the start of an index scan
        condition = Q(**{f"{name}__{comparison}e": value}) & (beyond | condition) if condition else beyond
    return condition


# A cursor is base64 of JSON: the fields of the order, and their values in the last row of the page


def encode_cursor(order: Sequence[str], values: Iterable[Any]) -> str:
    text = json.dumps([list(order), [v.isoformat() if isinstance(v, datetime) else str(v) for v in values]])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, order: Sequence[str]) -> list[str]:
    """Return the values of a cursor as texts.  Raise ValidationError unless it is a cursor of a list in this order."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        names, texts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise wrong_cursor() from None
    if names != list(order) or not isinstance(texts, list) or len(texts) != len(order):
        raise wrong_cursor()
    if not all(isinstance(text, str) for text in texts):
        raise wrong_cursor()
    return texts


def wrong_cursor() -> serializers.ValidationError:
    message = "this cursor does not come from a nextLink of this list"
    return serializers.ValidationError({"cursor": [message]}, "invalid_cursor")


def field_values(texts: Iterable[str], model: type[Model], order: Iterable[str]) -> list[Any]:
    """Return the values of the fields in `order` that the texts of a cursor stand for.  Raise ValidationError."""
    names = [name.lstrip("-") for name in order]
    fields: list[Any] = [model._meta.get_field(name if name != "pk" else "id") for name in names]
    try:
        values = [field.to_python(text) for field, text in zip(fields, texts, strict=True)]
        return [value.astimezone(UTC) if isinstance(value, datetime) else value for value in values]
    except (ValidationError, OverflowError):  # OverflowError: an instant that UTC cannot represent
        raise wrong_cursor() from None
