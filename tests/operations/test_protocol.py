"""The protocol of asynchronous operations in the resource manager API, as existing clients need it."""

import logging
import re

import pytest

from jobs.models import Job, JobCollection
from operations.models import Operation
from tests.operations.test_collections import read_path
from triggers.models import Trigger

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LOCATION_PATH = "/subscriptions/00000000-0000-0000-0000-000000000001/providers/Microsoft.Scheduler/locations/global"
ENDS = {"succeeded": "Succeeded", "failed": "Failed", "canceled": "Canceled"}


def send_headers(arm, **headers) -> None:
    names = {f"HTTP_X_MS_{name.upper()}": value for name, value in headers.items()}
    arm.client.credentials(**arm.client._credentials, **names)


# The status


@pytest.mark.parametrize("state", Operation.State.values)
def test_status_response_is_200_in_each_state(arm, make_operation, state):
    operation = make_operation(state, error_message="why")

    response = arm.get(f"{LOCATION_PATH}/operations/{operation.pk}")

    body = response.json()
    assert response.status_code == 200
    assert body["id"] == f"{LOCATION_PATH}/operations/{operation.pk}"
    assert body["name"] == str(operation.pk)
    # clients treat any other word as still running, also "Cancelled" and "Completed"
    assert body["status"] == ENDS.get(state, state.capitalize())
    assert ("Retry-After" in response) == ("endTime" not in body) == (state not in ENDS)
    assert ("error" in body) == (state in ("failed", "canceled"))
    assert body.get("error", {"code": "", "message": ""}).keys() == {"code", "message"}
    assert 0 <= body["percentComplete"] <= 100
    # clients fetch resourceLocation, which fails after a DELETE; properties are for results, and there are none
    assert not {"resourceLocation", "properties"} & body.keys()
    assert "Location" not in response


def test_status_of_an_ended_operation_never_changes(arm, make_operation):
    operation = make_operation("failed")

    assert (
        arm.get(f"{LOCATION_PATH}/operations/{operation.pk}").content
        == arm.get(f"{LOCATION_PATH}/operations/{operation.pk}").content
    )


# The result


@pytest.mark.parametrize(
    "state, status",
    [("accepted", 202), ("running", 202), ("succeeded", 204), ("failed", 409), ("canceled", 409)],
)
def test_result_response_in_each_state(arm, make_operation, state, status):
    operation = make_operation(state, error_message="why")
    address = f"{LOCATION_PATH}/operationResults/{operation.pk}"

    response = arm.get(address)

    assert response.status_code == status
    assert ("Retry-After" in response) == ("Location" in response) == (status == 202)
    if status == 202:
        assert response.content == b""
        assert read_path(response, "Location") == address
        assert int(response["Retry-After"]) > 0  # clients treat 0 as missing, and wait half a minute
        assert "Azure-AsyncOperation" not in response
    if status == 409:
        assert response.json()["error"]["code"] == operation.error_code
        assert response.json()["error"]["message"] == "why"


def test_status_and_result_are_available_after_the_collection_is_deleted(arm, collection, carry_out):
    response = arm.delete(arm.collection())
    carry_out()

    assert arm.get(arm.collection()).status_code == 404
    assert arm.get(read_path(response, "Azure-AsyncOperation")).status_code == 200
    assert arm.get(read_path(response, "Location")).status_code == 204


# Addresses


def test_public_url_takes_precedence_over_the_host_of_the_request(arm, collection, settings):
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "https://quando.example.org", ["*"]
    arm.client.credentials(**arm.client._credentials, HTTP_HOST="evil.example", HTTP_X_FORWARDED_HOST="evil.example")

    response = arm.delete(arm.collection())
    pending = arm.get(response["Location"].removeprefix(settings.PUBLIC_URL).partition("?")[0])

    for address in (response["Location"], response["Azure-AsyncOperation"], pending["Location"]):
        assert address.startswith(
            "https://quando.example.org/subscriptions/"
        )  # the client sends its token to this address


