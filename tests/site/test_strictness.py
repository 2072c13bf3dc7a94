"""Unknown members and parameters of requests to our own API are refused, and a response can be sent back."""

import json

import pytest

from accounts.models import ApiToken
from calendars import editing, feeds
from calendars.models import Calendar, Event, EventException, Feed
from jobs.models import Action, Job, JobCollection, Run, SigningSecret
from maintenance.models import JobMaintenancePolicy, Notice, Resource, Transition
from operations.models import Operation
from tests.calendars.conftest import recurrence, times
from tests.conftest import NOW, WEDNESDAY
from tests.maintenance.notices import HOUR, announce, resource, set_policy
from tests.site.description import DESCRIPTION
from triggers import closed_days
from triggers.models import ClosedDays, ClosedDaysVersion, Trigger

TABLES = (
    *(JobCollection, Job, Trigger, ClosedDays, ClosedDaysVersion, Action, Run, SigningSecret, Operation),
    *(Calendar, Event, EventException, Feed),
    *(Resource, Notice, Transition, JobMaintenancePolicy),
)
AZURE = {
    "format": "azure",
    "startTime": "2026-12-01T08:00:00Z",
    "recurrence": {
        "frequency": "Month",
        "schedule": {"hours": [5], "monthlyOccurrences": [{"day": "Friday", "Occurrence": 1}]},
    },
}
TIME = {"dateTime": "2026-12-07T09:00:00", "timeZone": "Europe/Berlin"}
WEEKLY = {
    "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]},
    "range": {"type": "noEnd", "startDate": "2026-12-07"},
}
OUTLOOK = {"format": "outlook", "start": TIME, "end": TIME, "recurrence": WEEKLY}
QUARTZ = {"format": "quartz", "expression": "0 0 * * * ?", "timeZone": "Europe/Berlin"}
REQUEST = {
    "type": "Https",
    "request": {
        "uri": "https://example.com/hook",
        "method": "POST",
        "headers": {"X-Any": "x"},
        "authentication": {"type": "Basic", "username": "ada", "password": "violet-harbour"},
        "success": {"statusCodes": ["200-299"]},
    },
    "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 2},
    "errorAction": {
        "type": "ServiceBusQueue",
        "serviceBusQueueMessage": {
            "namespace": "violet",
            "queueName": "orders",
            "message": "x",
            "brokeredMessageProperties": {"label": "x"},
            "customMessageProperties": {"any": "x"},
            "authentication": {"type": "SharedAccessKey", "sasKeyName": "k", "sasKey": "violet-harbour"},
        },
    },
}
CERTIFICATE = {"type": "ClientCertificate", "pfx": "x", "password": "x"}
OAUTH = {"type": "ActiveDirectoryOAuth", "tenant": "t", "clientId": "c", "secret": "violet-harbour"}
QUEUE = {"type": "StorageQueue", "queueMessage": {"storageAccount": "abc", "queueName": "abc", "sasToken": "s=1"}}
TOPIC = {"type": "ServiceBusTopic", "serviceBusTopicMessage": {"namespace": "violet", "topicPath": "t"}}
TASK = {"type": "Task", "task": {"name": "TESTS.NOTE", "arguments": {"any": 1}}}
JOB = {"action": REQUEST, "startTime": AZURE["startTime"], "recurrence": AZURE["recurrence"]}
TRIGGER = {"schedule": QUARTZ, "triggerDataMap": {"any": 1}}
EVENT = {
    "subject": "x",
    "attendees": [{"name": "Bob", "address": "bob@example.org"}],
    "startLocal": "2026-12-07T10:00:00",
    "endLocal": "2026-12-07T11:00:00",
    "timeZone": "Europe/Berlin",
    "recurrence": WEEKLY,
}
OCCURRENCE = {name: value for name, value in EVENT.items() if name != "recurrence"}
CALENDAR = {"name": "x", "shares": [{"user": "bob", "role": "reader"}]}
COLLECTION = {"tags": {"any": "x"}, "maxRecurrence": {"frequency": "hour"}}
NOTICE = {"eventType": "Reboot", "resources": ["db-2"]}
MAINTENANCE_POLICY = {"resources": ["db-2"], "labels": {"any": "x"}}
CLOSED_DAYS = {"holidays": [{"country": "DE"}], "dates": [{"month": 12, "day": 24}]}
# every request with a body, and each form of the documents in it
BODIES = [
    ("post", "/api/tokens", {"name": "x"}),
    ("post", "/api/collections", {"name": "new", **COLLECTION}),
    ("put", "/api/collections/{collections}", COLLECTION),
    ("patch", "/api/collections/{collections}", COLLECTION),
    ("post", "/api/jobs", {"collection": 1, "name": "new", **JOB}),
    ("put", "/api/jobs/{jobs}", JOB),
    ("patch", "/api/jobs/{jobs}", JOB),
    ("patch", "/api/jobs/{jobs}", {"action": QUEUE | {"errorAction": TASK}}),
    ("patch", "/api/jobs/{jobs}", {"action": TOPIC | {"errorAction": REQUEST["errorAction"]}}),
    *(
        ("patch", "/api/jobs/{jobs}", {"action": {"request": {"authentication": authentication}}})
        for authentication in (CERTIFICATE, OAUTH, {"type": "None"})
    ),
    ("post", "/api/jobs/{jobs}/run", {"key": "x"}),
    ("post", "/api/jobs/{jobs}/signing-secret", {"overlap": "PT1H"}),
    ("put", "/api/jobs/{jobs}/maintenance", MAINTENANCE_POLICY),
    ("post", "/api/triggers", {"job": 1, "name": "new", **TRIGGER}),
    ("put", "/api/triggers/{triggers}", TRIGGER | {"schedule": OUTLOOK}),
    ("patch", "/api/triggers/{triggers}", {"schedule": AZURE}),
    ("patch", "/api/triggers/{triggers}", {"schedule": {"timeZone": "UTC"}}),
    *(
        ("post", "/api/schedules/preview", {"schedule": schedule})
        for schedule in (
            *(AZURE, QUARTZ, OUTLOOK),
            {"format": "cron", "expression": "0 9 * * MON-FRI", "clockChange": {"gap": "shift", "repeat": "both"}},
            {"format": "simple", "interval": 60_000},
            {"format": "once", "at": "2026-12-01T08:00:00Z"},
            {"format": "solar", "event": "noon", "latitude": 52.52, "longitude": 13.41, "offset": "PT1H"},
            {"format": "rrule", "start": TIME, "end": TIME, "rrule": "FREQ=DAILY", "exdates": ["2026-12-08"]},
        )
    ),
    ("post", "/api/schedules/compare", {"before": QUARTZ, "after": OUTLOOK}),
    *(
        ("post", "/api/schedules/translate", {"schedule": schedule, "to": "quartz"})
        for schedule in ({"format": "cron", "expression": "@daily"}, AZURE, QUARTZ)
    ),
    ("post", "/api/closed-days", {"name": "new", **CLOSED_DAYS}),
    ("put", "/api/closed-days/{closed-days}", CLOSED_DAYS),
    ("patch", "/api/closed-days/{closed-days}", CLOSED_DAYS),
    ("post", "/api/closed-days/{closed-days}/compare", CLOSED_DAYS),
    ("post", "/api/calendars", CALENDAR),
    ("put", "/api/calendars/{calendars}", CALENDAR),
    ("patch", "/api/calendars/{calendars}", CALENDAR),
    ("post", "/api/events", EVENT),
    ("put", "/api/events/{events}", EVENT),
    ("patch", "/api/events/{events}", EVENT),
    ("patch", "/api/occurrences/{occurrences}", OCCURRENCE),
    ("patch", "/api/occurrences/{occurrences}/following", EVENT),
    ("post", "/api/feeds", {"name": "x", "query": {"runs": True}}),
    ("post", "/api/resources", {"name": "new", "labels": {"any": "x"}}),
    ("patch", "/api/resources/{resources}", {"labels": {"any": "x"}}),
    ("post", "/api/notices", NOTICE),
    ("patch", "/api/notices/{notices}", NOTICE),
]
# in these objects the caller chooses the names
FREE = ("tags", "labels", "headers", "triggerDataMap", "arguments", "customMessageProperties")
IMPORTS = ("/api/calendars/{id}/import", "/api/closed-days/{id}/import")  # their bodies are files
OPERATIONS = [
    (method, path, operation)
    for path, operations in DESCRIPTION["paths"].items()
    for method, operation in operations.items()
]


