"""The outbound client against a real server on this machine."""

import asyncio
import base64
import gzip
import html
import json
import re
import socket
import time
import zlib
from datetime import timedelta
from threading import Event
from urllib.parse import quote, quote_plus

import pytest

from jobs.actions import addresses, http, perform
from tests.jobs.attempts import CONTEXT, carry_out
from tests.peers.raw import Raw, answering

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-Answer: yes\r\n\r\nthanks"


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8", "::1/128"]


@pytest.fixture
def serve(peer):
    return lambda answer=OK, **fields: peer(Raw, answer, **fields)


def call(uri, secrets=None, method="GET", context=None, **request):
    """The outcome of a request as it is stored, which nothing has checked since."""
    action = {"type": "Http", "request": {"uri": uri, "method": method, **request}}
    return carry_out([(action, secrets or {})], **(context or {}))[0]


# What is sent


def test_a_request_says_which_run_it_is_about(serve):
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


def test_an_address_is_sent_as_it_is_written(serve):
    server = serve()

    call(f"{server.url}/a%2Fb/%7Euser?q=%20x&q=a+b")

    assert server.requests[0].startswith(b"GET /a%2Fb/%7Euser?q=%20x&q=a+b HTTP/1.1")


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_every_method_is_sent(serve, method):
    server = serve(answering("204 No Content"))

    assert call(server.url, method=method).succeeded
    assert server.requests[0].startswith(method.encode())


def test_a_job_may_name_its_own_agent_but_not_another_run(serve):
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


def test_a_headers_credential_is_sent_and_hidden_where_the_target_repeats_it(serve):
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


def test_cookies_are_not_kept(serve):
    server = serve(answering("200 OK", "Set-Cookie: session=secret\r\n"))

    async def twice():
        async with http.open_session() as session:
            action = {"type": "Http", "request": {"uri": server.url, "method": "GET"}}
            return [await perform(action, {}, CONTEXT, session) for _ in range(2)]

    outcomes = asyncio.run(twice())

    assert all(b"Cookie" not in request for request in server.requests)
    assert dict(outcomes[0].headers)["Set-Cookie"] == "********"


# What is refused


@pytest.mark.parametrize(
    "uri",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://user@127.0.0.1/",
        "http://user:password@127.0.0.1/",
        "http://@127.0.0.1/",
        "gopher://127.0.0.1/",
    ],
)
def test_odd_addresses_are_refused_for_good(uri):
    outcome = call(uri)

    assert (outcome.succeeded, outcome.may_retry, outcome.status_code) == (False, False, None)
    assert "password" not in outcome.message


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "elsewhere"},
        {"Content-Length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"connection": "keep-alive"},
        {"Proxy-Authorization": "x"},
        {"Metadata-Flavor": "Google"},
        {"X-Line": "a\r\nX-Second: b"},
        {"X-Nul": "a\0b"},
        {"X\r\nX-Second": "b"},
        {"": "b"},
    ],
)
def test_headers_that_are_not_the_jobs_to_set_are_refused_before_anything_is_sent(serve, headers):
    server = serve()

    outcome = call(server.url, headers=headers)

    assert (outcome.succeeded, outcome.may_retry) == (False, False)
    assert server.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
def test_closed_addresses_are_not_called(serve, settings, host):
    settings.EGRESS_ALLOW = []
    server = serve()

    outcome = call(f"http://{host}:{server.port}/")

    assert not outcome.succeeded
    assert "was not called" in outcome.message
    assert server.requests == []


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "2130706433", "0177.0.0.1"])
def test_other_notations_of_a_closed_address_are_not_called(serve, settings, host):
    settings.EGRESS_ALLOW = []
    server = serve()

    assert not call(f"http://{host}:{server.port}/").succeeded
    assert server.requests == []


def test_a_name_that_changes_its_address_between_check_and_call_is_not_followed(serve, settings, monkeypatch):
    """What was checked is what is called: the name is looked up once, so a second answer is never asked for."""
    server = serve()
    answers = iter(["127.0.0.1", "10.0.0.1"])
    asked = []

    def rebinding(host, port, family):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr("jobs.actions.addresses.lookup", rebinding)

    assert call(f"http://rebind.example:{server.port}/").succeeded
    assert asked == ["rebind.example"]
    assert server.headers["Host"] == f"rebind.example:{server.port}"


