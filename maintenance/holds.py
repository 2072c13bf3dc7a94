"""What jobs do about maintenance: hold their runs, run at a phase of a notice, or make a notice wait for their runs.

A held run is a row with the reason.  It goes on, or is skipped, when nothing holds it any more.  Only runs by schedule
that have not begun are held.  A run that has begun goes on with its retries.  A run that a person or a phase of a
notice starts is never held.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from api.errors import RequestError
from jobs.finishing import finish_jobs
from jobs.holds import HeldRun, end_holds, start_holds
from jobs.models import Job, JobCollection, Run, RunQuerySet, runnable_q
from jobs.run_now import run_now
from maintenance import locking
from maintenance.errors import MaintenanceError
from maintenance.hold_windows import REASON_LENGTH, NoticeWithResources
from maintenance.models import JobMaintenancePolicy, Notice, NoticePhase, NoticeResource, NoticeRun
from maintenance.policies import PolicyInput
from maintenance.queries import matching_q, may_name
from triggers import gates
from triggers.gates import NOTICE, HoldWindow, notice_key

SUPERSEDED = ": a later fire time ran for it"
DROPPED = ": dropped at the end of it"
BATCH = 500  # rows of one statement


# Which jobs a notice concerns


def load_notices(notices: Collection[Notice]) -> list[NoticeWithResources]:
    """Return the notices with the resources that they affect, in one query."""
    affected_resources: dict[UUID, list[tuple[str, dict[str, str]]]] = {notice.pk: [] for notice in notices}
    rows = NoticeResource.objects.filter(notice__in=list(affected_resources)).order_by("pk")
    for notice_id, name, labels in rows.values_list("notice_id", "name", "resource__labels"):
        affected_resources[notice_id].append((name, labels or {}))
    return [NoticeWithResources(notice, affected_resources[notice.pk]) for notice in notices]


def load_active_notices(policies: QuerySet[JobMaintenancePolicy]) -> list[NoticeWithResources]:
    """Return the notices that are announced and not over, as they are stored, of the subscriptions of the policies.

    One query, also if there is none.  Notices of other subscriptions are not read: they may be many.
    """
    subscriptions = policies.order_by().values("job__collection__subscription")
    return with_resources(Notice.objects.filter(status__in=Notice.ACTIVE, subscription__in=subscriptions))


def with_resources(rows: QuerySet[Notice]) -> list[NoticeWithResources]:
    """Return these notices with their resources, in the order of their announcement, in one query."""
    notices: dict[UUID, Notice] = {}
    affected_resources = defaultdict(list)
    # the query joins from notices to resources: starting from Affected, SQLite would read the rows of all notices ever
    rows = rows.annotate(named=F("affected_resources__name"), labelled=F("affected_resources__resource__labels"))
    for row in rows.order_by("announced_at", "pk", "affected_resources__pk"):
        notices.setdefault(row.pk, row)
        if row.named is not None:
            affected_resources[row.pk].append((row.named, row.labelled or {}))
    return [NoticeWithResources(notice, affected_resources[notice_id]) for notice_id, notice in notices.items()]


def matching_policies(notices: Collection[Notice]) -> dict[UUID, list[JobMaintenancePolicy]]:
    """Return, by notice, the policies of jobs of its subscription that name one of its resources, or their labels."""
    found: dict[UUID, list[JobMaintenancePolicy]] = {notice.pk: [] for notice in notices}
    for policy, concerning in _match_policies(
        load_notices(notices), JobMaintenancePolicy.objects.select_related("job__collection")
    ):
        for each in concerning:
            found[each.notice.pk].append(policy)
    return found


def running_runs(notices: Collection[Notice]) -> dict[UUID, list[Run]]:
    """Return, by notice, the runs that have begun and not ended of the jobs that it concerns, earliest start first."""
    jobs: dict[UUID, set[int]] = {notice.pk: set() for notice in notices}
    for policy, concerning in _match_policies(load_notices(notices), _with_runs(Run.BEGUN)):
        for each in concerning:
            jobs[each.notice.pk].add(policy.job_id)
    runs = Run.objects.filter(job__in=set().union(*jobs.values()), state__in=Run.BEGUN)
    begun = list(runs.order_by("started_at", "pk"))
    return {notice_id: [run for run in begun if run.job_id in ids] for notice_id, ids in jobs.items()}


def _with_runs(states: Collection[str]) -> QuerySet[JobMaintenancePolicy]:
    """Return the policies of jobs with a run in one of the states.  These are few, even if there are many jobs."""
    return JobMaintenancePolicy.objects.filter(job__in=Run.objects.filter(state__in=states).values("job"))


def _match_policies(
    notices: Collection[NoticeWithResources], policies: QuerySet[JobMaintenancePolicy]
) -> Iterator[tuple[JobMaintenancePolicy, list[NoticeWithResources]]]:
    """Yield each policy with the notices that match it, ordered by job name."""
    by_subscription: dict[UUID, list[NoticeWithResources]] = defaultdict(list)
    for each in notices:
        by_subscription[each.notice.subscription_id].append(each)
    rows = policies.filter(matching_q(notices), job__collection__subscription__in=by_subscription)
    rows = rows.order_by("job__name", "pk")
    for policy in rows.annotate(subscription=F("job__collection__subscription_id")):
        if concerning := [each for each in by_subscription[policy.subscription] if each.matches(policy)]:
            yield policy, concerning


# Holds of jobs


def holds_by_job(now: datetime, job_ids: Collection[int]) -> dict[int, NoticeWithResources]:
    """Return, by job, the first notice that holds its due fire times at `now`.  Jobs that are not held are absent.

    A policy with `during` HOLD holds its job from the lead time before not-before until the end.  A notice that waits
    for its resources to become idle holds every job that names them, until the notice starts.
    """
    policies = JobMaintenancePolicy.objects.filter(job__in=job_ids)
    notices = load_active_notices(policies)
    return _holds_by_job(now, _match_policies(notices, policies) if notices else ())


def _holds_by_job(
    now: datetime, matched: Iterable[tuple[JobMaintenancePolicy, list[NoticeWithResources]]]
) -> dict[int, NoticeWithResources]:
    return {
        policy.job_id: each
        for policy, concerning in matched
        for each in reversed(concerning)
        if each.holds_at(policy, now)
    }


def upcoming_holds(
    job_ids: Collection[int],
    start: datetime,
    end: datetime,
    now: datetime,
    notices: Collection[NoticeWithResources] | None = None,
) -> dict[int, list[HoldWindow]]:
    """Return, by job, the windows in which its fire times will be held and that touch [start, end), earliest first.

    The windows are those known at `now`, after the steps that time has brought about until `now`.  Jobs that are
    stopped have no windows: their held runs do not run at the end.  `notices` None: load the active ones.  The number
    of queries does not depend on the number of jobs: two, or one if there is no notice, and one less with `notices`.
    """
    windows: dict[int, list[HoldWindow]] = defaultdict(list)
    policies = JobMaintenancePolicy.objects.filter(runnable_q("job__"), job__in=job_ids)
    notices = load_active_notices(policies) if notices is None else notices
    for policy, concerning in _match_policies([each.as_of(now) for each in notices], policies) if notices else ():
        for each in concerning:
            window = each.hold_window(policy, now)
            if window and window.overlaps(start, end):
                windows[policy.job_id].append(window)
    return {job_id: gates.sort_windows(found) for job_id, found in windows.items()}


# Hold and release runs


class RunRow(NamedTuple):
    """The columns of a run that is held, or that may have to be held."""

    id: UUID
    job_id: int
    fire_at: datetime
    priority: int
    is_last: bool
    hold_key: str | None
    reason: str


def sync_holds(job_ids: Collection[int], now: datetime) -> None:
    """Hold the waiting runs of those jobs that are held, and release held runs that nothing holds any more.

    The caller holds the exclusive lock.
    """
    held = holds_by_job(now, job_ids)
    waiting = Q(state=Run.State.WAITING, origin=Run.Origin.SCHEDULE)
    rows = Run.objects.filter(waiting | _held_by_notice(), job__in=job_ids).lock_ordered()
    runs = [RunRow(*row) for row in rows.values_list(*RunRow._fields)]
    for each in {by.key: by for by in held.values()}.values():
        missing = [run.id for run in runs if held.get(run.job_id) is each and run.hold_key != each.key]
        _update(missing, state=Run.State.HELD, hold_key=each.key, reason=each.reason)
        end_holds(missing, now)  # the holds of the notice that held these runs before
        start_holds([HeldRun(run_id, each.key, each.reason) for run_id in missing], now)
    release([run for run in runs if run.hold_key and run.job_id not in held], now)


def sync_all_holds(now: datetime) -> None:
    """Do what `sync_holds` does for every job whose holds began or ended with time or with a change.

    Takes the exclusive lock only if there is something to do.
    """
    policies = _with_runs((Run.State.WAITING, Run.State.HELD))
    held = _holds_by_job(now, _match_policies(load_active_notices(policies), policies))
    # no filter by job: it would make the database read the history of these jobs
    waiting = Run.objects.filter(state=Run.State.WAITING, origin=Run.Origin.SCHEDULE)
    jobs = held.keys() & set(waiting.values_list("job_id", flat=True)) if held else set()
    rows = set(Run.objects.filter(_held_by_notice()).values_list("job_id", "hold_key").distinct())
    jobs |= {job_id for job_id, key in rows if job_id and (job_id not in held or held[job_id].key != key)}
    if jobs:
        with locking.exclusive_lock(collections_of(jobs)):
            sync_holds(jobs, now)
    if None in {job_id for job_id, _ in rows}:  # runs that were made while their job was deleted
        _cancel_orphans(now)


def _cancel_orphans(now: datetime) -> None:
    """Cancel held runs that were made while their job was deleted."""
    with transaction.atomic():
        ids = list(Run.objects.filter(_held_by_notice(), job=None).lock_ordered().values_list("pk", flat=True))
        _update(ids, state=Run.State.CANCELLED, hold_key=None, reason="the job was deleted", finished_at=now)
        end_holds(ids, now)


def held_job_ids(notice: Notice) -> set[int]:
    """Return the ids of the jobs of the runs that a notice holds."""
    runs = Run.objects.filter(hold_key=notice_key(notice.pk), state=Run.State.HELD).exclude(job=None)
    return set(runs.values_list("job_id", flat=True))


def collections_of(job_ids: Iterable[int]) -> set[int]:
    return set(Job.objects.filter(pk__in=list(job_ids)).values_list("collection_id", flat=True))


def _held_by_notice() -> Q:
    return Q(hold_key__isnull=False, hold_key__startswith=NOTICE, state=Run.State.HELD)


def release(runs: Sequence[RunRow], now: datetime) -> None:
    """Release the newest of each job's held runs, or none if its policy drops them; skip the others."""
    end_holds([run.id for run in runs], now)
    by_job: dict[int, list[RunRow]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.fire_at, run.priority, run.id)):  # the order in which they would start
        by_job[run.job_id].append(run)
    dropping = set(
        JobMaintenancePolicy.objects.filter(job__in=by_job, on_end=JobMaintenancePolicy.OnEnd.DROP).values_list(
            "job_id", flat=True
        )
    )
    newest = {job_id: of_job[-1] for job_id, of_job in by_job.items() if job_id not in dropping}
    last = {job_id for job_id, of_job in by_job.items() if any(run.is_last for run in of_job)}
    for is_last in (True, False):
        released = [run.id for job_id, run in newest.items() if (job_id in last) is is_last]
        for batch in _batches(released):
            batch.publish(now, state=Run.State.WAITING, hold_key=None, reason="", is_last=is_last)
    skipped: dict[str, list[UUID]] = defaultdict(list)
    for run in runs:
        if newest.get(run.job_id) != run:
            end = DROPPED if run.job_id in dropping else SUPERSEDED
            skipped[run.reason[: REASON_LENGTH - len(end)] + end].append(run.id)
    for reason, ids in skipped.items():
        _update(ids, state=Run.State.SKIPPED, hold_key=None, reason=reason, finished_at=now)
    finish_jobs(last & dropping, Job.State.COMPLETED, now)


