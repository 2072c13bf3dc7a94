"""What the calendar page shows of jobs, beside people's events: single runs, and frequent jobs as bands."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

from calendars.models import Hue

HUES = list(Hue.values)


def hue_of(collection_id: int) -> str:
    """The hue of a job collection: always the same."""
    return HUES[collection_id % len(HUES)]


@dataclass(frozen=True, slots=True)
class RunItem:
    """A fire time of a job: a run that has been or will be, or a time that passed without one.

    `state` is a name of the look (success late failure lost missed running planned uncertain held skipped cancelled
    waiting) and `word` says it; `end` is when it ended or, of one to come, usually ends.  A row of missed fire times
    stands for `count` of them.
    """

    key: str
    job_id: int
    name: str
    collection_id: int
    hue: str
    at: datetime  # UTC, as all instants here
    end: datetime | None
    state: str
    word: str
    reason: str
    run_id: UUID | None
    trigger_name: str | None
    url: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Band:
    """A frequent job on one day of the zone that was asked for; its fractions are of that day's elapsed time."""

    job_id: int
    name: str
    collection_id: int
    hue: str
    day: date
    every: str  # "every 5 min"
    total: int
    done: int
    failed: int
    ran: tuple[tuple[float, float], ...]
    will: tuple[tuple[float, float], ...]
    fell: tuple[float, ...]
    url: str
    held: tuple[tuple[float, float], ...] = ()  # neither: it waits, or is going to, until maintenance is over
    reason: str = ""  # why


@dataclass(frozen=True, slots=True)
class NoticeItem:
    """Maintenance that was announced, as far as it is drawn."""

    days: ClassVar[None] = None  # it has hours, as an event that is not all-day

    id: UUID
    title: str
    start: datetime
    end: datetime
    mark: str
    state: str  # its colour
    word: str
    is_open: bool  # nobody can say when it ends
    is_over: bool
    lead: datetime | None  # from when it holds jobs in view, if that is before it begins
