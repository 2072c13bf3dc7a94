"""What jobs do about maintenance: hold their runs, run at a step of it, or let it wait for them.

A held run is a row with the reason; it goes on, or is skipped, when nothing holds it any more.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from jobs.errors import JobError
from jobs.finishing import finish_jobs
from jobs.models import Job, Run
from jobs.run_now import run_now
from maintenance.models import Heed, Notice

ANNOUNCE, START, COMPLETE, CANCEL = "announce", "start", "complete", "cancel"
STEPS = (ANNOUNCE, START, COMPLETE, CANCEL)


def heeds_of(notice: Notice) -> list[Heed]:
    """How jobs of the subscription heed this notice: those that name one of its resources, or its labels."""
    heeds = Heed.objects.filter(job__collection__subscription=notice.subscription_id)
    affected = affected_by(notice)
    return [heed for heed in heeds.select_related("job__collection") if _names(heed, affected)]


def affected_by(notice: Notice) -> list[tuple[str, dict]]:
    """The names and labels of its resources."""
    return [(each.name, each.resource.labels if each.resource else {}) for each in notice.affected.all()]


def _names(heed: Heed, affected: Iterable[tuple[str, dict]]) -> bool:
    wanted = set(heed.labels.items())
    return any(name in heed.resource_names or (wanted and wanted <= set(labels.items())) for name, labels in affected)


def react(notice: Notice, step: str, now: datetime) -> None:
    """Order the runs of jobs that hang on this step.  The order's key makes it one, however often it is given."""
    for heed in heeds_of(notice):
        if step in heed.run_on:
            try:
                run_now(heed.job, now, key=f"notice {notice.pk} {step}")
            except JobError:  # the job or its collection is stopped, which stops this as well
                continue


def running(notice: Notice) -> list[str]:
    """The names of the jobs that heed the notice and have a run which has begun and not ended."""
    jobs = [heed.job_id for heed in heeds_of(notice)]
    going = Run.objects.filter(job__in=jobs, state__in=(Run.State.RUNNING, Run.State.RETRYING)).order_by("job_name")
    return list(going.values_list("job_name", flat=True).distinct())


# Holding


def holding(job_ids: Collection[int], now: datetime) -> dict[int, Notice]:
    """Those of the jobs whose due fire times are held at `now`, each with a notice that holds it.

    A job that holds does so from its lead time before not-before until the end.  A notice that waits for its resources
    to become idle holds every job that names them, until it starts.
    """
    notices = list(Notice.objects.shown().prefetch_related("affected__resource"))
    if not notices:
        return {}
    heeds = list(Heed.objects.filter(job__in=job_ids).select_related("job__collection"))
    return {heed.job_id: notice for heed in heeds for notice in notices if holds(notice, heed, now)}


def holds(notice: Notice, heed: Heed, at: datetime) -> bool:
    """Whether a fire time at `at` is held, as far as is known now: a notice's end is not known beforehand."""
    if heed.job.collection.subscription_id != notice.subscription_id or not _names(heed, affected_by(notice)):
        return False
    if notice.status == Notice.Status.SCHEDULED and notice.approve_when_idle:
        return True
    if heed.during != Heed.During.HOLD:
        return False
    return notice.status == Notice.Status.STARTED or at >= notice.not_before - heed.lead


def key_of(notice: Notice) -> str:
    return f"notice {notice.pk}"


def reason_of(notice: Notice) -> str:
    names = ", ".join(name for name, _ in affected_by(notice))
    return f"held by maintenance: {notice.event_type} of {names}"[:200]


def hold_waiting(now: datetime) -> None:
    """Hold the runs that wait for a worker while their job is held: they were dispatched before it was."""
    heeding = list(Heed.objects.values_list("job_id", flat=True)) if Notice.objects.shown().exists() else []
    for job_id, notice in holding(heeding, now).items():
        waiting = Run.objects.filter(job=job_id, state=Run.State.WAITING, origin=Run.Origin.SCHEDULE)
        waiting.update(state=Run.State.HELD, held_by=key_of(notice), reason=reason_of(notice))


def release(notice: Notice, now: datetime) -> None:
    """Let go of what the notice holds, unless something else holds it: the newest runs, or none, as the job says."""
    held = Run.objects.filter(held_by=key_of(notice), state=Run.State.HELD)
    jobs = set(held.values_list("job_id", flat=True))
    still = holding(jobs, now)
    policies = dict(Heed.objects.filter(job__in=jobs).values_list("job_id", "after"))
    for job_id in jobs:
        of_job = held.filter(job=job_id)
        if job_id in still:
            of_job.update(held_by=key_of(still[job_id]), reason=reason_of(still[job_id]))
            continue
        if policies.get(job_id) != Heed.After.DROP:
            newest = of_job.order_by("-fire_at", "-pk").values_list("pk", flat=True)[:1]
            Run.objects.filter(pk__in=list(newest), state=Run.State.HELD).update(
                state=Run.State.WAITING, held_by=None, reason="", publish_after=now
            )
        skip(of_job, now)


def skip(held, now: datetime) -> None:
    """What was held and does not run after all is over."""
    rows = list(held.values_list("pk", "job_id", "is_last"))
    Run.objects.filter(pk__in=[pk for pk, *_ in rows], state=Run.State.HELD).update(
        state=Run.State.SKIPPED, held_by=None, finished_at=now
    )
    finish_jobs([job_id for _, job_id, is_last in rows if is_last and job_id], Job.State.COMPLETED, now)