def test_each_call_looks_its_name_up_anew(serve, monkeypatch):
    server = serve()
    answers = iter(["127.0.0.1", "10.0.0.1"])
    monkeypatch.setattr(
        "jobs.actions.addresses.lookup",
        lambda host, port, family: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))],
    )

    async def twice():
        async with http.open_session() as session:
            action = {"type": "Http", "request": {"uri": f"http://rebind.example:{server.port}/", "method": "GET"}}
            return [await perform(action, {}, CONTEXT, session) for _ in range(2)]

    first, second = asyncio.run(twice())

    assert first.succeeded
    assert "was not called" in second.message
    assert "10.0.0.1" not in second.message  # what an inner name stands for is not told outside


def test_a_name_server_that_hangs_holds_up_no_other_host(serve, monkeypatch):
    monkeypatch.setattr(http, "CONNECT_LIMIT_S", 1.0)
    server, is_over = serve(), Event()
    lookup = addresses.lookup
    asked = []

    def hanging(host, port, family):
        asked.append(host)
        if host == "hangs.example":
            is_over.wait(5)
        return lookup("127.0.0.1", port, family)

    monkeypatch.setattr("jobs.actions.addresses.lookup", hanging)
    slow = {"type": "Http", "request": {"uri": f"http://hangs.example:{server.port}/", "method": "GET"}}
    fast = {"type": "Http", "request": {"uri": f"http://answers.example:{server.port}/", "method": "GET"}}

    *hung, answered = carry_out([(slow, {})] * 300 + [(fast, {})])
    is_over.set()

    assert answered.succeeded
    assert not any(outcome.succeeded for outcome in hung)
    assert asked == ["hangs.example", "answers.example"]


# What is kept of an answer


def test_the_answer_is_kept(serve):
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


def test_no_part_of_a_credential_is_kept_where_the_body_is_cut(serve):
    server = serve(answering("200 OK", body=b"x" * (http.KEPT_LIMIT - 4) + b"opensesame"))

    outcome = call(server.url, {"request.headers.authorization": "opensesame"}, headers={"Authorization": "********"})

    assert outcome.body == "x" * (http.KEPT_LIMIT - 4) + "****"


@pytest.mark.parametrize("before", range(0, 40, 3))
def test_no_part_of_a_credential_is_kept_where_a_body_repeats_it_often(serve, before):
    secret = "".join(map(chr, range(ord("A"), ord("Z") + 1)))
    server = serve(answering("200 OK", body=b"-" * before + secret.encode() * 1000))

    outcome = call(server.url, {"request.headers.authorization": secret}, headers={"Authorization": "********"})

    assert set(outcome.body) <= {"*", "-"}


def test_only_the_beginning_of_a_body_is_kept(serve):
    outcome = call(serve(answering("200 OK", body=b"x" * 100_000)).url)

    assert outcome.succeeded
    assert outcome.body == "x" * http.KEPT_LIMIT


def test_an_endless_answer_is_cut_off(serve):
    def pour(connection):
        connection.sendall(answering("200 OK"))
        while True:
            connection.sendall(b"x" * 65_536)

    started = time.monotonic()

    assert call(serve(pour).url).succeeded
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("pack, encoding", [(gzip.compress, "gzip"), (zlib.compress, "deflate")])
def test_a_packed_answer_is_unpacked_no_further_than_it_is_kept(serve, pack, encoding):
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


def test_credentials_that_the_target_repeats_are_not_kept(serve):
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
    "spell",
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
def test_credentials_that_the_target_spells_in_another_way_are_not_kept(serve, spell):
    secret = 'öpen "/&<sesame'
    server = serve(answering("200 OK", body=f"you sent {spell(secret)}!".encode()))

    outcome = call(
        server.url,
        {"request.authentication.password": secret},
        authentication={"type": "Basic", "username": "ada"},
    )

    assert outcome.body.replace('"', "") == "you sent ********!"


# Failures


