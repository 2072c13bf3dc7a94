"""Turn fire times that have come into runs, and tell workers about runs.

Any number of processes may do both at once, twice, or not at all for a while: a fire time becomes one row however
often it is seen, and a message that is lost is sent again from the row.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from jobs.execution import finish_jobs
from jobs.models import Job, Run
from triggers.bell import Bell
from triggers.misfire import FirePlan, Missed, plan_fires
from triggers.models import Trigger

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
        runs = [run for visit in visits for run in visit.runs(now)]
        Trigger.objects.advance([visit.trigger for visit in visits])
        Run.objects.bulk_create(runs, ignore_conflicts=True)
        finish_jobs([run.job_id for run in runs if run.is_last and run.finished_at], Job.State.COMPLETED, now)
    return [(run.queue, run.pk) for run in runs if run.state == Run.State.WAITING]


def take_ready(now: datetime) -> list[tuple[str, UUID]]:
    """The queues and ids of up to BATCH runs that are to be rung for; they are not taken again for REPUBLISH.

    Committed before anything is sent: who dies in between leaves them to the next.
    """
    with transaction.atomic():
        ready = list(Run.objects.ready(now).select_for_update(**LOCK).values_list("queue", "pk")[:BATCH])
        waiting = Run.objects.filter(pk__in=[run_id for _, run_id in ready], state__in=Run.PENDING)
        waiting.update(publish_after=now + REPUBLISH)
    return ready


def _due(now: datetime):
    """Due triggers, with the columns that a pass needs, locked where the database has such locks."""
    columns = (
        *("name", "format", "definition", "anchored_at", "next_fire_at", "previous_fire_at"),
        *("fire_count", "fires_left", "misfire", "misfire_threshold", "queue"),
        *("job__name", "job__overlap", "job__action", "job__collection__name", "job__collection__subscription"),
    )
    due = Trigger.objects.due(now).select_related("job__collection").only(*columns)
    return due.select_for_update(**LOCK)[:BATCH]


@dataclass(slots=True)
class Visit:
    """A due trigger, already moved on, and what the visit found.  `problem`: why its schedule cannot be followed."""

    trigger: Trigger
    due_at: datetime
    plan: FirePlan
    first_occurrence: int
    problem: str = ""
    is_last: bool = False

    def runs(self, now: datetime) -> list[Run]:
        """The rows that the visit makes, earliest first."""
        if self.problem:
            return [self._run(self.due_at, now, Run.State.FAILED, reason=self.problem, finished_at=now)]
        runs = [self._missed(missed, now) for missed in self.plan.missed]
        for occurrence, fire_at in enumerate(self.plan.fires, self.first_occurrence):
            runs.append(self._run(fire_at, now + REPUBLISH, Run.State.WAITING, occurrence=occurrence))
        runs[-1].is_last = self.is_last
        return runs

    def _missed(self, missed: Missed, now: datetime) -> Run:
        run = self._run(missed.first, now, Run.State.MISSED, reason=FOUND_LATE, finished_at=now)
        if missed.count > 1:
            run.missed_count, run.missed_until = missed.count, missed.last
        return run

    def _run(self, fire_at: datetime, publish_after: datetime, state: str, **fields: object) -> Run:
        job = self.trigger.job
        return Run(
            subscription_id=job.collection.subscription_id,
            job_id=job.pk,
            action_id=job.action_id,
            collection_name=job.collection.name,
            job_name=job.name,
            trigger_name=self.trigger.name,
            fire_at=fire_at,
            state=state,
            queue=self.trigger.queue,
            publish_after=publish_after,
            lock_key=None if job.overlap == Job.Overlap.ALLOW else f"job:{job.pk}",
            **fields,
        )


def _visits(triggers: Iterable[Trigger], now: datetime) -> list[Visit]:
    """Visit triggers in order, until their fire times are too many for one transaction."""
    visits: list[Visit] = []
    times = 0
    for trigger in triggers:
        if times >= TIMES:
            break
        visit = _visit(trigger, now)
        visits.append(visit)
        times += len(visit.plan.fires) + sum(missed.count for missed in visit.plan.missed)
    return visits


def _visit(trigger: Trigger, now: datetime) -> Visit:
    """Plan what a due trigger does and move it on.  One whose schedule cannot be followed is parked, with a row."""
    due_at = trigger.next_fire_at
    visit = Visit(trigger, due_at, FirePlan((), (), None), trigger.fire_count + 1)
    try:
        schedule = trigger.parsed.schedule
        visit.plan = plan_fires(schedule, due_at, now, trigger.misfire, trigger.misfire_threshold, trigger.fires_left)
    except Exception as error:
        logger.exception("trigger %s of job %s cannot be followed", trigger.pk, trigger.job_id)
        visit.problem = f"its schedule cannot be followed, so it stopped: {error}"[:200]
        trigger.next_fire_at = None
        return visit
    trigger.next_fire_at = visit.plan.next_fire_at
    trigger.previous_fire_at = visit.plan.last
    trigger.fire_count += len(visit.plan.fires)
    if trigger.fires_left is not None:
        trigger.fires_left -= len(visit.plan.fires)
    return visit


def _mark_last(visits: Sequence[Visit]) -> None:
    """Find the visits after which their job has no fire time left."""
    ended = {visit.trigger.pk: visit for visit in visits if visit.trigger.next_fire_at is None and not visit.problem}
    if not ended:
        return
    jobs = {visit.trigger.job_id for visit in ended.values()}
    going_on = Trigger.objects.filter(job__in=jobs, next_fire_at__isnull=False).exclude(pk__in=ended)
    jobs -= set(going_on.values_list("job_id", flat=True))
    for visit in sorted(ended.values(), key=lambda visit: visit.plan.last, reverse=True):
        if visit.trigger.job_id in jobs:
            visit.is_last = True
            jobs.remove(visit.trigger.job_id)
