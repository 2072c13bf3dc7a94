"""The one client for outbound HTTP calls: what a job may ask for, and how much of the answer is kept.

It calls only addresses that `addresses` leaves open, knows no proxy, keeps no cookie and follows no redirect.  Each
call has a connection of its own: one kept open for a job that runs once an hour would be closed by the other side.
"""

import asyncio
import base64
import codecs
import logging
import os
import re
import zlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import aiohttp
from yarl import URL

from jobs.actions.addresses import CheckedResolver, ClosedAddress, checked_socket
from jobs.actions.documents import HEADER_NAME, HEADER_VALUE, MASK, RESERVED_HEADER, revealed
from jobs.actions.outcome import Context, Outcome, refused

logger = logging.getLogger(__name__)

USER_AGENT = "Quando"
CONNECT_LIMIT_S = 10.0  # looking up, connecting and agreeing on TLS
CALL_LIMIT_S = 60.0  # the whole call by the clock on the wall
BODY_LIMIT = 1_048_576  # bytes of an answer that are received
KEPT_LIMIT = 2048  # bytes of an answer's text that history keeps
HEADER_LINE_LIMIT = 8190  # bytes
HEADERS_LIMIT = 65_536  # bytes
HEADERS_COUNT_LIMIT = 128
OWN_HEADERS = ("Idempotency-Key", "X-Scheduler-Attempt", "X-Scheduler-Fire-Time")
HIDDEN_HEADERS = ("set-cookie", "set-cookie2")  # history keeps that they came, not what they say


def open_session() -> aiohttp.ClientSession:
    """A session for `call`, within a running loop; the caller closes it."""
    connector = aiohttp.TCPConnector(
        resolver=CheckedResolver(),
        use_dns_cache=False,
        socket_factory=checked_socket,
        force_close=True,
        limit=0,  # how many calls go out at once is the caller's matter
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_LIMIT_S),
        max_line_size=HEADER_LINE_LIMIT,
        max_field_size=HEADER_LINE_LIMIT,
        max_headers=HEADERS_COUNT_LIMIT,
    )


async def call(
    request: Mapping[str, Any],
    secrets: Mapping[str, str],
    context: Context,
    session: aiohttp.ClientSession,
) -> Outcome:
    """Send `request`, an HTTP action's document, once.  `secrets` are by their path below it.  2xx is success.

    Never raises for what the target does.  Messages name the host only: a path may hold a key.
    """
    url = URL(request["uri"], encoded=True)
    request = {**request, "headers": revealed(request.get("headers", {}), secrets)}
    if problem := _problem(url, request):
        return refused(problem)
    host = url.host or ""
    try:
        async with asyncio.timeout(CALL_LIMIT_S):
            return await _exchange(url, request, secrets, context, session)
    except aiohttp.ConnectionTimeoutError:
        return Outcome(False, f"No connection to host '{host}' within {CONNECT_LIMIT_S:.0f} seconds.")
    except TimeoutError:
        return Outcome(False, f"No complete answer from host '{host}' within {CALL_LIMIT_S:.0f} seconds.")
    except ClosedAddress as error:
        logger.warning("run %s may not call host %s: %s", context.run_id, host, error)  # which address is our affair
        return Outcome(False, f"Host '{host}' was not called: it has an address that calls may not reach.")
    except aiohttp.ClientConnectorDNSError:
        return Outcome(False, f"The name of host '{host}' cannot be looked up.")
    except aiohttp.ClientConnectorCertificateError as error:
        return Outcome(False, f"The certificate of host '{host}' is not accepted: {_reason(error.certificate_error)}.")
    except aiohttp.ClientConnectorError as error:
        return Outcome(False, f"No connection to host '{host}': {_reason(error.os_error)}.")
    except aiohttp.ClientPayloadError:
        return Outcome(False, f"The answer of host '{host}' broke off.")
    except (aiohttp.ClientError, OSError) as error:
        return Outcome(False, f"The exchange with host '{host}' failed: {_KINDS.get(type(error), 'no valid answer')}.")


_KINDS = {
    aiohttp.ServerDisconnectedError: "the connection was closed before an answer",
    aiohttp.ClientOSError: "the connection broke",
    aiohttp.InvalidUrlClientError: "the address is not one that can be called",
}


def _problem(url: URL, request: Mapping[str, Any]) -> str | None:
    """Why the request must not be sent; None when it may.  Documents are checked when stored, and here once more."""
    if url.scheme not in ("http", "https") or not url.host:
        return "Only http and https addresses can be called."
    if url.raw_user is not None or url.raw_password is not None or "@" in url.raw_authority:
        return "An address with a user name in it is not called."
    for name, value in request["headers"].items():
        if not HEADER_NAME.fullmatch(name) or RESERVED_HEADER.fullmatch(name):
            return "A header that is not the job's to set was not sent."
        if not re.fullmatch(HEADER_VALUE, value):
            return f"The header {name} has characters that cannot be sent."
    kind = _authentication(request).get("type", "None")
    if kind not in ("None", "NotSpecified", "Basic"):
        return f"Authentication of type {kind} is kept, but this installation does not carry it out."
    return None


