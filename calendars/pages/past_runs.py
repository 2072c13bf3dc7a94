"""The runs that were in a window, counted by the database: one query, by job, state and hour."""

from bisect import bisect_right
from collections.abc import Sequence

from django.db.models import BigIntegerField, Count, DateTimeField, F, Func, Max, Min, Value

from calendars.pages.bands import HOUR, SECOND, Day, Stretch, Tally
from calendars.pages.jobs_in_view import JobInView, Scope
from jobs.models import Run
from recurrence.zones import EPOCH

FAILED = (Run.State.FAILED, Run.State.LOST)
NOT_RUN = (Run.State.MISSED, Run.State.SKIPPED, Run.State.CANCELLED)
QUARTER = 900  # seconds


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


# What the database works out


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
