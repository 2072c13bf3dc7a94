"""The ASGI application that a web process serves: it collects whole requests, then answers them in a few threads.

The server calls it as soon as it has the headers of a request.  The body is received by the event loop, so a client
that sends slowly costs a connection and no thread.  A client that reads slowly gets its answer in pieces until a
deadline, so it costs no thread either and little memory: a long answer waits in a temporary file.  A client that hangs
up while its request waits for a thread gets no answer, and nothing of the request remains.  So no more requests wait
than clients are connected.
"""

import asyncio
import re
import resource
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from io import BytesIO
from tempfile import SpooledTemporaryFile
from types import SimpleNamespace
from typing import IO, Any, NamedTuple, Self
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http.request import HttpHeaders

from scheduler_site import wsgi

THREADS = 4  # for answers; a request that waits for one of these threads occupies none
PASSWORD_PAGES = ("/sign-in/", "/account/password/")
CALLERS_REMEMBERED = 20_000  # addresses and callers whose last turns are known
HEAD_START = 1_000  # turns; a pause that was longer gives a caller no more precedence
IPV6_PREFIX = 48  # bits: one site or customer usually has all networks that begin with the same
IMPORTS = re.compile("/api/(?:calendars|closed-days)/[^/]+/import/*|/calendar/calendars/import")
BODY_WITHIN_S = 10.0  # from the headers to the end of the body; bytes that arrive extend the time at this rate:
BODY_BYTES_PER_S = 10_000
BODY_LIMIT = 2 * settings.BODY_LIMIT  # bytes to receive: enough for a longer body to be refused as too long
BODY_IN_MEMORY = 16_384  # bytes of one body; a longer body is in a file, so that slow clients do not fill the memory
PATH_LIMIT = 2_048  # bytes of a path, without its query: each is compared with all patterns of addresses
HEADER_LIMIT = 8_192  # bytes of one header; the time that Django takes for a longer Content-Type is quadratic
HEADERS_LIMIT = 32_768  # bytes of all headers and the query; they are in memory while a request waits for its turn
ANSWER_WITHIN_S = 20.0  # until the client has taken the answer; bytes that it takes extend the time at BODY_BYTES_PER_S
ANSWER_PIECE = 16_384  # bytes given to the server at once; it asks for more when the client has taken them
ANSWER_IN_MEMORY = (
    65_536  # bytes of one answer; a longer answer is in a file, so that slow clients do not fill the memory
)
OPEN_FILES = 4_096  # more than three for each connection that the Procfile's `--backpressure` allows
OWN_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}  # without HTTP_ in an environ
REFUSALS = {
    400: b"the body cannot be read\n",
    408: b"the body did not arrive in time\n",
    414: f"no path may be longer than {PATH_LIMIT} bytes\n".encode(),
    431: (
        f"no header may be longer than {HEADER_LIMIT} bytes, "
        f"and all headers and the query together no longer than {HEADERS_LIMIT} bytes\n"
    ).encode(),
}

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Parts = tuple[int, list[tuple[str, str]], IO[bytes]]  # status, headers and body
Send = Callable[[dict[str, Any]], Awaitable[None]]
Answered = tuple[Any, Parts]  # the object to close at the end

threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    environ = environ_of(scope)
    if len(environ["PATH_INFO"]) > PATH_LIMIT:
        await refuse(send, 414)
        return
    if size_of_headers(scope) > HEADERS_LIMIT or any(len(value) > HEADER_LIMIT for value in header_values(environ)):
        await refuse(send, 431)
        return
    with SpooledTemporaryFile(BODY_IN_MEMORY) as body:
        if refusal := await collect(body, environ, receive):
            await refuse(send, refusal)
            return
        loop, request = asyncio.get_running_loop(), environ | {"wsgi.input": body}
        try:
            answer, parts = await in_turn(environ, lambda: loop.run_in_executor(threads, run, request), receive)
        except ClientDisconnected:
            return
    with closing(answer):
        await respond(send, *parts)


def environ_of(scope: Scope) -> dict[str, Any]:
    """Return the WSGI environ of a request, without its body.

    Headers with an underscore in their names are left out: in the environ, such a name looks like the same name with a
    hyphen, for example the name of a header that a proxy sets.
    """
    mounted_at = scope.get("root_path", "").encode()
    path = unquote_to_bytes(scope["raw_path"])
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": mounted_at.decode("latin-1"),
        "PATH_INFO": path.removeprefix(mounted_at).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]):
        if "_" in name:
            continue
        key = OWN_NAMES.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        separator = ";" if name == "cookie" else ","
        environ[key] = f"{environ[key]}{separator}{value}" if key in environ else value
    return environ


