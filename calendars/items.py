"""Items that the calendar page shows in addition to events: runs, bands of frequent jobs, and notices."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

from calendars.models import Color

HUES = list(Color.values)


def hue_of(collection_id: int) -> str:
    """Return the hue of a job collection, which never changes."""
    return HUES[collection_id % len(HUES)]


@dataclass(frozen=True, slots=True)
class RunItem:
    """A fire time of a job: a past or future run, or a fire time without a run.

    `state` is a CSS name (success late failure lost missed running planned uncertain held skipped cancelled waiting),
    and `label` says the same in words.  `end` is the end of the run; for a future run, the end it usually has.  An item
    for missed fire times stands for `count` of them.
    """

    key: str
    job_id: int
    name: str
    collection_id: int
    hue: str
    fire_at: datetime  # UTC, as all instants here
    end: datetime | None
    state: str
    label: str
    reason: str
    run_id: UUID | None
    trigger_name: str | None
    url: str
    count: int = 1
    moved_from: datetime | None = None  # the fire time from which closed days moved it
    starts_at: datetime | None = None  # with jitter, of a future run and of one that waits for it
    starts_until: datetime | None = None  # the end of the jitter window of a future run


@dataclass(frozen=True, slots=True)
class Band:
    """A frequent job on one day in the requested zone.  Its spans are fractions of the elapsed time of that day."""

    job_id: int
    name: str
    collection_id: int
    hue: str
    day: date
    interval: str  # "every 5 min"
    total: int
    done_count: int
    failed_count: int
    run_spans: tuple[tuple[float, float], ...]
    planned_spans: tuple[tuple[float, float], ...]
    failure_positions: tuple[float, ...]
    url: str
    held_spans: tuple[tuple[float, float], ...] = ()  # times at which maintenance holds the job, or will hold it
    reason: str = ""  # why it is held


@dataclass(frozen=True, slots=True)
class NoticeItem:
    """An announced maintenance notice, with the values that the calendar draws."""

    days: ClassVar[None] = None  # an item with times, as an event that is not all-day

    id: UUID
    title: str
    start: datetime
    end: datetime
    icon: str
    state: str  # a CSS name, for its colour
    label: str
    is_open_ended: bool  # its end is not known
    duration_text: str  # the known duration in words; empty if its end is drawn
    is_over: bool
    holds_from: datetime | None  # when it starts to hold jobs of the page, if that is before its start
