"""Parse items from the calendar page, and add runs."""

import re
from datetime import UTC, datetime, timedelta

from jobs.models import Run
from tests.calendars.conftest import recurrence

WEDNESDAY = datetime(2026, 1, 7, 11, 30, tzinfo=UTC)  # 12:30 in Berlin
DAILY = recurrence("daily")


def items(page: str) -> list[str]:
    """Return the accessible text of each item of the calendar, in order."""
    found = re.findall(r'<a class="item [^"]*"[^>]*>(.*?)</a>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", each).replace("&nbsp;", " ").split()) for each in found]


def cell(page: str, day: str) -> str:
    return re.search(rf'<td data-date="{day}".*?</td>', page, re.DOTALL)[0]


def column(page: str, day: str) -> str:
    return re.search(rf'<td class="day" data-date="{day}".*?</td>', page, re.DOTALL)[0]


def add_run(job, at: datetime, state: str = "succeeded", **fields) -> Run:
    values = {
        "subscription": job.collection.subscription,
        "action": job.action,
        "collection_name": job.collection.name,
        "job_name": job.name,
        "trigger_name": "default",
        "publish_after": at,
        "started_at": at,
        "finished_at": at + timedelta(minutes=40),
        "attempt_count": 1,
    }
    return Run.objects.create(job=job, fire_at=at, state=state, **values | fields)
