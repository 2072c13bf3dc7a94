"""Responses of a target about its operation, and runs that follow it."""

import json
from datetime import timedelta

from jobs.actions.result import AttemptResult, Operation, PollSource
from jobs.models import Poll
from tests.peers.server import Answer
from tests.peers.target import Target

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
GOES_ON = AttemptResult(
    True, "The operation goes on.", 200, operation=Operation(PollSource.STATUS, "https://x.example/")
)


def accepted(target: Target, wait: int | None = 10, **more: str) -> Answer:
    headers = {"Azure-AsyncOperation": f"{target.url}/status", **more}
    return Answer(202, headers | ({} if wait is None else {"Retry-After": str(wait)}), "")


def status(word: str, wait: int | None = 10, **members) -> Answer:
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return Answer(200, headers, json.dumps({"status": word, **members}))


FAILED = status("Failed", None, error={"code": "NoRoom", "message": "The shelf is full."})


def polls_of(run) -> list[Poll]:
    return list(Poll.objects.filter(attempt__run=run).order_by("attempt__number", "number"))


def words_of(run) -> list[str]:
    return [poll.status for poll in polls_of(run)]


def go_on(work, run, max_steps: int = 20) -> None:
    """Work on the run each time it is due, until it has ended."""
    for _ in range(max_steps):
        if not run.is_open:
            return
        assert work(run, at=run.publish_after) == 1
    raise AssertionError("it does not end")
