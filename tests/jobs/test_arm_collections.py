import pytest

from jobs.arm import lists
from jobs.models import Job, JobCollection, Run
from tests.conftest import ACTION, NOW
from tests.jobs.arm_client import ArmClient

FULL = {
    "name": "nightly",
    "location": "westus",
    "tags": {"team": "ops"},
    "properties": {
        "sku": {"name": "Standard"},
        "state": "Enabled",
        "quota": {
            "maxJobCount": 5,
            "maxJobOccurrence": 7,
            "maxRecurrence": {"frequency": "Hour", "interval": 2},
        },
    },
}


@pytest.fixture
def free(subscription):
    return JobCollection.objects.create(subscription=subscription, name="small", sku="Free")


def test_put_creates_a_collection(arm, subscription):
    response = arm.put(arm.collection(), FULL)

    assert response.status_code == 201
    assert response.json() == {
        "id": arm.collection(),
        "type": "Microsoft.Scheduler/jobCollections",
        "name": "nightly",
        "location": "West US",
        "tags": {"team": "ops"},
        "properties": FULL["properties"] | {"provisioningState": "Succeeded"},
        "etag": response["ETag"],
    }
    assert arm.get(arm.collection()).json() == response.json()


def test_omitted_members_of_a_collection_are_not_returned(arm, subscription):
    response = arm.put(arm.collection(), {"properties": {}})

    assert response.status_code == 201
    assert response.json()["properties"] == {
        "sku": {"name": "Standard"},
        "state": "Enabled",
        "provisioningState": "Succeeded",
    }
    assert not {"tags", "location"} & set(response.json())


def test_repeated_put_of_a_collection_changes_nothing(arm, subscription):
    created = arm.put(arm.collection(), FULL)

    again = arm.put(arm.collection(), FULL)

    assert again.status_code == 200
    assert again.json() == created.json()
    assert JobCollection.objects.count() == 1


def test_put_replaces_a_collection(arm, subscription):
    arm.put(arm.collection(), FULL)

    replaced = arm.put(arm.collection(), {"location": "East US", "properties": {"sku": {"name": "p10premium"}}}).json()

    assert replaced["location"] == "East US"
    assert replaced["properties"] == {
        "sku": {"name": "P10Premium"},
        "state": "Enabled",
        "provisioningState": "Succeeded",
    }
    assert "tags" not in replaced


def test_put_with_the_name_in_another_case_updates_the_same_collection(arm, subscription):
    arm.put(arm.collection("nightly"), FULL)

    response = arm.put(arm.collection("NIGHTLY"), {**FULL, "name": "Nightly"})

    assert (response.status_code, response.json()["name"]) == (200, "nightly")


def test_patch_merges_the_quota(arm, subscription):
    arm.put(arm.collection(), FULL)

    patch = {"properties": {"quota": {"maxRecurrence": {"interval": 3}}}}
    response = arm.patch(arm.collection(), patch)

    assert response.status_code == 200
    quota = {"maxJobCount": 5, "maxJobOccurrence": 7, "maxRecurrence": {"frequency": "Hour", "interval": 3}}
    assert response.json()["properties"]["quota"] == quota
    assert response.json()["location"] == "West US"
    assert arm.get(arm.collection()).json() == response.json()


def test_a_patch_replaces_the_tags(arm, subscription):
    arm.put(arm.collection(), FULL)

    assert arm.patch(arm.collection(), {"tags": {"stage": "test"}}).json()["tags"] == {"stage": "test"}
    assert "tags" not in arm.patch(arm.collection(), {"tags": None}).json()


def test_null_in_a_patch_removes_the_quota(arm, subscription):
    arm.put(arm.collection(), FULL)

    assert "quota" not in arm.patch(arm.collection(), {"properties": {"quota": None}}).json()["properties"]


@pytest.mark.parametrize(
    "location, display_name",
    [("westus", "West US"), ("West US", "West US"), ("NORTHEUROPE", "North Europe"), ("cellar", "cellar")],
)
def test_known_location_is_returned_by_its_display_name(arm, subscription, location, display_name):
    assert arm.put(arm.collection(), {"location": location}).json()["location"] == display_name


@pytest.mark.parametrize("state", ["Suspended", "suspended", "Disabled"])
def test_put_can_set_the_state_of_a_collection(arm, subscription, state):
    response = arm.put(arm.collection(), {"properties": {"state": state}})

    assert response.json()["properties"]["state"] == state.capitalize()


# States


