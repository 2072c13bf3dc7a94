"""Bodies that every route must refuse, sent to each route with a body."""

from contextlib import contextmanager

import pytest
from django.db import transaction

from accounts.models import ApiToken
from calendars import editing
from calendars.models import Calendar, Event, EventException, Feed
from jobs.models import Action, Job, JobCollection, Run, SigningSecret
from maintenance.models import JobMaintenancePolicy, Notice, Resource
from tests.calendars.conftest import times
from tests.conftest import NOW
from tests.maintenance.notices import announce, resource
from triggers.models import Trigger

pytestmark = pytest.mark.database

ROUTES = [
    ("post", "/api/collections"),
    ("put", "/api/collections/{collection}"),
    ("patch", "/api/collections/{collection}"),
    ("post", "/api/jobs"),
    ("put", "/api/jobs/{job}"),
    ("patch", "/api/jobs/{job}"),
    ("post", "/api/jobs/{job}/run"),
    ("post", "/api/jobs/{job}/signing-secret"),
    ("post", "/api/tokens"),
    ("post", "/api/schedules/preview"),
    ("post", "/api/schedules/compare"),
    ("post", "/api/calendars"),
    ("put", "/api/calendars/{calendar}"),
    ("patch", "/api/calendars/{calendar}"),
    ("post", "/api/events"),
    ("put", "/api/events/{event}"),
    ("patch", "/api/events/{event}"),
    ("patch", "/api/occurrences/{event}"),
    ("patch", "/api/occurrences/{event}/following"),
    ("post", "/api/feeds"),
    ("post", "/api/resources"),
    ("patch", "/api/resources/{resource}"),
    ("post", "/api/notices"),
    ("patch", "/api/notices/{notice}"),
    ("put", "/api/jobs/{job}/maintenance"),
]
BODIES = {
    "nothing but noise": b"\x00\x01\x02",
    "not json": b"name=a",
    "cut off": b'{"name": "a',
    "a list": b"[]",
    "a list of objects": b'[{"name": "a"}]',
    "a text": b'"name"',
    "a number": b"5",
    "null": b"null",
    "deep": b'{"name":' * 50_000,
    "deep in brackets": b"[" * 10_000 + b"]" * 10_000,
    "not finite": b'{"name": NaN}',
    "beyond a float": b'{"count": 1e999, "maxJobCount": 1e999}',
    "beyond 64 bits": b'{"count": 18446744073709551616}',
    "NUL": b'{"name": "a\\u0000b"}',
    "half a pair": b'{"name": "\\ud800"}',
    "a member twice": b'{"name": "a", "name": "b"}',
    "not utf-8": '{"name": "é"}'.encode("latin-1"),
    "utf-16": '{"name": "a"}'.encode("utf-16"),
}
TABLES = (
    *(JobCollection, Job, Trigger, Action, Run, SigningSecret),
    *(Calendar, Event, EventException, Feed),
    *(Resource, Notice, JobMaintenancePolicy),
)
# VALUES are sent in each of these members that a route reads
MEMBERS = (
    "name",
    "key",
    "collection",
    "action",
    "startTime",
    "recurrence",
    "state",
    "sku",
    "tags",
    "schedule",
    "count",
    "overlap",
    "hue",
    "shares",
    "subject",
    "body",
    "location",
    "categories",
    "attendees",
    "showAs",
    "reminderMinutes",
    "isAllDay",
    "startLocal",
    "endLocal",
    "timeZone",
    "calendarId",
    "query",
    "scopeGroup",
    "labels",
    "subscription",
    "eventType",
    "resources",
    "notBefore",
    "notBeforeSeconds",
    "description",
    "durationInSeconds",
    "eventSource",
    "eventStatus",
    "approveWhenIdle",
    "during",
    "after",
    "lead",
    "runOn",
)
VALUES = {
    "a number": 5,
    "a fraction": 1.5,
    "a boolean": True,
    "a list": [[]],
    "an object": {"a": {"b": ["c"]}},
    "a huge number": 2**63 - 1,
    "a long text": "x" * 9_000,
    "an empty text": "",
    "markup": "<script>alert(1)</script>",
    "a line break": "a\r\nb",
    "bidi": "\u202eabc",
}


