"""The options of a request, `$top` and so on.  What is not known, or broken, is refused; names come in any case."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.db.models.expressions import OrderBy

from calendars.graph.errors import Refusal
from calendars.graph.filters import Field, Filter, filter_of
from recurrence.wire.reading import shown

PAGE_LENGTH = 10
PAGE_MOST = 1_000
SKIP_MOST = 2**31 - 1  # further than any list goes


@dataclass(frozen=True, slots=True)
class Resource:
    """What can be asked of a kind of thing: names of its properties in lower case, with their spelling."""

    properties: Mapping[str, str]
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class Options:
    top: int | None = None
    skip: int = 0
    select: frozenset[str] | None = None
    expand: frozenset[str] = frozenset()
    order: tuple[tuple[Field, bool], ...] = ()  # each with whether it goes down
    filter: Filter | None = None
    count: bool = False

    def selected(self, document: dict[str, Any]) -> dict[str, Any]:
        """What was asked for of a document; its id and annotations come anyway."""
        if self.select is None:
            return document
        wanted = {"id", *self.select}
        return {name: value for name, value in document.items() if name in wanted or name.startswith("@")}

    def applied_to(self, rows: QuerySet) -> QuerySet:
        """The rows that match, in order; among equals by their key, so that pages neither repeat nor miss one."""
        if self.filter is not None:
            rows = rows.filter(self.filter.q())
        order = [OrderBy(field.ordered(), descending=descends) for field, descends in self.order]
        return rows.order_by(*order, "pk") if order else rows


LIST = ("$top", "$skip", "$select", "$orderby", "$filter", "$count")
ITEM = ("$select", "$expand")


def parameters_of(request) -> dict[str, str]:
    """The parameters by their names in lower case.  Raises Refusal when one is given twice."""
    found: dict[str, str] = {}
    for name, values in request.query_params.lists():
        if name.lower() in found or len(values) > 1:
            raise Refusal("is given twice", target=shortened(name))
        if "\0" in values[0]:
            raise Refusal("must not contain NUL", target=shortened(name))
        found[name.lower()] = values[0]
    return found


def shortened(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}…"


def options_of(request, known: Iterable[str], resource: Resource) -> Options:
    given = parameters_of(request)
    refuse_unknown(given, known)
    read: dict[str, Any] = {}
    if "$top" in given:
        read["top"] = min(number(given["$top"], "$top", 1), PAGE_MOST)
    if "$skip" in given:
        read["skip"] = min(number(given["$skip"], "$skip", 0), SKIP_MOST)
    if "$select" in given:
        read["select"] = frozenset(names(given["$select"], "$select", resource.properties))
    if "$expand" in given:
        read["expand"] = frozenset(names(given["$expand"], "$expand", EXPANDABLE))
    if "$orderby" in given:
        read["order"] = order_of(given["$orderby"], resource.fields)
    if "$filter" in given:
        read["filter"] = filter_of(given["$filter"], resource.fields)
    if "$count" in given:
        if given["$count"].lower() not in ("true", "false"):
            raise Refusal(f"must be true or false, not {shown(given['$count'])}", target="$count")
        read["count"] = given["$count"].lower() == "true"
    return Options(**read)


EXPANDABLE = {"exceptionoccurrences": "exceptionOccurrences"}


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name.startswith("$") and name not in known:
            raise Refusal(f"is not known here; there are {', '.join(known)}", target=shortened(name))


def number(text: str, name: str, least: int) -> int:
    if not re.fullmatch("[0-9]+", text, re.ASCII) or (len(text) <= 20 and int(text) < least):
        raise Refusal(f"must be a whole number, {least} or more, not {shown(text)}", target=name)
    return int(text) if len(text) <= 20 else SKIP_MOST


def names(text: str, option: str, known: Mapping[str, str]) -> list[str]:
    found = []
    for name in text.split(","):
        spelled = known.get(name.strip().lower())
        if spelled is None:
            raise Refusal(f"{shown(name)} is not known here", target=option)
        found.append(spelled)
    return found


def order_of(text: str, fields: Mapping[str, Field]) -> tuple[tuple[Field, bool], ...]:
    orderable = {name: field for name, field in fields.items() if field.is_orderable}
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\S+)(?:\s+(asc|desc))?\s*", part, re.IGNORECASE)
        if match is None or match[1].lower() not in orderable:
            raise Refusal(f"must name one of {', '.join(orderable)}, not {shown(part)}", target="$orderby")
        found.append((orderable[match[1].lower()], (match[2] or "").lower() == "desc"))
    return tuple(found)
