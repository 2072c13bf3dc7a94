"""Objects that are shown in the admin, and functions to submit its forms."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role, Subscription
from jobs.models import Attempt, JobCollection, Process, Run
from tests.admin.actions import ADD, FORM
from tests.admin.forms import submitted


@pytest.fixture
def sign_in_as(client):
    """Return a function that signs a user in and returns the client."""

    def sign_in(user):
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def browser(sign_in_as, owner):
    return sign_in_as(owner)


@pytest.fixture
def operator(make_user):
    return make_user("olga", Role.OPERATOR, is_staff=True)


@pytest.fixture
def reader(make_user):
    return make_user("rita", Role.READER, is_staff=True)


@pytest.fixture
def collection_of_others(db):
    """A collection of a subscription in which no user of these tests is a member."""
    return JobCollection.objects.create(subscription=Subscription.objects.create(name="elsewhere"), name="theirs")


@pytest.fixture
def make_run():
    def make(job, state=Run.State.SUCCEEDED, ago=timedelta(hours=1), delay=timedelta(0), **fields) -> Run:
        fire_at = timezone.now() - ago
        began = state not in (Run.State.WAITING, Run.State.MISSED, Run.State.SKIPPED)
        ended = state not in Run.OPEN
        values = {
            "subscription_id": job.collection.subscription_id,
            "action_id": job.action_id,
            "collection_name": job.collection.name,
            "job_name": job.name,
            "trigger_name": "default",
            "publish_after": fire_at,
            "started_at": fire_at + delay if began else None,
            "finished_at": fire_at + delay + timedelta(seconds=2) if ended else None,
            "attempt_count": int(began),
        }
        run = Run.objects.create(job=job, fire_at=fire_at, state=state, **(values | fields))
        if run.started_at:
            outcome = {"succeeded": "succeeded", "running": "running", "lost": "lost"}.get(state, "failed")
            Attempt.objects.create(
                run=run,
                job=job,
                number=1,
                state=outcome,
                worker="worker-1",
                started_at=run.started_at,
                finished_at=run.finished_at,
                status_code=200 if state == "succeeded" else 503,
                message="Host 'example.com' answered.",
                response_headers=[["Content-Type", "text/html"]],
                response_body="<script>alert(1)</script>",
            )
        return run

    return make


@pytest.fixture
def alive(db):
    """A beat and a worker with current heartbeats."""
    now = timezone.now()
    for kind in Process.Kind:
        Process.objects.create(kind=kind, name=f"{kind}-1", queues=["default"], started_at=now, seen_at=now)


@pytest.fixture
def post(browser, collection):
    """Return a function that submits the form of a new job, or of the job at `address`."""

    def send(address=ADD, **fields):
        return browser.post(address, {**FORM, "collection": collection.pk, **fields})

    return send


@pytest.fixture
def job(make_job):
    """A job without its own schedule."""
    return make_job(schedule=None)


@pytest.fixture
def trigger(job, make_trigger):
    return make_trigger(job, now=timezone.now())


@pytest.fixture
def submit_form(browser):
    """Return a function that loads the form of a trigger, changes fields and submits it to the page or to `to`."""

    def submit_form(address, to=None, **fields):
        form = submitted(browser.get(address).text, "trigger_form")
        return browser.post(
            to or address, {name: value for name, value in (form | fields).items() if value is not None}
        )

    return submit_form
