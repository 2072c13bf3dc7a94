"""Actions of the type Task: a callable that the installation registered, in the member `task`.  An addition of ours.

A callable runs in a thread of its own, never in the event loop, and cannot be ended from outside: when its attempt's
time is over, that has failed, and the callable goes on beside whatever follows.  It keeps its thread until it returns.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from difflib import SequenceMatcher
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connections

from jobs import registry
from jobs.actions.outcome import Context, Outcome
from jobs.actions.stored import Stored, present
from jobs.encryption import Secrets
from jobs.members import Members, shown
from jobs.registry import Task, TaskContext

logger = logging.getLogger(__name__)

HOST = "tasks"  # what stands for a host: all callables of a worker share its threads
ARGUMENTS_LIMIT = 8192  # characters of JSON
LINE_LIMIT = 1000  # characters of what history keeps
THREAD_WITHIN_S = 30.0  # for how long an attempt waits for a thread; it does so only behind callables that overran
LOOK_S = 0.1


def parse(members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    name = members.required_text("name", registry.NAME_LIMIT)
    if registry.find(name) is None:
        known = ", ".join(sorted(registry.names(), key=lambda each: -SequenceMatcher(None, each, name).ratio()))
        members.refuse("name", f"is no task of this installation: {shown(name)}; there is {known}", "unknown_value")
    return present(name=name, arguments=members.json_object("arguments", ARGUMENTS_LIMIT))


async def perform(message: Mapping[str, Any], context: Context) -> Outcome:
    name = message["name"]
    function = registry.find(name)
    if function is None:
        return Outcome(False, f"This worker knows no task {name!r}.")
    arguments = deepcopy(message.get("arguments", {}))
    about = TaskContext(
        run_id=context.run_id,
        attempt=context.attempt,
        fire_at=context.fire_at,
        job=context.job_name,
        collection=context.collection_name,
    )
    return await threads().run(lambda: call(name, function, arguments, about))


def call(name: str, function: Task, arguments: dict[str, Any], context: TaskContext) -> Outcome:
    """Call a task; whatever it does is an outcome.  What it raised is logged whole, readers are told its message."""
    try:
        line = function(arguments, context)
        return Outcome(True, one_line("" if line is None else str(line)) or "Done.")
    except BaseException as error:  # SystemExit, too, is for this thread alone
        logger.exception("task %s, attempt %s of run %s", name, context.attempt, context.run_id)
        return Outcome(False, one_line(": ".join(filter(None, (type(error).__name__, words_of(error))))))


def words_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def one_line(text: str) -> str:
    """The text on one line, without what a database cannot store, and cut off when long."""
    line = " ".join(text.replace("\0", " ").encode(errors="replace").decode().split())
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1] + "…"


class Threads:
    """At most `limit` threads at a time, each of which lives as long as its work."""

    def __init__(self, limit: int):
        self._free = threading.BoundedSemaphore(limit)

    async def run(self, work: Callable[[], Outcome]) -> Outcome:
        if not await self._has_one():
            return Outcome(False, f"No thread was free within {THREAD_WITHIN_S:.0f} seconds: earlier tasks do not end.")
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        # a daemon: one that does not end must not keep its process from ending
        threading.Thread(target=self._work, args=(work, loop, ended), name="task", daemon=True).start()
        return await ended

    async def _has_one(self) -> bool:
        for _ in range(round(THREAD_WITHIN_S / LOOK_S)):
            if self._free.acquire(blocking=False):
                return True
            await asyncio.sleep(LOOK_S)
        return False

    def _work(
        self, work: Callable[[], Outcome], loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[Outcome]"
    ) -> None:
        try:
            outcome = work()
        finally:
            connections.close_all()
            self._free.release()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, ended, outcome)


def _settle(ended: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not ended.done():
        ended.set_result(outcome)


@cache
def threads() -> Threads:
    """Those of this process."""
    return Threads(settings.TASK_THREADS)
