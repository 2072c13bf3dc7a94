"""What jobs do about maintenance: hold their runs, run at a step of it, or let it wait for them.

A held run is a row with the reason; it goes on, or is skipped, when nothing holds it any more.  What is held are runs
by schedule that have not begun.  One that has begun goes on with its retries, and what somebody orders, or a step of a
notice does, is an order: it goes through.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, Q, QuerySet

from jobs.errors import JobError
from jobs.finishing import finish_jobs
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from maintenance import turns
from maintenance.errors import MaintenanceError
from maintenance.matching import may_concern
from maintenance.models import Affected, Heed, Notice, Step, Work
from maintenance.spells import PREFIX, REASON_LENGTH, Spell, Told, key_of
from maintenance.wishes import Wish

SUPERSEDED = ": a later fire time ran for it"
DROPPED = ": dropped at the end of it"
BATCH = 500  # rows of one statement


# Whom a notice concerns


def told(notices: Collection[Notice]) -> list[Told]:
    """The notices with what they affect, in one query."""
    affected: dict[UUID, list[tuple[str, dict[str, str]]]] = {notice.pk: [] for notice in notices}
    rows = Affected.objects.filter(notice__in=list(affected)).order_by("pk")
    for notice_id, name, labels in rows.values_list("notice_id", "name", "resource__labels"):
        affected[notice_id].append((name, labels or {}))
    return [Told(notice, affected[notice.pk]) for notice in notices]


def told_of_shown() -> list[Told]:
    """All that is announced and not over, as it was announced; in one query, also when there is none."""
    return told_in(Notice.objects.filter(status__in=Notice.SHOWN))


def told_in(rows: QuerySet[Notice]) -> list[Told]:
    """These notices in the order in which they were announced; in one query."""
    notices: dict[UUID, Notice] = {}
    affected = defaultdict(list)
    # from notices to what they affect: the other way about, SQLite would walk through all that were ever affected
    rows = rows.annotate(named=F("affected__name"), labelled=F("affected__resource__labels"))
    for row in rows.order_by("announced_at", "pk", "affected__pk"):
        notices.setdefault(row.pk, row)
        if row.named is not None:
            affected[row.pk].append((row.named, row.labelled or {}))
    return [Told(notice, affected[notice_id]) for notice_id, notice in notices.items()]


def concerned(notices: Collection[Notice]) -> dict[UUID, list[Heed]]:
    """By notice, how jobs of its subscription heed it: those that name one of its resources, or its labels."""
    found: dict[UUID, list[Heed]] = {notice.pk: [] for notice in notices}
    for heed, concerning in _matched(told(notices), Heed.objects.select_related("job__collection")):
        for each in concerning:
            found[each.notice.pk].append(heed)
    return found


def going(notices: Collection[Notice]) -> dict[UUID, list[Run]]:
    """By notice, the runs of jobs that it concerns which have begun and not ended, the longest going first."""
    jobs: dict[UUID, set[int]] = {notice.pk: set() for notice in notices}
    for heed, concerning in _matched(told(notices), _with_runs(Run.BEGUN)):
        for each in concerning:
            jobs[each.notice.pk].add(heed.job_id)
    runs = Run.objects.filter(job__in=set().union(*jobs.values()), state__in=Run.BEGUN)
    begun = list(runs.order_by("started_at", "pk"))
    return {notice_id: [run for run in begun if run.job_id in ids] for notice_id, ids in jobs.items()}


def _with_runs(states: Collection[str]) -> QuerySet[Heed]:
    """How the jobs heed maintenance that have a run in one of the states: few, however many jobs there are."""
    return Heed.objects.filter(job__in=Run.objects.filter(state__in=states).values("job"))


def _matched(all_told: Collection[Told], heeds: QuerySet[Heed]) -> Iterator[tuple[Heed, list[Told]]]:
    """How jobs heed maintenance, by their names, each with what concerns it."""
    by_subscription: dict[UUID, list[Told]] = defaultdict(list)
    for each in all_told:
        by_subscription[each.notice.subscription_id].append(each)
    in_reach = may_concern(all_told)
    rows = heeds.filter(in_reach, job__collection__subscription__in=by_subscription).order_by("job__name", "pk")
    for heed in rows.annotate(subscription=F("job__collection__subscription_id")):
        if concerning := [each for each in by_subscription[heed.subscription] if each.concerns(heed)]:
            yield heed, concerning


# What is held


def holding(now: datetime, job_ids: Collection[int]) -> dict[int, Told]:
    """Those of the jobs whose due fire times are held at `now`, each with the first that holds it.

    A job that holds does so from its lead time before not-before until the end.  A notice that waits for its resources
    to become idle holds every job that names them, until it starts.
    """
    return _holding(now, _shown_to(job_ids))


def _holding(now: datetime, matched: Iterable[tuple[Heed, list[Told]]]) -> dict[int, Told]:
    return {heed.job_id: each for heed, concerning in matched for each in reversed(concerning) if each.holds(heed, now)}


def forecast(
    job_ids: Collection[int], start: datetime, end: datetime, now: datetime, all_told: Collection[Told] | None = None
) -> dict[int, list[Spell]]:
    """By job, the spells within [start, end) in which its fire times are going to be held, earliest first.

    Says what is known at `now`.  Two queries however many jobs, and one when there is no notice; one less when what
    is announced is brought.
    """
    spells: dict[int, list[Spell]] = defaultdict(list)
    for heed, concerning in _shown_to(job_ids, all_told):
        for each in concerning:
            spell = each.spell(heed, now)
            if spell and spell.overlaps(start, end):
                spells[heed.job_id].append(spell)
    return {job_id: sorted(found, key=lambda spell: spell.start) for job_id, found in spells.items()}


def _shown_to(job_ids: Collection[int], all_told: Collection[Told] | None = None) -> Iterable[tuple[Heed, list[Told]]]:
    """How the jobs heed what is shown, each with what concerns it in the order in which it was announced."""
    if all_told is None:
        all_told = told_of_shown()
    return _matched(all_told, Heed.objects.filter(job__in=job_ids)) if all_told else ()


# Holding, and letting go


class Waiting(NamedTuple):
    """A run that is held, or may have to be."""

    id: UUID
    job_id: int
    fire_at: datetime
    priority: int
    is_last: bool
    held_by: str | None
    reason: str


def settle(job_ids: Collection[int], now: datetime) -> None:
    """Hold what waits for a worker of those jobs that are held, and let go of what is held for no reason any more.

    Within a turn.
    """
    held = holding(now, job_ids)
    waiting = Q(state=Run.State.WAITING, origin=Run.Origin.SCHEDULE)
    rows = Run.objects.filter(waiting | _held(), job__in=job_ids).in_turn()
    runs = [Waiting(*row) for row in rows.values_list(*Waiting._fields)]
    for each in {by.key: by for by in held.values()}.values():
        missing = [run.id for run in runs if held.get(run.job_id) is each and run.held_by != each.key]
        _update(missing, state=Run.State.HELD, held_by=each.key, reason=each.reason)
    _let_go([run for run in runs if run.held_by and run.job_id not in held], now)


def settle_all(now: datetime) -> None:
    """The same for every job: what began to be held because time passed, or ceased because somebody changed something.

    Takes a turn only if there is something to do.
    """
    held = _holding(now, _matched(told_of_shown(), _with_runs((Run.State.WAITING, Run.State.HELD))))
    waiting = Run.objects.filter(state=Run.State.WAITING, origin=Run.Origin.SCHEDULE)  # not of these: their history
    jobs = held.keys() & set(waiting.values_list("job_id", flat=True)) if held else set()
    rows = set(Run.objects.filter(_held()).values_list("job_id", "held_by").distinct())
    jobs |= {job_id for job_id, key in rows if job_id and (job_id not in held or held[job_id].key != key)}
    if jobs:
        with turns.alone(collections_of(jobs)):
            settle(jobs, now)
    if None in {job_id for job_id, _ in rows}:  # made while their job was deleted
        ended = {"state": Run.State.CANCELLED, "held_by": None, "reason": "the job was deleted", "finished_at": now}
        Run.objects.filter(_held(), job=None).update(**ended)


def held_by(notice: Notice) -> set[int]:
    """The jobs of the runs that a notice holds."""
    runs = Run.objects.filter(held_by=key_of(notice), state=Run.State.HELD).exclude(job=None)
    return set(runs.values_list("job_id", flat=True))


def collections_of(job_ids: Iterable[int]) -> set[int]:
    return set(Job.objects.filter(pk__in=list(job_ids)).values_list("collection_id", flat=True))


def _held() -> Q:
    return Q(held_by__isnull=False, held_by__startswith=PREFIX, state=Run.State.HELD)


def _let_go(runs: Sequence[Waiting], now: datetime) -> None:
    """Of each job's runs the newest goes on, or none, as the job says; the others are skipped."""
    by_job: dict[int, list[Waiting]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.fire_at, run.priority, run.id)):  # the order in which they would begin
        by_job[run.job_id].append(run)
    dropping = set(Heed.objects.filter(job__in=by_job, after=Heed.After.DROP).values_list("job_id", flat=True))
    newest = {job_id: of_job[-1] for job_id, of_job in by_job.items() if job_id not in dropping}
    last = {job_id for job_id, of_job in by_job.items() if any(run.is_last for run in of_job)}
    for is_last in (True, False):
        going_on = [run.id for job_id, run in newest.items() if (job_id in last) is is_last]
        released = {"state": Run.State.WAITING, "held_by": None, "reason": "", "publish_after": now}
        _update(going_on, **released, is_last=is_last)
    skipped: dict[str, list[UUID]] = defaultdict(list)
    for run in runs:
        if newest.get(run.job_id) != run:
            end = DROPPED if run.job_id in dropping else SUPERSEDED
            skipped[run.reason[: REASON_LENGTH - len(end)] + end].append(run.id)
    for reason, ids in skipped.items():
        _update(ids, state=Run.State.SKIPPED, held_by=None, reason=reason, finished_at=now)
    finish_jobs(last & dropping, Job.State.COMPLETED, now)


