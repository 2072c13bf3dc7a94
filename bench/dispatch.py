"""How fast fire times become runs, committed and rung for, and whether that depends on the number of jobs.

`python -m bench.dispatch [--rounds N]` starts a PostgreSQL and a Valkey of its own, with the durability they come with,
and measures PostgreSQL and SQLite one after the other; each figure is the median of its rounds.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

from bench.services import broker, build, postgres

SIZES = [(1_000, 1_000), (100_000, 1_000), (100_000, 10_000)]  # jobs, and how many of them are due at once
HEADER = f"{'database':<11}{'jobs':>8}{'due':>8}{'runs/s':>9}{'first ms':>10}{'last ms':>9}{'idle ms':>9}"


def main() -> None:
    arguments = parsed()
    if arguments.measure:
        for jobs, due in SIZES:
            print(json.dumps({"jobs": jobs, "due": due, **measure(jobs, due, arguments.rounds)}), flush=True)
        return
    with broker() as environment:
        print(HEADER)
        report("PostgreSQL", environment | postgres(environment["DATA_DIR"]), arguments.rounds)
        report("SQLite", environment, arguments.rounds)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.dispatch", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def report(database: str, environment: dict[str, str], rounds: int) -> None:
    command = [sys.executable, "-m", "bench.dispatch", "--measure", "--rounds", str(rounds)]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    rates = {}
    for line in child.stdout:
        row = json.loads(line)
        rates[row["jobs"], row["due"]] = row["rate"]
        print(
            f"{database:<11}{row['jobs']:>8,}{row['due']:>8,}{row['rate']:>9,.0f}"
            f"{row['first']:>10.1f}{row['last']:>9.1f}{row['idle']:>9.2f}",
            flush=True,
        )
    if child.wait():
        sys.exit(child.returncode)
    flat = rates[1_000, 1_000] / rates[100_000, 1_000]
    print(f"{database:<11}1,000 due of 100,000 jobs take {flat:.2f} times as long as of 1,000\n")


def measure(jobs: int, due: int, rounds: int) -> dict[str, float]:
    """Dispatch `due` of `jobs` jobs, `rounds` times."""
    import django

    django.setup()
    from scheduler_site.celery import app
    from triggers.bell import Bell
    from triggers.dispatch import Dispatcher

    build(jobs)
    bell = RecordingBell(Bell(app))
    dispatcher = Dispatcher(bell)
    dispatcher.run(datetime(2000, 1, 1, tzinfo=UTC))  # connects
    gc.freeze()  # as a beat does
    figures = [one_round(dispatcher, bell, due, number) for number in range(rounds)]
    idle = statistics.median(timed(lambda: dispatcher.run(datetime(2000, 1, 1, tzinfo=UTC))) for _ in range(100))
    first, last = (statistics.median(column) for column in zip(*figures, strict=True))
    return {"rate": due / last, "first": first * 1000, "last": last * 1000, "idle": idle * 1000}


class RecordingBell:
    """A bell that remembers when it rang."""

    def __init__(self, bell):
        self.bell = bell
        self.rang_at: list[float] = []

    def is_reachable(self) -> bool:
        return self.bell.is_reachable()

    def ring(self, runs) -> bool:
        assert self.bell.ring(runs)
        self.rang_at.append(time.perf_counter())
        return True


def one_round(dispatcher, bell: RecordingBell, due: int, number: int) -> tuple[float, float]:
    """Seconds until the first and until the last run was committed and rung for."""
    from jobs.models import Run
    from triggers.models import Trigger

    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
    Run.objects.update(state=Run.State.SUCCEEDED)  # those of the round before are done
    ids = list(Trigger.objects.order_by("pk").values_list("pk", flat=True))
    Trigger.objects.filter(pk__in=ids[:: len(ids) // due][:due]).update(next_fire_at=now)
    bell.rang_at.clear()
    started = time.perf_counter()
    while dispatcher.run(now) <= now:
        pass
    assert Run.objects.filter(fire_at=now).count() == due
    return bell.rang_at[0] - started, bell.rang_at[-1] - started


def timed(function) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
