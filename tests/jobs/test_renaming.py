"""Jobs and collections are renamed, and jobs moved to another collection, by PUT and PATCH of our own API."""

import pytest

from accounts.models import ApiToken, Membership, Role, Subscription
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from operations.service import Caller
from tests.conftest import ACTION, NOW, utc
from tests.jobs.arm_client import ArmClient
from triggers.collection_operations import DELETE, start_operation
from triggers.dispatch import dispatch_due
from triggers.models import Trigger

FIVE_MINUTES = {"startTime": "2027-01-05T08:00:00Z", "recurrence": {"frequency": "Minute", "interval": 5}}


@pytest.fixture
def second(subscription):
    return JobCollection.objects.create(subscription=subscription, name="daily", sku="Standard")


@pytest.fixture
def address(make_job):
    return f"/api/jobs/{make_job().pk}"


def refused(response) -> tuple[int, str | None]:
    return response.status_code, response.json()["error"]["target"]


# Jobs


def test_patch_renames_a_job_and_keeps_its_schedule(api, address):
    before = api.get(address)

    response = api.patch(address, {"name": "restore"})

    assert response.status_code == 200, response.content
    shown = {name: value for name, value in response.json().items() if name not in ("name", "revision", "updatedAt")}
    assert (response.json()["name"], response.json()["revision"]) == ("restore", before.json()["revision"] + 1)
    assert shown.items() <= before.json().items()
    assert response["ETag"] != before["ETag"]
    assert api.get(address).json() == response.json()


def test_put_renames_a_job_too(api, address):
    read = api.get(address).json()

    response = api.put(address, {**read, "name": "restore"})

    assert (response.status_code, response.json()["name"]) == (200, "restore")
    assert Job.objects.count() == 1


def test_put_without_a_name_keeps_the_name_of_the_job(api, address):
    assert api.put(address, {"action": ACTION}).json()["name"] == "backup"


def test_other_members_of_a_job_can_change_together_with_its_name(api, address):
    job = api.patch(address, {"name": "restore", "recurrence": {"interval": 2}, "overlap": "allow"}).json()

    assert (job["name"], job["recurrence"]["interval"], job["overlap"], job["revision"]) == ("restore", 2, "allow", 2)


def test_case_of_a_name_can_change(api, address):
    assert api.patch(address, {"name": "BACKUP"}).json()["name"] == "BACKUP"


def test_same_name_and_collection_create_no_new_version(api, address, collection):
    before = api.get(address)

    response = api.patch(address, {"name": "backup", "collection": collection.pk})

    assert (response.json(), response["ETag"]) == (before.json(), before["ETag"])


@pytest.mark.parametrize("name, status", [("RESTORE", 409), ("1st", 400), ("", 400), ("x" * 101, 400), (None, 400)])
def test_name_of_a_job_that_is_taken_or_malformed_is_refused(api, address, make_job, name, status):
    make_job("restore")

    assert refused(api.patch(address, {"name": name, "overlap": "allow"})) == (status, "name")
    assert (Job.objects.get(name="backup").overlap, Job.objects.count()) == ("skip", 2)


def test_renaming_a_job_requires_the_current_version(api, address):
    response = api.patch(address, {"name": "restore"}, headers={"If-Match": '"999-1"'})

    assert (response.status_code, Job.objects.get().name) == (412, "backup")


def test_ended_job_cannot_be_renamed(api, address):
    Job.objects.update(state=Job.State.COMPLETED, finished_at=NOW)

    assert api.patch(address, {"name": "restore"}).status_code == 409


def test_address_in_the_azure_contract_follows_the_name(api, arm, address):
    api.patch(address, {"name": "restore"})

    assert arm.get(arm.job("backup")).status_code == 404
    assert arm.get(arm.job("restore")).json()["name"] == "nightly/restore"


