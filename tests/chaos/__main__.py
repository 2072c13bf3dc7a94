"""`python -m tests.chaos [--sqlite] [--short] [--variant NAME | --variants]`: cause faults, then check every run.

Without a variant all checks must hold.  With one, a rule of the product is broken on purpose and a check must fail.
The exit code is 0 if it is as it must be.
"""

import argparse
import logging
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.chaos.faults import FAULTS, SHORT, Fault
from tests.chaos.installation import Installation, installation
from tests.chaos.load import create, loads
from tests.chaos.variants import UNIQUE_KEY, VARIANTS
from tests.peers.server import eventually

SECOND = timedelta(seconds=1)
START_S = 20  # until the first fire time, while the jobs are created
IN_CALLS = timedelta(seconds=0.2)  # after a whole second, slow calls are in progress
WARM_UP_S = 20  # steady operation before the first fault
PAUSE_S = 16  # after each fault; longer than it takes to notice a worker that is gone
END_STATE_S = 20  # after the last fault, all runs have ended
LONGEST_FAULT_S = 17


def main() -> int:
    arguments = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all processes end with this one
    if arguments.variants:
        return run_variants(arguments)
    variant = VARIANTS[arguments.variant] if arguments.variant else None
    faults = [fault for fault in FAULTS.values() if not arguments.sqlite or not fault.needs_postgresql]
    if variant:
        faults = [FAULTS[variant.fault]] if variant.fault else []
    elif arguments.fault:
        faults = [FAULTS[arguments.fault]]
    elif arguments.short:
        faults = [FAULTS[name] for name in SHORT]
    logging.disable(logging.INFO)
    with (
        tempfile.TemporaryDirectory(prefix="quando-chaos-") as folder,
        installation(Path(folder), not arguments.sqlite, arguments.variant or "") as started,
    ):
        if variant and variant.drops_unique_key:
            drop_unique_key()
        found = cause(started, faults)
        if found and not variant:
            print(started.log_ends())
    if variant:
        print(f"{variant.name:<24}{'found: ' + found[0] if found else 'NOT FOUND'}", flush=True)
        return 0 if found else 1
    for problem in found:
        print(problem)
    print("every run is as its schedule says" if not found else "FAILED")
    return 1 if found else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--sqlite", action="store_true", help="on SQLite, with the faults that it can have")
    parser.add_argument("--fault", choices=FAULTS, help="only this fault")
    parser.add_argument("--short", action="store_true", help="only four faults")
    parser.add_argument("--variant", choices=VARIANTS, help="break one rule of the product")
    parser.add_argument("--variants", action="store_true", help="break each rule of the product in turn")
    return parser.parse_args()


def run_variants(arguments: argparse.Namespace) -> int:
    """Run each variant in a process of its own; return 0 if the checks found all of them."""
    missed = 0
    for variant in VARIANTS.values():
        if not (arguments.sqlite and variant.needs_postgresql):
            options = ["--sqlite"] if arguments.sqlite else []
            missed += subprocess.run(
                [sys.executable, "-m", "tests.chaos", "--variant", variant.name, *options]
            ).returncode
    return 1 if missed else 0


def drop_unique_key() -> None:
    from django.db import connection

    from jobs.models import Run

    (key,) = [each for each in Run._meta.constraints if each.name == UNIQUE_KEY]
    with connection.schema_editor() as editor:
        editor.remove_constraint(Run, key)


def cause(started: Installation, faults: Sequence[Fault]) -> list[str]:
    """Start the load and the processes, cause the faults one after the other, and return what is wrong afterwards."""
    from django.db import connection

    from tests.chaos import checks

    length = WARM_UP_S + len(faults) * (LONGEST_FAULT_S + PAUSE_S)
    started.start("beat-1", "beat-2", "worker-1", "worker-2")
    assert eventually(lambda: started.is_ready, within=120), started.log_ends()
    now = datetime.now(UTC)
    start = now.replace(second=now.second // 10 * 10, microsecond=0) + START_S * SECOND
    end = start + length * SECOND
    jobs = list(loads(start, end))
    create(jobs, started.receiver.url, now)
    connection.close()
    wait_until(start + WARM_UP_S * SECOND)
    windows = [checks.Window("before the faults", start, datetime.now(UTC))]
    for fault in faults:
        wait_until(datetime.now(UTC).replace(microsecond=0) + SECOND + IN_CALLS)
        began = datetime.now(UTC) - SECOND  # a call that has begun is affected, too
        fault.cause(started)
        time.sleep(PAUSE_S)
        windows.append(checks.Window(fault.name, began, datetime.now(UTC)))
    connection.close()  # a fault may have ended it
    wait_until(end)
    number = sum(1 for job in jobs for _ in job.fire_times(end))
    ended = eventually(lambda: checks.all_have_ended(number), within=END_STATE_S)
    calls = list(started.receiver.calls)
    for line in checks.table(windows, calls):
        print(line, flush=True)
    open_runs = 0 if ended else checks.open_runs()
    late = [f"{open_runs} runs have not ended {END_STATE_S} s after the last fault"] if open_runs else []
    return [*late, *checks.problems(jobs, end, calls)]


def wait_until(moment: datetime) -> None:
    time.sleep(max((moment - datetime.now(UTC)).total_seconds(), 0))


if __name__ == "__main__":
    sys.exit(main())
