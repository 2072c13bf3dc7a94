"""Rows of runs, and the calendar's view of them: a week in Berlin, seen on its Wednesday at 14:32."""

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
    """A run that is not saved yet, of the trigger `regular`."""
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


def view(
    user, start: str = MONDAY, end: str = NEXT_MONDAY, zone: str = BERLIN, now: datetime = LATER, **options
) -> RunsInWindow:
    """`start` and `end` are readings of the clocks in `zone`."""
    return load_runs(user, instant(start, zone), instant(end, zone), ZoneInfo(zone), now, **options)


def said(seen: RunsInWindow) -> list[str]:
    """ "10-19 08:00 backup Succeeded", in UTC."""
    return [f"{run.fire_at:%m-%d %H:%M} {run.name} {run.label}" for run in seen.runs]


def by_day(seen: RunsInWindow, zone: str = BERLIN) -> Counter:
    """How many fire times each day has, drawn or summed up."""
    days: Counter = Counter()
    for run in seen.runs:
        days[run.fire_at.astimezone(ZoneInfo(zone)).date().isoformat()] += run.count
    for band in seen.bands:
        days[band.day.isoformat()] += band.total
    return days
