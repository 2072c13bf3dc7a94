"""What is stored of a response."""

import base64
import gzip
import html
import json
import re
import time
import zlib
from urllib.parse import quote, quote_plus

import pytest

from jobs.actions import http
from tests.jobs.http.conftest import call
from tests.peers.raw import answering


def test_response_is_stored(serve):
    outcome = call(serve().url)

    assert outcome.message == "Host '127.0.0.1' answered 'OK'."
    assert (outcome.status_code, outcome.body) == (200, "thanks")
    assert ("X-Answer", "yes") in outcome.headers


@pytest.mark.parametrize(
    "status, succeeded",
    [
        ("200 OK", True),
        ("202 Accepted", True),
        ("299 Odd", True),
        ("304 Not Modified", False),
        ("404 Not Found", False),
        ("503 Service Unavailable", False),
    ],
)
def test_only_2xx_is_success(serve, status, succeeded):
    assert call(serve(answering(status)).url).succeeded is succeeded


def test_redirects_are_not_followed(serve):
    elsewhere = serve()
    server = serve(answering("302 Found", f"Location: {elsewhere.url}\r\n"))

    outcome = call(server.url)

    assert (outcome.succeeded, outcome.status_code) == (False, 302)
    assert "not followed" in outcome.message
    assert elsewhere.requests == []


def test_no_part_of_a_credential_is_stored_where_the_body_is_cut(serve):
    server = serve(answering("200 OK", body=b"x" * (http.KEPT_LIMIT - 4) + b"opensesame"))

    outcome = call(server.url, {"request.headers.authorization": "opensesame"}, headers={"Authorization": "********"})

    assert outcome.body == "x" * (http.KEPT_LIMIT - 4) + "****"


@pytest.mark.parametrize("before", range(0, 40, 3))
def test_no_part_of_a_credential_is_stored_when_a_body_repeats_it_often(serve, before):
    secret = "".join(map(chr, range(ord("A"), ord("Z") + 1)))
    server = serve(answering("200 OK", body=b"-" * before + secret.encode() * 1000))

    outcome = call(server.url, {"request.headers.authorization": secret}, headers={"Authorization": "********"})

    assert set(outcome.body) <= {"*", "-"}


def test_only_the_beginning_of_a_body_is_stored(serve):
    outcome = call(serve(answering("200 OK", body=b"x" * 100_000)).url)

    assert outcome.succeeded
    assert outcome.body == "x" * http.KEPT_LIMIT


def test_endless_response_is_cut_off(serve):
    def pour(connection):
        connection.sendall(answering("200 OK"))
        while True:
            connection.sendall(b"x" * 65_536)

    started = time.monotonic()

    assert call(serve(pour).url).succeeded
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("pack, encoding", [(gzip.compress, "gzip"), (zlib.compress, "deflate")])
def test_compressed_response_is_decompressed_only_as_far_as_it_is_stored(serve, pack, encoding):
    server = serve(answering("200 OK", f"Content-Encoding: {encoding}\r\n", pack(b"0" * 20_000_000)))

    assert call(server.url).body == "0" * http.KEPT_LIMIT


def test_a_body_that_is_not_text_can_be_stored(serve):
    outcome = call(serve(answering("200 OK", body=b"a\0b\xff\xfec")).url)

    assert outcome.body == "a\ufffdb\ufffd\ufffdc"


def test_a_character_is_not_cut_in_half(serve):
    outcome = call(serve(answering("200 OK", body=("x" + "ä" * 3000).encode())).url)

    assert outcome.body == "x" + "ä" * 1023


def test_headers_that_are_not_text_can_be_stored(serve):
    outcome = call(serve(answering("200 OK", "X-Odd: ")[:-4] + b"\xff\r\n\r\n").url)

    assert all("\udcff" not in value for _, value in outcome.headers)


def test_credentials_that_the_target_repeats_are_not_stored(serve):
    credential = base64.b64encode(b"ada:swordfish").decode()
    server = serve(answering("200 OK", f"X-Echo: {credential}\r\n", f"you sent {credential}, swordfish".encode()))

    outcome = call(
        server.url,
        {"request.authentication.password": "swordfish"},
        authentication={"type": "Basic", "username": "ada"},
    )

    assert outcome.body == "you sent ********, ********"
    assert dict(outcome.headers)["X-Echo"] == "********"


@pytest.mark.parametrize(
    "encode",
    [
        json.dumps,
        lambda secret: json.dumps(secret).replace("/", r"\/"),
        lambda secret: json.dumps(secret, ensure_ascii=False),
        quote_plus,
        lambda secret: quote(secret, safe=""),
        lambda secret: re.sub("%..", lambda match: match[0].lower(), quote(secret)),
        html.escape,
        lambda secret: base64.b64encode(secret.encode()).decode(),
    ],
)
def test_credentials_that_the_target_encodes_are_not_stored(serve, encode):
    secret = 'öpen "/&<sesame'
    server = serve(answering("200 OK", body=f"you sent {encode(secret)}!".encode()))

    outcome = call(
        server.url,
        {"request.authentication.password": secret},
        authentication={"type": "Basic", "username": "ada"},
    )

    assert outcome.body.replace('"', "") == "you sent ********!"
