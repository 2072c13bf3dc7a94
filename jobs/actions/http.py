"""The one client for outbound calls: where they may go, how long they take, and how much of the answer is kept.

It calls only addresses that `addresses` leaves open, knows no proxy and keeps no cookie.  Redirects are followed only
for a call that allows them; each hop is checked like the first, and credentials stay with the origin they are for.
Each call has a connection of its own: one kept open for a job that runs once an hour would be closed by the other side.
"""

import asyncio
import codecs
import email.utils
import logging
import os
import re
import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from jobs.actions import success, tls, uris
from jobs.actions.addresses import CheckedResolver, ClosedAddress, checked_socket
from jobs.actions.headers import HEADER_NAME, HEADER_VALUE, RESERVED_HEADER
from jobs.actions.outcome import Outcome, Refused
from jobs.encryption import MASK

logger = logging.getLogger(__name__)

USER_AGENT = "Quando"
CONNECT_LIMIT_S = 10.0  # looking up, connecting and agreeing on TLS
CALL_LIMIT_S = 60.0  # the whole call by the clock on the wall, redirects included
BODY_LIMIT = 1_048_576  # bytes of an answer that are received, and that they are unpacked to
KEPT_LIMIT = 2048  # bytes of an answer's text that history keeps
HEADER_LINE_LIMIT = 8190  # bytes
HEADERS_LIMIT = 65_536  # bytes
HEADERS_COUNT_LIMIT = 128
REDIRECTS_LIMIT = 5
HIDDEN_HEADERS = ("set-cookie", "set-cookie2")  # history keeps that they came, not what they say
REDIRECTS = (301, 302, 303, 307, 308)
USUAL = tls.Trust()