@pytest.fixture
def ids(make_job, make_trigger, make_user, owner, subscription, calendar):
    """Ids of existing objects by the name of their resource."""
    make_user("bob")
    machine = resource(subscription)
    job = make_job(now=WEDNESDAY, schedule={"startTime": "2026-12-01T08:00:00Z", "recurrence": {"frequency": "Day"}})
    set_policy(job)
    series, _ = editing.create(calendar, {"subject": "x", **times("2026-12-07T09:00"), "recurrence": MONDAYS}, NOW)
    run = Run.objects.create(
        **{"subscription": subscription, "job": job, "job_name": job.name, "collection_name": "nightly"},
        **{"fire_at": NOW, "publish_after": NOW},
    )
    operation = Operation.objects.create(
        subscription=subscription, kind="collection.delete", target="default/n", created_at=NOW, published_at=NOW
    )
    return {
        "calendars": calendar.pk,
        "closed-days": closed_days.create(subscription, "germany", {}, NOW).name,
        "collections": job.collection_id,
        "events": series.pk.hex,
        "feeds": feeds.make(owner, "spare", NOW, calendar=calendar)[0].pk,
        "jobs": job.pk,
        "notices": announce(machine, not_before=WEDNESDAY + HOUR, now=WEDNESDAY).pk,
        "occurrences": f"{series.pk.hex}_20261214",
        "operations": operation.pk,
        "resources": machine.pk,
        "runs": run.pk,
        "subscriptions": subscription.pk,
        "tokens": ApiToken.objects.issue(owner, "spare")[0].pk,
        "triggers": make_trigger(job, now=WEDNESDAY).pk,
    }


