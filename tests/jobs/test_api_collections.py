"""/api/collections."""

import pytest

from accounts.models import ApiToken, Membership, Role, Subscription
from jobs.models import Job, JobCollection
from triggers.models import Trigger


def test_created_collection_is_returned_completely(api, subscription):
    body = {
        "name": "reports",
        "resourceGroup": "ops",
        "location": "West US",
        "tags": {"team": "data"},
        "sku": "P10Premium",
        "state": "disabled",
        "maxJobCount": 7,
        "maxRecurrence": {"frequency": "minute", "interval": 5},
    }

    response = api.post("/api/collections", body)

    assert response.status_code == 201, response.content
    collection = response.json()
    assert {name: collection[name] for name in body} == body
    assert collection["subscription"] == str(subscription.pk)
    assert api.get(response["Location"]).json() == collection


def test_collection_can_be_created_with_a_name_only(api):
    collection = api.post("/api/collections", {"name": "reports"}).json()

    assert (collection["sku"], collection["state"], collection["resourceGroup"]) == ("Standard", "enabled", "default")
    assert (collection["tags"], collection["maxJobCount"], collection["maxRecurrence"]) == (None, None, None)


def test_name_of_a_collection_is_unique_in_its_resource_group_in_any_case(api, collection):
    assert api.post("/api/collections", {"name": "NIGHTLY"}).status_code == 409
    assert api.post("/api/collections", {"name": "nightly", "resourceGroup": "ops"}).status_code == 201
    assert JobCollection.objects.count() == 2


def test_member_of_several_subscriptions_must_name_one(api, owner, subscription):
    second = Subscription.objects.create(name="second")
    Membership.objects.create(subscription=second, user=owner, role=Role.OPERATOR)

    unnamed = api.post("/api/collections", {"name": "reports"})
    named = api.post("/api/collections", {"name": "reports", "subscription": str(second.pk)})

    assert (unnamed.status_code, unnamed.json()["error"]["target"]) == (400, "subscription")
    assert named.json()["subscription"] == str(second.pk)


def test_put_resets_and_patch_keeps_omitted_members(api, collection):
    address = f"/api/collections/{collection.pk}"
    full = {"location": "West US", "tags": {"a": "b"}, "maxJobCount": 3, "sku": "P20Premium"}
    api.put(address, full)

    patched = api.patch(address, {"maxRecurrence": {"frequency": "hour"}}).json()
    assert {name: patched[name] for name in full} == full
    assert patched["maxRecurrence"] == {"frequency": "hour", "interval": 1}

    once, twice = api.put(address, {"sku": "Standard"}).json(), api.put(address, {"sku": "Standard"}).json()
    assert (once["location"], once["tags"], once["maxJobCount"], once["maxRecurrence"]) == ("", None, None, None)
    assert {**once, "updatedAt": None} == {**twice, "updatedAt": None}


def test_patch_merges_the_recurrence_quota(api, collection):
    address = f"/api/collections/{collection.pk}"

    assert api.patch(address, {"maxRecurrence": {"interval": 5}}).status_code == 400  # the frequency is missing
    api.patch(address, {"maxRecurrence": {"frequency": "hour", "interval": 2}})
    assert api.patch(address, {"maxRecurrence": {"interval": 5}}).json()["maxRecurrence"]["frequency"] == "hour"
    assert api.patch(address, {"maxRecurrence": {"frequency": "day"}}).json()["maxRecurrence"]["interval"] == 5
    assert api.patch(address, {"maxRecurrence": None}).json()["maxRecurrence"] is None


def test_disabling_a_collection_stops_its_jobs_and_enabling_starts_them(api, make_job):
    job = make_job()
    due = Trigger.objects.get().next_fire_at
    address = f"/api/collections/{job.collection_id}"

    assert api.post(f"{address}/disable").json()["state"] == "disabled"
    assert Trigger.objects.get().next_fire_at is None
    assert Job.objects.get().state == "enabled"
    assert api.post(f"{address}/enable").json()["state"] == "enabled"
    assert Trigger.objects.get().next_fire_at is not None
    assert Trigger.objects.get().next_fire_at >= due


def test_deleting_a_collection_deletes_its_jobs(api, make_job, carry_out):
    collection = make_job().collection

    assert api.delete(f"/api/collections/{collection.pk}").status_code == 202
    carry_out()

    assert not Job.objects.exists()
    assert api.get(f"/api/collections/{collection.pk}").status_code == 404