def _update(ids: Sequence[UUID], **changes: Any) -> None:
    for start in range(0, len(ids), BATCH):
        Run.objects.filter(pk__in=ids[start : start + BATCH]).update(**changes)


# Attached work, and waiting for the end of runs


def react(notice: Notice, step: Step, heeds: Iterable[Heed], now: datetime) -> str:
    """Order the runs of the jobs that hang on this step, and say which could not be, in words.

    Within a turn.  The order's key makes it one, however often it is given.
    """
    ordered, refused = [], []
    for heed in heeds:
        if step in heed.run_on:
            try:
                run = run_now(heed.job, now, key=f"{key_of(notice)} {step}")
                ordered.append(Work(notice=notice, step=step, run=run, job_name=heed.job.name))
            except JobError as refusal:  # the job or its collection is stopped, which stops this as well
                refused.append(f"not run: {refusal.message}")
    Work.objects.bulk_create(ordered, ignore_conflicts=True)
    return "; ".join(refused)


def is_idle(notice: Notice) -> bool:
    """Whether no run is left on its resources that is going on, or that somebody ordered.  Held ones do not count."""
    return not any(_matched(told([notice]), _with_runs((Run.State.WAITING, *Run.BEGUN))))


def names_of_going(heeds: Iterable[Heed]) -> list[str]:
    """The names of the jobs with a run that has begun and not ended."""
    begun = Run.objects.filter(job__in=[heed.job_id for heed in heeds], state__in=Run.BEGUN)
    return list(begun.order_by("job_name").values_list("job_name", flat=True).distinct())


