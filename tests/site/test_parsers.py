"""Parsing the body of a request: limits, strict JSON and media types."""

import json
from io import BytesIO

import pytest
from rest_framework.exceptions import ParseError

from api.parsers import DEPTH_LIMIT, LIST_LIMIT, parsed
from scheduler_site.errors import flatten_errors
from scheduler_site.wsgi import application
from tests.growth import assert_linear

ADDRESS = "/api/tokens"


@pytest.mark.parametrize(
    "body, value",
    [
        (b"{}", {}),
        (b" [1, -0, 2.5e3] ", [1, 0, 2500.0]),
        (b'"\\\\u0000"', "\\u0000"),  # a backslash and letters, not a NUL
        (b'"\\ud83d\\ude00"', "\U0001f600"),  # a whole pair
        ('"é"'.encode(), "é"),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT, json.loads("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT)),
        (b'["' + b"[" * 100 + b'"]', ["[" * 100]),  # brackets in a text are no depth
        (b'["' + b'\\"[' * 50 + b'"]', ['"[' * 50]),
        (b"[" + b"[]," * 40 + b"[]]", [[]] * 41),  # many, not deep
    ],
)
def test_valid_json_is_parsed(body, value):
    assert parsed(body) == value


@pytest.mark.parametrize(
    "body, code",
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"{}{}", "not_json"),
        (b"{'a': 1}", "not_json"),
        (b"[1,]", "not_json"),
        (b"01", "not_json"),
        (b"1_000", "not_json"),
        (b"NaN", "not_json"),
        (b"[Infinity]", "not_json"),
        (b"-Infinity", "not_json"),
        ("١".encode(), "not_json"),
        (b'"a\x00b"', "not_json"),
        (b"\xef\xbb\xbf{}", "not_json"),  # a byte order mark
        (b"\xff\xfe{\x00}\x00", "not_utf8"),
        (b'"\xed\xa0\x80"', "not_utf8"),  # a surrogate in bytes
        (b"1e999", "out_of_range"),
        (b"[-1e999]", "out_of_range"),
        (b"9223372036854775808", "out_of_range"),
        (b"1" * 5000, "out_of_range"),
        (b'"\\u0000"', "bad_text"),
        (b'{"\\u0000": 1}', "bad_text"),
        (b'["\\ud800"]', "bad_text"),
        (b'{"a": {"\\udfff\\ud800": 1}}', "bad_text"),
        (b'{"a": 1, "b": {"c": 1, "c": 1}}', "duplicate_member"),
        (b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1), "too_deep"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b"[" * 40 + b'"' + b'\\"' * 200_000, "too_deep"),
        (b"[" + b"1," * LIST_LIMIT + b"1]", "too_many"),
        (json.dumps({str(n): n for n in range(LIST_LIMIT + 1)}).encode(), "too_many"),
    ],
)
def test_json_that_is_not_strict_is_refused(body, code):
    with pytest.raises(ParseError) as refusal:
        parsed(body)

    (fault,) = flatten_errors(refusal.value.detail)
    assert fault.code == code
    assert len(str(refusal.value.detail)) < 250


@pytest.mark.parametrize(
    "body, path",
    [
        (b'{"a": {"b": ["x", "tell\\u0000nobody"]}}', "a.b[1]"),
        (b'{"a": {"tell\\ud800nobody": 1}}', "a"),
        (json.dumps({"a": [1] * (LIST_LIMIT + 1)}).encode(), "a"),
    ],
)
def test_error_names_the_place_of_a_value_that_cannot_be_stored_and_not_the_value(body, path):
    with pytest.raises(ParseError) as refusal:
        parsed(body)

    (fault,) = flatten_errors(refusal.value.detail)
    assert fault.target == path
    assert "nobody" not in fault.message


def test_invalid_json_is_refused_with_400_and_a_code(api):
    response = api.generic("POST", ADDRESS, b'{"name": "a", "name": "b"}', content_type="application/json")

    assert response.status_code == 400
    error = response.json()["error"]
    assert error == {
        "code": "duplicate_member",
        "message": "the member 'name' is given twice in one object",
        "target": None,
    }


@pytest.mark.parametrize("content_type", ["application/json", "text/json", "application/json; charset=UTF-8"])
def test_json_media_types_are_accepted(api, content_type):
    assert api.generic("POST", ADDRESS, b'{"name": "a"}', content_type=content_type).status_code == 201


@pytest.mark.parametrize(
    "content_type",
    [
        *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense", ""),
        *("application/json; charset=utf-16", "application/json; charset=latin-1"),
    ],
)
def test_other_media_types_are_refused(api, content_type):
    response = api.generic("POST", ADDRESS, b'{"name": "a"}', content_type=content_type)

    assert response.status_code == 415, response.content
    assert response.json()["error"]["code"] == "unsupported_media_type"


def test_body_is_refused_because_of_its_content_length(api, settings):
    body = b'{"name": "' + b"x" * settings.BODY_LIMIT + b'"}'

    response = api.generic("POST", ADDRESS, body, content_type="application/json")

    assert response.status_code == 413
    assert response.json()["error"]["code"] == "too_large"


def test_body_of_exactly_the_limit_is_accepted(api, settings):
    body = b'{"name": "a"' + b" " * (settings.BODY_LIMIT - 13) + b"}"

    assert len(body) == settings.BODY_LIMIT
    assert api.generic("POST", ADDRESS, body, content_type="application/json").status_code == 201


@pytest.mark.parametrize("body", [b"null", b"[]", b'"text"', b"5", b"true", b"[{}]"])
def test_body_that_is_not_an_object_is_refused(api, body):
    response = api.generic("POST", ADDRESS, body, content_type="application/json")

    assert response.status_code == 400
    assert response.json()["error"]["message"]


@pytest.mark.parametrize(
    "parameter", ["charset=bz2_codec", "charset=nonsense", "a*=nonsense''%41", "a*=idna''%41", "a*=b; a*0=c"]
)
def test_unknown_charset_is_refused_and_causes_no_error_in_django(parameter):
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": ADDRESS,
        "QUERY_STRING": "a=%41",
        "CONTENT_TYPE": f"application/json; {parameter}",
        "CONTENT_LENGTH": "2",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(b"{}"),
    }

    response = application.get_response(application.request_class(environ))

    assert response.status_code == 415
    assert json.loads(response.content)["error"]["code"] == "unsupported_media_type"


def test_body_is_parsed_in_linear_time():
    """The time does not depend on the length of a name times the number of items below it."""

    def body_of(length: int) -> bytes:
        items = b"[" + b",".join([b"1"] * LIST_LIMIT) + b"]"
        return b'{"' + b"a" * (length // 2) + b'":[' + b",".join([items] * (length // len(items) // 2)) + b"]}"

    assert_linear(parsed, body_of, 400_000)
