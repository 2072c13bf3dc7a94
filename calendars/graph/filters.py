"""`$filter`: parse a subset of OData's grammar to a tree, which filters rows of the database or occurrences.

    expression  a `or` b, a `and` b, `not` a, (a)
    comparison  property eq|ne|gt|ge|lt|le value     gt and so on for times only
                contains|startswith|endswith(property, 'text')

Texts are compared without regard to case.  Times may be in quotes; without an offset they are in UTC.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NoReturn

from django.db.models import F, Q
from django.db.models.functions import Lower

from calendars.graph.errors import Refusal
from recurrence.wire import WireError, json_values

LENGTH_LIMIT = 2_000  # characters
DEPTH_LIMIT = 16  # nested parentheses and `not`s

TOKEN = re.compile(r"\s*('(?:[^']|'')*'|[A-Za-z0-9_@./:+-]+|[(),])")
EQUALITIES = {"eq": operator.eq, "ne": operator.ne}
COMPARISONS = {**EQUALITIES, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}
FUNCTIONS: dict[str, Callable[[str, str], bool]] = {
    "contains": operator.contains,
    "startswith": str.startswith,
    "endswith": str.endswith,
}
LOOKUPS = {"eq": "", "gt": "__gt", "ge": "__gte", "lt": "__lt", "le": "__lte"}


@dataclass(frozen=True, slots=True)
class Field:
    """A property for filters and orders of a list: its column, and a function that returns its value for an item.

    `kind` is the type of its values: datetime, str, bool, or a tuple of all allowed words.
    """

    column: str
    get_value: Callable[[Any], Any]
    kind: type | tuple[str, ...]
    is_orderable: bool = True

    def order_expression(self) -> F | Lower:
        return Lower(self.column) if self.kind is str else F(self.column)

    def sort_value(self, item: Any) -> Any:
        """Return the value by which an item is ordered."""
        return self.get_value(item).casefold() if self.kind is str else self.get_value(item)


@dataclass(frozen=True, slots=True)
class Comparison:
    field: Field
    operation: str
    value: Any

    def q(self) -> Q:
        if self.operation == "ne":
            return ~Comparison(self.field, "eq", self.value).q()
        if self.field.kind is str:
            lookup = "__iexact" if self.operation == "eq" else f"__i{self.operation}"
        else:
            lookup = LOOKUPS[self.operation]
        return Q(**{f"{self.field.column}{lookup}": self.value})

    def matches(self, item: Any) -> bool:
        found, value = self.field.get_value(item), self.value
        if self.field.kind is str:
            found, value = found.casefold(), value.casefold()
        return (COMPARISONS | FUNCTIONS)[self.operation](found, value)


@dataclass(frozen=True, slots=True)
class Not:
    operand: "Filter"

    def q(self) -> Q:
        return ~self.operand.q()

    def matches(self, item: Any) -> bool:
        return not self.operand.matches(item)


@dataclass(frozen=True, slots=True)
class BooleanExpression:
    """Operands combined by `and` or `or`."""

    operands: tuple["Filter", ...]
    connector: str  # and, or

    def q(self) -> Q:
        combine = operator.and_ if self.connector == "and" else operator.or_
        return reduce(combine, (operand.q() for operand in self.operands))

    def matches(self, item: Any) -> bool:
        combine = all if self.connector == "and" else any
        return combine(operand.matches(item) for operand in self.operands)


Filter = Comparison | Not | BooleanExpression


def parse_filter(text: str, fields: Mapping[str, Field]) -> Filter:
    """Parse a filter.  The names in `fields` are in lower case.  Raises Refusal."""
    if len(text) > LENGTH_LIMIT:
        refuse(f"must have at most {LENGTH_LIMIT} characters, not {len(text)}")
    return Parser(split_tokens(text), fields).parse()


def split_tokens(text: str) -> list[str]:
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = TOKEN.match(text, position)
        if match is None:
            refuse(f"cannot be read from {json_values.shown(text[position:])} on")
        tokens.append(match[1])
        position = match.end()
    return tokens


def refuse(message: str) -> NoReturn:
    raise Refusal(message, target="$filter")


class Parser:
    """A recursive descent parser over the tokens, with a limit of the depth."""

    def __init__(self, tokens: list[str], fields: Mapping[str, Field]):
        self.tokens = tokens
        self.fields = fields
        self.position = 0
        self.depth = 0

    @property
    def current_token(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def next_token(self) -> str:
        token = self.current_token
        self.position += 1
        return token

    def expect(self, wanted: str) -> None:
        found = self.next_token()
        if found != wanted:
            refuse(f"must have {wanted!r} where it has {json_values.shown(found)}")

    def parse(self) -> Filter:
        found = self.parse_boolean("or")
        if self.current_token:
            refuse(f"must be one expression; {json_values.shown(self.current_token)} does not belong to it")
        return found

    def parse_boolean(self, word: str) -> Filter:
        parts = [self.parse_operand(word)]
        while self.current_token.lower() == word:
            self.next_token()
            parts.append(self.parse_operand(word))
        return parts[0] if len(parts) == 1 else BooleanExpression(tuple(parts), word)

    def parse_operand(self, word: str) -> Filter:
        return self.parse_boolean("and") if word == "or" else self.parse_factor()

    def parse_factor(self) -> Filter:
        word = self.current_token.lower()
        if word not in ("(", "not"):
            return self.parse_function(word) if word in FUNCTIONS else self.parse_comparison()
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            refuse(f"must not nest deeper than {DEPTH_LIMIT} levels")
        self.next_token()
        found = self.parse_parentheses() if word == "(" else Not(self.parse_factor())
        self.depth -= 1
        return found

    def parse_parentheses(self) -> Filter:
        found = self.parse_boolean("or")
        self.expect(")")
        return found

    def parse_function(self, name: str) -> Filter:
        self.next_token()
        self.expect("(")
        field = self.parse_field()
        if field.kind is not str:
            refuse(f"{name} is of texts, such as subject")
        self.expect(",")
        value = self.parse_value(field)
        self.expect(")")
        return Comparison(field, name, value)

    def parse_comparison(self) -> Filter:
        field = self.parse_field()
        operation = self.next_token().lower()
        known = COMPARISONS if field.kind not in (str, bool) and not isinstance(field.kind, tuple) else EQUALITIES
        if operation not in known:
            refuse(f"must have one of {', '.join(known)} where it has {json_values.shown(operation)}")
        return Comparison(field, operation, self.parse_value(field))

    def parse_field(self) -> Field:
        name = self.next_token()
        if name.lower() not in self.fields:
            refuse(f"{json_values.shown(name)} is no property to filter by; there are {', '.join(self.fields)}")
        return self.fields[name.lower()]

    def parse_value(self, field: Field) -> object:
        token = self.next_token()
        is_quoted = token.startswith("'")
        text = token[1:-1].replace("''", "'") if is_quoted else token
        if field.kind is str:
            return text if is_quoted else refuse(f"must have a text in single quotes where it has {token!r:.60}")
        if field.kind is bool:
            if is_quoted or text.lower() not in ("true", "false"):
                refuse(f"must have true or false where it has {token!r:.60}")
            return text.lower() == "true"
        if isinstance(field.kind, tuple):
            for word in field.kind:
                if is_quoted and word.lower() == text.lower():
                    return word
            refuse(f"must have one of {', '.join(field.kind)} in single quotes where it has {token!r:.60}")
        try:
            return json_values.instant(text, "$filter")
        except WireError as error:
            refuse(error.message)
