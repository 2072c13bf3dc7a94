"""Which responses count as success, by the success condition of a job."""

import gzip
import json
import time

import pytest

from api.errors import Invalid
from jobs.actions import documents, http
from tests.jobs.attempts import attempt
from tests.peers.raw import Raw, answering
from tests.peers.server import Answer

MEBIBYTE = 1_048_576


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


def document(uri: str, **test) -> dict:
    return {"type": "Http", "request": {"uri": uri, "method": "GET", "success": test}}


@pytest.fixture
def call_with(target):
    """Return a function that returns the result of a call with this response."""

    def call_with(answer: Answer, **test):
        target.answers["/"] = [answer]
        return attempt(document(f"{target.url}/", **test))

    return call_with


# Status codes


@pytest.mark.parametrize(
    "codes, status, succeeded",
    [
        (None, 200, True),
        (None, 299, True),
        (None, 300, False),
        (None, 404, False),
        ([404], 404, True),
        ([404], 200, False),  # the usual codes count only if they are listed
        (["200-299", 404], 404, True),
        (["200-299", 404], 405, False),
        (["200-200"], 200, True),
        (["200-200"], 201, False),
        ([302], 302, True),
        ([503], 503, True),
        (["100-599"], 500, True),
        ([201, 202], 202, True),
    ],
)
def test_success_can_be_limited_to_status_codes(call_with, codes, status, succeeded):
    outcome = call_with(Answer(status), statusCodes=codes)

    assert (outcome.succeeded, outcome.status_code) == (succeeded, status)
    assert "not followed" not in outcome.message or status == 300 or not succeeded


@pytest.mark.parametrize(
    "codes",
    [
        [],
        "200",
        200,
        {},
        [True],
        [200.0],
        [None],
        [99],
        [600],
        ["200"],
        ["299-200"],
        ["99-200"],
        ["200-600"],
        ["200-"],
        ["-200"],
        ["200 - 299"],
        ["２００-299"],
        ["200-299\n"],
        [[200]],
        [200] * 51,
    ],
)
def test_invalid_status_codes_are_refused(codes):
    with pytest.raises(Invalid) as caught:
        documents.parse(document("https://example.com", statusCodes=codes))

    assert caught.value.path == "action.request.success.statusCodes"


# A text


@pytest.mark.parametrize(
    "body, text, succeeded",
    [
        ("all done", "done", True),
        ("all done", "Done", False),
        ("Grüße", "üß", True),
        ("a\r\nb", "a\r\nb", True),
        ("", "x", False),
        ("\ufffd", "\ufffd", True),
    ],
)
def test_body_must_contain_the_text(call_with, body, text, succeeded):
    outcome = call_with(Answer(body=body), bodyContains=text)

    assert outcome.succeeded is succeeded
    assert outcome.status_code == 200
    assert (
        succeeded
        or outcome.message == "Host '127.0.0.1' answered 'OK', but its body does not hold the text that it must."
    )


def test_text_does_not_turn_an_error_status_into_success(call_with):
    outcome = call_with(Answer(500, body="done"), bodyContains="done")

    assert not outcome.succeeded
    assert outcome.message == "Host '127.0.0.1' answered 'Internal Server Error'."


@pytest.mark.parametrize("size, succeeded", [(3000, True), (MEBIBYTE - 100, True), (MEBIBYTE + 100, False)])
def test_text_is_searched_in_the_first_mebibyte(call_with, size, succeeded):
    outcome = call_with(Answer(body="x" * size + "done"), bodyContains="done")

    assert outcome.succeeded is succeeded
    assert outcome.body == "x" * http.KEPT_LIMIT


# A value of JSON


@pytest.mark.parametrize(
    "body, path, succeeded",
    [
        ('{"state": "done"}', "$.state", True),
        ('{"state": null}', "$.state", True),  # the value exists
        ('{"state": "done"}', "$.other", False),
        ('{"a": [{"b": 1}, {"b": 2}]}', "$.a[1].b", True),
        ('{"a": [{"b": 1}, {"b": 2}]}', "$.a[-1]['b']", True),
        ('{"a": [1]}', "$.a[1]", False),
        ('{"a": [1]}', "$.a.b", False),
        ('{"x y": 1}', "$['x y']", True),
        ('{"ü": 1}', "$.ü", True),
        ("[1]", "$[0]", True),
        ("1", "$", True),
        ("", "$", False),
        ("<a/>", "$.a", False),
        ("{'a': 1}", "$.a", False),
        ('{"a": NaN}', "$.a", False),
        ('{"a": 1} x', "$.a", False),
        ("[" * 100_000, "$[0]", False),
    ],
)
def test_body_must_have_a_value_at_the_path(call_with, body, path, succeeded):
    assert call_with(Answer(body=body), bodyPath=path).succeeded is succeeded


@pytest.mark.parametrize(
    "value, wanted, succeeded",
    [
        ("done", "done", True),
        ("done", "Done", False),
        ("1", 1, False),
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),  # equal in Python
        (True, 1, False),
        (True, True, True),
        (0, False, False),
        (False, 0, False),
        (False, False, True),
        (1.5, 1.5, True),
        (None, "null", False),
        (None, False, False),
        (["done"], "done", False),
        ({"a": 1}, "a", False),
        ([], False, False),
        ("", "", True),
        (2**53 + 1, 2**53 + 1, True),
        ("ü", "ü", True),
    ],
)
def test_value_at_the_path_must_be_the_expected_one(call_with, value, wanted, succeeded):
    outcome = call_with(Answer(body=json.dumps({"state": value})), bodyPath="$.state", bodyValue=wanted)

    assert outcome.succeeded is succeeded


