"""Conditional requests on job collections and jobs, in the form of the resource manager and in our own API."""

import json

import pytest

from accounts.models import ApiToken, Subscription
from api.conditional import etag
from jobs.api.conditional_writes import version_of
from jobs.finishing import finish_jobs
from jobs.models import Job, JobCollection, Run
from jobs.run_now import run_now
from tests.conftest import ACTION, NOW
from tests.jobs.arm_client import COLLECTION
from triggers import scheduling

KINDS = ("collection", "job")
COLLECTION_BODY = {"location": "West US", "properties": {"state": "Enabled"}}
JOB_BODY = {
    "properties": {
        "action": {"type": "Http", "request": {"uri": "http://127.0.0.1:9/put", "method": "GET"}},
        "recurrence": {"frequency": "Hour"},
    }
}
BODIES = {"collection": COLLECTION_BODY, "job": JOB_BODY}
PATCHES = {"collection": {"tags": {"team": "ops"}}, "job": {"properties": {"recurrence": {"frequency": "Week"}}}}
OTHER = '"999-1/0123456789abcdef"'


@pytest.fixture
def api(api_of, token):
    return api_of(token)


@pytest.fixture
def make_address(arm, make_job, collection):
    """Return a function that returns the address of an existing or a missing collection or job."""

    def make(kind: str, exists: bool = True) -> str:
        if exists:
            make_job()
        name = "backup" if exists else "missing"
        return arm.job(name) if kind == "job" else arm.collection(COLLECTION if exists else "missing")

    return make


def current(kind: str):
    return (JobCollection if kind == "collection" else Job).objects.get()


def tag_of(arm, address: str) -> str:
    return arm.get(address)["ETag"]


# The table of the contract


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "headers, absent, present",
    [
        ({}, 201, 200),
        ({"If-Match": "*"}, 412, 200),
        ({"If-Match": "current"}, 412, 200),
        ({"If-Match": OTHER}, 412, 412),
        ({"If-None-Match": "*"}, 201, 412),
        ({"If-None-Match": "current"}, 201, 412),
        ({"If-None-Match": OTHER}, 201, 200),
        ({"If-Match": "current", "If-None-Match": OTHER}, 412, 200),
        ({"If-Match": "*", "If-None-Match": "*"}, 412, 412),  # no version satisfies both
    ],
)
@pytest.mark.parametrize("exists", [False, True])
def test_put_follows_the_table_of_preconditions(arm, make_address, kind, headers, absent, present, exists):
    address = make_address(kind, exists)
    tag = tag_of(arm, address) if exists else OTHER
    before = arm.get(address).content
    headers = {name: tag if value == "current" else value for name, value in headers.items()}

    response = arm.call("PUT", address, BODIES[kind], headers=headers)

    assert response.status_code == (present if exists else absent)
    if response.status_code == 412:
        assert response.json()["error"]["code"] == "PreconditionFailed"
        assert arm.get(address).content == before
    else:
        assert response["ETag"] == response.json()["etag"] == tag_of(arm, address) != tag


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "method, done", [("PATCH", 200), ("DELETE", {"job": 200, "collection": 202})], ids=["PATCH", "DELETE"]
)
@pytest.mark.parametrize(
    "headers, is_done",
    [
        ({}, True),
        ({"If-Match": "*"}, True),
        ({"If-Match": "current"}, True),
        ({"If-Match": OTHER}, False),
        ({"If-None-Match": "*"}, False),
    ],
)
@pytest.mark.parametrize("exists", [False, True])
def test_patch_and_delete_follow_the_table_of_preconditions(
    arm, make_address, kind, method, done, headers, is_done, exists
):
    address = make_address(kind, exists)
    tag = tag_of(arm, address) if exists else OTHER
    before = arm.get(address).content
    headers = {name: tag if value == "current" else value for name, value in headers.items()}

    response = arm.call(method, address, PATCHES[kind] if method == "PATCH" else None, headers=headers)

    if not exists:
        assert response.status_code == 404
    elif is_done:
        assert response.status_code == (done[kind] if method == "DELETE" else done)
        assert arm.get(address).content != before
    else:
        assert (response.status_code, response.json()["error"]["code"]) == (412, "PreconditionFailed")
        assert arm.get(address).content == before