def _update(ids: Sequence[UUID], **changes: Any) -> None:
    for batch in _batches(ids):
        batch.update(**changes)


def _batches(ids: Sequence[UUID]) -> Iterator[RunQuerySet]:
    return (Run.objects.filter(pk__in=ids[start : start + BATCH]) for start in range(0, len(ids), BATCH))


# Runs that notices start, and notices that wait for runs


def start_jobs_for(notice: Notice, phase: NoticePhase, policies: Iterable[JobMaintenancePolicy], now: datetime) -> str:
    """Start a run of each job whose policy names this phase.  Return a text with the refused jobs; empty: none.

    The caller holds the exclusive lock.  The idempotency key allows one run for each job and phase, also if this is
    called again.
    """
    started, refused = [], []
    for policy in policies:
        if phase in policy.run_at_phases:
            try:
                run = run_now(policy.job, now, key=f"{notice_key(notice.pk)} {phase}")
                started.append(NoticeRun(notice=notice, phase=phase, run=run, job_name=policy.job.name))
            except RequestError as refusal:  # the job or its collection is stopped, so the run is not made either
                refused.append(f"not run: {refusal.message}")
    NoticeRun.objects.bulk_create(started, ignore_conflicts=True)
    return "; ".join(refused)


def is_idle(notice: Notice) -> bool:
    """Return True if the jobs that the notice concerns have no run that is going on or waits for a worker.

    Held runs do not count.
    """
    return not any(_match_policies(load_notices([notice]), _with_runs((Run.State.WAITING, *Run.BEGUN))))