@pytest.mark.parametrize(
    "body, message",
    [
        ("<html>", "its body is not JSON"),
        ("{}", "its body has nothing at $.state"),
        ('{"state": "failed"}', "its body does not hold the value that it must at $.state"),
    ],
)
def test_message_of_a_failed_condition_does_not_contain_the_value(call_with, body, message):
    outcome = call_with(Answer(body=body), bodyPath="$.state", bodyValue="done")

    assert outcome.message == f"Host '127.0.0.1' answered 'OK', but {message}."
    assert outcome.may_retry


def test_json_body_can_have_256_kib(call_with):
    padding = "x" * (MEBIBYTE // 4 - 100)

    fitting = call_with(Answer(body=json.dumps({"pad": padding, "state": 1})), bodyPath="$.state")
    longer = call_with(Answer(body=json.dumps({"pad": padding + "x" * 200, "state": 1})), bodyPath="$.state")

    assert fitting.succeeded
    assert "too long to look for a path" in longer.message


@pytest.mark.parametrize("text, succeeded", [("sesame", False), ("opensesame", False), ("welcome", True)])
def test_success_condition_does_not_find_a_repeated_credential(target, text, succeeded):
    target.answers["/"] = [Answer(body="welcome, opensesame")]
    action = document(f"{target.url}/", bodyContains=text)
    action["request"]["headers"] = {"X-Api-Key": "opensesame"}

    assert attempt(action).succeeded is succeeded


def test_every_part_of_a_success_condition_must_hold(call_with):
    test = {"statusCodes": [202], "bodyContains": "done", "bodyPath": "$.n", "bodyValue": 1}

    assert call_with(Answer(202, body='{"n": 1, "state": "done"}'), **test).succeeded
    assert not call_with(Answer(200, body='{"n": 1, "state": "done"}'), **test).succeeded
    assert not call_with(Answer(202, body='{"n": 1}'), **test).succeeded
    assert not call_with(Answer(202, body='{"n": 2, "state": "done"}'), **test).succeeded


@pytest.mark.parametrize(
    "path",
    [
        "",
        "state",
        ".state",
        "$.",
        "$.*",
        "$..state",
        "$[*]",
        "$[0:2]",
        "$[0,1]",
        "$.a[?@.b == 1]",
        "$['a','b']",
        "$[01]",
        "$[99999999999999999999]",
        "$.a b",
        "$.a\n",
        "$[",
        "$.state; $.x",
        "$" + "[0]" * 100,
        1,
    ],
)
def test_body_path_that_can_match_several_values_or_none_is_refused(path):
    with pytest.raises(Invalid) as caught:
        documents.parse(document("https://example.com", bodyPath=path))

    assert caught.value.path == "action.request.success.bodyPath"


@pytest.mark.parametrize(
    "test, member",
    [
        ({"bodyContains": ""}, "bodyContains"),
        ({"bodyContains": 1}, "bodyContains"),
        ({"bodyContains": "x" * 1025}, "bodyContains"),
        ({"bodyContains": "a\0"}, "bodyContains"),
        ({"bodyValue": 1}, "bodyPath"),
        ({"bodyPath": "$.a", "bodyValue": {}}, "bodyValue"),
        ({"bodyPath": "$.a", "bodyValue": [1]}, "bodyValue"),
        ({"bodyPath": "$.a", "bodyValue": "x" * 1025}, "bodyValue"),
    ],
)
def test_success_condition_that_can_never_hold_is_refused(test, member):
    with pytest.raises(Invalid) as caught:
        documents.parse(document("https://example.com", **test))

    assert caught.value.path == f"action.request.success.{member}"


def test_success_condition_is_stored_as_it_was_sent():
    test = {"statusCodes": [200, "202-204"], "bodyContains": "done", "bodyPath": "$.a", "bodyValue": False}

    assert documents.parse(document("https://example.com", **test)).document["request"]["success"] == test


def test_unknown_members_of_a_success_condition_are_dropped():
    parsed = documents.parse(document("https://example.com", bodyPath="$.a", bodyPattern=".*"))

    assert parsed.document["request"]["success"] == {"bodyPath": "$.a"}


# Compressed responses


@pytest.fixture
def call_with_gzip(peer):
    """Return a function that returns the result of a call whose response has these bytes as gzip content."""

    def call_with_gzip(data: bytes, **test):
        server = peer(Raw, answering("200 OK", "Content-Encoding: gzip\r\n", data))
        return attempt(document(server.url, **test))

    return call_with_gzip


def test_compressed_body_is_decompressed_for_the_condition(call_with_gzip):
    data = gzip.compress(b"x" * 100_000 + b'{"a": 1} done')

    assert call_with_gzip(data, bodyContains="done").succeeded


@pytest.mark.parametrize("test", [{"bodyContains": "done"}, {"bodyPath": "$.a"}])
def test_compression_bomb_is_decompressed_only_up_to_a_mebibyte(call_with_gzip, test):
    """200 MB are compressed to 0.2 MB."""
    bomb = gzip.compress(b"0" * 200_000_000)
    started = time.monotonic()

    outcome = call_with_gzip(bomb, **test)

    assert not outcome.succeeded
    assert outcome.body == "0" * http.KEPT_LIMIT
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "data",
    [b"not packed", gzip.compress(b"done")[:-12], b"", gzip.compress(b"a") + b"done"],
    ids=["plain", "cut", "empty", "followed"],
)
def test_body_that_cannot_be_decompressed_fails_the_condition(call_with_gzip, data):
    outcome = call_with_gzip(data, bodyContains="done")

    assert not outcome.succeeded
    assert outcome.may_retry
