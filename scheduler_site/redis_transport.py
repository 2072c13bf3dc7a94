"""The Redis transport of kombu with one bug fixed: a lost connection ended the worker process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import ConnectionError

PATH = f"{__name__}:Transport"


class Channel(redis.Channel):
    """A channel that knows whether its connection has been closed.

    A worker also acknowledges and restores messages of a lost connection.  kombu 5.7 raises `AttributeError` then.
    Celery does not expect that error, and the worker ends.  Celery expects and survives a connection error.
    """

    @property
    def is_connected(self) -> bool:
        return self.connection is not None and self.connection.client is not None

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """Yield a client; raise a connection error when the connection has been closed."""
        if not self.is_connected:
            raise ConnectionError("the connection to the broker has been closed")
        with super().conn_or_acquire(client) as client:
            yield client

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        """Acknowledge a message; do nothing when the connection has been closed.

        The broker delivers such a message again.  This is harmless, because the rows of its runs have the state of runs
        that have begun.
        """
        if self.is_connected:
            super().basic_ack(delivery_tag, multiple)


class Transport(redis.Transport):
    Channel = Channel


def register() -> None:
    """Use this transport for `redis://` and `rediss://` addresses in this process."""
    TRANSPORT_ALIASES.update(redis=PATH, rediss=PATH)
