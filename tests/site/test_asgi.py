"""The ASGI application receives a whole request before it passes it to a thread."""

import asyncio
import threading
import time
import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import count, cycle, islice

import pytest
from django.conf import settings
from django.http import FileResponse
from django.urls import reverse

from scheduler_site import asgi

CHUNKED = ("transfer-encoding", "chunked")


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


def call_application(request: dict, *messages, pause: float = 0.0) -> tuple[int, dict, bytes]:
    """Return the response of the application to a client that sends the given messages and then nothing more."""
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
def wsgi_calls(monkeypatch):
    """The calls of the WSGI application: environ, body and name of the thread."""
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


def test_complete_request_is_passed_to_a_thread(wsgi_calls):
    request = scope(
        "/caf%C3%A9/%FF", "POST", (("host", "here"), ("content-length", "5"), ("content-type", "text/plain"))
    )

    answer = call_application(request, piece(b"he", more=True), piece(b"llo"))

    ((environ, body, thread),) = wsgi_calls
    assert answer == (200, {b"content-type": b"text/plain"}, b"answer")
    assert body == b"hello"
    assert environ["PATH_INFO"].encode("latin-1") == b"/caf\xc3\xa9/\xff"
    assert (environ["CONTENT_LENGTH"], environ["CONTENT_TYPE"]) == ("5", "text/plain")
    assert (environ["HTTP_HOST"], environ["REMOTE_ADDR"]) == ("here", "192.0.2.7")
    assert thread.startswith("request")


def test_number_of_threads_is_limited_and_lower_for_one_address(monkeypatch):
    running, running_counts = set(), set()

    def application(environ, start_response):
        running.add(threading.current_thread())
        running_counts.add(len(running))
        time.sleep(0.002)
        running.discard(threading.current_thread())
        start_response("200 OK", [])
        return Chunks()

    async def send_all(addresses: int) -> list[int]:
        requests = [scope(method="GET", client=(f"192.0.2.{number % addresses}", "1")) for number in range(60)]
        return await asyncio.gather(*map(status_of, requests))

    monkeypatch.setattr(asgi.wsgi, "application", application)
    assert asyncio.run(send_all(addresses=20)) == [200] * 60
    assert max(running_counts) == asgi.THREADS
    running_counts.clear()
    assert asyncio.run(send_all(addresses=1)) == [200] * 60
    assert max(running_counts) == asgi.THREADS - 1


PASSWORD = scope("/api/jobs", "GET", (("authorization", "Basic YTpi"),))
IMPORT = scope("/api/calendars/0123/import")


def run_slow_requests_and_another(monkeypatch, slow: dict, other: dict, turns: int) -> list[int]:
    """Send `slow` thirty times, then `other`, which must get its response while the slow ones are still running.

    Return, for each slow request, how many slow requests were running when it started.
    """
    is_over, running_counts, running = threading.Event(), [], set()

    def application(environ, start_response):
        if environ["REMOTE_ADDR"] == "192.0.2.7":
            running.add(threading.current_thread())
            running_counts.append(len(running))
            is_over.wait(10)
            running.discard(threading.current_thread())
        start_response("200 OK", [])
        return Chunks()

    async def send_all() -> None:
        waiting = [asyncio.create_task(status_of(slow)) for _ in range(30)]
        await asyncio.sleep(0.05)
        try:
            assert await asyncio.wait_for(status_of(other | {"client": ("192.0.2.8", "50000")}), 5) == 200
        finally:
            is_over.set()
        assert await asyncio.gather(*waiting) == [200] * 30

    monkeypatch.setattr(asgi.wsgi, "application", application)
    monkeypatch.setattr(asgi, "passwords", asgi.Turns(turns, of_address=2))
    monkeypatch.setattr(asgi, "imports", asgi.Turns(1, of_address=1))
    asyncio.run(send_all())
    return running_counts


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
def test_number_of_slow_requests_is_limited(monkeypatch, slow, turns):
    assert max(run_slow_requests_and_another(monkeypatch, slow, scope("/other", "GET"), turns=2)) == turns