def test_earlier_runs_keep_the_old_name_and_are_found_by_the_job(api, address, make_job):
    job = Job.objects.get()
    before = run_now(job, NOW)

    api.patch(address, {"name": "restore"})
    after = run_now(Job.objects.get(), utc("2026-01-02T00:00:00Z"))

    listed = api.get(f"/api/runs?job={job.pk}&order=oldest").json()["value"]
    names = [(each["id"], each["jobName"]) for each in listed]
    assert names == [(str(before.pk), "backup"), (str(after.pk), "restore")]


def test_next_scheduled_run_has_the_new_name(api, address):
    api.patch(address, {"name": "restore"})
    Trigger.objects.update(next_fire_at=NOW)

    dispatch_due(NOW)

    assert Run.objects.get().job_name == "restore"


# To another collection


def test_a_job_is_moved_to_another_collection(api, arm, address, second):
    response = api.patch(address, {"collection": second.pk, "name": "restore"})

    job = response.json()
    assert (job["collection"], job["collectionName"]) == (second.pk, "daily")
    assert (job["name"], job["revision"]) == ("restore", 2)
    assert arm.get(arm.job("restore", "daily")).status_code == 200
    assert arm.get(arm.job("backup")).status_code == 404


def test_a_moved_job_keeps_its_fire_times(api, make_job, make_trigger, second):
    job = make_job(schedule=FIVE_MINUTES)
    make_trigger(job)
    before = list(Trigger.objects.order_by("pk").values_list("next_fire_at", "fires_left", "anchored_at", "updated_at"))

    api.patch(f"/api/jobs/{job.pk}", {"collection": second.pk})

    after = list(Trigger.objects.order_by("pk").values_list("next_fire_at", "fires_left", "anchored_at", "updated_at"))
    assert before == after
    assert all(row[0] for row in after)


def test_moved_job_is_stopped_and_started_by_the_state_of_its_collection(api, address, collection, second):
    JobCollection.objects.filter(pk=second.pk).update(state="disabled")

    stopped = api.patch(address, {"collection": second.pk}).json()
    started = api.patch(address, {"collection": collection.pk}).json()

    assert stopped["nextRunAt"] is None
    assert started["nextRunAt"] is not None


def test_moved_job_counts_toward_the_limit_of_the_other_collection(api, make_job, second):
    job = make_job()
    JobCollection.objects.filter(pk=second.pk).update(max_job_count=1)
    make_job("other", in_collection=second)

    response = api.patch(f"/api/jobs/{job.pk}", {"collection": second.pk})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "quota_exceeded")
    assert Job.objects.get(pk=job.pk).collection.name == "nightly"


@pytest.mark.parametrize("name", ["backup", "Backup"])
def test_moved_job_needs_a_free_name_in_the_other_collection(api, address, make_job, second, name):
    make_job(name, in_collection=second)

    assert refused(api.patch(address, {"collection": second.pk})) == (409, "name")


def test_recurrence_of_a_moved_job_must_fit_the_plan_of_the_other_collection(api, make_job, second):
    job = make_job(schedule=FIVE_MINUTES)
    JobCollection.objects.filter(pk=second.pk).update(sku="Free")
    address = f"/api/jobs/{job.pk}"

    refusal = api.patch(address, {"collection": second.pk})
    fitting = api.patch(address, {"collection": second.pk, "recurrence": {"frequency": "Day", "interval": 1}})

    assert refusal.json()["error"]["code"] == "quota_exceeded"
    assert (fitting.status_code, fitting.json()["collectionName"]) == (200, "daily")


def test_each_trigger_of_a_moved_job_must_fit_the_plan_of_the_other_collection(api, make_job, make_trigger, second):
    job = make_job()
    make_trigger(job, "often", definition={"expression": "*/30 * * * * ?"})
    JobCollection.objects.filter(pk=second.pk).update(sku="Free")

    response = api.patch(f"/api/jobs/{job.pk}", {"collection": second.pk})

    assert refused(response) == (409, "collection")
    assert response.json()["error"]["code"] == "quota_exceeded"
    assert Job.objects.get().collection.name == "nightly"


