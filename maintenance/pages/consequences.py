"""What notices mean for jobs: the runs that are live on their resources, and those that they hold or will hold.

The number of queries is the same however many notices there are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Count, prefetch_related_objects

from jobs.models import Job, Run
from maintenance import heeding
from maintenance.models import Heed, Notice
from maintenance.spells import Spell, key_of
from recurrence.schedules import just_before
from recurrence.wire import WireError

HORIZON = timedelta(days=1)  # so long after not-before one looks for runs to be held, or until the expected end


@dataclass(frozen=True, slots=True)
class ToBeHeld:
    """A job whose planned runs from `at` on are going to be held."""

    job: Job
    at: datetime
    is_dropped: bool  # rather than run once after the end


@dataclass(frozen=True, slots=True)
class Consequences:
    live: tuple[Run, ...] = ()
    to_be_held: tuple[ToBeHeld, ...] = ()  # by time
    held: int = 0  # runs that it holds already
    holding: int = 0  # jobs that hold their planned runs while it lasts
    ordered: Counter[str] = field(default_factory=Counter)  # jobs that run once because of each Step


def consequences_of(notices: Sequence[Notice], now: datetime) -> Mapping[UUID, Consequences]:
    """What each of these notices, which are scheduled or started, means for jobs at `now`."""
    if not notices:
        return {}
    going, concerned = heeding.going(notices), heeding.concerned(notices)
    jobs = list({heed.job_id: heed.job for heeds in concerned.values() for heed in heeds}.values())
    prefetch_related_objects(jobs, "triggers")
    until = max(_horizon(notice, now) for notice in notices)
    spells = heeding.forecast([job.pk for job in jobs], now, until, now)
    held = _held(notices)
    return {
        notice.pk: Consequences(
            live=tuple(going.get(notice.pk, ())),
            to_be_held=_to_be_held(notice, jobs, spells, now),
            held=held[notice.pk],
            holding=sum(heed.during == Heed.During.HOLD for heed in concerned[notice.pk]),
            ordered=Counter(step for heed in concerned[notice.pk] for step in heed.run_on),
        )
        for notice in notices
    }


def _horizon(notice: Notice, now: datetime) -> datetime:
    return max(now, notice.begins_at, notice.ends_at or now) + HORIZON


def _held(notices: Sequence[Notice]) -> Counter[UUID]:
    keys = {key_of(notice): notice.pk for notice in notices}
    rows = Run.objects.filter(held_by__in=keys, state=Run.State.HELD).order_by().values_list("held_by")
    return Counter({keys[key]: count for key, count in rows.annotate(count=Count("pk"))})


def _to_be_held(
    notice: Notice, jobs: Sequence[Job], spells: Mapping[int, Sequence[Spell]], now: datetime
) -> tuple[ToBeHeld, ...]:
    found = [
        ToBeHeld(job, fire, spell.after == Heed.After.DROP)
        for job in jobs
        for spell in spells.get(job.pk, ())
        if spell.notice.pk == notice.pk
        and (fire := first_fire(job, max(now, spell.start), spell.end or _horizon(notice, now)))
    ]
    return tuple(sorted(found, key=lambda each: each.at))


def first_fire(job: Job, start: datetime, end: datetime) -> datetime | None:
    """The first planned fire time of the job in [start, end); what is planned comes after now."""
    fires = [fire for trigger in job.triggers.all() if (fire := _first_of(trigger, start)) and fire < end]
    return min(fires, default=None)


def _first_of(trigger, start: datetime) -> datetime | None:
    """The first fire time of a trigger from `start` on; None while it is stopped."""
    if trigger.next_fire_at is None or trigger.next_fire_at >= start:
        return trigger.next_fire_at
    try:
        return trigger.parsed.schedule.after(just_before(start.astimezone(UTC)))
    except WireError:  # written when the format was read more generously
        return None