def size_of_headers(scope: Scope) -> int:
    """Return the bytes of all headers and of the query."""
    return len(scope["query_string"]) + sum(len(name) + len(value) for name, value in scope["headers"])


def header_values(environ: dict[str, Any]) -> Iterator[str]:
    """Yield the headers of the request; one that was sent more than once counts as one."""
    for name, value in environ.items():
        if name.startswith("HTTP_") or name in OWN_NAMES.values():
            yield value


async def collect(body: IO[bytes], environ: dict[str, Any], receive: Receive) -> int | None:
    """Receive the body into a file; return the status with which it is refused, or None.

    A body that announces more than BODY_LIMIT is not received.  A body that comes in pieces gets a CONTENT_LENGTH:
    without it, Django treats the body as empty.
    """
    in_pieces = "HTTP_TRANSFER_ENCODING" in environ
    if not in_pieces and not 0 < int(environ.get("CONTENT_LENGTH") or 0) <= BODY_LIMIT:
        return None
    ends_at = asyncio.get_running_loop().time() + BODY_WITHIN_S
    try:
        async with asyncio.timeout_at(ends_at) as deadline:
            more = True
            while more and body.tell() < BODY_LIMIT:
                message = await receive()
                if message["type"] != "http.request":
                    return 400
                ends_at += body.write(message.get("body", b"")) / BODY_BYTES_PER_S
                deadline.reschedule(ends_at)
                more = message.get("more_body", False)
    except TimeoutError:
        return 408
    if in_pieces:
        environ |= {"CONTENT_LENGTH": str(body.tell())}
    body.seek(0)
    return None


class ClientDisconnected(Exception):
    """The client hung up before its request had a turn."""


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client hangs up.  What it sends until then belongs to no body, and is dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Caller(NamedTuple):
    """Who sends a request, as far as that is known before it is answered."""

    address: str
    credential: int  # a hash

    @classmethod
    def of(cls, environ: dict[str, Any]) -> Self:
        from accounts.rate_limits import address_of  # it reads the settings, which `wsgi` checks first

        address = address_of(SimpleNamespace(META=environ, headers=HttpHeaders(environ)), IPV6_PREFIX)
        return cls(address, hash(environ.get("HTTP_AUTHORIZATION") or environ.get("HTTP_COOKIE")))


class Waiting(NamedTuple):
    """A request that waits for its turn."""

    caller: Caller
    arrived: int  # the number of the turn before the latest one


