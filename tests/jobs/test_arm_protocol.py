"""Rules for every operation of the original service's contract."""

import json
import uuid

import pytest

from accounts.models import ApiToken, Role, Subscription
from jobs.models import Job, JobCollection
from tests.conftest import ACTION
from tests.jobs.arm_client import PROVIDER, ArmClient

BODY = {"properties": {"action": ACTION}}
READS = (
    ("GET", f"/{PROVIDER}"),
    ("GET", f"/resourceGroups/default/{PROVIDER}"),
    ("GET", f"/resourceGroups/default/{PROVIDER}/nightly"),
    ("GET", f"/resourceGroups/default/{PROVIDER}/nightly/jobs"),
    ("GET", f"/resourceGroups/default/{PROVIDER}/nightly/jobs/backup"),
    ("GET", f"/resourceGroups/default/{PROVIDER}/nightly/jobs/backup/history"),
)
WRITES = (
    ("PUT", f"/resourceGroups/default/{PROVIDER}/nightly"),
    ("PATCH", f"/resourceGroups/default/{PROVIDER}/nightly"),
    ("DELETE", f"/resourceGroups/default/{PROVIDER}/nightly"),
    ("POST", f"/resourceGroups/default/{PROVIDER}/nightly/enable"),
    ("POST", f"/resourceGroups/default/{PROVIDER}/nightly/disable"),
    ("PUT", f"/resourceGroups/default/{PROVIDER}/nightly/jobs/backup"),
    ("PATCH", f"/resourceGroups/default/{PROVIDER}/nightly/jobs/backup"),
    ("DELETE", f"/resourceGroups/default/{PROVIDER}/nightly/jobs/backup"),
    ("POST", f"/resourceGroups/default/{PROVIDER}/nightly/jobs/backup/run"),
)
LONG = WRITES[2:5]
BODIES = {"PUT": BODY, "PATCH": {}}
every_operation = pytest.mark.parametrize("method, path", READS + WRITES)


def status_of(method: str, path: str) -> int:
    """Return the status of success: 202 for long operations, else 200."""
    return 202 if (method, path) in LONG else 200


def code_of(response) -> str:
    return response.json()["error"]["code"]


def arm_of(make_user, name: str, role: Role | None, token_role: Role = Role.OWNER) -> ArmClient:
    return ArmClient(ApiToken.objects.issue(make_user(name, role), "tests", role=token_role)[1])


def everything() -> list[object]:
    return [*JobCollection.objects.order_by("pk").values(), *Job.objects.order_by("pk").values()]


# Who calls


@every_operation
def test_request_without_a_token_gets_a_challenge(make_job, subscription, method, path):
    make_job()
    nobody = ArmClient(None)

    response = nobody.call(method, nobody.subscription + path, BODIES.get(method))

    assert (response.status_code, code_of(response)) == (401, "AuthenticationFailed")
    assert response["WWW-Authenticate"].startswith("Bearer")


@every_operation
def test_user_without_a_role_gets_the_same_response_as_for_a_missing_subscription(make_job, make_user, method, path):
    make_job()
    stranger = arm_of(make_user, "eve", None)
    before = everything()

    theirs = stranger.call(method, stranger.subscription + path, BODIES.get(method))
    missing = stranger.call(method, f"/subscriptions/{uuid.uuid4()}{path}", BODIES.get(method))

    assert (theirs.status_code, code_of(theirs)) == (404, "ResourceNotFound")
    assert theirs.content == missing.content
    assert everything() == before


@every_operation
def test_member_of_another_subscription_gets_not_found(make_job, make_user, method, path):
    make_job()
    other = Subscription.objects.create(name="other")
    user = make_user("eve", Role.OWNER, in_subscription=other)
    stranger = ArmClient(ApiToken.objects.issue(user, "tests")[1])

    response = stranger.call(method, stranger.subscription + path, BODIES.get(method))

    assert (response.status_code, code_of(response)) == (404, "ResourceNotFound")


@pytest.mark.parametrize("method, path", READS)
def test_reader_can_read(make_job, make_user, method, path):
    make_job()
    reader = arm_of(make_user, "rea", Role.READER)

    assert reader.call(method, reader.subscription + path).status_code == 200


@pytest.mark.parametrize("role, token_role", [(Role.READER, Role.OWNER), (Role.OWNER, Role.READER)])
@pytest.mark.parametrize("method, path", WRITES)
def test_reader_cannot_change_anything(make_job, make_user, method, path, role, token_role):
    make_job()
    reader = arm_of(make_user, "rea", role, token_role)
    before = everything()

    response = reader.call(method, reader.subscription + path, BODIES.get(method))

    assert (response.status_code, code_of(response)) == (403, "AuthorizationFailed")
    assert everything() == before


