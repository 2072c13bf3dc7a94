"""A GET changes nothing, also if something is due: only the beat acts on due times."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from django.utils import timezone

from accounts.invitations import invite
from accounts.models import Role, Subscription
from calendars import editing, feeds
from calendars.models import Calendar
from jobs.models import Run
from maintenance import lifecycle
from maintenance.models import Notice
from operations.models import Operation
from tests.calendars.conftest import recurrence, times
from tests.calendars.job_runs import add_run
from tests.maintenance.machines import NEWEST, Machine, machine
from tests.maintenance.notices import HOUR, MINUTE, announce, end, holds, resource, set_policy
from tests.site.test_tenancy import routes
from tests.test_secrets import MINT_NAME, addresses
from triggers import closed_days

pytestmark = pytest.mark.django_db

# what a GET may write: the time of the request, and the ids under which objects were returned
WRITTEN_BY_READS = {
    "django_session": None,
    "accounts_apitoken": {"last_used_at"},
    "calendars_feed": {"last_read_at"},
    "maintenance_resource": {"last_seen_at"},
    "maintenance_usereventscope": None,
    "calendars_syncstate": None,  # of Graph's deltas
}
WRITE = re.compile(r'\s*(?:INSERT (?:OR IGNORE )?INTO|UPDATE|DELETE FROM) "(\w+)"')
VIEWS = [f"/calendar/?view={view}" for view in ("month", "week", "workweek", "day", "agenda")]


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def polls(subscription, settings) -> Machine:
    settings.METADATA_REQUESTS_PER_SECOND = 0
    return machine(subscription, "db-2", "databases")


@pytest.fixture
def due(owner, polls, make_job, make_trigger, subscription, now):
    """Create one object of each kind, and notices that are due to start or to end; return the secret of a feed."""
    then, db2 = now - 4 * HOUR, polls.resource
    job = make_job("backup", now=then, schedule={"startTime": f"{now:%Y-%m-%dT%H:%M:%SZ}"})
    make_trigger(job, MINT_NAME, definition={"expression": "0 0 0 1 1 ?"})
    closed_days.create(subscription, "offices", {"weekend": ["sunday"]}, then)
    holds(job, now=then)
    set_policy(make_job("work", now=then, schedule=None), now=then, run_at_phases=["start"])
    site = make_job("site", now=then, schedule=None)
    set_policy(site, "web-1", now=then)
    running = add_run(site, then, Run.State.RUNNING)
    announce(db2, now=then, not_before=now - MINUTE)
    announce(db2, now=then, has_started=True, duration_s=600, ends_after_duration=True)
    announce(resource(subscription, "web-1"), now=then, not_before=now + HOUR, approve_when_idle=True)
    announce(db2, now=then, has_started=True)  # ends with its work
    end(running, now=now - HOUR)
    Run.objects.filter(origin=Run.Origin.MANUAL).update(state=Run.State.SUCCEEDED, finished_at=now - HOUR)
    add_run(job, now - MINUTE, Run.State.WAITING)  # to be held
    series = {"subject": "Stand-up", "recurrence": recurrence("daily"), **times("2026-01-05T09:00")}
    editing.create(Calendar.objects.default_of(owner), series, now)
    Operation.objects.create(
        subscription=subscription, kind="collection.delete", target="default/nightly", published_at=now, created_at=now
    )
    elsewhere = Subscription.objects.create(name="elsewhere")
    invite(elsewhere, owner.username, Role.READER, owner, now)
    invite(subscription, "grace@example.com", Role.READER, owner, now)
    return feeds.make(owner, "all", now, query={"runs": True})[1]


def rows() -> dict[str, list[dict]]:
    """Return all stored rows without the columns that a GET may write."""
    found = {}
    for model in apps.get_models(include_auto_created=True):
        excluded = WRITTEN_BY_READS.get(model._meta.db_table, set())
        if excluded is not None:
            columns = [field.attname for field in model._meta.concrete_fields if field.attname not in excluded]
            found[model._meta.db_table] = [*model._base_manager.order_by("pk").values(*columns)]
    return found


def all_addresses(polls: Machine, feed: str) -> Iterator[str]:
    """Yield every address; an address of a notice, for every notice."""
    notices = [str(pk) for pk in Notice.objects.order_by("pk").values_list("pk", flat=True)]
    for route, _ in routes(get_resolver().url_patterns):
        for address in addresses(route):
            yield from {address.replace(notices[0], notice) for notice in notices}
    for verb in ("approve", "drain", "complete", "cancel"):
        yield from (f"/maintenance/notices/{notice}/{verb}" for notice in notices)
    yield from (*VIEWS, "/calendar/?q=reboot", "/admin/jobs/job/?q=backup", "/api/notices?eventStatus=Started")
    yield from (f"/admin/maintenance/notice/{notice}/change/" for notice in notices)
    yield f"/metadata/scheduledevents?api-version={NEWEST}"
    yield f"/r/{polls.token}/metadata/scheduledevents?api-version={NEWEST}"
    yield f"/calendar/feeds/{feed}.ics"


def test_no_get_changes_anything(due, polls, api, client, owner, now):
    client.force_login(owner)
    before, written, statuses = rows(), {}, Counter()
    assert {each.is_due(now) or each.has_expired(now) for each in Notice.objects.all()} == {True, False}

    for address in all_addresses(polls, due):
        is_page = address.startswith(("/admin/", "/calendar/", "/maintenance/", "/account/"))
        with CaptureQueriesContext(connection) as queries:
            response = (client if is_page else api).get(address, headers={"Metadata": "true"})
        statuses[response.status_code] += 1
        tables = {found[1] for query in queries if (found := WRITE.match(query["sql"]))}
        if further := tables - WRITTEN_BY_READS.keys():
            written[address] = further

    assert written == {}
    assert rows() == before
    assert statuses[200] > 150
    # 503: from /healthz, because no worker runs here
    assert not [status for status in statuses if status >= 500 and status != 503]


def test_beat_starts_and_ends_due_notices(due, now):
    before = rows()

    lifecycle.run_housekeeping(now)

    after = rows()
    assert {table for table in after if after[table] != before[table]} >= {"maintenance_notice", "jobs_run"}
    assert Counter(Notice.objects.values_list("status", flat=True)) == {"started": 2, "completed": 2}
