"""How a request becomes whole before a thread answers it."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.http import FileResponse
from django.urls import reverse

from scheduler_site import asgi

PIECES = ("transfer-encoding", "chunked")


def scope(path: str = "/nowhere", method: str = "POST", headers: tuple = (), **fields) -> dict:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "raw_path": path.encode(),
        "query_string": b"",
        "server": ("127.0.0.1", "8000"),
        "client": ("192.0.2.7", "50000"),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    } | fields


def ask(request: dict, *messages, pause: float = 0.0) -> tuple[int, dict, bytes]:
    """Have the application answer; after the given messages, a client that says nothing more."""
    sent = []

    async def receive():
        await asyncio.sleep(pause)
        if not received:
            await asyncio.Event().wait()
        return received.pop(0)

    async def send(message):
        sent.append(message)

    received = list(messages)
    asyncio.run(asgi.application(request, receive, send))
    start, *pieces = sent
    return start["status"], dict(start["headers"]), b"".join(piece["body"] for piece in pieces)


def piece(body: bytes, more: bool = False) -> dict:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.fixture
def seen(monkeypatch):
    """The environ and the body with which the WSGI application is called."""
    calls = []

    def application(environ, start_response):
        calls.append((environ, environ["wsgi.input"].read(), threading.current_thread().name))
        start_response("200 OK", [("Content-Type", "text/plain")])
        return Chunks([b"an", b"swer"])

    monkeypatch.setattr(asgi.wsgi, "application", application)
    return calls


class Chunks(list):
    def close(self):
        self.append(b"closed too early")


def test_a_whole_request_is_answered_by_a_thread(seen):
    request = scope(
        "/caf%C3%A9/%FF", "POST", (("host", "here"), ("content-length", "5"), ("content-type", "text/plain"))
    )

    answer = ask(request, piece(b"he", more=True), piece(b"llo"))

    ((environ, body, thread),) = seen
    assert answer == (200, {b"content-type": b"text/plain"}, b"answer")
    assert body == b"hello"
    assert environ["PATH_INFO"].encode("latin-1") == b"/caf\xc3\xa9/\xff"
    assert (environ["CONTENT_LENGTH"], environ["CONTENT_TYPE"]) == ("5", "text/plain")
    assert (environ["HTTP_HOST"], environ["REMOTE_ADDR"]) == ("here", "192.0.2.7")
    assert thread.startswith("request")


def test_many_requests_wait_for_a_few_threads(monkeypatch):
    running, most = set(), set()

    def application(environ, start_response):
        running.add(threading.current_thread())
        most.add(len(running))
        time.sleep(0.002)
        running.discard(threading.current_thread())
        start_response("200 OK", [])
        return Chunks()

    monkeypatch.setattr(asgi.wsgi, "application", application)
    with ThreadPoolExecutor(20) as clients:
        statuses = [status for status, _, _ in clients.map(lambda _: ask(scope(method="GET")), range(60))]

    assert statuses == [200] * 60
    assert max(most) == asgi.THREADS


PASSWORD = scope("/api/jobs", "GET", (("authorization", "Basic YTpi"),))
IMPORT = scope("/api/calendars/0123/import")


def whose_turn(monkeypatch, slow: dict, other: dict, turns: int) -> list[int]:
    """Send `slow` thirty times, then `other`, which must be answered while the slow ones last.

    Return how many slow ones were answered at once.
    """
    is_over, at_once, running = threading.Event(), [], set()

    def application(environ, start_response):
        if environ["REMOTE_ADDR"] == "192.0.2.7":
            running.add(threading.current_thread())
            at_once.append(len(running))
            is_over.wait(10)
            running.discard(threading.current_thread())
        start_response("200 OK", [])
        return Chunks()

    async def ask_all() -> None:
        waiting = [asyncio.create_task(status_of(slow)) for _ in range(30)]
        await asyncio.sleep(0.05)
        try:
            assert await asyncio.wait_for(status_of(other | {"client": ("192.0.2.8", "50000")}), 5) == 200
        finally:
            is_over.set()
        assert await asyncio.gather(*waiting) == [200] * 30

    monkeypatch.setattr(asgi.wsgi, "application", application)
    monkeypatch.setattr(asgi, "passwords", asgi.SlowRequests(turns, turns_of_address=2))
    monkeypatch.setattr(asgi, "imports", asgi.SlowRequests(1, turns_of_address=1))
    asyncio.run(ask_all())
    return at_once


@pytest.mark.parametrize(
    "slow, turns",
    [
        (PASSWORD, 2),
        (scope("/x", headers=(("authorization", " basic"),)), 2),
        (scope("/sign-in/"), 2),
        (scope("/account/password/"), 2),
        (IMPORT, 1),
        (scope("/api/calendars/0123/import/", headers=(("authorization", "Basic YTpi"),)), 1),
        (scope("/calendar/calendars/import"), 1),
    ],
)
def test_slow_requests_leave_threads_to_others(monkeypatch, slow, turns):
    assert max(whose_turn(monkeypatch, slow, scope("/other", "GET"), turns=2)) == turns


def test_passwords_from_one_address_do_not_keep_others_waiting(monkeypatch):
    whose_turn(monkeypatch, PASSWORD, PASSWORD, turns=3)


def test_a_long_answer_does_not_keep_passwords_waiting(monkeypatch):
    monkeypatch.setattr(asgi, "passwords", asgi.SlowRequests(1, 1, longest_s=0.05))
    is_over = threading.Event()

    def application(environ, start_response):
        if environ["REMOTE_ADDR"] == "192.0.2.7":
            is_over.wait(10)
        start_response("200 OK", [])
        return Chunks()

    async def ask_both() -> None:
        first = asyncio.create_task(status_of(PASSWORD))
        await asyncio.sleep(0.01)
        try:
            assert await asyncio.wait_for(status_of(PASSWORD | {"client": ("192.0.2.8", "1")}), 5) == 200
        finally:
            is_over.set()
        assert await first == 200

    monkeypatch.setattr(asgi.wsgi, "application", application)
    asyncio.run(ask_both())


async def status_of(request: dict) -> int:
    sent = []

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    await asgi.application(request, receive, send)
    return sent[0]["status"]


def test_slow_addresses_are_those_of_the_views():
    pages = [reverse("account:sign-in"), reverse("account:password")]
    calendar = "01234567-89ab-cdef-0123-456789abcdef"

    assert [*asgi.PASSWORD_PAGES] == pages
    for address in (reverse("calendar:import"), reverse("calendar-import", args=[calendar])):
        assert asgi.IMPORTS.fullmatch(address), address


def test_a_body_that_stops_is_refused_and_takes_no_thread(seen, monkeypatch):
    monkeypatch.setattr(asgi, "BODY_WITHIN_S", 0.05)

    status, headers, _ = ask(scope(headers=(("content-length", "5000"),)), piece(b"a few bytes", more=True))

    assert (status, headers[b"connection"]) == (408, b"close")
    assert seen == []


def test_a_body_that_trickles_is_refused(seen, monkeypatch):
    """Each piece comes long before the deadline, which is that of the whole body."""
    monkeypatch.setattr(asgi, "BODY_WITHIN_S", 0.2)

    trickle = [piece(b"x", more=True)] * 4000
    status, _, _ = ask(scope(headers=(("content-length", "5000"),)), *trickle, pause=0.005)

    assert status == 408


def test_a_large_body_has_longer(seen, monkeypatch):
    """Pieces that come faster than the least rate, and over more time than a small body has."""
    monkeypatch.setattr(asgi, "BODY_WITHIN_S", 0.2)
    monkeypatch.setattr(asgi, "BODY_BYTES_PER_S", 100)

    pieces = [piece(b"x" * 1000, more=True)] * 9 + [piece(b"x" * 1000)]
    status, _, _ = ask(scope(headers=(("content-length", "10000"),)), *pieces, pause=0.05)

    assert status == 200


@pytest.mark.parametrize("name", ["content-type", "accept", "x-other"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_long_header_is_refused_and_takes_no_thread(seen, name, times):
    value = 'text/html;a="' + ";" * (asgi.HEADER_LIMIT // times)

    status, headers, _ = ask(scope(method="GET", headers=((name, value),) * times))

    assert (status, headers[b"connection"]) == (431, b"close")
    assert seen == []


def test_a_long_path_is_refused_and_takes_no_thread(seen):
    status, headers, _ = ask(scope(method="GET", path="/" * (asgi.PATH_LIMIT + 1)))

    assert (status, headers[b"connection"]) == (414, b"close")
    assert seen == []


def test_a_long_query_is_taken(seen):
    status, _, _ = ask(scope(method="GET", path="/" * asgi.PATH_LIMIT, query_string=b"q=" + b"a" * 8_000))

    assert status == 200


def test_a_header_of_common_length_is_taken(seen):
    status, _, _ = ask(scope(method="GET", headers=(("referer", "http://a/" + "b" * 8_000),)))

    assert status == 200


def test_a_body_in_pieces_gets_a_length(seen):
    ask(scope(headers=(PIECES,)), piece(b"{}", more=True), piece(b""))

    ((environ, body, _),) = seen
    assert (environ["CONTENT_LENGTH"], body) == ("2", b"{}")


def test_of_a_body_in_pieces_no_more_is_received_than_refuses_it(seen):
    mebibyte = piece(b"x" * 1_048_576, more=True)

    ask(scope(headers=(PIECES,)), *[mebibyte] * 10)

    ((environ, body, _),) = seen
    assert int(environ["CONTENT_LENGTH"]) == len(body) == 2 * settings.BODY_LIMIT


def test_a_body_that_announces_too_much_is_not_received(seen):
    """The views refuse it by its length."""
    ask(scope(headers=(("content-length", "5000000000"),)), piece(b"x", more=True))

    ((environ, body, _),) = seen
    assert (environ["CONTENT_LENGTH"], body) == ("5000000000", b"")


def test_pieces_that_cannot_be_read_are_refused(seen):
    status, _, _ = ask(scope(headers=(PIECES,)), {"type": "http.disconnect"})

    assert status == 400
    assert seen == []


@pytest.fixture
def large(monkeypatch, tmp_path):
    """A static file that the WSGI application answers with."""
    path = tmp_path / "large"
    path.write_bytes(b"x" * 20 * asgi.ANSWER_PIECE)
    file = path.open("rb")

    def application(environ, start_response):
        start_response("200 OK", [])
        return FileResponse(file)

    monkeypatch.setattr(asgi.wsgi, "application", application)
    return file


def test_a_file_is_read_no_faster_than_the_client_takes_it(large):
    places = []

    async def send(message):
        places.append(large.tell())

    asyncio.run(asgi.application(scope(method="GET"), None, send))

    assert places[:3] == [0, 2 * asgi.ANSWER_PIECE, 3 * asgi.ANSWER_PIECE]
    assert large.closed


def test_a_client_that_stops_reading_loses_its_connection(large, monkeypatch):
    monkeypatch.setattr(asgi, "ANSWER_WITHIN_S", 0.1)
    monkeypatch.setattr(asgi, "BODY_BYTES_PER_S", 1_000_000_000)

    async def send(message):
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    asyncio.run(asyncio.wait_for(asgi.application(scope(method="GET"), None, send), timeout=20))

    assert large.closed


def test_a_large_answer_has_longer(large, monkeypatch):
    """Pieces that are taken faster than the least rate, and over more time than a small answer has."""
    monkeypatch.setattr(asgi, "ANSWER_WITHIN_S", 0.3)
    monkeypatch.setattr(asgi, "BODY_BYTES_PER_S", asgi.ANSWER_PIECE)
    taken = []

    async def send(message):
        await asyncio.sleep(0.03)
        taken.append(message.get("body", b""))

    asyncio.run(asgi.application(scope(method="GET"), None, send))

    assert b"".join(taken) == b"x" * 20 * asgi.ANSWER_PIECE


def test_a_request_without_a_body_waits_for_none(seen):
    assert ask(scope(method="GET"))[0] == 200


def test_a_header_cannot_pass_for_that_of_a_proxy(seen):
    headers = (("x-forwarded-for", "198.51.100.1"), ("x_forwarded_for", "203.0.113.9"), ("x-forwarded-for", "10.0.0.1"))

    ask(scope(method="GET", headers=headers))

    ((environ, _, _),) = seen
    assert environ["HTTP_X_FORWARDED_FOR"] == "198.51.100.1,10.0.0.1"


def test_cookies_of_several_lines_are_one(seen):
    ask(scope(method="GET", headers=(("cookie", "a=1"), ("cookie", "b=2"))))

    ((environ, _, _),) = seen
    assert environ["HTTP_COOKIE"] == "a=1;b=2"
