"""Conditional requests on job collections and jobs, in the resource manager's form and in our own."""

import json

import pytest

from accounts.models import ApiToken, Subscription
from jobs.api.conditional import etag, version_of
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
def addressed(arm, make_job, collection):
    """The address of a collection or a job that is there, or is not."""

    def make(kind: str, is_there: bool = True) -> str:
        if is_there:
            make_job()
        name = "backup" if is_there else "missing"
        return arm.job(name) if kind == "job" else arm.collection(COLLECTION if is_there else "missing")

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
        ({"If-Match": "*", "If-None-Match": "*"}, 412, 412),  # nothing satisfies both
    ],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_a_put_is_done_as_the_table_has_it(arm, addressed, kind, headers, absent, present, is_there):
    address = addressed(kind, is_there)
    tag = tag_of(arm, address) if is_there else OTHER
    before = arm.get(address).content
    headers = {name: tag if value == "current" else value for name, value in headers.items()}

    response = arm.call("PUT", address, BODIES[kind], headers=headers)

    assert response.status_code == (present if is_there else absent)
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
@pytest.mark.parametrize("is_there", [False, True])
def test_a_patch_and_a_delete_are_done_as_the_table_has_it(
    arm, addressed, kind, method, done, headers, is_done, is_there
):
    address = addressed(kind, is_there)
    tag = tag_of(arm, address) if is_there else OTHER
    before = arm.get(address).content
    headers = {name: tag if value == "current" else value for name, value in headers.items()}

    response = arm.call(method, address, PATCHES[kind] if method == "PATCH" else None, headers=headers)

    if not is_there:
        assert response.status_code == 404
    elif is_done:
        assert response.status_code == (done[kind] if method == "DELETE" else done)
        assert arm.get(address).content != before
    else:
        assert (response.status_code, response.json()["error"]["code"]) == (412, "PreconditionFailed")
        assert arm.get(address).content == before


@pytest.mark.parametrize("action", ["enable", "disable"])
def test_a_collection_is_enabled_and_disabled_if_it_is_what_is_meant(arm, addressed, action, carry_out):
    address = addressed("collection")
    JobCollection.objects.update(state="disabled" if action == "enable" else "enabled")
    known = tag_of(arm, address)

    refused = arm.call("POST", f"{address}/{action}", headers={"If-Match": OTHER})
    accepted = arm.call("POST", f"{address}/{action}", headers={"If-Match": known})
    again = arm.call("POST", f"{address}/{action}", headers={"If-Match": known})  # as a client repeats it
    carry_out()
    late = arm.call("POST", f"{address}/{action}", headers={"If-Match": known})

    assert [each.status_code for each in (refused, accepted, again, late)] == [412, 202, 202, 412]
    assert accepted["Azure-AsyncOperation"] == again["Azure-AsyncOperation"]
    assert refused.json()["error"]["code"] == "PreconditionFailed"
    assert tag_of(arm, address) != known


def test_a_repeated_delete_is_meant_for_the_version_that_it_began_with(arm, addressed):
    address = addressed("collection")
    known = tag_of(arm, address)

    first, again = (arm.call("DELETE", address, headers={"If-Match": known}) for _ in range(2))
    other = arm.call("DELETE", address, headers={"If-Match": OTHER})

    assert [first.status_code, again.status_code, other.status_code] == [202, 202, 412]
    assert first["Azure-AsyncOperation"] == again["Azure-AsyncOperation"]


def test_a_job_is_run_if_it_is_what_is_meant(arm, addressed):
    address = addressed("job")

    refused = arm.call("POST", f"{address}/run", headers={"If-Match": OTHER})
    assert (refused.status_code, Run.objects.count()) == (412, 0)

    done = arm.call("POST", f"{address}/run", headers={"If-Match": tag_of(arm, address)})
    assert (done.status_code, Run.objects.count()) == (200, 1)


# Reading


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_not_changed_is_not_sent_again(arm, addressed, kind):
    address = addressed(kind)
    tag = tag_of(arm, address)

    for sent in (tag, f"W/{tag}", f'{OTHER}, "x,y" , {tag}', "*"):
        response = arm.call("GET", address, headers={"If-None-Match": sent})
        assert (response.status_code, response.content, response["ETag"]) == (304, b"", tag)
    for sent in (OTHER, f'"{version_of(current(kind))}"'):  # of the latter's answer nobody knows what it was
        assert arm.call("GET", address, headers={"If-None-Match": sent}).status_code == 200


