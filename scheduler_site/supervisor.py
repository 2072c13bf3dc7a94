"""Run the processes of an installation together: their output in one place, and one end for all."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

READY_WITHIN = 60  # seconds from the start of a process until it answers
STOP_WITHIN = 6  # seconds from SIGTERM to SIGKILL
BROKER = "broker"  # the others need it until their end, so it is started first and stopped last
BROKER_STOP_WITHIN = 2


def parse_procfile(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines() if line.strip())
    return {name.strip(): command.strip() for name, _, command in pairs}


class Supervisor:
    """Starts processes and watches them until one ends or this process is told to stop.

    Make it before anything that must not be interrupted: from then on a signal to stop only sets `told_to_stop`.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.told_to_stop = threading.Event()
        self.children: dict[str, subprocess.Popen] = {}
        self.relays: list[threading.Thread] = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and background jobs wish
                signal.signal(number, lambda *_: self.told_to_stop.set())

    def start(self, commands: Mapping[str, str]) -> None:
        for name, command in commands.items():
            child = subprocess.Popen(
                f"exec {command}",
                shell=True,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a terminal's Ctrl-C is for this process alone
            )
            thread = threading.Thread(target=relay, args=(name, child.stdout), daemon=True)
            thread.start()
            self.relays.append(thread)
            self.children[name] = child

    @property
    def ended(self) -> str | None:
        """The name of a process that has ended, if any."""
        return next((name for name, child in self.children.items() if child.poll() is not None), None)

    @property
    def is_over(self) -> bool:
        return self.told_to_stop.is_set() or self.ended is not None

    def wait_for(self, answers: Callable[[], bool]) -> bool:
        """Wait until it answers; False when it is over before that, or has taken too long."""
        deadline = time.monotonic() + READY_WITHIN
        while not self.is_over and time.monotonic() < deadline:
            if answers():
                return True
            self.told_to_stop.wait(0.05)
        return False

    def wait(self) -> None:
        while not self.is_over:
            self.told_to_stop.wait(0.2)

    def stop(self) -> int:
        """End every process and return the exit code: 0 when told to stop, 1 when a process has ended by itself."""
        ended = self.ended
        if self.told_to_stop.is_set() or ended is None:
            say("quando: stopping")
        else:
            code = self.children[ended].returncode
            say(f"quando: {ended} has ended with exit code {code}, so everything else is stopped")
        broker = self.children.pop(BROKER, None)
        end(list(self.children.values()), STOP_WITHIN)
        end([broker] if broker else [], BROKER_STOP_WITHIN)
        for thread in self.relays:
            thread.join(timeout=1)
        return 0 if self.told_to_stop.is_set() else 1


def end(children: list[subprocess.Popen], within: float) -> None:
    """Ask each to end, and take away what is left of it and its own children after `within` seconds."""
    for child in children:
        child.terminate()
    deadline = time.monotonic() + within
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def relay(name: str, lines: Iterable[bytes]) -> None:
    for line in lines:
        say(f"{name:<6} | {line.decode(errors='replace').rstrip()}")


def say(text: str) -> None:
    with suppress(OSError):  # nobody reads any more, which is no reason to stop working
        print(text, flush=True)
