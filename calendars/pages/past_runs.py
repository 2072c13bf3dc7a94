"""Past runs of jobs in a window, counted by the database: one query, by job, state and hour."""

from bisect import bisect_right
from collections.abc import Sequence

from django.db.models import BigIntegerField, Count, DateTimeField, F, Func, Max, Min, Value

from calendars.pages.chosen_jobs import FAILED
from calendars.pages.frequent_runs import HOUR, SECOND, Day, RunCounts, Span
from calendars.pages.job_windows import JobWindow, WindowQuery
from jobs.models import Run, Unindexed
from recurrence.zones import EPOCH

MOST_GROUPS = 10_000  # groups of job, state and hour
NOT_RUN = (Run.State.MISSED, Run.State.SKIPPED, Run.State.CANCELLED)
QUARTER = 900  # seconds


def load_past_runs(query: WindowQuery, ids: Sequence[int]) -> dict[int, JobWindow]:
    """Return the jobs that have rows in the window, by id, with their counts for each day.

    If there are more than MOST_GROUPS groups, the last jobs are left out.
    """
    if not ids:
        return {}
    day_starts = [(day.start - EPOCH) // SECOND for day in query.days]
    jobs: dict[int, JobWindow] = {}
    for job_id, state, hour, count, first, last in groups_of(query, ids):
        job = jobs.get(job_id) or jobs.setdefault(job_id, query.new_job_window(job_id))
        if hour is None:
            job.missed_spans[Span(EPOCH + first * SECOND, EPOCH + last * SECOND, count)] = {}
            continue
        number = bisect_right(day_starts, first) - 1
        length = query.days[number].seconds
        add(job.counts_by_day[number], state, count, first - day_starts[number], last - day_starts[number], length)
    return jobs


def groups_of(query: WindowQuery, ids: Sequence[int]) -> list[tuple]:
    """Return at most MOST_GROUPS rows: job, state, hour, count, first and last second since 1970.

    A job that does not fit completely is left out.
    """
    slot, shift = slots(query.days)
    counted = (
        runs_of_jobs(query, ids)
        .filter(fire_at__gte=query.start, fire_at__lt=query.end, state__in=query.states, missed_until=None)
        .annotate(slot=(EpochSecond("fire_at") + shift) / slot)
        .values_list("job_id", "state", "slot")
        .annotate(count=Count("pk"), first=Min(EpochSecond("fire_at")), last=Max(EpochSecond("fire_at")))
        .order_by()
    )
    if Run.State.MISSED in query.states:
        counted = counted.union(missed_span_rows(query, ids), all=True)
    rows = list(counted.order_by("job_id")[: MOST_GROUPS + 1])
    return rows if len(rows) <= MOST_GROUPS else [row for row in rows if row[0] != rows[-1][0]]


def add(counts: RunCounts, state: str, count: int, first: int, last: int, length: float) -> None:
    """Count the runs of one hour.

    `first` and `last` are seconds of the day, and `length` is the length of the day in seconds.
    """
    if state in Run.OPEN:
        counts.open_count += count
    else:
        counts.done_count += count
    if state in FAILED:
        counts.add_failures(count, first, last, length)
    if state in NOT_RUN or state in (Run.State.WAITING, Run.State.RETRYING):
        counts.idle_hours.add(first // HOUR)
    elif state == Run.State.HELD:
        counts.add_held(first)
    else:
        counts.add_run(first)


def missed_span_rows(query: WindowQuery, ids: Sequence[int]):
    """Return the rows that stand for many fire times, some of which may lie in the window.

    The columns are those of `groups_of`; the slot is null.
    """
    return (
        runs_of_jobs(query, ids)
        .annotate(began_at=Unindexed("fire_at", output_field=DateTimeField()))
        .filter(missed_until__gte=query.start, began_at__lt=query.end)
        .annotate(slot=Value(None, BigIntegerField()), count=F("missed_count"))
        .annotate(first=EpochSecond("fire_at"), last=EpochSecond("missed_until"))
        .values_list("job_id", "state", "slot", "count", "first", "last")
    )


def runs_of_jobs(query: WindowQuery, ids: Sequence[int]):
    """Return the runs of those jobs that the user may see."""
    return Run.objects.without_error_actions().filter(job__in=query.visible_jobs().filter(pk__in=ids).values("pk"))


def slots(days: Sequence[Day]) -> tuple[int, int]:
    """Return the length of a slot, and how long before 1970 the first slot begins, both in seconds.

    No slot contains parts of two days. It is one hour long; if midnights of the window are at different minutes of an
    hour, a quarter of an hour.
    """
    shifts = {(EPOCH - day.start) // SECOND % HOUR for day in days}
    return (HOUR, shifts.pop()) if len(shifts) == 1 else (QUARTER, 0)


# Database functions


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