@pytest.mark.parametrize("action", ["enable", "disable"])
def test_enable_and_disable_require_the_current_version(arm, make_address, action, carry_out):
    address = make_address("collection")
    JobCollection.objects.update(state="disabled" if action == "enable" else "enabled")
    known = tag_of(arm, address)

    refused = arm.call("POST", f"{address}/{action}", headers={"If-Match": OTHER})
    accepted = arm.call("POST", f"{address}/{action}", headers={"If-Match": known})
    again = arm.call("POST", f"{address}/{action}", headers={"If-Match": known})  # repeated, as clients do
    carry_out()
    late = arm.call("POST", f"{address}/{action}", headers={"If-Match": known})

    assert [each.status_code for each in (refused, accepted, again, late)] == [412, 202, 202, 412]
    assert accepted["Azure-AsyncOperation"] == again["Azure-AsyncOperation"]
    assert refused.json()["error"]["code"] == "PreconditionFailed"
    assert tag_of(arm, address) != known


def test_repeated_delete_is_accepted_with_the_version_of_the_first_one(arm, make_address):
    address = make_address("collection")
    known = tag_of(arm, address)

    first, again = (arm.call("DELETE", address, headers={"If-Match": known}) for _ in range(2))
    other = arm.call("DELETE", address, headers={"If-Match": OTHER})

    assert [first.status_code, again.status_code, other.status_code] == [202, 202, 412]
    assert first["Azure-AsyncOperation"] == again["Azure-AsyncOperation"]


def test_run_requires_the_current_version(arm, make_address):
    address = make_address("job")

    refused = arm.call("POST", f"{address}/run", headers={"If-Match": OTHER})
    assert (refused.status_code, Run.objects.count()) == (412, 0)

    done = arm.call("POST", f"{address}/run", headers={"If-Match": tag_of(arm, address)})
    assert (done.status_code, Run.objects.count()) == (200, 1)


# Reading


@pytest.mark.parametrize("kind", KINDS)
def test_unchanged_resource_is_not_modified(arm, make_address, kind):
    address = make_address(kind)
    tag = tag_of(arm, address)

    for sent in (tag, f"W/{tag}", f'{OTHER}, "x,y" , {tag}', "*"):
        response = arm.call("GET", address, headers={"If-None-Match": sent})
        assert (response.status_code, response.content, response["ETag"]) == (304, b"", tag)
    for sent in (OTHER, f'"{version_of(current(kind))}"'):  # a version alone does not identify the response
        assert arm.call("GET", address, headers={"If-None-Match": sent}).status_code == 200


def test_etag_does_not_depend_on_the_order_of_members():
    document = {"name": "backup", "action": {"type": "Http", "retries": 4}}

    assert etag("7-1", document) == etag("7-1", {"action": {"retries": 4, "type": "Http"}, "name": "backup"})
    assert etag("7-1", document) != etag("7-1", {**document, "name": "restore"})


def test_etags_in_a_list_equal_those_of_its_entries(arm, make_address):
    job, collection = make_address("job"), arm.collection()

    assert arm.get(f"{collection}/jobs").json()["value"][0]["etag"] == tag_of(arm, job)
    assert arm.get(arm.collections).json()["value"][0]["etag"] == tag_of(arm, collection)


@pytest.mark.parametrize("form", ["arm", "api"])
def test_run_changes_the_etag_but_not_the_version_for_writes(arm, api, make_job, form):
    """304 must not hide new counters, and a job that runs every minute must stay writable."""
    job = make_job()
    address = arm.job() if form == "arm" else f"/api/jobs/{job.pk}"
    client = arm.client
    query = "?api-version=2016-03-01" if form == "arm" else ""
    known = client.get(address + query)["ETag"]

    Job.objects.update(execution_count=7, last_execution_at=NOW)

    seen = client.get(address + query, headers={"If-None-Match": known})
    body = JOB_BODY if form == "arm" else {"action": ACTION}
    written = client.put(address + query, body, headers={"If-Match": known}, format="json")
    assert (seen.status_code, written.status_code) == (200, 200)
    assert known != seen["ETag"]


