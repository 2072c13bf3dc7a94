"""A whole installation in separate processes, as `make run` starts it."""

import base64
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode, urlsplit, urlunsplit
from urllib.request import HTTPCookieProcessor, build_opener

import psutil
import psycopg

from tests.peers.server import eventually, free_port

BASE_DIR = Path(__file__).resolve().parent.parent.parent
LAUNCHER = (sys.executable, "-m", "scheduler_site.launcher")
READY = "Quando is running."
SUBSCRIPTION_ID = "00000000-0000-0000-0000-000000000001"
COLLECTION = (
    f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections/{{}}"
)
VERSION = "?api-version=2016-03-01"


@contextmanager
def own_database() -> Iterator[dict[str, str]]:
    """Yield environment variables for a new database of the kind that the tests run on."""
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


def migrate_once(folder: Path) -> Path:
    """Return the path of a SQLite database with all tables and no rows.

    The first of the processes that call this with the same folder creates it.
    """
    folder.mkdir(exist_ok=True)
    data_dir = folder / "data"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not data_dir.exists():
            variables = {"DATA_DIR": str(data_dir), "DJANGO_SETTINGS_MODULE": "scheduler_site.settings"}
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(command, cwd=BASE_DIR, env=os.environ | variables, check=True)
    return data_dir / "quando.sqlite3"


@dataclass(kw_only=True)
class Installation:
    """An installation that starts when it is created, with the id of the default subscription and an owner's token.

    A new data folder begins with a copy of `database`, if there is one; otherwise the start migrates an empty database.
    """

    data_dir: Path
    log: Path
    database: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = LAUNCHER
    subscription_id = SUBSCRIPTION_ID

    def __post_init__(self):
        if self.database and not self.data_dir.exists():
            self.data_dir.mkdir(mode=0o700)
            shutil.copy(self.database, self.data_dir)
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
                self.command,
                cwd=BASE_DIR,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                umask=0,  # an installation sets a stricter one itself
            )

    @property
    def logs(self) -> str:
        return self.log.read_text()

    def wait_until_ready(self) -> "Installation":
        eventually(lambda: READY in self.logs or self.process.poll() is not None, within=180)  # on a busy machine
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
        """Run a management command of the installation and return its output."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=BASE_DIR, env=self.variables, capture_output=True, text=True, check=True
        ).stdout

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a management command of the installation; the caller ends it."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.Popen(command, cwd=BASE_DIR, env=self.variables, stdout=subprocess.PIPE)

    def request(
        self, method: str, path: str, document: object = None, authorization: str | None = None
    ) -> tuple[int, dict]:
        """Call the installation, by default with the token; return status and JSON."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            headers={"Authorization": authorization or f"Bearer {self.token}", "Content-Type": "application/json"},
            data=None if document is None else json.dumps(document).encode(),
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # the first one may wait for the start
                return response.status, json.loads(response.read() or "null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or "null")

    def sign_in(self, username: str, password: str) -> Callable[[str], str]:
        """Sign in with a form; return a function that reads the page at a path."""
        browser = build_opener(HTTPCookieProcessor(CookieJar()))

        def read(path: str, form: dict[str, str] | None = None) -> str:
            with browser.open(self.url + path, urlencode(form).encode() if form else None, timeout=20) as answer:
                return answer.read().decode()

        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', read("/sign-in/"))[1]
        read("/sign-in/", {"csrfmiddlewaretoken": token, "username": username, "password": password})
        return read

    def delete_collection(self, path: str) -> None:
        """Delete the collection and wait until its name is free."""
        self.request("DELETE", path)
        assert eventually(lambda: self.request("GET", path)[0] == 404, within=60)

    @property
    def password(self) -> str:
        """The password of the first user; a later start with the same data folder does not show it."""
        generated = re.search(r"Password +([\w-]{16})$", self.logs, re.MULTILINE)
        return generated[1] if generated else self.environment["ADMIN_PASSWORD"]

    @cached_property
    def token(self) -> str:
        """A token of the first user, made with the password: a request takes less time than a management command."""
        user = f"{self.variables['ADMIN_USERNAME'] or 'admin'}:{self.password}"
        basic = f"Basic {base64.b64encode(user.encode()).decode()}"
        status, answer = self.request("POST", "/api/tokens", {"name": "live tests"}, basic)
        assert status == 201, answer
        return answer["token"]


def is_alive(process: psutil.Process) -> bool:
    """Return True if the process runs; a zombie does not."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@contextmanager
def running(folder: Path, database: Path | None, **environment: str) -> Iterator[Installation]:
    """Yield an installation that is ready, with its data and log in `folder` and its own database."""
    with own_database() as address:
        installation = Installation(
            data_dir=folder / "data", log=folder / "log", database=database, environment=address | environment
        )
        try:
            yield installation.wait_until_ready()
        finally:
            installation.stop()
