"""Celery's programs `worker` and `beat`, with signal handlers that only set flags.

Celery's own handlers do more, and a second signal can interrupt them.  The handler of the worker sends a Celery signal,
which takes a lock.  The handler of the beat closes the scheduler in the middle of a query.  Both can wait for ever.
"""

import signal
from types import FrameType

from celery.apps import beat, worker
from celery.platforms import EX_OK
from celery.worker import state

from operations import stopping

STOPPING = (signal.SIGTERM, signal.SIGINT)


class Worker(worker.Worker):
    def install_platform_tweaks(self, worker: worker.Worker) -> None:
        super().install_platform_tweaks(worker)
        for number in STOPPING:
            signal.signal(number, stop_worker)


class Beat(beat.Beat):
    def install_sync_handler(self, service: object) -> None:
        """Record the request to stop; `TriggerScheduler.tick` reads it between two passes."""
        for number in STOPPING:
            signal.signal(number, stopping.request)


def stop_worker(number: int, frame: FrameType | None) -> None:
    """Begin Celery's warm shutdown."""
    stopping.request()
    state.should_stop = EX_OK
