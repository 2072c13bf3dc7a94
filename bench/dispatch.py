"""The speed at which fire times become committed and published runs, for different numbers of jobs.

`python -m bench.dispatch [--rounds N]` starts its own PostgreSQL and Valkey, with default durability.  It measures
PostgreSQL and then SQLite; each figure is the median of its rounds.  With `--gates` it measures the cost of asking
whether maintenance holds a job.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from bench.services import broker, build, postgres

SIZES = [(1_000, 1_000), (100_000, 1_000), (100_000, 10_000)]  # number of jobs, and of jobs that are due at once
HEADER = f"{'database':<11}{'jobs':>8}{'due':>8}{'runs/s':>9}{'first ms':>10}{'last ms':>9}{'idle ms':>9}"
GATED_JOBS, GATED_DUE = 100_000, 1_000
# True if dispatch asks a gate; the number of notices that have started, of jobs that each holds, of ended notices
GATED = {
    "asks nobody": (False, 0, 0, 0),
    "no notice": (True, 0, 0, 0),
    "1 notice holds 10 jobs": (True, 1, 10, 0),
    "50 notices hold 500 jobs": (True, 50, 10, 0),
    "the same, 10,000 have ended": (True, 50, 10, 10_000),
}


def main() -> None:
    arguments = parsed()
    if arguments.measure and arguments.gates:
        print(json.dumps(measure_gates(arguments.rounds)), flush=True)
        return
    if arguments.measure:
        for jobs, due in SIZES:
            print(json.dumps({"jobs": jobs, "due": due, **measure(jobs, due, arguments.rounds)}), flush=True)
        return
    with broker() as environment:
        reporting = report_gates if arguments.gates else report
        print("" if arguments.gates else HEADER)
        reporting("PostgreSQL", environment | postgres(environment["DATA_DIR"]), arguments.rounds)
        reporting("SQLite", environment, arguments.rounds)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.dispatch", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gates", action="store_true", help="what it costs to ask whether maintenance holds a job")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measured(environment: dict[str, str], rounds: int, *options: str) -> Iterator[dict]:
    """Measure in another process; yield each row of its output."""
    command = [sys.executable, "-m", "bench.dispatch", "--measure", "--rounds", str(rounds), *options]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        yield json.loads(line)
    if child.wait():
        sys.exit(child.returncode)


def report_gates(database: str, environment: dict[str, str], rounds: int) -> None:
    [rates] = measured(environment, rounds, "--gates")
    print(f"{database}, {GATED_DUE:,} due of {GATED_JOBS:,} jobs")
    for name, rate in rates.items():
        print(f"{name:<30}{rate:>9,.0f} runs/s{rates['asks nobody'] / rate:>8.2f} times as long")
    print()


def report(database: str, environment: dict[str, str], rounds: int) -> None:
    rates = {}
    for row in measured(environment, rounds):
        rates[row["jobs"], row["due"]] = row["rate"]
        print(
            f"{database:<11}{row['jobs']:>8,}{row['due']:>8,}{row['rate']:>9,.0f}"
            f"{row['first']:>10.1f}{row['last']:>9.1f}{row['idle']:>9.2f}",
            flush=True,
        )
    flat = rates[1_000, 1_000] / rates[100_000, 1_000]
    print(f"{database:<11}1,000 due of 100,000 jobs take {flat:.2f} times as long as of 1,000\n")


def measure(jobs: int, due: int, rounds: int) -> dict[str, float]:
    """Dispatch `due` of `jobs` jobs, `rounds` times."""
    dispatcher, publisher = dispatcher_of(jobs)
    figures = [one_round(dispatcher, publisher, due, number) for number in range(rounds)]
    idle = statistics.median(timed(lambda: dispatcher.run(datetime(2000, 1, 1, tzinfo=UTC))) for _ in range(100))
    first, last = (statistics.median(column) for column in zip(*figures, strict=True))
    return {"rate": due / last, "first": first * 1000, "last": last * 1000, "idle": idle * 1000}


def dispatcher_of(jobs: int):
    """Return a dispatcher in a new database with this number of jobs, and the publisher that it uses."""
    import django

    django.setup()
    from scheduler_site.celery import app
    from triggers.dispatch import Dispatcher
    from triggers.publisher import RunPublisher

    build(jobs)
    publisher = RecordingPublisher(RunPublisher(app))
    dispatcher = Dispatcher(publisher)
    dispatcher.run(datetime(2000, 1, 1, tzinfo=UTC))  # connects
    gc.freeze()  # as a beat does
    return dispatcher, publisher


def measure_gates(rounds: int) -> dict[str, float]:
    """Return the runs per second of each case in GATED.  The cases take turns, so that noise affects all of them."""
    dispatcher, publisher = dispatcher_of(GATED_JOBS)
    from django.conf import settings

    from maintenance.models import Notice

    gates = settings.TRIGGER_GATES
    notices = {name: notices_of(*amounts) for name, (_, *amounts) in GATED.items()}
    took: dict[str, list[float]] = {name: [] for name in GATED}
    for number in range(rounds * len(GATED)):
        name = list(GATED)[number % len(GATED)]
        settings.TRIGGER_GATES = gates if GATED[name][0] else []
        Notice.objects.filter(status="started").update(status="completed")
        Notice.objects.filter(pk__in=notices[name]).update(status="started")
        took[name].append(one_round(dispatcher, publisher, GATED_DUE, number)[1])
    return {name: GATED_DUE / statistics.median(each) for name, each in took.items()}


def notices_of(started: int, jobs_each: int, ended: int) -> list:
    """Create notices, and policies of due jobs that hold for them; return the keys of the notices to be started."""
    from accounts.models import Subscription
    from jobs.models import Job
    from maintenance.models import JobMaintenancePolicy, Notice, NoticeResource

    at, subscription = datetime(2025, 12, 31, tzinfo=UTC), Subscription.objects.get(name="bench")
    notices = Notice.objects.bulk_create(
        Notice(
            subscription=subscription,
            event_type="Reboot",
            status="completed",
            not_before=at,
            announced_at=at,
            started_at=at,
            ended_at=at,
        )
        for _ in range(started + ended)
    )
    NoticeResource.objects.bulk_create(
        NoticeResource(notice=each, name=f"db-{n % 50}") for n, each in enumerate(notices)
    )
    jobs = Job.objects.order_by("pk").values_list("pk", flat=True)[:: GATED_JOBS // GATED_DUE][: started * jobs_each]
    JobMaintenancePolicy.objects.bulk_create(
        (
            JobMaintenancePolicy(job_id=job, resource_names=[f"db-{n // jobs_each}"], on_notice="hold")
            for n, job in enumerate(jobs)
        ),
        ignore_conflicts=True,
    )
    return [notice.pk for notice in notices[:started]]


class RecordingPublisher:
    """A publisher that records when it published runs."""

    def __init__(self, publisher):
        self.publisher = publisher
        self.published_at: list[float] = []

    def is_reachable(self) -> bool:
        return self.publisher.is_reachable()

    def publish(self, runs) -> bool:
        assert self.publisher.publish(runs)
        self.published_at.append(time.perf_counter())
        return True


def one_round(dispatcher, publisher: RecordingPublisher, due: int, number: int) -> tuple[float, float]:
    """Return the seconds until the first and the last run was committed and published."""
    from jobs.models import Run
    from triggers.models import Trigger

    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
    Run.objects.update(state=Run.State.SUCCEEDED)  # the runs of the previous round
    ids = list(Trigger.objects.order_by("pk").values_list("pk", flat=True))
    Trigger.objects.filter(pk__in=ids[:: len(ids) // due][:due]).update(next_fire_at=now)
    publisher.published_at.clear()
    started = time.perf_counter()
    while dispatcher.run(now) <= now:
        pass
    assert Run.objects.filter(fire_at=now).count() == due
    return publisher.published_at[0] - started, publisher.published_at[-1] - started


def timed(function) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
