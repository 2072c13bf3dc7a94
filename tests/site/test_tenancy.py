"""No address of our API gives access to objects of another subscription or user."""

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
from triggers import closed_days
from triggers.models import ClosedDays, Trigger

METHODS = ("get", "post", "put", "patch", "delete")
WITHOUT_TENANT = {
    "api/schedules/compare",
    "api/schedules/preview",
    "api/schedules/translate",
    "api/schema",
    "api/docs",
}  # they read no rows


def routes(patterns, prefix: str = "") -> list[tuple[str, URLPattern]]:
    found = []
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            found += routes(pattern.url_patterns, route)
        else:
            found.append((route, pattern))
    return found


API_ROUTES = [route for route, _ in routes(get_resolver().url_patterns) if route.startswith("api/")]
DETAILS = [route for route in API_ROUTES if "<" in route]
WITHOUT_IDS = {"api/clock-changes"}  # see tests/triggers/test_clock_changes.py
LISTS = [route for route in API_ROUTES if "<" not in route and route not in WITHOUT_TENANT | WITHOUT_IDS]


DESCRIBED = DESCRIPTION["paths"]


def takes_body(route: str, method: str) -> bool:
    path = "/" + re.sub(r"<(?:\w+:)?\w+>", "{id}", route)
    return "requestBody" in DESCRIBED[path].get(method, {})


@pytest.fixture
def theirs(make_user, make_job, make_trigger):
    """For each kind, the id of an object of another subscription or user, and an id that does not exist."""
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
        "closed-days": (closed_days.create(subscription, "hers", {}, NOW).name, "missing"),
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
    *(JobCollection, Job, Trigger, ClosedDays, Run, Subscription, ApiToken),
    *(Calendar, Share, Event, EventException, Feed),
    *(Resource, Notice, JobMaintenancePolicy, Operation),
)
WINDOW = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z"


def state_of(theirs) -> list:
    return [list(model.objects.order_by("pk").values()) for model in TENANTS]


def address(route: str, pk) -> str:
    before, _, rest = route.partition("<")
    return f"/{before}{pk}{rest.partition('>')[2]}"


def test_routes_of_all_resources_are_included():
    resources = {"collections", "jobs", "runs", "subscriptions", "tokens", "triggers"}
    resources |= {"calendars", "events", "feeds", "occurrences"} | {"notices", "operations", "resources"}
    resources |= {"closed-days"}
    assert {route.split("/")[1] for route in DETAILS} == resources
    assert len(DETAILS) >= 30
    assert len(LISTS) >= 13


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("route", DETAILS)
def test_object_of_others_gets_the_same_response_as_a_missing_one(api, theirs, route, method):
    api.get("/api/calendars")  # writes when the token was last used, and the caller's default calendar
    before = state_of(theirs)
    inaccessible_id, missing_id = theirs[route.split("/")[1]]
    body = {
        "action": {"type": "Http", "request": {"uri": "https://example.com", "method": "GET"}},
        "schedule": {"format": "once", "at": "2030-01-01T00:00:00Z"},
    }

    inaccessible, missing = (
        getattr(api, method)(address(route, pk), body if takes_body(route, method) else None)
        for pk in (inaccessible_id, missing_id)
    )

    assert inaccessible.status_code == missing.status_code
    assert inaccessible.status_code in (404, 405)
    assert inaccessible.content == missing.content
    assert state_of(theirs) == before


@pytest.mark.parametrize("route", LISTS)
def test_lists_contain_no_objects_of_others(api, theirs, route):
    inaccessible_id, _ = theirs[route.split("/")[1]]

    query = f"?{WINDOW}" if route == "api/occurrences" else ""
    listed = {str(row.get("id", row.get("eventId"))) for row in api.get(f"/{route}{query}").json()["value"]}

    assert str(inaccessible_id) not in listed


@pytest.mark.parametrize("query", ["collection={collections}", "job={jobs}"])
def test_runs_of_others_are_not_found_by_a_filter(api, theirs, query):
    filled = query.format(**{kind: ids[0] for kind, ids in theirs.items()})

    assert api.get(f"/api/runs?{filled}").json()["value"] == []


def test_triggers_of_others_are_not_found_by_a_filter(api, theirs):
    assert api.get(f"/api/triggers?job={theirs['jobs'][0]}").json()["value"] == []