def end_of_work(notice: Notice) -> str | None:
    """How the work ended that the notice's start ordered, in words; None: it has not, or there is none."""
    work = notice.work.filter(step=Step.START)
    still = Q(run__state__in=Run.OPEN) | Q(run__error_run__state__in=Run.OPEN)
    if not work.exists() or work.filter(still).exists():
        return None
    unsuccessful = work.filter(run__isnull=False).exclude(run__state=Run.State.SUCCEEDED)
    failed = list(unsuccessful.values_list("job_name", flat=True))
    return f"its work has ended, without success: {', '.join(failed)}" if failed else "its work has ended"


# What a job says


def heed(job: Job, wish: Wish, now: datetime) -> Heed:
    """Let the job do this about maintenance from now on; runs that are held for no reason any more are let go.

    Raises MaintenanceError while its collection is being deleted.
    """
    with turns.alone([job.collection_id]):
        _refuse_deleted(job)
        row, _ = Heed.objects.update_or_create(job=job, defaults=wish.fields())
        settle([job.pk], now)
    return row


def ignore(job: Job, now: datetime) -> None:
    """Let the job do nothing about maintenance."""
    with turns.alone([job.collection_id]):
        _refuse_deleted(job)
        Heed.objects.filter(job=job).delete()
        settle([job.pk], now)


def _refuse_deleted(job: Job) -> None:
    collection = JobCollection.objects.get(jobs=job)
    if collection.state == JobCollection.State.DELETED:
        raise MaintenanceError(f"collection {collection.name!r} is being deleted", code="conflict")
