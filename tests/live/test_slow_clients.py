"""Clients that send slowly or stop: other clients get responses in the meantime, and the slow ones are disconnected."""

import os
import re
import select
import shlex
import socket
import statistics
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from scheduler_site.supervisor import parse_procfile
from tests.live.installation import BASE_DIR
from tests.peers.server import eventually, free_port

SLOW_CONNECTIONS = 200  # concurrent connections
BODY = b"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n\r\nname="
HEADERS = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
DEADLINE = re.compile(r"(--http1-header-read-timeout) \d+")


@contextmanager
def connected(port: int, beginnings: list[bytes]):
    """Yield connections, each with one of the beginnings sent."""
    with ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in beginnings]
        for connection, beginning in zip(connections, beginnings, strict=True):
            connection.sendall(beginning)
        yield connections


@contextmanager
def trickling(connections: list[socket.socket]):
    """Send one byte after the other on each connection as long as it is open."""
    over = threading.Event()

    def trickle():
        while not over.wait(0.2):
            for connection in connections:
                with suppress(OSError):
                    connection.send(b"x")

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def is_open(connection: socket.socket) -> bool:
    """Return True if the server has neither sent a response nor closed the connection."""
    return not select.select([connection], [], [], 0)[0]


def seconds_of(url: str) -> float:
    began = time.monotonic()
    try:
        with urlopen(url, timeout=20) as response:
            response.read()
    except HTTPError as error:
        error.close()
    return time.monotonic() - began


def test_slow_clients_do_not_delay_others(live):
    beginnings = [(BODY, BODY, HEADERS, HEADERS)[number % 4] for number in range(SLOW_CONNECTIONS)]
    with connected(live.port, beginnings) as connections, trickling(connections[::2]):
        durations = [seconds_of(f"{live.url}/healthz") for _ in range(5)]
        open_count = sum(map(is_open, connections))

    assert open_count == SLOW_CONNECTIONS
    assert statistics.median(durations) < 1, durations


@pytest.fixture
def web_with_short_deadline(tmp_path):
    """The port of a web process with the options of the Procfile, except a short deadline for headers."""
    port = free_port()
    command, changed = DEADLINE.subn(r"\1 1000", parse_procfile((BASE_DIR / "Procfile").read_text())["web"])
    assert changed == 1
    command = command.replace("${PORT:-8000}", str(port)).replace("${HOST:-127.0.0.1}", "127.0.0.1")
    process = subprocess.Popen(
        [sys.executable, *shlex.split(command)[1:]],
        cwd=BASE_DIR,
        env=os.environ | {"DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "scheduler_site.settings"},
    )
    yield port
    process.terminate()
    process.wait(timeout=20)


def test_headers_have_a_deadline_even_if_they_arrive_slowly(web_with_short_deadline):
    assert eventually(lambda: accepts(web_with_short_deadline), within=60)

    with connected(web_with_short_deadline, [b"", HEADERS, HEADERS]) as connections, trickling(connections[2:]):
        assert eventually(lambda: not any(map(is_open, connections)), within=18)  # the Procfile has 20


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
