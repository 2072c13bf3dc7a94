"""The query options of a request, such as `$top`, in any case.  Unknown and invalid options are refused."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.db.models.expressions import OrderBy

from calendars.graph.errors import Refusal
from calendars.graph.filters import Field, Filter, parse_filter
from recurrence.wire.json_values import shown

PAGE_LENGTH = 10
PAGE_MOST = 1_000
SKIP_MOST = 2**31 - 1  # more than the length of any list


@dataclass(frozen=True, slots=True)
class Resource:
    """The properties of a resource, by their names in lower case, and the fields for filters and orders."""

    properties: Mapping[str, str]
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class Options:
    top: int | None = None
    skip: int = 0
    select: frozenset[str] | None = None
    expand: frozenset[str] = frozenset()
    order: tuple[tuple[Field, bool], ...] = ()  # each field with True for descending
    filter: Filter | None = None
    count: bool = False

    def select_members(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the members of a document in `select`, always with its id and annotations."""
        if self.select is None:
            return document
        wanted = {"id", *self.select}
        return {name: value for name, value in document.items() if name in wanted or name.startswith("@")}

    def apply_to(self, rows: QuerySet) -> QuerySet:
        """Filter and order the rows.  The key is the last part of the order, so that pages do not overlap."""
        if self.filter is not None:
            rows = rows.filter(self.filter.q())
        order = [OrderBy(field.order_expression(), descending=descends) for field, descends in self.order]
        return rows.order_by(*order, "pk") if order else rows


LIST = ("$top", "$skip", "$select", "$orderby", "$filter", "$count")
ITEM = ("$select", "$expand")


def read_parameters(request) -> dict[str, str]:
    """Return the parameters by their names in lower case.  Raises Refusal for a repeated parameter, or a NUL."""
    parameters: dict[str, str] = {}
    for name, values in request.query_params.lists():
        if name.lower() in parameters or len(values) > 1:
            raise Refusal("is given twice", target=shorten(name))
        if "\0" in values[0]:
            raise Refusal("must not contain NUL", target=shorten(name))
        parameters[name.lower()] = values[0]
    return parameters


def shorten(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:40]}…"


def parse_options(request, known: Iterable[str], resource: Resource) -> Options:
    parameters = read_parameters(request)
    refuse_unknown(parameters, known)
    values: dict[str, Any] = {}
    if "$top" in parameters:
        values["top"] = min(number(parameters["$top"], "$top", 1), PAGE_MOST)
    if "$skip" in parameters:
        values["skip"] = min(number(parameters["$skip"], "$skip", 0), SKIP_MOST)
    if "$select" in parameters:
        values["select"] = frozenset(names(parameters["$select"], "$select", resource.properties))
    if "$expand" in parameters:
        values["expand"] = frozenset(names(parameters["$expand"], "$expand", EXPANDABLE))
    if "$orderby" in parameters:
        values["order"] = parse_order(parameters["$orderby"], resource.fields)
    if "$filter" in parameters:
        values["filter"] = parse_filter(parameters["$filter"], resource.fields)
    if "$count" in parameters:
        if parameters["$count"].lower() not in ("true", "false"):
            raise Refusal(f"must be true or false, not {shown(parameters['$count'])}", target="$count")
        values["count"] = parameters["$count"].lower() == "true"
    return Options(**values)


EXPANDABLE = {"exceptionoccurrences": "exceptionOccurrences"}


def refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name.startswith("$") and name not in known:
            raise Refusal(f"is not known here; there are {', '.join(known)}", target=shorten(name))


def number(text: str, name: str, least: int) -> int:
    if not re.fullmatch("[0-9]+", text, re.ASCII) or (len(text) <= 20 and int(text) < least):
        raise Refusal(f"must be a whole number, {least} or more, not {shown(text)}", target=name)
    return int(text) if len(text) <= 20 else SKIP_MOST


def names(text: str, option: str, known: Mapping[str, str]) -> list[str]:
    found = []
    for name in text.split(","):
        property_name = known.get(name.strip().lower())
        if property_name is None:
            raise Refusal(f"{shown(name)} is not known here", target=option)
        found.append(property_name)
    return found


def parse_order(text: str, fields: Mapping[str, Field]) -> tuple[tuple[Field, bool], ...]:
    orderable = {name: field for name, field in fields.items() if field.is_orderable}
    found: list[tuple[Field, bool]] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\S+)(?:\s+(asc|desc))?\s*", part, re.IGNORECASE)
        if match is None or match[1].lower() not in orderable:
            raise Refusal(f"must name one of {', '.join(orderable)}, not {shown(part)}", target="$orderby")
        field = orderable[match[1].lower()]
        if any(field is earlier for earlier, _ in found):
            raise Refusal(f"must name each property once, not {shown(match[1])} again", target="$orderby")
        found.append((field, (match[2] or "").lower() == "desc"))
    return tuple(found)
