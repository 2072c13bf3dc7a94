"""`make run`: how it starts, what it refuses, how it ends."""

import random
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from tests.live.installation import BASE_DIR, COLLECTION, VERSION, is_alive
from tests.peers.server import eventually

STOP_LIMIT_S = 10  # seconds that stopping may take


def refusal(installation) -> str:
    """Return the only line that the launcher prints when it refuses to start."""
    assert installation.process.wait(timeout=20) == 1
    (line,) = installation.logs.splitlines()
    return line


def test_port_in_use_is_reported_in_one_line(launch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refusal(launch(environment={"PORT": str(port)}))

    assert line == f"quando: port {port} on 127.0.0.1 is in use: stop what uses it, or choose another with PORT"


def test_wrong_port_is_reported_in_one_line(launch):
    line = refusal(launch(environment={"PORT": "80a"}))

    assert line == "quando: PORT must be a number from 1 to 65535, not '80a'"


def test_unwritable_data_dir_is_reported_in_one_line(launch, tmp_path):
    (tmp_path / "file").touch()

    line = refusal(launch(data_dir=tmp_path / "file" / "data"))

    assert line == f"quando: cannot write to DATA_DIR {tmp_path}/file/data: Not a directory"


def test_unknown_broker_is_reported_in_one_line(launch):
    line = refusal(launch(environment={"BROKER_URL": "kafka://somewhere"}))

    assert line == "quando: BROKER_URL must begin with redis:// or amqp://, not 'kafka'"


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("EGRESS_ALLOW", "10.0.0.0/8,nearby", "must list networks such as 10.1.0.0/16: 'nearby' does not appear"),
        ("RETENTION_DAYS", "forever", "must be a whole number, not 'forever'"),
        ("OPERATION_RETENTION_HOURS", "23", "must be a whole number from 24, not '23'"),
        ("ENCRYPTION_KEYS", "short", "must list keys of 32 bytes in URL-safe base64"),
    ],
)
def test_wrong_setting_is_reported_in_one_line(launch, name, value, says):
    line = refusal(launch(environment={name: value}))

    assert line.startswith(f"quando: {name} {says}")


def test_unreachable_database_is_reported_in_one_line(launch, tmp_path):
    keys = {"SECRET_KEY": "s", "ENCRYPTION_KEYS": "x" * 43 + "="}
    line = refusal(launch(environment={"DATABASE_URL": f"postgresql://u@/d?host={tmp_path}", **keys}))

    assert line.startswith("quando: the database cannot be used: ")


def test_postgresql_without_keys_is_reported_in_one_line(launch):
    nothing = {"SECRET_KEY": "", "ENCRYPTION_KEYS": ""}
    line = refusal(launch(environment={"DATABASE_URL": "postgresql://u@nowhere/d", **nothing}))

    assert line == "quando: with DATABASE_URL, set SECRET_KEY and ENCRYPTION_KEYS in the environment as well"


def test_data_survives_a_stop_during_a_run(launch, target, tmp_path):
    """Two starts of `make run` in a folder whose path is too long for a socket."""
    folder = tmp_path / ("deep" * 20) / ("deeper" * 10)
    folder.parent.mkdir()
    first = launch(data_dir=folder, command=("make", "run")).wait_until_ready()
    collection = COLLECTION.format("slow")
    job = f"{collection}/jobs/wait{VERSION}"
    first.request("PUT", collection + VERSION, {"location": "here", "properties": {}})
    action = {"type": "Http", "request": {"uri": f"{target.url}/slow/30", "method": "GET"}}
    status, answer = first.request("PUT", job, {"properties": {"action": action}})
    assert status == 201, answer
    assert target.wait_for("/slow/30")
    processes = first.processes()
    assert len(processes) >= 5, processes

    began = time.monotonic()
    first.stop(signal.SIGTERM)

    assert time.monotonic() - began < STOP_LIMIT_S
    assert [process for process in processes if process.is_running()] == []
    assert re.search(r"Password +[\w-]{16}$", first.logs, re.MULTILINE)

    second = launch(data_dir=folder).wait_until_ready()
    assert "changepassword ada" in second.logs
    second.token = first.token
    status, answer = second.request("GET", job)
    assert status == 200, answer
    calls = target.wait_for("/slow/30", 2)
    assert len({call.headers["Idempotency-Key"] for call in calls}) == 1 < len(calls)  # the same run continues
    assert second.stop(signal.SIGINT) == 0


RECOVERY_S = 15  # from the end of a worker until its runs are tried again


def test_killed_processes_are_started_again(launch, target):
    installation = launch().wait_until_ready()
    start_call(installation, f"{target.url}/slow/30")
    assert target.wait_for("/slow/30")

    kill(installation, "scheduler_site worker")
    killed_at = time.monotonic()

    calls = target.wait_for("/slow/30", 2, within=RECOVERY_S)
    assert time.monotonic() - killed_at < RECOVERY_S
    assert len({call.headers["Idempotency-Key"] for call in calls}) == 1
    assert "quando: worker has ended with exit code -9 and is started again in 1 s" in installation.logs
    kill(installation, "scheduler_site beat", "valkey-server", "granian")
    assert eventually(lambda: installation.logs.count("was started again") == 4, within=60)
    assert eventually(lambda: accepts_connections(installation), within=60)
    start_call(installation, f"{target.url}/ok")
    assert target.wait_for("/ok")
    assert "The worker process was started again" in installation.sign_in("ada", installation.password)("/admin/")
    processes = installation.processes()
    assert installation.stop(signal.SIGTERM) == 0
    assert not any(map(is_alive, processes))


