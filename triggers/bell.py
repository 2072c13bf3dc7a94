"""Tell workers that runs wait for them.  A message holds ids and nothing else, and losing it loses only time."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from uuid import UUID

from celery import Celery
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

EXECUTE = "jobs.tasks.execute"
MESSAGE_RUNS = 50  # runs of one message: a worker carries them out at once
PAUSE_S = 2.0  # how long a broker that did not answer is left alone


class Bell:
    """The broker as dispatching sees it: it rings or it does not, and an outage is logged once."""

    def __init__(self, app: Celery, monotonic: Callable[[], float] = time.monotonic):
        self.app = app
        self._monotonic = monotonic
        self._silent_until: float | None = None  # during an outage: when to try again
        self._renew()

    def is_reachable(self) -> bool:
        """Is the broker there?  During an outage this asks it at most once in PAUSE_S."""
        if self._silent_until is not None and self._monotonic() < self._silent_until:
            return False
        try:
            self.connection.ensure_connection(max_retries=0)
        except (KombuError, OSError) as error:
            self._fell_silent(error)
            return False
        return True

    def ring(self, runs: Iterable[tuple[str, UUID]]) -> bool:
        """Send messages about runs, given by queue and id; False when the broker did not take them."""
        queues: dict[str, list[str]] = defaultdict(list)
        for queue, run_id in runs:
            queues[queue].append(str(run_id))
        if not queues:
            return True
        if not self.is_reachable():
            return False
        try:
            with self.producer.batch():
                for queue, ids in queues.items():
                    for first in range(0, len(ids), MESSAGE_RUNS):
                        self._send(queue, ids[first : first + MESSAGE_RUNS])
        except self._transport_errors as error:
            self._fell_silent(error)
            return False
        if self._silent_until is not None:
            logger.info("the broker answers again")
            self._silent_until = None
        return True

    def close(self) -> None:
        self.connection.release()

    @property
    def _transport_errors(self) -> tuple[type[Exception], ...]:
        return (KombuError, OSError, *self.connection.connection_errors, *self.connection.channel_errors)

    def _send(self, queue: str, run_ids: list[str]) -> None:
        self.app.send_task(EXECUTE, args=(run_ids,), queue=queue, producer=self.producer, retry=False)

    def _fell_silent(self, error: Exception) -> None:
        if self._silent_until is None:
            logger.error("the broker does not answer, so runs wait for it: %s", error.__cause__ or error)
        self._silent_until = self._monotonic() + PAUSE_S
        self.close()
        self._renew()

    def _renew(self) -> None:
        self.connection = self.app.connection_for_write()
        self.producer = self.app.amqp.Producer(self.connection, auto_declare=False)
