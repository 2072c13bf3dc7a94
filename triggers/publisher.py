"""Send messages with ids of waiting runs to workers, and notice when the broker is away."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from celery import Celery
from kombu.exceptions import KombuError

from triggers.fair_share import FairShare

logger = logging.getLogger(__name__)

EXECUTE = "jobs.tasks.execute"
LOW_PRIORITY = 9  # workers take such a message when no queue of theirs has another; the default of Redis is 0
MESSAGE_RUNS = 50  # runs in one message: a worker carries them out at the same time
RETRY_AFTER_S = 2.0  # wait after a failed attempt before the broker is tried again


class ReadyRun(NamedTuple):
    """A run that must be published."""

    queue: str
    id: UUID
    subscription_id: UUID


class RunPublisher:
    """Publishes runs to the broker.  An outage is logged once, and the methods return False instead of raising."""

    def __init__(self, app: Celery, monotonic: Callable[[], float] = time.monotonic):
        self.app = app
        self._monotonic = monotonic
        self._fair_share = FairShare(monotonic)
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

    def publish(self, runs: Iterable[ReadyRun]) -> bool:
        """Publish runs; return False when the broker did not take the messages.

        Runs that exceed the share of their subscription are published at low priority.
        """
        run_ids: dict[tuple[str, int | None], list[str]] = defaultdict(list)
        for run in runs:
            priority = None if self._fair_share.take(run.subscription_id) else LOW_PRIORITY
            run_ids[run.queue, priority].append(str(run.id))
        if not run_ids:
            return True
        if not self.is_reachable():
            return False
        try:
            with self.producer.batch():
                for (queue, priority), ids in run_ids.items():
                    for first in range(0, len(ids), MESSAGE_RUNS):
                        self._send(ids[first : first + MESSAGE_RUNS], queue=queue, priority=priority)
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

    def _send(self, run_ids: list[str], **options: str | int | None) -> None:
        self.app.send_task(EXECUTE, args=(run_ids,), producer=self.producer, retry=False, **options)

    def _mark_unavailable(self, error: Exception) -> None:
        if self._retry_at is None:
            logger.error("the broker does not answer, so runs wait for it: %s", error.__cause__ or error)
        self._retry_at = self._monotonic() + RETRY_AFTER_S
        self.close()
        self._connect()

    def _connect(self) -> None:
        self.connection = self.app.connection_for_write()
        self.producer = self.app.amqp.Producer(self.connection, auto_declare=False)
