"""What is accepted, but said: expiring certificates and credentials without TLS."""

from datetime import timedelta

import pytest

from jobs.cautions import cautions_of
from jobs.encryption import MASK
from tests.conftest import NOW

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
BASIC = {"type": "Basic", "username": "ada"}
CERTIFICATE = {"type": "ClientCertificate", "certificateThumbprint": "00FF", "certificateSubjectName": "CN=quando"}


def http(uri="https://example.com/", **members) -> dict:
    return {"type": "Http", "request": {"uri": uri, "method": "GET", **members}}


def with_certificate(expires_at, uri="https://example.com/") -> dict:
    expiry = expires_at.isoformat().replace("+00:00", "Z")
    return http(uri, authentication={**CERTIFICATE, "certificateExpirationDate": expiry})


def codes(document) -> list[tuple[str, str]]:
    return [(caution.code, caution.target) for caution in cautions_of(document, NOW)]


@pytest.mark.parametrize(
    "left, code",
    [
        (-365 * DAY, "certificate_expired"),
        (timedelta(0), "certificate_expired"),  # the end is the first moment at which it is not valid
        (SECOND, "certificate_expires_soon"),
        (30 * DAY, "certificate_expires_soon"),
        (30 * DAY + SECOND, None),
    ],
)
def test_a_certificate_is_flagged_from_30_days_before_its_end(left, code):
    target = "action.request.authentication.certificateExpirationDate"

    assert codes(with_certificate(NOW + left)) == ([(code, target)] if code else [])


def test_the_message_names_the_certificate_and_the_day():
    (caution,) = cautions_of(with_certificate(NOW + 2 * DAY), NOW)

    assert "CN=quando" in caution.message
    assert "2026-01-03" in caution.message


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
def test_credentials_over_http_are_flagged_each(action, targets):
    assert codes(action) == [("credentials_over_http", target) for target in targets]


def test_a_certificate_that_http_cannot_present_is_flagged():
    assert codes(with_certificate(NOW + 99 * DAY, "http://example.com/")) == [
        ("credentials_over_http", "action.request.authentication")
    ]


def test_an_error_action_is_looked_at_as_well():
    action = {**http(authentication=BASIC), "errorAction": with_certificate(NOW - DAY)}

    assert codes(action) == [
        ("certificate_expired", "action.errorAction.request.authentication.certificateExpirationDate")
    ]


def test_queues_give_no_cause():
    queue = {"storageAccount": "acct", "queueName": "mail", "message": "hi"}

    assert cautions_of({"type": "StorageQueue", "queueMessage": queue}, NOW) == []
