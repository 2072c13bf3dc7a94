"""Clients that send slowly, stop or hang up: others get responses in the meantime, and nothing of them remains."""

import base64
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

import psutil
import pytest

from scheduler_site.supervisor import parse_procfile
from tests.live.installation import BASE_DIR
from tests.peers.server import eventually, free_port

SLOW_CONNECTIONS = 200  # concurrent connections
ABANDONED = 300  # requests whose clients hang up
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


def start_web(port: int, variables: dict[str, str], options: str) -> subprocess.Popen:
    """Start a web process, with `options` in place of the Procfile's deadline for headers."""
    command, changed = DEADLINE.subn(options, parse_procfile((BASE_DIR / "Procfile").read_text())["web"])
    assert changed == 1
    command = command.replace("${PORT:-8000}", str(port)).replace("${HOST:-127.0.0.1}", "127.0.0.1")
    return subprocess.Popen([sys.executable, *shlex.split(command)[1:]], cwd=BASE_DIR, env=variables)


@pytest.fixture
def web_with_short_deadline(tmp_path):
    """The port of a web process with the options of the Procfile, except a short deadline for headers."""
    port = free_port()
    variables = os.environ | {"DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "scheduler_site.settings"}
    process = start_web(port, variables, r"\1 1000")
    yield port
    process.terminate()
    process.wait(timeout=20)


@pytest.fixture
def web_behind_a_proxy(live):
    """The port and the worker of another web process of the installation, which reads `X-Forwarded-For`."""
    port = free_port()
    process = start_web(port, live.variables | {"PROXIES": "1"}, r"\g<0>")
    assert eventually(lambda: accepts(port), within=60)
    yield port, psutil.Process(process.pid).children()[0]
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


def request_with_a_password(address: str, name: str, size: int = 0) -> bytes:
    """Return a request with a wrong password, almost as many bytes of headers as are allowed, and a body."""
    credential = base64.b64encode(f"{name}:wrong".encode()).decode()
    lines = [
        "POST /api/jobs HTTP/1.1",
        "Host: 127.0.0.1",
        f"X-Forwarded-For: {address}",
        f"Authorization: Basic {credential}",
        "Content-Type: application/json",
        f"Content-Length: {size}",
        *(f"X-Long-{number}: {'a' * 8_000}" for number in range(4)),
    ]
    return "\r\n".join([*lines, "", "x" * size]).encode()


def send_and_receive(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        return connection.recv(100)


def test_abandoned_requests_leave_nothing(web_behind_a_proxy):
    """One address sends requests that are slow to answer, each with a body in a temporary file, and hangs up."""
    port, worker = web_behind_a_proxy
    assert b" 401 " in send_and_receive(port, request_with_a_password("198.51.100.1", "nobody"))
    files, memory = worker.num_fds(), worker.memory_info().rss

    for number in range(ABANDONED):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(request_with_a_password("198.51.100.1", f"nobody{number}", size=50_000))
            time.sleep(0.005)  # the server receives it
    began = time.monotonic()
    answer = send_and_receive(port, request_with_a_password("198.51.100.2", "nobody"))
    duration = time.monotonic() - began

    assert b" 401 " in answer
    assert duration < 3
    assert eventually(lambda: worker.num_fds() <= files + 10, within=3)
    assert worker.memory_info().rss - memory < 12 * 2**20
