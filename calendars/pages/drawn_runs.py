"""What is drawn of jobs in a window: runs and fire times to come one by one, and the days of frequent jobs as bands.

One query, for the rows of those jobs that a day can show one by one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import accumulate, islice, pairwise
from operator import or_
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext

from calendars.pages.bands import Stretch, fractions, notches
from calendars.pages.items import Band, RunItem, hue_of
from calendars.pages.jobs_in_view import Coming, JobInView, Scope
from jobs import words
from jobs.models import Run
from jobs.outcomes import SUCCEEDED_LATE, Outcome, outcome_of
from recurrence.schedules import LAST_INSTANT, between

HALF_HOUR = timedelta(minutes=30)
MOST_RUNS = 10_000  # that are shown one by one
GAPS = 3  # equal ones in a row say how often a trigger fires
ANY_RUN, ANY_FIRE = UUID(int=0), (0, "when")


# One by one


class Addresses(NamedTuple):
    """Where a click on an item leads, with gaps for what names it: reversing each would take longer than all else."""

    run: str
    planned: str

    @classmethod
    def now(cls) -> Self:
        run = reverse("calendar:run", args=[ANY_RUN]).removesuffix(str(ANY_RUN))
        planned = reverse("calendar:planned", args=ANY_FIRE).removesuffix("/".join(map(str, ANY_FIRE)))
        return cls(f"{run}%s", f"{planned}%s/%s")


def drawable(jobs: Iterable[JobInView]) -> list[JobInView]:
    """The jobs for whose single runs there is room: first those that failed, then those that run seldom."""
    sizes = {job.id: job.drawn_count for job in jobs}
    in_order = sorted((job for job in jobs if sizes[job.id]), key=lambda job: (not job.failed, sizes[job.id]))
    ends = accumulate(sizes[job.id] for job in in_order)
    return [job for job, end in zip(in_order, ends, strict=True) if end <= MOST_RUNS]


def drawn_runs(scope: Scope, jobs: Sequence[JobInView]) -> list[RunItem]:
    """The runs of days on which their job is not frequent."""
    by_id = {job.id: job for job in jobs}
    addresses = Addresses.now()
    runs: list[RunItem] = []
    taken = set()
    for run in rows_of(scope, jobs):
        taken.add((run.job_id, run.trigger_name, run.fire_at))
        runs += items_of(scope, by_id[run.job_id], run, addresses)
    for job in jobs:
        for number, fire, trigger in job.fires:
            if not job.tallies[number].is_frequent and (job.id, trigger.trigger_name, fire) not in taken:
                runs.append(planned_item(trigger, fire, scope.now, addresses))
    return runs


def rows_of(scope: Scope, jobs: Sequence[JobInView]) -> Iterable[Any]:
    """One query, which reads few rows of jobs that are also frequent.  The jobs are those that the user may see."""
    windows: dict[tuple[datetime, datetime], list[int]] = defaultdict(list)
    stretched = []
    for job in jobs:
        days = [number for number in job.drawn_days if job.tallies[number].past]
        if days and job.shares:
            stretched.append(job.id)
        if days and not job.has_band:
            windows[scope.start, scope.end].append(job.id)
        else:
            for number in days:
                windows[scope.part_of(scope.days[number])].append(job.id)
    if not windows:
        return []
    parts = [
        Q(job__in=ids, fire_at__gte=low, fire_at__lt=high, missed_until=None) for (low, high), ids in windows.items()
    ]
    if stretched:
        parts.append(Q(job__in=stretched, missed_until__gte=scope.start, fire_at__lt=scope.end))
    rows = Run.objects.filter(reduce(or_, parts), state__in=scope.states)
    return rows.annotate(name=F("job__name"), collection_id=F("job__collection_id")).only(
        *("job_id", "trigger_name", "fire_at", "state", "reason", "missed_count", "missed_until"),
        *("attempt_count", "started_at", "finished_at"),
    )


def items_of(scope: Scope, job: JobInView, run: Any, addresses: Addresses) -> Iterator[RunItem]:
    """A row as one item, or one for each day that it stands for."""
    item = run_item(run, scope.now, addresses)
    if run.missed_until is None:
        yield item
        return
    stretch = Stretch(whole_second(run.fire_at), whole_second(run.missed_until), run.missed_count)
    for number, count in job.shares.get(stretch, {}).items():
        if count and not job.tallies[number].is_frequent:
            at = max(run.fire_at, scope.part_of(scope.days[number])[0])
            yield replace(item, key=f"{item.key}-{number}", at=at, count=count)


def run_item(run: Any, now: datetime, addresses: Addresses) -> RunItem:
    """`run` also has the `name` and the `collection_id` of its job."""
    outcome = outcome_of(run)
    began = run.started_at is not None and (run.finished_at or run.state in (Run.State.RUNNING, Run.State.FOLLOWING))
    return RunItem(
        key=f"run-{run.pk.hex}",
        job_id=run.job_id,
        name=run.name,
        collection_id=run.collection_id,
        hue=hue_of(run.collection_id),
        at=run.fire_at,
        end=run.fire_at + ((run.finished_at or now) - run.started_at) if began else None,
        state=outcome.mark,
        word=word_of(run, outcome),
        reason=run.reason,
        run_id=run.pk,
        trigger_name=run.trigger_name,
        url=addresses.run % run.pk,
    )


def word_of(run: Run, outcome: Outcome) -> str:
    if outcome is SUCCEEDED_LATE and run.started_at:
        return gettext("Late by %s") % words.span(run.started_at - run.fire_at)
    if run.state == Run.State.FAILED and run.attempt_count > 1:
        return gettext("Failed after %d attempts") % run.attempt_count
    return gettext(outcome.word)


def planned_item(trigger: Coming, fire: datetime, now: datetime, addresses: Addresses) -> RunItem:
    """A fire time to come, or one that has come and was not taken yet."""
    state, word = ("planned", gettext("Planned")) if fire > now else ("waiting", gettext("Due"))
    instant = fire.isoformat().replace("+00:00", "Z")
    return RunItem(
        key=f"planned-{trigger.trigger_id}-{instant}",
        job_id=trigger.job_id,
        name=trigger.name,
        collection_id=trigger.collection_id,
        hue=hue_of(trigger.collection_id),
        at=fire,
        end=fire + trigger.last_took if trigger.last_took is not None else None,
        state=state,
        word=word,
        reason="",
        run_id=None,
        trigger_name=trigger.trigger_name,
        url=addresses.planned % (trigger.trigger_id, instant),
    )


def whole_second(instant: datetime) -> datetime:
    return instant.replace(microsecond=0)


# Summed up


def bands_of(scope: Scope, job: JobInView) -> Iterator[Band]:
    """One for each day on which the job is frequent."""
    if not job.has_band:
        return
    url = reverse("admin:jobs_job_page", args=[job.id]) if scope.user.is_staff else ""
    every = how_often(job.triggers, scope.start)
    for number, tally in job.tallies.items():
        if not tally.is_frequent:
            continue
        day = scope.days[number]
        until = day.second(scope.now) if scope.now < day.end else None
        yield Band(
            job_id=job.id,
            name=job.name,
            collection_id=job.collection_id,
            hue=hue_of(job.collection_id),
            day=day.date,
            every=every,
            total=tally.total,
            done=tally.done,
            failed=tally.failed,
            ran=fractions(tally.ran, day.seconds, until),
            held=fractions(tally.held, day.seconds, until),
            will=fractions(tally.will, day.seconds),
            fell=notches(tally),
            url=url,
        )


def how_often(triggers: Sequence[Coming], start: datetime) -> str:
    """Every 5 min; nothing of several triggers, or of one that has no beat."""
    schedule = triggers[0].schedule if len(triggers) == 1 else None
    if schedule is None:
        return ""
    fires = list(islice(between(schedule, start, LAST_INSTANT), GAPS + 1))
    gaps = {later - earlier for earlier, later in pairwise(fires)}
    if len(fires) <= GAPS or len(gaps) > 1 or max(gaps) > HALF_HOUR:
        return ""
    return gettext("every %s") % words.took(gaps.pop())
