"""Future fire times in a window, and the days of fire times that share one row of missed runs.

One query, and one more to count jobs if there are more triggers than MOST_TRIGGERS. If a day has many fire times, only
the first of each hour is computed, and the others are counted.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from django.db.models import (
    Case,
    Count,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    Subquery,
    When,
)

from calendars.pages.frequent_runs import HOUR, SECOND, Day, RunCounts, index_of
from calendars.pages.job_windows import JobWindow, UpcomingTrigger, WindowQuery
from jobs.models import Run, runnable_q
from recurrence.composites import FirstThen
from recurrence.counting import count_within
from recurrence.schedules import Schedule, between, just_before
from triggers.models import Trigger

MOST_TRIGGERS = 300  # triggers that are read for future fire times, the next to fire first
TRIGGERS_COUNTED = 10_000  # triggers among which jobs are counted if there are more than MOST_TRIGGERS
MOST_BANDS = 100  # jobs shown as bands
PROBE = 3  # fire times of a day that are computed before the others are counted
ENDLESS = 10**18  # fire times


def add_triggers(query: WindowQuery, jobs: dict[int, JobWindow]) -> int:
    """Add names and triggers to frequent jobs and jobs with shared rows, and add jobs with future fire times.

    Return a lower bound of the number of further jobs with future fire times in the window.
    """
    ids = [job.id for job in jobs.values() if job.has_band or job.missed_spans]
    rows = triggers_of_jobs(query, ids)
    if query.has_future:
        rows = rows.union(coming_triggers(query, ids), all=True)
    loaded, upcoming_count = set(ids), 0
    for upcoming in (UpcomingTrigger(*row) for row in rows):
        upcoming_count += upcoming.job_id not in loaded
        if upcoming_count > MOST_TRIGGERS and upcoming.job_id not in loaded:
            continue
        job = jobs.get(upcoming.job_id) or jobs.setdefault(upcoming.job_id, query.new_job_window(upcoming.job_id))
        job.name, job.collection_id = upcoming.name, upcoming.collection_id
        if upcoming.trigger_id is not None:
            job.triggers.append(upcoming)
    return 0 if upcoming_count <= MOST_TRIGGERS else max(1, count_coming_jobs(query) - len(jobs))


def count_coming_jobs(query: WindowQuery) -> int:
    """Return the number of jobs among the TRIGGERS_COUNTED triggers that fire next."""
    soonest = firing_triggers(query).order_by("next_fire_at", "id").values("job_id")[:TRIGGERS_COUNTED]
    return soonest.aggregate(jobs=Count("job_id", distinct=True))["jobs"]


def triggers_of_jobs(query: WindowQuery, ids: Sequence[int]):
    """Return the jobs with these ids, once for each of their triggers, as the fields of UpcomingTrigger."""
    jobs = query.visible_jobs().filter(pk__in=ids)
    would_fire = Q(triggers__enabled=True) & runnable_q()
    next_fire_at = Case(When(would_fire, then="triggers__next_fire_at"), output_field=DateTimeField())
    return jobs.annotate(next_at=next_fire_at, last_duration=last_duration("pk")).values_list(
        *("pk", "name", "collection_id", "triggers__pk", "triggers__name", "triggers__format"),
        *("triggers__definition", "triggers__anchored_at", "triggers__closed_days_id"),
        *("next_at", "triggers__fires_left", "last_duration"),
    )


def coming_triggers(query: WindowQuery, ids: Sequence[int]):
    """Return the next triggers to fire before the window ends, without the jobs with these ids."""
    soonest = (
        firing_triggers(query).exclude(job__in=ids).order_by("next_fire_at", "id").values("pk")[: MOST_TRIGGERS + 1]
    )
    return (
        Trigger.objects.filter(pk__in=soonest)
        .annotate(last_duration=last_duration("job_id"))
        .values_list(
            *("job_id", "job__name", "job__collection_id", "pk", "name", "format"),
            *("definition", "anchored_at", "closed_days_id", "next_fire_at", "fires_left", "last_duration"),
        )
    )


def firing_triggers(query: WindowQuery):
    """Return the triggers that fire before the window ends."""
    return Trigger.objects.filter(
        query.visible_jobs_q("job__"), runnable_q("job__"), next_fire_at__lt=query.end, enabled=True
    )


def last_duration(job: str) -> Subquery:
    """Return the duration of the newest finished run of the job, as a subquery. `job` names the column of its id."""
    runs = Run.objects.without_error_actions().filter(job=OuterRef(job))
    ended = runs.filter(started_at__isnull=False, finished_at__isnull=False)
    length = ExpressionWrapper(F("finished_at") - F("started_at"), DurationField())
    return Subquery(ended.order_by("-fire_at").annotate(length=length).values("length")[:1])


# Expansion by day


def expand_all(query: WindowQuery, jobs: dict[int, JobWindow]) -> list[JobWindow]:
    """Return the jobs with their future fire times, jobs with most failures first.

    Jobs that would need more than MOST_BANDS bands are left out.
    """
    shown: list[JobWindow] = []
    free_bands = MOST_BANDS
    for job in sorted(jobs.values(), key=lambda job: -job.failed_count):
        spread_missed_spans(query, job)
        future_counts = expand(query, job) if query.has_future else iter(())
        if free_bands:
            deque(future_counts, maxlen=0)
        elif any(counts.is_frequent for counts in future_counts):
            continue
        if job.has_band:
            if not free_bands or not job.name:
                continue
            free_bands -= 1
        shown.append(job)
    return shown


def spread_missed_spans(query: WindowQuery, job: JobWindow) -> None:
    """Divide the fire times of shared rows among the days.

    The schedule decides if it has exactly as many fire times; otherwise they are spread evenly.
    """
    schedules = [schedule for trigger in job.triggers if (schedule := trigger.schedule)]
    for span, by_day in job.missed_spans.items():
        span_end = span.last + SECOND
        matching = (each for each in schedules if count_within(each, span.first, span_end) == span.count)
        schedule = next(matching, None)
        for number, day in enumerate(query.days):
            low, high = query.clip_day(day)
            low, high = max(low, span.first), min(high, span_end)
            if low >= high:
                continue
            if schedule:
                by_day[number] = count_within(schedule, low, high)
            else:
                by_day[number] = span.count_before(high) - span.count_before(low)
            counts = job.counts_by_day[number]
            counts.done_count += by_day[number]
            counts.idle_hours.update(range(day.seconds_until(low) // HOUR, -(-day.seconds_until(high) // HOUR)))


def expand(query: WindowQuery, job: JobWindow) -> Iterator[RunCounts]:
    """Add future fire times to the job's days, and yield the counts of each day that has some."""
    for trigger in job.triggers:
        schedule = trigger.schedule
        if trigger.next_fire_at is None or schedule is None:
            continue
        for number, fires, count in by_day(query, FirstThen(trigger.next_fire_at, schedule), trigger):
            day, counts = query.days[number], job.counts_by_day[number]
            counts.add_planned(count, map(day.seconds_until, fires))
            if count == len(fires):
                job.fires += [(number, fire, trigger) for fire in fires]
            yield counts


