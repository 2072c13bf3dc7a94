"""Deleting, enabling and disabling a job collection with the resource manager API."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import ApiToken, Role, Subscription
from jobs.models import Job, JobCollection
from operations import service
from operations.models import HEARTBEAT_TIMEOUT, Operation
from tests.jobs.arm_client import ArmClient
from triggers.collection_operations import JOBS_A_STEP
from triggers.models import Trigger

HOST = "http://testserver"


def read_path(response, header: str) -> str:
    """Return the path of the address in a header of the response."""
    assert response[header].startswith(HOST + "/subscriptions/")
    return response[header].removeprefix(HOST).partition("?")[0]


@pytest.mark.parametrize("method, path", [("DELETE", ""), ("POST", "/enable"), ("POST", "/disable")])
def test_long_request_is_accepted_with_addresses_of_status_and_result(arm, collection, method, path):
    response = arm.call(method, arm.collection() + path)

    assert (response.status_code, response.content) == (202, b"")
    operation = Operation.objects.get()
    location_path = f"/subscriptions/{collection.subscription_id}/providers/Microsoft.Scheduler/locations/global"
    assert response["Azure-AsyncOperation"] == f"{HOST}{location_path}/operations/{operation.pk}?api-version=2016-03-01"
    assert response["Location"] == f"{HOST}{location_path}/operationResults/{operation.pk}?api-version=2016-03-01"
    assert int(response["Retry-After"]) > 0


def test_addresses_start_with_the_public_url(arm, collection, settings):
    settings.PUBLIC_URL = "https://quando.example.org"

    response = arm.delete(arm.collection())

    assert response["Azure-AsyncOperation"].startswith("https://quando.example.org/subscriptions/")
    assert response["Location"].startswith("https://quando.example.org/subscriptions/")


@pytest.mark.parametrize(
    "location, location_path",
    [
        ("West Europe", "westeurope"),
        ("us-gov-1", "us-gov-1"),
        ("", "global"),
        ("東京", "global"),
        ("a/b?c=d#e", "abcde"),  # these characters would end the path
        ("../..", "global"),  # clients would resolve the dots
        ("%41", "41"),
        ("İ" * 64, "i" * 64),  # each letter becomes two characters in lower case
    ],
)
def test_addresses_work_for_each_location(arm, collection, location, location_path):
    JobCollection.objects.update(location=location)

    response = arm.delete(arm.collection())

    assert f"/locations/{location_path}/" in response["Location"]
    for header, status in (("Azure-AsyncOperation", 200), ("Location", 202)):
        assert arm.get(read_path(response, header)).status_code == status


def test_status_changes_from_accepted_to_succeeded(arm, many_jobs, carry_out, step_once):
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")
    accepted = arm.get(status)
    step_once(Operation.objects.get())
    running = arm.get(status)
    carry_out()
    ended = arm.get(status)

    assert (accepted.json()["status"], accepted.json()["percentComplete"], accepted["Retry-After"]) == (
        "Accepted",
        0,
        "1",
    )
    assert 0 < running.json()["percentComplete"] < 100
    assert running["Retry-After"] == "1"
    assert (ended.json()["status"], ended.json()["percentComplete"]) == ("Succeeded", 100)
    assert "Retry-After" not in ended
    assert ended.json()["endTime"] >= ended.json()["startTime"]
    assert "error" not in ended.json()


def test_result_is_202_until_the_operation_ends_and_204_afterwards(arm, collection, carry_out):
    result = read_path(arm.delete(arm.collection()), "Location")

    pending = arm.get(result)
    assert (pending.status_code, pending.content, read_path(pending, "Location")) == (202, b"", result)
    assert pending["Retry-After"] == "1"

    carry_out()
    assert (arm.get(result).status_code, arm.get(result).content) == (204, b"")


def test_collection_that_is_being_deleted_refuses_writes(arm, make_job):
    make_job()
    arm.delete(arm.collection())

    shown = arm.get(arm.collection()).json()["properties"]
    assert (shown["state"], shown["provisioningState"]) == ("Deleted", "Deleting")
    job = {"properties": {"action": {"type": "Http", "request": {"uri": "http://127.0.0.1/", "method": "GET"}}}}
    for method, address, body in [
        ("PUT", arm.collection(), {}),
        ("PATCH", arm.collection(), {}),
        ("POST", arm.collection() + "/enable", None),
        ("PUT", arm.job("new"), job),
        ("PUT", arm.job(), job),
        ("PATCH", arm.job(), {"properties": {"state": "Disabled"}}),
        ("DELETE", arm.job(), None),
        ("POST", arm.job() + "/run", None),
    ]:
        refused = arm.call(method, address, body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ConflictError"), (method, address)


def test_repeated_deletion_is_the_same_operation(arm, collection):
    first, again = arm.delete(arm.collection()), arm.delete(arm.collection())

    assert again.status_code == 202
    assert again["Azure-AsyncOperation"] == first["Azure-AsyncOperation"]
    assert Operation.objects.count() == 1


def test_opposite_request_during_an_operation_is_a_conflict(arm, collection, carry_out):
    arm.post(arm.collection() + "/disable")

    refused = arm.post(arm.collection() + "/enable")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ConflictError")

    carry_out()
    assert arm.post(arm.collection() + "/enable").status_code == 202


def test_deletion_of_an_unknown_collection_is_not_found(arm, subscription):
    assert arm.delete(arm.collection()).status_code == 404
    assert not Operation.objects.exists()


def test_all_jobs_are_deleted_in_steps(arm, many_jobs, carry_out, step_once):
    arm.delete(arm.collection())
    step_once(Operation.objects.get())
    assert Job.objects.count() == JOBS_A_STEP + 1

    carry_out()
    assert not JobCollection.objects.exists()
    assert not Job.objects.exists()


def test_all_triggers_are_disabled_in_steps(arm, many_jobs, carry_out, step_once):
    arm.post(arm.collection() + "/disable")
    step_once(Operation.objects.get())
    assert Trigger.objects.filter(next_fire_at=None).count() == JOBS_A_STEP

    carry_out()
    assert not Trigger.objects.exclude(next_fire_at=None).exists()


# Cancelling


def test_cancelling_before_a_worker_leases_it_ends_an_operation_immediately(arm, make_job):
    make_job()
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")

    assert arm.post(f"{status}/cancel").status_code == 202

    ended = arm.get(status).json()
    assert (ended["status"], ended["error"]["code"]) == ("Canceled", "OperationCanceled")
    assert arm.get(arm.collection()).json()["properties"]["provisioningState"] == "Succeeded"
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Enabled"
    assert Trigger.objects.exclude(next_fire_at=None).exists()


def test_cancelling_between_steps_keeps_the_remaining_jobs(arm, many_jobs, step_once):
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")
    operation = Operation.objects.get()
    step_once(operation)

    arm.post(f"{status}/cancel")
    step_once(operation)

    assert arm.get(status).json()["status"] == "Canceled"
    assert Job.objects.count() == JOBS_A_STEP + 1
    assert (
        arm.put(
            arm.job("new"),
            {"properties": {"action": {"type": "Http", "request": {"uri": "http://127.0.0.1/", "method": "GET"}}}},
        ).status_code
        == 201
    )


def test_cancelled_disabling_restores_the_state(arm, many_jobs, step_once):
    status = read_path(arm.post(arm.collection() + "/disable"), "Azure-AsyncOperation")
    step_once(Operation.objects.get())

    arm.post(f"{status}/cancel")
    step_once(Operation.objects.get())

    assert arm.get(arm.collection()).json()["properties"]["state"] == "Enabled"
    assert not Trigger.objects.filter(next_fire_at=None).exists()


def test_ended_operation_cannot_be_cancelled(arm, collection, carry_out):
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")
    carry_out()

    assert arm.post(f"{status}/cancel").status_code == 409
    assert arm.get(status).json()["status"] == "Succeeded"


def test_cancel_request_that_is_too_late_names_the_final_state(arm, collection, carry_out, monkeypatch):
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")

    def end_then_cancel(operation, now):
        carry_out()
        return service.cancel(operation, now)

    monkeypatch.setattr("operations.arm.cancel", end_then_cancel)

    assert "has already ended: succeeded" in arm.post(f"{status}/cancel").json()["error"]["message"]


# Failures


def test_failed_deletion_keeps_the_collection_and_has_an_error_code(arm, make_job, carry_out, monkeypatch):
    make_job()
    answer = arm.delete(arm.collection())
    monkeypatch.setattr("triggers.deletion.remove_jobs", lambda *_: 1 / 0)

    carry_out()

    ended = arm.get(read_path(answer, "Azure-AsyncOperation"))
    assert (ended.status_code, ended.json()["status"]) == (200, "Failed")
    assert ended.json()["error"]["code"] == "InternalError"
    result = arm.get(read_path(answer, "Location"))
    assert (result.status_code, result.json()["error"]["code"]) == (409, "InternalError")
    assert arm.get(arm.collection()).json()["properties"]["provisioningState"] == "Succeeded"


def test_operation_of_a_dead_worker_fails_with_worker_lost(arm, many_jobs):
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")
    operation = Operation.objects.get()
    taken_at = timezone.now()
    assert service.lease(operation.pk, taken_at)

    service.rescue(taken_at + HEARTBEAT_TIMEOUT)
    assert arm.get(status).json()["status"] == "Running"

    service.rescue(taken_at + HEARTBEAT_TIMEOUT + timedelta(seconds=1))
    ended = arm.get(status).json()
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "WorkerLost")
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Enabled"


def test_worker_without_its_lease_does_no_further_step(arm, many_jobs):
    arm.delete(arm.collection())
    operation = Operation.objects.get()
    token = service.lease(operation.pk, timezone.now())
    service.rescue(timezone.now() + HEARTBEAT_TIMEOUT + timedelta(seconds=1))

    assert service._step(operation.pk, token, timezone.now) is False
    assert Job.objects.count() == 2 * JOBS_A_STEP + 1


def test_two_workers_cannot_lease_the_same_operation(arm, collection):
    arm.delete(arm.collection())
    operation = Operation.objects.get()

    assert service.lease(operation.pk, timezone.now())
    assert service.lease(operation.pk, timezone.now()) is None


# Permissions


@pytest.mark.parametrize("kind", ["Azure-AsyncOperation", "Location"])
def test_operation_is_visible_only_to_members(arm, collection, make_user, kind, carry_out):
    address = read_path(arm.delete(arm.collection()), kind)
    stranger = ArmClient(ApiToken.objects.issue(make_user("eve", None), "tests")[1])

    assert stranger.get(address).status_code == 404
    assert ArmClient(None).get(address).status_code == 401


def test_reader_can_read_but_not_cancel_an_operation(arm, collection, make_user):
    address = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")
    reader = ArmClient(ApiToken.objects.issue(make_user("rea", Role.READER), "tests")[1])

    assert reader.get(address).status_code == 200
    assert reader.post(f"{address}/cancel").status_code == 403
    assert Operation.objects.get().cancel_requested_at is None


@pytest.mark.parametrize("id", [uuid.UUID(int=7), "x", "0" * 36])
def test_unknown_operation_is_not_found(arm, collection, id):
    arm.delete(arm.collection())
    location_path = f"{arm.subscription}/providers/Microsoft.Scheduler/locations/global"

    answer = arm.get(f"{location_path}/operations/{id}")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ResourceNotFound")


def test_an_operation_is_not_found_in_another_subscription(arm, collection, owner):
    other = Subscription.objects.create(name="other")
    other.membership_set.create(user=owner, role=Role.OWNER)
    address = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")

    assert arm.get(address.replace(str(collection.subscription_id), str(other.pk))).status_code == 404


# Correlation


def test_operation_stores_the_request_ids_of_the_client(arm, collection):
    sent = {"HTTP_X_MS_CORRELATION_REQUEST_ID": "abc-123", "HTTP_X_MS_CLIENT_REQUEST_ID": "mine-1"}
    arm.client.credentials(**arm.client._credentials, **sent)

    response = arm.delete(arm.collection())

    operation = Operation.objects.get()
    assert (operation.correlation_id, operation.client_request_id) == ("abc-123", "mine-1")
    assert response["x-ms-correlation-request-id"] == "abc-123"
    assert "x-ms-client-request-id" not in response


def test_client_request_id_is_returned_on_request(arm, collection):
    sent = {"HTTP_X_MS_CLIENT_REQUEST_ID": "mine-1", "HTTP_X_MS_RETURN_CLIENT_REQUEST_ID": "True"}
    arm.client.credentials(**arm.client._credentials, **sent)

    assert arm.get(arm.collection())["x-ms-client-request-id"] == "mine-1"


# Retention


def test_operation_is_pruned_one_day_after_its_end(arm, collection, carry_out):
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")
    carry_out()
    finished_at = Operation.objects.get().finished_at

    service.prune(finished_at + timedelta(hours=24))
    assert arm.get(status).status_code == 200

    service.prune(finished_at + timedelta(hours=24, seconds=1))
    assert arm.get(status).status_code == 404
