"""Absolute addresses of this installation, as callers reach it."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request


def absolute(request: Request | HttpRequest, address: str) -> str:
    """Return the absolute form of `address`: below PUBLIC_URL if configured, else below the host of the request."""
    return settings.PUBLIC_URL + address if settings.PUBLIC_URL else request.build_absolute_uri(address)


def page_of(request: Request, value: Sequence[Any], next_cursor: str | None) -> dict[str, Any]:
    """Return a page of a list: its entries, and the link and cursor of the next page, both None on the last page."""
    query = urlencode({**request.query_params.dict(), "cursor": next_cursor})
    next_link = absolute(request, f"{request.path}?{query}") if next_cursor else None
    return {"value": value, "nextLink": next_link, "nextCursor": next_cursor}
