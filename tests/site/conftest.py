from datetime import date

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone

from calendars import editing, feeds
from calendars.models import Calendar
from jobs.models import Run
from operations.models import Operation
from tests.calendars.conftest import times
from tests.conftest import NOW
from tests.maintenance.notices import announce, resource
from triggers import closed_days


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
    """Ids of existing objects by the name of their resource."""
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
        "closed-days": closed_days.create(subscription, "offices", {}, NOW).name,
        "collections": job.collection_id,
        "jobs": job.pk,
        "notices": str(announce(machine, now=timezone.now()).pk),
        "operations": str(operation.pk),
        "resources": machine.pk,
        "runs": str(run.pk),
        "subscriptions": str(subscription.pk),
        "tokens": spare.pk,
        "triggers": make_trigger(job).pk,
    }
