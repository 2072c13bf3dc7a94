"""Turn due fire times into runs, and claim runs that must be published for the first time or again.

Any number of processes may do both at the same time, twice, or not at all for a while.  A fire time becomes one row
even if several passes find it.  A lost message is sent again, because the row says that it is needed.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeVar
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q, QuerySet

from jobs import bulk_sql
from jobs.finishing import finish_jobs
from jobs.holds import HeldRun, start_holds
from jobs.models import Job, Run, RunQuerySet
from jobs.worker.overlap import MADE_UP, job_lock_key
from recurrence.moves import moved_from
from recurrence.schedules import Schedule
from recurrence.wire.common import has_closed_rest
from recurrence.zones import NOTHING
from triggers.gates import Hold, current_holds
from triggers.misfire import FirePlan, plan_fires
from triggers.models import MAIN, Trigger, TriggerQuerySet, delayed, parsed
from triggers.publisher import ReadyRun, RunPublisher

logger = logging.getLogger(__name__)

BATCH = 500  # triggers, or runs to publish, in one transaction
SEARCHED_BATCH = 100  # the least places for SEARCHED triggers in one transaction
LARGE_SHARE = BATCH // 5  # a subscription with more rows in a full batch is busy: it would delay others
NEWEST = 10 * BATCH  # due triggers, or runs to publish, among which those of other subscriptions are looked for
LOOK_INTERVAL_S = 0.3  # between two such searches, each of which reads NEWEST rows
TIMES = 2_000  # fire times in one transaction: triggers that are far behind make a smaller batch
SEARCHED_FORMATS = ("rrule", "solar")  # formats whose fire times are searched day by day
# triggers whose longest search takes tenths of a second: of these formats, and of schedules with closed days
SEARCHED = Q(format__in=SEARCHED_FORMATS) | Q(closed_days__isnull=False)
MAX_SEARCH_S = 0.5  # in one transaction: the other triggers wait meanwhile
REPUBLISH = timedelta(seconds=10)  # a run that no worker has started by then is published again
LOCK: dict[str, Any] = {"of": ("self",), "skip_locked": True, "no_key": True}  # without effect on SQLite
Rows = TypeVar("Rows", bound=QuerySet)
FOUND_LATE = "found later than its trigger's misfire threshold"


class Dispatcher:
    """Makes passes.  A pass first dispatches due triggers, then publishes runs that no worker has started."""

    def __init__(self, publisher: RunPublisher):
        self.publisher = publisher
        self._looked_at = -LOOK_INTERVAL_S  # for rows of other subscriptions, in monotonic seconds

    def run(self, now: datetime) -> datetime | None:
        """Make one pass, and return the moment of the next work that the rows know of.

        The moment is not later than `now` when this pass did not finish its work.  None: no work is planned.
        """
        looks_for_others = self._is_time_to_look()
        next_fire_at = Trigger.objects.next_fire_at()
        if _is_due(next_fire_at, now):
            self._publish(dispatch_due(now, looks_for_others), now)
            next_fire_at = Trigger.objects.next_fire_at()
        next_publish_after = Run.objects.next_publish_after()
        if _is_due(next_publish_after, now):
            if self.publisher.is_reachable() and self._publish(claim_ready(now, looks_for_others), now):
                next_publish_after = Run.objects.next_publish_after()
            else:
                next_publish_after = None  # the runs wait for the broker, and no row knows when it returns
        moments = (next_fire_at, next_publish_after)
        return min((moment for moment in moments if moment is not None), default=None)

    def _is_time_to_look(self) -> bool:
        is_time = monotonic() - self._looked_at >= LOOK_INTERVAL_S
        if is_time:
            self._looked_at = monotonic()
        return is_time

    def _publish(self, runs: Sequence[ReadyRun], now: datetime) -> bool:
        """Publish the runs to workers; return False when the broker did not take the messages.

        In that case the runs are made ready at once, so that the first pass after the outage publishes them.
        """
        if self.publisher.publish(runs):
            return True
        Run.objects.still_pending(run.id for run in runs).publish(now)
        return False


def _is_due(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment <= now


def dispatch_due(now: datetime, looks_for_others: bool = True) -> list[ReadyRun]:
    """Record the due fire times of some of the due triggers, and advance these triggers, in one transaction.

    These are the BATCH triggers that are longest overdue.  If some of their subscriptions are busy, and
    `looks_for_others` is true, up to BATCH triggers of other subscriptions are planned before them.

    Return the runs that wait for workers, so that the caller publishes them after the commit.
    """
    with transaction.atomic():
        plans = _plans(_due(now, looks_for_others), now)
        _mark_last(plans)
        _mark_held(plans, now)
        _advance(plans)
        rows = [row for each in plans for row in each.rows(now)]
        _insert(rows, now)
        finished = [each.due.job_id for each in plans if each.is_last and not each.plan.fires]
        finish_jobs(finished, Job.State.COMPLETED, now)  # all their remaining fire times are missed
    ready = (row for row in rows if row.state == Run.State.WAITING and row.not_before is None)
    return [ReadyRun(row.queue, row.id, row.subscription_id) for row in ready]


def claim_ready(now: datetime, looks_for_others: bool = True) -> list[ReadyRun]:
    """Claim runs that must be published, and return them: BATCH runs, and those of others as in `dispatch_due`.

    No process claims these runs again for the time REPUBLISH.  The claim is committed before a message is sent: if this
    process dies in between, another process claims the runs later.
    """
    with transaction.atomic():
        ready = Run.objects.ready(now)
        runs = _fetch_runs(ready)
        if looks_for_others and len(runs) == BATCH:
            runs = _fetch_runs(_of_other_subscriptions(ready, "publish_after", "subscription", runs)) + runs
        Run.objects.still_pending(run.id for run in runs).update(publish_after=now + REPUBLISH)
    return runs


def _fetch_runs(ready: RunQuerySet) -> list[ReadyRun]:
    locked = ready.select_for_update(**LOCK)
    return [ReadyRun(*values) for values in locked.values_list("queue", "pk", "subscription")[:BATCH]]


class DueTrigger(NamedTuple):
    """A due trigger: the fields of the trigger and its job that a pass needs."""

    id: int
    name: str
    format: str
    definition: dict[str, Any]
    anchored_at: datetime
    closed_days_id: UUID | None
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


def _due(now: datetime, looks_for_others: bool) -> list[DueTrigger]:
    """Return due triggers, locked where the database has row locks, in the order in which they are planned.

    SEARCHED triggers get the places that the others leave, and at least SEARCHED_BATCH places.
    """
    due = Trigger.objects.due(now)
    triggers = _fetch_triggers(due.exclude(SEARCHED), BATCH)
    places = max(BATCH - len(triggers), SEARCHED_BATCH)
    triggers += _fetch_triggers(due.filter(SEARCHED), places)
    triggers.sort(key=lambda each: (each.due_at, each.priority, each.id))
    if looks_for_others and len(triggers) >= BATCH:
        others = _of_other_subscriptions(due, "next_fire_at", "job__collection__subscription", triggers)
        return _fetch_triggers(others, BATCH) + triggers
    return triggers


def _fetch_triggers(due: TriggerQuerySet, limit: int) -> list[DueTrigger]:
    names = (
        *("id", "name", "format", "definition", "anchored_at", "closed_days_id"),
        *("next_fire_at", "fire_count", "fires_left"),
        *("misfire", "misfire_threshold", "priority", "group", "lock_key"),
        *("job_id", "job__name", "job__overlap", "job__action_id"),
        *("job__collection__name", "job__collection__subscription_id"),
    )
    return [DueTrigger(*row) for row in due.select_for_update(**LOCK).values_list(*names)[:limit]]


def _of_other_subscriptions(
    due: Rows, moment: str, subscription: str, batch: Sequence[DueTrigger] | Sequence[ReadyRun]
) -> Rows:
    """Return the rows of subscriptions that are not busy, among the newest of the due rows that are not in the batch.

    Thus a subscription with very many due rows does not delay the rows of other subscriptions.  A row that has just
    become due is always among the newest.  `moment` and `subscription` are paths of fields.
    """
    counts = Counter(row.subscription_id for row in batch)
    busy = [subscription_id for subscription_id, count in counts.items() if count > LARGE_SHARE]
    if not busy:
        return due.none()
    left_out = {row.id for row in batch}
    # two queries: statistics of a table that grows fast can make PostgreSQL read the newest rows again for each row
    newest = due.order_by(f"-{moment}").values_list("pk", subscription)[:NEWEST]
    return due.filter(pk__in=[pk for pk, owner in newest if owner not in busy and pk not in left_out][:BATCH])


@dataclass(slots=True)
class TriggerPlan:
    """A due trigger and what this pass does with it.  `problem` says why its schedule cannot be followed."""

    due: DueTrigger
    plan: FirePlan
    problem: str = ""
    is_last: bool = False  # the job has no fire time after these
    hold: Hold | None = None  # the job may not start now
    schedule: Schedule | None = None
    jitter: timedelta = NOTHING
    waits: bool = False  # only closed days leave no further fire time

    @property
    def last_fire_at(self) -> datetime:
        return self.plan.last_fire_at or self.due.due_at

    def rows(self, now: datetime) -> Iterator["RunRow"]:
        """Yield the runs to insert, earliest first."""
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
        is_made_up = self.is_made_up(now)
        for occurrence, fire_at in enumerate(self.plan.fires, self.due.fire_count + 1):
            is_last = self.is_last and fire_at == self.plan.last_fire_at
            lock_key = self.due.lock_key or job_lock_key(self.due.job_id, self.due.overlap, is_made_up)
            fields: dict[str, Any] = {"occurrence": occurrence, "is_last": is_last, "lock_key": lock_key}
            if is_made_up:
                fields |= {"is_made_up": True, "reason": MADE_UP}
            if self.hold:
                fields |= {"state": Run.State.HELD, "hold_key": self.hold.key, "reason": self.hold.reason}
            starts_at = delayed(fire_at, self.due.id, self.jitter)
            if self.jitter:
                fields |= {"starts_at": starts_at}
            if starts_at > now:
                fields |= {"not_before": starts_at}
            if self.schedule and (sources := moved_from(self.schedule, fire_at)):
                fields |= {"moved_from": sources[-1]}
            yield self._row(fire_at, starts_at if starts_at > now else now + REPUBLISH, **fields)

    def is_made_up(self, now: datetime) -> bool:
        """Return True if the runs make up for late fire times.

        Such runs queue, and so do the runs in time that come after them.
        """
        if self.due.misfire != Trigger.Misfire.FIRE_ALL or not self.plan.fires:
            return False
        return self.plan.fires[0] < now - self.due.misfire_threshold

    def _row(self, fire_at: datetime, publish_after: datetime, **fields: Any) -> "RunRow":
        due = self.due
        return RunRow(
            *(uuid4(), due.subscription_id, due.job_id, due.action_id),
            *(due.collection_name, due.job_name, due.name, due.group),
            *(due.priority, fire_at, publish_after),
            **fields,
        )


class RunRow(NamedTuple):
    """A run to insert; model fields that are absent here take their defaults."""

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
    is_made_up: bool | None = None
    state: str = Run.State.WAITING
    reason: str = ""
    missed_count: int = 1
    missed_until: datetime | None = None
    finished_at: datetime | None = None
    hold_key: str | None = None
    starts_at: datetime | None = None
    moved_from: datetime | None = None
    not_before: datetime | None = None


def _plans(triggers: Iterable[DueTrigger], now: datetime) -> list[TriggerPlan]:
    """Plan triggers in order, until they have TIMES fire times, the most for one transaction.

    SEARCHED triggers are left for the next pass when their search has taken MAX_SEARCH_S.
    """
    plans: list[TriggerPlan] = []
    times, searched_s = 0, 0.0
    for due in triggers:
        if times >= TIMES:
            break
        is_searched = due.format in SEARCHED_FORMATS or due.closed_days_id is not None
        if is_searched and searched_s >= MAX_SEARCH_S:
            continue
        began = perf_counter()
        trigger_plan = _plan(due, now)
        searched_s += (perf_counter() - began) * is_searched
        plans.append(trigger_plan)
        times += len(trigger_plan.plan.fires) + sum(missed.count for missed in trigger_plan.plan.missed)
    return plans


def _plan(due: DueTrigger, now: datetime) -> TriggerPlan:
    """Plan what a trigger does.  A trigger whose schedule cannot be followed stops, and a failed run says why."""
    try:
        found = parsed(due.format, due.definition, due.anchored_at, due.closed_days_id)
        plan = plan_fires(found.schedule, due.due_at, now, due.misfire, due.misfire_threshold, due.fires_left)
        has_budget = due.fires_left is None or len(plan.fires) < due.fires_left
        waits = has_budget and plan.next_fire_at is None and has_closed_rest(found.schedule, now)
        return TriggerPlan(due, plan, schedule=found.schedule, jitter=found.jitter, waits=waits)
    except Exception as error:
        logger.exception("trigger %s of job %s cannot be followed", due.id, due.job_id)
        return TriggerPlan(
            due, FirePlan((), (), None), f"its schedule cannot be followed, so it stopped: {error}"[:200]
        )


def _mark_last(plans: Sequence[TriggerPlan]) -> None:
    """Set `is_last` where the job has nothing left to run: its own schedule is over, and it has no other trigger."""
    ended = [
        each
        for each in plans
        if each.plan.next_fire_at is None and not each.problem and not each.waits and each.due.name == MAIN
    ]
    if ended:
        other_triggers = Trigger.objects.filter(job__in=[each.due.job_id for each in ended]).exclude(name=MAIN)
        jobs_with_others = set(other_triggers.values_list("job_id", flat=True))
        for each in ended:
            each.is_last = each.due.job_id not in jobs_with_others


def _mark_held(plans: Sequence[TriggerPlan], now: datetime) -> None:
    firing = [each for each in plans if each.plan.fires]
    holds = current_holds([each.due.job_id for each in firing], now) if firing else {}
    for each in firing:
        each.hold = holds.get(each.due.job_id)


def _advance(plans: Sequence[TriggerPlan]) -> None:
    if plans:
        values: dict[str, Sequence[Any]] = {
            "next_fire_at": [each.plan.next_fire_at for each in plans],
            "previous_fire_at": [each.last_fire_at for each in plans],
            "fire_count": [each.due.fire_count + len(each.plan.fires) for each in plans],
            "fires_left": [
                None if each.due.fires_left is None else each.due.fires_left - len(each.plan.fires) for each in plans
            ],
        }
        bulk_sql.update(Trigger, [each.due.id for each in plans], values)


def _insert(rows: Sequence[RunRow], now: datetime) -> None:
    if rows:
        bulk_sql.insert(Run, dict(zip(RunRow._fields, zip(*rows, strict=True), strict=True)), created_at=now)
    if held_runs := {row.id: HeldRun(row.id, row.hold_key, row.reason) for row in rows if row.hold_key}:
        inserted = Run.objects.filter(pk__in=list(held_runs)).values_list("pk", flat=True)  # without earlier rows
        start_holds([held_runs[run_id] for run_id in inserted], now)
