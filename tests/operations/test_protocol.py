"""What the contract of asynchronous operations asks of a server, by the traps that clients fall into."""

import logging
import re

import pytest

from jobs.models import Job, JobCollection
from operations.models import Operation
from tests.operations.test_collections import path_in
from triggers.models import Trigger

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PLACE = "/subscriptions/00000000-0000-0000-0000-000000000001/providers/Microsoft.Scheduler/locations/global"
ENDS = {"succeeded": "Succeeded", "failed": "Failed", "canceled": "Canceled"}


def sent(arm, **headers) -> None:
    names = {f"HTTP_X_MS_{name.upper()}": value for name, value in headers.items()}
    arm.client.credentials(**arm.client._credentials, **names)


# The status


@pytest.mark.parametrize("state", Operation.State.values)
def test_the_status_is_200_in_every_state(arm, make_operation, state):
    operation = make_operation(state, error_message="why")

    answer = arm.get(f"{PLACE}/operations/{operation.pk}")

    told = answer.json()
    assert answer.status_code == 200
    assert told["id"] == f"{PLACE}/operations/{operation.pk}"
    assert told["name"] == str(operation.pk)
    # any other word is going on to a client, also "Cancelled" and "Completed"
    assert told["status"] == ENDS.get(state, state.capitalize())
    assert ("Retry-After" in answer) == ("endTime" not in told) == (state not in ENDS)
    assert ("error" in told) == (state in ("failed", "canceled"))
    assert told.get("error", {"code": "", "message": ""}).keys() == {"code", "message"}
    assert 0 <= told["percentComplete"] <= 100
    # clients fetch the first, and after a DELETE that is a failure; the other is for results, of which there are none
    assert not {"resourceLocation", "properties"} & told.keys()
    assert "Location" not in answer


def test_the_end_is_the_same_however_often_it_is_read(arm, make_operation):
    operation = make_operation("failed")

    assert (
        arm.get(f"{PLACE}/operations/{operation.pk}").content == arm.get(f"{PLACE}/operations/{operation.pk}").content
    )


# The result


@pytest.mark.parametrize(
    "state, status",
    [("accepted", 202), ("running", 202), ("succeeded", 204), ("failed", 409), ("canceled", 409)],
)
def test_the_result_in_every_state(arm, make_operation, state, status):
    operation = make_operation(state, error_message="why")
    address = f"{PLACE}/operationResults/{operation.pk}"

    answer = arm.get(address)

    assert answer.status_code == status
    assert ("Retry-After" in answer) == ("Location" in answer) == (status == 202)
    if status == 202:
        assert answer.content == b""
        assert path_in(answer, "Location") == address
        assert int(answer["Retry-After"]) > 0  # clients take 0 for none, and wait half a minute
        assert "Azure-AsyncOperation" not in answer
    if status == 409:
        assert answer.json()["error"]["code"] == operation.error_code
        assert answer.json()["error"]["message"] == "why"


def test_status_and_result_outlive_the_collection(arm, collection, carry_out):
    answer = arm.delete(arm.collection())
    carry_out()

    assert arm.get(arm.collection()).status_code == 404
    assert arm.get(path_in(answer, "Azure-AsyncOperation")).status_code == 200
    assert arm.get(path_in(answer, "Location")).status_code == 204


# Addresses


def test_a_configured_address_wins_over_what_a_request_says(arm, collection, settings):
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "https://quando.example.org", ["*"]
    arm.client.credentials(**arm.client._credentials, HTTP_HOST="evil.example", HTTP_X_FORWARDED_HOST="evil.example")

    answer = arm.delete(arm.collection())
    going = arm.get(answer["Location"].removeprefix(settings.PUBLIC_URL).partition("?")[0])

    for address in (answer["Location"], answer["Azure-AsyncOperation"], going["Location"]):
        assert address.startswith("https://quando.example.org/subscriptions/")  # a client sends its token there


@pytest.mark.parametrize("version", ["2016-03-01", "2016-01-01", "2014-08-01-preview"])
def test_the_addresses_carry_the_version_that_was_asked_for(arm, collection, version):
    answer = arm.call("DELETE", arm.collection(), version=version)

    for header in ("Location", "Azure-AsyncOperation"):
        assert answer[header].endswith(f"?api-version={version}")
        assert len(answer[header]) < 4096
        assert arm.client.get(answer[header]).status_code in (200, 202)


def test_the_version_is_named_in_any_case(arm, collection):
    answer = arm.client.delete(f"{arm.collection()}?API-Version=2016-03-01")

    assert answer["Location"].endswith("?api-version=2016-03-01")
    assert arm.client.get(answer["Location"].replace("api-version", "Api-Version")).status_code == 202