def test_password_checks_of_one_address_do_not_delay_other_addresses(monkeypatch):
    run_slow_requests_and_another(monkeypatch, PASSWORD, PASSWORD, turns=3)


def test_long_response_does_not_delay_password_checks(monkeypatch):
    monkeypatch.setattr(asgi, "passwords", asgi.Turns(1, 1, longest_s=0.05))
    is_over = threading.Event()

    def application(environ, start_response):
        if environ["REMOTE_ADDR"] == "192.0.2.7":
            is_over.wait(10)
        start_response("200 OK", [])
        return Chunks()

    async def send_both() -> None:
        first = asyncio.create_task(status_of(PASSWORD))
        await asyncio.sleep(0.01)
        try:
            assert await asyncio.wait_for(status_of(PASSWORD | {"client": ("192.0.2.8", "1")}), 5) == 200
        finally:
            is_over.set()
        assert await first == 200

    monkeypatch.setattr(asgi.wsgi, "application", application)
    asyncio.run(send_both())


async def still_connected() -> dict:
    """The `receive` of a request whose client sends nothing more and waits."""
    await asyncio.Event().wait()


async def order_of_turns(turns: asgi.Turns, *callers: asgi.Caller, late: tuple[asgi.Caller, ...] = ()) -> list:
    """Return the callers in the order of their turns; the `late` ones arrive after the third turn."""
    order, tasks = [], []

    async def answer(caller: asgi.Caller) -> None:
        order.append(caller)
        await asyncio.sleep(0)
        if len(order) == 3:
            tasks.extend(
                asyncio.create_task(turns.answer(each, lambda each=each: answer(each), still_connected))
                for each in late
            )

    tasks.extend(
        asyncio.create_task(turns.answer(each, lambda each=each: answer(each), still_connected)) for each in callers
    )
    while not all(task.done() for task in tasks):
        await asyncio.gather(*tasks)
    return order


def test_next_turn_goes_to_the_address_that_waits_longest_for_one():
    flood = [asgi.Caller(f"192.0.2.{number}", 0) for number in range(20) for _ in range(2)]
    late = asgi.Caller("198.51.100.1", 0)

    order = asyncio.run(order_of_turns(asgi.Turns(1, of_address=1), *flood, late=(late, late)))

    assert len(order) == 42
    assert order[:20] == flood[0:40:2]
    assert order.index(late) == 22  # after the two whose turns were before the latest one


def test_late_address_waits_for_one_turn_of_each_present_address():
    turns = asgi.Turns(1, of_address=1)
    flood = [asgi.Caller(f"192.0.2.{number % 4}", 0) for number in range(40)]
    asyncio.run(order_of_turns(turns, *flood))
    late = asgi.Caller("198.51.100.1", 0)

    assert asyncio.run(order_of_turns(turns, *flood, late=(late,))).index(late) <= 3 + 4


async def turns_until_third_answer(busy: asgi.Caller, others: Iterator[asgi.Caller]) -> int:
    """Return how many turns are given until `busy`, which sends one request after the other, has had three.

    Two of the others arrive during each turn.
    """
    turns, order, tasks = asgi.Turns(1, of_address=1), [], []

    def arrive(*callers: asgi.Caller) -> None:
        tasks.extend(
            asyncio.create_task(turns.answer(each, partial(answer, each), still_connected)) for each in callers
        )

    async def answer(caller: asgi.Caller) -> None:
        order.append(caller)
        arrive(*islice(others, 2), *[busy] * (caller == busy))

    await order_of_turns(turns, *islice(others, 50))
    arrive(busy)
    while order.count(busy) < 3 and len(order) < 100:
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return len(order)