def _authentication(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return request.get("authentication") or {}


async def _exchange(
    url: URL,
    request: Mapping[str, Any],
    secrets: Mapping[str, str],
    context: Context,
    session: aiohttp.ClientSession,
) -> Outcome:
    credential = _credential(request, secrets)
    hidden = _hidden(credential, secrets)
    async with session.request(
        request["method"],
        url,
        headers=_headers(request, credential, context),
        data=request.get("body"),
        allow_redirects=False,
    ) as response:
        body = await _beginning(response, KEPT_LIMIT + max(map(len, hidden), default=0))
    word = _word(response.status)
    if sum(len(name) + len(value) for name, value in response.raw_headers) > HEADERS_LIMIT:
        return Outcome(False, f"Host '{url.host}' answered '{word}' with more headers than are taken.", response.status)
    message = f"Host '{url.host}' answered '{word}'."
    if 300 <= response.status < 400:
        message = f"Host '{url.host}' answered '{word}'; redirects are not followed."
    return Outcome(
        succeeded=200 <= response.status < 300,
        message=message,
        status_code=response.status,
        headers=tuple(
            (_text(name, hidden), MASK if name.decode("latin-1").lower() in HIDDEN_HEADERS else _text(value, hidden))
            for name, value in response.raw_headers
        ),
        body=_text(_text(body, hidden).encode()[:KEPT_LIMIT], []),  # cut last: no half of a credential is left
    )


def _headers(request: Mapping[str, Any], credential: str | None, context: Context) -> dict[str, str]:
    """The job's headers and ours; where both set one, a name of the job's own choice gives way."""
    own = {
        "Idempotency-Key": str(context.run_id),
        "X-Scheduler-Attempt": str(context.attempt),
        "X-Scheduler-Fire-Time": context.fire_at.isoformat().replace("+00:00", "Z"),
    }
    if credential:
        own["Authorization"] = f"Basic {credential}"
    taken = {name.lower() for name in own}
    headers = {name: value for name, value in request["headers"].items() if name.lower() not in taken}
    present = {name.lower() for name in headers}
    defaults = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    return headers | {name: value for name, value in defaults.items() if name.lower() not in present} | own


def _credential(request: Mapping[str, Any], secrets: Mapping[str, str]) -> str | None:
    """What Basic authentication sends after its name."""
    authentication = _authentication(request)
    if authentication.get("type") != "Basic":
        return None
    pair = f"{authentication.get('username', '')}:{secrets.get('authentication.password', '')}"
    return base64.b64encode(pair.encode()).decode("ascii")


def _hidden(credential: str | None, secrets: Mapping[str, str]) -> list[str]:
    """What history must not repeat, the longest first; of a header's value also what follows its scheme."""
    tokens = [text.partition(" ")[2] for path, text in secrets.items() if path.startswith("headers.")]
    return sorted(filter(None, (credential, *secrets.values(), *tokens)), key=len, reverse=True)


async def _beginning(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Receive the answer, up to BODY_LIMIT, and return the first `limit` bytes of what it decodes to.

    What is not kept is received all the same: a target that still writes would take a closed connection for a client
    that has given up.
    """
    decode = _decoder(response.headers.get("Content-Encoding", ""))
    kept = bytearray()
    received = 0
    async for chunk in response.content.iter_any():
        received += len(chunk)
        if len(kept) < limit:
            kept += decode(chunk, limit - len(kept))
        if received >= BODY_LIMIT:
            break
    return bytes(kept)


def _decoder(encoding: str):
    """A function of a chunk and the number of bytes wanted: unpacking stops there, whatever the chunk would hold."""
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        return lambda chunk, wanted: chunk[:wanted]
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # 32: tells gzip and zlib apart by their header

    def decode(chunk: bytes, wanted: int) -> bytes:
        try:
            return unpacker.decompress(unpacker.unconsumed_tail + chunk, wanted)
        except zlib.error:
            return b""

    return decode


def _text(data: bytes, hidden: list[str]) -> str:
    """As history keeps it: storable, and without the credential, should the target repeat it."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)  # without the half of a last character
    text = text.replace("\0", "\ufffd")
    for secret in hidden:
        text = text.replace(secret, MASK)
    return text


def _word(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return str(status)


def _reason(error: BaseException) -> str:
    """The words of OpenSSL or of the operating system for `error`, without addresses and other details."""
    if verdict := getattr(error, "verify_message", ""):
        return verdict
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else type(error).__name__