# What makes another version


def reenabled(job):
    return scheduling.set_job_state(job, Job.State.ENABLED, NOW)


@pytest.mark.parametrize(
    "change, is_new",
    [
        (lambda job: scheduling.patch_job(job, {"recurrence": {"frequency": "Week"}}, NOW), True),
        (lambda job: scheduling.patch_job(job, {"action": {"request": {"method": "DELETE"}}}, NOW), True),
        (lambda job: scheduling.patch_job(job, {}, NOW, misfire="skip"), True),
        (lambda job: scheduling.patch_job(job, {}, NOW, overlap="allow"), True),
        (lambda job: scheduling.set_job_state(job, Job.State.DISABLED, NOW), True),
        (lambda job: finish_jobs([job.pk], Job.State.COMPLETED, NOW), True),
        (reenabled, False),  # the job is already enabled
        (lambda job: scheduling.patch_job(job, {}, NOW), False),
        (lambda job: scheduling.patch_job(job, {"startTime": "2026-01-05T08:00:00.000+00:00"}, NOW), False),
        (lambda job: run_now(job, NOW), False),
    ],
)
def test_job_version_increases_with_each_change_of_a_writable_member(make_job, change, is_new):
    job = make_job()
    before = version_of(job)

    change(job)

    assert (version_of(Job.objects.get()) != before) is is_new


def test_job_version_increases_when_its_schedule_ends(make_job):
    """A job also ends when it is enabled and its schedule has no fire time left."""
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"}, state="disabled")
    job.triggers.update(fires_left=0)
    before = version_of(job)

    job = scheduling.set_job_state(job, Job.State.ENABLED, NOW)

    assert job.state == Job.State.COMPLETED
    assert version_of(job) == version_of(Job.objects.get()) == f"{job.pk}-{int(before.split('-')[1]) + 2}"


def test_same_schedule_in_another_format_keeps_its_progress(arm, make_job):
    """A job that is sent back as it was returned does not start again, and its remaining count stays."""
    make_job(schedule={"startTime": "2026-01-05T08:00:00", "recurrence": {"frequency": "day", "count": 5}})
    job = Job.objects.get()
    job.triggers.update(fires_left=2)
    read = arm.get(arm.job())

    response = arm.call("PUT", arm.job(), read.json(), headers={"If-Match": read["ETag"]})

    assert (response.status_code, response.json()) == (200, read.json())
    assert job.triggers.get().fires_left == 2
    assert job.triggers.get().anchored_at == NOW


@pytest.mark.parametrize(
    "change, is_new",
    [
        ({"tags": {"a": "b"}}, True),
        ({"sku": "Standard"}, True),
        ({"max_job_count": 5}, True),
        ({"state": "suspended"}, True),
        ({}, False),
    ],
)
def test_collection_version_increases_with_each_change(collection, change, is_new):
    before = version_of(collection)
    for name, value in change.items():
        setattr(collection, name, value)

    scheduling.save_collection(collection, NOW)

    assert (version_of(collection) != before) is is_new
    assert version_of(JobCollection.objects.get()) == version_of(collection)


def test_job_recreated_with_the_same_name_has_another_version(arm, make_address):
    address = make_address("job")
    known = tag_of(arm, address)
    arm.delete(address)
    arm.put(address, JOB_BODY)

    assert arm.call("DELETE", address, headers={"If-Match": known}).status_code == 412


# Tags as they are sent