@pytest.mark.parametrize("change", [str.upper, str.lower, lambda path: path + "/"])
@pytest.mark.parametrize("kind", ["operations", "operationResults"])
def test_addresses_are_read_in_any_case_and_with_a_slash(arm, make_operation, kind, change):
    operation = make_operation("running")

    assert arm.get(change(f"{PLACE}/{kind}/{operation.pk}")).status_code in (200, 202)
    assert arm.post(change(f"{PLACE}/operations/{operation.pk}/cancel")).status_code == 202


@pytest.mark.parametrize(
    "address",
    [
        f"{PLACE}/operations/x",
        f"{PLACE}/operations/%00",
        f"{PLACE}/operationResults/{'9' * 400}",
        f"{PLACE}/operations/{{id}}/again",
        f"{PLACE}/operations",
        "/subscriptions/x/providers/Microsoft.Scheduler/locations/global/operations/{id}",
        f"{PLACE.replace('global', 'mars')}/operations/{{id}}",
        f"{PLACE.replace('Scheduler', 'Compute')}/operations/{{id}}",
    ],
)
def test_any_other_address_is_not_found_in_the_form_of_the_protocol(arm, make_operation, address):
    answer = arm.get(address.format(id=make_operation().pk))

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ResourceNotFound")
    assert UUID.fullmatch(answer["x-ms-request-id"])


@pytest.mark.parametrize(
    "address, methods",
    [
        (f"{PLACE}/operations/{{id}}", {"GET", "HEAD"}),
        (f"{PLACE}/operationResults/{{id}}", {"GET", "HEAD"}),
        (f"{PLACE}/operations/{{id}}/cancel", {"POST"}),
    ],
)
def test_what_is_allowed_is_not_refused(arm, make_operation, address, methods):
    address = address.format(id=make_operation("running").pk)

    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "WHAT"):
        answer = arm.call(method, address)

        assert (answer.status_code == 405) == (method not in methods), method
        assert set(answer["Allow"].split(", ")) == methods
        assert UUID.fullmatch(answer["x-ms-request-id"])


def test_a_new_collection_has_no_location(arm, subscription):
    created = arm.put(arm.collection(), {})

    assert (created.status_code, created.json()["properties"]["provisioningState"]) == (201, "Succeeded")
    # clients prefer it to the body, and would poll it
    assert "Location" not in created
    assert "Azure-AsyncOperation" not in created


def test_whoever_watches_a_collection_being_deleted_is_told_when_to_ask_again(arm, make_job):
    make_job()
    watched = (arm.collection(), arm.job(), arm.collection() + "/jobs")
    assert not any("Retry-After" in arm.get(address) for address in watched)

    answer = arm.delete(arm.collection())

    for address in watched:
        known = arm.get(address)
        assert (known.status_code, known["Retry-After"]) == (200, answer["Retry-After"])
        if tag := known.get("ETag"):
            unchanged = arm.call("GET", address, headers={"If-None-Match": tag})
            assert (unchanged.status_code, unchanged["Retry-After"]) == (304, answer["Retry-After"])


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
def test_every_answer_has_an_id_and_the_callers(arm, collection, method, path, status):
    sent(arm, correlation_request_id="c-1", client_request_id="r-1", return_client_request_id="true")

    answer = arm.call(method, arm.collection() + path, {})

    assert answer.status_code == status
    assert UUID.fullmatch(answer["x-ms-request-id"])
    assert (answer["x-ms-correlation-request-id"], answer["x-ms-client-request-id"]) == ("c-1", "r-1")


@pytest.mark.parametrize("address", ["/subscriptions", "/subscriptions/x/y", "/SUBSCRIPTIONS/%00"])
def test_unknown_addresses_have_an_id_for_nobody_too(arm, address):
    arm.client.credentials()

    assert UUID.fullmatch(arm.get(address)["x-ms-request-id"])


