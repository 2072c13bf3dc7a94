"""The history of a job: an entry for each attempt that ended, newest first."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from jobs.arm.jobs import job_id
from jobs.arm.lists import filter_of, page, wrong_token
from jobs.arm.resources import SchedulerView, instant, present
from jobs.models import Attempt, Job, Run
from operations.resource_manager import PROVIDER, parameter

ATTEMPT_STATES = {
    "Completed": (Attempt.State.SUCCEEDED,),
    "Failed": (Attempt.State.FAILED, Attempt.State.LOST),
    "Postponed": (),
}
STATUSES = {state: status for status, states in ATTEMPT_STATES.items() for state in states}


class History(SchedulerView):
    def get(self, request, **kwargs):
        job = self.find_job()
        status = filter_of(request, "status", ATTEMPT_STATES)
        states = ATTEMPT_STATES[status] if status else tuple(STATUSES)
        rows = Attempt.objects.filter(job=job, state__in=states).select_related("run__parent")
        if token := parameter(request, "$skiptoken"):
            started_at, number = place_of(token)
            rows = rows.filter(
                Q(started_at__lt=started_at) | Q(started_at=started_at, pk__lt=number), started_at__lte=started_at
            )
        return page(request, rows.order_by("-started_at", "-pk"), lambda attempt: render_attempt(attempt, job), key_of)


def render_attempt(attempt: Attempt, job: Job) -> dict[str, Any]:
    run, key = attempt.run, key_of(attempt)
    is_error_action = run.origin == Run.Origin.ERROR_ACTION
    return {
        "id": f"{job_id(job)}/history/{key}",
        "type": f"{PROVIDER}/jobCollections/jobs/history",
        "name": f"{job.collection.name}/{job.name}/{key}",
        "properties": present(
            startTime=instant(attempt.started_at),
            endTime=attempt.finished_at and instant(attempt.finished_at),
            expectedExecutionTime=instant(run.fire_at),
            actionName="ErrorAction" if is_error_action else "MainAction",
            status=STATUSES[Attempt.State(attempt.state)],
            message=message_of(attempt),
            retryCount=attempt.number - 1,
            repeatCount=run.parent.occurrence if is_error_action and run.parent else run.occurrence,
        ),
    }


def message_of(attempt: Attempt) -> str:
    """The sentence, then the headers and the beginning of the body that came back."""
    headers = "\r\n".join(f"{name}: {value}" for name, value in attempt.response_headers)
    message = f"{attempt.message} Response headers: {headers}" if headers else attempt.message
    return f"{message}\r\nBody: {attempt.response_body}" if attempt.response_body else message


# The key of an entry: its start and its number, both counted down so that the newest sorts first

FIRST_DAY = datetime(1, 1, 1, tzinfo=UTC)
LAST_TICK = 3_155_378_975_999_999_999  # of the year 9999, in units of 100 ns since the first day
KEY = re.compile(r"([0-9]{20}):([0-9]{20})")


def key_of(attempt: Attempt) -> str:
    ticks = (attempt.started_at - FIRST_DAY) // timedelta(microseconds=1) * 10
    return f"{LAST_TICK - ticks:020}:{LAST_TICK - attempt.pk:020}"


def place_of(key: str) -> tuple[datetime, int]:
    """The start and the number that a key stands for."""
    match = KEY.fullmatch(key)
    ticks, number = (LAST_TICK - int(part) for part in match.groups()) if match else (-1, -1)
    if ticks < 0 or number < 0:
        raise wrong_token(key)
    return FIRST_DAY + timedelta(microseconds=ticks // 10), number
