"""A whole installation in processes of its own, as `make run` starts it, and a target for its calls."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg

BASE_DIR = Path(__file__).resolve().parent.parent.parent
LAUNCHER = (sys.executable, "-m", "scheduler_site.launcher")
READY = "Quando is running."
SUBSCRIPTION_ID = "00000000-0000-0000-0000-000000000001"
COLLECTION = (
    f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections/{{}}"
)
VERSION = "?api-version=2016-03-01"


def eventually(question: Callable[[], object], within: float = 10.0):
    """Ask until the answer is true, and return it; the last answer when time is up."""
    deadline = time.monotonic() + within
    while not (answer := question()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def own_database() -> Iterator[dict[str, str]]:
    """Yield environment variables for a database that nobody else uses, of the kind that the tests run on."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        yield {}
        return
    name = f"live_{os.getpid()}_{time.monotonic_ns()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield {"DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{name}"))}
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@dataclass(kw_only=True)
class Installation:
    """Started when it is made; `subscription_id` is the default one's, `token` one of its owner."""

    data_dir: Path
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = LAUNCHER
    subscription_id = SUBSCRIPTION_ID

    def __post_init__(self):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.variables = os.environ | {
            "DATA_DIR": str(self.data_dir),
            "PORT": str(self.port),
            "HOST": "127.0.0.1",
            "DEMO": "0",
            "BROKER_URL": "",
            "ADMIN_USERNAME": "ada",
            "DJANGO_SETTINGS_MODULE": "scheduler_site.settings",
            **self.environment,
        }
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                self.command, cwd=BASE_DIR, env=self.variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    @property
    def logs(self) -> str:
        return self.log.read_text()

    def wait_until_ready(self) -> "Installation":
        eventually(lambda: READY in self.logs or self.process.poll() is not None, within=60)
        assert READY in self.logs, self.logs
        return self

    def processes(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send the signal, wait for the end, and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=20)

    def manage(self, *arguments: str) -> str:
        """Run a management command beside the installation and return what it prints."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=BASE_DIR, env=self.variables, capture_output=True, text=True, check=True
        ).stdout

    def request(self, method: str, path: str, document: object = None) -> tuple[int, dict]:
        """Call the installation with the token; return status and JSON."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            data=None if document is None else json.dumps(document).encode(),
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, json.loads(response.read() or "null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or "null")

    @property
    def token(self) -> str:
        if not hasattr(self, "_token"):
            self._token = self.manage(
                "create_token", self.variables["ADMIN_USERNAME"] or "admin", "--name", "live tests"
            ).strip()
        return self._token


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    headers: dict[str, str]
    body: str
    arrived_at: datetime


class Target:
    """An HTTP server that records its calls.

    It answers 200; `/status/503` answers that; `/slow/20` answers 200 after so many seconds.
    """

    def __init__(self):
        target = self
        self.calls: list[Call] = []

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self):
                arrived_at = datetime.now(UTC)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                target.calls.append(Call(self.command, self.path, dict(self.headers), body, arrived_at))
                kind, _, value = self.path.lstrip("/").partition("/")
                if kind == "slow":
                    target.closing.wait(float(value))
                self.send_response(int(value) if kind == "status" else 200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def log_message(self, *arguments):
                pass

        self.closing = Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def calls_to(self, path: str) -> list[Call]:
        return [call for call in self.calls if call.path == path]

    def wait_for(self, path: str, count: int = 1, within: float = 15.0) -> list[Call]:
        """The calls to `path`, as soon as there are `count`; fewer when time is up."""
        eventually(lambda: len(self.calls_to(path)) >= count, within)
        return self.calls_to(path)

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
