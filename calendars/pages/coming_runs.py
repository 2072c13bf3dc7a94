"""What triggers tell of a window: the fire times to come, and the days of those that one row of missed ones stands for.

One query.  Of many fire times on a day the first in each hour is looked at, and the rest is counted.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from django.db.models import Case, DateTimeField, DurationField, ExpressionWrapper, F, OuterRef, Q, Subquery, When

from calendars.pages.bands import HOUR, SECOND, Day, Tally, index_of
from calendars.pages.jobs_in_view import Coming, JobInView, Scope
from jobs.models import Job, JobCollection, Run
from recurrence.combine import FirstThen
from recurrence.counting import count_within
from recurrence.schedules import Schedule, between, just_before
from recurrence.wire import WireError
from triggers.models import Trigger

MOST_TRIGGERS = 1_000  # that are looked at for what comes, the next to fire first
MOST_BANDS = 100  # jobs that are shown as bands
PROBE = 3  # so many fire times of a day are looked at before they are counted
ENDLESS = 10**18  # fire times


def add_triggers(scope: Scope, jobs: dict[int, JobInView]) -> bool:
    """Tell frequent jobs their names and triggers, and add jobs with fire times to come.

    False when there are more than are looked at.
    """
    summed_up = sorted((job for job in jobs.values() if job.has_band or job.shares), key=lambda job: -job.failed)
    ids = [job.id for job in summed_up[:MOST_TRIGGERS]]
    rows = triggers_of_jobs(scope, ids)
    if scope.has_future:
        rows = rows.union(coming_triggers(scope, ids), all=True)
    found = [Coming(*row) for row in rows]
    for coming in found:
        job = jobs.get(coming.job_id) or jobs.setdefault(coming.job_id, scope.job(coming.job_id))
        job.name, job.collection_id = coming.name, coming.collection_id
        if coming.trigger_id is not None:
            job.triggers.append(coming)
    asked = set(ids)
    return max(len(summed_up), sum(each.job_id not in asked for each in found)) <= MOST_TRIGGERS


def triggers_of_jobs(scope: Scope, ids: Sequence[int]):
    jobs = scope.seen_jobs().filter(pk__in=ids)
    would_fire = Q(triggers__enabled=True, state=Job.State.ENABLED, collection__state=JobCollection.State.ENABLED)
    next_fire_at = Case(When(would_fire, then="triggers__next_fire_at"), output_field=DateTimeField())
    return jobs.annotate(next_at=next_fire_at, last_took=last_took("pk")).values_list(
        *("pk", "name", "collection_id", "triggers__pk", "triggers__name", "triggers__format"),
        *("triggers__definition", "triggers__anchored_at", "next_at", "triggers__fires_left", "last_took"),
    )


def coming_triggers(scope: Scope, ids: Sequence[int]):
    """Those that fire before the window ends, but for the jobs with these ids."""
    fires = Trigger.objects.filter(
        job__in=scope.seen_jobs(),
        next_fire_at__lt=scope.end,
        enabled=True,
        job__state=Job.State.ENABLED,
        job__collection__state=JobCollection.State.ENABLED,
    )
    soonest = fires.exclude(job__in=ids).order_by("next_fire_at", "id").values("pk")[: MOST_TRIGGERS + 1]
    return (
        Trigger.objects.filter(pk__in=soonest)
        .annotate(last_took=last_took("job_id"))
        .values_list(
            *("job_id", "job__name", "job__collection_id", "pk", "name", "format"),
            *("definition", "anchored_at", "next_fire_at", "fires_left", "last_took"),
        )
    )


def last_took(job: str) -> Subquery:
    """How long the newest run of the job took that has ended."""
    ended = Run.objects.filter(job=OuterRef(job), started_at__isnull=False, finished_at__isnull=False)
    length = ExpressionWrapper(F("finished_at") - F("started_at"), DurationField())
    return Subquery(ended.order_by("-fire_at").annotate(length=length).values("length")[:1])


# Laid out on days


def laid_out(scope: Scope, jobs: dict[int, JobInView]) -> list[JobInView]:
    """The jobs with their fire times to come, but for those whose bands find no room; failed ones come first."""
    kept: list[JobInView] = []
    room = MOST_BANDS
    for job in sorted(jobs.values(), key=lambda job: -job.failed):
        share(scope, job)
        tallies = lay_out(scope, job) if scope.has_future else iter(())
        if room:
            deque(tallies, maxlen=0)
        elif any(tally.is_frequent for tally in tallies):
            continue
        if job.has_band:
            if not room or not job.name:
                continue
            room -= 1
        kept.append(job)
    return kept


def share(scope: Scope, job: JobInView) -> None:
    """Divide rows that stand for many fire times among the days."""
    schedules = [schedule for trigger in job.triggers if (schedule := trigger.schedule)]
    for stretch, by_day in job.shares.items():
        beyond = stretch.last + SECOND
        known = (each for each in schedules if count_within(each, stretch.first, beyond) == stretch.count)
        schedule = next(known, None)
        for number, day in enumerate(scope.days):
            low, high = scope.part_of(day)
            low, high = max(low, stretch.first), min(high, beyond)
            if low >= high:
                continue
            if schedule:
                by_day[number] = count_within(schedule, low, high)
            else:
                by_day[number] = stretch.before(high) - stretch.before(low)
            tally = job.tallies[number]
            tally.done += by_day[number]
            tally.idle.update(range(day.second(low) // HOUR, -(-day.second(high) // HOUR)))


def lay_out(scope: Scope, job: JobInView) -> Iterator[Tally]:
    """Add the fire times to come to the job's days, and tell each day that has some."""
    for trigger in job.triggers:
        schedule = trigger.schedule
        if trigger.next_fire_at is None or schedule is None:
            continue
        for number, fires, count in by_day(scope, FirstThen(trigger.next_fire_at, schedule), trigger):
            day, tally = scope.days[number], job.tallies[number]
            tally.add_planned(count, map(day.second, fires))
            if count == len(fires):
                job.fires += [(number, fire, trigger) for fire in fires]
            yield tally


