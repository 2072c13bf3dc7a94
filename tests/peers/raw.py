"""A server that sends given bytes: `Raw(b"HTTP/1.1 200 OK...")`, or `Raw(function of the connection)`."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from tests.peers.server import HOST


def answering(status: str, headers: str = "", body: bytes = b"") -> bytes:
    """Return a response that closes its connection."""
    return f"HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n".encode() + body


class Raw:
    """Send the same response on every connection, after a pause, and record the requests."""

    def __init__(self, answer: bytes | Callable[[socket.socket], None], pause: float = 0):
        self.answer = answer
        self.pause = pause
        self.requests: list[bytes] = []
        self._listening = socket.create_server((HOST, 0))
        self.port = self._listening.getsockname()[1]
        self.url = f"http://{HOST}:{self.port}"
        Thread(target=self._serve, daemon=True).start()

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the only request."""
        (request,) = self.requests
        lines = request.decode().partition("\r\n\r\n")[0].splitlines()[1:]
        return dict(line.split(": ", 1) for line in lines)

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.requests.append(connection.recv(65_536))
            time.sleep(self.pause)
            if callable(self.answer):
                self.answer(connection)
            else:
                connection.sendall(self.answer)
