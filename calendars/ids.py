"""Ids of events and occurrences in addresses: opaque to clients, safe in a URL.

The id of an event is 32 hexadecimal digits.  The id of an occurrence appends its original day in the series, so it
stays the same after a move.  Graph's form `OID.{event}.{day}` names the same occurrence.
"""

import re
import uuid
from dataclasses import dataclass
from datetime import date

FORM = re.compile(r"(?:OID\.)?([0-9a-f]{32})(?:[_.](\d{4}-?\d\d-?\d\d))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ItemId:
    """The id of an event; with a `day`, of the occurrence that the series gives this day."""

    event: uuid.UUID
    day: date | None = None

    def __str__(self) -> str:
        return self.event.hex if self.day is None else f"{self.event.hex}_{self.day:%Y%m%d}"

    @property
    def occurrence_id(self) -> str:
        """Return Graph's `occurrenceId`.  Only for an id with a day."""
        return f"OID.{self.event.hex}.{self.day}"


def parse(text: str) -> ItemId | None:
    """Parse an id in either form.  Return None if `text` is not an id."""
    match = FORM.fullmatch(text)
    if match is None:
        return None
    try:
        return ItemId(uuid.UUID(match[1]), date.fromisoformat(match[2]) if match[2] else None)
    except ValueError:
        return None
