"""Make one call of a job at once, outside its schedule: to see whether it works before its time has come.

The target is really called.  Nothing is written down: there is no run, no counter moves, nothing is tried again and no
failure is followed by the error action.
"""

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import BoundedSemaphore
from typing import Any

from django.db.models import TextChoices

from accounts.limits import Limit
from jobs import actions
from jobs.actions import http
from jobs.actions.outcome import Context, Outcome, Refused, refused
from jobs.encryption import MASK, UnreadableSecret
from jobs.errors import Conflict
from jobs.models import SIGNING, Action, Job

LIMIT_S = 20.0  # the whole call: somebody waits for it, and a thread of the web server with them
REHEARSALS = Limit("rehearsals", 10, 60)  # of one person in a minute
AT_ONCE = BoundedSemaphore(2)  # of a web process: the rest of its few threads serve everybody else


class Part(TextChoices):
    ACTION = "action", "action"
    ERROR_ACTION = "errorAction", "error action"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """`request` is what was sent, as `shown_call` shows it; empty where nothing could be."""

    outcome: Outcome
    took: timedelta
    request: Mapping[str, Any] = field(default_factory=dict)


def has(job: Job, part: Part) -> bool:
    return part is Part.ACTION or part in job.action.document


def rehearse(job: Job, part: Part, now: datetime) -> Rehearsal:
    """Carry out that part of the job's action once.  Raises Conflict when the job has no such part."""
    if not has(job, part):
        raise Conflict(f"job {job.name!r} has no error action")
    document = job.action.document
    try:
        secrets: Mapping[str, str] = Action.objects.values_list("secrets", flat=True).get(pk=job.action_id)
        signing = tuple(stored.secrets[SIGNING] for stored in job.signing_secrets.live(now))
    except UnreadableSecret:
        return _unsent(refused("The stored credentials cannot be read: no key in ENCRYPTION_KEYS opens them."))
    if part is Part.ERROR_ACTION:
        document, secrets = document[part], actions.below(part, secrets)
    context = _context(job, now, signing)
    try:
        request = shown_call(document, secrets, context)
    except Refused as refusal:
        return _unsent(refused(str(refusal)))
    if not AT_ONCE.acquire(blocking=False):
        return _unsent(Outcome(False, "Nothing was sent: other tests are under way. Try again in a few seconds."))
    try:
        began = time.monotonic()
        outcome = asyncio.run(_perform(document, secrets, context))
        return Rehearsal(outcome, timedelta(seconds=time.monotonic() - began), request)
    finally:
        AT_ONCE.release()


def shown_call(document: Mapping[str, Any], secrets: Mapping[str, str], context: Context) -> dict[str, Any]:
    """What an attempt sends as people may see it, as `Call.shown` does; of a task its name and arguments.

    Raises Refused as `prepare` does.
    """
    if task := document.get("task"):
        return dict(task)
    shown = actions.prepare(document, secrets, context).shown()
    proof = document.get("request", {}).get("authentication") or {}
    if proof.get("type") == "ActiveDirectoryOAuth":
        shown["headers"] = [*shown["headers"], ("Authorization", f"Bearer {MASK}")]  # it is fetched with the call
    return shown


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


def _unsent(outcome: Outcome) -> Rehearsal:
    return Rehearsal(outcome, timedelta(0))


async def _perform(document: Mapping[str, Any], secrets: Mapping[str, str], context: Context) -> Outcome:
    try:
        async with asyncio.timeout(LIMIT_S), http.open_session() as session:
            return await actions.perform(document, secrets, context, session)
    except TimeoutError:
        return Outcome(False, f"No complete answer within {LIMIT_S:.0f} seconds. A run waits longer.")
