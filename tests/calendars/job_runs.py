"""Create runs, and load them for the calendar: a week in Berlin, on its Wednesday at 14:32."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from calendars.pages.runs import RunsInWindow, load_runs
from jobs.models import Job, Run
from tests.conftest import utc

BERLIN = "Europe/Berlin"
LATER = utc("2026-10-21T12:32Z")
MONDAY, NEXT_MONDAY = "2026-10-19", "2026-10-26"
SECOND = timedelta(seconds=1)


def instant(wall: str, zone: str = BERLIN) -> datetime:
    return datetime.fromisoformat(wall).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def row(job: Job, at: datetime, state: str = Run.State.SUCCEEDED, took: timedelta = 2 * SECOND, **fields) -> Run:
    """Return an unsaved run of the trigger `regular`."""
    began = None if state in ("waiting", "missed", "skipped", "cancelled") else at + SECOND
    values = {
        "subscription_id": job.collection.subscription_id,
        "action_id": job.action_id,
        "collection_name": job.collection.name,
        "job_name": job.name,
        "trigger_name": "regular",
        "publish_after": at,
        "started_at": began,
        "finished_at": None if state in Run.OPEN else (began or at) + took,
        "attempt_count": int(began is not None),
    }
    return Run(job=job, fire_at=at, state=state, **values | fields)


def add_run(job: Job, at: str | datetime, *args, **fields) -> Run:
    run = row(job, utc(at) if isinstance(at, str) else at, *args, **fields)
    run.save(force_insert=True)
    return run


def add_runs(job: Job, start: str, end: str, every: timedelta, state: str = Run.State.SUCCEEDED) -> None:
    first, last = utc(start), utc(end)
    Run.objects.bulk_create(row(job, first + number * every, state) for number in range((last - first) // every))


def load_view(
    user, start: str = MONDAY, end: str = NEXT_MONDAY, zone: str = BERLIN, now: datetime = LATER, **options
) -> RunsInWindow:
    """Load the runs of a window; `start` and `end` are wall times in `zone`."""
    return load_runs(user, instant(start, zone), instant(end, zone), ZoneInfo(zone), now, **options)


def describe_runs(view: RunsInWindow) -> list[str]:
    """Describe each run in UTC, such as "10-19 08:00 backup Succeeded"."""
    return [f"{run.fire_at:%m-%d %H:%M} {run.name} {run.label}" for run in view.runs]


def count_by_day(view: RunsInWindow, zone: str = BERLIN) -> Counter:
    """Count the fire times of each day, as single runs and in bands."""
    days: Counter = Counter()
    for run in view.runs:
        days[run.fire_at.astimezone(ZoneInfo(zone)).date().isoformat()] += run.count
    for band in view.bands:
        days[band.day.isoformat()] += band.total
    return days