@pytest.mark.parametrize(
    "sent, status",
    [
        ("{tag}", 200),
        ("W/{tag}", 200),  # a proxy that compresses makes the tag weak
        (" {other} ,\t{tag} ", 200),
        (',{tag},,"a,b"', 200),
        ("{version}", 200),  # without the digest
        ("*", 200),
        (" * ", 200),
        ('"*"', 412),  # a tag that consists of a star, which no version has
        ('""', 412),
        ('"{bare}0"', 412),  # only the beginning of the tag
        ('"é"', 412),
        ("{bare}", 400),
        ("", 400),
        (" , ", 400),
        ('"', 400),
        ('{tag}, "', 400),
        ("{tag}, *", 400),
        ("{tag} {tag}", 400),
        ("w/{tag}", 400),  # only a capital W marks a weak tag
        ('"a b"', 400),
        ("x" * 5000, 400),
        ('"' * 5001, 400),
    ],
)
@pytest.mark.parametrize("form", ["arm", "api"])
def test_etags_are_parsed_as_http_defines_them(arm, api, make_job, form, sent, status):
    job = make_job()
    address = f"{arm.job()}?api-version=2016-03-01" if form == "arm" else f"/api/jobs/{job.pk}"
    tag = api.get(address)["ETag"]
    header = sent
    for name, value in {"tag": tag, "other": OTHER, "version": f'"{version_of(job)}"', "bare": version_of(job)}.items():
        header = header.replace("{" + name + "}", value)

    response = api.patch(address, {}, headers={"If-Match": header}, format="json")

    assert response.status_code == status
    if status == 400:
        assert response.json()["error"]["target"] == "If-Match"
    if status == 412:
        assert version_of(job) in response.json()["error"]["message"]


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("kind", KINDS)
def test_precondition_header_without_etags_is_refused_by_name(arm, make_address, kind, method):
    address = make_address(kind)
    before = arm.get(address).content

    response = arm.call(method, address, BODIES[kind], headers={"If-None-Match": "version 3"})

    assert (response.status_code, response.json()["error"]["target"]) == (400, "If-None-Match")
    assert arm.get(address).content == before


# Our own API


def test_collection_of_our_own_api_has_an_etag(api, collection):
    address = f"/api/collections/{collection.pk}"
    read = api.get(address)
    known = read["ETag"]
    assert known.startswith(f'"{collection.pk}-1/')
    assert read.json()["revision"] == 1
    assert api.get(address, headers={"If-None-Match": known}).status_code == 304

    changed = api.patch(address, {"location": "here"}, headers={"If-Match": known}, format="json")

    assert (changed.status_code, changed["ETag"], changed.json()["revision"]) == (200, api.get(address)["ETag"], 2)
    assert api.get(address, headers={"If-None-Match": known}).status_code == 200
    for refused in (
        api.patch(address, {"location": "there"}, headers={"If-Match": known}, format="json"),
        api.put(address, {}, headers={"If-Match": known}, format="json"),
        api.put(address, {}, headers={"If-None-Match": "*"}, format="json"),
        api.post(f"{address}/enable", headers={"If-Match": known}),
        api.post(f"{address}/disable", headers={"If-Match": known}),
        api.delete(address, headers={"If-Match": known}),
    ):
        assert (refused.status_code, refused.json()["error"]["code"]) == (412, "stale")
    assert api.get(address).json() == changed.json()
    disabled = api.post(f"{address}/disable", headers={"If-Match": changed["ETag"]})
    assert (disabled.status_code, disabled.json()["revision"]) == (200, 3)
    assert api.delete(address, headers={"If-Match": disabled["ETag"]}).status_code == 202


def test_new_collection_of_our_own_api_has_an_etag(api, subscription):
    response = api.post("/api/collections", {"name": "weekly"}, format="json")

    assert (response.status_code, response["ETag"]) == (201, api.get(response["Location"])["ETag"])


