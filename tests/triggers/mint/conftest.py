"""Triggers with names like Apigee's, and clients that change them."""

import pytest

from accounts.models import Subscription
from jobs.models import Job, JobCollection
from tests.conftest import NOW
from tests.triggers.mint.triggers import CHARGE, CRON, LIST
from triggers.definitions import TriggerDefinition
from triggers.scheduling import save_collection, save_trigger


@pytest.fixture
def make_trigger(make_job):
    """Return a function that creates a trigger of a job without its own schedule."""

    def make(name=CHARGE, job="charge-daily", in_collection=None, **fields):
        fields = {
            **CRON,
            "priority": 1,
            "group": "management-server",
            "data_map": {"custom_lock_key": "mint.scheduler.__ORG_ID__.chargedaily@@@management"},
            **fields,
        }
        where = {"in_collection": in_collection} if in_collection else {}
        row = Job.objects.filter(name=job, **({"collection": in_collection} if in_collection else {})).first()
        row = row or make_job(
            job, action={"type": "Task", "task": {"name": "MINT.CHARGE_DAILY"}}, schedule=None, **where
        )
        return save_trigger(row, name, TriggerDefinition(**fields), NOW)[0]

    return make


@pytest.fixture
def elsewhere(make_user):
    """A collection of a subscription of which the caller is not a member."""
    subscription = Subscription.objects.create(name="elsewhere")
    make_user("eve", in_subscription=subscription)
    collection = JobCollection(subscription=subscription, name="theirs")
    save_collection(collection, NOW)
    return collection


@pytest.fixture
def put(api):
    """Return a function that changes the trigger with this id; the body has the id and the given members."""

    def put(trig_id: str, **members):
        return api.put(f"{LIST}/{trig_id}", {"id": trig_id} | members)

    return put
