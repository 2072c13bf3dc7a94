"""Prepared requests: which headers have precedence, what is signed, and what is private to the target."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.actions import documents, http, prepare
from tests.jobs.attempts import CONTEXT, attempt
from tests.peers.webhooks import Receiver, verifies

OLD, NEW, OTHER = ("whsec_" + base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2, 3))


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


def document(uri="https://example.com/", method="POST", template=False, **request) -> dict:
    return {"type": "Http", "template": template, "request": {"uri": uri, "method": method, **request}}


def prepared(action: dict, **context) -> http.Call:
    parsed = documents.parse(action)
    return prepare(parsed.document, parsed.secrets, replace(CONTEXT, **context))


# Headers


@pytest.mark.parametrize(
    "name",
    ["idempotency-key", "IDEMPOTENCY-KEY", "x-scheduler-attempt", "X-Scheduler-Fire-Time", "Webhook-Signature"],
)
def test_job_cannot_set_the_headers_of_the_scheduler(name):
    call = prepared(document(headers={name: "forged"}), signing_secrets=(NEW,))

    assert "forged" not in call.headers.values()
    assert len({given.lower() for given in call.headers}) == len(call.headers)


def test_authentication_replaces_the_authorization_header_of_the_job():
    proof = {"type": "Basic", "username": "ada", "password": "password"}

    call = prepared(document(headers={"authorization": "Bearer token"}, authentication=proof))

    assert [text for name, text in call.headers.items() if name.lower() == "authorization"] == [
        "Basic " + base64.b64encode(b"ada:password").decode()
    ]


@pytest.mark.parametrize(
    "headers, private",
    [
        ({}, set()),
        ({"Accept": "*/*", "X-Team": "ops"}, set()),
        ({"Cookie": "a=b"}, {"cookie"}),
        ({"X-API-Key": "k", "x-apikey": "k"}, {"x-api-key", "x-apikey"}),
        ({"X-Auth-Token": "t", "Client-Secret": "s"}, {"x-auth-token", "client-secret"}),
    ],
)
def test_credentials_are_private_to_the_target(headers, private):
    call = prepared(document(headers=headers))

    assert call.private == private | {"authorization"}
    shown = dict(call.as_redacted_dict()["headers"])
    assert all(shown[name] == ("********" if name.lower() in private else headers[name]) for name in headers)


def test_redacted_request_contains_no_credential():
    proof = {"type": "Basic", "username": "ada", "password": "pass word/1"}
    action = document("https://example.com/?key=pass%20word%2F1", body="pass word/1", authentication=proof)

    shown = prepared(action, signing_secrets=(NEW,)).as_redacted_dict()

    for secret in ("pass word", "pass%20word", base64.b64encode(b"ada:pass word/1").decode(), "v1,"):
        assert secret not in f"{shown}"
    assert (shown["method"], shown["body"]) == ("POST", "********")


def test_repr_of_a_call_shows_only_its_host():
    call = prepared(document("https://example.com/?key=secret", headers={"Authorization": "Bearer secret"}))

    assert f"{call!r} {call}" == "<Call of host 'example.com'> <Call of host 'example.com'>"


# Signatures


@pytest.fixture
def receiver(peer):
    return peer(Receiver, [NEW])


@pytest.mark.parametrize(
    "method, body",
    [
        ("POST", "hello"),
        ("POST", ""),
        ("POST", None),
        ("GET", None),
        ("DELETE", None),
        ("PUT", '{"a": 1}'),
        ("POST", "Grüße, \U0001f600, \u2028"),
        ("POST", "a.b.c\r\n\t "),
        ("POST", "x" * 8192),
    ],
)
def test_signature_is_verified_by_the_standardwebhooks_package(receiver, method, body):
    outcome = attempt(document(receiver.url, method, body=body), signing_secrets=(NEW,))

    assert (outcome.succeeded, outcome.status_code) == (True, 204)


def test_signature_that_a_target_repeats_is_not_stored():
    call = prepared(document(body="hello"), signing_secrets=(NEW, OLD))

    repeated = call.headers["webhook-signature"].split()
    assert len(repeated) == 2
    assert call.hide(f"the signatures {repeated[0][3:]} and {repeated[1]}") == "the signatures ******** and v1,********"


def test_signature_is_that_of_the_body_with_placeholders_filled_in(receiver):
    headers = {"Content-Type": "application/json"}
    action = document(receiver.url, template=True, body='{"job": "{{ job.name }}"}', headers=headers)

    assert attempt(action, signing_secrets=(NEW,)).succeeded
    assert receiver.calls[0].body == '{"job": "backup"}'


def test_both_secrets_verify_a_call_during_the_overlap(receiver):
    receiver.secrets = [OLD, NEW, OTHER]

    assert attempt(document(receiver.url, body="hello"), signing_secrets=(NEW, OLD)).succeeded
    (call,) = receiver.calls
    assert receiver.verified_with(call) == [OLD, NEW]
    assert len(call.headers["webhook-signature"].split()) == 2


def test_other_secrets_do_not_verify_a_call(receiver):
    outcome = attempt(document(receiver.url, body="hello"), signing_secrets=(OTHER,))

    assert (outcome.succeeded, outcome.status_code) == (False, 401)


def test_without_a_secret_nothing_is_signed(receiver):
    attempt(document(receiver.url, body="hello"))

    assert not [name for name in receiver.calls[0].headers if name.lower().startswith("webhook")]


def test_attempts_of_a_run_have_the_same_id_and_different_times(receiver):
    now = datetime.now(UTC)
    for number in (1, 2):
        at = now + timedelta(seconds=30 * number)
        attempt(document(receiver.url), attempt=number, now=at, signing_secrets=(NEW,))

    first, second = (call.headers for call in receiver.calls)
    assert first["webhook-id"] == second["webhook-id"] == first["Idempotency-Key"]
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 30
    assert all(verifies(NEW, call) for call in receiver.calls)


def test_old_signed_call_is_refused(receiver):
    outcome = attempt(document(receiver.url), now=datetime.now(UTC) - timedelta(minutes=6), signing_secrets=(NEW,))

    assert outcome.status_code == 401


def test_a_queue_message_is_not_signed():
    action = {
        "type": "StorageQueue",
        "queueMessage": {"storageAccount": "acct", "queueName": "inbox", "sasToken": "?sig=1", "message": "hello"},
    }

    assert not [name for name in prepared(action, signing_secrets=(NEW,)).headers if name.startswith("webhook")]