@pytest.mark.parametrize(
    "address, status",
    [
        ("/healthz", 503),  # without a beat and workers
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
def test_every_answer_to_anybody_has_an_id(client, db, address, status):
    answer = client.get(address, headers={"Metadata": "true"})

    assert answer.status_code == status
    assert UUID.fullmatch(answer["x-ms-request-id"])


@pytest.mark.parametrize("id", ["", "a b", "x" * 65, "a\x00b", "ä", "a\r\nb"])
def test_an_id_that_is_none_is_not_taken(arm, collection, id):
    sent(arm, correlation_request_id=id, client_request_id=id, return_client_request_id="true")

    answer = arm.delete(arm.collection())

    assert answer["x-ms-correlation-request-id"] == answer["x-ms-request-id"] == Operation.objects.get().correlation_id
    assert "x-ms-client-request-id" not in answer
    assert Operation.objects.get().client_request_id == ""


def test_the_log_has_the_ids_of_the_request_and_of_the_work(arm, collection, carry_out, caplog):
    caplog.set_level(logging.INFO, "operations")
    sent(arm, correlation_request_id="c-1", client_request_id="r-1")

    answer = arm.delete(arm.collection())
    carry_out()

    of_request, of_work = [line for line in caplog.messages if " 202 " in line], caplog.messages[-1]
    assert answer["x-ms-request-id"] in of_request[0]
    for line in (*of_request, of_work):
        assert "correlation c-1, client request r-1" in line
    assert str(Operation.objects.get().pk) in of_work


def test_an_address_forges_no_lines_of_the_log(arm, subscription, caplog):
    caplog.set_level(logging.INFO, "operations")

    arm.get(f"{PLACE}/operations/x%0AINFO%20operations:%20succeeded%00")

    (line,) = (record.getMessage() for record in caplog.records if record.name.startswith("operations"))
    assert "/operations/x%0AINFO%20operations:%20succeeded%00: 404" in line


# The collection meanwhile


def test_refusals_do_not_invite_to_try_again(arm, collection):
    arm.post(arm.collection() + "/disable")

    refused = arm.post(arm.collection() + "/enable")

    assert refused.status_code == 409
    assert "Retry-After" not in refused  # clients repeat even a POST for it


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
def test_the_same_again_is_the_same_operation_and_another_is_a_conflict(arm, collection, first, second, status):
    def call(kind):
        return arm.delete(arm.collection()) if kind == "delete" else arm.post(f"{arm.collection()}/{kind}")

    began, again = call(first), call(second)

    assert again.status_code == status
    assert again.get("Location", "") == (began["Location"] if status == 202 else "")
    assert Operation.objects.count() == 1


def test_nothing_of_a_collection_being_disabled_begins_from_its_acceptance_on(arm, make_job):
    make_job()
    arm.post(arm.collection() + "/disable")

    assert arm.get(arm.collection()).json()["properties"]["state"] == "Disabled"
    assert arm.post(arm.job() + "/run").status_code == 409


def test_a_later_put_wins_over_a_switch_that_goes_on(arm, many_jobs, step_once, carry_out):
    status = path_in(arm.post(arm.collection() + "/disable"), "Azure-AsyncOperation")
    step_once(Operation.objects.get())

    put = arm.put(arm.collection(), {"properties": {"sku": {"name": "P20Premium"}, "state": "Enabled"}})
    carry_out()

    assert put.status_code == 200
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Enabled"
    assert not Trigger.objects.filter(next_fire_at=None).exists()
    assert arm.get(status).json()["error"]["code"] == "Superseded"


def test_a_collection_gone_under_an_operation_fails_it(arm, make_job, carry_out):
    make_job()
    status = path_in(arm.post(arm.collection() + "/disable"), "Azure-AsyncOperation")
    JobCollection.objects.all().delete()

    carry_out()

    assert arm.get(status).json()["error"]["code"] == "ResourceNotFound"


def test_a_trigger_that_cannot_be_followed_fails_an_enabling(arm, make_job, make_trigger, carry_out):
    trigger = make_trigger(make_job())
    arm.post(arm.collection() + "/disable")
    carry_out()
    Trigger.objects.filter(pk=trigger.pk).update(definition={"expression": "nonsense"})

    status = path_in(arm.post(arm.collection() + "/enable"), "Azure-AsyncOperation")
    carry_out()

    ended = arm.get(status).json()
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "InvalidTrigger")
    assert arm.get(arm.collection()).json()["properties"]["state"] == "Disabled"


def test_a_deletion_is_put_back_though_a_trigger_cannot_be_followed(arm, make_job, make_trigger):
    trigger = make_trigger(make_job())
    Trigger.objects.filter(pk=trigger.pk).update(definition={"expression": "nonsense"}, next_fire_at=None)
    status = path_in(arm.delete(arm.collection()), "Azure-AsyncOperation")

    arm.post(f"{status}/cancel")

    assert arm.get(arm.collection()).json()["properties"]["provisioningState"] == "Succeeded"


def test_percent_only_grows(arm, many_jobs, step_once):
    status = path_in(arm.delete(arm.collection()), "Azure-AsyncOperation")
    seen = [0]
    while (told := arm.get(status).json())["status"] not in ENDS.values():
        seen.append(told["percentComplete"])
        step_once(Operation.objects.get())

    assert seen == sorted(seen)
    assert len(set(seen)) >= 3
    assert (told["percentComplete"], Job.objects.count()) == (100, 0)


def test_what_is_listed_meanwhile_says_so(arm, collection):
    arm.delete(arm.collection())

    listed = arm.get(arm.collections).json()["value"]

    assert [row["properties"]["provisioningState"] for row in listed] == ["Deleting"]