def running_job_names(policies: Iterable[JobMaintenancePolicy]) -> list[str]:
    """Return the names of the jobs with a run that has begun and not ended, in order."""
    begun = Run.objects.filter(job__in=[policy.job_id for policy in policies], state__in=Run.BEGUN)
    return list(begun.order_by("job_name").values_list("job_name", flat=True).distinct())


def end_detail(notice: Notice) -> str | None:
    """Return a text that says how the runs ended that the notice's start has started.

    None: some of these runs have not ended, or there are none.
    """
    runs = notice.runs.filter(phase=NoticePhase.START)
    is_open = Q(run__state__in=Run.OPEN) | Q(run__error_run__state__in=Run.OPEN)
    if not runs.exists() or runs.filter(is_open).exists():
        return None
    unsuccessful = runs.filter(run__isnull=False).exclude(run__state=Run.State.SUCCEEDED)
    failed = list(unsuccessful.values_list("job_name", flat=True))
    return f"its work has ended, without success: {', '.join(failed)}" if failed else "its work has ended"


# Policies of jobs


def set_policy(job: Job, values: PolicyInput, now: datetime) -> JobMaintenancePolicy:
    """Set the maintenance policy of the job, and release held runs that nothing holds any more.

    Raises MaintenanceError while the collection of the job is being deleted.
    """
    with locking.exclusive_lock([job.collection_id]):
        _refuse_deleted(job)
        row, _ = JobMaintenancePolicy.objects.update_or_create(job=job, defaults=values.fields())
        sync_holds([job.pk], now)
    return row


def clear_policy(job: Job, now: datetime) -> None:
    """Delete the maintenance policy of the job, so that the job does nothing about maintenance.

    Raises MaintenanceError while the collection of the job is being deleted.
    """
    with locking.exclusive_lock([job.collection_id]):
        _refuse_deleted(job)
        JobMaintenancePolicy.objects.filter(job=job).delete()
        sync_holds([job.pk], now)


def rename_resource(subscription_id: UUID, old_name: str, new_name: str) -> None:
    """Replace the old name of a resource by the new one in the policies of all jobs of a subscription."""
    rows = JobMaintenancePolicy.objects.filter(may_name([old_name]), job__collection__subscription=subscription_id)
    renamed = list(rows.only("resource_names"))
    for row in renamed:
        names = [new_name if name == old_name else name for name in row.resource_names]
        row.resource_names = list(dict.fromkeys(names))
    JobMaintenancePolicy.objects.bulk_update(renamed, ["resource_names"], batch_size=BATCH)


def _refuse_deleted(job: Job) -> None:
    collection = JobCollection.objects.get(jobs=job)
    if collection.state == JobCollection.State.DELETED:
        raise MaintenanceError(f"collection {collection.name!r} is being deleted", code="conflict")