@dataclass(frozen=True, slots=True)
class Call:
    """A request ready to be sent.

    `hidden` are the texts that nothing kept or shown may repeat, and `private` the names, in lower case, of the headers
    that are for the origin of `url` alone.
    """

    method: str
    url: URL
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    hidden: tuple[str, ...] = ()
    private: frozenset[str] = frozenset()
    trust: tls.Trust = USUAL
    follows_redirects: bool = False
    success: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Call of host {self.host!r}>"

    @property
    def host(self) -> str:
        """As it is written: what an international name looks like is not told, for it may look like another."""
        return self.url.raw_host or ""

    def hide(self, text: str) -> str:
        """`text` with the mask for whatever must not be repeated."""
        for secret in sorted(filter(None, self.hidden), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text

    def shown(self) -> dict[str, Any]:
        """The request as people may see it: `method`, `uri`, `headers` as pairs, `body`."""
        return {
            "method": self.method,
            "uri": self.hide(str(self.url)),
            "headers": [
                (name, MASK if name.lower() in self.private else self.hide(text))
                for name, text in _headers(self).items()
            ],
            "body": self.hide(self.body or ""),
        }

    @property
    def margin(self) -> int:
        """Bytes by which a text must be longer than what is kept of it, lest half of a secret is."""
        return max((len(text.encode()) for text in self.hidden), default=0)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: of the body as many bytes as were asked for, unpacked."""

    call: Call  # the one that was answered, after redirects
    status: int
    headers: "CIMultiDictProxy[str]" = field(repr=False)
    raw_headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def word(self) -> str:
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return str(self.status)


class CallFailed(Exception):
    """There is no answer; the message is a sentence that names the host only, for a path may hold a key."""


def open_session() -> aiohttp.ClientSession:
    """A session for `send`, within a running loop; the caller closes it."""
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


def judged(answer: Answer) -> Outcome:
    """What an answer comes to by its call's test of success."""
    call, host = answer.call, answer.call.host
    if has_too_many_headers(answer):
        return Outcome(
            False, f"Host '{host}' answered '{answer.word}' with more headers than are taken.", answer.status
        )
    message = f"Host '{host}' answered '{answer.word}'."
    problem = success.problem(call.success, answer.status, _tested(answer))
    if problem and answer.status in REDIRECTS and not call.follows_redirects:
        message = f"Host '{host}' answered '{answer.word}'; redirects are not followed."
    elif problem and problem != success.STATUS:
        message = f"Host '{host}' answered '{answer.word}', but {problem}."
    outcome = kept(answer, problem is None, message)
    return replace(outcome, retry_after=retry_after(answer.headers)) if problem else outcome


def has_too_many_headers(answer: Answer) -> bool:
    return sum(len(name) + len(value) for name, value in answer.raw_headers) > HEADERS_LIMIT


def kept(answer: Answer, succeeded: bool, message: str) -> Outcome:
    """An outcome with what history keeps of the answer."""
    return Outcome(
        succeeded=succeeded,
        message=message,
        status_code=answer.status,
        headers=tuple(
            (_text(name, answer.call), _value(name, value, answer.call)) for name, value in answer.raw_headers
        ),
        body=_kept(answer.body, answer.call),
    )


Judge = Callable[[Answer], Outcome]


async def send(call: Call, session: aiohttp.ClientSession, judge: Judge = judged) -> Outcome:
    """Make the call once, and let its answer be judged.  Never raises for what the target does.

    An outcome without a status code says that there was no answer.
    """
    wanted = KEPT_LIMIT + call.margin
    if judge is not judged or success.needs_body(call.success):
        wanted = BODY_LIMIT
    try:
        answer = await ask(call, session, wanted)
    except Refused as refusal:
        return Outcome(False, str(refusal), may_retry=False)
    except CallFailed as failure:
        return Outcome(False, str(failure))
    return judge(answer)


async def ask(call: Call, session: aiohttp.ClientSession, wanted: int) -> Answer:
    """Make the call and return its answer with up to `wanted` bytes of the body.

    Raises Refused when the call must not be made at all, CallFailed when no answer came.
    """
    try:
        async with asyncio.timeout(CALL_LIMIT_S):
            return await _follow(call, session, wanted)
    except TimeoutError:
        raise CallFailed(f"No complete answer from host '{call.host}' within {CALL_LIMIT_S:.0f} seconds.") from None


async def _follow(call: Call, session: aiohttp.ClientSession, wanted: int) -> Answer:
    for _ in range(REDIRECTS_LIMIT + 1):
        answer = await _exchange(call, session, wanted)
        if not call.follows_redirects or answer.status not in REDIRECTS or "Location" not in answer.headers:
            return answer
        call = _redirected(answer)
    raise CallFailed(f"Host '{call.host}' was the end of more than {REDIRECTS_LIMIT} redirects; no more are followed.")


async def _exchange(call: Call, session: aiohttp.ClientSession, wanted: int) -> Answer:
    if problem := _problem(call):
        raise Refused(problem)
    host = call.host
    try:
        context = tls.context(USUAL) if call.trust == USUAL else await asyncio.to_thread(tls.context, call.trust)
    except ValueError as error:
        raise Refused(f"The certificates of the job cannot be used: {error}.") from None
    try:
        async with session.request(
            call.method,
            call.url,
            headers=_headers(call),
            data=None if call.body is None else call.body.encode(),
            ssl=context,
            allow_redirects=False,
        ) as response:
            body = await _beginning(response, wanted)
            return Answer(call, response.status, response.headers, response.raw_headers, body)
    except aiohttp.ConnectionTimeoutError:
        raise CallFailed(f"No connection to host '{host}' within {CONNECT_LIMIT_S:.0f} seconds.") from None
    except ClosedAddress as error:
        logger.warning("host %s may not be called: %s", host, error)  # which address is the operator's affair
        raise CallFailed(f"Host '{host}' was not called: it has an address that calls may not reach.") from None
    except aiohttp.ClientConnectorDNSError:
        raise CallFailed(f"The name of host '{host}' cannot be looked up.") from None
    except aiohttp.ClientConnectorCertificateError as error:
        reason = _reason(error.certificate_error)
        raise CallFailed(f"The certificate of host '{host}' is not accepted: {reason}.") from None
    except aiohttp.ClientConnectorError as error:
        raise CallFailed(f"No connection to host '{host}': {_reason(error.os_error)}.") from None
    except aiohttp.ClientPayloadError:
        raise CallFailed(f"The answer of host '{host}' broke off.") from None
    except (aiohttp.ClientError, OSError) as error:
        kind = _KINDS.get(type(error), "no valid answer")
        raise CallFailed(f"The exchange with host '{host}' failed: {kind}.") from None


_KINDS = {
    aiohttp.ServerDisconnectedError: "the connection was closed before an answer",
    aiohttp.ClientOSError: "the connection broke",
    aiohttp.InvalidUrlClientError: "the address is not one that can be called",
}


def _problem(call: Call) -> str | None:
    """Why the call must not be made; None when it may.  Documents are checked when stored, and here once more."""
    if problem := uris.kind_of_problem(str(call.url)):
        return f"The address cannot be called: it {problem}."
    for name, value in call.headers.items():
        if not HEADER_NAME.fullmatch(name) or RESERVED_HEADER.fullmatch(name):
            return "A header that is not the job's to set was not sent."
        if not re.fullmatch(HEADER_VALUE, value):
            return f"The header {name} has characters that cannot be sent."
    return None


def _headers(call: Call) -> "CIMultiDict[str]":
    headers = CIMultiDict(call.headers)
    headers.setdefault("User-Agent", USER_AGENT)
    headers.setdefault("Accept-Encoding", "identity")
    return headers


def _redirected(answer: Answer) -> Call:
    """The call that a redirect asks for.  Source: RFC 9110, 15.4, with POST becoming GET as everybody does it.

    Raises CallFailed for one that goes from https to http or to no plain address; which addresses its host has is
    checked when it is made.
    """
    call, host, location = answer.call, answer.call.host, answer.headers["Location"]
    try:
        if not re.fullmatch(uris.CHARACTERS, location):
            raise ValueError(location)
        url = call.url.join(URL(location, encoded=True)).with_fragment(None)
        problem = uris.kind_of_problem(str(url))
    except ValueError:
        raise CallFailed(f"Host '{host}' redirects to what is not an address.") from None
    if problem:
        raise CallFailed(f"Host '{host}' redirects to an address that cannot be called: it {problem}.")
    if call.url.scheme == "https" and url.scheme != "https":
        raise CallFailed(f"Host '{host}' redirects from https to {url.scheme}, which is not followed.")
    if answer.status == 303 and call.method != "HEAD" or answer.status in (301, 302) and call.method == "POST":
        about_body = ("content-", "webhook-")  # a signature is of the body
        headers = {name: text for name, text in call.headers.items() if not name.lower().startswith(about_body)}
        call = replace(call, method="GET", body=None, headers=headers)
    if uris.origin(str(url)) == uris.origin(str(call.url)):
        return replace(call, url=url)
    return replace(
        call,
        url=url,
        headers={name: text for name, text in call.headers.items() if name.lower() not in call.private},
        trust=replace(call.trust, identity=None),
    )


def _tested(answer: Answer) -> bytes:
    """What a test of success is held against: no credential, or it could be guessed bit by bit."""
    if not success.needs_body(answer.call.success):
        return b""
    return answer.call.hide(_decoded(answer.body)).encode()


def retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """How long the target asks to be left alone; a moment counts from the answer's own Date.  RFC 9110, 10.2.3."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        moment, sent_at = (email.utils.parsedate_to_datetime(value) for value in (text, headers.get("Date", "")))
        return max(moment - sent_at, timedelta(0))
    except (TypeError, ValueError, OverflowError):  # one of them is no date, or has no zone
        return None


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


def _kept(body: bytes, call: Call) -> str:
    """The beginning of an answer's text, cut after hiding: no half of a credential is left."""
    beginning = body[: KEPT_LIMIT + call.margin]
    text = call.hide(_decoded(beginning)).encode()
    if len(beginning) == KEPT_LIMIT + call.margin:  # cut, perhaps within a credential, while the mask is shorter
        text = text[: len(text) - call.margin]
    return _decoded(text[:KEPT_LIMIT])


def _value(name: bytes, value: bytes, call: Call) -> str:
    return MASK if name.decode("latin-1").lower() in HIDDEN_HEADERS else _text(value, call)


def _text(data: bytes, call: Call) -> str:
    return call.hide(_decoded(data))


def _decoded(data: bytes) -> str:
    """As a column can store it, without the half of a last character."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data).replace("\0", "\ufffd")


def _reason(error: BaseException) -> str:
    """The words of OpenSSL or of the operating system for `error`, without addresses and other details."""
    if verdict := getattr(error, "verify_message", ""):
        return verdict
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else type(error).__name__