def by_day(scope: Scope, schedule: FirstThen, trigger: Coming) -> Iterator[tuple[int, list[datetime], int]]:
    """The number of each day with fire times, these times, and how many they are; of many the first in each hour."""
    left = ENDLESS
    if trigger.fires_left is not None:
        left = trigger.fires_left - count_within(schedule, schedule.first, scope.start)
    fire = schedule.after(just_before(scope.start))
    while fire is not None and fire < scope.end and left > 0:
        number = index_of(scope.days, fire)
        day = scope.days[number]
        end = scope.part_of(day)[1]
        fires = list(islice(between(schedule, fire, end), min(left, PROBE)))
        count = len(fires)
        if count == PROBE:
            all_day = count_within(schedule, fire, end)
            count = min(all_day, left)
            is_many = all_day > day.most_drawn and count == all_day
            fires = firsts(schedule, day, fire, end) if is_many else list(islice(between(schedule, fire, end), count))
        yield number, fires, count
        left -= count
        fire = schedule.after(just_before(end))


def firsts(schedule: Schedule, day: Day, fire: datetime | None, end: datetime) -> list[datetime]:
    """The first fire time of each hour, from `fire` to before `end`."""
    found = []
    while fire is not None and fire < end:
        found.append(fire)
        hour = day.second(fire) // HOUR
        fire = schedule.after(just_before(day.start + (hour + 1) * HOUR * SECOND))
    return found


# A single one


def will_fire(trigger: Trigger, at: datetime) -> bool:
    """Whether `at` is a fire time to come of the trigger."""
    job, next_fire_at = trigger.job, trigger.next_fire_at
    is_stopped = job.state != Job.State.ENABLED or job.collection.state != JobCollection.State.ENABLED
    if is_stopped or not trigger.enabled or next_fire_at is None or at < next_fire_at:
        return False
    try:
        schedule = FirstThen(next_fire_at, trigger.parsed.schedule)
    except WireError:  # written when its format was read more generously
        return False
    if schedule.after(just_before(at)) != at:
        return False
    return trigger.fires_left is None or count_within(schedule, next_fire_at, at) < trigger.fires_left
