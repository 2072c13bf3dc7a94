"""Send workers messages about waiting runs.  A message holds only ids; a lost message costs time, but no run."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from uuid import UUID

from celery import Celery
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

EXECUTE = "jobs.tasks.execute"
MESSAGE_RUNS = 50  # runs in one message: a worker carries them out at the same time
RETRY_AFTER_S = 2.0  # wait after a failed attempt before the broker is tried again


class RunPublisher:
    """Publishes runs to the broker.  An outage is logged once, and the methods return False instead of raising."""

    def __init__(self, app: Celery, monotonic: Callable[[], float] = time.monotonic):
        self.app = app
        self._monotonic = monotonic
        self._retry_at: float | None = None  # during an outage: when to try again, in monotonic seconds
        self._connect()

    def is_reachable(self) -> bool:
        """Return True if the broker answers.  During an outage the broker is tried at most once in RETRY_AFTER_S."""
        if self._retry_at is not None and self._monotonic() < self._retry_at:
            return False
        try:
            self.connection.ensure_connection(max_retries=0)
        except (KombuError, OSError) as error:
            self._mark_unavailable(error)
            return False
        return True

    def publish(self, runs: Iterable[tuple[str, UUID]]) -> bool:
        """Publish runs, given by queue and id; return False when the broker did not take the messages."""
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
            self._mark_unavailable(error)
            return False
        if self._retry_at is not None:
            logger.info("the broker answers again")
            self._retry_at = None
        return True

    def close(self) -> None:
        self.connection.release()

    @property
    def _transport_errors(self) -> tuple[type[Exception], ...]:
        return (KombuError, OSError, *self.connection.connection_errors, *self.connection.channel_errors)

    def _send(self, queue: str, run_ids: list[str]) -> None:
        self.app.send_task(EXECUTE, args=(run_ids,), queue=queue, producer=self.producer, retry=False)

    def _mark_unavailable(self, error: Exception) -> None:
        if self._retry_at is None:
            logger.error("the broker does not answer, so runs wait for it: %s", error.__cause__ or error)
        self._retry_at = self._monotonic() + RETRY_AFTER_S
        self.close()
        self._connect()

    def _connect(self) -> None:
        self.connection = self.app.connection_for_write()
        self.producer = self.app.amqp.Producer(self.connection, auto_declare=False)
