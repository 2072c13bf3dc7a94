"""The jobs of the installation, and their fire times, computed without the engine of the product."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

SECOND = timedelta(seconds=1)
SUBSCRIPTIONS = 3  # each with less than the share of a subscription
POLICIES = ("fire_once", "fire_all", "skip")  # no outage is longer than the misfire threshold, so all of them run


@dataclass(frozen=True, slots=True)
class Load:
    """A job that fires each `step` seconds from `first` to the end of the window, both included."""

    name: str
    schedule: Mapping[str, Any]
    first: datetime
    step: int

    def fire_times(self, end: datetime) -> Iterator[datetime]:
        fire_at = self.first
        while fire_at <= end:
            yield fire_at
            fire_at += self.step * SECOND


def text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def loads(start: datetime, end: datetime) -> Iterator[Load]:
    """Yield jobs with about 30 occurrences a second in [start, end].  The second of `start` is a multiple of ten."""
    after = text(end + SECOND)  # an interval does not include its end
    bounds = {"startTime": text(start), "endTime": text(end)}
    for number in range(10):
        yield Load(f"quartz-{number}", {"format": "quartz", "expression": "* * * * * ?", **bounds}, start, 1)
    for number in range(40):
        first, expression = start + number % 10 * SECOND, f"{number % 10}/10 * * * * ?"
        yield Load(f"tenth-{number}", {"format": "quartz", "expression": expression, **bounds}, first, 10)
    for number in range(30):
        first = start + number % 3 * SECOND
        schedule = {"format": "simple", "interval": 3000, "startTime": text(first), "endTime": after}
        yield Load(f"simple-{number}", schedule, first, 3)
    for number in range(25):
        first = start + number % 5 * SECOND
        rule = {"start": {"dateTime": text(first)[:-1], "timeZone": "UTC"}, "rrule": "FREQ=SECONDLY;INTERVAL=5"}
        yield Load(f"rrule-{number}", {"format": "rrule", **rule, "endTime": text(end)}, first, 5)
    for number in range(int((end - start).total_seconds())):
        at = start + number * SECOND
        yield Load(f"once-{number}", {"format": "once", "at": text(at)}, at, 10**6)


def create(jobs: list[Load], receiver: str, now: datetime) -> None:
    """Create the jobs.  Every fifth takes long enough to be in progress when its worker ends."""
    from accounts.models import Subscription
    from jobs.models import Job, JobCollection
    from triggers.definitions import JobDefinition, split_schedule
    from triggers.scheduling import save_job

    collections = []
    for number in range(SUBSCRIPTIONS):
        subscription = Subscription.objects.create(name=f"chaos-{number}")
        collections.append(JobCollection.objects.create(subscription=subscription, name="chaos", sku="P20Premium"))
    for number, load in enumerate(jobs):
        format, definition = split_schedule(load.schedule)
        path = "slow" if number % 5 == 0 else "quick"
        action = {
            "type": "Http",
            "request": {"uri": f"{receiver}/{path}", "method": "POST"},
            "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT30S", "retryCount": 9},
        }
        # a job that fires each second may not queue: after an outage, its queue would grow
        overlap = Job.Overlap.QUEUE_ALL if number % 2 and load.step > 3 else Job.Overlap.ALLOW
        misfire = POLICIES[number % len(POLICIES)]
        save_job(
            collections[number % SUBSCRIPTIONS],
            load.name,
            JobDefinition(action=action, format=format, schedule=definition, overlap=overlap, misfire=misfire),
            now,
        )
