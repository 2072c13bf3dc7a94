"""What the outbound client sends."""

import asyncio
import base64

import pytest

from jobs.actions import http, perform
from tests.jobs.attempts import CONTEXT
from tests.jobs.http.conftest import call
from tests.peers.raw import answering


def test_request_names_its_run_in_headers(serve):
    server = serve()

    outcome = call(f"{server.url}/hook?a=1", method="POST", body="hello", headers={"X-Team": "ops"})

    (request,) = server.requests
    assert outcome.succeeded
    assert request.startswith(b"POST /hook?a=1 HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\nhello")
    assert server.headers["Host"] == f"127.0.0.1:{server.port}"
    assert server.headers["X-Team"] == "ops"
    assert server.headers["Idempotency-Key"] == str(CONTEXT.run_id)
    assert server.headers["X-Scheduler-Attempt"] == "3"
    assert server.headers["X-Scheduler-Fire-Time"] == "2026-01-05T08:00:00Z"
    assert server.headers["User-Agent"] == "Quando"


def test_uri_is_sent_unchanged(serve):
    server = serve()

    call(f"{server.url}/a%2Fb/%7Euser?q=%20x&q=a+b")

    assert server.requests[0].startswith(b"GET /a%2Fb/%7Euser?q=%20x&q=a+b HTTP/1.1")


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_every_method_is_sent(serve, method):
    server = serve(answering("204 No Content"))

    assert call(server.url, method=method).succeeded
    assert server.requests[0].startswith(method.encode())


def test_job_may_set_its_user_agent_but_not_the_id_of_a_run(serve):
    server = serve()

    call(server.url, headers={"user-agent": "mine", "idempotency-key": "forged"})

    assert server.headers["user-agent"] == "mine"
    assert server.headers["Idempotency-Key"] == str(CONTEXT.run_id)
    assert "idempotency-key" not in server.headers


def test_basic_authentication_is_sent(serve):
    server = serve()
    authentication = {"type": "Basic", "username": "ada"}

    call(server.url, {"request.authentication.password": "pässword"}, authentication=authentication)

    assert server.headers["Authorization"] == "Basic " + base64.b64encode("ada:pässword".encode()).decode()


def test_credential_of_a_header_is_sent_and_masked_in_the_response(serve):
    server = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-Seen: Bearer opensesame\r\n\r\nopensesame")
    secrets = {"request.headers.authorization": "Bearer opensesame"}

    outcome = call(server.url, secrets, headers={"Authorization": "********"})

    assert server.headers["Authorization"] == "Bearer opensesame"
    assert "opensesame" not in f"{outcome}"


def test_proxies_of_the_environment_are_not_used(serve, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server = serve()

    assert call(server.url).succeeded


def test_cookies_are_not_stored(serve):
    server = serve(answering("200 OK", "Set-Cookie: session=secret\r\n"))

    async def twice():
        async with http.open_session() as session:
            action = {"type": "Http", "request": {"uri": server.url, "method": "GET"}}
            return [await perform(action, {}, CONTEXT, session) for _ in range(2)]

    outcomes = asyncio.run(twice())

    assert all(b"Cookie" not in request for request in server.requests)
    assert dict(outcomes[0].headers)["Set-Cookie"] == "********"
