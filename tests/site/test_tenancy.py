"""Every address of our API, asked for what belongs to somebody else."""

import re
import uuid

import pytest
from django.urls import get_resolver
from django.urls.resolvers import URLPattern

from accounts.models import ApiToken, Subscription
from calendars import editing, feeds
from calendars.models import Calendar, Event, EventException, Feed, Share
from jobs.models import Job, JobCollection, Run
from maintenance import holds
from maintenance.models import JobMaintenancePolicy, Notice, Resource
from maintenance.policies import PolicyInput
from operations.models import Operation
from tests.calendars.conftest import times
from tests.conftest import NOW
from tests.maintenance.notices import announce, resource
from tests.site.description import DESCRIPTION
from triggers.models import Trigger

METHODS = ("get", "post", "put", "patch", "delete")
WITHOUT_TENANT = {
    "api/schedules/preview",
    "api/schedules/translate",
    "api/schema",
    "api/docs",
}  # they read no row of anybody's


def routes(patterns, prefix: str = "") -> list[tuple[str, URLPattern]]:
    found = []
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            found += routes(pattern.url_patterns, route)
        else:
            found.append((route, pattern))
    return found


ALL = [route for route, _ in routes(get_resolver().url_patterns) if route.startswith("api/")]
DETAILS = [route for route in ALL if "<" in route]
LISTS = [route for route in ALL if "<" not in route and route not in WITHOUT_TENANT]


DESCRIBED = DESCRIPTION["paths"]


def takes_body(route: str, method: str) -> bool:
    path = "/" + re.sub(r"<(?:\w+:)?\w+>", "{id}", route)
    return "requestBody" in DESCRIBED[path].get(method, {})


@pytest.fixture
def theirs(make_user, make_job, make_trigger):
    """One of everything, in a subscription that the caller is no member of; and an id of each kind that is none's."""
    subscription = Subscription.objects.create(name="elsewhere")
    stranger = make_user("eve", in_subscription=subscription)
    collection = JobCollection.objects.create(subscription=subscription, name="theirs", sku="P20Premium")
    job = make_job("secret", in_collection=collection)
    run = Run.objects.create(
        subscription=subscription,
        job=job,
        job_name="secret",
        collection_name="theirs",
        fire_at=NOW,
        publish_after=NOW,
    )
    token, _ = ApiToken.objects.issue(stranger, "hers")
    calendar = Calendar.objects.default_of(stranger)
    event, _ = editing.create(calendar, {"subject": "secret", **times("2026-01-05T09:00")}, NOW)
    feed, _ = feeds.make(stranger, "hers", NOW, calendar=calendar)
    machine = resource(subscription, "hers")
    holds.set_policy(job, PolicyInput(resource_names=["hers"], on_notice="hold"), NOW)
    operation = Operation.objects.create(
        subscription=subscription, kind="collection.delete", target="default/theirs", published_at=NOW, created_at=NOW
    )
    return {
        "calendars": (calendar.pk, uuid.uuid4()),
        "events": (event.pk.hex, uuid.uuid4().hex),
        "feeds": (feed.pk, 10**9),
        "occurrences": (event.pk.hex, uuid.uuid4().hex),
        "collections": (collection.pk, 10**9),
        "jobs": (job.pk, 10**9),
        "notices": (announce(machine).pk, uuid.uuid4()),
        "operations": (operation.pk, uuid.uuid4()),
        "resources": (machine.pk, 10**9),
        "runs": (run.pk, uuid.uuid4()),
        "subscriptions": (subscription.pk, uuid.uuid4()),
        "tokens": (token.pk, 10**9),
        "triggers": (make_trigger(job).pk, 10**9),
    }


TENANTS = (
    *(JobCollection, Job, Trigger, Run, Subscription, ApiToken),
    *(Calendar, Share, Event, EventException, Feed),
    *(Resource, Notice, JobMaintenancePolicy, Operation),
)
WINDOW = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"


def state_of(theirs) -> list:
    return [list(model.objects.order_by("pk").values()) for model in TENANTS]


def address(route: str, pk) -> str:
    before, _, rest = route.partition("<")
    return f"/{before}{pk}{rest.partition('>')[2]}"


def test_the_walk_knows_every_route():
    own = {"collections", "jobs", "runs", "subscriptions", "tokens", "triggers"}
    own |= {"calendars", "events", "feeds", "occurrences"} | {"notices", "operations", "resources"}
    assert {route.split("/")[1] for route in DETAILS} == own
    assert len(DETAILS) >= 30
    assert len(LISTS) >= 13


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("route", DETAILS)
def test_what_belongs_to_others_looks_like_what_is_missing(api, theirs, route, method):
    api.get("/api/calendars")  # writes when the token was last used, and the caller's default calendar
    before = state_of(theirs)
    foreign_id, missing_id = theirs[route.split("/")[1]]
    body = {
        "action": {"type": "Http", "request": {"uri": "https://example.com", "method": "GET"}},
        "schedule": {"format": "once", "at": "2030-01-01T00:00:00Z"},
    }

    foreign, missing = (
        getattr(api, method)(address(route, pk), body if takes_body(route, method) else None)
        for pk in (foreign_id, missing_id)
    )

    assert foreign.status_code == missing.status_code
    assert foreign.status_code in (404, 405)
    assert foreign.content == missing.content
    assert state_of(theirs) == before


