"""Due HTTP calls per second of one worker process, compared with one message and one request for each run.

`python -m bench.calls [--rounds N]` starts its own PostgreSQL, Valkey and target, and two workers: Quando's, as in the
Procfile, and a textbook worker (`bench.one_by_one`).  The workers take turns: 1,000 jobs become due, and the time is
measured from then until the last result is in the database.

Then, with Quando's worker only, it measures the delay of the results of calls to a fast target: first of these calls
alone, then while 1,000 calls to a target that takes two seconds are due at the same time.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.services import broker, build, postgres

DUE = 1_000
THREADS = 16  # of the textbook worker: 8 and 32 make no difference
POLL_S = 0.05
WITHIN_S = 120  # the longest time of a round
ONE_BY_ONE = (
    f"{sys.executable} -m celery --quiet --app scheduler_site worker --pool threads --concurrency {THREADS}"
    " --queues one-by-one --include bench.one_by_one --hostname one-by-one@%h"
    " --without-gossip --without-mingle --without-heartbeat"
)


def main() -> None:
    arguments = parsed()
    if arguments.measure:
        measure(arguments.rounds, arguments.measure)
        return
    with broker() as environment:
        environment |= postgres(environment["DATA_DIR"]) | {"EGRESS_ALLOW": "127.0.0.0/8"}
        with process([sys.executable, "-m", "bench.target"], environment, stdout=subprocess.PIPE) as target:
            fast, slow = (f"http://127.0.0.1:{int(target.stdout.readline())}/" for _ in range(2))
            command = [sys.executable, "-m", "bench.calls", "--rounds", str(arguments.rounds), "--measure", fast, slow]
            sys.exit(subprocess.run(command, env=environment).returncode)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.calls", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def process(command: Sequence[str], environment: dict[str, str], **fields) -> Iterator[subprocess.Popen]:
    child = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, **fields)
    try:
        yield child
    finally:
        child.terminate()
        child.communicate(timeout=30)


def measure(rounds: int, uris: Sequence[str]) -> None:
    import django

    django.setup()
    from bench import one_by_one
    from scheduler_site.celery import app
    from scheduler_site.supervisor import parse_procfile
    from triggers.dispatch import Dispatcher
    from triggers.publisher import RunPublisher

    build(DUE, tuple(uris))
    ours, textbook = Dispatcher(RunPublisher(app)), Dispatcher(one_by_one.SingleRunPublisher(app))
    worker = f"exec {parse_procfile(Path('Procfile').read_text())['worker']}"
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with (
        process(["sh", "-c", worker], environment) as our_worker,
        process(shlex.split(ONE_BY_ONE), environment) as textbook_worker,
    ):
        ways = {"Quando": (ours, our_worker), "one by one": (textbook, textbook_worker)}
        for dispatcher, _ in ways.values():
            one_round(dispatcher, ["bench-0"])  # loads all modules and connects
        figures: dict[str, list[Figures]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, (dispatcher, child) in ways.items():
                before = cpu_s(child)
                took_s = one_round(dispatcher, ["bench-0"]).took_s
                figures[way].append(Figures(DUE / took_s, (cpu_s(child) - before) / DUE * 1000))
        report_rates(figures)
        alone = [one_round(ours, ["bench-0"]) for _ in range(rounds)]
        with_slow = [one_round(ours, ["bench-0", "bench-1"]) for _ in range(max(rounds // 2, 1))]
        report_lateness(alone, with_slow)


@dataclass(frozen=True)
class Round:
    took_s: float  # until the last result was in the database
    late_s: list[float]  # delay of each result after its fire time, for jobs of the first collection


def one_round(dispatcher, collections: Sequence[str]) -> Round:
    """Make the jobs of the collections due, dispatch them, and wait until all runs have succeeded."""
    from django.utils import timezone

    from jobs.models import Run
    from triggers.models import Trigger

    due_at = timezone.now()
    Trigger.objects.filter(job__collection__name__in=collections).update(next_fire_at=due_at)
    runs = Run.objects.filter(fire_at=due_at)
    succeeded = runs.filter(state=Run.State.SUCCEEDED)
    started = time.perf_counter()
    while succeeded.count() < DUE * len(collections):
        dispatcher.run(timezone.now())
        if time.perf_counter() - started > WITHIN_S:
            sys.exit(f"only {succeeded.count()} of {DUE * len(collections)} runs succeeded within {WITHIN_S} seconds")
        time.sleep(POLL_S)
    took_s = time.perf_counter() - started
    finished = succeeded.filter(collection_name=collections[0]).values_list("finished_at", flat=True)
    return Round(took_s, [(moment - due_at).total_seconds() for moment in finished])


class Figures(NamedTuple):
    rate: float  # runs per second
    cpu_ms: float  # CPU time of the worker per run


def cpu_s(child: subprocess.Popen) -> float:
    times = psutil.Process(child.pid).cpu_times()
    return times.user + times.system


def report_rates(figures: Mapping[str, Sequence[Figures]]) -> None:
    for way, rounds in figures.items():
        rate, cpu_ms = map(statistics.median, zip(*rounds, strict=True))
        each = ", ".join(f"{figure.rate:,.0f}" for figure in rounds)
        print(f"{way:<12}{rate:>8,.0f} runs/s, {cpu_ms:.2f} ms of the processor a run ({each})")
    ratios = [ours.rate / theirs.rate for ours, theirs in zip(*figures.values(), strict=True)]
    print(f"ratio       {statistics.median(ratios):>8.1f} (goal: 4; {min(ratios):.1f} to {max(ratios):.1f})\n")


def report_lateness(alone: Sequence[Round], with_slow: Sequence[Round]) -> None:
    """Print the delays and times, as medians of the rounds."""
    last = []
    for title, rounds in (("by themselves", alone), ("beside slow ones", with_slow)):
        p50, p99 = (
            statistics.median(statistics.quantiles(each.late_s, n=100)[percent - 1] for each in rounds)
            for percent in (50, 99)
        )
        took_s = statistics.median(each.took_s for each in rounds)
        print(f"{DUE:,} fast calls {title:<18} p50 {p50:.2f} s, p99 {p99:.2f} s late; all done after {took_s:.1f} s")
        last.append(p99)
    print(f"p99 differs by {last[1] - last[0]:.2f} s (goal: at most 1 s)")


if __name__ == "__main__":
    main()
