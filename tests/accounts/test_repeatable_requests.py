"""The header Idempotency-Key: a POST creates an object only once for each key."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import ApiToken, IdempotencyKey, Membership, Role, Subscription
from calendars.models import Calendar, Event, Feed
from jobs.models import Job, JobCollection, Run, SigningSecret
from jobs.worker.pruning import prune
from maintenance.models import Notice, Resource
from maintenance.resources import register
from tests.conftest import ACTION, WEDNESDAY
from tests.query_plans import update_statistics
from tests.racing import in_threads
from triggers.models import Trigger

MEETING = {
    "subject": "Budget",
    "startLocal": "2027-01-05T09:00:00",
    "endLocal": "2027-01-05T10:00:00",
    "timeZone": "Europe/Berlin",
}
KEY = {"Idempotency-Key": "deploy-42"}


@dataclass
class Case:
    """A POST that creates an object, and another body for it."""

    path: str
    body: dict[str, Any]
    other: dict[str, Any]
    count: Callable[[], int]
    id_member: str = "id"
    secret: str | None = None  # the member that is returned only once
    delete: str | None = None  # the address to delete the created object


@pytest.fixture
def case(request, subscription, owner, collection, make_job):
    resource, _ = register(subscription, "db-2", "", {}, timezone.now())
    job = make_job()
    signing = f"/api/jobs/{job.pk}/signing-secret"
    cases = {
        "job": Case(
            "/api/jobs",
            {"collection": collection.pk, "name": "report", "action": ACTION},
            {"collection": collection.pk, "name": "other", "action": ACTION},
            Job.objects.count,
            delete="/api/jobs/{id}",
        ),
        "trigger": Case(
            "/api/triggers",
            {"job": job.pk, "name": "extra", "schedule": {"format": "once", "at": "2027-01-01T00:00:00Z"}},
            {"job": job.pk, "name": "more", "schedule": {"format": "once", "at": "2027-01-01T00:00:00Z"}},
            Trigger.objects.count,
            delete="/api/triggers/{id}",
        ),
        "collection": Case("/api/collections", {"name": "reports"}, {"name": "other"}, JobCollection.objects.count),
        "run": Case(f"/api/jobs/{job.pk}/run", {}, {}, Run.objects.count),
        "signing secret": Case(signing, {}, {"overlap": "P7D"}, SigningSecret.objects.count, "", "secret", signing),
        "token": Case(
            "/api/tokens",
            {"name": "nightly"},
            {"name": "other"},
            ApiToken.objects.count,
            secret="token",
            delete="/api/tokens/{id}",
        ),
        "calendar": Case(
            "/api/calendars", {"name": "Team"}, {"name": "Other"}, Calendar.objects.count, delete="/api/calendars/{id}"
        ),
        "event": Case(
            "/api/events", MEETING, {**MEETING, "subject": "x"}, Event.objects.count, delete="/api/events/{id}"
        ),
        "feed": Case(
            "/api/feeds",
            {"name": "Phone", "query": {"runs": True}},
            {"name": "Other", "query": {"runs": True}},
            Feed.objects.count,
            secret="address",
            delete="/api/feeds/{id}",
        ),
        "resource": Case(
            "/api/resources",
            {"name": "web-1"},
            {"name": "web-2"},
            Resource.objects.count,
            secret="token",
            delete="/api/resources/{id}",
        ),
        "resource token": Case(
            f"/api/resources/{resource.pk}/token",
            {},
            {},
            lambda: Resource.objects.values("digest").distinct().count(),
            "",
            "token",
            f"/api/resources/{resource.pk}",
        ),
        "notice": Case(
            "/api/notices",
            {"eventType": "Reboot", "resources": ["db-2"], "notBeforeSeconds": 3600},
            {"eventType": "Freeze", "resources": ["db-2"], "notBeforeSeconds": 3600},
            Notice.objects.count,
            "eventId",
        ),
    }
    return cases[request.param]


KINDS = [
    *("job", "trigger", "collection", "run", "signing secret", "token"),
    *("calendar", "event", "feed", "resource", "resource token", "notice"),
]
WITH_BODY = [kind for kind in KINDS if kind not in ("run", "resource token")]
DELETABLE = [kind for kind in KINDS if kind not in ("collection", "run", "notice")]


def for_kinds(kinds: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", kinds, indirect=True)


@for_kinds(KINDS)
def test_repeated_key_with_the_same_body_returns_the_created_object(api, case):
    first = api.post(case.path, case.body, headers=KEY)
    count = case.count()
    again = [api.post(case.path, dict(reversed(case.body.items())), headers=KEY) for _ in range(2)]

    assert [first.status_code, *(each.status_code for each in again)] == [201, 200, 200], again[0].content
    assert case.count() == count
    created, repeated = first.json(), again[0].json()
    if case.secret:
        assert created.pop(case.secret)
        assert case.secret not in repeated
        assert created.get("createdAt", "") in again[0].text
    if case.id_member:
        assert repeated == created
    assert "Location" not in again[0]


@for_kinds(KINDS)
def test_another_key_creates_another_object(api, case):
    first = api.post(case.path, case.body, headers=KEY)
    second = api.post(case.path, case.other, headers={"Idempotency-Key": "deploy-43"})

    assert (first.status_code, second.status_code) == (201, 201), second.content
    assert IdempotencyKey.objects.count() == 2


@for_kinds(WITH_BODY)
def test_repeated_key_with_another_body_is_refused(api, case):
    api.post(case.path, case.body, headers=KEY)
    count = case.count()

    response = api.post(case.path, case.other, headers=KEY)

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["target"]) == (422, "key_reused", "Idempotency-Key")
    assert case.count() == count


@for_kinds(KINDS)
def test_request_without_a_key_stores_no_key(api, case):
    assert api.post(case.path, case.body).status_code == 201
    assert not IdempotencyKey.objects.exists()


@for_kinds(["job", "token", "feed", "resource", "signing secret"])
def test_stored_key_contains_no_secrets(api, case):
    body = case.body
    if "action" in body:
        login = {"type": "Basic", "username": "ada", "password": "correct horse"}
        body = {**body, "action": {**ACTION, "request": {**ACTION["request"], "authentication": login}}}

    response = api.post(case.path, body, headers=KEY)

    row = IdempotencyKey.objects.values().get()
    assert (len(row["digest"]), row["path"], row["key"]) == (64, case.path, "deploy-42")
    assert response.json().get(case.secret or "", "correct horse") not in str(row)


@for_kinds(DELETABLE)
def test_repeated_key_does_not_create_a_deleted_object_again(api, case):
    created = api.post(case.path, case.body, headers=KEY)
    address = case.delete.format(id=created.json().get(case.id_member))
    assert api.delete(address).status_code == 204
    count = case.count()

    response = api.post(case.path, case.body, headers=KEY)

    if "{" in case.delete or "signing" in case.path:
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["target"]) == (409, "conflict", "Idempotency-Key")
    else:
        assert response.status_code in (404, 409)  # the parent resource was deleted
    assert case.count() == count


# Lifetime and scope of keys


@for_kinds(["token"])
def test_key_expires_after_a_day(api, case, time_machine):
    first = api.post(case.path, case.body, headers=KEY).json()

    time_machine.move_to(WEDNESDAY + timedelta(hours=23, minutes=59))
    repeated = api.post(case.path, case.body, headers=KEY)
    time_machine.move_to(WEDNESDAY + timedelta(hours=24, minutes=1))
    after_expiry = api.post(case.path, case.other, headers=KEY)

    assert (repeated.status_code, repeated.json()["id"]) == (200, first["id"])
    assert after_expiry.status_code == 201
    assert IdempotencyKey.objects.count() == 1


def test_expired_keys_are_pruned(api, owner):
    api.post("/api/tokens", {"name": "a"}, headers=KEY)
    now = timezone.now()

    prune(now + timedelta(hours=23))
    assert IdempotencyKey.objects.count() == 1
    prune(now + timedelta(hours=25))
    assert not IdempotencyKey.objects.exists()


def test_key_is_unique_only_within_an_account(api, api_of, make_user, collection):
    other = api_of(ApiToken.objects.issue(make_user("bob"), "tests")[1])

    responses = [each.post("/api/tokens", {"name": "nightly"}, headers=KEY) for each in (api, other)]

    assert [each.status_code for each in responses] == [201, 201]
    assert responses[0].json()["id"] != responses[1].json()["id"]


def test_key_is_shared_by_all_tokens_of_an_account(api, api_of, owner):
    second = api_of(ApiToken.objects.issue(owner, "second")[1])

    responses = [each.post("/api/calendars", {"name": "Team"}, headers=KEY) for each in (api, second)]

    assert [each.status_code for each in responses] == [201, 200]


def test_key_is_unique_only_for_one_address(api, make_job):
    first, second = (api.post(f"/api/jobs/{make_job(name).pk}/run", headers=KEY) for name in ("one", "two"))
    collection = api.post("/api/collections", {"name": "reports"}, headers=KEY)
    with_slash = api.post("/api/collections/", {"name": "reports"}, headers=KEY)

    assert [each.status_code for each in (first, second, collection, with_slash)] == [201, 201, 201, 200]


def test_repeated_key_does_not_return_an_object_that_is_no_longer_visible(api, owner, subscription):
    api.post("/api/collections", {"name": "reports", "subscription": str(subscription.pk)}, headers=KEY)
    Membership.objects.all().delete()
    Membership.objects.create(subscription=Subscription.objects.create(name="other"), user=owner, role=Role.OWNER)

    response = api.post("/api/collections", {"name": "reports", "subscription": str(subscription.pk)}, headers=KEY)

    assert (response.status_code, response.json()["error"]["target"]) == (409, "Idempotency-Key")


# Refused requests


@for_kinds(["job"])
def test_refused_request_does_not_use_its_key(api, case):
    refused = api.post(case.path, {**case.body, "name": "1st"}, headers=KEY)
    created = api.post(case.path, case.body, headers=KEY)

    assert (refused.status_code, created.status_code) == (400, 201)


@for_kinds(["job", "token", "feed"])
@pytest.mark.parametrize("key", ["", "é", "x" * 101, "a\tb"])
def test_invalid_key_is_refused(api, case, key):
    count = case.count()

    response = api.post(case.path, case.body, headers={"Idempotency-Key": key.encode().decode("latin-1")})

    assert (response.status_code, response.json()["error"]["target"]) == (400, "Idempotency-Key")
    assert case.count() == count


def test_key_in_the_body_is_equal_to_the_header(api):
    first = api.post("/api/events", {**MEETING, "key": "budget"})
    again = api.post("/api/events", MEETING, headers={"Idempotency-Key": "budget"})
    other = api.post("/api/events", {**MEETING, "subject": "x", "key": "budget"})

    assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    assert (other.status_code, other.json()["error"]["target"]) == (422, "key")


def test_run_keeps_its_key_after_expiry(api, make_job, time_machine):
    address = f"/api/jobs/{make_job().pk}/run"
    first = api.post(address, headers=KEY)

    time_machine.move_to(WEDNESDAY + timedelta(days=3))
    prune(timezone.now())
    later = api.post(address, headers=KEY)

    assert (later.status_code, later.json()) == (200, first.json())


# Concurrent requests


@pytest.mark.django_db(transaction=True)
@for_kinds(["job", "token", "notice", "resource token"])
def test_concurrent_requests_with_one_key_create_one_object(api_of, token, case):
    responses = in_threads(lambda _: api_of(token).post(case.path, case.body, headers=KEY, format="json"), *range(4))

    assert sorted(each.status_code for each in responses) == [200, 200, 200, 201]
    ids = {each.json().get(case.id_member) for each in responses}
    assert len(ids) == 1
    assert IdempotencyKey.objects.count() == 1


def test_key_is_found_by_an_index(api, owner):
    IdempotencyKey.objects.bulk_create(
        IdempotencyKey(user=owner, path="/api/tokens", key=str(number), ends_at=WEDNESDAY) for number in range(2000)
    )
    update_statistics(IdempotencyKey)
    api.get("/api/tokens")
    with CaptureQueriesContext(connection) as captured:
        api.post("/api/tokens", {"name": "a"}, headers=KEY)
    lookups = [each["sql"] for each in captured if "idempotencykey" in each["sql"] and each["sql"].startswith("SELECT")]

    with connection.cursor() as cursor:
        for lookup in lookups:
            cursor.execute(f"EXPLAIN {'' if connection.vendor == 'postgresql' else 'QUERY PLAN'} {lookup}")
            assert re.search("idempotency_key_once|autoindex_accounts_idempotencykey", str(cursor.fetchall()))
    assert lookups
