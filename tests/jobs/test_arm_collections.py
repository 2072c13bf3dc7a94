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


def test_a_new_collection_is_created(arm, subscription):
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


def test_what_is_not_sent_is_not_made_up(arm, subscription):
    response = arm.put(arm.collection(), {"properties": {}})

    assert response.status_code == 201
    assert response.json()["properties"] == {
        "sku": {"name": "Standard"},
        "state": "Enabled",
        "provisioningState": "Succeeded",
    }
    assert not {"tags", "location"} & set(response.json())


def test_the_same_again_is_an_update_and_changes_nothing(arm, subscription):
    created = arm.put(arm.collection(), FULL)

    again = arm.put(arm.collection(), FULL)

    assert again.status_code == 200
    assert again.json() == created.json()
    assert JobCollection.objects.count() == 1


def test_a_put_replaces(arm, subscription):
    arm.put(arm.collection(), FULL)

    replaced = arm.put(arm.collection(), {"location": "East US", "properties": {"sku": {"name": "p10premium"}}}).json()

    assert replaced["location"] == "East US"
    assert replaced["properties"] == {
        "sku": {"name": "P10Premium"},
        "state": "Enabled",
        "provisioningState": "Succeeded",
    }
    assert "tags" not in replaced


def test_a_put_in_another_case_is_the_same_collection(arm, subscription):
    arm.put(arm.collection("nightly"), FULL)

    response = arm.put(arm.collection("NIGHTLY"), {**FULL, "name": "Nightly"})

    assert (response.status_code, response.json()["name"]) == (200, "nightly")


def test_a_patch_merges(arm, subscription):
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


def test_a_patch_removes_what_is_null(arm, subscription):
    arm.put(arm.collection(), FULL)

    assert "quota" not in arm.patch(arm.collection(), {"properties": {"quota": None}}).json()["properties"]


@pytest.mark.parametrize(
    "location, answered",
    [("westus", "West US"), ("West US", "West US"), ("NORTHEUROPE", "North Europe"), ("cellar", "cellar")],
)
def test_a_known_location_is_answered_by_its_display_name(arm, subscription, location, answered):
    assert arm.put(arm.collection(), {"location": location}).json()["location"] == answered


@pytest.mark.parametrize("state", ["Suspended", "suspended", "Disabled"])
def test_a_put_may_set_the_state(arm, subscription, state):
    response = arm.put(arm.collection(), {"properties": {"state": state}})

    assert response.json()["properties"]["state"] == state.capitalize()


# States


def test_disabling_stops_every_job_and_keeps_its_state(arm, make_job, carry_out):
    make_job("on")
    make_job("off", state="disabled")

    response = arm.post(arm.collection() + "/disable")

    assert (response.status_code, response.content) == (202, b"")
    carry_out()
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Disabled"
    assert arm.get(arm.job("on")).json()["properties"]["state"] == "Enabled"
    assert "nextExecutionTime" not in arm.get(arm.job("on")).json()["properties"]["status"]


def test_enabling_starts_the_jobs_that_were_enabled(arm, make_job, carry_out):
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


def test_deleting_takes_the_jobs_along_and_leaves_their_history(arm, make_job, carry_out):
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
def test_a_wrong_member_is_refused_with_its_path(arm, collection, method, document, target):
    before = arm.get(arm.collection()).json()

    response = arm.call(method, arm.collection(), document)

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)
    assert arm.get(arm.collection()).json() == before


@pytest.mark.parametrize("name", ["1st", "a b", "a.b", "%C3%A4", "a" * 101, "-a"])
def test_a_name_outside_the_rules_is_refused(arm, subscription, name):
    assert arm.put(arm.collection(name), {}).status_code == 400


@pytest.mark.parametrize("group", ["ends.", "a b", "a" * 91])
def test_a_resource_group_outside_the_rules_is_refused(token, subscription, group):
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


def test_its_own_quota_limits_a_collection_further(arm, subscription):
    arm.put(arm.collection(), {"properties": {"quota": {"maxJobCount": 1}}})
    arm.put(arm.job("first"), {"properties": {"action": ACTION}})

    assert arm.put(arm.job("second"), {"properties": {"action": ACTION}}).status_code == 409
    assert arm.put(arm.job("first"), {"properties": {"action": ACTION}}).status_code == 200


@pytest.mark.parametrize(
    "name, recurrence",
    [
        ("small", {"frequency": "Minute", "interval": 59}),  # Free: hourly at the fastest
        ("limited", {"frequency": "Hour", "interval": 1}),
    ],
)
def test_a_recurrence_faster_than_allowed_is_refused(arm, free, name, recurrence):
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


def test_a_collection_with_quick_jobs_cannot_become_free(arm, make_job):
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


def test_a_group_lists_its_own_collections_by_name(groups):
    response = groups.get(groups.collections)

    assert names(response) == ["A", "b"]
    assert response.json()["nextLink"] is None


def test_a_subscription_lists_all_of_its_collections(groups):
    response = groups.get(f"{groups.subscription}/providers/Microsoft.Scheduler/jobCollections")

    assert names(response) == ["A", "b", "d", "c"]


def test_an_empty_group_is_an_empty_list(arm, subscription):
    assert arm.get(arm.collections).json() == {"value": [], "nextLink": None}


@pytest.mark.parametrize("length", [1, 2, 3])
def test_pages_join_to_the_whole_list(groups, monkeypatch, length):
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
def test_a_token_that_was_not_given_is_refused(groups, given):
    response = groups.get(groups.collections, skiptoken=given)

    assert (response.status_code, response.json()["error"]["target"]) == (400, "$skiptoken")


def test_a_list_takes_a_fixed_number_of_queries(groups, django_assert_num_queries):
    groups.get(groups.collections)  # notes the use of the token

    with django_assert_num_queries(3):  # the token, the subscription, the collections
        assert len(names(groups.get(groups.collections))) == 2
