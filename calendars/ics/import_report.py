"""The report of an import, with one line for each component of the file."""

from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID


class Status(Enum):
    TAKEN = "taken"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(slots=True)
class Line:
    """The result for one component, which begins in line `line` of the file.  `notes` are whole sentences."""

    line: int
    component: str
    uid: str
    summary: str
    status: Status = Status.UNCHANGED
    notes: list[str] = field(default_factory=list)
    event_id: UUID | None = None

    def refuse(self, reason: str) -> None:
        self.status, self.event_id = Status.REFUSED, None
        self.notes = [*self.notes, reason]


@dataclass(frozen=True, slots=True)
class Report:
    lines: tuple[Line, ...]
    dry_run: bool

    def count(self, status: Status) -> int:
        return sum(line.status is status for line in self.lines)
