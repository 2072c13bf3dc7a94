"""Chunked bodies, from clients that do not know the length in advance, in each protocol."""

import http.client
import json

import pytest
from django.conf import settings

from tests.live.installation import COLLECTION, VERSION

COLLECTION_BODY = {"location": "westus", "properties": {"sku": {"name": "P20Premium"}}}
SPACE = b" " * (settings.BODY_LIMIT // 2)


@pytest.fixture
def send(live):
    def send_chunked(method: str, path: str, *parts: bytes) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)
        headers = {"Authorization": f"Bearer {live.token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, iter(parts), headers, encode_chunked=True)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    return send_chunked


@pytest.mark.parametrize(
    "method, path, body, error",
    [
        ("POST", "/api/resources", {"name": "in-pieces"}, "too_large"),
        ("PUT", COLLECTION.format("in-pieces") + VERSION, COLLECTION_BODY, "RequestTooLarge"),
        ("POST", "/v1.0/me/calendars", {"name": "in pieces"}, None),
    ],
)
def test_body_can_be_chunked(send, method, path, body, error):
    text = json.dumps(body).encode()

    refused = send(method, path, text, SPACE, SPACE, SPACE)
    taken = send(method, path, text[:5], text[5:])

    assert refused[0] == 413, refused
    assert error is None or refused[1]["error"]["code"] == error
    assert taken[0] == 201, taken
