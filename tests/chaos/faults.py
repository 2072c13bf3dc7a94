"""The faults, each with what it does to an installation and whether SQLite can have it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.installation import RESTART_S, Installation

FROZEN_S = 16.0  # longer than a worker may be silent, see SILENCE_S in jobs/worker/liveness.py


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    cause: Callable[[Installation], None]
    needs_postgresql: bool = False


def kill(*names: str) -> Callable[[Installation], None]:
    """Return a fault that kills these processes, or without a name a worker with a call in progress."""

    def cause(installation: Installation) -> None:
        killed = names or (installation.busy_worker(),)
        for name in killed:
            installation.kill(name)
        time.sleep(RESTART_S)
        installation.start(*killed)

    return cause


def freeze_busy_worker(installation: Installation) -> None:
    installation.freeze(installation.busy_worker(), FROZEN_S)


FAULTS = {
    fault.name: fault
    for fault in (
        Fault("a worker is killed", kill()),
        Fault("a beat is killed", kill("beat-1")),
        Fault("both workers are killed", kill("worker-1", "worker-2")),
        Fault("both beats are killed", kill("beat-1", "beat-2")),
        Fault("a worker freezes", freeze_busy_worker),
        Fault("a beat freezes", lambda installation: installation.freeze("beat-2", 5)),
        Fault("the broker comes back empty", lambda installation: installation.empty_broker(4)),
        Fault("writes fail", lambda installation: installation.refuse_writes(4)),
        Fault("the database crashes", lambda installation: installation.kill_database(3), needs_postgresql=True),
        Fault("connections are cut", lambda installation: installation.cut_connections(), needs_postgresql=True),
    )
}
SHORT = ("a worker is killed", "a beat is killed", "the broker comes back empty", "writes fail")
