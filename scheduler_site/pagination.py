"""Pages that begin after a row, not after a number of rows: quick at any depth, and stable while rows come in."""

import base64
import binascii
import json
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.response import Response

LIMIT = 100
MOST = 1_000


class KeysetPagination(BasePagination):
    """Answers {"value": [...], "nextLink": address or null} for `?limit=&cursor=`.

    The view's queryset decides the order: all of its `order_by` ascending or all descending, the last of them unique.
    A view may have `parts(queryset)`, which splits it where an index has each part in order but not the whole.
    """

    def paginate_queryset(self, queryset: QuerySet, request, view=None) -> list:
        self.request = request
        self.limit = limit_of(request.query_params.get("limit"))
        self.order = tuple(map(str, queryset.query.order_by))  # names of fields, no expressions
        if cursor := request.query_params.get("cursor"):
            queryset = queryset.filter(beyond(self.order, values_of(cursor, queryset.model, self.order)))
        parts = view.parts(queryset) if hasattr(view, "parts") else [queryset]
        rows = [row for part in parts for row in part[: self.limit + 1]]
        if len(parts) > 1:
            rows.sort(key=self.values_in, reverse=self.order[0].startswith("-"))
        page = rows[: self.limit]
        self.has_more = len(rows) > self.limit
        self.last = self.values_in(page[-1]) if page else []
        return page

    def values_in(self, row) -> list:
        names = [name.lstrip("-") for name in self.order]
        return [row[name] if isinstance(row, dict) else getattr(row, name) for name in names]

    def get_paginated_response(self, data) -> Response:
        return Response({"value": data, "nextLink": self.next_link()})

    def next_link(self) -> str | None:
        if not self.has_more:
            return None
        query = {**self.request.query_params.dict(), "cursor": cursor_of(self.order, self.last)}
        address = f"{self.request.path}?{urlencode(query)}"
        return settings.PUBLIC_URL + address if settings.PUBLIC_URL else self.request.build_absolute_uri(address)

    def get_paginated_response_schema(self, schema: dict) -> dict:
        next_link = {
            "type": "string",
            "format": "uri",
            "nullable": True,
            "example": None,
            "description": "The address of the next page; null on the last one.",
        }
        return {
            "type": "object",
            "required": ["value", "nextLink"],
            "properties": {"value": schema, "nextLink": next_link},
        }

    def get_schema_operation_parameters(self, view) -> list[dict]:
        limit = {"type": "integer", "minimum": 1, "maximum": MOST, "default": LIMIT}
        return [
            {"name": "limit", "in": "query", "schema": limit, "description": "How many entries a page has at most."},
            {
                "name": "cursor",
                "in": "query",
                "schema": {"type": "string"},
                "description": "Where the page begins: only as a `nextLink` gives it.",
            },
        ]


def limit_of(text: str | None) -> int:
    if text is None:
        return LIMIT
    if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST:
        return int(text)
    raise serializers.ValidationError({"limit": [f"must be a whole number, 1 to {MOST}"]}, "out_of_range")


def beyond(order: tuple[str, ...], values: list) -> Q:
    """The rows that come after the one with these values."""
    comparison = "lt" if order[0].startswith("-") else "gt"
    condition = Q()
    for name, value in reversed(list(zip(order, values, strict=True))):
        name = name.lstrip("-")
        here = Q(**{f"{name}__{comparison}": value})
        # the outer bound says nothing new, but is what an index can be entered with
        condition = Q(**{f"{name}__{comparison}e": value}) & (here | condition) if condition else here
    return condition


# The cursor: the order and the last row's values in it, as base64 of JSON


def cursor_of(order: tuple[str, ...], values: list) -> str:
    text = json.dumps([list(order), [v.isoformat() if isinstance(v, datetime) else str(v) for v in values]])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def values_of(cursor: str, model, order: tuple[str, ...]) -> list:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        of_order, texts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if tuple(of_order) != tuple(order):
            raise ValueError("a cursor of another order")
        fields = [model._meta.get_field(name.lstrip("-") if name.lstrip("-") != "pk" else "id") for name in order]
        return [value_of(field, text) for field, text in zip(fields, texts, strict=True)]
    except (ValueError, TypeError, RecursionError, OverflowError, binascii.Error, ValidationError):
        message = "this cursor does not come from a nextLink of this list"
        raise serializers.ValidationError({"cursor": [message]}, "invalid_cursor") from None


def value_of(field, text: object):
    """Raises TypeError, ValidationError, and OverflowError for an instant that UTC does not have."""
    if not isinstance(text, str):
        raise TypeError("a cursor holds texts")
    value = field.to_python(text)
    return value.astimezone(UTC) if isinstance(value, datetime) else value
