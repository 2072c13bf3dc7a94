"""The runs of jobs in a window of the calendar: those that were from their rows, those to come from their triggers.

Three queries, whatever there is.  The database counts past runs by job, state and hour; triggers say what comes; then
the rows are read of those jobs that a day can show one by one.  A frequent job is summed up as a band for each day,
with no look at its rows, nor at each fire time to come.  Runs of jobs that are gone are not shown.
"""

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from functools import reduce
from itertools import accumulate, islice, pairwise
from operator import or_
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    Func,
    Max,
    Min,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
)
from django.urls import reverse
from django.utils.translation import gettext

from calendars.pages.bands import AN_HOUR, HOUR, SECOND, Day, Stretch, Tally, days_within, fractions, index_of, notches
from calendars.pages.items import Band, RunItem, hue_of
from jobs import words
from jobs.models import Job, JobCollection, Run
from jobs.outcomes import SUCCEEDED_LATE, Outcome, outcome_of
from recurrence.combine import FirstThen
from recurrence.counting import count_within
from recurrence.schedules import LAST_INSTANT, Schedule, between, just_before
from recurrence.wire import WireError
from recurrence.zones import EPOCH
from triggers.models import Trigger, parsed

FAILED = (Run.State.FAILED, Run.State.LOST)
NOT_RUN = (Run.State.MISSED, Run.State.SKIPPED, Run.State.CANCELLED)
TROUBLES = (*FAILED, Run.State.MISSED)
HALF_HOUR = timedelta(minutes=30)
QUARTER = 900  # seconds
MOST_TRIGGERS = 1_000  # that are looked at for what comes, the next to fire first
MOST_RUNS = 10_000  # that are shown one by one
MOST_BANDS = 100  # jobs that are shown as bands
GAPS = 3  # equal ones in a row say how often a trigger fires
PROBE = 3  # so many fire times of a day are looked at before they are counted
ENDLESS = 10**18  # fire times
ANY_RUN, ANY_FIRE = UUID(int=0), (0, "when")


class InView(NamedTuple):
    """What a window shows of jobs.  `is_cut` when there is more than it can show."""

    runs: list[RunItem]  # by time
    bands: list[Band]  # by job and day
    counts: Counter[int]  # fire times by collection
    is_cut: bool


def seen_by(user, rows):
    """Of jobs, their collections, triggers and runs those that the calendar shows: superusers see all of them."""
    return rows.all() if user.is_superuser else rows.visible_to(user)


@dataclass(frozen=True, slots=True)
class Scope:
    """Who asks for what: the instants [start, end), which touch `days`; collections and jobs by id, None: all; states
    of runs; and whether also what comes."""

    user: Any
    start: datetime
    end: datetime
    days: list[Day]
    now: datetime
    collections: Collection[int] | None
    jobs: Collection[int] | None
    states: Sequence[str]
    has_future: bool
    an_hour: int

    def seen_jobs(self):
        jobs = seen_by(self.user, Job.objects)
        if self.collections is not None:
            jobs = jobs.filter(collection__in=self.collections)
        return jobs if self.jobs is None else jobs.filter(pk__in=self.jobs)

    def job(self, id: int) -> "JobInView":
        return JobInView(id, defaultdict(lambda: Tally(an_hour=self.an_hour)))

    def part_of(self, day: Day) -> tuple[datetime, datetime]:
        return max(day.start, self.start), min(day.end, self.end)


class Coming(NamedTuple):
    """A trigger and its job; `next_fire_at` is empty unless it would fire, all but the job when it has no trigger."""

    job_id: int
    name: str
    collection_id: int
    trigger_id: int | None
    trigger_name: str | None
    format: str | None
    definition: dict[str, Any] | None
    anchored_at: datetime | None
    next_fire_at: datetime | None
    fires_left: int | None
    last_took: timedelta | None

    @property
    def schedule(self) -> Schedule | None:
        if self.format is None or self.definition is None or self.anchored_at is None:
            return None
        try:
            return parsed(self.format, self.definition, self.anchored_at).schedule
        except WireError:  # written when its format was read more generously
            return None


@dataclass(slots=True)
class JobInView:
    """What the window holds of a job, by the numbers of its days."""

    id: int
    tallies: defaultdict[int, Tally]
    name: str = ""
    collection_id: int = 0
    triggers: list[Coming] = field(default_factory=list)
    shares: dict[Stretch, dict[int, int]] = field(default_factory=dict)
    fires: list[tuple[int, datetime, Coming]] = field(default_factory=list)  # of days on which they are few

    @property
    def failed(self) -> int:
        return sum(tally.failed for tally in self.tallies.values())

    @property
    def has_band(self) -> bool:
        return any(tally.is_frequent for tally in self.tallies.values())

    @property
    def drawn_days(self) -> list[int]:
        return [number for number, tally in self.tallies.items() if not tally.is_frequent]

    @property
    def drawn_count(self) -> int:
        return sum(self.tallies[number].total for number in self.drawn_days)


