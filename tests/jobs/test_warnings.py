"""Warnings: expiring certificates, credentials without TLS, bodies that do not match their content type."""

from datetime import timedelta

import pytest

from jobs.encryption import MASK
from jobs.warnings import warnings_of
from tests.conftest import NOW

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
BASIC = {"type": "Basic", "username": "ada"}
CERTIFICATE = {"type": "ClientCertificate", "certificateThumbprint": "00FF", "certificateSubjectName": "CN=quando"}


def http(uri="https://example.com/", **members) -> dict:
    return {"type": "Http", "request": {"uri": uri, **{"method": "GET", **members}}}


def with_certificate(expires_at, uri="https://example.com/") -> dict:
    expiry = expires_at.isoformat().replace("+00:00", "Z")
    return http(uri, authentication={**CERTIFICATE, "certificateExpirationDate": expiry})


def codes(document) -> list[tuple[str, str]]:
    return [(warning.code, warning.target) for warning in warnings_of(document, NOW)]


@pytest.mark.parametrize(
    "left, code",
    [
        (-365 * DAY, "certificate_expired"),
        (timedelta(0), "certificate_expired"),  # the end is the first instant at which it is not valid
        (SECOND, "certificate_expires_soon"),
        (30 * DAY, "certificate_expires_soon"),
        (30 * DAY + SECOND, None),
    ],
)
def test_certificate_has_a_warning_from_30_days_before_its_end(left, code):
    target = "action.request.authentication.certificateExpirationDate"

    assert codes(with_certificate(NOW + left)) == ([(code, target)] if code else [])


def test_warning_names_the_certificate_and_the_day_of_its_end():
    (warning,) = warnings_of(with_certificate(NOW + 2 * DAY), NOW)

    assert "CN=quando" in warning.message
    assert "2026-01-03" in warning.message


@pytest.mark.parametrize(
    "action, targets",
    [
        (http("http://example.com/", authentication=BASIC), ["action.request.authentication"]),
        (http("HTTP://example.com/", authentication=BASIC), ["action.request.authentication"]),
        (
            http("http://example.com/", headers={"X-Api-Key": MASK, "Accept": "*/*"}),
            ["action.request.headers.X-Api-Key"],
        ),
        (http("https://example.com/", authentication=BASIC, headers={"Cookie": MASK}), []),
        (http("http://example.com/"), []),
    ],
)
def test_each_credential_over_http_has_a_warning(action, targets):
    assert codes(action) == [("credentials_over_http", target) for target in targets]


def test_certificate_with_an_http_uri_has_a_warning():
    assert codes(with_certificate(NOW + 99 * DAY, "http://example.com/")) == [
        ("credentials_over_http", "action.request.authentication")
    ]


def test_error_action_is_checked_for_warnings_too():
    action = {**http(authentication=BASIC), "errorAction": with_certificate(NOW - DAY)}

    assert codes(action) == [
        ("certificate_expired", "action.errorAction.request.authentication.certificateExpirationDate")
    ]


def test_queue_messages_have_no_warnings_about_credentials():
    queue = {"storageAccount": "acct", "queueName": "mail", "message": "hi"}

    assert warnings_of({"type": "StorageQueue", "queueMessage": queue}, NOW) == []


# Bodies and placeholders


JSON = {"Content-Type": "application/json"}


def sent(body: str, headers: dict = JSON, **members) -> dict:
    return {**http(method="POST", headers=headers, body=body), **members}


def queued(message: str, **members) -> dict:
    return {"type": "StorageQueue", "queueMessage": {"queueName": "mail", "message": message}, **members}


def on_bus(message: str, content_type: str, **members) -> dict:
    properties = {"contentType": content_type}
    bus = {"namespace": "orders", "message": message, "brokeredMessageProperties": properties}
    return {"type": "ServiceBusQueue", "serviceBusQueueMessage": bus, **members}


@pytest.mark.parametrize(
    "body, headers",
    [
        ("hello", JSON),
        ("{'kind': 'weekly'}", JSON),
        ('{"kind": "weekly",}', JSON),
        ("kind=weekly", {"content-type": "Application/JSON; charset=utf-8"}),
        ("<a/>", {"CONTENT-TYPE": "application/problem+json"}),
        ("NaN", {"Content-Type": "text/json"}),
        ('"half', JSON),
        (" ", JSON),
    ],
)
def test_body_that_is_not_json_with_a_json_content_type_has_a_warning(body, headers):
    assert codes(sent(body, headers)) == [("body_not_json", "action.request.body")]