@pytest.fixture
def ids(make_job, owner, subscription):
    machine = resource(subscription)
    job, calendar = make_job(), Calendar.objects.default_of(owner)
    event, _ = editing.create(calendar, times("2026-01-05T09:00"), NOW)
    return {
        "job": job.pk,
        "collection": job.collection_id,
        "calendar": calendar.pk,
        "event": event.pk.hex,
        "resource": machine.pk,
        "notice": announce(machine).pk,
    }


def everything() -> list:
    return [list(model.objects.order_by("pk").values()) for model in TABLES]


@pytest.mark.parametrize("method, route", ROUTES)
def test_body_that_is_not_strict_json_is_refused_with_400_and_changes_nothing(api, ids, method, route):
    before = everything()

    for name, body in BODIES.items():
        response = api.generic(method.upper(), route.format(**ids), body, content_type="application/json")

        assert response.status_code == 400, (name, response.content)
        error = response.json()["error"]
        assert error["code"], name
        assert error["message"], name
        assert everything() == before, name
        assert ApiToken.objects.count() == 1


MEMBERS_READ: dict[tuple[str, str], list[str]] = {}


def members_read(api, method: str, route: str, address: str) -> list[str]:
    """Return the members that a route reads.  It refuses others as unknown before it checks their values."""
    if (method, route) not in MEMBERS_READ:
        MEMBERS_READ[method, route] = [
            member for member in MEMBERS if not is_unknown(getattr(api, method)(address, {member: None}), member)
        ]
    return MEMBERS_READ[method, route]


def is_unknown(response, member: str) -> bool:
    if response.status_code != 400:
        return False
    error = response.json()["error"]
    return any((each["code"], each["target"]) == ("unknown", member) for each in error.get("details", [error]))


@contextmanager
def undone():
    """Undo what is written, so that the next request finds the same rows."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.parametrize("method, route", ROUTES)
def test_wrong_value_causes_no_server_error(api, ids, method, route):
    address = route.format(**ids)
    members = members_read(api, method, route, address)

    for name, value in VALUES.items():
        for member in (*members, "nonesuch"):
            with undone():
                response = getattr(api, method)(address, {member: value})

            assert response.status_code < 500, (name, member, response.content)
            if response.status_code >= 400:
                assert set(response.json()["error"]) >= {"code", "message", "target"}, (name, member)


def test_each_listed_member_is_read_by_a_route(api, ids):
    read = {member for method, route in ROUTES for member in members_read(api, method, route, route.format(**ids))}

    assert set(MEMBERS) - read == set()


@pytest.mark.parametrize("method, route", ROUTES)
def test_body_of_another_media_type_is_refused_with_415(api, ids, method, route):
    response = api.generic(method.upper(), route.format(**ids), b"name=a", content_type="text/plain")

    assert response.status_code == 415


@pytest.mark.parametrize("method, route", ROUTES)
def test_body_larger_than_the_limit_is_refused(api, ids, settings, method, route):
    body = b'{"x": "' + b"x" * settings.BODY_LIMIT + b'"}'

    response = api.generic(method.upper(), route.format(**ids), body, content_type="application/json")

    is_job = route.startswith("/api/jobs") and not route.endswith("/maintenance")
    assert response.status_code == (400 if is_job else 413)
    assert response.json()["error"]["code"] == "too_large"


@pytest.mark.parametrize("path", ["/api/jobs/0", "/api/jobs/9223372036854775808", "/api/jobs/" + "9" * 5000])
def test_id_of_any_size_is_not_found(api, path):
    assert api.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/api/jobs/%00", "/api/jobs/-1", "/api/jobs/1%0A", "/api/%ff", "/api/jobs/1/../2"])
def test_unusual_path_is_not_found(api, path):
    assert api.get(path).status_code == 404


@pytest.mark.parametrize(
    "query", ["name=%00", "name=%ff", "name=" + "x" * 3000, "&".join(f"a{n}=1" for n in range(2000))]
)
def test_unusual_query_causes_no_server_error(api, query):
    response = api.get(f"/api/jobs?{query}")

    assert response.status_code in (200, 400)