def test_disabling_a_collection_stops_its_jobs_and_keeps_their_states(arm, make_job, carry_out):
    make_job("on")
    make_job("off", state="disabled")

    response = arm.post(arm.collection() + "/disable")

    assert (response.status_code, response.content) == (202, b"")
    carry_out()
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Disabled"
    assert arm.get(arm.job("on")).json()["properties"]["state"] == "Enabled"
    assert "nextExecutionTime" not in arm.get(arm.job("on")).json()["properties"]["status"]


def test_enabling_a_collection_starts_its_enabled_jobs(arm, make_job, carry_out):
    make_job("on", schedule={"recurrence": {"frequency": "Day"}})
    make_job("off", state="disabled")
    arm.post(arm.collection() + "/disable")
    carry_out()

    response = arm.post(arm.collection() + "/enable")

    assert (response.status_code, response.content) == (202, b"")
    carry_out()
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Enabled"
    assert "nextExecutionTime" in arm.get(arm.job("on")).json()["properties"]["status"]
    assert arm.get(arm.job("off")).json()["properties"]["state"] == "Disabled"


def test_deleting_a_collection_deletes_its_jobs_and_keeps_their_history(arm, make_job, carry_out):
    job = make_job()
    run = Run.objects.create(
        subscription=job.collection.subscription, job=job, action=job.action, fire_at=NOW, publish_after=NOW
    )

    response = arm.delete(arm.collection())

    assert (response.status_code, response.content) == (202, b"")
    carry_out()
    assert arm.get(arm.collection()).status_code == 404
    assert not Job.objects.exists()
    run.refresh_from_db()
    assert (run.job, run.state) == (None, Run.State.CANCELLED)


# Refusals


@pytest.mark.parametrize(
    "document, target",
    [
        ({"name": 1}, "name"),
        ({"name": "other"}, "name"),
        ({"location": 1}, "location"),
        ({"location": "a" * 65}, "location"),
        ({"location": "a\nb"}, "location"),
        ({"tags": []}, "tags"),
        ({"tags": {"a": 1}}, "tags.a"),
        ({"tags": {"a": "b" * 257}}, "tags.a"),
        ({"tags": {"a" * 513: "b"}}, "tags"),
        ({"tags": {str(number): "" for number in range(51)}}, "tags"),
        ({"properties": "x"}, "properties"),
        ({"properties": {"sku": "Free"}}, "properties.sku"),
        ({"properties": {"sku": {"name": "Premium"}}}, "properties.sku.name"),
        ({"properties": {"sku": {"name": 1}}}, "properties.sku.name"),
        ({"properties": {"state": "Deleted"}}, "properties.state"),
        ({"properties": {"state": True}}, "properties.state"),
        ({"properties": {"quota": 1}}, "properties.quota"),
        ({"properties": {"quota": {"maxJobCount": -1}}}, "properties.quota.maxJobCount"),
        ({"properties": {"quota": {"maxJobCount": True}}}, "properties.quota.maxJobCount"),
        ({"properties": {"quota": {"maxJobCount": 2**31}}}, "properties.quota.maxJobCount"),
        ({"properties": {"quota": {"maxJobOccurrence": "1"}}}, "properties.quota.maxJobOccurrence"),
        ({"properties": {"quota": {"maxRecurrence": 1}}}, "properties.quota.maxRecurrence"),
        ({"properties": {"quota": {"maxRecurrence": {}}}}, "properties.quota.maxRecurrence.frequency"),
        (
            {"properties": {"quota": {"maxRecurrence": {"frequency": "Year"}}}},
            "properties.quota.maxRecurrence.frequency",
        ),
        (
            {"properties": {"quota": {"maxRecurrence": {"frequency": "Day", "interval": 1.5}}}},
            "properties.quota.maxRecurrence.interval",
        ),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_wrong_member_of_a_collection_is_refused_with_its_path(arm, collection, method, document, target):
    before = arm.get(arm.collection()).json()

    response = arm.call(method, arm.collection(), document)

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)
    assert arm.get(arm.collection()).json() == before


@pytest.mark.parametrize("name", ["1st", "a b", "a.b", "%C3%A4", "a" * 101, "-a"])
def test_malformed_name_of_a_collection_is_refused(arm, subscription, name):
    assert arm.put(arm.collection(name), {}).status_code == 400


@pytest.mark.parametrize("group", ["ends.", "a b", "a" * 91])
def test_malformed_name_of_a_resource_group_is_refused(token, subscription, group):
    arm = ArmClient(token, group=group)

    assert arm.put(arm.collection(), {}).status_code == 400


def test_a_patch_with_another_id_is_refused(arm, collection):
    own = arm.get(arm.collection()).json()["id"]

    assert arm.patch(arm.collection(), {"id": own.upper()}).status_code == 200
    assert arm.patch(arm.collection(), {"id": own + "x"}).json()["error"]["target"] == "id"
    assert arm.patch(arm.collection(), {"id": 1}).status_code == 400


# Quotas


def test_a_second_free_collection_is_refused(arm, free):
    response = arm.put(arm.collection("other"), {"properties": {"sku": {"name": "Free"}}})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "ConflictError")
    assert JobCollection.objects.count() == 1