@pytest.mark.parametrize("version", ["2016-03-01", "2016-01-01", "2014-08-01-preview"])
def test_addresses_have_the_api_version_of_the_request(arm, collection, version):
    response = arm.call("DELETE", arm.collection(), version=version)

    for header in ("Location", "Azure-AsyncOperation"):
        assert response[header].endswith(f"?api-version={version}")
        assert len(response[header]) < 4096
        assert arm.client.get(response[header]).status_code in (200, 202)


def test_api_version_parameter_ignores_case(arm, collection):
    response = arm.client.delete(f"{arm.collection()}?API-Version=2016-03-01")

    assert response["Location"].endswith("?api-version=2016-03-01")
    assert arm.client.get(response["Location"].replace("api-version", "Api-Version")).status_code == 202


@pytest.mark.parametrize("change", [str.upper, str.lower, lambda path: path + "/"])
@pytest.mark.parametrize("kind", ["operations", "operationResults"])
def test_addresses_ignore_case_and_a_trailing_slash(arm, make_operation, kind, change):
    operation = make_operation("running")

    assert arm.get(change(f"{LOCATION_PATH}/{kind}/{operation.pk}")).status_code in (200, 202)
    assert arm.post(change(f"{LOCATION_PATH}/operations/{operation.pk}/cancel")).status_code == 202


@pytest.mark.parametrize(
    "address",
    [
        f"{LOCATION_PATH}/operations/x",
        f"{LOCATION_PATH}/operations/%00",
        f"{LOCATION_PATH}/operationResults/{'9' * 400}",
        f"{LOCATION_PATH}/operations/{{id}}/again",
        f"{LOCATION_PATH}/operations",
        "/subscriptions/x/providers/Microsoft.Scheduler/locations/global/operations/{id}",
        f"{LOCATION_PATH.replace('global', 'mars')}/operations/{{id}}",
        f"{LOCATION_PATH.replace('Scheduler', 'Compute')}/operations/{{id}}",
    ],
)
def test_unknown_address_gets_a_resource_manager_error(arm, make_operation, address):
    response = arm.get(address.format(id=make_operation().pk))

    assert (response.status_code, response.json()["error"]["code"]) == (404, "ResourceNotFound")
    assert UUID.fullmatch(response["x-ms-request-id"])


@pytest.mark.parametrize(
    "address, methods",
    [
        (f"{LOCATION_PATH}/operations/{{id}}", {"GET", "HEAD"}),
        (f"{LOCATION_PATH}/operationResults/{{id}}", {"GET", "HEAD"}),
        (f"{LOCATION_PATH}/operations/{{id}}/cancel", {"POST"}),
    ],
)
def test_allow_header_lists_exactly_the_supported_methods(arm, make_operation, address, methods):
    address = address.format(id=make_operation("running").pk)

    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "WHAT"):
        response = arm.call(method, address)

        assert (response.status_code == 405) == (method not in methods), method
        assert set(response["Allow"].split(", ")) == methods
        assert UUID.fullmatch(response["x-ms-request-id"])


def test_new_collection_has_no_location_header(arm, subscription):
    created = arm.put(arm.collection(), {})

    assert (created.status_code, created.json()["properties"]["provisioningState"]) == (201, "Succeeded")
    # clients would poll this address instead of reading the body
    assert "Location" not in created
    assert "Azure-AsyncOperation" not in created


def test_collection_that_is_being_deleted_has_a_retry_after_header(arm, make_job):
    make_job()
    addresses = (arm.collection(), arm.job(), arm.collection() + "/jobs")
    assert not any("Retry-After" in arm.get(address) for address in addresses)

    response = arm.delete(arm.collection())

    for address in addresses:
        current = arm.get(address)
        assert (current.status_code, current["Retry-After"]) == (200, response["Retry-After"])
        if tag := current.get("ETag"):
            unchanged = arm.call("GET", address, headers={"If-None-Match": tag})
            assert (unchanged.status_code, unchanged["Retry-After"]) == (304, response["Retry-After"])


