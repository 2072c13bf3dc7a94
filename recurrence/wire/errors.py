"""Errors for documents in formats that others defined."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")


class Fault(Protocol):
    """An exception about one member of a document; `others` are further faults of the same document."""

    path: str
    code: str
    message: str
    others: tuple["Fault", ...]


class WireError(ValueError):
    """A document in a format that others defined cannot be understood.  `path` names the field, `code` the reason.

    `required`       a member is missing
    `invalid`        a value is of the wrong type or form
    `out_of_range`   a number, a list's length or an instant lies outside what is accepted
    `unknown`        a member is not known
    `unknown_value`  a word is not one of those that the format knows
    `not_allowed`    a member cannot be used together with another one, or with this frequency
    `never_fires`    the schedule has no fire time, or none within the search horizon
    `unsupported`    the format itself is not known

    `others` are further faults of the same document.
    """

    others: tuple[Fault, ...] = ()

    def __init__(self, path: str, code: str, message: str):
        super().__init__(f"{path}: {message}")
        self.path = path
        self.code = code
        self.message = message


class Faults:
    """Collects the faults of all parts of a document, so that one error reports all of them.

    `kinds` are the exception classes to collect, by default WireError.  Each of them is a Fault.
    """

    def __init__(self, *kinds: type[Exception]):
        self.kinds = kinds or (WireError,)
        self.found: list[Fault] = []

    def read(self, reader: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call `reader` and return its result.

        If it raises a fault, collect the fault and return None; `refuse` raises it later.
        """
        try:
            return reader(*args, **options)
        except self.kinds as error:
            self.add(error)
        return cast(T, None)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Collect a fault that is raised in the block, and go on after the block."""
        try:
            yield
        except self.kinds as error:
            self.add(error)

    def add(self, error: Exception) -> None:
        fault = cast(Fault, error)
        self.found += [fault, *fault.others]

    def refuse(self) -> None:
        """Raise the first fault, with the others, if there are any."""
        if self.found:
            first, *others = self.found
            first.others = tuple(others)
            raise cast(Exception, first)
