"""Choose the jobs with runs in a window that a page shows: first jobs with failures, then jobs that run seldom.

One query. The database reads the newest runs of the window, its newest failures and the oldest jobs, each up to a
limit, and returns at most MOST_JOBS jobs. So the cost of a page does not grow with the number of jobs or their
history. With up to JOBS_LOOKED_AT jobs, no job is overlooked.
"""

from typing import NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BigIntegerField, DateTimeField, Exists, F, OuterRef, QuerySet

from calendars.pages.job_windows import WindowQuery
from jobs.models import Job, Run, Unindexed

MOST_JOBS = 200  # jobs whose runs a page shows
RUNS_LOOKED_AT, FAILURES_LOOKED_AT, JOBS_LOOKED_AT = 10_000, 2_000, 5_000
FAILED = (Run.State.FAILED, Run.State.LOST)

CHOICE = """
SELECT job_id, COUNT(*) OVER () AS jobs, SUM(SUM(runs)) OVER () AS runs, ({count}) AS looked_at
FROM ({parts}) AS parts
GROUP BY job_id
ORDER BY SUM(failures) DESC, SUM(runs), job_id
LIMIT %s
"""


class JobChoice(NamedTuple):
    """The ids of the jobs that are shown.

    `left_out_count` is the number of further jobs known to have runs in the window. With `is_partial`, there may be
    more of them.
    """

    ids: list[int]
    left_out_count: int = 0
    is_partial: bool = False


def choose_jobs(query: WindowQuery) -> JobChoice:
    """Choose at most MOST_JOBS jobs; if the query names jobs, choose from these."""
    if query.jobs is not None:  # the caller has chosen
        return JobChoice(list(query.jobs)[:MOST_JOBS], max(0, len(query.jobs) - MOST_JOBS))
    runs = runs_in(query).filter(state__in=query.states).order_by("-fire_at", "-id").values("job_id")
    failures = runs_in(query).filter(state__in=FAILED).order_by("-fire_at", "-id").values("job_id")
    jobs = query.visible_jobs().order_by("pk")[:JOBS_LOOKED_AT]
    parts: list[tuple[str, QuerySet]] = [
        ("0 AS failures, 1 AS runs", runs[:RUNS_LOOKED_AT]),
        ("1 AS failures, 0 AS runs", failures[:FAILURES_LOOKED_AT]),
    ]
    if Run.State.MISSED in query.states:
        parts.append(("0 AS failures, 0 AS runs", missed_spans_in(query)[:RUNS_LOOKED_AT]))
    if query.has_future:
        parts.append(("0 AS failures, 0 AS runs", active_jobs(query, jobs)))
    try:
        return run_choice(parts, jobs.values("pk"))
    except EmptyResultSet:  # the user has no subscription, or no collection is shown
        return JobChoice([])


def run_choice(parts: list[tuple[str, QuerySet]], jobs: QuerySet) -> JobChoice:
    """Choose from the jobs of all parts. The text of each part says what its rows count as.

    `jobs` are the jobs that were read.
    """
    compiled = [(counts, *rows.query.sql_with_params()) for counts, rows in parts]
    count, count_values = jobs.query.sql_with_params()
    sql = CHOICE.format(
        count=f"SELECT COUNT(*) FROM ({count}) AS jobs",
        parts=" UNION ALL ".join(
            f"SELECT job_id, {counts} FROM ({rows}) AS part_{number}"
            for number, (counts, rows, _) in enumerate(compiled)
        ),
    )
    values = [*count_values, *(value for _, _, values in compiled for value in values), MOST_JOBS]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found = cursor.fetchall()
    if not found:
        return JobChoice([])
    _, jobs_found, runs_found, jobs_looked_at = found[0]
    is_partial = runs_found >= RUNS_LOOKED_AT and jobs_looked_at >= JOBS_LOOKED_AT
    return JobChoice([row[0] for row in found], jobs_found - len(found), is_partial)


def runs_in(query: WindowQuery) -> QuerySet[Run]:
    """Return the runs in the window, without rows that stand for many fire times."""
    return visible_runs(query).filter(fire_at__gte=query.start, fire_at__lt=query.end, missed_until=None)


def missed_spans_in(query: WindowQuery) -> QuerySet:
    """Return the jobs of rows that stand for many fire times, some of which may lie in the window."""
    runs = visible_runs(query).alias(began_at=Unindexed("fire_at", output_field=DateTimeField()))
    found = runs.filter(missed_until__gte=query.start, began_at__lt=query.end)
    return found.order_by("-missed_until").values("job_id")


def active_jobs(query: WindowQuery, jobs: QuerySet[Job]) -> QuerySet:
    """Return those of `jobs` that have runs in the window."""
    runs = Run.objects.without_error_actions().filter(
        job=OuterRef("pk"), fire_at__gte=query.start, fire_at__lt=query.end, missed_until=None
    )
    is_active = Exists(runs.filter(state__in=query.states))
    return Job.objects.filter(is_active, pk__in=jobs.values("pk")).values(job_id=F("pk"))


def visible_runs(query: WindowQuery) -> QuerySet[Run]:
    """Return the runs that the user may see, of existing jobs in the collections that are shown."""
    runs = Run.objects.without_error_actions()
    if query.subscriptions is not None:
        runs = runs.of_subscriptions(query.subscriptions)
    if query.collections is None:
        return runs.filter(job__isnull=False)
    of_job = Unindexed("job_id", output_field=BigIntegerField())
    return runs.alias(of_job=of_job).filter(of_job__in=query.visible_jobs().values("pk"))