def test_trigger_cannot_be_created_for_a_job_of_others(api, theirs):
    body = {"name": "mine", "schedule": {"format": "once", "at": "2030-01-01T00:00:00Z"}}
    api.get("/api/jobs")  # writes when the token was last used
    before = state_of(theirs)

    inaccessible, missing = (api.post("/api/triggers", body | {"job": job}) for job in theirs["jobs"])

    assert (inaccessible.status_code, inaccessible.json()["error"]["target"]) == (400, "job")
    assert inaccessible.content == missing.content
    assert state_of(theirs) == before


@pytest.mark.parametrize("kind", ["notices", "resources", "operations"])
def test_maintenance_and_operations_of_others_are_not_found_by_a_filter(api, theirs, kind):
    assert api.get(f"/api/{kind}?subscription={theirs['subscriptions'][0]}").json()["value"] == []


def test_notice_cannot_be_created_for_a_resource_of_others(api, theirs):
    body = {"eventType": "Reboot"}
    api.get("/api/jobs")  # writes when the token was last used
    before = state_of(theirs)

    inaccessible, missing = (api.post("/api/notices", body | {"resources": [name]}) for name in ("hers", "none"))

    assert (inaccessible.status_code, inaccessible.json()["error"]["target"]) == (400, "resources[0]")
    assert inaccessible.text.replace("hers", "none") == missing.text
    assert state_of(theirs) == before


@pytest.mark.parametrize(
    "path, body", [("resources", {"name": "mine"}), ("notices", {"eventType": "Reboot", "resources": ["hers"]})]
)
def test_nothing_can_be_created_in_a_subscription_of_others(api, theirs, path, body):
    api.get("/api/jobs")  # writes when the token was last used
    before = state_of(theirs)

    inaccessible, missing = (api.post(f"/api/{path}", body | {"subscription": key}) for key in theirs["subscriptions"])

    assert (inaccessible.status_code, inaccessible.json()["error"]["target"]) == (400, "subscription")
    assert inaccessible.content == missing.content
    assert state_of(theirs) == before


def test_collections_of_others_are_not_found_by_a_filter(api, theirs):
    for name in ("elsewhere", theirs["subscriptions"][0]):
        assert api.get(f"/api/collections?subscription={name}").json()["value"] == []


@pytest.mark.parametrize("query", ["calendar={calendars}", "event={events}"])
def test_occurrences_of_others_are_not_found_by_a_filter(api, theirs, query):
    filled = query.format(**{kind: ids[0] for kind, ids in theirs.items()})

    assert api.get(f"/api/occurrences?{WINDOW}&{filled}").json()["value"] == []


def test_event_cannot_be_created_in_a_calendar_of_others(api, theirs):
    body = {"startLocal": "2026-01-05T09:00:00", "endLocal": "2026-01-05T10:00:00"}
    api.get("/api/calendars")
    before = state_of(theirs)

    inaccessible, missing = (api.post("/api/events", body | {"calendarId": key}) for key in theirs["calendars"])

    assert (inaccessible.status_code, inaccessible.json()["error"]["target"]) == (400, "calendarId")
    assert inaccessible.content == missing.content
    assert state_of(theirs) == before


@pytest.mark.parametrize("member", ["calendarId", "query"])
def test_feed_cannot_be_created_for_a_calendar_of_others(api, theirs, member):
    inaccessible, missing = (
        api.post("/api/feeds", {"name": "mine", member: key if member == "calendarId" else {"calendars": [key]}})
        for key in theirs["calendars"]
    )

    assert inaccessible.status_code == missing.status_code == 400
    assert inaccessible.content == missing.content


@pytest.mark.django_db
@pytest.mark.parametrize("route", [route for route in API_ROUTES if route not in ("api/schema", "api/docs")])
def test_no_address_responds_without_sign_in(api_of, route):
    kind = route.split("/")[1]
    key = uuid.uuid4() if kind in ("calendars", "notices", "operations", "runs", "subscriptions") else 1
    url = (
        address(route, uuid.uuid4().hex if kind in ("events", "occurrences") else key) if "<" in route else f"/{route}"
    )

    for method in METHODS:
        assert getattr(api_of(), method)(url).status_code == 401