def collect(
    user,
    start: datetime,
    end: datetime,
    zone: tzinfo,
    now: datetime,
    collections: Collection[int] | None = None,
    *,
    jobs: Collection[int] | None = None,
    skipped: bool = True,
    only_failures: bool = False,
    an_hour: int = AN_HOUR,
) -> InView:
    """The runs in [start, end) that the user may see, those of frequent jobs summed up by the days of `zone`.

    `collections` and `jobs` are the ids of those to show, None: all.  Without `skipped`, what was not run is left
    out; with `only_failures`, everything but what failed, was lost or was missed.  A job is frequent with more than
    `an_hour` runs in each hour of those in which it runs: 0 suits pages that list days and do not draw hours.
    """
    states = [state for state in (TROUBLES if only_failures else Run.State) if skipped or state not in NOT_RUN]
    days = days_within(start, end, zone)
    scope = Scope(user, start, end, days, now, collections, jobs, states, not only_failures, an_hour)
    found = past(scope)
    is_known = add_triggers(scope, found)
    shown = laid_out(scope, found)
    drawn = drawable(shown)
    runs = drawn_runs(scope, drawn)
    bands = [band for job in shown for band in bands_of(scope, job)]
    counts: Counter[int] = Counter()
    for run in runs:
        counts[run.collection_id] += run.count
    for band in bands:
        counts[band.collection_id] += band.total
    return InView(
        sorted(runs, key=lambda run: (run.at, run.name, run.key)),
        sorted(bands, key=lambda band: (band.name, band.job_id, band.day)),
        counts,
        not is_known or len(shown) < len(found) or len(drawn) < sum(job.drawn_count > 0 for job in shown),
    )


# What was, counted


class EpochSecond(Func):
    """The whole seconds from 1970 to an instant."""

    output_field = BigIntegerField()

    def as_sqlite(self, compiler, connection, **context):
        return self.as_sql(
            compiler, connection, template="CAST(strftime('%%%%s', %(expressions)s) AS integer)", **context
        )

    def as_postgresql(self, compiler, connection, **context):
        return self.as_sql(
            compiler, connection, template="floor(date_part('epoch', %(expressions)s))::bigint", **context
        )


class Unindexed(Func):
    """A column without its index: SQLite would go from job to job, whose rows lie far apart or reach far back."""

    template = "%(expressions)s"

    def as_sqlite(self, compiler, connection, **context):
        return self.as_sql(compiler, connection, template="+%(expressions)s", **context)


def past(scope: Scope) -> dict[int, JobInView]:
    """The jobs with rows in the window, each day counted."""
    slot, shift = slots(scope.days)
    counted = (
        runs_of_jobs(scope)
        .filter(fire_at__gte=scope.start, fire_at__lt=scope.end, state__in=scope.states, missed_until=None)
        .annotate(slot=(EpochSecond("fire_at") + shift) / slot)
        .values_list("of_job", "state", "slot")
        .annotate(count=Count("pk"), first=Min(EpochSecond("fire_at")), last=Max(EpochSecond("fire_at")))
        .order_by()
    )
    if Run.State.MISSED in scope.states:
        counted = counted.union(stretches(scope), all=True)
    begins = [(day.start - EPOCH) // SECOND for day in scope.days]
    jobs: dict[int, JobInView] = {}
    for job_id, state, hour, count, first, last in counted:
        job = jobs.get(job_id) or jobs.setdefault(job_id, scope.job(job_id))
        if hour is None:
            job.shares[Stretch(EPOCH + first * SECOND, EPOCH + last * SECOND, count)] = {}
            continue
        number = bisect_right(begins, first) - 1
        length = scope.days[number].seconds
        add(job.tallies[number], state, count, first - begins[number], last - begins[number], length)
    return jobs


def stretches(scope: Scope):
    """In the form of what is counted: rows that stand for many fire times, of which some may lie in the window."""
    return (
        runs_of_jobs(scope)
        .annotate(began_at=Unindexed("fire_at", output_field=DateTimeField()))
        .filter(missed_until__gte=scope.start, began_at__lt=scope.end)
        .annotate(slot=Value(None, BigIntegerField()), count=F("missed_count"))
        .annotate(first=EpochSecond("fire_at"), last=EpochSecond("missed_until"))
        .values_list("of_job", "state", "slot", "count", "first", "last")
    )


def runs_of_jobs(scope: Scope):
    """The runs of the jobs that the user may see, `of_job`."""
    of_job = Unindexed("job_id", output_field=BigIntegerField())
    return Run.objects.annotate(of_job=of_job).filter(of_job__in=scope.seen_jobs().values("pk"))


def slots(days: Sequence[Day]) -> tuple[int, int]:
    """The length of slots, in seconds, and how long before 1970 the first begins, so that none has parts of two days.

    An hour, unless midnights stand at different minutes of it.
    """
    shifts = {(EPOCH - day.start) // SECOND % HOUR for day in days}
    return (HOUR, shifts.pop()) if len(shifts) == 1 else (QUARTER, 0)


def add(tally: Tally, state: str, count: int, first: int, last: int, length: float) -> None:
    """Count the runs of one hour of a day that is `length` seconds long, the first and the last in its seconds."""
    if state in Run.OPEN:
        tally.open += count
    else:
        tally.done += count
    if state in FAILED:
        tally.add_failed(count, first, last, length)
    if state in NOT_RUN or state in (Run.State.WAITING, Run.State.RETRYING):
        tally.idle.add(first // HOUR)
    elif state == Run.State.HELD:
        tally.add_held(first)
    else:
        tally.add_ran(first)


# What comes


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
