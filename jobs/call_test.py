"""Make one call of a job immediately, outside its schedule, to test the job before it is due.

The target is really called.  Nothing is stored: there is no run, counters do not change, nothing is retried, and no
error action follows a failure.
"""

import asyncio
import time
import uuid
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import BoundedSemaphore, Lock
from typing import Any

from django.db.models import TextChoices

from accounts.rate_limits import RateLimit
from api.errors import Conflict
from jobs import actions
from jobs.actions import http
from jobs.actions.result import AttemptResult, CallRefused, Context, refused
from jobs.encryption import MASK, UnreadableSecret
from jobs.models import SECRET_PATH, Action, Job

LIMIT_S = 20.0  # for the whole call: a person and a thread of the web server wait for it
CALL_TESTS = RateLimit("rehearsals", 10, 60)  # tests of one person in a minute
CONCURRENT_TESTS = BoundedSemaphore(2)  # tests at a time in a web process: its other threads must serve everybody else


class OnePerPerson:
    """Limit each person to one test at a time in this web process, so that nobody uses all of CONCURRENT_TESTS."""

    def __init__(self):
        self._lock = Lock()
        self._people: set[Hashable] = set()

    @contextmanager
    def hold(self, person: Hashable) -> Iterator[bool]:
        """Yield True if this is the person's only test; a second one must not begin."""
        with self._lock:
            is_only_one = person not in self._people
            self._people.add(person)
        try:
            yield is_only_one
        finally:
            if is_only_one:
                with self._lock:
                    self._people.remove(person)


RUNNING_TESTS = OnePerPerson()


class Part(TextChoices):
    ACTION = "action", "action"
    ERROR_ACTION = "errorAction", "error action"


@dataclass(frozen=True, slots=True)
class CallTestResult:
    """The result of a test.  `request` is the sent call, as `render_call` returns it; empty if nothing was sent."""

    result: AttemptResult
    elapsed: timedelta
    request: Mapping[str, Any] = field(default_factory=dict)


def has_part(job: Job, part: Part) -> bool:
    return part is Part.ACTION or part in job.action.document


def run_call_test(job: Job, part: Part, now: datetime) -> CallTestResult:
    """Carry out this part of the job's action once.  Raises Conflict when the job has no such part."""
    if not has_part(job, part):
        raise Conflict(f"job {job.name!r} has no error action")
    document = job.action.document
    try:
        secrets: Mapping[str, str] = Action.objects.values_list("secrets", flat=True).get(pk=job.action_id)
        signing = tuple(stored.secrets[SECRET_PATH] for stored in job.signing_secrets.live(now))
    except UnreadableSecret:
        return _unsent(refused("The stored credentials cannot be read: no key in ENCRYPTION_KEYS opens them."))
    if part is Part.ERROR_ACTION:
        document, secrets = document[part], actions.secrets_below(part, secrets)
    context = _context(job, now, signing)
    try:
        request = render_call(document, secrets, context)
    except CallRefused as error:
        return _unsent(refused(str(error)))
    if not CONCURRENT_TESTS.acquire(blocking=False):
        return _unsent(AttemptResult(False, "Nothing was sent: other tests are under way. Try again in a few seconds."))
    try:
        began = time.monotonic()
        result = asyncio.run(_perform(document, secrets, context))
        return CallTestResult(result, timedelta(seconds=time.monotonic() - began), request)
    finally:
        CONCURRENT_TESTS.release()


def render_call(document: Mapping[str, Any], secrets: Mapping[str, str], context: Context) -> dict[str, Any]:
    """Return the call of an attempt for people, as `Call.as_redacted_dict` does; of a task its name and arguments.

    Raises CallRefused in the same cases as `prepare`.
    """
    if task := document.get("task"):
        return dict(task)
    request = actions.prepare(document, secrets, context).as_redacted_dict()
    credentials = document.get("request", {}).get("authentication") or {}
    if credentials.get("type") == "ActiveDirectoryOAuth":
        # the token is requested together with the call
        request["headers"] = [*request["headers"], ("Authorization", f"Bearer {MASK}")]
    return request


def _context(job: Job, now: datetime, signing: tuple[str, ...]) -> Context:
    return Context(
        run_id=uuid.uuid4(),
        attempt=1,
        fire_at=now,
        now=now,
        job_name=job.name,
        collection_name=job.collection.name,
        region=job.collection.location,
        signing_secrets=signing,
    )


def _unsent(result: AttemptResult) -> CallTestResult:
    return CallTestResult(result, timedelta(0))


async def _perform(document: Mapping[str, Any], secrets: Mapping[str, str], context: Context) -> AttemptResult:
    try:
        async with asyncio.timeout(LIMIT_S), http.open_session() as session:
            return await actions.perform(document, secrets, context, session)
    except TimeoutError:
        return AttemptResult(False, f"No complete answer within {LIMIT_S:.0f} seconds. A run waits longer.")
