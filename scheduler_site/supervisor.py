"""Run the processes of an installation together.

Collect their output, start a process again that ended by itself, and end all of them together.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

READY_WITHIN = 60  # seconds from the start of a process until it answers
STOP_WITHIN = 6  # seconds from SIGTERM to SIGKILL
BROKER = "broker"  # the other processes need the broker until they end, so it is started first and stopped last
BROKER_STOP_WITHIN = 2
POLL_S = 0.05  # between checks for signals and ended processes
SHORTEST_RESTART_WAIT_S, LONGEST_RESTART_WAIT_S = 1.0, 30.0  # the wait doubles with each restart
STABLE_AFTER_S = 60.0  # a process that ran for so long is started again after the shortest wait


def parse_procfile(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines() if line.strip())
    return {name.strip(): command.strip() for name, _, command in pairs}


@dataclass(slots=True)
class Backoff:
    """When an ended process is started again.  `due_s` is None while the process runs."""

    started_s: float
    wait_s: float = SHORTEST_RESTART_WAIT_S
    due_s: float | None = None

    def plan(self, now_s: float) -> float:
        """Plan the restart of a process that has ended; return the wait in seconds."""
        if now_s - self.started_s >= STABLE_AFTER_S:
            self.wait_s = SHORTEST_RESTART_WAIT_S
        wait_s, self.wait_s = self.wait_s, min(2 * self.wait_s, LONGEST_RESTART_WAIT_S)
        self.due_s = now_s + wait_s
        return wait_s


class Supervisor:
    """Starts processes and watches them until this process gets a signal to stop.

    A process that ends during the start ends all of them.  After that, `keep_running` starts it again.

    Create it before any work that must not be interrupted: afterwards a signal to stop only sets `stop_requested`.
    The signal handler takes no lock: a second signal can interrupt the handler, and would wait for the lock for ever.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.stop_requested = False
        self.watchdog: Watchdog | None = None
        self.children: dict[str, subprocess.Popen] = {}
        self.commands: dict[str, str] = {}
        self.backoffs: dict[str, Backoff] = {}
        self.relays: list[threading.Thread] = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup and background jobs ignore signals
                signal.signal(number, self.request_stop)

    def request_stop(self, *_: object) -> None:
        self.stop_requested = True

    def start(self, commands: Mapping[str, str]) -> None:
        self.watchdog = self.watchdog or Watchdog()
        for name, command in commands.items():
            child = subprocess.Popen(
                f"exec {command}",
                shell=True,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that Ctrl-C in a terminal reaches only this process
            )
            self.watchdog.add(name, child.pid)
            thread = threading.Thread(target=relay, args=(name, child.stdout), daemon=True)
            thread.start()
            self.relays = [*filter(threading.Thread.is_alive, self.relays), thread]
            self.children[name] = child
            self.commands[name] = command

    @property
    def ended_name(self) -> str | None:
        """The name of a process that has ended, or None."""
        return next((name for name, child in self.children.items() if child.poll() is not None), None)

    @property
    def is_over(self) -> bool:
        return self.stop_requested or self.ended_name is not None

    def wait_for(self, answers: Callable[[], bool]) -> bool:
        """Wait until `answers` returns True.  Return False after READY_WITHIN seconds, or if `is_over` becomes True."""
        deadline = time.monotonic() + READY_WITHIN
        while not self.is_over and time.monotonic() < deadline:
            if answers():
                return True
            time.sleep(POLL_S)
        return False

    def keep_running(self, report_restart: Callable[[str, int], None]) -> None:
        """Start ended processes again until a signal to stop arrives.

        `report_restart` gets the name of each process that was started again, and its exit code.
        """
        started_s = time.monotonic()
        self.backoffs = {name: Backoff(started_s) for name in self.children}
        while not self.stop_requested:
            for name, child in list(self.children.items()):
                if child.poll() is not None and self._restart_when_due(name, child, time.monotonic()):
                    report_restart(name, child.returncode)
            time.sleep(POLL_S)

    def _restart_when_due(self, name: str, child: subprocess.Popen, now_s: float) -> bool:
        """Plan the restart of an ended process, or start it again if that is due; return True if it was started."""
        backoff = self.backoffs[name]
        if backoff.due_s is None:
            kill_group(child.pid)
            wait_s = backoff.plan(now_s)
            log(f"quando: {name} has ended with exit code {child.returncode} and is started again in {wait_s:g} s")
        elif now_s >= backoff.due_s:
            backoff.started_s, backoff.due_s = now_s, None
            self.start({name: self.commands[name]})
            log(f"quando: {name} was started again")
            return True
        return False

    def stop(self) -> int:
        """End all processes.  Return the exit code: 0 after a signal to stop, 1 if a process has ended by itself."""
        ended = self.ended_name
        if self.stop_requested or ended is None:
            log("quando: stopping")
        else:
            code = self.children[ended].returncode
            log(f"quando: {ended} has ended with exit code {code}, so everything else is stopped")
        broker = self.children.pop(BROKER, None)
        terminate(list(self.children.values()), STOP_WITHIN)
        terminate([broker] if broker else [], BROKER_STOP_WITHIN)
        if self.watchdog:
            self.watchdog.close()
        for thread in self.relays:
            thread.join(timeout=1)
        return 0 if self.stop_requested else 1


class Watchdog:
    """A process that ends the children if this process is gone and could not end them, as after SIGKILL.

    The watchdog waits for the end of a pipe; only this process has its other end.  As a fork, the watchdog also holds
    the lock on DATA_DIR until the last child is gone, so no other installation starts there before.
    """

    def __init__(self) -> None:
        reader, self._pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._pipe)
            watch(reader)
            os._exit(0)
        os.close(reader)

    def add(self, name: str, pid: int) -> None:
        """Add a process that leads a process group."""
        with suppress(BrokenPipeError):  # the watchdog was killed; it is needed only if this process is killed as well
            os.write(self._pipe, f"{name} {pid}\n".encode())

    def close(self) -> None:
        """End the watchdog, when all children have ended."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._pipe)


def watch(reader: int) -> None:
    """Wait until the pipe is closed, then end the process groups that were written to it, the broker's last."""
    os.setsid()  # so that a signal to the launcher's process group does not end the watchdog
    with open(reader) as lines:
        groups = {name: int(pid) for name, pid in (line.split() for line in lines)}
    others = [pid for name, pid in groups.items() if name != BROKER]
    signal_groups(others, signal.SIGTERM)
    deadline = time.monotonic() + STOP_WITHIN
    while signal_groups(others, 0) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    signal_groups(groups.values(), signal.SIGKILL)


def signal_groups(leaders: Iterable[int], number: int) -> bool:
    """Send a signal to process groups, or only check them with 0.  Return False if no group is left."""
    found = False
    for leader in leaders:
        with suppress(ProcessLookupError):
            os.killpg(leader, number)
            found = True
    return found


def terminate(children: list[subprocess.Popen], within: float) -> None:
    """Send SIGTERM to each child; after at most `within` seconds, kill all that remains of their process groups."""
    for child in children:
        child.terminate()
    deadline = time.monotonic() + within
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
        kill_group(child.pid)
        child.wait()


def kill_group(leader: int) -> None:
    """Kill all that remains of a process group."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def relay(name: str, lines: Iterable[bytes]) -> None:
    for line in lines:
        log(f"{name:<6} | {line.decode(errors='replace').rstrip()}")


def log(text: str) -> None:
    with suppress(OSError):  # nobody reads the output any more; go on without it
        print(text, flush=True)