@pytest.mark.parametrize("command", ["pause", "resume", "run"])
def test_pause_resume_and_run_require_the_current_version(api, make_job, command):
    job = make_job()
    address = f"/api/jobs/{job.pk}"
    known = api.get(address)["ETag"]
    changed = api.patch(address, {"misfire": "skip"}, format="json")["ETag"]

    refused = api.post(f"{address}/{command}", headers={"If-Match": known})
    assert (refused.status_code, refused.json()["error"]["code"]) == (412, "stale")
    assert (Run.objects.count(), Job.objects.get().state) == (0, "enabled")

    done = api.post(f"{address}/{command}", headers={"If-Match": changed})
    assert done.status_code == (201 if command == "run" else 200)


def test_etag_of_one_api_is_accepted_for_writes_by_the_other(arm, api, make_job):
    """The tags differ, because the documents differ, but they contain the same version."""
    job = make_job()
    ours, theirs = api.get(f"/api/jobs/{job.pk}")["ETag"], tag_of(arm, arm.job())

    assert ours != theirs
    assert arm.call("GET", arm.job(), headers={"If-None-Match": ours}).status_code == 200
    assert arm.call("PATCH", arm.job(), {}, headers={"If-Match": ours}).status_code == 200
    assert api.patch(f"/api/jobs/{job.pk}", {}, headers={"If-Match": theirs}, format="json").status_code == 200


def test_precondition_reveals_nothing_about_another_subscription(api_of, make_user, make_job):
    other = Subscription.objects.create(name="other")
    stranger = ApiToken.objects.issue(make_user("eve", in_subscription=other), "tests")[1]
    job = make_job()

    for method in ("get", "delete"):
        response = getattr(api_of(stranger), method)(f"/api/jobs/{job.pk}", headers={"If-Match": "*"})
        assert response.status_code == 404


# provisioningState


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    "sent, status",
    [("Succeeded", 200), ("succeeded", 200), (None, 200), ("Creating", 400), ("", 400), (7, 400), ({}, 400)],
)
def test_provisioning_state_other_than_the_current_one_is_refused(arm, make_address, kind, method, sent, status):
    address = make_address(kind)
    before = arm.get(address).content
    body = BODIES[kind] | {"properties": BODIES[kind]["properties"] | {"provisioningState": sent}}

    response = arm.call(method, address, body)

    assert response.status_code == status
    if status == 400:
        assert response.json()["error"]["target"] == "properties.provisioningState"
        assert arm.get(address).content == before


def test_new_collection_accepts_only_the_provisioning_state_succeeded(arm, subscription):
    body = {"properties": {"provisioningState": "Succeeded"}}
    wrong = {"properties": {"provisioningState": "Failed"}}

    assert arm.put(arm.collection("weekly"), wrong).status_code == 400
    assert arm.put(arm.collection("weekly"), body).status_code == 201


@pytest.mark.parametrize("state", ["Deleting", "Succeeded"])
def test_collection_that_is_being_deleted_cannot_be_changed(arm, make_address, state):
    address = make_address("collection")
    arm.delete(address)
    assert arm.get(address).json()["properties"]["provisioningState"] == "Deleting"

    for method in ("PUT", "PATCH"):
        response = arm.call(method, address, {"properties": {"provisioningState": state}}, headers={"If-Match": "*"})
        assert response.status_code == 409


@pytest.mark.parametrize("sent", ["westus", "West US", "WESTUS"])
def test_location_in_another_spelling_is_no_change(arm, make_address, sent):
    address = make_address("collection")
    arm.put(address, {"location": "westus"})
    tag = tag_of(arm, address)

    for again in (arm.patch(address, {}), arm.put(address, {"location": sent})):
        assert (again.json()["location"], again["ETag"]) == ("West US", tag)


def test_returned_document_that_is_sent_back_changes_nothing(arm, make_address):
    for address in (make_address("job"), arm.collection()):
        answer = arm.get(address)
        for method in ("PUT", "PATCH"):
            body = json.loads(answer.content)
            body["properties"].pop("status", None)  # which PATCH refuses
            again = arm.call(method, address, body, headers={"If-Match": answer["ETag"]})
            assert (again.status_code, again.json()) == (200, answer.json())