def test_plan_that_does_not_fit_is_a_conflict_with_the_member_of_our_own_api(api, make_job):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute"}})

    response = api.patch(f"/api/collections/{job.collection_id}", {"sku": "Free"})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "quota_exceeded")
    assert JobCollection.objects.get().sku == "P20Premium"

    api.post("/api/collections", {"name": "free", "sku": "Free"})
    second = api.post("/api/collections", {"name": "free2", "sku": "Free"})
    assert (second.status_code, second.json()["error"]["target"]) == (409, "sku")


def test_collections_are_filtered(api, collection, subscription, owner):
    second = Subscription.objects.create(name="second")
    Membership.objects.create(subscription=second, user=owner)
    JobCollection.objects.create(subscription=second, name="weekly", state="disabled")

    def names(query: str) -> list[str]:
        return [c["name"] for c in api.get(f"/api/collections?{query}").json()["value"]]

    assert names("") == ["nightly", "weekly"]
    assert names("name=NIGHTLY") == ["nightly"]
    assert names("state=disabled") == ["weekly"]
    assert names("subscription=second") == ["weekly"]
    assert names(f"subscription={subscription.pk}") == ["nightly"]


def test_list_of_collections_takes_two_queries_at_any_length(api, subscription, django_assert_num_queries):
    api.get("/api/collections")
    for count in (1, 10):
        JobCollection.objects.bulk_create(
            JobCollection(subscription=subscription, name=f"c{count}x{n}") for n in range(count)
        )
        with django_assert_num_queries(2):  # the token, the collections
            api.get("/api/collections")


@pytest.mark.parametrize(
    "change, target",
    [
        ({"name": None}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "a" * 101}, "name"),
        ({"name": ["a"]}, "name"),
        ({"resourceGroup": ""}, "resourceGroup"),
        ({"resourceGroup": "a/b"}, "resourceGroup"),
        ({"resourceGroup": "x" * 91}, "resourceGroup"),
        ({"subscription": "default"}, "subscription"),
        ({"subscription": "00000000-0000-0000-0000-0000000000ff"}, "subscription"),
        ({"subscription": 5}, "subscription"),
        ({"location": "x" * 65}, "location"),
        ({"location": None}, "location"),
        ({"tags": []}, "tags"),
        ({"tags": {"a": 5}}, "tags.a"),
        ({"tags": {"a": "x" * 257}}, "tags.a"),
        ({"tags": {"a": {"b": "c"}}}, "tags.a"),
        ({"tags": {str(n): "x" for n in range(51)}}, "tags"),
        ({"sku": "Premium"}, "sku"),
        ({"sku": None}, "sku"),
        ({"state": "deleted"}, "state"),
        ({"maxJobCount": -1}, "maxJobCount"),
        ({"maxJobCount": 2**31}, "maxJobCount"),
        ({"maxJobCount": "5"}, "maxJobCount"),
        ({"maxJobCount": True}, "maxJobCount"),
        ({"maxRecurrence": "hour"}, "maxRecurrence"),
        ({"maxRecurrence": {}}, "maxRecurrence.frequency"),
        ({"maxRecurrence": {"frequency": "year"}}, "maxRecurrence.frequency"),
        ({"maxRecurrence": {"frequency": "hour", "interval": 0}}, "maxRecurrence.interval"),
    ],
)
def test_wrong_member_of_a_collection_is_refused_with_its_path(api, change, target):
    response = api.post("/api/collections", {"name": "reports"} | change)

    assert response.status_code == 400, response.content
    assert response.json()["error"]["target"] == target
    assert not JobCollection.objects.exists()


def test_all_wrong_members_of_a_collection_are_named(api):
    error = api.post("/api/collections", {"name": "reports", "sku": "x", "state": "y"}).json()["error"]

    assert error["target"] == "sku"
    assert [detail["target"] for detail in error["details"]] == ["sku", "state"]


def test_reader_cannot_change_collections(make_user, api_of, collection):
    client = api_of(ApiToken.objects.issue(make_user("rita", Role.READER), "t")[1])
    address = f"/api/collections/{collection.pk}"

    assert client.get(address).status_code == 200
    for response in (
        client.post("/api/collections", {"name": "x"}),
        client.post("/api/collections", {"name": "x", "subscription": str(collection.subscription_id)}),
        client.put(address, {}),
        client.patch(address, {}),
        client.delete(address),
        client.post(f"{address}/enable"),
        client.post(f"{address}/disable"),
    ):
        assert response.status_code == 403
    assert JobCollection.objects.get().state == "enabled"
