"""A PATCH of a job in the form of the resource manager: what it merges, preserves and refuses."""

import pytest

from jobs.models import Job
from tests.conftest import ACTION
from tests.jobs.arm_jobs import DAILY, FULL, body, properties, refusal

pytestmark = pytest.mark.usefixtures("at_now")


def test_patch_of_a_job_merges_nested_objects(arm, collection):
    arm.put(arm.job(), body(recurrence={**DAILY, "schedule": {"hours": [5]}}))

    patch = {"properties": {"recurrence": {"frequency": "Week", "interval": 1}, "action": {"request": {"body": "new"}}}}
    response = arm.patch(arm.job(), patch)

    assert response.status_code == 200
    assert properties(response)["recurrence"] == {
        **DAILY,
        "frequency": "Week",
        "interval": 1,
        "schedule": {"hours": [5]},
    }
    assert properties(response)["action"]["request"] == {**ACTION["request"], "body": "new"}
    assert arm.get(arm.job()).json() == response.json()


def test_patched_recurrence_starts_now(arm, make_job):
    make_job(schedule={"startTime": "2025-12-29T00:00:00Z", "recurrence": {"frequency": "week"}})
    assert properties(arm.get(arm.job()))["status"]["nextExecutionTime"] == "2026-01-05T00:00:00Z"

    patched = properties(arm.patch(arm.job(), {"properties": {"recurrence": {"frequency": "day"}}}))

    assert patched["status"]["nextExecutionTime"] == "2026-01-01T00:00:00Z"


def test_an_empty_patch_changes_nothing(arm, make_job):
    make_job()
    before = arm.get(arm.job()).json()

    for patch in ({}, {"properties": {}}, {"properties": None}, {"properties": {"state": None}}):
        assert arm.patch(arm.job(), patch).json() == before


def test_a_patch_of_the_state_stops_and_starts_a_job(arm, make_job):
    make_job()

    stopped = properties(arm.patch(arm.job(), {"properties": {"state": "disabled"}}))
    unchanged = properties(arm.patch(arm.job(), {"properties": {"state": None}}))
    started = properties(arm.patch(arm.job(), {"properties": {"state": "Enabled"}}))

    assert stopped["state"] == unchanged["state"] == "Disabled"
    assert started["state"] == "Enabled"
    assert started["status"]["nextExecutionTime"] == "2026-01-05T08:00:00Z"


def test_null_in_a_patch_of_a_job_removes_the_member(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    patch = {"recurrence": None, "action": {"errorAction": None, "request": {"authentication": None}}}
    patched = properties(arm.patch(arm.job(), {"properties": patch}))

    assert "recurrence" not in patched
    assert "errorAction" not in patched["action"]
    assert "authentication" not in patched["action"]["request"]
    assert Job.objects.get().action.secrets == {}


def test_a_put_without_authentication_removes_it(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    request = {**FULL["action"]["request"], "authentication": None}
    action = properties(arm.put(arm.job(), body(action={"type": "Http", "request": request})))["action"]

    assert "authentication" not in action["request"]


def test_patch_preserves_the_secrets(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    arm.patch(arm.job(), {"properties": {"action": {"request": {"body": "new", "authentication": {"type": "basic"}}}}})

    action = Job.objects.get().action
    assert action.document["request"]["body"] == "new"
    assert action.secrets == {
        "request.authentication.password": "violet-harbour",
        "errorAction.queueMessage.sasToken": "?sig=amber-lantern",
    }


def test_patch_to_another_host_requires_the_password_again(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    response = arm.patch(arm.job(), {"properties": {"action": {"request": {"uri": "http://example.com/"}}}})

    assert refusal(response) == (400, "BadRequest", "properties.action.request.authentication.password")


def test_patch_can_change_the_type_of_the_action(arm, make_job):
    make_job()
    message = {"storageAccount": "acct", "queueName": "jobs", "sasToken": "?sig=amber-lantern", "message": "m"}

    patched = arm.patch(arm.job(), {"properties": {"action": {"type": "StorageQueue", "queueMessage": message}}})

    del message["sasToken"]
    assert properties(patched)["action"] == {"type": "StorageQueue", "queueMessage": message}


@pytest.mark.parametrize(
    "patch, target",
    [
        ({"properties": {"status": {}}}, "properties.status"),
        ({"properties": {"status": {"executionCount": 0}}}, "properties.status"),
        ({"id": "/subscriptions/x"}, "id"),
        ({"id": 1}, "id"),
        ({"properties": {"state": "Completed"}}, "properties.state"),
        ({"properties": {"state": "faulted"}}, "properties.state"),
        ({"properties": {"state": 1}}, "properties.state"),
        ({"properties": []}, "properties"),
        ({"properties": {"action": None}}, "properties.action"),
        ({"properties": {"action": "x"}}, "properties.action"),
        ({"properties": {"recurrence": {"frequency": "Year"}}}, "properties.recurrence.frequency"),
    ],
)
def test_a_wrong_patch_is_refused(arm, make_job, patch, target):
    make_job()
    before = arm.get(arm.job()).json()

    assert refusal(arm.patch(arm.job(), patch)) == (400, "BadRequest", target)
    assert arm.get(arm.job()).json() == before


def test_patch_can_contain_the_id_of_the_job(arm, make_job):
    make_job()

    assert arm.patch(arm.job(), {"id": arm.job().upper()}).status_code == 200
