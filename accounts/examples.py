"""Examples of documents and filters for the OpenAPI description, declared with the serializer or the filters."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Described = TypeVar("Described", bound=type)

ATTRIBUTE = "example"


def with_example(members: Mapping[str, Any]) -> Callable[[Described], Described]:
    """Decorate a serializer or a FilterSet with an example value for each member, added to those of its bases.

    A member that is an object or a list of objects with examples of their own can be left out.
    """

    def decorate(described: Described) -> Described:
        setattr(described, ATTRIBUTE, {**example_of(described), **members})
        return described

    return decorate


def example_of(described: type) -> dict[str, Any]:
    """Return the example values by member.  Values of the class itself win over those of its bases."""
    found: dict[str, Any] = {}
    for base in reversed(described.__mro__):
        found |= vars(base).get(ATTRIBUTE, {})
    return found