def test_a_free_collection_holds_five_jobs(arm, free):
    for number in range(5):
        assert arm.put(arm.job(f"job{number}", "small"), {"properties": {"action": ACTION}}).status_code == 201

    response = arm.put(arm.job("job5", "small"), {"properties": {"action": ACTION}})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "ConflictError")


def test_quota_of_a_collection_lowers_the_limit_of_its_plan(arm, subscription):
    arm.put(arm.collection(), {"properties": {"quota": {"maxJobCount": 1}}})
    arm.put(arm.job("first"), {"properties": {"action": ACTION}})

    assert arm.put(arm.job("second"), {"properties": {"action": ACTION}}).status_code == 409
    assert arm.put(arm.job("first"), {"properties": {"action": ACTION}}).status_code == 200


@pytest.mark.parametrize(
    "name, recurrence",
    [
        ("small", {"frequency": "Minute", "interval": 59}),  # Free: at most hourly
        ("limited", {"frequency": "Hour", "interval": 1}),
    ],
)
def test_recurrence_faster_than_the_quota_is_refused(arm, free, name, recurrence):
    arm.put(arm.collection("limited"), FULL | {"name": "limited"})

    response = arm.put(arm.job("job", name), {"properties": {"action": ACTION, "recurrence": recurrence}})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "ConflictError")
    assert response.json()["error"]["target"] == "properties.recurrence"


def test_a_free_collection_has_no_outbound_authentication(arm, free):
    authentication = {"type": "Basic", "username": "ada", "password": "violet-harbour"}
    action = {"type": "Http", "request": {**ACTION["request"], "authentication": authentication}}

    response = arm.put(arm.job("job", "small"), {"properties": {"action": action}})

    assert response.status_code == 409
    assert response.json()["error"]["target"] == "properties.action.request.authentication"


def test_collection_with_jobs_that_run_too_often_cannot_become_free(arm, make_job):
    make_job(schedule={"recurrence": {"frequency": "Minute"}})

    assert arm.patch(arm.collection(), {"properties": {"sku": {"name": "Free"}}}).status_code == 409
    assert arm.get(arm.collection()).json()["properties"]["sku"]["name"] == "P20Premium"


# Lists


@pytest.fixture
def groups(token, subscription):
    for group, name in [("blue", "b"), ("Blue", "A"), ("red", "c"), ("green", "d")]:
        JobCollection.objects.create(subscription=subscription, resource_group=group, name=name)
    return ArmClient(token, group="blue")


def names(response) -> list[str]:
    return [item["name"] for item in response.json()["value"]]


def test_resource_group_lists_its_collections_by_name(groups):
    response = groups.get(groups.collections)

    assert names(response) == ["A", "b"]
    assert response.json()["nextLink"] is None


def test_subscription_lists_all_its_collections(groups):
    response = groups.get(f"{groups.subscription}/providers/Microsoft.Scheduler/jobCollections")

    assert names(response) == ["A", "b", "d", "c"]


def test_empty_resource_group_has_an_empty_list(arm, subscription):
    assert arm.get(arm.collections).json() == {"value": [], "nextLink": None}


@pytest.mark.parametrize("length", [1, 2, 3])
def test_pages_together_contain_all_collections(groups, monkeypatch, length):
    monkeypatch.setattr(lists, "PAGE_LENGTH", length)
    found = []

    response = groups.get(f"{groups.subscription}/providers/Microsoft.Scheduler/jobCollections")
    found += names(response)
    while link := response.json()["nextLink"]:
        assert link.startswith("http://testserver/subscriptions/")
        response = groups.client.get(link)
        assert response.status_code == 200
        found += names(response)

    assert found == ["A", "b", "d", "c"]


@pytest.mark.parametrize("given", ["x", "a/\0", "\0/a"])
def test_forged_skip_token_is_refused(groups, given):
    response = groups.get(groups.collections, skiptoken=given)

    assert (response.status_code, response.json()["error"]["target"]) == (400, "$skiptoken")


def test_list_of_collections_takes_a_fixed_number_of_queries(groups, django_assert_num_queries):
    groups.get(groups.collections)  # writes when the token was last used

    with django_assert_num_queries(3):  # the token, the subscription, the collections
        assert len(names(groups.get(groups.collections))) == 2