def test_the_order_of_members_counts_for_nothing():
    document = {"name": "backup", "action": {"type": "Http", "retries": 4}}

    assert etag("7-1", document) == etag("7-1", {"action": {"retries": 4, "type": "Http"}, "name": "backup"})
    assert etag("7-1", document) != etag("7-1", {**document, "name": "restore"})


def test_the_tags_of_a_list_are_those_of_its_entries(arm, addressed):
    job, collection = addressed("job"), arm.collection()

    assert arm.get(f"{collection}/jobs").json()["value"][0]["etag"] == tag_of(arm, job)
    assert arm.get(arm.collections).json()["value"][0]["etag"] == tag_of(arm, collection)


@pytest.mark.parametrize("form", ["arm", "api"])
def test_a_run_changes_what_is_read_but_refuses_no_write(arm, api, make_job, form):
    """304 must not hide the counters, and a job that runs every minute must not be unwritable."""
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
        (reenabled, False),  # it is enabled
        (lambda job: scheduling.patch_job(job, {}, NOW), False),
        (lambda job: scheduling.patch_job(job, {"startTime": "2026-01-05T08:00:00.000+00:00"}, NOW), False),
        (lambda job: run_now(job, NOW), False),
    ],
)
def test_a_job_has_a_new_version_with_each_change_of_what_can_be_written(make_job, change, is_new):
    job = make_job()
    before = version_of(job)

    change(job)

    assert (version_of(Job.objects.get()) != before) is is_new


def test_a_job_that_ends_with_its_schedule_has_a_new_version(make_job):
    """The other way to end: nothing is left to do when it is placed."""
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"}, state="disabled")
    job.triggers.update(fires_left=0)
    before = version_of(job)

    job = scheduling.set_job_state(job, Job.State.ENABLED, NOW)

    assert job.state == Job.State.COMPLETED
    assert version_of(job) == version_of(Job.objects.get()) == f"{job.pk}-{int(before.split('-')[1]) + 2}"


def test_the_same_schedule_in_another_spelling_keeps_its_place(arm, make_job):
    """Sent back as it was answered, a job is not begun anew, and what is left of its count stays."""
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
def test_a_collection_has_a_new_version_with_each_change(collection, change, is_new):
    before = version_of(collection)
    for name, value in change.items():
        setattr(collection, name, value)

    scheduling.save_collection(collection, NOW)

    assert (version_of(collection) != before) is is_new
    assert version_of(JobCollection.objects.get()) == version_of(collection)


def test_what_is_made_anew_under_an_old_name_is_not_taken_for_it(arm, addressed):
    address = addressed("job")
    known = tag_of(arm, address)
    arm.delete(address)
    arm.put(address, JOB_BODY)

    assert arm.call("DELETE", address, headers={"If-Match": known}).status_code == 412


# Tags as they are sent


@pytest.mark.parametrize(
    "sent, status",
    [
        ("{tag}", 200),
        ("W/{tag}", 200),  # a proxy that compresses says so
        (" {other} ,\t{tag} ", 200),
        (',{tag},,"a,b"', 200),
        ("{version}", 200),  # without the digest
        ("*", 200),
        (" * ", 200),
        ('"*"', 412),  # a tag of one star, which is nobody's
        ('""', 412),
        ('"{bare}0"', 412),  # the beginning of it is not it
        ('"é"', 412),
        ("{bare}", 400),
        ("", 400),
        (" , ", 400),
        ('"', 400),
        ('{tag}, "', 400),
        ("{tag}, *", 400),
        ("{tag} {tag}", 400),
        ("w/{tag}", 400),  # only the capital is weak
        ('"a b"', 400),
        ("x" * 5000, 400),
        ('"' * 5001, 400),
    ],
)
@pytest.mark.parametrize("form", ["arm", "api"])
def test_tags_are_read_as_http_writes_them(arm, api, make_job, form, sent, status):
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
def test_a_header_without_tags_is_refused_by_name(arm, addressed, kind, method):
    address = addressed(kind)
    before = arm.get(address).content

    response = arm.call(method, address, BODIES[kind], headers={"If-None-Match": "version 3"})

    assert (response.status_code, response.json()["error"]["target"]) == (400, "If-None-Match")
    assert arm.get(address).content == before


