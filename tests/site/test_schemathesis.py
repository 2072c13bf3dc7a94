"""Our API against its own description: requests made from it, right and wrong ones, and every answer as described."""

import uuid
from datetime import date

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks

from calendars import editing, feeds, ids
from calendars.models import Calendar
from jobs.actions.headers import CREDENTIAL_HEADER
from jobs.models import Run
from operations.models import Operation
from scheduler_site.wsgi import application
from tests.calendars.conftest import times
from tests.conftest import NOW
from tests.maintenance.notices import announce, resource

# a job's action has so many members that every combination of their right and wrong values would take minutes
SETTINGS = {
    "operations": [{"include-path-regex": "^/api/jobs", "phases": {"coverage": {"enabled": False}}}],
}
SECRETS = ("password", "pfx", "secret", "sasToken", "sasKey")
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
def existing(one_connection, make_job, make_trigger, owner, subscription):
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
    calendar = Calendar.objects.default_of(owner)
    daily = {
        "pattern": {"type": "daily", "interval": 1},
        "range": {"type": "noEnd", "startDate": "2026-01-05"},
    }
    series, _ = editing.create(calendar, {"recurrence": daily, **times("2026-01-05T09:00")}, NOW)
    editing.cancel_occurrence(series, date(2026, 1, 7), NOW)
    feed, _ = feeds.make(owner, "spare", NOW, calendar=calendar)
    machine = resource(subscription)
    operation = Operation.objects.create(
        subscription=subscription, kind="collection.delete", target="default/n", created_at=NOW, published_at=NOW
    )
    return {
        "calendars": str(calendar.pk),
        "events": series.pk.hex,
        "feeds": feed.pk,
        "occurrences": f"{series.pk.hex}_20260106",
        "collections": job.collection_id,
        "jobs": job.pk,
        "notices": str(announce(machine).pk),
        "operations": str(operation.pk),
        "resources": machine.pk,
        "runs": str(run.pk),
        "subscriptions": str(subscription.pk),
        "tokens": spare.pk,
        "triggers": make_trigger(job).pk,
    }


def is_id(value: object) -> bool:
    if isinstance(value, str) and ids.parse(value):
        return True
    if isinstance(value, str):
        try:
            uuid.UUID(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int)


def with_secrets_to_find(value: object) -> object:
    """The body with what would be stored as a secret made long enough to be found where it must not be."""
    if isinstance(value, list):
        return [with_secrets_to_find(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: f"{member}violet-harbour" if isinstance(member, str) and is_secret(name) else with_secrets_to_find(member)
        for name, member in value.items()
    }


def is_secret(name: str) -> bool:
    return name in SECRETS or bool(CREDENTIAL_HEADER.fullmatch(name))


@description.parametrize()
@settings(max_examples=20, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case, token, existing):
    cache.clear()  # the wrong credentials among the requests are no attack
    if is_id(case.path_parameters.get("id")):
        case.path_parameters["id"] = existing[case.path.split("/")[2]]
    case.body = with_secrets_to_find(case.body)

    case.call_and_validate(
        headers={"Authorization": f"Bearer {token}"},
        excluded_checks=[checks.positive_data_acceptance, checks.negative_data_rejection],
    )
