"""Build the items of jobs in a window: runs and future fire times one by one, and bands for days of frequent jobs.

One query, for the runs of jobs that are not frequent on every day.
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

from calendars.items import Band, RunItem, hue_of
from calendars.pages.frequent_runs import Span, spans_as_fractions, tick_positions
from calendars.pages.job_windows import JobWindow, UpcomingTrigger, WindowQuery
from jobs import humanize
from jobs.badges import SUCCEEDED_LATE, Badge, outcome_of
from jobs.models import Run
from recurrence.jitter import latest_start
from recurrence.moves import moved_from
from recurrence.schedules import LAST_INSTANT, between
from recurrence.zones import NOTHING
from triggers.models import delayed

HALF_HOUR = timedelta(minutes=30)
MOST_RUNS = 5_000  # runs that are drawn one by one
GAPS = 3  # a trigger has a regular interval if this many gaps in a row are equal
ANY_RUN, ANY_FIRE = UUID(int=0), (0, "when")


# Single runs


class Addresses(NamedTuple):
    """The addresses of items, with placeholders for ids.

    One call of `reverse` per item would take longer than everything else.
    """

    run: str
    planned: str

    @classmethod
    def resolve(cls) -> Self:
        run = reverse("calendar:run", args=[ANY_RUN]).removesuffix(str(ANY_RUN))
        planned = reverse("calendar:planned", args=ANY_FIRE).removesuffix("/".join(map(str, ANY_FIRE)))
        return cls(f"{run}%s", f"{planned}%s/%s")


def drawable(jobs: Iterable[JobWindow]) -> list[JobWindow]:
    """Return the jobs whose runs are drawn one by one: first jobs with failures, then jobs that run seldom.

    Together they have at most MOST_RUNS runs.
    """
    sizes = {job.id: job.drawn_count for job in jobs}
    in_order = sorted((job for job in jobs if sizes[job.id]), key=lambda job: (not job.failed_count, sizes[job.id]))
    ends = accumulate(sizes[job.id] for job in in_order)
    return [job for job, end in zip(in_order, ends, strict=True) if end <= MOST_RUNS]


def drawn_runs(query: WindowQuery, jobs: Sequence[JobWindow]) -> list[RunItem]:
    """Return the runs of the jobs on days on which they are not frequent."""
    by_id = {job.id: job for job in jobs}
    addresses = Addresses.resolve()
    runs: list[RunItem] = []
    stored = set()
    for run in rows_of(query, jobs):
        stored.add((run.job_id, run.trigger_name, run.fire_at))
        runs += items_of(query, by_id[run.job_id], run, addresses)
    for job in jobs:
        for number, fire, trigger in job.fires:
            if not job.counts_by_day[number].is_frequent and (job.id, trigger.trigger_name, fire) not in stored:
                runs.append(planned_item(trigger, fire, query.now, addresses))
    return runs


def rows_of(query: WindowQuery, jobs: Sequence[JobWindow]) -> Iterable[Any]:
    """Return the stored runs to draw, with one query that reads few rows of jobs that are also frequent.

    The user may see all of `jobs`; this is not checked again.
    """
    windows: dict[tuple[datetime, datetime], list[int]] = defaultdict(list)
    with_spans = []
    for job in jobs:
        days = [number for number in job.drawn_days if job.counts_by_day[number].past_count]
        if days and job.missed_spans:
            with_spans.append(job.id)
        if days and not job.has_band:
            windows[query.start, query.end].append(job.id)
        else:
            for number in days:
                windows[query.clip_day(query.days[number])].append(job.id)
    if not windows:
        return []
    parts = [
        Q(job__in=ids, fire_at__gte=low, fire_at__lt=high, missed_until=None) for (low, high), ids in windows.items()
    ]
    if with_spans:
        parts.append(Q(job__in=with_spans, missed_until__gte=query.start, fire_at__lt=query.end))
    rows = Run.objects.without_error_actions().filter(reduce(or_, parts), state__in=query.states)
    return rows.annotate(name=F("job__name"), collection_id=F("job__collection_id")).only(
        *("job_id", "trigger_name", "fire_at", "starts_at", "state", "reason", "missed_count", "missed_until"),
        *("attempt_count", "started_at", "finished_at", "moved_from"),
    )


def items_of(query: WindowQuery, job: JobWindow, run: Any, addresses: Addresses) -> Iterator[RunItem]:
    """Yield one item for a row, or one for each day of a row that stands for many fire times."""
    item = run_item(run, query.now, addresses)
    if run.missed_until is None:
        yield item
        return
    span = Span(whole_second(run.fire_at), whole_second(run.missed_until), run.missed_count)
    for number, count in job.missed_spans.get(span, {}).items():
        if count and not job.counts_by_day[number].is_frequent:
            fire_at = max(run.fire_at, query.clip_day(query.days[number])[0])
            yield replace(item, key=f"{item.key}-{number}", fire_at=fire_at, count=count)


def run_item(run: Any, now: datetime, addresses: Addresses) -> RunItem:
    """Return the item of a run, which must have the `name` and the `collection_id` of its job."""
    outcome = outcome_of(run)
    has_length = run.started_at is not None and (
        run.finished_at or run.state in (Run.State.RUNNING, Run.State.FOLLOWING)
    )
    return RunItem(
        key=f"run-{run.pk.hex}",
        job_id=run.job_id,
        name=run.name,
        collection_id=run.collection_id,
        hue=hue_of(run.collection_id),
        fire_at=run.fire_at,
        end=run.fire_at + ((run.finished_at or now) - run.started_at) if has_length else None,
        state=outcome.mark,
        label=state_label(run, outcome),
        reason=run.reason,
        run_id=run.pk,
        trigger_name=run.trigger_name,
        url=addresses.run % run.pk,
        moved_from=run.moved_from,
        starts_at=run.starts_at if run.state == Run.State.WAITING and run.starts_at and run.starts_at > now else None,
    )


def state_label(run: Run, outcome: Badge) -> str:
    if outcome is SUCCEEDED_LATE and run.started_at:
        return gettext("Late by %s") % humanize.format_duration(run.started_at - run.planned_start)
    if run.state == Run.State.FAILED and run.attempt_count > 1:
        return gettext("Failed after %d attempts") % run.attempt_count
    return gettext(outcome.word)


def planned_item(trigger: UpcomingTrigger, fire: datetime, now: datetime, addresses: Addresses) -> RunItem:
    """Return the item of a future fire time, or of one that is due but has no run yet."""
    state, label = ("planned", gettext("Planned")) if fire > now else ("waiting", gettext("Due"))
    instant = fire.isoformat().replace("+00:00", "Z")
    parsed = trigger.parsed
    sources = moved_from(parsed.schedule, fire) if parsed else []
    jitter = parsed.jitter if parsed else NOTHING
    return RunItem(
        key=f"planned-{trigger.trigger_id}-{instant}",
        job_id=trigger.job_id,
        name=trigger.name,
        collection_id=trigger.collection_id,
        hue=hue_of(trigger.collection_id),
        fire_at=fire,
        end=fire + trigger.last_duration if trigger.last_duration is not None else None,
        state=state,
        label=label,
        reason="",
        run_id=None,
        trigger_name=trigger.trigger_name,
        url=addresses.planned % (trigger.trigger_id, instant),
        moved_from=sources[-1] if sources else None,
        starts_at=delayed(fire, trigger.trigger_id, jitter) if jitter and trigger.trigger_id else None,
        starts_until=latest_start(fire, jitter) if jitter else None,
    )


def whole_second(instant: datetime) -> datetime:
    return instant.replace(microsecond=0)


# Bands


def bands_of(query: WindowQuery, job: JobWindow) -> Iterator[Band]:
    """Yield a band for each day on which the job is frequent."""
    if not job.has_band:
        return
    url = reverse("admin:jobs_job_page", args=[job.id])
    interval = interval_text(job.triggers, query.start)
    for number, counts in job.counts_by_day.items():
        if not counts.is_frequent:
            continue
        day = query.days[number]
        until = day.seconds_until(query.now) if query.now < day.end else None
        yield Band(
            job_id=job.id,
            name=job.name,
            collection_id=job.collection_id,
            hue=hue_of(job.collection_id),
            day=day.date,
            interval=interval,
            total=counts.total,
            done_count=counts.done_count,
            failed_count=counts.failed_count,
            run_spans=spans_as_fractions(counts.run_hours, day.seconds, until),
            held_spans=spans_as_fractions(counts.held_hours, day.seconds, until),
            planned_spans=spans_as_fractions(counts.planned_hours, day.seconds),
            failure_positions=tick_positions(counts),
            url=url,
        )


def interval_text(triggers: Sequence[UpcomingTrigger], start: datetime) -> str:
    """Return `every minute` or `every 5 min`.

    The text is empty for several triggers, and for a trigger without a regular interval of at most half an hour.
    """
    schedule = triggers[0].schedule if len(triggers) == 1 else None
    if schedule is None:
        return ""
    fires = list(islice(between(schedule, start, LAST_INSTANT), GAPS + 1))
    gaps = {later - earlier for earlier, later in pairwise(fires)}
    if len(fires) <= GAPS or len(gaps) > 1 or max(gaps) > HALF_HOUR:
        return ""
    gap = gaps.pop()
    if gap == humanize.MINUTE:
        return gettext("every minute")
    return gettext("every second") if gap == humanize.SECOND else gettext("every %s") % humanize.format_elapsed(gap)
