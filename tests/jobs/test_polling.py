"""What answers say of operations: how they begin, how they go on, how they end, and who is told the credentials."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from jobs.actions import documents, http, poll
from jobs.actions.result import AttemptResult, Operation, PollFailure, PollSource
from jobs.encryption import MASK
from tests.jobs.attempts import CONTEXT, GOODBYE_S, attempt
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


def asked(
    target: Target, source: PollSource, answer: Answer, operation: Operation | None = None, **request
) -> AttemptResult:
    """What a poll of `/poll` tells, which is answered so."""
    target.answers["/poll"] = [answer]
    operation = operation or Operation(source, f"{target.url}/poll")
    parsed = documents.parse(document(target, **request))

    async def go() -> AttemptResult:
        async with http.open_session() as session:
            outcome = await poll(parsed.document, parsed.secrets, CONTEXT, operation, session)
        await asyncio.sleep(GOODBYE_S)
        return outcome

    return asyncio.run(go())


def status(word: object, code: int = 200, headers: dict | None = None, **members) -> Answer:
    return Answer(code, headers or {}, json.dumps({"status": word, **members}))


# How they begin


def test_without_follow_a_202_is_success_at_once(target):
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
        # when it is present it is the thing to poll, whatever else is there
        ("PUT", 201, {"Azure-AsyncOperation": "/status"}, state("Succeeded"), PollSource.STATUS, "/status"),
        ("PUT", 201, {"Location": "/result"}, state("Creating"), PollSource.LOCATION, "/result"),
        # the body of a 202 says nothing, though some take it for the status
        ("POST", 202, {"Location": "/result"}, {"status": "Succeeded"}, PollSource.LOCATION, "/result"),
        ("PUT", 202, {}, state("Succeeded"), PollSource.RESOURCE, "/start"),
    ],
)
def test_what_is_polled(target, method, code, headers, body, source, path):
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
        ("PUT", 201, {}, state(None)),  # 201 alone does not mean that anything goes on
        ("PUT", 200, {}, {"properties": None}),
        ("PUT", 200, {}, {"properties": {"provisioningState": None}}),
        ("PUT", 200, {}, "not JSON"),
        # the Location of what was made is no operation
        ("POST", 201, {"Location": "/made"}, state("Creating")),
        ("PUT", 201, {"Location": "/made"}, state("Succeeded")),
        ("GET", 200, {}, state("Creating")),
    ],
)
def test_other_answers_end_at_once(target, method, code, headers, body):
    outcome = start(target, code, {name: target.url + value for name, value in headers.items()}, body, method)

    assert outcome.succeeded
    assert not outcome.is_pending


def test_other_answers_are_held_against_the_test_of_success(target):
    outcome = attempt(document(target, path="/status/503"))

    assert (outcome.succeeded, outcome.is_pending, outcome.status_code) == (False, False, 503)


@pytest.mark.parametrize("word, may_retry", [("Failed", True), ("canceled", False)])
def test_a_resource_that_has_failed_already_is_a_failure(target, word, may_retry):
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
        ({"Location": "http://ada:word@x.example/"}, "must not hold credentials before its host"),
        ({"Location": "http://x.example:0/"}, "must have a port of 1 to 65535"),
        ({"Location": "http://0x7f.1/"}, "must have an IPv4 address as four decimal numbers"),
        ({"Location": "http://x.example/a b"}, "must be written in printable ASCII"),
    ],
)
def test_what_cannot_be_polled_is_not_taken_for_done_and_not_begun_again(target, headers, why):
    outcome = start(target, 202, headers)

    assert (outcome.succeeded, outcome.is_pending, outcome.may_retry) == (False, False, False)
    assert why in outcome.message


def test_an_address_may_be_long(target):
    address = f"{target.url}/status?t={'x' * 4096}"

    assert start(target, 202, {"Azure-AsyncOperation": address}).operation == Operation(PollSource.STATUS, address)


def test_an_operation_begun_over_https_is_not_polled_over_http(authority):
    with Target(tls=authority.server()) as target:
        target.answers["/start"] = [Answer(202, {"Location": f"http://127.0.0.1:{target.port}/poll"}, "")]
        outcome = attempt(document(target, certificateAuthority=authority.pem))

    assert "goes from https to http" in outcome.message


# How they go on, and end


@pytest.mark.parametrize("word", ["InProgress", "Running", "Cancelled", "Completed", "Success", "Error", "x" * 500])
def test_every_word_but_three_means_that_it_goes_on(target, word):
    outcome = asked(target, PollSource.STATUS, status(word, percentComplete=40, headers={"Retry-After": "3"}))

    assert outcome.operation == Operation(PollSource.STATUS, f"{target.url}/poll")
    assert (outcome.status, outcome.percent) == (word if len(word) < 60 else "x" * 60 + "…", 40)
    assert outcome.retry_after == timedelta(seconds=3)


@pytest.mark.parametrize("word", ["Succeeded", "succeeded", "SUCCEEDED"])
def test_it_succeeds(target, word):
    outcome = asked(target, PollSource.STATUS, status(word, resourceLocation=f"{target.url}/gone"))

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
        # somebody wanted it to end
        ("Canceled", {"code": "Off", "message": "By Ada"}, False, "The operation was cancelled with Off: By Ada."),
    ],
)
def test_it_fails(target, word, error, may_retry, message):
    outcome = asked(target, PollSource.STATUS, status(word, error=error))

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
def test_what_is_no_status_says_nothing_of_the_operation(target, answer, failure):
    outcome = asked(target, PollSource.STATUS, answer)

    assert (outcome.succeeded, outcome.poll_failure, outcome.operation) == (False, failure, None)
    assert outcome.message


@pytest.mark.parametrize(
    "answer, ends",
    [
        (Answer(200, {}, ""), True),
        (Answer(204), True),
        (Answer(200, {}, "anything"), True),
        (Answer(200, {}, json.dumps(state("Succeeded"))), True),
        # as one who finds the resource itself there
        (Answer(200, {}, json.dumps(state("Creating"))), None),
        (Answer(200, {}, json.dumps(state("Failed"))), False),
        (Answer(202, {}, json.dumps({"status": "Succeeded"})), None),
        (Answer(404, {}, json.dumps({"error": {"code": "NotFound", "message": "It is gone."}})), False),
        (Answer(409, {}, json.dumps({"code": "Conflict", "message": "It is locked."})), False),
        (Answer(400, {}, "<html>"), False),
    ],
)
def test_the_location_answers_as_the_request_would_have(target, answer, ends):
    outcome = asked(target, PollSource.LOCATION, answer)

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
def test_a_location_that_cannot_be_read_now_says_nothing(target, code, failure):
    assert asked(target, PollSource.LOCATION, Answer(code)).poll_failure == failure


def test_a_changed_location_is_gone_to(target, elsewhere):
    outcome = asked(target, PollSource.LOCATION, Answer(202, {"Location": f"{elsewhere.url}/next"}, ""))

    assert outcome.operation == Operation(PollSource.LOCATION, f"{elsewhere.url}/next")


def test_a_changed_location_must_be_one_that_can_be_polled(target):
    outcome = asked(target, PollSource.LOCATION, Answer(202, {"Location": "/next"}, ""))

    assert (outcome.poll_failure, outcome.operation) == (PollFailure.PERMANENT, None)
    assert "is not absolute" in outcome.message


def test_a_changed_address_of_the_status_is_not_gone_to(target, elsewhere):
    outcome = asked(
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
def test_the_resource_says_its_state(target, answer, ends):
    outcome = asked(target, PollSource.RESOURCE, answer, method="PUT")

    assert (outcome.is_pending, outcome.succeeded) == (ends is None, ends is not False)
    assert outcome.poll_failure is None


@pytest.mark.parametrize("answer", [Answer(404), Answer(200, {}, ""), Answer(200, {}, "<html>"), Answer(500)])
def test_a_resource_that_cannot_be_read_is_not_taken_for_done(target, answer):
    assert asked(target, PollSource.RESOURCE, answer, method="PUT").poll_failure


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
def test_how_long_it_asks_to_be_left_alone(target, text, wait):
    assert asked(target, PollSource.STATUS, status("Running", headers={"Retry-After": text})).retry_after == wait


def test_a_date_is_understood_as_well(target):
    answer = status("Running", headers={"Retry-After": f"{datetime(2100, 1, 1, tzinfo=UTC):%a, %d %b %Y %H:%M:%S} GMT"})

    assert asked(target, PollSource.STATUS, answer).retry_after > timedelta(days=365)


@pytest.mark.parametrize(
    "value, percent", [(40, 40), (12.5, 12.5), (-3, 0), (1e300, 100), (True, None), ("40", None), ([], None)]
)
def test_how_much_is_done(target, value, percent):
    assert asked(target, PollSource.STATUS, status("Running", percentComplete=value)).percent == percent


def test_who_does_not_answer_says_nothing(target):
    silent = Operation(PollSource.STATUS, "http://127.0.0.1:9/poll")

    outcome = asked(target, PollSource.STATUS, Answer(), silent)

    assert (outcome.status_code, outcome.is_pending, outcome.succeeded) == (None, False, False)


def test_a_poll_goes_to_no_address_that_calls_may_not_reach(target, settings):
    settings.EGRESS_ALLOW = []

    outcome = asked(target, PollSource.STATUS, status("Succeeded"), uri="http://localhost/start")

    assert "an address that calls may not reach" in outcome.message
    assert target.calls == []


def test_an_endless_answer_is_cut_off(target):
    raw = Raw(
        answering("200 OK", "Content-Type: application/json\r\n", b'{"status": "Succeeded", "x": "' + b"x" * 2**21)
    )
    try:
        outcome = asked(target, PollSource.STATUS, Answer(), Operation(PollSource.STATUS, f"{raw.url}/poll"))
    finally:
        raw.close()

    assert outcome.poll_failure
    assert len(outcome.body) <= 2048


# What a poll says of the job


def test_a_poll_is_a_get_with_the_credentials_of_the_action(target):
    headers = {"X-Api-Key": "silver-forest-42", "X-Tenant": "a", "If-Match": "*", "Content-Type": "text/plain"}

    asked(target, PollSource.STATUS, status("Running"), authentication=BASIC, headers=headers, body="b", method="PUT")

    (call,) = target.calls
    assert (call.method, call.body) == ("GET", "")
    assert call.headers["Authorization"].startswith("Basic ")
    assert (call.headers["X-Api-Key"], call.headers["X-Tenant"]) == ("silver-forest-42", "a")
    # about what has been sent: a target that answers repeats from its memory would answer the first request's
    assert not {"If-Match", "Content-Type", "Idempotency-Key"} & set(call.headers)


def test_another_origin_is_told_nothing_but_who_asks_for_what(target, elsewhere):
    headers = {
        "X-Api-Key": "silver-forest-42",
        "X-Vault": "copper-meadow-58",  # whose name does not tell what it is
        "x-ms-client-request-id": "1234",
        "Accept": "application/json",
    }
    operation = Operation(PollSource.STATUS, f"{elsewhere.url}/poll")
    elsewhere.answers["/poll"] = [status("Running")]

    outcome = asked(target, PollSource.STATUS, Answer(), operation, authentication=BASIC, headers=headers)

    (call,) = elsewhere.calls
    assert outcome.status == "Running"
    told = {"Host", "Connection", "x-ms-client-request-id", "Accept", "User-Agent", "Accept-Encoding"}
    assert set(call.headers) == told
    assert target.calls == []


def test_a_redirect_of_a_poll_takes_no_more_along(target, elsewhere):
    headers = {"X-Vault": "copper-meadow-58", "Accept": "application/json"}
    target.answers["/hop"] = [Answer(307, {"Location": f"{elsewhere.url}/poll"}, "")]
    elsewhere.answers["/poll"] = [status("Running")]
    operation = Operation(PollSource.STATUS, f"{target.url}/hop")

    outcome = asked(target, PollSource.STATUS, Answer(), operation, headers=headers, followRedirects=True)

    assert outcome.status == "Running"
    assert target.calls[0].headers["X-Vault"] == "copper-meadow-58"
    assert set(elsewhere.calls[0].headers) == {"Host", "Connection", "Accept", "User-Agent", "Accept-Encoding"}


def test_a_token_goes_to_the_actions_own_origin_alone(target, elsewhere, authority, settings):
    with TokenAuthority({"quando": "crimson-valley-64"}) as tokens:
        settings.OAUTH_AUTHORITY = tokens.url
        oauth = {
            "type": "ActiveDirectoryOAuth",
            "tenant": "contoso.example",
            "clientId": "quando",
            "secret": "crimson-valley-64",
        }
        elsewhere.answers["/poll"] = [status("Running")]
        asked(target, PollSource.STATUS, status("Running"), authentication=oauth)
        asked(
            target,
            PollSource.STATUS,
            Answer(),
            Operation(PollSource.STATUS, f"{elsewhere.url}/poll"),
            authentication=oauth,
        )

    assert target.calls[0].headers["Authorization"].startswith("Bearer ")
    assert "Authorization" not in elsewhere.calls[0].headers


def test_a_client_certificate_is_shown_to_the_actions_own_origin_alone(peer, authority):
    own, other = (peer(Target, tls=authority.server(demands_certificate=True)) for _ in range(2))
    client = authority.client()
    proof = {"type": "ClientCertificate", "pfx": client.pfx, "password": client.password}
    request = {"authentication": proof, "certificateAuthority": authority.pem}

    told = [
        asked(
            own, PollSource.STATUS, status("Running"), Operation(PollSource.STATUS, f"{server.url}/poll"), **request
        ).status
        for server in (own, other)
    ]

    assert told == ["Running", ""]
    assert own.calls[0].certificate
    assert other.calls == []


def test_what_the_answer_repeats_of_a_credential_is_masked(target):
    error = {"code": "E", "message": "not for violet-harbour-31"}

    outcome = asked(target, PollSource.STATUS, status("Failed", error=error), authentication=BASIC)

    assert outcome.message == f"The operation failed with E: not for {MASK}."
    assert "violet" not in outcome.body


@pytest.mark.parametrize("scheme", ["http", "ftp"])  # one that is polled, and one that is not
def test_the_keys_in_addresses_are_masked(target, scheme):
    """Whoever has one may ask as well, or cancel; a job's history is for all who may read."""
    status, result = f"{scheme}://x.example/status?t=1&sig=amber-lantern-77", f"{target.url}/result?sig=copper-58"

    outcome = start(target, 202, {"Azure-AsyncOperation": status, "Location": result}, f"see {status}")

    assert outcome.is_pending == (scheme == "http")
    kept = dict(outcome.headers)
    assert kept["Azure-AsyncOperation"] == f"{scheme}://x.example/status{MASK}"
    assert kept["Location"] == f"{target.url}/result{MASK}"
    assert outcome.body == f"see {scheme}://x.example/status{MASK}"


def test_the_key_in_an_address_is_masked_where_a_poll_repeats_it(target):
    operation = Operation(PollSource.STATUS, f"{target.url}/poll?sig=amber-lantern-77")
    error = {"code": "E", "message": f"nothing at {operation.address}"}
    target.answers["/poll?sig=amber-lantern-77"] = [status("Failed", error=error)]

    outcome = asked(target, PollSource.STATUS, status("Failed", error=error), operation)

    assert f"nothing at {target.url}/poll{MASK}" in outcome.message
    assert "amber" not in outcome.message + outcome.body


def test_neither_address_nor_key_is_shown_by_repr():
    assert repr(Operation(PollSource.STATUS, "https://x.example/?key=amber-lantern-77")) == "<Operation by status>"