def test_action_of_a_moved_job_must_fit_the_plan_of_the_other_collection(api, make_job, second):
    login = {"type": "Basic", "username": "ada", "password": "correct horse"}
    job = make_job(action={**ACTION, "request": {**ACTION["request"], "authentication": login}})
    JobCollection.objects.filter(pk=second.pk).update(sku="Free")

    assert api.patch(f"/api/jobs/{job.pk}", {"collection": second.pk}).json()["error"]["code"] == "quota_exceeded"


def test_job_cannot_be_moved_to_another_subscription(api, address, owner):
    elsewhere = Subscription.objects.create(name="elsewhere")
    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.OWNER)
    theirs = JobCollection.objects.create(subscription=elsewhere, name="theirs")

    assert refused(api.patch(address, {"collection": theirs.pk})) == (400, "collection")


def test_collection_of_another_subscription_is_treated_as_missing(api, address):
    theirs = JobCollection.objects.create(subscription=Subscription.objects.create(name="elsewhere"), name="theirs")

    responses = [api.patch(address, {"collection": pk}) for pk in (theirs.pk, theirs.pk + 1)]

    assert [refused(each) for each in responses] == [(400, "collection")] * 2
    assert responses[0].json() == responses[1].json()


@pytest.mark.parametrize("gone", ["from", "to"])
def test_job_cannot_be_moved_from_or_to_a_collection_that_is_being_deleted(
    api, address, collection, second, subscription, owner, gone
):
    start_operation(DELETE, collection if gone == "from" else second, Caller(owner, "", ""), NOW)

    assert api.patch(address, {"collection": second.pk}).status_code == 409


def test_reader_can_neither_rename_nor_move_a_job(api_of, address, make_user, second):
    api = api_of(ApiToken.objects.issue(make_user("rita", Role.READER), "tests")[1])

    assert api.patch(address, {"name": "restore"}).status_code == 403
    assert api.patch(address, {"collection": second.pk}).status_code == 403


# Collections


def test_patch_renames_a_collection(api, token, address, collection):
    own = f"/api/collections/{collection.pk}"
    before = api.get(own)

    response = api.patch(own, {"name": "reports", "resourceGroup": "ops"})

    renamed = response.json()
    assert (renamed["name"], renamed["resourceGroup"], renamed["revision"]) == ("reports", "ops", 2)
    assert response["ETag"] != before["ETag"]
    assert api.get(address).json()["collectionName"] == "reports"
    assert ArmClient(token, group="ops").get(ArmClient(token, group="ops").job(collection="reports")).status_code == 200
    assert ArmClient(token).get(ArmClient(token).collection()).status_code == 404


def test_put_renames_a_collection_too_and_keeps_an_omitted_name(api, collection):
    own = f"/api/collections/{collection.pk}"

    renamed = api.put(own, {**api.get(own).json(), "name": "reports"}).json()
    unnamed = api.put(own, {"sku": "P20Premium"}).json()

    assert [each["name"] for each in (renamed, unnamed)] == ["reports", "reports"]


@pytest.mark.parametrize(
    "body, status, target",
    [
        ({"name": "DAILY"}, 409, "name"),
        ({"name": "1st"}, 400, "name"),
        ({"name": None}, 400, "name"),
        ({"resourceGroup": "ops."}, 400, "resourceGroup"),
    ],
)
def test_name_of_a_collection_that_is_taken_or_malformed_is_refused(api, collection, second, body, status, target):
    response = api.patch(f"/api/collections/{collection.pk}", {**body, "location": "West US"})

    assert refused(response) == (status, target)
    assert JobCollection.objects.get(name="nightly").location == ""


def test_earlier_runs_keep_the_old_name_of_the_collection(api, collection, address):
    run_now(Job.objects.get(), NOW)

    api.patch(f"/api/collections/{collection.pk}", {"name": "reports"})

    [run] = api.get(f"/api/runs?collection={collection.pk}").json()["value"]
    assert run["collectionName"] == "nightly"