# Correlation


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "", 200),
        ("GET", "-missing", 404),
        ("DELETE", "", 202),
        ("TRACE", "", 405),
        ("PUT", "/jobs/j", 400),
        ("GET", "/what", 404),
    ],
)
def test_each_response_has_a_request_id_and_those_of_the_client(arm, collection, method, path, status):
    send_headers(arm, correlation_request_id="c-1", client_request_id="r-1", return_client_request_id="true")

    response = arm.call(method, arm.collection() + path, {})

    assert response.status_code == status
    assert UUID.fullmatch(response["x-ms-request-id"])
    assert (response["x-ms-correlation-request-id"], response["x-ms-client-request-id"]) == ("c-1", "r-1")


@pytest.mark.parametrize("address", ["/subscriptions", "/subscriptions/x/y", "/SUBSCRIPTIONS/%00"])
def test_response_of_an_unknown_address_has_a_request_id(arm, address):
    arm.client.credentials()

    assert UUID.fullmatch(arm.get(address)["x-ms-request-id"])


@pytest.mark.parametrize(
    "address, status",
    [
        ("/healthz", 503),  # no beat and no workers
        ("/", 302),
        ("/nothing", 404),
        ("/static/nothing", 404),
        ("/api/operations", 401),
        ("/api/nothing", 404),
        ("/v1/mint/triggers", 401),
        ("/v1.0/me/calendars", 401),
        ("/metadata/scheduledevents", 400),
        ("/metadata/scheduledevents?api-version=2020-07-01", 401),
        ("/subscriptions?api-version=2016-03-01", 401),
    ],
)
def test_each_response_without_sign_in_has_a_request_id(client, db, address, status):
    response = client.get(address, headers={"Metadata": "true"})

    assert response.status_code == status
    assert UUID.fullmatch(response["x-ms-request-id"])


@pytest.mark.parametrize("id", ["", "a b", "x" * 65, "a\x00b", "ä", "a\r\nb"])
def test_invalid_request_ids_of_the_client_are_ignored(arm, collection, id):
    send_headers(arm, correlation_request_id=id, client_request_id=id, return_client_request_id="true")

    response = arm.delete(arm.collection())

    assert (
        response["x-ms-correlation-request-id"] == response["x-ms-request-id"] == Operation.objects.get().correlation_id
    )
    assert "x-ms-client-request-id" not in response
    assert Operation.objects.get().client_request_id == ""


def test_log_has_the_request_ids_of_request_and_operation(arm, collection, carry_out, caplog):
    caplog.set_level(logging.INFO, "operations")
    send_headers(arm, correlation_request_id="c-1", client_request_id="r-1")

    response = arm.delete(arm.collection())
    carry_out()

    request_lines, operation_line = [line for line in caplog.messages if " 202 " in line], caplog.messages[-1]
    assert response["x-ms-request-id"] in request_lines[0]
    for line in (*request_lines, operation_line):
        assert "correlation c-1, client request r-1" in line
    assert str(Operation.objects.get().pk) in operation_line


def test_address_cannot_forge_log_lines(arm, subscription, caplog):
    caplog.set_level(logging.INFO, "operations")

    arm.get(f"{LOCATION_PATH}/operations/x%0AINFO%20operations:%20succeeded%00")

    (line,) = (record.getMessage() for record in caplog.records if record.name.startswith("operations"))
    assert "/operations/x%0AINFO%20operations:%20succeeded%00: 404" in line


# The collection during an operation


def test_conflict_has_no_retry_after_header(arm, collection):
    arm.post(arm.collection() + "/disable")

    refused = arm.post(arm.collection() + "/enable")

    assert refused.status_code == 409
    assert "Retry-After" not in refused  # clients repeat even a POST because of this header


