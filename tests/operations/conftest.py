"""A caller of the resource manager's form, and operations in every state."""

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
    """Let a worker do one step and then stop."""

    def step(operation: Operation) -> None:
        service.carry_out(operation.pk, timezone.now, lambda: True)

    return step


@pytest.fixture
def make_operation(subscription):
    def make(state: str = "succeeded", ago: timedelta = timedelta(minutes=5), **fields) -> Operation:
        asked_at = timezone.now() - ago
        is_over = state in ("succeeded", "failed", "canceled")
        values = {
            "subscription": subscription,
            "kind": "collection.delete",
            "target": "default/nightly",
            "target_key": uuid.uuid4().hex,
            "percent": {"accepted": 0, "running": 40, "succeeded": 100}.get(state, 70),
            "error_code": {"failed": "WorkerLost", "canceled": "OperationCanceled"}.get(state, ""),
            "published_at": asked_at,
            "created_at": asked_at,
            "started_at": None if state == "accepted" else asked_at,
            "finished_at": asked_at + timedelta(seconds=2) if is_over else None,
        }
        return Operation.objects.create(state=state, **values | fields)

    return make