@pytest.fixture
def calendar(owner) -> Calendar:
    return Calendar.objects.default_of(owner)


MONDAYS = recurrence("weekly", start="2026-12-07")


def everything() -> list:
    return [list(model.objects.order_by("pk").values()) for model in TABLES]


def address(path: str, ids: dict) -> str:
    """Return the address of an operation of the description, with the id of an existing object."""
    return path.replace("{id}", str(ids.get(path.split("/")[2])))


def objects_in(value: object, path: str = ""):
    """Yield the paths of all objects in a document whose members have fixed names."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from objects_in(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        yield path
        for name, member in value.items():
            if name not in FREE:
                yield from objects_in(member, f"{path}.{name}" if path else name)


def with_member(document: dict, path: str, name: str, value: object) -> dict:
    changed = json.loads(json.dumps(document))
    place = changed
    for part in filter(None, path.replace("[", ".").replace("]", "").split(".")):
        place = place[int(part)] if part.isdigit() else place[part]
    place[name] = value
    return changed


# Unknown members and parameters


@pytest.mark.parametrize("value", [None, 5, {"a": 1}], ids=["null", "a number", "an object"])
@pytest.mark.parametrize("method, route, body", BODIES)
def test_unknown_member_is_refused_in_every_object(api, ids, method, route, body, value):
    before = everything()

    for path in objects_in(body):
        response = getattr(api, method)(route.format(**ids), with_member(body, path, "timezon", value))

        assert response.status_code == 400, (path, response.content)
        error = response.json()["error"]
        unknown = [each["target"] for each in error.get("details", [error]) if each["code"] == "unknown"]
        assert unknown == [f"{path}.timezon" if path else "timezon"]
    assert everything() == before


def test_bodies_include_every_operation_with_a_body():
    described = {(method, path) for method, path, operation in OPERATIONS if "requestBody" in operation}
    tested = {
        (method, route if "{" not in route else f"{route[: route.index('{')]}{{id}}{route[route.index('}') + 1 :]}")
        for method, route, _ in BODIES
    }

    assert described - {("post", path) for path in IMPORTS} == tested


@pytest.mark.parametrize("method, path", [(m, p) for m, p, operation in OPERATIONS if "requestBody" not in operation])
def test_body_is_refused_by_operations_without_one(api, ids, method, path):
    before, tokens = everything(), ApiToken.objects.count()

    response = api.generic(method.upper(), address(path, ids), json.dumps({"until": 1}), "application/json")

    assert response.status_code == 400, response.content
    assert response.json()["error"]["target"] == "until"
    assert (everything(), ApiToken.objects.count()) == (before, tokens)


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_empty_body_is_accepted_by_operations_without_one(api, ids, body):
    assert api.generic("POST", f"/api/jobs/{ids['jobs']}/pause", body, "application/json").status_code == 200


@pytest.mark.parametrize("method, path", [(method, path) for method, path, _ in OPERATIONS])
def test_unknown_query_parameter_is_refused(api, ids, method, path):
    before, tokens = everything(), ApiToken.objects.count()

    response = getattr(api, method)(f"{address(path, ids)}?Limit=5&jobb=1", None, format="json")

    assert response.status_code == 400, response.content
    targets = {each["target"] for each in response.json()["error"]["details"]}
    assert targets >= {"Limit", "jobb"}
    assert (everything(), ApiToken.objects.count()) == (before, tokens)


@pytest.mark.parametrize("method, path, operation", OPERATIONS)
def test_described_query_parameter_is_not_unknown(api, ids, method, path, operation):
    """Its value may be refused."""
    names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]

    response = getattr(api, method)(f"{address(path, ids)}?{'&'.join(f'{name}=%00' for name in names)}")

    if response.status_code == 400:
        error = response.json()["error"]
        assert not [each for each in error.get("details", [error]) if each["code"] == "unknown"]


def test_refusal_lists_the_known_names_with_the_most_similar_first(api, ids):
    response = api.post("/api/schedules/preview", {"schedule": {**QUARTZ, "timezone": "UTC"}, "form": 1})

    error = response.json()["error"]
    messages = {each["target"]: each["message"] for each in error["details"]}
    assert messages["schedule.timezone"].startswith("is not known here; take timeZone, ")
    assert messages["form"].startswith("is not known here; take from, ")


# Sending a response back


PUT_OR_PATCHED = [
    (method, path)
    for method, path, _ in OPERATIONS
    if method in ("put", "patch") and "get" in DESCRIPTION["paths"][path]
]


@pytest.mark.parametrize("method, path", PUT_OR_PATCHED)
def test_response_can_be_sent_back_and_changes_nothing(api, ids, method, path):
    url = address(path, ids)
    returned = api.get(url)
    assert returned.status_code == 200
    before = everything()

    sent_back = getattr(api, method)(url, returned.json())

    assert sent_back.status_code == 200, sent_back.content
    assert sent_back.json() == returned.json()
    assert everything() == before
    assert api.get(url).get("ETag") == returned.get("ETag")