def accepts_connections(installation) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", installation.port), timeout=1):
        return True
    return False


def start_call(installation, uri: str) -> None:
    """Create a job that calls `uri` once, now."""
    collection = COLLECTION.format("calls")
    installation.request("PUT", collection + VERSION, {"location": "here", "properties": {}})
    action = {"type": "Http", "request": {"uri": uri, "method": "GET"}}
    name = uri.rpartition("/")[2]
    status, answer = installation.request(
        "PUT", f"{collection}/jobs/job-{name}{VERSION}", {"properties": {"action": action}}
    )
    assert status == 201, answer


def kill(installation, *commands: str) -> None:
    """Kill the processes of the Procfile whose command lines contain these texts."""
    lines = {each: " ".join(each.cmdline()) for each in psutil.Process(installation.process.pid).children()}
    for command in commands:
        (process,) = [each for each, line in lines.items() if command in line]
        process.kill()


def send_bursts(process: subprocess.Popen) -> None:
    """Send 200 signals of both kinds, so quickly that one can interrupt the handler of another."""
    for number in range(100):
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        time.sleep(0.01 if number % 25 == 0 else random.uniform(0, 1e-5))


def test_launcher_ends_after_many_signals(launch):
    installation = launch().wait_until_ready()
    processes = installation.processes()

    send_bursts(installation.process)

    assert installation.process.wait(timeout=20) == 0
    assert [process for process in processes if process.is_running()] == []


@pytest.mark.parametrize("program, says", [("worker", "ready."), ("beat", "beat: Starting...")])
def test_worker_and_beat_end_after_many_signals(live, program, says):
    """An additional worker or beat that is started without the launcher."""
    name = ("--hostname", "another@%h") if program == "worker" else ()
    command = (sys.executable, "-m", "celery", "--app", "scheduler_site", program, "--loglevel", "INFO", *name)
    pool = ("--pool", "threads") if program == "worker" else ()
    process = subprocess.Popen(
        [*command, *pool],
        cwd=BASE_DIR,
        env=live.variables,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert any(says in line for line in process.stderr)

        send_bursts(process)

        # a signal during the end of Python itself finds no handler
        assert process.wait(timeout=20) in (0, -signal.SIGTERM, -signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_killed_launcher_leaves_no_process(launch):
    installation = launch().wait_until_ready()
    processes = installation.processes()
    assert len(processes) >= 5, processes

    installation.process.kill()
    installation.process.wait()
    line = refusal(launch())  # as long as one of the processes runs

    assert line == f"quando: Quando is running with DATA_DIR {installation.data_dir} already"
    assert eventually(lambda: not any(map(is_alive, processes)), within=STOP_LIMIT_S), list(filter(is_alive, processes))


def test_second_start_with_the_same_data_dir_is_refused(live, launch):
    line = refusal(launch(data_dir=live.data_dir))

    assert line == f"quando: Quando is running with DATA_DIR {live.data_dir} already"


def test_all_written_files_are_below_the_data_dir(live):
    """No process has a file of another folder open for writing."""
    opened = {
        file.path
        for process in live.processes()
        for file in process.open_files()
        if file.mode not in ("r", "rb") and not file.path.startswith(str(live.data_dir))
    }

    assert opened - {str(live.log)} == set()


def test_written_files_are_readable_by_their_owner_only(live):
    """The database, the keys, and the files of the broker, some of which are temporary."""
    written = [live.data_dir, *live.data_dir.rglob("*")]

    modes = {path.name: path.lstat().st_mode & 0o077 for path in written if path.exists()}
    of_sqlite = {"secret_key", "encryption_key", "quando.sqlite3"}
    expected = {"lock", "valkey.log"} | (set() if live.variables.get("DATABASE_URL") else of_sqlite)
    assert modes.keys() > expected
    assert {name: oct(mode) for name, mode in modes.items() if mode} == {}


def test_readable_data_dir_is_corrected_with_a_message(launch, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        installation = launch(data_dir=folder, environment={"PORT": port})
        installation.process.wait(timeout=20)

    assert installation.logs.startswith(f"quando: DATA_DIR {folder} could be read by others; now only its owner can\n")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_data_dir_writable_by_others_is_refused(launch, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)

    line = refusal(launch(data_dir=folder))

    assert line == f"quando: DATA_DIR {folder} can be written by others: choose a folder of Quando's own"


def test_old_python_is_reported_in_one_line(tmp_path):
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\n[ "$1" = --version ]\n')
    old.chmod(0o755)

    made = subprocess.run(
        ["make", "run", f"VENV={tmp_path}/venv", f"PYTHON={old}"], cwd=BASE_DIR, capture_output=True, text=True
    )

    assert made.returncode != 0
    assert made.stderr.splitlines()[0] == (
        f"Quando needs Python 3.11 or newer, and {old} is Python 3.9.2; choose another with PYTHON=..."
    )
