"""The API /api/operations."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import ApiToken, Membership, Role, Subscription
from api import viewsets
from jobs.models import JobCollection
from operations.models import Operation
from tests.conftest import NOW

LIST = "/api/operations"


def test_operation_is_returned_with_all_members(api, make_operation, owner):
    operation = make_operation("failed", error_message="It has died.", requested_by=owner, correlation_id="c-1")

    response = api.get(f"{LIST}/{operation.pk}")

    document = response.json()
    assert response.status_code == 200
    assert "Retry-After" not in response
    assert (document["id"], document["subscription"]) == (str(operation.pk), str(operation.subscription_id))
    assert (document["kind"], document["target"]) == ("collection.delete", "default/nightly")
    assert (document["state"], document["percent"]) == ("failed", 70)
    assert document["error"] == {"code": "WorkerLost", "message": "It has died."}
    assert (document["askedBy"], document["correlationId"], document["clientRequestId"]) == ("ada", "c-1", "")
    assert document["finishedAt"] > document["createdAt"]


def test_open_operation_has_a_retry_after_header(api, make_operation):
    response = api.get(f"{LIST}/{make_operation('running').pk}")

    assert (response["Retry-After"], response.json()["error"], response.json()["finishedAt"]) == ("1", None, None)


@pytest.mark.parametrize(
    "query, states",
    [
        ("", ["accepted", "running", "failed", "succeeded"]),
        ("state=running", ["running"]),
        ("state=running&kind=collection.enable", []),
        ("kind=collection.enable", ["accepted"]),
        ("target=DEFAULT/Other", ["failed"]),
        ("subscription=00000000-0000-0000-0000-000000000001", ["accepted", "running", "failed", "succeeded"]),
        ("subscription=00000000-0000-0000-0000-000000000002", []),
        ("from={hour_ago}", ["accepted", "running"]),
        ("to={hour_ago}", ["failed", "succeeded"]),
        ("limit=1", ["accepted"]),
    ],
)
def test_operation_list_is_filtered_and_sorted_newest_first(api, make_operation, query, states):
    make_operation("succeeded", timedelta(hours=3))
    make_operation("failed", timedelta(hours=2), target="default/other")
    make_operation("running", timedelta(minutes=2))
    make_operation("accepted", timedelta(minutes=1), kind="collection.enable")
    hour_ago = f"{timezone.now() - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"

    listed = api.get(f"{LIST}?{query.format(hour_ago=hour_ago)}").json()["value"]

    assert [row["state"] for row in listed] == states


@pytest.mark.parametrize(
    "query, target",
    [
        ("state=done", "state"),
        ("subscription=x", "subscription"),
        ("from=yesterday", "from"),
        ("from=0001-01-01T00:00:00%2B14:00", "from"),
        ("kind=%00", "kind"),
        (f"target={'x' * 501}", "target"),
        ("limit=0", "limit"),
        ("cursor=x", "cursor"),
        ("since=2026-01-01", "since"),
        ("state=running&state=failed", "state"),
    ],
)
def test_invalid_filter_is_refused_by_name(api, query, target):
    response = api.get(f"{LIST}?{query}")

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)


def test_pages_have_each_operation_once(api, make_operation):
    made = [make_operation(ago=timedelta(minutes=number)) for number in range(5)]

    ids, address = [], f"{LIST}?limit=2"
    while address:
        page = api.get(address).json()
        ids += [row["id"] for row in page["value"]]
        address = page["nextLink"]

    assert ids == [str(operation.pk) for operation in made]


def test_list_takes_the_same_number_of_queries_for_any_length(api, make_operation, owner, django_assert_num_queries):
    make_operation(requested_by=owner)
    api.get(LIST)
    with django_assert_num_queries(3):  # the token, the subscriptions, and the operations of one subscription
        api.get(LIST)
    for _ in range(9):
        make_operation(requested_by=owner)
    with django_assert_num_queries(3):
        api.get(LIST)


@pytest.mark.parametrize("limit", [0, 10])
def test_operations_of_several_subscriptions_are_in_one_list(api, owner, make_operation, monkeypatch, limit):
    monkeypatch.setattr(viewsets, "MOST_PARTS", limit)  # operations of more subscriptions are loaded in one query
    second = Subscription.objects.create(name="second")
    Membership.objects.create(subscription=second, user=owner)
    for minutes in range(0, 6, 2):
        make_operation(ago=timedelta(minutes=minutes))
        make_operation(ago=timedelta(minutes=minutes + 1), subscription=second)
    ids, address = [], f"{LIST}?limit=4&target=default/nightly"
    while address:
        page = api.get(address).json()
        ids += [row["id"] for row in page["value"]]
        address = page["nextLink"]

    assert ids == [str(row.pk) for row in Operation.objects.order_by("-created_at", "-id")]


@pytest.mark.parametrize(
    "query, index",
    [
        ("state=failed", "operation_of_state"),
        ("state=failed&from=2026-01-01T00:00:00Z", "operation_of_state"),
        ("target=Default/C7", "operation_of_target"),
        ("target=default/c7&state=failed", "operation_of_target"),
    ],
)
def test_filtered_list_uses_an_index(api, owner, subscription, query, index):
    second = Subscription.objects.create(name="second")
    Membership.objects.create(subscription=second, user=owner)
    Operation.objects.bulk_create(
        Operation(
            subscription=(subscription, second)[number % 2],
            kind="collection.delete",
            target=f"default/c{number // 4}",
            target_key=str(number),
            state="succeeded" if number % 100 else "failed",
            error_code="" if number % 100 else "WorkerLost",
            published_at=NOW,
            created_at=NOW + timedelta(seconds=number),
            finished_at=NOW + timedelta(seconds=number),
        )
        for number in range(2000)
    )
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE operations_operation")
        with CaptureQueriesContext(connection) as queries:
            assert api.get(f"{LIST}?{query}").status_code == 200
        lists = [each["sql"] for each in queries if 'FROM "operations_operation"' in each["sql"]]
        for sql in lists:
            cursor.execute(f"{explain} {sql}")
            assert index in str(cursor.fetchall())

    assert len(lists) == 2


@pytest.mark.parametrize("state", ["succeeded", "failed", "canceled"])
def test_ended_operation_cannot_be_cancelled(api, make_operation, state):
    operation = make_operation(state)
    before = Operation.objects.values().get()

    response = api.post(f"{LIST}/{operation.pk}/cancel")

    assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
    assert "Retry-After" not in response  # some clients would repeat a POST because of this header
    assert Operation.objects.values().get() == before


def test_reader_can_read_but_not_cancel_an_operation(api_of, make_user, make_operation):
    operation = make_operation("running")
    reader = api_of(ApiToken.objects.issue(make_user("rea", Role.READER), "tests")[1])

    assert reader.get(f"{LIST}/{operation.pk}").status_code == 200
    assert reader.post(f"{LIST}/{operation.pk}/cancel").status_code == 403
    assert Operation.objects.get().cancel_requested_at is None


def test_operations_of_other_subscriptions_are_not_found(api_of, make_user, make_operation):
    operation = make_operation("running")
    other_subscription = Subscription.objects.create(name="elsewhere")
    stranger = api_of(ApiToken.objects.issue(make_user("eve", Role.OWNER, other_subscription), "tests")[1])

    assert stranger.get(LIST).json()["value"] == []
    assert stranger.get(f"{LIST}/{operation.pk}").status_code == 404
    assert stranger.post(f"{LIST}/{operation.pk}/cancel").status_code == 404
    assert api_of().get(LIST).status_code == 401


# Collections that are deleted with this API


def test_deletion_of_a_collection_is_an_operation(api, collection, make_job, carry_out):
    make_job()

    response = api.delete(f"/api/collections/{collection.pk}")

    assert (response.status_code, response["Retry-After"]) == (202, "1")
    assert response["Location"] == f"http://testserver{LIST}/{response.json()['id']}"
    assert (response.json()["state"], response.json()["target"]) == ("accepted", "default/nightly")
    assert response.json()["correlationId"] == response["x-ms-request-id"]
    assert api.get(f"/api/collections/{collection.pk}").json()["state"] == "deleted"

    carry_out()
    ended = api.get(response["Location"]).json()
    assert (ended["state"], ended["percent"]) == ("succeeded", 100)
    assert not JobCollection.objects.exists()
    assert api.delete(f"/api/collections/{collection.pk}").status_code == 404


def test_operation_stores_the_request_ids_of_the_client(api, collection):
    ids = {"x-ms-correlation-request-id": "release-42", "x-ms-client-request-id": "mine-1"}

    document = api.delete(f"/api/collections/{collection.pk}", headers=ids).json()

    assert (document["correlationId"], document["clientRequestId"]) == ("release-42", "mine-1")


def test_repeated_deletion_in_both_apis_is_the_same_operation(api, arm, collection):
    first = api.delete(f"/api/collections/{collection.pk}")

    assert api.delete(f"/api/collections/{collection.pk}")["Location"] == first["Location"]
    assert first.json()["id"] in arm.delete(arm.collection())["Azure-AsyncOperation"]
    assert Operation.objects.count() == 1


def test_cancelled_deletion_restores_the_collection(api, collection, make_job):
    make_job()
    operation = api.delete(f"/api/collections/{collection.pk}")["Location"]

    cancelled = api.post(f"{operation}/cancel")

    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "canceled")
    assert cancelled.json()["error"]["code"] == "OperationCanceled"
    assert cancelled.json()["cancelAskedAt"] is not None
    assert api.get(f"/api/collections/{collection.pk}").json()["state"] == "enabled"