def by_day(
    query: WindowQuery, schedule: FirstThen, trigger: UpcomingTrigger
) -> Iterator[tuple[int, list[datetime], int]]:
    """Yield the index of each day with fire times, the fire times, and their number.

    If there are many, only the first fire time of each hour is in the list.
    """
    left = ENDLESS
    if trigger.fires_left is not None:
        left = trigger.fires_left - count_within(schedule, schedule.first, query.start)
    fire = schedule.after(just_before(query.start))
    while fire is not None and fire < query.end and left > 0:
        number = index_of(query.days, fire)
        day = query.days[number]
        end = query.clip_day(day)[1]
        fires = list(islice(between(schedule, fire, end), min(left, PROBE)))
        count = len(fires)
        if count == PROBE:
            all_day = count_within(schedule, fire, end)
            count = min(all_day, left)
            is_many = all_day > day.max_drawn and count == all_day
            fires = (
                first_fires(schedule, day, fire, end) if is_many else list(islice(between(schedule, fire, end), count))
            )
        yield number, fires, count
        left -= count
        fire = schedule.after(just_before(end))


def first_fires(schedule: Schedule, day: Day, fire: datetime | None, end: datetime) -> list[datetime]:
    """Return the first fire time of each hour in [fire, end)."""
    found = []
    while fire is not None and fire < end:
        found.append(fire)
        hour = day.seconds_until(fire) // HOUR
        fire = schedule.after(just_before(day.start + (hour + 1) * HOUR * SECOND))
    return found


# A single fire time


def will_fire(trigger: Trigger, at: datetime) -> bool:
    """Return True if `at` is a future fire time of the trigger."""
    next_fire_at, definition = trigger.next_fire_at, trigger.schedule_or_none
    if not (trigger.job.is_runnable and trigger.enabled) or next_fire_at is None or definition is None:
        return False
    if at < next_fire_at:
        return False
    schedule = FirstThen(next_fire_at, definition)
    if schedule.after(just_before(at)) != at:
        return False
    return trigger.fires_left is None or count_within(schedule, next_fire_at, at) < trigger.fires_left