@pytest.mark.parametrize("method, path", WRITES)
def test_operator_can_do_every_write(make_job, make_user, method, path):
    make_job()
    operator = arm_of(make_user, "oli", Role.OPERATOR)

    status_code = operator.call(method, operator.subscription + path, BODIES.get(method)).status_code

    assert status_code == status_of(method, path)


# What is called


@pytest.mark.parametrize("method, path", READS[2:] + WRITES[1:])
def test_unknown_name_is_not_found(arm, subscription, method, path):
    response = arm.call(method, arm.subscription + path, BODIES.get(method))

    assert (response.status_code, code_of(response)) == (404, "ResourceNotFound")


@pytest.mark.parametrize("name", ["%00", "a%00b", "%F0%9F%98%80", "..", "%ED%A0%80", "a" * 300])
def test_malformed_name_is_not_found(arm, make_job, name):
    make_job()

    for address in (
        arm.job(name),
        arm.collection(name),
        f"{arm.subscription}/resourceGroups/{name}/{PROVIDER}/nightly",
    ):
        assert arm.get(address).status_code == 404


@pytest.mark.parametrize("subscription_id", ["default", "{00000000-0000-0000-0000-000000000001}", "1", "%00"])
def test_subscription_is_found_by_its_guid_only(arm, make_job, subscription_id):
    make_job()

    assert arm.get(f"/subscriptions/{subscription_id}/{PROVIDER}").status_code == 404


@pytest.mark.parametrize("path", ["", "/resourceGroups", "/providers/Microsoft.Compute/virtualMachines"])
def test_other_addresses_of_the_resource_manager_are_not_found(arm, subscription, path):
    response = arm.get(arm.subscription + path)

    assert (response.status_code, code_of(response)) == (404, "ResourceNotFound")


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_addresses_match_in_any_case_and_ids_are_returned_in_one_case(arm, make_job, change):
    make_job()
    address = arm.job()

    response = arm.get("/subscriptions" + change(address.removeprefix("/subscriptions")))

    assert response.json()["id"] == address


def test_trailing_slash_makes_no_difference(arm, make_job):
    make_job()

    assert arm.get(arm.job() + "/").json() == arm.get(arm.job()).json()


@pytest.mark.parametrize(
    "method, path",
    [
        ("POST", ""),
        ("POST", "/jobs"),
        ("PUT", "/jobs"),
        ("GET", "/enable"),
        ("POST", "/jobs/backup"),
        ("OPTIONS", ""),
        ("GET", "/jobs/backup/run"),
        ("DELETE", "/jobs/backup/history"),
        ("TRACE", "/jobs/backup"),
    ],
)
def test_method_that_an_address_does_not_support_is_refused(arm, make_job, method, path):
    make_job()

    response = arm.call(method, arm.collection() + path)

    assert (response.status_code, code_of(response)) == (405, "InvalidHttpVerb")


# The version


@pytest.mark.parametrize("version", ["2016-03-01", "2016-01-01", "2014-08-01-preview", "2014-08-01-Preview"])
def test_known_api_versions_are_accepted(arm, make_job, version):
    make_job()

    assert arm.call("GET", arm.job(), version=version).status_code == 200


@pytest.mark.parametrize("version", [None, "", "2015-01-01", "latest"])
@every_operation
def test_unknown_api_version_is_refused(arm, make_job, method, path, version):
    make_job()
    before = everything()

    response = arm.call(method, arm.subscription + path, BODIES.get(method), version=version)

    assert (response.status_code, code_of(response)) == (400, "MissingOrIncorrectVersionHeader")
    assert everything() == before


# Headers


@every_operation
def test_every_response_has_the_headers_of_the_protocol(arm, make_job, method, path):
    make_job()

    response = arm.call(method, arm.subscription + path, BODIES.get(method))

    assert response.status_code == status_of(method, path)
    assert uuid.UUID(response["x-ms-request-id"])
    assert response["x-ms-correlation-request-id"] == response["x-ms-request-id"]
    assert (response["Cache-Control"], response["Pragma"], response["Expires"]) == ("no-cache", "no-cache", "-1")
    if response.content:
        assert response["Content-Type"] == "application/json; charset=utf-8"


