"""Keyset pagination: a page begins after a row, not after a number of rows.

So it is quick at any depth, and stable while rows are added.
"""

import base64
import binascii
import json
from datetime import UTC, datetime

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.response import Response

from api.links import page_of

LIMIT = 100
MOST = 1_000
CURSOR_EXAMPLE = "W1siaWQiXSwgWyI3Il1d"
ENTRIES = "The entries of this page, in the order of the list."


class KeysetPagination(BasePagination):
    """Paginates by `?limit=&cursor=`, and answers pages in the form of `api.links.page_of`.

    The `order_by` of the view's queryset decides the order.  Its fields are all ascending or all descending, and the
    last one is unique.  A view may have `parts(queryset)`: it splits the queryset into parts that an index has in
    order each, where no index has the whole in order.
    """

    def paginate_queryset(self, queryset: QuerySet, request, view=None) -> list:
        self.request = request
        self.limit = limit_of(request.query_params.get("limit"))
        self.order = tuple(map(str, queryset.query.order_by))  # names of fields, no expressions
        if cursor := request.query_params.get("cursor"):
            queryset = queryset.filter(after_cursor_q(self.order, values_of(cursor, queryset.model, self.order)))
        parts = view.split_by_subscription(queryset) if hasattr(view, "split_by_subscription") else [queryset]
        rows = [row for part in parts for row in part[: self.limit + 1]]
        if len(parts) > 1:
            rows.sort(key=self.cursor_values, reverse=self.order[0].startswith("-"))
        page = rows[: self.limit]
        self.has_more = len(rows) > self.limit
        self.last = self.cursor_values(page[-1]) if page else []
        return page

    def cursor_values(self, row) -> list:
        names = [name.lstrip("-") for name in self.order]
        return [row[name] if isinstance(row, dict) else getattr(row, name) for name in names]

    def get_paginated_response(self, data) -> Response:
        return Response(page_of(self.request, data, cursor_of(self.order, self.last) if self.has_more else None))

    def get_paginated_response_schema(self, schema: dict) -> dict:
        next_link = {
            "type": "string",
            "format": "uri",
            "nullable": True,
            "example": "https://quando.example.org/api/jobs?cursor=W1siaWQiXSwgWyI3Il1d",
            "description": "The address of the next page; null on the last one.",
        }
        next_cursor = {
            "type": "string",
            "nullable": True,
            "example": CURSOR_EXAMPLE,
            "description": "The `cursor` of the next page; null on the last one.",
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
                "description": "How many entries a page has at most.",
            },
            {
                "name": "cursor",
                "in": "query",
                "schema": {"type": "string"},
                "example": CURSOR_EXAMPLE,
                "description": "Where the page begins: only as the `nextCursor` or the `nextLink` of a page gives it.",
            },
        ]


def limit_of(text: str | None) -> int:
    if text is None:
        return LIMIT
    if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST:
        return int(text)
    raise serializers.ValidationError({"limit": [f"must be a whole number, 1 to {MOST}"]}, "out_of_range")


def after_cursor_q(order: tuple[str, ...], values: list) -> Q:
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


def cursor_of(order: tuple[str, ...], values: list) -> str:
    text = json.dumps([list(order), [v.isoformat() if isinstance(v, datetime) else str(v) for v in values]])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def values_of(cursor: str, model, order: tuple[str, ...]) -> list:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        cursor_order, texts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if tuple(cursor_order) != tuple(order):
            raise ValueError("a cursor of another order")
        fields = [model._meta.get_field(name.lstrip("-") if name.lstrip("-") != "pk" else "id") for name in order]
        return [value_of(field, text) for field, text in zip(fields, texts, strict=True)]
    except (ValueError, TypeError, RecursionError, OverflowError, binascii.Error, ValidationError):
        message = "this cursor does not come from a nextLink of this list"
        raise serializers.ValidationError({"cursor": [message]}, "invalid_cursor") from None


def value_of(field, text: object):
    """Return the value of `field` that `text` stands for.

    Raise TypeError or ValidationError for a wrong text, and OverflowError for an instant that UTC cannot represent.
    """
    if not isinstance(text, str):
        raise TypeError("a cursor holds texts")
    value = field.to_python(text)
    return value.astimezone(UTC) if isinstance(value, datetime) else value
