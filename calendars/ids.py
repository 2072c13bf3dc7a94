"""How events and occurrences are named in addresses: opaque to clients, safe in a URL.

An event is 32 hexadecimal digits; an occurrence has the day that its series gave it behind them, so its name outlives
a move.  Graph's own `OID.{event}.{day}` names the same occurrence.
"""

import re
import uuid
from dataclasses import dataclass
from datetime import date

FORM = re.compile(r"(?:OID\.)?([0-9a-f]{32})(?:[_.](\d{4}-?\d\d-?\d\d))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ItemId:
    """An event, or with a day that occurrence of a series."""

    event: uuid.UUID
    day: date | None = None

    def __str__(self) -> str:
        return self.event.hex if self.day is None else f"{self.event.hex}_{self.day:%Y%m%d}"

    @property
    def occurrence_id(self) -> str:
        """Graph's `occurrenceId`."""
        return f"OID.{self.event.hex}.{self.day}"


def parse(text: str) -> ItemId | None:
    """Read either form; None when it names nothing."""
    match = FORM.fullmatch(text)
    if match is None:
        return None
    try:
        return ItemId(uuid.UUID(match[1]), date.fromisoformat(match[2]) if match[2] else None)
    except ValueError:
        return None