@pytest.mark.parametrize("route", LISTS)
def test_no_list_shows_what_belongs_to_others(api, theirs, route):
    foreign_id, _ = theirs[route.split("/")[1]]

    query = f"?{WINDOW}" if route == "api/occurrences" else ""
    listed = {str(row.get("id", row.get("eventId"))) for row in api.get(f"/{route}{query}").json()["value"]}

    assert str(foreign_id) not in listed


@pytest.mark.parametrize("query", ["collection={collections}", "job={jobs}"])
def test_no_filter_reaches_what_belongs_to_others(api, theirs, query):
    filled = query.format(**{kind: ids[0] for kind, ids in theirs.items()})

    assert api.get(f"/api/runs?{filled}").json()["value"] == []


def test_no_filter_reaches_triggers_of_others(api, theirs):
    assert api.get(f"/api/triggers?job={theirs['jobs'][0]}").json()["value"] == []


def test_no_trigger_is_put_on_a_job_of_others(api, theirs):
    body = {"name": "mine", "schedule": {"format": "once", "at": "2030-01-01T00:00:00Z"}}
    api.get("/api/jobs")  # writes when the token was last used
    before = state_of(theirs)

    foreign, missing = (api.post("/api/triggers", body | {"job": job}) for job in theirs["jobs"])

    assert (foreign.status_code, foreign.json()["error"]["target"]) == (400, "job")
    assert foreign.content == missing.content
    assert state_of(theirs) == before


@pytest.mark.parametrize("kind", ["notices", "resources", "operations"])
def test_no_filter_finds_maintenance_or_operations_of_others(api, theirs, kind):
    assert api.get(f"/api/{kind}?subscription={theirs['subscriptions'][0]}").json()["value"] == []


def test_no_notice_is_announced_to_a_resource_of_others(api, theirs):
    body = {"eventType": "Reboot"}
    api.get("/api/jobs")  # writes when the token was last used
    before = state_of(theirs)

    foreign, missing = (api.post("/api/notices", body | {"resources": [name]}) for name in ("hers", "none"))

    assert (foreign.status_code, foreign.json()["error"]["target"]) == (400, "resources[0]")
    assert foreign.text.replace("hers", "none") == missing.text
    assert state_of(theirs) == before


@pytest.mark.parametrize(
    "path, body", [("resources", {"name": "mine"}), ("notices", {"eventType": "Reboot", "resources": ["hers"]})]
)
def test_nothing_is_made_in_a_subscription_of_others(api, theirs, path, body):
    api.get("/api/jobs")  # writes when the token was last used
    before = state_of(theirs)

    foreign, missing = (api.post(f"/api/{path}", body | {"subscription": key}) for key in theirs["subscriptions"])

    assert (foreign.status_code, foreign.json()["error"]["target"]) == (400, "subscription")
    assert foreign.content == missing.content
    assert state_of(theirs) == before


def test_no_filter_finds_a_subscription_of_others(api, theirs):
    for name in ("elsewhere", theirs["subscriptions"][0]):
        assert api.get(f"/api/collections?subscription={name}").json()["value"] == []


@pytest.mark.parametrize("query", ["calendar={calendars}", "event={events}"])
def test_no_filter_reaches_what_is_in_calendars_of_others(api, theirs, query):
    filled = query.format(**{kind: ids[0] for kind, ids in theirs.items()})

    assert api.get(f"/api/occurrences?{WINDOW}&{filled}").json()["value"] == []


def test_no_event_is_put_into_a_calendar_of_others(api, theirs):
    body = {"startLocal": "2026-01-05T09:00:00", "endLocal": "2026-01-05T10:00:00"}
    api.get("/api/calendars")
    before = state_of(theirs)

    foreign, missing = (api.post("/api/events", body | {"calendarId": key}) for key in theirs["calendars"])

    assert (foreign.status_code, foreign.json()["error"]["target"]) == (400, "calendarId")
    assert foreign.content == missing.content
    assert state_of(theirs) == before


@pytest.mark.parametrize("member", ["calendarId", "query"])
def test_no_feed_shows_a_calendar_of_others(api, theirs, member):
    foreign, missing = (
        api.post("/api/feeds", {"name": "mine", member: key if member == "calendarId" else {"calendars": [key]}})
        for key in theirs["calendars"]
    )

    assert foreign.status_code == missing.status_code == 400
    assert foreign.content == missing.content


@pytest.mark.django_db
@pytest.mark.parametrize("route", [route for route in ALL if route not in ("api/schema", "api/docs")])
def test_no_address_answers_somebody_who_is_not_signed_in(api_of, route):
    kind = route.split("/")[1]
    key = uuid.uuid4() if kind in ("calendars", "notices", "operations", "runs", "subscriptions") else 1
    where = (
        address(route, uuid.uuid4().hex if kind in ("events", "occurrences") else key) if "<" in route else f"/{route}"
    )

    for method in METHODS:
        assert getattr(api_of(), method)(where).status_code == 401
