"""Responses about operations: how an operation starts, continues and ends, and which hosts get credentials."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from jobs.actions import documents, http, poll
from jobs.actions.result import AttemptResult, Operation, PollFailure, PollSource
from jobs.encryption import MASK
from tests.jobs.attempts import CONTEXT, TLS_CLOSE_S, attempt
from tests.peers.oauth import TokenAuthority
from tests.peers.raw import Raw, answering
from tests.peers.server import Answer
from tests.peers.target import Target

BASIC = {"type": "Basic", "username": "ada", "password": "violet-harbour-31"}


@pytest.fixture(autouse=True)
def may_call_loopback(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


@pytest.fixture
def elsewhere():
    with Target() as target:
        yield target


def document(target: Target, method: str = "POST", path: str = "/start", **request) -> dict:
    return {"type": "Http", "request": {"uri": target.url + path, "method": method, **request}, "follow": True}


def start(
    target: Target, status: int, headers: dict | None = None, body: object = "", method: str = "POST"
) -> AttemptResult:
    target.answers["/start"] = [Answer(status, headers or {}, body if isinstance(body, str) else json.dumps(body))]
    return attempt(document(target, method))


def state(word: str | None) -> dict:
    return {"properties": {} if word is None else {"provisioningState": word}}


def poll_once(
    target: Target, source: PollSource, answer: Answer, operation: Operation | None = None, **request
) -> AttemptResult:
    """Return the result of a poll of `/poll`, which returns `answer`."""
    target.answers["/poll"] = [answer]
    operation = operation or Operation(source, f"{target.url}/poll")
    parsed = documents.parse(document(target, **request))

    async def go() -> AttemptResult:
        async with http.open_session() as session:
            outcome = await poll(parsed.document, parsed.secrets, CONTEXT, operation, session)
        await asyncio.sleep(TLS_CLOSE_S)
        return outcome

    return asyncio.run(go())


def status(word: object, code: int = 200, headers: dict | None = None, **members) -> Answer:
    return Answer(code, headers or {}, json.dumps({"status": word, **members}))


# How operations start


def test_202_without_follow_is_success_at_once(target):
    target.answers["/start"] = [Answer(202, {"Location": f"{target.url}/poll"}, "")]

    outcome = attempt({"type": "Http", "request": {"uri": f"{target.url}/start", "method": "POST"}})

    assert outcome.succeeded
    assert not outcome.is_pending


@pytest.mark.parametrize(
    "method, code, headers, body, source, path",
    [
        ("POST", 202, {"Azure-AsyncOperation": "/status", "Location": "/result"}, "", PollSource.STATUS, "/status"),
        ("DELETE", 202, {"Location": "/result"}, "", PollSource.LOCATION, "/result"),
        ("PUT", 201, {"Azure-AsyncOperation": "/status"}, state("Creating"), PollSource.STATUS, "/status"),
        ("PUT", 201, {}, state("Creating"), PollSource.RESOURCE, "/start"),
        ("PATCH", 200, {}, state("Updating"), PollSource.RESOURCE, "/start"),
        ("PATCH", 202, {"Location": "/result"}, "", PollSource.LOCATION, "/result"),
        ("PUT", 202, {}, "", PollSource.RESOURCE, "/start"),
        # this header has precedence over everything else
        ("PUT", 201, {"Azure-AsyncOperation": "/status"}, state("Succeeded"), PollSource.STATUS, "/status"),
        ("PUT", 201, {"Location": "/result"}, state("Creating"), PollSource.LOCATION, "/result"),
        # the body of a 202 is not a status
        ("POST", 202, {"Location": "/result"}, {"status": "Succeeded"}, PollSource.LOCATION, "/result"),
        ("PUT", 202, {}, state("Succeeded"), PollSource.RESOURCE, "/start"),
    ],
)
def test_polled_address_depends_on_method_status_and_headers(target, method, code, headers, body, source, path):
    headers = {name: target.url + value for name, value in headers.items()}

    outcome = start(target, code, {**headers, "Retry-After": "7"}, body, method)

    assert outcome.operation == Operation(source, target.url + path)
    assert (outcome.retry_after, outcome.status_code) == (timedelta(seconds=7), code)
    assert outcome.message == f"Host '127.0.0.1' answered '{outcome_word(code)}' and has begun an operation."


def outcome_word(code: int) -> str:
    return {200: "OK", 201: "Created", 202: "Accepted"}[code]


@pytest.mark.parametrize(
    "method, code, headers, body",
    [
        ("POST", 200, {}, ""),
        ("POST", 204, {}, ""),
        ("PUT", 201, {}, state("Succeeded")),
        ("PUT", 201, {}, state(None)),  # 201 alone does not start an operation
        ("PUT", 200, {}, {"properties": None}),
        ("PUT", 200, {}, {"properties": {"provisioningState": None}}),
        ("PUT", 200, {}, "not JSON"),
        # the Location of a created resource is not an operation
        ("POST", 201, {"Location": "/made"}, state("Creating")),
        ("PUT", 201, {"Location": "/made"}, state("Succeeded")),
        ("GET", 200, {}, state("Creating")),
    ],
)
def test_other_successful_responses_end_the_run_at_once(target, method, code, headers, body):
    outcome = start(target, code, {name: target.url + value for name, value in headers.items()}, body, method)

    assert outcome.succeeded
    assert not outcome.is_pending


def test_other_responses_are_checked_by_the_success_condition(target):
    outcome = attempt(document(target, path="/status/503"))

    assert (outcome.succeeded, outcome.is_pending, outcome.status_code) == (False, False, 503)


@pytest.mark.parametrize("word, may_retry", [("Failed", True), ("canceled", False)])
def test_resource_in_a_failed_state_fails_the_attempt(target, word, may_retry):
    body = {**state(word), "error": {"code": "NoRoom", "message": "The shelf is full."}}

    outcome = start(target, 200, {}, body, "PUT")

    assert (outcome.succeeded, outcome.is_pending, outcome.may_retry) == (False, False, may_retry)
    assert "NoRoom: The shelf is full." in outcome.message


@pytest.mark.parametrize(
    "headers, why",
    [
        ({}, "it says nowhere how that goes on"),
        ({"Location": "/result"}, "is not absolute"),
        ({"Location": "result"}, "is not absolute"),
        ({"Azure-AsyncOperation": "/status", "Location": "https://x.example/result"}, "is not absolute"),
        ({"Location": "//x.example/result"}, "is not absolute"),
        ({"Location": "file:///etc/passwd"}, "is not absolute"),
        ({"Location": "http://ada:word@x.example/"}, "must not contain credentials before the host"),
        ({"Location": "http://x.example:0/"}, "must have a port of 1 to 65535"),
        ({"Location": "http://0x7f.1/"}, "must have an IPv4 address as four decimal numbers"),
        ({"Location": "http://x.example/a b"}, "must be written in printable ASCII"),
    ],
)
def test_operation_that_cannot_be_polled_fails_without_a_retry(target, headers, why):
    outcome = start(target, 202, headers)

    assert (outcome.succeeded, outcome.is_pending, outcome.may_retry) == (False, False, False)
    assert why in outcome.message


def test_operation_can_have_a_long_address(target):
    address = f"{target.url}/status?t={'x' * 4096}"

    assert start(target, 202, {"Azure-AsyncOperation": address}).operation == Operation(PollSource.STATUS, address)


def test_operation_started_over_https_is_not_polled_over_http(authority):
    with Target(tls=authority.server()) as target:
        target.answers["/start"] = [Answer(202, {"Location": f"http://127.0.0.1:{target.port}/poll"}, "")]
        outcome = attempt(document(target, certificateAuthority=authority.pem))

    assert "goes from https to http" in outcome.message


# How operations continue and end


@pytest.mark.parametrize("word", ["InProgress", "Running", "Cancelled", "Completed", "Success", "Error", "x" * 500])
def test_every_status_but_three_means_that_the_operation_is_running(target, word):
    outcome = poll_once(target, PollSource.STATUS, status(word, percentComplete=40, headers={"Retry-After": "3"}))

    assert outcome.operation == Operation(PollSource.STATUS, f"{target.url}/poll")
    assert (outcome.status, outcome.percent) == (word if len(word) < 60 else "x" * 60 + "…", 40)
    assert outcome.retry_after == timedelta(seconds=3)


@pytest.mark.parametrize("word", ["Succeeded", "succeeded", "SUCCEEDED"])
def test_operation_with_status_succeeded_succeeds(target, word):
    outcome = poll_once(target, PollSource.STATUS, status(word, resourceLocation=f"{target.url}/gone"))

    assert (outcome.succeeded, outcome.is_pending, outcome.status) == (True, False, word)
    assert outcome.message == "The operation succeeded."
    assert target.calls_to("/gone") == []


@pytest.mark.parametrize(
    "word, error, may_retry, message",
    [
        ("Failed", {"code": "E1", "message": "No room."}, True, "The operation failed with E1: No room."),
        ("failed", {"code": "E1"}, True, "The operation failed with E1."),
        ("Failed", {"message": "No\nroom\0"}, True, "The operation failed: No room."),
        ("Failed", None, True, "The operation failed."),
        ("Failed", "no room", True, "The operation failed."),
        ("Failed", {"code": 5, "message": ["x"]}, True, "The operation failed."),
        # a user canceled it
        ("Canceled", {"code": "Off", "message": "By Ada"}, False, "The operation was cancelled with Off: By Ada."),
    ],
)
def test_operation_with_status_failed_or_canceled_fails(target, word, error, may_retry, message):
    outcome = poll_once(target, PollSource.STATUS, status(word, error=error))

    assert (outcome.succeeded, outcome.is_pending, outcome.may_retry) == (False, False, may_retry)
    assert (outcome.message, outcome.status) == (message, word)


@pytest.mark.parametrize(
    "answer, failure",
    [
        (Answer(200, {}, ""), PollFailure.PERMANENT),
        (Answer(202, {}, "<html>working</html>"), PollFailure.PERMANENT),
        (Answer(200, {}, "{}"), PollFailure.PERMANENT),
        (Answer(200, {}, "[]"), PollFailure.PERMANENT),
        (status(""), PollFailure.PERMANENT),
        (status(None), PollFailure.PERMANENT),
        (status(5), PollFailure.PERMANENT),
        (Answer(200, {}, '{"status": "Succeeded", "x": "' + "x" * 300_000 + '"}'), PollFailure.PERMANENT),
        (Answer(204), PollFailure.PERMANENT),
        (status("Failed", code=404), PollFailure.PERMANENT),
        (status("Failed", code=401), PollFailure.PERMANENT),
        (Answer(302, {"Location": "http://127.0.0.1/"}), PollFailure.PERMANENT),
        (status("Failed", code=500), PollFailure.TEMPORARY),
        (Answer(429, {"Retry-After": "9"}), PollFailure.TEMPORARY),
        (Answer(503), PollFailure.TEMPORARY),
    ],
)
def test_response_without_a_status_is_a_poll_failure(target, answer, failure):
    outcome = poll_once(target, PollSource.STATUS, answer)

    assert (outcome.succeeded, outcome.poll_failure, outcome.operation) == (False, failure, None)
    assert outcome.message


@pytest.mark.parametrize(
    "answer, ends",
    [
        (Answer(200, {}, ""), True),
        (Answer(204), True),
        (Answer(200, {}, "anything"), True),
        (Answer(200, {}, json.dumps(state("Succeeded"))), True),
        # as when the address is that of the resource itself
        (Answer(200, {}, json.dumps(state("Creating"))), None),
        (Answer(200, {}, json.dumps(state("Failed"))), False),
        (Answer(202, {}, json.dumps({"status": "Succeeded"})), None),
        (Answer(404, {}, json.dumps({"error": {"code": "NotFound", "message": "It is gone."}})), False),
        (Answer(409, {}, json.dumps({"code": "Conflict", "message": "It is locked."})), False),
        (Answer(400, {}, "<html>"), False),
    ],
)
def test_response_of_the_location_ends_the_operation(target, answer, ends):
    outcome = poll_once(target, PollSource.LOCATION, answer)

    assert (outcome.is_pending, outcome.succeeded) == (ends is None, ends is not False)
    assert outcome.poll_failure is None
    if ends is False:
        assert outcome.may_retry
        assert outcome.message.startswith("The operation failed")


@pytest.mark.parametrize(
    "code, failure",
    [
        (500, "temporary"),
        (503, "temporary"),
        (408, "temporary"),
        (429, "temporary"),
        (401, "permanent"),
        (403, "permanent"),
    ],
)
def test_location_that_cannot_be_read_is_a_poll_failure(target, code, failure):
    assert poll_once(target, PollSource.LOCATION, Answer(code)).poll_failure == failure


def test_changed_location_is_polled_next(target, elsewhere):
    outcome = poll_once(target, PollSource.LOCATION, Answer(202, {"Location": f"{elsewhere.url}/next"}, ""))

    assert outcome.operation == Operation(PollSource.LOCATION, f"{elsewhere.url}/next")


def test_changed_location_that_cannot_be_polled_is_a_permanent_failure(target):
    outcome = poll_once(target, PollSource.LOCATION, Answer(202, {"Location": "/next"}, ""))

    assert (outcome.poll_failure, outcome.operation) == (PollFailure.PERMANENT, None)
    assert "is not absolute" in outcome.message


def test_changed_address_of_the_status_is_ignored(target, elsewhere):
    outcome = poll_once(
        target, PollSource.STATUS, status("Running", headers={"Azure-AsyncOperation": f"{elsewhere.url}/x"})
    )

    assert outcome.operation == Operation(PollSource.STATUS, f"{target.url}/poll")


@pytest.mark.parametrize(
    "answer, ends",
    [
        (Answer(200, {}, json.dumps(state("Succeeded"))), True),
        (Answer(200, {}, json.dumps(state(None))), True),
        (Answer(200, {}, json.dumps({"properties": None})), True),
        (Answer(200, {}, json.dumps(state("Updating"))), None),
        (Answer(202, {}, ""), None),
        (Answer(200, {}, json.dumps({**state("Failed"), "error": {"code": "E"}})), False),
    ],
)
def test_provisioning_state_of_the_resource_is_the_status(target, answer, ends):
    outcome = poll_once(target, PollSource.RESOURCE, answer, method="PUT")

    assert (outcome.is_pending, outcome.succeeded) == (ends is None, ends is not False)
    assert outcome.poll_failure is None


@pytest.mark.parametrize("answer", [Answer(404), Answer(200, {}, ""), Answer(200, {}, "<html>"), Answer(500)])
def test_resource_that_cannot_be_read_is_a_poll_failure(target, answer):
    assert poll_once(target, PollSource.RESOURCE, answer, method="PUT").poll_failure


@pytest.mark.parametrize(
    "text, wait",
    [
        ("5", timedelta(seconds=5)),
        ("0", timedelta(0)),
        ("999999999", timedelta(seconds=999_999_999)),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
    ],
)
def test_retry_after_of_a_poll_is_read_as_seconds(target, text, wait):
    assert poll_once(target, PollSource.STATUS, status("Running", headers={"Retry-After": text})).retry_after == wait


def test_retry_after_of_a_poll_can_be_a_date(target):
    answer = status("Running", headers={"Retry-After": f"{datetime(2100, 1, 1, tzinfo=UTC):%a, %d %b %Y %H:%M:%S} GMT"})

    assert poll_once(target, PollSource.STATUS, answer).retry_after > timedelta(days=365)


@pytest.mark.parametrize(
    "value, percent", [(40, 40), (12.5, 12.5), (-3, 0), (1e300, 100), (True, None), ("40", None), ([], None)]
)
def test_percent_complete_is_read_from_the_status(target, value, percent):
    assert poll_once(target, PollSource.STATUS, status("Running", percentComplete=value)).percent == percent


def test_poll_without_a_response_does_not_end_the_operation(target):
    silent = Operation(PollSource.STATUS, "http://127.0.0.1:9/poll")

    outcome = poll_once(target, PollSource.STATUS, Answer(), silent)

    assert (outcome.status_code, outcome.is_pending, outcome.succeeded) == (None, False, False)


def test_closed_address_is_not_polled(target, settings):
    settings.EGRESS_ALLOW = []

    outcome = poll_once(target, PollSource.STATUS, status("Succeeded"), uri="http://localhost/start")

    assert "an address that calls may not reach" in outcome.message
    assert target.calls == []


def test_endless_response_of_a_poll_is_cut_off(target):
    raw = Raw(
        answering("200 OK", "Content-Type: application/json\r\n", b'{"status": "Succeeded", "x": "' + b"x" * 2**21)
    )
    try:
        outcome = poll_once(target, PollSource.STATUS, Answer(), Operation(PollSource.STATUS, f"{raw.url}/poll"))
    finally:
        raw.close()

    assert outcome.poll_failure
    assert len(outcome.body) <= 2048


# What a poll sends


def test_a_poll_is_a_get_with_the_credentials_of_the_action(target):
    headers = {"X-Api-Key": "silver-forest-42", "X-Tenant": "a", "If-Match": "*", "Content-Type": "text/plain"}

    poll_once(
        target, PollSource.STATUS, status("Running"), authentication=BASIC, headers=headers, body="b", method="PUT"
    )

    (call,) = target.calls
    assert (call.method, call.body) == ("GET", "")
    assert call.headers["Authorization"].startswith("Basic ")
    assert (call.headers["X-Api-Key"], call.headers["X-Tenant"]) == ("silver-forest-42", "a")
    # these headers are about the first request: a target could return its stored response to that request
    assert not {"If-Match", "Content-Type", "Idempotency-Key"} & set(call.headers)


def test_poll_of_another_origin_sends_no_credentials(target, elsewhere):
    headers = {
        "X-Api-Key": "silver-forest-42",
        "X-Vault": "copper-meadow-58",  # the name does not show that it is a credential
        "x-ms-client-request-id": "1234",
        "Accept": "application/json",
    }
    operation = Operation(PollSource.STATUS, f"{elsewhere.url}/poll")
    elsewhere.answers["/poll"] = [status("Running")]

    outcome = poll_once(target, PollSource.STATUS, Answer(), operation, authentication=BASIC, headers=headers)

    (call,) = elsewhere.calls
    assert outcome.status == "Running"
    harmless = {"Host", "Connection", "x-ms-client-request-id", "Accept", "User-Agent", "Accept-Encoding"}
    assert set(call.headers) == harmless
    assert target.calls == []


def test_redirected_poll_sends_no_credentials_to_another_origin(target, elsewhere):
    headers = {"X-Vault": "copper-meadow-58", "Accept": "application/json"}
    target.answers["/hop"] = [Answer(307, {"Location": f"{elsewhere.url}/poll"}, "")]
    elsewhere.answers["/poll"] = [status("Running")]
    operation = Operation(PollSource.STATUS, f"{target.url}/hop")

    outcome = poll_once(target, PollSource.STATUS, Answer(), operation, headers=headers, followRedirects=True)

    assert outcome.status == "Running"
    assert target.calls[0].headers["X-Vault"] == "copper-meadow-58"
    assert set(elsewhere.calls[0].headers) == {"Host", "Connection", "Accept", "User-Agent", "Accept-Encoding"}


def test_token_is_sent_to_the_origin_of_the_action_only(target, elsewhere, authority, settings):
    with TokenAuthority({"quando": "crimson-valley-64"}) as tokens:
        settings.OAUTH_AUTHORITY = tokens.url
        oauth = {
            "type": "ActiveDirectoryOAuth",
            "tenant": "contoso.example",
            "clientId": "quando",
            "secret": "crimson-valley-64",
        }
        elsewhere.answers["/poll"] = [status("Running")]
        poll_once(target, PollSource.STATUS, status("Running"), authentication=oauth)
        poll_once(
            target,
            PollSource.STATUS,
            Answer(),
            Operation(PollSource.STATUS, f"{elsewhere.url}/poll"),
            authentication=oauth,
        )

    assert target.calls[0].headers["Authorization"].startswith("Bearer ")
    assert "Authorization" not in elsewhere.calls[0].headers


def test_client_certificate_is_sent_to_the_origin_of_the_action_only(peer, authority):
    own, other = (peer(Target, tls=authority.server(demands_certificate=True)) for _ in range(2))
    client = authority.client()
    proof = {"type": "ClientCertificate", "pfx": client.pfx, "password": client.password}
    request = {"authentication": proof, "certificateAuthority": authority.pem}

    statuses = [
        poll_once(
            own, PollSource.STATUS, status("Running"), Operation(PollSource.STATUS, f"{server.url}/poll"), **request
        ).status
        for server in (own, other)
    ]

    assert statuses == ["Running", ""]
    assert own.calls[0].certificate
    assert other.calls == []


def test_credential_in_the_response_of_a_poll_is_masked(target):
    error = {"code": "E", "message": "not for violet-harbour-31"}

    outcome = poll_once(target, PollSource.STATUS, status("Failed", error=error), authentication=BASIC)

    assert outcome.message == f"The operation failed with E: not for {MASK}."
    assert "violet" not in outcome.body


@pytest.mark.parametrize("scheme", ["http", "ftp"])  # an address that is polled, and one that is not
def test_keys_in_addresses_of_operations_are_masked(target, scheme):
    """A key allows polling or cancelling, but the history of a job is shown to all readers."""
    status, result = f"{scheme}://x.example/status?t=1&sig=amber-lantern-77", f"{target.url}/result?sig=copper-58"

    outcome = start(target, 202, {"Azure-AsyncOperation": status, "Location": result}, f"see {status}")

    assert outcome.is_pending == (scheme == "http")
    headers = dict(outcome.headers)
    assert headers["Azure-AsyncOperation"] == f"{scheme}://x.example/status{MASK}"
    assert headers["Location"] == f"{target.url}/result{MASK}"
    assert outcome.body == f"see {scheme}://x.example/status{MASK}"


def test_key_in_the_address_of_an_operation_is_masked_in_the_response_of_a_poll(target):
    operation = Operation(PollSource.STATUS, f"{target.url}/poll?sig=amber-lantern-77")
    error = {"code": "E", "message": f"nothing at {operation.address}"}
    target.answers["/poll?sig=amber-lantern-77"] = [status("Failed", error=error)]

    outcome = poll_once(target, PollSource.STATUS, status("Failed", error=error), operation)

    assert f"nothing at {target.url}/poll{MASK}" in outcome.message
    assert "amber" not in outcome.message + outcome.body


def test_repr_of_an_operation_contains_no_address():
    assert repr(Operation(PollSource.STATUS, "https://x.example/?key=amber-lantern-77")) == "<Operation by status>"
