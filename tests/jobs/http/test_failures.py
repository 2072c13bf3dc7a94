"""Calls that fail: the reason, the time limit, and the time of the retry."""

import socket
import time
from datetime import timedelta

import pytest

from jobs.actions import http
from tests.jobs.http.conftest import call
from tests.peers.raw import answering


@pytest.mark.parametrize(
    "asked, seconds",
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("999999999", 999_999_999),
        ("Fri, 31 Dec 2021 23:59:59 GMT", 59),  # relative to the Date of the response
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
def test_retry_after_is_read_as_seconds_or_as_a_date(serve, asked, seconds):
    headers = f"Retry-After: {asked}\r\nDate: Fri, 31 Dec 2021 23:59:00 GMT\r\n"

    retry_after = call(serve(answering("503 Service Unavailable", headers)).url).retry_after

    assert retry_after == (None if seconds is None else timedelta(seconds=seconds))


def test_retry_after_of_a_successful_response_is_ignored(serve):
    assert call(serve(answering("200 OK", "Retry-After: 120\r\n")).url).retry_after is None


@pytest.mark.parametrize(
    "moment", ["Fri, 31 Dec 2021 23:59:59 +99999999999999999999", "Fri, 31 Dec 2021 99999999999999999999:00:00 GMT"]
)
def test_impossible_date_in_retry_after_is_ignored(serve, moment):
    headers = f"Retry-After: {moment}\r\nDate: Fri, 31 Dec 2021 23:59:59 GMT\r\n"

    outcome = call(serve(answering("503 Unavailable", headers)).url)

    assert (outcome.status_code, outcome.retry_after) == (503, None)


def test_error_names_a_server_without_tls(serve):
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
def test_slow_response_ends_at_the_limit_of_the_whole_call(serve, monkeypatch, beginning):
    """The limit applies to the whole call, not to each read, and to headers as well as the body."""
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.5)

    def trickle(connection):
        connection.sendall(beginning)
        while True:
            connection.sendall(b"2")
            time.sleep(0.05)

    started = time.monotonic()

    assert "No complete answer" in call(serve(trickle).url).message
    assert time.monotonic() - started < 2


def test_endless_early_hints_end_at_the_limit_of_the_whole_call(serve, monkeypatch):
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.5)

    def send_early_hints(connection):
        while True:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            time.sleep(0.01)

    started = time.monotonic()

    assert not call(serve(send_early_hints).url).succeeded
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_that_is_not_made_in_time_is_given_up(monkeypatch, scheme):
    """The server neither accepts the connection nor answers the TLS handshake."""
    monkeypatch.setattr(http, "CONNECT_LIMIT_S", 0.3)
    monkeypatch.setattr(http, "CALL_LIMIT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        outcome = call(f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/")

    within = "connection to" if scheme == "https" else "complete answer from"
    assert outcome.message.startswith(f"No {within} host '127.0.0.1' within")
    assert outcome.may_retry


def test_slow_name_lookup_is_given_up(monkeypatch):
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
def test_broken_response_is_a_failed_attempt_and_not_an_exception(serve, answer):
    outcome = call(serve(answer).url)

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert "127.0.0.1" in outcome.message