# Our own API


def test_our_own_collection_has_a_tag(api, collection):
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


def test_a_new_collection_of_ours_has_a_tag(api, subscription):
    response = api.post("/api/collections", {"name": "weekly"}, format="json")

    assert (response.status_code, response["ETag"]) == (201, api.get(response["Location"])["ETag"])


@pytest.mark.parametrize("order", ["pause", "resume", "run"])
def test_our_own_orders_are_for_the_version_that_is_meant(api, make_job, order):
    job = make_job()
    address = f"/api/jobs/{job.pk}"
    known = api.get(address)["ETag"]
    changed = api.patch(address, {"misfire": "skip"}, format="json")["ETag"]

    refused = api.post(f"{address}/{order}", headers={"If-Match": known})
    assert (refused.status_code, refused.json()["error"]["code"]) == (412, "stale")
    assert (Run.objects.count(), Job.objects.get().state) == (0, "enabled")

    done = api.post(f"{address}/{order}", headers={"If-Match": changed})
    assert done.status_code == (201 if order == "run" else 200)


def test_a_tag_of_one_form_is_known_in_the_other(arm, api, make_job):
    """They differ, since the documents do, but a version is a version."""
    job = make_job()
    ours, theirs = api.get(f"/api/jobs/{job.pk}")["ETag"], tag_of(arm, arm.job())

    assert ours != theirs
    assert arm.call("GET", arm.job(), headers={"If-None-Match": ours}).status_code == 200
    assert arm.call("PATCH", arm.job(), {}, headers={"If-Match": ours}).status_code == 200
    assert api.patch(f"/api/jobs/{job.pk}", {}, headers={"If-Match": theirs}, format="json").status_code == 200


def test_a_condition_says_nothing_about_what_is_not_ones_own(api_of, make_user, make_job):
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
def test_a_provisioning_state_is_sent_back_as_it_is_or_refused(arm, addressed, kind, method, sent, status):
    address = addressed(kind)
    before = arm.get(address).content
    body = BODIES[kind] | {"properties": BODIES[kind]["properties"] | {"provisioningState": sent}}

    response = arm.call(method, address, body)

    assert response.status_code == status
    if status == 400:
        assert response.json()["error"]["target"] == "properties.provisioningState"
        assert arm.get(address).content == before


def test_a_new_collection_takes_the_provisioning_state_that_it_will_have(arm, subscription):
    body = {"properties": {"provisioningState": "Succeeded"}}
    wrong = {"properties": {"provisioningState": "Failed"}}

    assert arm.put(arm.collection("weekly"), wrong).status_code == 400
    assert arm.put(arm.collection("weekly"), body).status_code == 201


@pytest.mark.parametrize("state", ["Deleting", "Succeeded"])
def test_what_is_being_deleted_is_not_written_whatever_state_is_sent(arm, addressed, state):
    address = addressed("collection")
    arm.delete(address)
    assert arm.get(address).json()["properties"]["provisioningState"] == "Deleting"

    for method in ("PUT", "PATCH"):
        response = arm.call(method, address, {"properties": {"provisioningState": state}}, headers={"If-Match": "*"})
        assert response.status_code == 409


@pytest.mark.parametrize("sent", ["westus", "West US", "WESTUS"])
def test_a_place_in_another_spelling_is_no_change(arm, addressed, sent):
    address = addressed("collection")
    arm.put(address, {"location": "westus"})
    tag = tag_of(arm, address)

    for again in (arm.patch(address, {}), arm.put(address, {"location": sent})):
        assert (again.json()["location"], again["ETag"]) == ("West US", tag)


def test_an_answer_sent_back_whole_changes_nothing(arm, addressed):
    for address in (addressed("job"), arm.collection()):
        answer = arm.get(address)
        for method in ("PUT", "PATCH"):
            body = json.loads(answer.content)
            body["properties"].pop("status", None)  # which PATCH refuses
            again = arm.call(method, address, body, headers={"If-Match": answer["ETag"]})
            assert (again.status_code, again.json()) == (200, answer.json())
