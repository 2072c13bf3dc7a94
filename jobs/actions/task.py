"""Actions of the type Task: a callable that the installation registered, in the member `task`.  Our own addition.

A callable runs in its own thread, never in the event loop, and cannot be stopped from outside.  When the time limit of
its attempt has passed, the attempt has failed, but the callable goes on and keeps its thread until it returns.
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

from api.json_object import JsonObject, shorten_repr
from jobs import registry
from jobs.actions.members import TASK
from jobs.actions.previous import PreviousAction
from jobs.actions.result import AttemptResult, Context
from jobs.encryption import Secrets
from jobs.registry import Task, TaskContext

logger = logging.getLogger(__name__)

HOST = "tasks"  # pseudo host of all tasks: they share the threads of a worker
LINE_LIMIT = 1000  # characters of a result that history stores
ACQUIRE_TIMEOUT_S = 30.0  # longest wait for a thread; a wait is needed only if earlier callables ran too long
POLL_S = 0.1


def parse(members: JsonObject, previous: PreviousAction, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    task = TASK.read(members)
    name = task.get("name")
    if name is not None and registry.find(name) is None:
        known = ", ".join(sorted(registry.names(), key=lambda each: -SequenceMatcher(None, each, name).ratio()))
        members.fault(
            "name", f"is no task of this installation: {shorten_repr(name)}; there is {known}", "unknown_value"
        )
    return task


async def perform(message: Mapping[str, Any], context: Context) -> AttemptResult:
    name = message["name"]
    function = registry.find(name)
    if function is None:
        return AttemptResult(False, f"This worker knows no task {name!r}.")
    arguments = deepcopy(message.get("arguments", {}))
    task_context = TaskContext(
        run_id=context.run_id,
        attempt=context.attempt,
        fire_at=context.fire_at,
        job=context.job_name,
        collection=context.collection_name,
    )
    return await threads().run(lambda: call(name, function, arguments, task_context))


def call(name: str, function: Task, arguments: dict[str, Any], context: TaskContext) -> AttemptResult:
    """Call a task and return its result.  An exception is logged with its traceback; history gets only its message."""
    try:
        line = function(arguments, context)
        return AttemptResult(True, one_line("" if line is None else str(line)) or "Done.")
    except BaseException as error:  # SystemExit must not end more than this thread
        logger.exception("task %s, attempt %s of run %s", name, context.attempt, context.run_id)
        return AttemptResult(False, one_line(": ".join(filter(None, (type(error).__name__, format_exception(error))))))


def format_exception(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def one_line(text: str) -> str:
    """Return the text on one line, cut off at LINE_LIMIT, without characters that a database cannot store."""
    line = " ".join(text.replace("\0", " ").encode(errors="replace").decode().split())
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1] + "…"


class Threads:
    """Run work in at most `limit` threads at a time.  Each thread ends with its work."""

    def __init__(self, limit: int):
        self._free = threading.BoundedSemaphore(limit)

    async def run(self, work: Callable[[], AttemptResult]) -> AttemptResult:
        if not await self._acquire():
            return AttemptResult(
                False, f"No thread was free within {ACQUIRE_TIMEOUT_S:.0f} seconds: earlier tasks do not end."
            )
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        # a daemon thread: work that does not end must not prevent the end of the process
        threading.Thread(target=self._work, args=(work, loop, future), name="task", daemon=True).start()
        return await future

    async def _acquire(self) -> bool:
        for _ in range(round(ACQUIRE_TIMEOUT_S / POLL_S)):
            if self._free.acquire(blocking=False):
                return True
            await asyncio.sleep(POLL_S)
        return False

    def _work(
        self,
        work: Callable[[], AttemptResult],
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[AttemptResult]",
    ) -> None:
        try:
            result = work()
        finally:
            connections.close_all()
            self._free.release()
        with suppress(RuntimeError):  # the loop is closed, so no attempt waits for the result
            loop.call_soon_threadsafe(_settle, future, result)


def _settle(future: "asyncio.Future[AttemptResult]", result: AttemptResult) -> None:
    if not future.done():
        future.set_result(result)


@cache
def threads() -> Threads:
    """Return the threads of this process."""
    return Threads(settings.TASK_THREADS)
