"""Which answers count as success, by a job's own test."""

import gzip
import json
import time

import pytest

from jobs.actions import documents, http
from jobs.errors import Invalid
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
def judged(target):
    """The outcome of a call that gets this answer."""

    def judged(answer: Answer, **test):
        target.answers["/"] = [answer]
        return attempt(document(f"{target.url}/", **test))

    return judged


# Status codes


@pytest.mark.parametrize(
    "codes, status, succeeded",
    [
        (None, 200, True),
        (None, 299, True),
        (None, 300, False),
        (None, 404, False),
        ([404], 404, True),
        ([404], 200, False),  # the usual ones count only where they are named
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
def test_the_codes_that_count_can_be_named(judged, codes, status, succeeded):
    outcome = judged(Answer(status), statusCodes=codes)

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
def test_codes_that_no_answer_has_are_refused(codes):
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
def test_a_body_must_hold_the_text(judged, body, text, succeeded):
    outcome = judged(Answer(body=body), bodyContains=text)

    assert outcome.succeeded is succeeded
    assert outcome.status_code == 200
    assert (
        succeeded
        or outcome.message == "Host '127.0.0.1' answered 'OK', but its body does not hold the text that it must."
    )


def test_a_text_does_not_make_up_for_the_status(judged):
    outcome = judged(Answer(500, body="done"), bodyContains="done")

    assert not outcome.succeeded
    assert outcome.message == "Host '127.0.0.1' answered 'Internal Server Error'."


@pytest.mark.parametrize("size, succeeded", [(3000, True), (MEBIBYTE - 100, True), (MEBIBYTE + 100, False)])
def test_a_text_is_looked_for_in_the_first_mebibyte(judged, size, succeeded):
    outcome = judged(Answer(body="x" * size + "done"), bodyContains="done")

    assert outcome.succeeded is succeeded
    assert outcome.body == "x" * http.KEPT_LIMIT


# A value of JSON


@pytest.mark.parametrize(
    "body, path, succeeded",
    [
        ('{"state": "done"}', "$.state", True),
        ('{"state": null}', "$.state", True),  # it is there
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
def test_a_body_must_hold_something_at_the_path(judged, body, path, succeeded):
    assert judged(Answer(body=body), bodyPath=path).succeeded is succeeded


@pytest.mark.parametrize(
    "value, wanted, succeeded",
    [
        ("done", "done", True),
        ("done", "Done", False),
        ("1", 1, False),
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),  # Python takes them for equal
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
def test_the_value_at_the_path_must_be_the_wanted_one(judged, value, wanted, succeeded):
    outcome = judged(Answer(body=json.dumps({"state": value})), bodyPath="$.state", bodyValue=wanted)

    assert outcome.succeeded is succeeded


@pytest.mark.parametrize(
    "body, message",
    [
        ("<html>", "its body is not JSON"),
        ("{}", "its body has nothing at $.state"),
        ('{"state": "failed"}', "its body does not hold the value that it must at $.state"),
    ],
)
def test_a_failure_is_told_without_the_value(judged, body, message):
    outcome = judged(Answer(body=body), bodyPath="$.state", bodyValue="done")

    assert outcome.message == f"Host '127.0.0.1' answered 'OK', but {message}."
    assert outcome.may_retry


def test_json_may_be_as_long_as_a_mebibyte(judged):
    padding = "x" * (MEBIBYTE - 100)

    assert judged(Answer(body=json.dumps({"pad": padding, "state": 1})), bodyPath="$.state").succeeded
    assert not judged(Answer(body=json.dumps({"pad": padding * 2, "state": 1})), bodyPath="$.state").succeeded


def test_every_part_of_a_test_must_hold(judged):
    test = {"statusCodes": [202], "bodyContains": "done", "bodyPath": "$.n", "bodyValue": 1}

    assert judged(Answer(202, body='{"n": 1, "state": "done"}'), **test).succeeded
    assert not judged(Answer(200, body='{"n": 1, "state": "done"}'), **test).succeeded
    assert not judged(Answer(202, body='{"n": 1}'), **test).succeeded
    assert not judged(Answer(202, body='{"n": 2, "state": "done"}'), **test).succeeded


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
def test_a_path_that_may_lead_to_several_values_or_nowhere_is_refused(path):
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
def test_a_test_that_no_answer_can_meet_is_refused(test, member):
    with pytest.raises(Invalid) as caught:
        documents.parse(document("https://example.com", **test))

    assert caught.value.path == f"action.request.success.{member}"


def test_a_test_is_kept_as_it_was_sent():
    test = {"statusCodes": [200, "202-204"], "bodyContains": "done", "bodyPath": "$.a", "bodyValue": False}

    assert documents.parse(document("https://example.com", **test)).document["request"]["success"] == test


def test_members_nobody_knows_are_dropped():
    parsed = documents.parse(document("https://example.com", bodyPath="$.a", bodyPattern=".*"))

    assert parsed.document["request"]["success"] == {"bodyPath": "$.a"}


# Packed answers


@pytest.fixture
def packed(peer):
    """The outcome of a call that gets these bytes, said to be packed."""

    def packed(data: bytes, **test):
        server = peer(Raw, answering("200 OK", "Content-Encoding: gzip\r\n", data))
        return attempt(document(server.url, **test))

    return packed


def test_a_packed_body_is_tested_unpacked(packed):
    data = gzip.compress(b"x" * 100_000 + b'{"a": 1} done')

    assert packed(data, bodyContains="done").succeeded


@pytest.mark.parametrize("test", [{"bodyContains": "done"}, {"bodyPath": "$.a"}])
def test_a_bomb_is_unpacked_no_further_than_a_mebibyte(packed, test):
    """200 MB travel in 0.2 MB."""
    bomb = gzip.compress(b"0" * 200_000_000)
    started = time.monotonic()

    outcome = packed(bomb, **test)

    assert not outcome.succeeded
    assert outcome.body == "0" * http.KEPT_LIMIT
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("data", [b"not packed", gzip.compress(b"done")[:-12], b"", gzip.compress(b"a") + b"done"])
def test_what_cannot_be_unpacked_fails_the_test(packed, data):
    outcome = packed(data, bodyContains="done")

    assert not outcome.succeeded
    assert outcome.may_retry
