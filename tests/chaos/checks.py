"""What must be true after the faults, from the schedules, the rows and the calls that arrived."""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count

from jobs.models import Attempt, Job, Run
from tests.chaos.load import Load
from tests.peers.server import Call

ID_HEADER = "Idempotency-Key"
STEADY_DELAY_S = 3.0  # the median delay of starts; without faults it is far below a second
EXAMPLES = 3


def open_runs() -> int:
    return Run.objects.filter(state__in=Run.OPEN).count()


def all_have_ended(number: int) -> bool:
    """Return True if there are so many runs and none is open."""
    return Run.objects.count() >= number and not open_runs()


def problems(loads: Sequence[Load], end: datetime, calls: Sequence[Call]) -> Iterator[str]:
    """Yield a sentence for each rule that does not hold."""
    expected = {(load.name, fire_at) for load in loads for fire_at in load.fire_times(end)}
    rows = Counter(Run.objects.values_list("job_name", "fire_at"))
    yield from sentence("fire times have no run", expected - rows.keys())
    yield from sentence("runs have no fire time", rows.keys() - expected)
    yield from sentence("fire times have several runs", {key for key, number in rows.items() if number > 1})
    others = Run.objects.exclude(state=Run.State.SUCCEEDED).values_list("job_name", "fire_at", "state", "reason")
    yield from sentence("runs have not succeeded", set(others))
    fire_at = dict(Run.objects.values_list("pk", "fire_at"))
    ids = Counter(UUID(call.headers[ID_HEADER]) for call in calls)
    yield from sentence("calls have the id of no run", ids.keys() - fire_at.keys())
    yield from sentence("runs have no call", fire_at.keys() - ids.keys())
    arrivals = ((UUID(call.headers[ID_HEADER]), call.arrived_at) for call in calls)
    yield from sentence("calls are early", {run for run, at in arrivals if run in fire_at and at < fire_at[run]})
    yield from sentence("jobs count other attempts than they have", set(wrong_counters()))
    delays = sorted(start_delays().values())
    if delays and statistics.median(delays) > STEADY_DELAY_S:
        yield f"half of the runs started more than {STEADY_DELAY_S:g} s late"


def wrong_counters() -> Iterator[tuple[str, int, int]]:
    """Yield the name of a job, its count of ended attempts, and their number."""
    ended = dict(
        Attempt.objects.exclude(state=Attempt.State.RUNNING).values_list("job").annotate(Count("pk")).order_by()
    )
    for pk, name, count in Job.objects.values_list("pk", "name", "execution_count"):
        if count != ended.get(pk, 0):
            yield name, count, ended.get(pk, 0)


def sentence(rule: str, found: set) -> Iterator[str]:
    if found:
        rows = [each if isinstance(each, tuple) else (each,) for each in list(found)[:EXAMPLES]]
        examples = ", ".join(" ".join(map(str, row)) for row in rows)
        yield f"{len(found)} {rule}: {examples}"


def start_delays() -> Mapping[tuple[UUID, datetime], float]:
    """Return the seconds between the fire time of each run and the start of its first attempt."""
    first = Attempt.objects.filter(number=1).values_list("run", "run__fire_at", "started_at")
    return {(run, fire_at): (started_at - fire_at).total_seconds() for run, fire_at, started_at in first}


@dataclass(frozen=True, slots=True)
class Window:
    """The time that a fault can affect: from its beginning to the next one."""

    name: str
    start: datetime
    end: datetime


def table(windows: Sequence[Window], calls: Sequence[Call]) -> Iterator[str]:
    """Yield a line for each window: its runs, the calls beyond one for each run, and the delays of starts."""
    numbers = Counter(UUID(call.headers[ID_HEADER]) for call in calls)
    delays = start_delays()
    yield f"{'fault':<30}{'runs':>7}{'extra calls':>13}{'delay p50':>11}{'p99':>8}{'max':>8}"
    for window in windows:
        inside = {run: delay for (run, fire_at), delay in delays.items() if window.start <= fire_at < window.end}
        if not inside:
            continue
        ordered = sorted(inside.values())
        extra = sum(numbers[run] - 1 for run in inside)
        p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
        yield f"{window.name:<30}{len(inside):>7,}{extra:>13,}{p50:>9.2f} s{p99:>6.2f} s{ordered[-1]:>6.2f} s"
