"""Handlers of the signals that stop a process: a second signal may interrupt them anywhere."""

import signal
import sys
import threading

import pytest

from operations import stopping
from scheduler_site.celery import app
from scheduler_site.supervisor import Supervisor

STOPPING = (signal.SIGTERM, signal.SIGINT)
OTHERS = (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)  # handled by the same programs


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """Start without ignored signals, as a program in a terminal does; restore handlers and flags afterwards."""
    handlers = {number: signal.signal(number, signal.SIG_DFL) for number in (*STOPPING, *OTHERS)}
    monkeypatch.setattr(stopping, "_is_requested", False)
    monkeypatch.setattr("celery.worker.state.should_stop", None)
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def install_launcher():
    Supervisor(None)


def install_worker():
    worker = object.__new__(app.Worker)  # without __init__, which would connect to the broker and the database
    worker._isatty = True
    worker.install_platform_tweaks(worker)


def install_beat():
    beat = app.Beat(quiet=True)
    beat.install_sync_handler(beat.Service(app=app))


@pytest.mark.parametrize("install", [install_launcher, install_worker, install_beat])
def test_signal_can_interrupt_the_handler_of_another_signal(install):
    install()

    for first, second in (STOPPING, STOPPING[::-1]):
        thread = threading.Thread(target=call_interrupted, args=(first, second), daemon=True)
        thread.start()
        thread.join(timeout=10)
        assert not thread.is_alive(), "the handler waits for a lock that it holds itself"


def call_interrupted(first: int, second: int) -> None:
    """Call the handler of `first`; before each line of it and of functions that it calls, call that of `second`."""

    def trace(frame, event, argument):
        sys.settrace(None)
        frame.f_trace = None
        call(second)
        sys.settrace(trace)
        frame.f_trace = trace
        return trace

    sys.settrace(trace)
    try:
        call(first)
    finally:
        sys.settrace(None)


def call(number: int) -> None:
    signal.getsignal(number)(number, None)
