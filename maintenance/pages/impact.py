"""The impact of notices on jobs: the live runs on their resources, and the runs that they hold or will hold.

The number of queries does not depend on the number of notices.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Count, prefetch_related_objects

from jobs.models import Job, Run
from maintenance import holds
from maintenance.models import JobMaintenancePolicy, Notice
from recurrence.schedules import just_before
from triggers.gates import HoldWindow, notice_key

HORIZON = timedelta(days=1)  # runs to be held are looked for until this long after the start or the expected end


@dataclass(frozen=True, slots=True)
class UpcomingHold:
    """A job whose planned runs from `at` on are going to be held."""

    job: Job
    at: datetime
    is_dropped: bool  # False: the job runs once after the end


@dataclass(frozen=True, slots=True)
class Impact:
    """The impact of one notice on jobs."""

    running: tuple[Run, ...] = ()  # runs that have begun and not ended
    upcoming_holds: tuple[UpcomingHold, ...] = ()  # earliest first
    held_run_count: int = 0  # number of runs that the notice already holds
    holding_job_count: int = 0  # number of jobs that hold their planned runs while the notice lasts
    started_job_counts: Counter[str] = field(
        default_factory=Counter
    )  # NoticePhase -> number of jobs that it starts once


def impact_of(notices: Sequence[Notice], now: datetime) -> Mapping[UUID, Impact]:
    """Return the impact of each of these notices on jobs at `now`.  The notices are scheduled or started."""
    if not notices:
        return {}
    running, matching = holds.running_runs(notices), holds.matching_policies(notices)
    jobs = list({policy.job_id: policy.job for policies in matching.values() for policy in policies}.values())
    prefetch_related_objects(jobs, "triggers")
    until = max(_horizon(notice, now) for notice in notices)
    windows = holds.upcoming_holds([job.pk for job in jobs], now, until, now)
    held = _count_held(notices)
    return {
        notice.pk: Impact(
            running=tuple(running.get(notice.pk, ())),
            upcoming_holds=_upcoming_holds(notice, jobs, windows, now),
            held_run_count=held[notice.pk],
            holding_job_count=sum(
                policy.on_notice == JobMaintenancePolicy.OnNotice.HOLD for policy in matching[notice.pk]
            ),
            started_job_counts=Counter(phase for policy in matching[notice.pk] for phase in policy.run_at_phases),
        )
        for notice in notices
    }


def _horizon(notice: Notice, now: datetime) -> datetime:
    return max(now, notice.begins_at, notice.ends_at or now) + HORIZON


def _count_held(notices: Sequence[Notice]) -> Counter[UUID]:
    keys = {notice_key(notice.pk): notice.pk for notice in notices}
    rows = Run.objects.filter(hold_key__in=keys, state=Run.State.HELD).order_by().values_list("hold_key")
    return Counter({keys[key]: count for key, count in rows.annotate(count=Count("pk"))})


def _upcoming_holds(
    notice: Notice, jobs: Sequence[Job], windows: Mapping[int, Sequence[HoldWindow]], now: datetime
) -> tuple[UpcomingHold, ...]:
    upcoming = [
        UpcomingHold(job, fire, window.is_dropped)
        for job in jobs
        for window in windows.get(job.pk, ())
        if window.key == notice_key(notice.pk)
        and (fire := first_fire(job, max(now, window.start), window.end or _horizon(notice, now)))
    ]
    return tuple(sorted(upcoming, key=lambda each: each.at))


def first_fire(job: Job, start: datetime, end: datetime) -> datetime | None:
    """Return the first planned fire time of the job in [start, end), or None.  Planned fire times are after now."""
    fires = [fire for trigger in job.triggers.all() if (fire := _first_of(trigger, start)) and fire < end]
    return min(fires, default=None)


def _first_of(trigger, start: datetime) -> datetime | None:
    """Return the first fire time of a trigger at or after `start`; None if the trigger is stopped or has no more."""
    if trigger.next_fire_at is None or trigger.next_fire_at >= start:
        return trigger.next_fire_at
    schedule = trigger.schedule_or_none
    return schedule.after(just_before(start.astimezone(UTC))) if schedule else None
