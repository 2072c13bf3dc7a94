"""A client of the resource manager API, and operations in each state."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from operations import service
from operations.models import Operation
from tests.jobs.arm_client import ArmClient
from triggers.collection_operations import JOBS_A_STEP


@pytest.fixture
def arm(token) -> ArmClient:
    return ArmClient(token)


@pytest.fixture
def many_jobs(make_job):
    for number in range(2 * JOBS_A_STEP + 1):
        make_job(f"job-{number:03}")


@pytest.fixture
def step_once():
    """Return a function that lets a worker do one step of an operation and then stop."""

    def step(operation: Operation) -> None:
        service.carry_out(operation.pk, timezone.now, lambda: True)

    return step


@pytest.fixture
def make_operation(subscription):
    def make(state: str = "succeeded", ago: timedelta = timedelta(minutes=5), **fields) -> Operation:
        requested_at = timezone.now() - ago
        has_ended = state in ("succeeded", "failed", "canceled")
        values = {
            "subscription": subscription,
            "kind": "collection.delete",
            "target": "default/nightly",
            "target_key": uuid.uuid4().hex,
            "percent": {"accepted": 0, "running": 40, "succeeded": 100}.get(state, 70),
            "error_code": {"failed": "WorkerLost", "canceled": "OperationCanceled"}.get(state, ""),
            "published_at": requested_at,
            "created_at": requested_at,
            "started_at": None if state == "accepted" else requested_at,
            "finished_at": requested_at + timedelta(seconds=2) if has_ended else None,
        }
        return Operation.objects.create(state=state, **values | fields)

    return make
