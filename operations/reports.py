"""The report of an operation that moves fire times: facts for people, and the first moves.

A handler writes the report into `state_data`, and the page of the operation shows it.  Only members of the operation's
subscription see the page, so the report must name no object of others.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from operations.models import Operation

MAX_MOVES = 20  # that a report lists; the facts count all of them
MEMBER = "report"  # of `state_data`
EMPTY: dict[str, Any] = {"facts": [], "moves": [], "is_cut": False}


@dataclass(frozen=True, slots=True)
class Move:
    """The next fire time of a trigger before and after the operation; None after it: the trigger fires no more."""

    job: str  # its collection, a slash, its name
    trigger: str
    before: datetime
    after: datetime | None


@dataclass(frozen=True, slots=True)
class Report:
    """`facts` are pairs of a name and a value, in the order in which they are shown.

    `is_cut` is True if there are more moves than `moves` lists.
    """

    facts: Sequence[tuple[str, str]] = ()
    moves: Sequence[Move] = ()
    is_cut: bool = False


def read_report(operation: Operation) -> Report:
    """Return the report that the handler has written; an empty one if there is none."""
    document = operation.state_data.get(MEMBER, EMPTY)
    moves = [
        Move(job, trigger, datetime.fromisoformat(before), datetime.fromisoformat(after) if after else None)
        for job, trigger, before, after in document["moves"]
    ]
    return Report([(name, value) for name, value in document["facts"]], moves, document["is_cut"])


def add_moves(operation: Operation, moves: Iterable[Move]) -> None:
    """Append moves to the report, up to MAX_MOVES."""
    document = _document_of(operation)
    for move in moves:
        if len(document["moves"]) == MAX_MOVES:
            document["is_cut"] = True
            return
        after = move.after and move.after.isoformat()
        document["moves"].append([move.job, move.trigger, move.before.isoformat(), after])


def set_facts(operation: Operation, facts: Iterable[tuple[str, str]]) -> None:
    _document_of(operation)["facts"] = [list(fact) for fact in facts]


def _document_of(operation: Operation) -> dict[str, Any]:
    return operation.state_data.setdefault(MEMBER, deepcopy(EMPTY))
