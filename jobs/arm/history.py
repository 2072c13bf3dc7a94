"""The history of a job: an entry for each attempt that ended, newest first."""

import re
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import OuterRef, Q, Subquery

from jobs.arm.jobs import job_id
from jobs.arm.lists import filter_of, page, wrong_token
from jobs.arm.resources import SchedulerView, instant, present
from jobs.models import Attempt, Job, Run
from operations.arm_base import PROVIDER, parameter

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
        rows = rows.order_by("-started_at", "-pk")
        return page(request, rows, lambda attempts: render_attempts(attempts, job), key_of)


def render_attempts(attempts: Sequence[Attempt], job: Job) -> list[dict[str, Any]]:
    numbers = occurrence_numbers([attempt.run for attempt in attempts], job)
    return [render_attempt(attempt, job, numbers[attempt.run_id]) for attempt in attempts]


def occurrence_numbers(runs: Sequence[Run], job: Job) -> dict[uuid.UUID, int]:
    """Return the occurrence number of each run, by run id.  An error action has the number of the run that it follows.

    A manual run has the number of the occurrence before it, or 0 if there is none.  It takes two queries for all
    manual runs.
    """
    main_runs = {run.pk: run.parent or run for run in runs}
    before = numbers_before([run for run in main_runs.values() if run.occurrence is None], job)
    return {key: before[run.pk] if run.occurrence is None else run.occurrence for key, run in main_runs.items()}


def numbers_before(runs: Sequence[Run], job: Job) -> dict[uuid.UUID, int]:
    """Return, by run id, the number of the last occurrence that was due at or before the fire time of the run, or 0.

    The occurrences between the runs are not loaded.
    """
    numbers = {run.pk: 0 for run in runs}
    if not numbers:
        return numbers
    scheduled = Run.objects.filter(job=job, origin=Run.Origin.SCHEDULE, occurrence__isnull=False).order_by("-fire_at")
    latest = (
        scheduled.filter(fire_at__lte=max(run.fire_at for run in runs)).values_list("fire_at", "occurrence").first()
    )
    if latest is None:  # the job has only manual runs: no further search for each run
        return numbers
    fire_at, number = latest
    numbers |= {run.pk: number or 0 for run in runs if run.fire_at >= fire_at}
    if earlier := [run.pk for run in runs if run.fire_at < fire_at]:
        number_before = scheduled.filter(fire_at__lte=OuterRef("fire_at")).values("occurrence")[:1]
        found = Run.objects.filter(pk__in=earlier).values_list("pk", Subquery(number_before))
        numbers |= {key: number or 0 for key, number in found}
    return numbers


def render_attempt(attempt: Attempt, job: Job, occurrence: int) -> dict[str, Any]:
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
            repeatCount=occurrence,
        ),
    }


def message_of(attempt: Attempt) -> str:
    """Return the message of the attempt, then the headers and the beginning of the body of the response."""
    headers = "\r\n".join(f"{name}: {value}" for name, value in attempt.response_headers)
    message = f"{attempt.message} Response headers: {headers}" if headers else attempt.message
    return f"{message}\r\nBody: {attempt.response_body}" if attempt.response_body else message


# The key of an entry: its start and its number, both counted down so that the newest entry sorts first

FIRST_DAY = datetime(1, 1, 1, tzinfo=UTC)
LAST_TICK = 3_155_378_975_999_999_999  # of the year 9999, in units of 100 ns since the first day
KEY = re.compile(r"([0-9]{20}):([0-9]{20})")


def key_of(attempt: Attempt) -> str:
    ticks = (attempt.started_at - FIRST_DAY) // timedelta(microseconds=1) * 10
    return f"{LAST_TICK - ticks:020}:{LAST_TICK - attempt.pk:020}"


def place_of(key: str) -> tuple[datetime, int]:
    """Return the start and the number of the attempt that a key encodes."""
    match = KEY.fullmatch(key)
    ticks, number = (LAST_TICK - int(part) for part in match.groups()) if match else (-1, -1)
    if ticks < 0 or number < 0:
        raise wrong_token(key)
    return FIRST_DAY + timedelta(microseconds=ticks // 10), number