def test_error_response_has_the_headers_of_the_protocol_too(arm, subscription):
    response = arm.get(arm.job())

    assert response.status_code == 404
    assert response["Cache-Control"] == "no-cache"
    assert response["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("sent, is_accepted", [("abc-123", True), ("x" * 65, False), ("a b", False)])
def test_correlation_id_of_the_request_is_returned(arm, subscription, sent, is_accepted):
    arm.client.credentials(
        HTTP_AUTHORIZATION=arm.client._credentials["HTTP_AUTHORIZATION"], HTTP_X_MS_CORRELATION_REQUEST_ID=sent
    )

    assert (arm.get(arm.collections)["x-ms-correlation-request-id"] == sent) is is_accepted


@pytest.mark.parametrize("accept", ["application/json, text/json", "text/json", "application/xml", "*/*", ""])
def test_response_is_json_with_any_accept_header(arm, make_job, accept):
    make_job()
    arm.client.credentials(HTTP_AUTHORIZATION=arm.client._credentials["HTTP_AUTHORIZATION"], HTTP_ACCEPT=accept)

    response = arm.get(arm.job())

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json; charset=utf-8"


# Bodies

WRONG_BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"3",
    b'"text"',
    b"\xff",
    b"<Job/>",
    b'{"properties": 1e999}',
    b'{"properties": NaN}',
    b'{"properties": ' + b"9" * 5000 + b"}",
    b'{"properties": {"action": "\\u0000"}}',
    b'{"properties": {"action": "\\ud800"}}',
    b'{"properties": {}, "properties": {}}',
    b"[" * 5000 + b"]" * 5000,
    b'{"properties": ' * 2000 + b"1" + b"}" * 2000,
]


@pytest.mark.parametrize("body", WRONG_BODIES)
def test_wrong_body_for_a_job_is_refused(arm, collection, body):
    response = arm.put(arm.job(), body)

    assert (response.status_code, code_of(response)) == (400, "BadRequest")
    assert not Job.objects.exists()


@pytest.mark.parametrize("body", [body for body in WRONG_BODIES if body])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_wrong_body_for_a_collection_is_refused(arm, collection, method, body):
    before = everything()

    response = arm.call(method, arm.collection(), body)

    assert (response.status_code, code_of(response)) == (400, "BadRequest")
    assert everything() == before


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_body_of_a_job_has_at_most_16_kib(arm, make_job, method):
    make_job()
    fits = json.dumps({**BODY, "padding": ""}).encode()
    fits = fits.replace(b'"padding": ""', b'"padding": "' + b"a" * (16_384 - len(fits)) + b'"')

    assert arm.call(method, arm.job(), fits).status_code == 200
    response = arm.call(method, arm.job(), fits + b" ")

    assert (response.status_code, code_of(response)) == (400, "BadRequest")


def test_body_of_a_collection_beyond_the_general_limit_is_refused(arm, subscription):
    response = arm.put(arm.collection(), b'{"padding": "' + b"a" * 1_048_576 + b'"}')

    assert (response.status_code, code_of(response)) == (413, "RequestTooLarge")


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "text/json", "TEXT/JSON", "application/json"]
)
def test_both_media_types_are_read(arm, make_job, media_type):
    make_job()

    response = arm.client.generic(
        "PATCH", arm.job(), b"{}", content_type=media_type, query_params={"api-version": "2016-03-01"}
    )

    assert response.status_code == 200


@pytest.mark.parametrize("media_type", ["application/xml", "text/plain", "application/x-www-form-urlencoded", "json"])
def test_another_media_type_is_refused(arm, make_job, media_type):
    make_job()

    response = arm.client.generic(
        "PATCH", arm.job(), b"a=1", content_type=media_type, query_params={"api-version": "2016-03-01"}
    )

    assert (response.status_code, code_of(response)) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("body", [b"", b"{", b"{}"])
def test_operations_without_a_body_ignore_one(arm, make_job, body):
    make_job()

    assert arm.call("POST", arm.job() + "/run", body).status_code == 200


# Errors


def test_error_has_a_code_a_message_and_a_target(arm, collection):
    error = arm.put(arm.job(), {"properties": {"action": {"type": "Http"}}}).json()["error"]

    assert error == {
        "code": "BadRequest",
        "message": "properties.action.request: is required",
        "target": "properties.action.request",
    }


def test_error_contains_only_a_part_of_a_long_value(arm, collection):
    response = arm.put(arm.job(), {"properties": {"action": {"type": "a" * 5000}}})

    assert len(response.content) < 500