@pytest.mark.parametrize(
    "others",
    [
        (asgi.Caller(f"2001:db8:{number:x}::/48", 0) for number in count()),
        cycle([asgi.Caller(f"198.51.100.{number}", 0) for number in range(50)]),  # each has had a turn before
        (asgi.Caller("192.0.2.1", number) for number in count(2)),  # credentials of the same address
    ],
    ids=["new addresses", "many addresses", "new credentials"],
)
def test_stream_of_others_does_not_starve_a_caller_at_work(monkeypatch, others):
    monkeypatch.setattr(asgi, "HEAD_START", 5)

    assert asyncio.run(turns_until_third_answer(asgi.Caller("192.0.2.1", 1), others)) < 60


def test_networks_of_one_site_are_one_caller(wsgi_calls):
    addresses = ("2001:db8:1::1", "2001:db8:1:2::1", "2001:db8:2::1")

    callers = [asgi.Caller.of(asgi.environ_of(scope(client=(address, "1")))) for address in addresses]

    assert callers[0] == callers[1] != callers[2]


def run_request_that_waits(monkeypatch, *messages: dict) -> tuple[list[bytes], list[dict]]:
    """Send a request for `/second` while another one has the only turn; the client then sends the messages.

    Return the paths that were answered and what was sent to the client.
    """
    is_over, answered, sent = threading.Event(), [], []

    def application(environ, start_response):
        is_over.wait(5)
        answered.append(environ["PATH_INFO"])
        start_response("200 OK", [])
        return Chunks([b"answer"])

    async def receive() -> dict:
        return received.pop(0) if received else await still_connected()

    async def send(message: dict) -> None:
        sent.append(message)

    async def send_both() -> None:
        first = asyncio.create_task(status_of(scope("/first", "GET")))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(asgi.application(scope("/second", headers=BODY), receive, send))
        done, _ = await asyncio.wait([second], timeout=0.1)
        was_dropped.append(bool(done))
        is_over.set()
        await asyncio.gather(first, second)

    received, was_dropped = [piece(b"x" * 5, more=True), *messages], []
    monkeypatch.setattr(asgi.wsgi, "application", application)
    monkeypatch.setattr(asgi, "answers", asgi.Turns(1, of_address=1))
    asyncio.run(asyncio.wait_for(send_both(), 10))
    assert was_dropped == [not sent]
    return answered, sent


BODY = (("content-length", "5"),)
DISCONNECT = {"type": "http.disconnect"}


@pytest.mark.parametrize("messages", [(DISCONNECT,), (piece(b""), DISCONNECT)])
def test_request_of_a_client_that_hangs_up_is_dropped_at_once(monkeypatch, messages):
    assert run_request_that_waits(monkeypatch, piece(b""), *messages) == (["/first"], [])


def test_request_of_a_client_that_waits_is_answered(monkeypatch):
    answered, sent = run_request_that_waits(monkeypatch, piece(b""))

    assert answered == ["/first", "/second"]
    assert sent[0]["status"] == 200


def test_place_of_a_request_whose_client_hung_up_goes_to_the_next(monkeypatch):
    turns = asgi.Turns(1, of_address=1)
    first, gone, third = (asgi.Caller(f"192.0.2.{number}", 0) for number in range(3))
    answered = []

    async def answer(caller: asgi.Caller) -> None:
        await is_over.wait()
        answered.append(caller)

    async def hung_up() -> dict:
        return DISCONNECT

    async def ask_all() -> list:
        receives = {first: still_connected, gone: hung_up, third: still_connected}
        tasks = [
            asyncio.create_task(turns.answer(caller, partial(answer, caller), receive))
            for caller, receive in receives.items()
        ]
        with pytest.raises(asgi.ClientDisconnected):
            await tasks[1]
        is_over.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    is_over = asyncio.Event()
    asyncio.run(asyncio.wait_for(ask_all(), 5))

    assert answered == [first, third]
    assert turns._waiting == {}