class Turns:
    """Turns of requests: at most `most` are answered at the same time, and at most `of_address` of one address.

    A request that waits for its turn occupies no thread.  The next turn goes to the address whose last turn is longest
    ago, and within an address to the credential whose last turn is longest ago.  Without a last turn, the arrival of
    the request counts as one, just before the latest: otherwise a stream of new addresses would go before all others.
    So a caller with many requests, or many callers with a few, keep nobody else waiting.

    A request whose client hangs up loses its place.  A turn ends with the answer, or after `longest_s`.
    """

    def __init__(self, most: int, of_address: int, longest_s: float | None = None):
        self.most = most
        self.of_address = of_address
        self.longest_s = longest_s
        self._waiting: dict[asyncio.Future[None], Waiting] = {}  # in the order of their arrival
        self._taken: Counter[str] = Counter()  # turns of each address
        self._last_turns: dict[str | Caller, int] = {}  # numbers of turns, lowest first
        self._number = 0  # of the latest turn

    async def answer(self, caller: Caller, start: Callable[[], Awaitable[Answered]], receive: Receive) -> Answered:
        """Wait for a turn, start the request and return its answer; raises ClientDisconnected before the turn."""
        await self._take(caller, receive)
        try:
            answering = asyncio.ensure_future(start())
            await asyncio.wait([answering], timeout=self.longest_s)
        finally:
            self._end(caller)
        return await answering

    async def _take(self, caller: Caller, receive: Receive) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = Waiting(caller, self._number - 1)
        self._give()
        if turn.done():
            return
        disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            await asyncio.wait([turn, disconnect], return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                raise ClientDisconnected
        except (asyncio.CancelledError, ClientDisconnected):
            if self._waiting.pop(turn, None) is None:  # the turn was given meanwhile
                self._end(caller)
            raise
        finally:
            disconnect.cancel()

    def _end(self, caller: Caller) -> None:
        self._taken -= Counter([caller.address])
        self._give()

    def _give(self) -> None:
        """Give the free turns to requests that wait."""
        while self._taken.total() < self.most:
            possible = [
                turn for turn, request in self._waiting.items() if self._taken[request.caller.address] < self.of_address
            ]
            if not possible:
                return
            turn = min(possible, key=self._rank)
            caller, _ = self._waiting.pop(turn)
            self._taken[caller.address] += 1
            self._remember(caller)
            turn.set_result(None)

    def _rank(self, turn: asyncio.Future[None]) -> tuple[int, int]:
        """Return the numbers of the last turns of the address and of the caller; the lowest rank goes first."""
        caller, arrived = self._waiting[turn]
        of_address, of_caller = (
            max(self._last_turns.get(key, arrived), arrived - HEAD_START) for key in (caller.address, caller)
        )
        return of_address, of_caller

    def _remember(self, caller: Caller) -> None:
        self._number += 1
        for key in (caller.address, caller):
            self._last_turns.pop(key, None)
            self._last_turns[key] = self._number
        while len(self._last_turns) > CALLERS_REMEMBERED:
            del self._last_turns[next(iter(self._last_turns))]


# one thread stays free for others, however many requests an address sends
answers = Turns(THREADS, of_address=THREADS - 1)
# Checking a password is slow on purpose, and anybody may send one.  What else the request does is not slow.
passwords = Turns(2, of_address=2, longest_s=2.0)
imports = Turns(1, of_address=1)


def slow_turns_of(environ: dict[str, Any]) -> Turns | None:
    """Return the turns of the kind of slow requests to which this one belongs, or None.

    The slow kinds have only some of the threads, so that the others stay free for other requests.
    """
    if environ["REQUEST_METHOD"] == "POST" and IMPORTS.fullmatch(environ["PATH_INFO"]):
        return imports
    if environ["REQUEST_METHOD"] == "POST" and environ["PATH_INFO"] in PASSWORD_PAGES:
        return passwords
    has_password = environ.get("HTTP_AUTHORIZATION", "").lstrip().lower().startswith("basic")
    return passwords if has_password else None


async def in_turn(environ: dict[str, Any], start: Callable[[], Awaitable[Answered]], receive: Receive) -> Answered:
    caller, slow = Caller.of(environ), slow_turns_of(environ)
    if slow is None:
        return await answers.answer(caller, start, receive)
    return await slow.answer(caller, lambda: answers.answer(caller, start, receive), receive)


def run(environ: dict[str, Any]) -> Answered:
    """Call the WSGI application; return the object to close at the end, and the parts of the answer.

    A static file is read later, piece by piece, and a long answer is written to a temporary file: otherwise many slow
    readers would fill the memory.
    """
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Callable[[bytes], None]:
        started[:] = int(status[:3]), headers
        return lambda chunk: None

    response: Any = wsgi.application(environ, start_response)
    if file := getattr(response, "file_to_stream", None):
        return response, (started[0], started[1], file)
    with closing(response):
        body = file_of(response)
    return body, (started[0], started[1], body)


def file_of(chunks: Iterable[bytes]) -> IO[bytes]:
    """Return an open file with these chunks, at its beginning.  It is in memory up to ANSWER_IN_MEMORY bytes."""
    with ExitStack() as stack:
        body = stack.enter_context(SpooledTemporaryFile(ANSWER_IN_MEMORY))
        for chunk in chunks:
            body.write(chunk)
        body.seek(0)
        stack.pop_all()
    return body


async def refuse(send: Send, status: int) -> None:
    headers = [("Content-Type", "text/plain"), ("Connection", "close")]
    await respond(send, status, headers, BytesIO(REFUSALS[status]))


async def respond(send: Send, status: int, headers: list[tuple[str, str]], body: IO[bytes]) -> None:
    """Send an answer in pieces.  A client that does not take it in time loses its connection."""
    lines = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    ends_at = asyncio.get_running_loop().time() + ANSWER_WITHIN_S
    with suppress(TimeoutError):
        async with asyncio.timeout_at(ends_at) as deadline:
            piece = body.read(ANSWER_PIECE)
            more = True
            while more:
                following = body.read(ANSWER_PIECE)
                ends_at += len(piece) / BODY_BYTES_PER_S
                deadline.reschedule(ends_at)
                more = bool(following)
                await send({"type": "http.response.body", "body": piece, "more_body": more})
                piece = following


def allow_connections() -> None:
    """Raise the number of files that this process may have open, as far as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < OPEN_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, hard), hard))


allow_connections()