@pytest.mark.parametrize(
    "body, headers",
    [
        ('{"kind": "weekly"}', JSON),
        (" [1, 2.5, null] ", JSON),
        ('"hello"', JSON),
        ("12345678901234567890123", JSON),
        ("", JSON),
        ("hello", {"Content-Type": "text/plain"}),
        ("hello", {"Content-Type": "application/jsonlines"}),
        ("hello", {}),
        ("hello", {"Content-Type": MASK}),  # marked as secret: its value is unknown
    ],
)
def test_other_bodies_have_no_warning(body, headers):
    assert codes(sent(body, headers)) == []


@pytest.mark.parametrize(
    "body, has_warning",
    [
        ('{"run": "{{ run_id }}", "attempt": {{ attempt }}, "at": "{{fire_time}}"}', False),
        ('{"job": "{{ job.name }} of {{ collection.name }}"}', False),
        ("{{ attempt }}", False),
        ('{"brace": "{{ "{{" }}"}', False),
        ('{"at": {{ fire_time }}}', True),  # no quotation marks around it
        ('{"run": {{ run_id }}}', True),
        ('{"job": {{ job.name }}}', True),
        ('{"attempt": {{ attempt }}', True),  # the last brace is missing
    ],
)
def test_template_is_checked_with_its_placeholders_filled_in(body, has_warning):
    flagged = [("body_not_json", "action.request.body")] if has_warning else []

    assert codes(sent(body, template=True)) == flagged


def test_warning_names_the_place_of_the_json_error():
    (warning,) = warnings_of(sent('{"a": 1,\n "b": }'), NOW)

    assert warning.message.startswith("The Content-Type is application/json, but the body is not JSON: ")
    assert warning.message.endswith("in line 2, column 7.")
    (warning,) = warnings_of(sent('{"at": {{ fire_time }}}', template=True), NOW)
    assert "not JSON once its placeholders are filled in: " in warning.message


def test_service_bus_message_is_checked_by_its_own_content_type():
    target = "action.serviceBusQueueMessage.message"

    assert codes(on_bus("hello", "application/json")) == [("body_not_json", target)]
    assert codes(on_bus("[{{ attempt }}]", "application/json", template=True)) == []
    assert codes(on_bus("hello", "text/plain")) == []


@pytest.mark.parametrize(
    "action, targets",
    [
        (http("https://example.com/{{fire_time}}"), ["action.request.uri"]),
        (http(headers={"X-Run": "{{ run_id }}", "X-Plain": "{ }"}), ["action.request.headers.X-Run"]),
        (sent("at {{ fire_time }}, {{ attempt }}", {}), ["action.request.body"]),
        (sent("{{ somebody.else's }}", {}), ["action.request.body"]),
        (queued("at {{ fire_time }}"), ["action.queueMessage.message"]),
        (on_bus("at {{ fire_time }}", "text/plain"), ["action.serviceBusQueueMessage.message"]),
        ({**http(), "errorAction": sent("{{ run_id }}", {})}, ["action.errorAction.request.body"]),
        ({**http(), "template": True, "errorAction": sent("{{ run_id }}", {})}, ["action.errorAction.request.body"]),
        (sent("at {{ fire_time }}", {}, template=True), []),
        (sent("{{ and } }", {}), []),
        (sent('{"a": {"b": {}}}', JSON), []),
    ],
)
def test_placeholders_without_template_have_one_warning_for_each_member(action, targets):
    assert codes(action) == [("placeholders_off", target) for target in targets]


def test_warning_names_the_placeholder_that_is_not_filled_in():
    (warning,) = warnings_of(sent("at {{ fire_time }}", {}), NOW)

    assert warning.message == (
        'The body holds {{ fire_time }}, and filling in placeholders ("template") is off: it is sent as it stands.'
    )


def test_body_can_have_both_warnings():
    assert [code for code, _ in codes(sent('{"attempt": {{ attempt }}}'))] == ["body_not_json", "placeholders_off"]


def test_api_returns_the_warnings_of_a_job(api, collection):
    job = {"collection": collection.pk, "name": "new", "action": sent("at {{ fire_time }}")}

    response = api.post("/api/jobs", job)

    assert response.status_code == 201, response.content
    assert [warning["code"] for warning in response.json()["warnings"]] == ["body_not_json", "placeholders_off"]
    assert [warning["target"] for warning in response.json()["warnings"]] == ["action.request.body"] * 2
