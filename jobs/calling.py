"""Make the calls of runs: one event loop with one session, in a thread of its own that never touches the database."""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Mapping
from typing import Self

import aiohttp

from jobs import actions
from jobs.actions import Outcome, http, polling
from jobs.actions.outcome import refused
from jobs.leasing import Leased
from jobs.room import Place, Room

logger = logging.getLogger(__name__)

ATTEMPT_LIMIT_S = 90.0  # whatever an action's own limit is, its attempt ends here
BATCH = 200  # outcomes that are handed over at once
GATHER_S = 0.01  # how long outcomes wait for others while more calls are out

Ended = tuple[Leased, Outcome | None]  # None: the call was cut off


class Calls:
    """The calls in hand.  Between `start` and `close`, or within a `with`, any thread may begin some."""

    def __init__(self, room: Room):
        self.room = room
        self._in_hand: dict[Place, Leased] = {}  # from `begin` until `ended` hands them over
        self._tasks: dict[asyncio.Task[Outcome], Place] = {}
        self._ended: queue.SimpleQueue[tuple[Place, Outcome | None]] = queue.SimpleQueue()
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

    def begin(self, leased: Mapping[Place, Leased]) -> None:
        self._in_hand.update(leased)
        self._loop.call_soon_threadsafe(self._begin, leased)

    def ended(self, wait_s: float) -> list[Ended]:
        """Wait for the end of a call, and return those that have ended; none when time is up."""
        try:
            found = [self._ended.get(timeout=wait_s)]
        except queue.Empty:
            return []
        if len(self._in_hand) > 1:
            time.sleep(GATHER_S)
        while len(found) < BATCH and not self._ended.empty():
            found.append(self._ended.get())
        for place, _ in found:
            self.room.leave(place)
        return [(self._in_hand.pop(place), outcome) for place, outcome in found]

    def in_hand(self) -> list[Leased]:
        return list(self._in_hand.values())

    def cut_off(self) -> None:
        """Cancel the calls that are out."""
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

    def _begin(self, leased: Mapping[Place, Leased]) -> None:
        for place, item in leased.items():
            task = self._loop.create_task(attempt(item, self._session))
            self._tasks[task] = place
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Outcome]) -> None:
        place = self._tasks.pop(task)
        self.room.end(place)
        self._ended.put((place, None if task.cancelled() else task.result()))

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


async def attempt(item: Leased, session: aiohttp.ClientSession) -> Outcome:
    """Carry out the action of a run once, or ask after it; whatever happens is an outcome."""
    outcome = await _carry_out(item, session)
    # of a poll, what is no answer tells nothing about the attempt
    return polling.unread(outcome) if item.poll and outcome.status_code is None else outcome


async def _carry_out(item: Leased, session: aiohttp.ClientSession) -> Outcome:
    if item.secrets is None or item.poll and item.operation is None:
        return refused("The stored credentials cannot be read: no key in ENCRYPTION_KEYS opens them.")
    try:
        async with asyncio.timeout(ATTEMPT_LIMIT_S):
            if item.operation:
                return await actions.poll(item.action, item.secrets, item.context, item.operation, session)
            return await actions.perform(item.action, item.secrets, item.context, session)
    except TimeoutError:
        return Outcome(False, f"The action did not end within {ATTEMPT_LIMIT_S:.0f} seconds.")
    except Exception as error:
        logger.exception("attempt %s of run %s", item.attempt.number, item.run.pk)
        return Outcome(False, f"The action could not be carried out ({type(error).__name__}).")
