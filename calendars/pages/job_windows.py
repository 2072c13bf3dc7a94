"""The query for jobs in a window, and the data of each of these jobs from which items are built."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from calendars.pages.frequent_runs import Day, RunCounts, Span
from jobs.models import Job
from recurrence.schedules import Schedule
from recurrence.wire.parsed import Parsed
from triggers.models import parsed_or_none


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """What is asked for, and by whom.

    The window is [start, end), and `days` are the days that it touches. `collections` and `jobs` are ids, `states` are
    states of runs, and `subscriptions` are the user's; None means all. `has_future` asks for future fire times as
    well. `max_per_hour` is the limit of RunCounts.
    """

    user: Any
    subscriptions: Sequence[UUID] | None
    start: datetime
    end: datetime
    days: list[Day]
    now: datetime
    collections: Collection[int] | None
    jobs: Collection[int] | None
    states: Sequence[str]
    has_future: bool
    max_per_hour: int

    def visible_jobs(self) -> QuerySet[Job]:
        return Job.objects.filter(self.visible_jobs_q())

    def visible_jobs_q(self, path: str = "") -> Q:
        """Return the condition under which the job at `path` is shown.

        Ids are passed as lists, so that PostgreSQL can estimate how many jobs match.
        """
        chosen = {
            "collection__subscription__in": self.subscriptions,
            "collection__in": self.collections,
            "pk__in": self.jobs,
        }
        return Q(**{f"{path}{name}": list(ids) for name, ids in chosen.items() if ids is not None})

    def new_job_window(self, id: int) -> "JobWindow":
        """Return an empty JobWindow."""
        return JobWindow(id, defaultdict(lambda: RunCounts(max_per_hour=self.max_per_hour)))

    def clip_day(self, day: Day) -> tuple[datetime, datetime]:
        """Return the part of the day that lies in the window."""
        return max(day.start, self.start), min(day.end, self.end)


class UpcomingTrigger(NamedTuple):
    """A trigger and its job.

    `next_fire_at` is None if the trigger would not fire. If the job has no trigger, all fields of the trigger are
    None.
    """

    job_id: int
    name: str
    collection_id: int
    trigger_id: int | None
    trigger_name: str | None
    format: str | None
    definition: dict[str, Any] | None
    anchored_at: datetime | None
    closed_days_id: UUID | None
    next_fire_at: datetime | None
    fires_left: int | None
    last_duration: timedelta | None

    @property
    def parsed(self) -> Parsed | None:
        """The compiled definition; None without a trigger, or if the definition is not valid any more."""
        if self.format is None or self.definition is None or self.anchored_at is None:
            return None
        return parsed_or_none(self.format, self.definition, self.anchored_at, self.closed_days_id)

    @property
    def schedule(self) -> Schedule | None:
        parsed = self.parsed
        return parsed.schedule if parsed else None


@dataclass(slots=True)
class JobWindow:
    """The data of a job in the window. Days are numbered as in WindowQuery.days."""

    id: int
    counts_by_day: defaultdict[int, RunCounts]
    name: str = ""
    collection_id: int = 0
    triggers: list[UpcomingTrigger] = field(default_factory=list)
    missed_spans: dict[Span, dict[int, int]] = field(default_factory=dict)
    fires: list[tuple[int, datetime, UpcomingTrigger]] = field(default_factory=list)  # on days with few of them

    @property
    def failed_count(self) -> int:
        return sum(counts.failed_count for counts in self.counts_by_day.values())

    @property
    def has_band(self) -> bool:
        return any(counts.is_frequent for counts in self.counts_by_day.values())

    @property
    def drawn_days(self) -> list[int]:
        return [number for number, counts in self.counts_by_day.items() if not counts.is_frequent]

    @property
    def drawn_count(self) -> int:
        return sum(self.counts_by_day[number].total for number in self.drawn_days)
