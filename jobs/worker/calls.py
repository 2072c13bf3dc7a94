"""Make the calls of runs in one event loop with one session.

The loop has a thread of its own, which never touches the database.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Mapping
from typing import Self

import aiohttp

from jobs import actions
from jobs.actions import AttemptResult, http, polling
from jobs.actions.result import refused
from jobs.worker.concurrency import CallLimiter, Slot
from jobs.worker.leasing import Leased

logger = logging.getLogger(__name__)

ATTEMPT_LIMIT_S = 90.0  # an attempt ends after this time, even if its action has a higher limit
BATCH = 200  # results that `collect_finished` returns at once
GATHER_S = 0.01  # how long `collect_finished` waits for more results while other calls are active

Finished = tuple[Leased, AttemptResult | None]  # None: the call was cancelled


class HttpPool:
    """The active calls of a worker.

    Any thread may submit calls between `start` and `close`, or inside a `with` block.
    """

    def __init__(self, limiter: CallLimiter):
        self.limiter = limiter
        self._active: dict[Slot, Leased] = {}  # from `submit` until `collect_finished` returns them
        self._tasks: dict[asyncio.Task[AttemptResult], Slot] = {}
        self._finished: queue.SimpleQueue[tuple[Slot, AttemptResult | None]] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="calls", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def submit(self, leased: Mapping[Slot, Leased]) -> None:
        self._active.update(leased)
        self._loop.call_soon_threadsafe(self._create_tasks, leased)

    def collect_finished(self, wait_s: float) -> list[Finished]:
        """Wait up to `wait_s` seconds for a call to end.  Return the calls that have ended; none after the timeout."""
        try:
            found = [self._finished.get(timeout=wait_s)]
        except queue.Empty:
            return []
        if len(self._active) > 1:
            time.sleep(GATHER_S)
        while len(found) < BATCH and not self._finished.empty():
            found.append(self._finished.get())
        for slot, _ in found:
            self.limiter.release(slot)
        return [(self._active.pop(slot), result) for slot, result in found]

    def active_runs(self) -> list[Leased]:
        return list(self._active.values())

    def cancel_all(self) -> None:
        """Cancel all active calls."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        async with http.open_session() as self._session:
            self._ready.set()
            await self._closing.wait()
            self._cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _create_tasks(self, leased: Mapping[Slot, Leased]) -> None:
        for slot, item in leased.items():
            task = self._loop.create_task(attempt(item, self._session))
            self._tasks[task] = slot
            task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[AttemptResult]) -> None:
        slot = self._tasks.pop(task)
        self.limiter.finish(slot)
        self._finished.put((slot, None if task.cancelled() else task.result()))

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


async def attempt(item: Leased, session: aiohttp.ClientSession) -> AttemptResult:
    """Carry out the action of a run once, or poll its operation.  Errors are returned as results."""
    result = await _carry_out(item, session)
    # a poll without an answer says nothing about the attempt
    return polling.poll_failed(result) if item.poll and result.status_code is None else result


async def _carry_out(item: Leased, session: aiohttp.ClientSession) -> AttemptResult:
    if item.secrets is None or (item.poll and item.operation is None):
        return refused("The stored credentials cannot be read: no key in ENCRYPTION_KEYS opens them.")
    try:
        async with asyncio.timeout(ATTEMPT_LIMIT_S):
            if item.operation:
                return await actions.poll(item.action, item.secrets, item.context, item.operation, session)
            return await actions.perform(item.action, item.secrets, item.context, session)
    except TimeoutError:
        return AttemptResult(False, f"The action did not end within {ATTEMPT_LIMIT_S:.0f} seconds.")
    except Exception as error:
        logger.exception("attempt %s of run %s", item.attempt.number, item.run.pk)
        return AttemptResult(False, f"The action could not be carried out ({type(error).__name__}).")