@pytest.mark.parametrize(
    "asked, seconds",
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("999999999", 999_999_999),
        ("Fri, 31 Dec 2021 23:59:59 GMT", 59),  # as counted from the answer's own Date
        ("Friday, 31-Dec-21 23:59:59 GMT", 59),
        ("Fri Dec 31 23:59:59 2021", None),  # without a zone
        ("Fri, 31 Dec 2021 23:00:00 GMT", 0),  # in its past
        ("", None),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("+5", None),
        ("9999999999", None),
        ("120, 240", None),
        ("１２０".encode().decode("latin-1"), None),
    ],
)
def test_what_a_target_asks_for_is_read_as_seconds_or_as_a_moment(serve, asked, seconds):
    headers = f"Retry-After: {asked}\r\nDate: Fri, 31 Dec 2021 23:59:00 GMT\r\n"

    retry_after = call(serve(answering("503 Service Unavailable", headers)).url).retry_after

    assert (retry_after and retry_after.total_seconds()) == seconds or (
        seconds == 0 and not retry_after.total_seconds()
    )


def test_a_target_that_succeeds_asks_for_nothing(serve):
    assert call(serve(answering("200 OK", "Retry-After: 120\r\n")).url).retry_after is None


@pytest.mark.parametrize(
    "moment", ["Fri, 31 Dec 2021 23:59:59 +99999999999999999999", "Fri, 31 Dec 2021 99999999999999999999:00:00 GMT"]
)
def test_an_impossible_moment_to_try_again_is_ignored(serve, moment):
    headers = f"Retry-After: {moment}\r\nDate: Fri, 31 Dec 2021 23:59:59 GMT\r\n"

    outcome = call(serve(answering("503 Unavailable", headers)).url)

    assert (outcome.status_code, outcome.retry_after) == (503, None)


def test_a_server_that_speaks_no_tls_is_told_as_such(serve):
    outcome = call(serve(answering("200 OK")).url.replace("http:", "https:"))

    assert outcome.message == "No connection to host '127.0.0.1': wrong version number."


def test_a_refused_connection_is_a_failure_with_its_reason():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    outcome = call(f"http://127.0.0.1:{port}/?key=secret")

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert outcome.message.startswith("No connection to host '127.0.0.1'")
    assert "refused" in outcome.message
    assert "secret" not in outcome.message


def test_an_unknown_name_is_a_failure():
    outcome = call("http://no-such-name.invalid/")

    assert outcome.message == "The name of host 'no-such-name.invalid' cannot be looked up."
    assert outcome.may_retry


def test_a_call_ends_at_its_limit(serve, monkeypatch):
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.2)

    outcome = call(serve(pause=5).url)

    assert "No complete answer" in outcome.message
    assert outcome.may_retry


@pytest.mark.parametrize("beginning", [answering("200 OK"), b"HTTP/1.1 200 OK\r\nX-Slow: "])
def test_a_trickling_answer_ends_at_the_limit_of_the_whole_call(serve, monkeypatch, beginning):
    """The limit is not one for each read, and it counts for headers as for the body."""
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.5)

    def trickle(connection):
        connection.sendall(beginning)
        while True:
            connection.sendall(b"2")
            time.sleep(0.05)

    started = time.monotonic()

    assert "No complete answer" in call(serve(trickle).url).message
    assert time.monotonic() - started < 2


def test_endless_announcements_end_at_the_limit_of_the_whole_call(serve, monkeypatch):
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.5)

    def announce(connection):
        while True:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            time.sleep(0.01)

    started = time.monotonic()

    assert not call(serve(announce).url).succeeded
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_that_is_not_made_in_time_is_given_up(monkeypatch, scheme):
    """Nobody accepts, and nobody shakes hands."""
    monkeypatch.setattr(http, "CONNECT_LIMIT_S", 0.3)
    monkeypatch.setattr(http, "CALL_LIMIT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        outcome = call(f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/")

    within = "connection to" if scheme == "https" else "complete answer from"
    assert outcome.message.startswith(f"No {within} host '127.0.0.1' within")
    assert outcome.may_retry


def test_a_name_that_takes_too_long_to_look_up_is_given_up(monkeypatch):
    monkeypatch.setattr(http, "CONNECT_LIMIT_S", 0.2)
    monkeypatch.setattr("jobs.actions.addresses.lookup", lambda host, port, family: time.sleep(1))
    started = time.monotonic()

    outcome = call("http://slow.example/")

    assert outcome.message == "No connection to host 'slow.example' within 0 seconds."
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        answering("200 OK", "".join(f"X-{number}: {'y' * 1000}\r\n" for number in range(100))),
    ],
)
def test_a_broken_answer_is_a_failure_and_not_an_error(serve, answer):
    outcome = call(serve(answer).url)

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert "127.0.0.1" in outcome.message
