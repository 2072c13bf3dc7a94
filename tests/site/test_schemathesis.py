"""Our API against its own description: requests made from it, right and wrong ones, and every answer as described."""

import uuid

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks

from jobs.models import Run
from scheduler_site.wsgi import application
from tests.conftest import NOW

# a job's action has so many members that every combination of their right and wrong values would take minutes
SETTINGS = {
    "operations": [{"include-path-regex": "^/api/jobs", "phases": {"coverage": {"enabled": False}}}],
}
description = schemathesis.openapi.from_dict(
    SchemaGenerator().get_schema(request=None, public=True), config=schemathesis.Config.from_dict(SETTINGS)
)
description.app = application


@pytest.fixture
def one_connection(db):
    """Keep the test's connection and its transaction, as Django's own test client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def existing(one_connection, make_job, owner, subscription):
    """By the name of a resource, the id of one that is there."""
    job = make_job()
    run = Run.objects.create(
        subscription=subscription,
        job=job,
        job_name=job.name,
        collection_name="nightly",
        fire_at=NOW,
        publish_after=NOW,
    )
    spare = owner.apitoken_set.create(name="spare", prefix="spare", digest="spare")
    return {
        "collections": job.collection_id,
        "jobs": job.pk,
        "runs": str(run.pk),
        "subscriptions": str(subscription.pk),
        "tokens": spare.pk,
    }


def is_id(value: object) -> bool:
    if isinstance(value, str):
        try:
            uuid.UUID(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int)


@description.parametrize()
@settings(max_examples=20, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case, token, existing):
    cache.clear()  # the wrong credentials among the requests are no attack
    if is_id(case.path_parameters.get("id")):
        case.path_parameters["id"] = existing[case.path.split("/")[2]]

    case.call_and_validate(
        headers={"Authorization": f"Bearer {token}"},
        excluded_checks=[checks.positive_data_acceptance, checks.negative_data_rejection],
    )
