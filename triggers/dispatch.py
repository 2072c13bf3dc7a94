"""Turn fire times that have come into runs, and tell workers about runs.

Any number of processes may do both at once, twice, or not at all for a while: a fire time becomes one row however
often it is seen, and a message that is lost is sent again from the row.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import transaction

from jobs.execution import finish_jobs
from jobs.models import Job, Run
from triggers import columns
from triggers.bell import Bell
from triggers.misfire import FirePlan, plan_fires
from triggers.models import Trigger, parsed

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
        moments = [Trigger.objects.next_fire_at(), Run.objects.next_publish_after()]
        if _has_come(moments[0], now):
            self.bell.ring(dispatch_due(now))
            moments[0] = Trigger.objects.next_fire_at()
        if _has_come(moments[1], now):
            if self.bell.is_reachable():
                self.bell.ring(take_ready(now))
                moments[1] = Run.objects.next_publish_after()
            else:
                moments[1] = None
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
        _advance(visits)
        runs = _insert_fires([visit for visit in visits if visit.plan.fires], now)
        _insert_others([visit for visit in visits if visit.plan.missed or visit.problem], now)
    return runs


def take_ready(now: datetime) -> list[tuple[str, UUID]]:
    """The queues and ids of up to BATCH runs that are to be rung for; they are not taken again for REPUBLISH.

    Committed before anything is sent: who dies in between leaves them to the next.
    """
    with transaction.atomic():
        ready = list(Run.objects.ready(now).select_for_update(**LOCK).values_list("queue", "pk")[:BATCH])
        waiting = Run.objects.filter(pk__in=[run_id for _, run_id in ready], state__in=Run.PENDING)
        waiting.update(publish_after=now + REPUBLISH)
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
    queue: str
    job_id: int
    job_name: str
    overlap: str
    action_id: int
    collection_name: str
    subscription_id: UUID

    @property
    def lock_key(self) -> str | None:
        return None if self.overlap == Job.Overlap.ALLOW else f"job:{self.job_id}"


def _due(now: datetime) -> list[Due]:
    """Due triggers, locked where the database has such locks."""
    due = Trigger.objects.due(now).select_for_update(**LOCK)
    rows = due.values_list(
        *("id", "name", "format", "definition", "anchored_at", "next_fire_at", "fire_count", "fires_left"),
        *("misfire", "misfire_threshold", "queue", "job_id", "job__name", "job__overlap", "job__action_id"),
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

    @property
    def last(self) -> datetime:
        return self.plan.last or self.due.due_at


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
    """Find the visits after which their job has no fire time left."""
    ended = {visit.due.id: visit for visit in visits if visit.plan.next_fire_at is None and not visit.problem}
    if not ended:
        return
    jobs = {visit.due.job_id for visit in ended.values()}
    going_on = Trigger.objects.filter(job__in=jobs, next_fire_at__isnull=False).exclude(pk__in=ended)
    jobs -= set(going_on.values_list("job_id", flat=True))
    for visit in sorted(ended.values(), key=lambda visit: visit.last, reverse=True):
        visit.is_last = visit.due.job_id in jobs
        jobs.discard(visit.due.job_id)


def _advance(visits: Sequence[Visit]) -> None:
    if visits:
        stand = {
            "next_fire_at": [visit.plan.next_fire_at for visit in visits],
            "previous_fire_at": [visit.last for visit in visits],
            "fire_count": [visit.due.fire_count + len(visit.plan.fires) for visit in visits],
            "fires_left": [
                None if visit.due.fires_left is None else visit.due.fires_left - len(visit.plan.fires)
                for visit in visits
            ],
        }
        columns.update(Trigger, [visit.due.id for visit in visits], stand)


def _insert_fires(visits: Sequence[Visit], now: datetime) -> list[tuple[str, UUID]]:
    """Insert the runs that workers are to carry out; return their queues and ids."""
    fires = [
        (visit, fire_at, visit.due.fire_count + number)
        for visit in visits
        for number, fire_at in enumerate(visit.plan.fires, 1)
    ]
    if not fires:
        return []
    ids = [uuid4() for _ in fires]
    columns.insert(
        Run,
        {
            "id": ids,
            "subscription_id": [visit.due.subscription_id for visit, _, _ in fires],
            "job_id": [visit.due.job_id for visit, _, _ in fires],
            "action_id": [visit.due.action_id for visit, _, _ in fires],
            "collection_name": [visit.due.collection_name for visit, _, _ in fires],
            "job_name": [visit.due.job_name for visit, _, _ in fires],
            "trigger_name": [visit.due.name for visit, _, _ in fires],
            "fire_at": [fire_at for _, fire_at, _ in fires],
            "occurrence": [occurrence for _, _, occurrence in fires],
            "is_last": [visit.is_last and fire_at == visit.plan.fires[-1] for visit, fire_at, _ in fires],
            "queue": [visit.due.queue for visit, _, _ in fires],
            "lock_key": [visit.due.lock_key for visit, _, _ in fires],
        },
        publish_after=now + REPUBLISH,
        created_at=now,
    )
    return [(visit.due.queue, run_id) for (visit, _, _), run_id in zip(fires, ids, strict=True)]


def _insert_others(visits: Sequence[Visit], now: datetime) -> None:
    """Insert rows for fire times that do not run.  A job whose last fire times are all missed ends here."""
    rows = []
    for visit in visits:
        if visit.problem:
            rows.append(_unrun(visit.due, visit.due.due_at, Run.State.FAILED, visit.problem, now))
        for missed in visit.plan.missed:
            row = _unrun(visit.due, missed.first, Run.State.MISSED, FOUND_LATE, now)
            if missed.count > 1:
                row.missed_count, row.missed_until = missed.count, missed.last
            rows.append(row)
    Run.objects.bulk_create(rows, ignore_conflicts=True)
    over = [visit.due.job_id for visit in visits if visit.is_last and not visit.plan.fires]
    finish_jobs(over, Job.State.COMPLETED, now)


def _unrun(due: Due, fire_at: datetime, state: str, reason: str, now: datetime) -> Run:
    return Run(
        subscription_id=due.subscription_id,
        job_id=due.job_id,
        action_id=due.action_id,
        collection_name=due.collection_name,
        job_name=due.job_name,
        trigger_name=due.name,
        fire_at=fire_at,
        state=state,
        reason=reason,
        queue=due.queue,
        publish_after=now,
        finished_at=now,
    )
