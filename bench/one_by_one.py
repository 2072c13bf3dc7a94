"""A textbook worker for comparison: each run has one message, one thread, one request, and its own row updates."""

import uuid
from datetime import timedelta

import requests
from celery import shared_task
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from jobs.models import Attempt, Job, Run

NAME = "bench.one_by_one.carry_out"
QUEUE = "one-by-one"


class SingleRunPublisher:
    """Sends one message for each run.  It reuses one producer, which is faster than `delay`."""

    def __init__(self, app):
        self.app = app
        self.producer = app.amqp.Producer(app.connection_for_write(), auto_declare=False)

    def is_reachable(self) -> bool:
        return True

    def publish(self, runs) -> bool:
        for run in runs:
            self.app.send_task(NAME, args=(str(run.id),), queue=QUEUE, producer=self.producer)
        return True


@shared_task(name=NAME)
def carry_out(run_id: str) -> None:
    started_at = timezone.now()
    taken = Run.objects.filter(pk=run_id, state=Run.State.WAITING).update(
        state=Run.State.RUNNING,
        lease_token=uuid.uuid4(),
        leased_until=started_at + timedelta(minutes=2),
        attempt_count=F("attempt_count") + 1,
        started_at=started_at,
    )
    if not taken:
        return
    run = Run.objects.select_related("action").get(pk=run_id)
    attempt = Attempt.objects.create(run=run, job_id=run.job_id, number=run.attempt_count, started_at=started_at)
    request = run.action.document["request"]

    response = requests.request(
        request["method"], request["uri"], headers={"Idempotency-Key": run_id}, timeout=60, allow_redirects=False
    )

    finished_at = timezone.now()
    with transaction.atomic():
        attempt.state = Attempt.State.SUCCEEDED if response.ok else Attempt.State.FAILED
        attempt.finished_at = finished_at
        attempt.status_code = response.status_code
        attempt.response_headers = [list(header) for header in response.headers.items()]
        attempt.response_body = response.text[:2048]
        attempt.save()
        state = Run.State.SUCCEEDED if response.ok else Run.State.FAILED
        Run.objects.filter(pk=run_id).update(state=state, finished_at=finished_at, lease_token=None, leased_until=None)
        Job.objects.filter(pk=run.job_id).update(execution_count=F("execution_count") + 1, last_execution_at=started_at)
