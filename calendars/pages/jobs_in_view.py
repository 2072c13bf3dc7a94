"""Who asks for which jobs in what window, and what is known of each of them before anything is drawn."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from calendars.pages.bands import Day, Stretch, Tally
from calendars.pages.rights import seen_by
from jobs.models import Job
from recurrence.schedules import Schedule
from recurrence.wire import WireError
from triggers.models import parsed


@dataclass(frozen=True, slots=True)
class Scope:
    """Who asks for what: the instants [start, end), which touch `days`; collections and jobs by id, None: all; states
    of runs; and whether also what comes."""

    user: Any
    start: datetime
    end: datetime
    days: list[Day]
    now: datetime
    collections: Collection[int] | None
    jobs: Collection[int] | None
    states: Sequence[str]
    has_future: bool
    an_hour: int

    def seen_jobs(self):
        jobs = seen_by(self.user, Job.objects)
        if self.collections is not None:
            jobs = jobs.filter(collection__in=self.collections)
        return jobs if self.jobs is None else jobs.filter(pk__in=self.jobs)

    def job(self, id: int) -> "JobInView":
        return JobInView(id, defaultdict(lambda: Tally(an_hour=self.an_hour)))

    def part_of(self, day: Day) -> tuple[datetime, datetime]:
        return max(day.start, self.start), min(day.end, self.end)


class Coming(NamedTuple):
    """A trigger and its job; `next_fire_at` is empty unless it would fire, all but the job when it has no trigger."""

    job_id: int
    name: str
    collection_id: int
    trigger_id: int | None
    trigger_name: str | None
    format: str | None
    definition: dict[str, Any] | None
    anchored_at: datetime | None
    next_fire_at: datetime | None
    fires_left: int | None
    last_took: timedelta | None

    @property
    def schedule(self) -> Schedule | None:
        if self.format is None or self.definition is None or self.anchored_at is None:
            return None
        try:
            return parsed(self.format, self.definition, self.anchored_at).schedule
        except WireError:  # written when its format was read more generously
            return None


@dataclass(slots=True)
class JobInView:
    """What the window holds of a job, by the numbers of its days."""

    id: int
    tallies: defaultdict[int, Tally]
    name: str = ""
    collection_id: int = 0
    triggers: list[Coming] = field(default_factory=list)
    shares: dict[Stretch, dict[int, int]] = field(default_factory=dict)
    fires: list[tuple[int, datetime, Coming]] = field(default_factory=list)  # of days on which they are few

    @property
    def failed(self) -> int:
        return sum(tally.failed for tally in self.tallies.values())

    @property
    def has_band(self) -> bool:
        return any(tally.is_frequent for tally in self.tallies.values())

    @property
    def drawn_days(self) -> list[int]:
        return [number for number, tally in self.tallies.items() if not tally.is_frequent]

    @property
    def drawn_count(self) -> int:
        return sum(self.tallies[number].total for number in self.drawn_days)
