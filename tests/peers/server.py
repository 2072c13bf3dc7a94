"""The base of the servers of the tests: real servers on loopback, in threads of the process of the tests."""

import random
import socket
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Self

from cryptography import x509

HOST = "127.0.0.1"
WITHOUT_BODY = {204, 304}


def eventually(question: Callable[[], object], within: float = 10.0):
    """Call `question` until its result is true, or the time is over; return the last result."""
    deadline = time.monotonic() + within
    while not (answer := question()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def free_port() -> int:
    """Return a port that is free now.

    The system gives the ports from 32768 on to outgoing connections and to servers without a fixed port, also of other
    processes of tests, so none of them is returned.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_768)
        with suppress(OSError), socket.create_server((HOST, port)):
            return port


@dataclass(frozen=True)
class Call:
    method: str
    path: str  # with the query string
    headers: Message  # names are case-insensitive
    body: str
    arrived_at: datetime
    certificate: x509.Certificate | None = None  # the certificate of the client, if it sent one


@dataclass(frozen=True)
class Answer:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = "ok"


class Server:
    """An HTTP server that records its calls; a subclass defines its responses with `answer`.

    With `tls` it speaks HTTPS; failed handshakes are in `refused`.  Use: `with Server() as server: ... server.url`.
    """

    def __init__(self, tls: ssl.SSLContext | None = None):
        self.calls: list[Call] = []
        self.refused: list[str] = []
        self.closing = Event()
        self._tls = tls
        self._connections: set[socket.socket] = set()
        self._listening = _Listening((HOST, 0), _handler(self))
        self._listening.peer = self
        self.port = self._listening.server_port
        self.url = f"{'https' if tls else 'http'}://{HOST}:{self.port}"
        Thread(target=self._listening.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, call: Call) -> Answer:
        return Answer()

    def calls_to(self, path: str) -> list[Call]:
        return [call for call in self.calls if call.path == path]

    def wait_for(self, path: str, count: int = 1, within: float = 15.0) -> list[Call]:
        """Return the calls to `path` as soon as there are `count`, or fewer when the time is over."""
        eventually(lambda: len(self.calls_to(path)) >= count, within)
        return self.calls_to(path)

    def close(self) -> None:
        self.closing.set()
        self._listening.shutdown()
        self._listening.server_close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception) -> None:
        self.close()


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    peer: Server

    def finish_request(self, request, client_address):
        """Perform the TLS handshake here, in the connection's own thread."""
        if self.peer._tls:
            request = self.peer._tls.wrap_socket(request, server_side=True)
        self.peer._connections.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            self.peer._connections.discard(request)
            self.shutdown_request(request)

    def handle_error(self, request, client_address):
        error = sys.exception()
        if isinstance(error, ssl.SSLError):
            self.peer.refused.append(str(error))
        elif not isinstance(error, ConnectionError):
            super().handle_error(request, client_address)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self):
            arrived_at = datetime.now(UTC)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            call = Call(self.command, self.path, self.headers, body, arrived_at, _certificate(self.connection))
            server.calls.append(call)
            self.send(server.answer(call))

        def send(self, answer: Answer):
            body = b"" if self.command == "HEAD" or answer.status in WITHOUT_BODY else answer.body.encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status not in WITHOUT_BODY:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any

        def log_message(self, *arguments):
            pass

    return Handler


def _certificate(connection: socket.socket) -> x509.Certificate | None:
    shown = connection.getpeercert(binary_form=True) if isinstance(connection, ssl.SSLSocket) else None
    return x509.load_der_x509_certificate(shown) if shown else None
