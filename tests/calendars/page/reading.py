"""A Wednesday in January, what there is around it, and where that stands on the page."""

import re
from datetime import UTC, datetime, timedelta

from jobs.models import Run
from tests.calendars.conftest import recurrence

WEDNESDAY = datetime(2026, 1, 7, 11, 30, tzinfo=UTC)  # 12:30 in Berlin
DAILY = recurrence("daily")


def items(page: str) -> list[str]:
    """What a reader hears of each item of the calendar, in order."""
    found = re.findall(r'<a class="item [^"]*"[^>]*>(.*?)</a>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", each).replace("&nbsp;", " ").split()) for each in found]


def cell(page: str, day: str) -> str:
    return re.search(rf'<td data-date="{day}".*?</td>', page, re.DOTALL)[0]


def column(page: str, day: str) -> str:
    return re.search(rf'<td class="day" data-date="{day}".*?</td>', page, re.DOTALL)[0]


def add_run(job, at: datetime, state: str = "succeeded", **fields) -> Run:
    return Run.objects.create(
        subscription=job.collection.subscription,
        job=job,
        action=job.action,
        collection_name=job.collection.name,
        job_name=job.name,
        trigger_name="default",
        fire_at=at,
        publish_after=at,
        state=state,
        started_at=at,
        finished_at=at + timedelta(minutes=40),
        attempt_count=1,
        **fields,
    )