@pytest.mark.parametrize(
    "first, second, status",
    [
        ("disable", "disable", 202),
        ("enable", "enable", 202),
        ("disable", "enable", 409),
        ("enable", "disable", 409),
        ("disable", "delete", 409),
        ("delete", "enable", 409),
        ("delete", "delete", 202),
    ],
)
def test_repeated_request_is_the_same_operation_and_another_a_conflict(arm, collection, first, second, status):
    def call(kind):
        return arm.delete(arm.collection()) if kind == "delete" else arm.post(f"{arm.collection()}/{kind}")

    started, again = call(first), call(second)

    assert again.status_code == status
    assert again.get("Location", "") == (started["Location"] if status == 202 else "")
    assert Operation.objects.count() == 1


def test_collection_is_disabled_from_the_acceptance_of_the_request(arm, make_job):
    make_job()
    arm.post(arm.collection() + "/disable")

    assert arm.get(arm.collection()).json()["properties"]["state"] == "Disabled"
    assert arm.post(arm.job() + "/run").status_code == 409


def test_later_put_supersedes_a_running_operation(arm, many_jobs, step_once, carry_out):
    status = read_path(arm.post(arm.collection() + "/disable"), "Azure-AsyncOperation")
    step_once(Operation.objects.get())

    put = arm.put(arm.collection(), {"properties": {"sku": {"name": "P20Premium"}, "state": "Enabled"}})
    carry_out()

    assert put.status_code == 200
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Enabled"
    assert not Trigger.objects.filter(next_fire_at=None).exists()
    assert arm.get(status).json()["error"]["code"] == "Superseded"


def test_operation_fails_if_its_collection_is_deleted(arm, make_job, carry_out):
    make_job()
    status = read_path(arm.post(arm.collection() + "/disable"), "Azure-AsyncOperation")
    JobCollection.objects.all().delete()

    carry_out()

    assert arm.get(status).json()["error"]["code"] == "ResourceNotFound"


def test_enabling_with_an_invalid_trigger_fails(arm, make_job, make_trigger, carry_out):
    trigger = make_trigger(make_job())
    arm.post(arm.collection() + "/disable")
    carry_out()
    Trigger.objects.filter(pk=trigger.pk).update(definition={"expression": "nonsense"})

    status = read_path(arm.post(arm.collection() + "/enable"), "Azure-AsyncOperation")
    carry_out()

    ended = arm.get(status).json()
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "InvalidTrigger")
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Disabled"


def test_cancelled_deletion_restores_a_collection_with_an_invalid_trigger(arm, make_job, make_trigger):
    trigger = make_trigger(make_job())
    Trigger.objects.filter(pk=trigger.pk).update(definition={"expression": "nonsense"}, next_fire_at=None)
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")

    arm.post(f"{status}/cancel")

    assert arm.get(arm.collection()).json()["properties"]["provisioningState"] == "Succeeded"


def test_percent_complete_never_decreases(arm, many_jobs, step_once):
    status = read_path(arm.delete(arm.collection()), "Azure-AsyncOperation")
    percents = [0]
    while (body := arm.get(status).json())["status"] not in ENDS.values():
        percents.append(body["percentComplete"])
        step_once(Operation.objects.get())

    assert percents == sorted(percents)
    assert len(set(percents)) >= 3
    assert (body["percentComplete"], Job.objects.count()) == (100, 0)


def test_collection_list_shows_the_provisioning_state(arm, collection):
    arm.delete(arm.collection())

    listed = arm.get(arm.collections).json()["value"]

    assert [row["properties"]["provisioningState"] for row in listed] == ["Deleting"]


def test_operation_that_cannot_be_cancelled_is_refused(arm, make_operation):
    operation = make_operation("running", kind="closed_days.recompute")

    response = arm.post(f"{LOCATION_PATH}/operations/{operation.pk}/cancel")

    assert response.status_code == 409
    assert "cannot be cancelled" in response.json()["error"]["message"]