def test_request_that_has_begun_goes_on_without_its_client(wsgi_calls):
    status, _, _ = call_application(scope(headers=BODY), piece(b"hello"), DISCONNECT)

    assert status == 200


def test_headers_that_are_long_together_are_refused_without_a_thread(wsgi_calls):
    half = "a" * (asgi.HEADERS_LIMIT // 8)
    headers = [(f"x-{number}", half) for number in range(4)]

    accepted, *_ = call_application(scope(method="GET", headers=tuple(headers), query_string=b"q=" + b"a" * 8_000))
    calls = len(wsgi_calls)
    status, answered, body = call_application(scope(method="GET", headers=tuple(headers), query_string=b"q" * 17_000))

    assert (accepted, calls) == (200, len(wsgi_calls)) == (200, 1)
    assert (status, answered[b"connection"]) == (431, b"close")
    assert str(asgi.HEADERS_LIMIT) in body.decode()


@pytest.mark.parametrize("name", ["x-{}", "x-{}-" + "n" * 400])
def test_many_headers_are_refused_without_a_thread(wsgi_calls, name):
    headers = tuple((name.format(number), "a" * (400 if "n" in name else 800)) for number in range(50))

    assert call_application(scope(method="GET", headers=headers))[0] == 431
    assert wsgi_calls == []


def test_credentials_of_one_address_take_turns():
    busy, other = asgi.Caller("192.0.2.1", 1), asgi.Caller("192.0.2.1", 2)

    order = asyncio.run(order_of_turns(asgi.Turns(1, of_address=1), *[busy] * 30, late=(other, other)))

    assert order[:7].count(other) == 2


@pytest.mark.parametrize("is_given", [False, True])
def test_request_that_is_cancelled_before_its_response_keeps_no_turn(is_given):
    turns = asgi.Turns(1, of_address=1)
    first, second = (asgi.Caller(f"192.0.2.{number}", 0) for number in range(2))

    async def ask_and_cancel() -> list:
        is_over = asyncio.Event()
        running = asyncio.create_task(turns.answer(first, is_over.wait, still_connected))
        waiting = asyncio.create_task(turns.answer(second, is_over.wait, still_connected))
        await asyncio.sleep(0)
        if is_given:
            turns._end(first)
        waiting.cancel()
        is_over.set()
        await asyncio.gather(running, waiting, return_exceptions=True)
        return await order_of_turns(turns, first, second)

    assert asyncio.run(asyncio.wait_for(ask_and_cancel(), 5)) == [first, second]


def test_number_of_remembered_callers_is_limited(monkeypatch):
    monkeypatch.setattr(asgi, "CALLERS_REMEMBERED", 10)
    turns = asgi.Turns(1, of_address=1)

    asyncio.run(order_of_turns(turns, *[asgi.Caller(f"192.0.2.{number}", 0) for number in range(30)]))

    assert len(turns._last_turns) == 10


async def status_of(request: dict) -> int:
    sent = []

    async def send(message):
        sent.append(message)

    await asgi.application(request, still_connected, send)
    return sent[0]["status"]


def test_addresses_of_slow_requests_match_the_routes():
    pages = [reverse("account:sign-in"), reverse("account:password")]
    calendar = "01234567-89ab-cdef-0123-456789abcdef"

    assert [*asgi.PASSWORD_PAGES] == pages
    for address in (reverse("calendar:import"), reverse("calendar-import", args=[calendar])):
        assert asgi.IMPORTS.fullmatch(address), address


def test_body_that_stops_is_refused_without_a_thread(wsgi_calls, monkeypatch):
    monkeypatch.setattr(asgi, "BODY_WITHIN_S", 0.05)

    status, headers, _ = call_application(
        scope(headers=(("content-length", "5000"),)), piece(b"a few bytes", more=True)
    )

    assert (status, headers[b"connection"]) == (408, b"close")
    assert wsgi_calls == []


def test_slow_body_is_refused(wsgi_calls, monkeypatch):
    """Each piece comes long before the deadline, which is that of the whole body."""
    monkeypatch.setattr(asgi, "BODY_WITHIN_S", 0.2)

    trickle = [piece(b"x", more=True)] * 4000
    status, _, _ = call_application(scope(headers=(("content-length", "5000"),)), *trickle, pause=0.005)

    assert status == 408


def test_large_body_gets_more_time(wsgi_calls, monkeypatch):
    """The parts arrive faster than the minimum rate, and take longer than a small body may take."""
    monkeypatch.setattr(asgi, "BODY_WITHIN_S", 0.2)
    monkeypatch.setattr(asgi, "BODY_BYTES_PER_S", 100)

    pieces = [piece(b"x" * 1000, more=True)] * 9 + [piece(b"x" * 1000)]
    status, _, _ = call_application(scope(headers=(("content-length", "10000"),)), *pieces, pause=0.05)

    assert status == 200


@pytest.mark.parametrize("name", ["content-type", "accept", "x-other"])
@pytest.mark.parametrize("times", [1, 2])
def test_long_header_is_refused_without_a_thread(wsgi_calls, name, times):
    value = 'text/html;a="' + ";" * (asgi.HEADER_LIMIT // times)

    status, headers, _ = call_application(scope(method="GET", headers=((name, value),) * times))

    assert (status, headers[b"connection"]) == (431, b"close")
    assert wsgi_calls == []


def test_long_path_is_refused_without_a_thread(wsgi_calls):
    status, headers, _ = call_application(scope(method="GET", path="/" * (asgi.PATH_LIMIT + 1)))

    assert (status, headers[b"connection"]) == (414, b"close")
    assert wsgi_calls == []


def test_long_query_is_accepted(wsgi_calls):
    status, _, _ = call_application(scope(method="GET", path="/" * asgi.PATH_LIMIT, query_string=b"q=" + b"a" * 8_000))

    assert status == 200


def test_header_of_usual_length_is_accepted(wsgi_calls):
    status, _, _ = call_application(scope(method="GET", headers=(("referer", "http://a/" + "b" * 8_000),)))

    assert status == 200


def test_chunked_body_gets_a_content_length(wsgi_calls):
    call_application(scope(headers=(CHUNKED,)), piece(b"{}", more=True), piece(b""))

    ((environ, body, _),) = wsgi_calls
    assert (environ["CONTENT_LENGTH"], body) == ("2", b"{}")


def test_chunked_body_is_received_only_until_it_is_too_large(wsgi_calls):
    mebibyte = piece(b"x" * 1_048_576, more=True)

    call_application(scope(headers=(CHUNKED,)), *[mebibyte] * 10)

    ((environ, body, _),) = wsgi_calls
    assert int(environ["CONTENT_LENGTH"]) == len(body) == 2 * settings.BODY_LIMIT


def test_body_with_a_content_length_that_is_too_large_is_not_received(wsgi_calls):
    """The views refuse it because of its Content-Length."""
    call_application(scope(headers=(("content-length", "5000000000"),)), piece(b"x", more=True))

    ((environ, body, _),) = wsgi_calls
    assert (environ["CONTENT_LENGTH"], body) == ("5000000000", b"")


def test_chunked_body_without_its_end_is_refused(wsgi_calls):
    status, _, _ = call_application(scope(headers=(CHUNKED,)), {"type": "http.disconnect"})

    assert status == 400
    assert wsgi_calls == []


@pytest.fixture
def large_file(monkeypatch, tmp_path):
    """A large static file that the WSGI application returns."""
    path = tmp_path / "large"
    path.write_bytes(b"x" * 20 * asgi.ANSWER_PIECE)
    file = path.open("rb")

    def application(environ, start_response):
        start_response("200 OK", [])
        return FileResponse(file)

    monkeypatch.setattr(asgi.wsgi, "application", application)
    return file


def test_file_is_not_read_faster_than_the_client_receives_it(large_file):
    places = []

    async def send(message):
        places.append(large_file.tell())

    asyncio.run(asgi.application(scope(method="GET"), still_connected, send))

    assert places[:3] == [0, 2 * asgi.ANSWER_PIECE, 3 * asgi.ANSWER_PIECE]
    assert large_file.closed


def test_answers_for_slow_clients_are_not_in_memory(monkeypatch):
    """A hundred clients that read nothing more, each of an answer of a mebibyte."""
    answer, clients = b"x" * 1_048_576, 100

    def application(environ, start_response):
        start_response("200 OK", [])
        return Chunks([answer[:1000], answer[1000:]])

    async def stopped(message):
        if message["type"] == "http.response.body":
            waiting.append(message)
            await asyncio.Event().wait()

    async def hold_all() -> int:
        before = tracemalloc.get_traced_memory()[0]
        tasks = [
            asyncio.create_task(asgi.application(scope(method="GET"), still_connected, stopped)) for _ in range(clients)
        ]
        while len(waiting) < clients:
            await asyncio.sleep(0.01)
        held = tracemalloc.get_traced_memory()[0] - before
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return held

    waiting: list[dict] = []
    monkeypatch.setattr(asgi.wsgi, "application", application)
    tracemalloc.start()
    try:
        held = asyncio.run(asyncio.wait_for(hold_all(), 60))
    finally:
        tracemalloc.stop()

    assert held < clients * (2 * asgi.ANSWER_PIECE + asgi.ANSWER_IN_MEMORY)


def test_a_long_answer_arrives_whole(monkeypatch):
    answer = bytes(range(256)) * 4_096

    def application(environ, start_response):
        start_response("200 OK", [])
        return Chunks([answer[:70_000], answer[70_000:]])

    monkeypatch.setattr(asgi.wsgi, "application", application)

    assert call_application(scope(method="GET")) == (200, {}, answer)


def test_connection_is_closed_if_the_client_stops_reading(large_file, monkeypatch):
    monkeypatch.setattr(asgi, "ANSWER_WITHIN_S", 0.1)
    monkeypatch.setattr(asgi, "BODY_BYTES_PER_S", 1_000_000_000)

    async def send(message):
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    asyncio.run(asyncio.wait_for(asgi.application(scope(method="GET"), still_connected, send), timeout=20))

    assert large_file.closed


def test_large_response_gets_more_time(large_file, monkeypatch):
    """The client receives faster than the minimum rate, and takes longer than a small response may take."""
    monkeypatch.setattr(asgi, "ANSWER_WITHIN_S", 0.3)
    monkeypatch.setattr(asgi, "BODY_BYTES_PER_S", asgi.ANSWER_PIECE)
    received = []

    async def send(message):
        await asyncio.sleep(0.03)
        received.append(message.get("body", b""))

    asyncio.run(asgi.application(scope(method="GET"), still_connected, send))

    assert b"".join(received) == b"x" * 20 * asgi.ANSWER_PIECE


def test_request_without_a_body_does_not_wait_for_one(wsgi_calls):
    assert call_application(scope(method="GET"))[0] == 200


def test_header_with_underscores_is_not_taken_for_the_header_of_a_proxy(wsgi_calls):
    headers = (("x-forwarded-for", "198.51.100.1"), ("x_forwarded_for", "203.0.113.9"), ("x-forwarded-for", "10.0.0.1"))

    call_application(scope(method="GET", headers=headers))

    ((environ, _, _),) = wsgi_calls
    assert environ["HTTP_X_FORWARDED_FOR"] == "198.51.100.1,10.0.0.1"


def test_several_cookie_headers_are_joined(wsgi_calls):
    call_application(scope(method="GET", headers=(("cookie", "a=1"), ("cookie", "b=2"))))

    ((environ, _, _),) = wsgi_calls
    assert environ["HTTP_COOKIE"] == "a=1;b=2"
