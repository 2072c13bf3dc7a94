"""Turn fire times that have come into runs, and tell workers about runs.

Any number of processes may do both at once, twice, or not at all for a while: a fire time becomes one row however
often it is seen, and a message that is lost is sent again from the row.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import transaction

from jobs import columns
from jobs.finishing import finish_jobs
from jobs.models import Job, Run
from jobs.overlap import job_lock_key
from triggers.bell import Bell
from triggers.gates import Hold, held
from triggers.misfire import FirePlan, plan_fires
from triggers.models import MAIN, Trigger, parsed

logger = logging.getLogger(__name__)

BATCH = 500  # triggers, or messages' runs, of one transaction
TIMES = 5_000  # fire times of one transaction: triggers that are far behind make a smaller batch
REPUBLISH = timedelta(seconds=10)  # a run that nobody has begun by then is rung for again
LOCK: dict[str, Any] = {"of": ("self",), "skip_locked": True, "no_key": True}  # without effect on SQLite
FOUND_LATE = "found later than its trigger's misfire threshold"


class Dispatcher:
    """Makes passes: first what is due, then what nobody has begun."""

    def __init__(self, bell: Bell):
        self.bell = bell

    def run(self, now: datetime) -> datetime | None:
        """Make one pass, and return when there is something to do next as far as the rows tell.

        That is not later than `now` when this pass did not get to the end; None: nothing is planned.
        """
        next_fire_at = Trigger.objects.next_fire_at()
        if _has_come(next_fire_at, now):
            self.bell.ring(dispatch_due(now))
            next_fire_at = Trigger.objects.next_fire_at()
        next_publish_after = Run.objects.next_publish_after()
        if _has_come(next_publish_after, now):
            if self.bell.is_reachable():
                self.bell.ring(take_ready(now))
                next_publish_after = Run.objects.next_publish_after()
            else:
                next_publish_after = None  # waits for the broker, which no row tells of
        moments = (next_fire_at, next_publish_after)
        return min((moment for moment in moments if moment is not None), default=None)


def _has_come(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment <= now


def dispatch_due(now: datetime) -> list[tuple[str, UUID]]:
    """Record the fire times that have come for up to BATCH triggers, and move these on, in one transaction.

    Returns the queues and ids of the runs that wait for workers, for a message after the commit.
    """
    with transaction.atomic():
        visits = _visits(_due(now), now)
        _mark_last(visits)
        _mark_held(visits, now)
        _advance(visits)
        rows = [row for visit in visits for row in visit.rows(now)]
        _insert(rows, now)
        over = [visit.due.job_id for visit in visits if visit.is_last and not visit.plan.fires]
        finish_jobs(over, Job.State.COMPLETED, now)  # their last fire times are all missed
    return [(row.queue, row.id) for row in rows if row.state == Run.State.WAITING]


def take_ready(now: datetime) -> list[tuple[str, UUID]]:
    """The queues and ids of up to BATCH runs that are to be rung for; they are not taken again for REPUBLISH.

    Committed before anything is sent: who dies in between leaves them to the next.
    """
    with transaction.atomic():
        ready = list(Run.objects.ready(now).select_for_update(**LOCK).values_list("queue", "pk")[:BATCH])
        Run.objects.still_pending(run_id for _, run_id in ready).update(publish_after=now + REPUBLISH)
    return ready


class Due(NamedTuple):
    """A due trigger: what a pass needs of it and of its job."""

    id: int
    name: str
    format: str
    definition: dict[str, Any]
    anchored_at: datetime
    due_at: datetime
    fire_count: int
    fires_left: int | None
    misfire: str
    misfire_threshold: timedelta
    priority: int
    group: str
    lock_key: str | None
    job_id: int
    job_name: str
    overlap: str
    action_id: int
    collection_name: str
    subscription_id: UUID


def _due(now: datetime) -> list[Due]:
    """Due triggers, locked where the database has such locks."""
    due = Trigger.objects.due(now).select_for_update(**LOCK)
    rows = due.values_list(
        *("id", "name", "format", "definition", "anchored_at", "next_fire_at", "fire_count", "fires_left"),
        *("misfire", "misfire_threshold", "priority", "group", "lock_key"),
        *("job_id", "job__name", "job__overlap", "job__action_id"),
        *("job__collection__name", "job__collection__subscription_id"),
    )
    return [Due(*row) for row in rows[:BATCH]]


@dataclass(slots=True)
class Visit:
    """What was found at a due trigger.  `problem`: why its schedule cannot be followed, in words."""

    due: Due
    plan: FirePlan
    problem: str = ""
    is_last: bool = False  # its job has no fire time after these
    hold: Hold | None = None  # its job may not start now

    @property
    def last(self) -> datetime:
        return self.plan.last or self.due.due_at

    def rows(self, now: datetime) -> Iterator["Row"]:
        """The runs that the visit makes, earliest first."""
        if self.problem:
            yield self._row(self.due.due_at, now, state=Run.State.FAILED, reason=self.problem, finished_at=now)
        for missed in self.plan.missed:
            yield self._row(
                *(missed.first, now),
                state=Run.State.MISSED,
                reason=FOUND_LATE,
                missed_count=missed.count,
                missed_until=missed.last if missed.count > 1 else None,
                finished_at=now,
            )
        for occurrence, fire_at in enumerate(self.plan.fires, self.due.fire_count + 1):
            is_last = self.is_last and fire_at == self.plan.last
            lock_key = self.due.lock_key or job_lock_key(self.due.job_id, self.due.overlap)
            hold = self.hold
            held = {"state": Run.State.HELD, "held_by": hold.key, "reason": hold.reason} if hold else {}
            fields: dict[str, Any] = {"occurrence": occurrence, "is_last": is_last, "lock_key": lock_key, **held}
            yield self._row(fire_at, now + REPUBLISH, **fields)

    def _row(self, fire_at: datetime, publish_after: datetime, **fields: Any) -> "Row":
        due = self.due
        return Row(
            *(uuid4(), due.subscription_id, due.job_id, due.action_id),
            *(due.collection_name, due.job_name, due.name, due.group),
            *(due.priority, fire_at, publish_after),
            **fields,
        )


class Row(NamedTuple):
    """A run as it is inserted; the fields that it does not have take their defaults."""

    id: UUID
    subscription_id: UUID
    job_id: int
    action_id: int
    collection_name: str
    job_name: str
    trigger_name: str
    queue: str
    priority: int
    fire_at: datetime
    publish_after: datetime
    occurrence: int | None = None
    is_last: bool = False
    lock_key: str | None = None
    state: str = Run.State.WAITING
    reason: str = ""
    missed_count: int = 1
    missed_until: datetime | None = None
    finished_at: datetime | None = None
    held_by: str | None = None


def _visits(triggers: Iterable[Due], now: datetime) -> list[Visit]:
    """Visit triggers in order, until their fire times are too many for one transaction."""
    visits: list[Visit] = []
    times = 0
    for due in triggers:
        if times >= TIMES:
            break
        visit = _visit(due, now)
        visits.append(visit)
        times += len(visit.plan.fires) + sum(missed.count for missed in visit.plan.missed)
    return visits


def _visit(due: Due, now: datetime) -> Visit:
    """Plan what a trigger does.  One whose schedule cannot be followed is parked, with a row that says so."""
    try:
        schedule = parsed(due.format, due.definition, due.anchored_at).schedule
        return Visit(due, plan_fires(schedule, due.due_at, now, due.misfire, due.misfire_threshold, due.fires_left))
    except Exception as error:
        logger.exception("trigger %s of job %s cannot be followed", due.id, due.job_id)
        return Visit(due, FirePlan((), (), None), f"its schedule cannot be followed, so it stopped: {error}"[:200])


def _mark_last(visits: Sequence[Visit]) -> None:
    """Find the visits after which their job has nothing left to run: its own schedule is over, and it has no other."""
    ended = [
        visit for visit in visits if visit.plan.next_fire_at is None and not visit.problem and visit.due.name == MAIN
    ]
    if ended:
        beside = Trigger.objects.filter(job__in=[visit.due.job_id for visit in ended]).exclude(name=MAIN)
        going_on = set(beside.values_list("job_id", flat=True))
        for visit in ended:
            visit.is_last = visit.due.job_id not in going_on


def _mark_held(visits: Sequence[Visit], now: datetime) -> None:
    firing = [visit for visit in visits if visit.plan.fires]
    holds = held([visit.due.job_id for visit in firing], now) if firing else {}
    for visit in firing:
        visit.hold = holds.get(visit.due.job_id)


def _advance(visits: Sequence[Visit]) -> None:
    if visits:
        stand: dict[str, Sequence[Any]] = {
            "next_fire_at": [visit.plan.next_fire_at for visit in visits],
            "previous_fire_at": [visit.last for visit in visits],
            "fire_count": [visit.due.fire_count + len(visit.plan.fires) for visit in visits],
            "fires_left": [
                None if visit.due.fires_left is None else visit.due.fires_left - len(visit.plan.fires)
                for visit in visits
            ],
        }
        columns.update(Trigger, [visit.due.id for visit in visits], stand)


def _insert(rows: Sequence[Row], now: datetime) -> None:
    if rows:
        columns.insert(Run, dict(zip(Row._fields, zip(*rows, strict=True), strict=True)), created_at=now)
