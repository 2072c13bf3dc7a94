"""The only HTTP client for outbound calls, with limits for their targets, their duration and the stored response.

It calls only addresses that `addresses` allows, uses no proxy and stores no cookie.  Redirects are followed only for a
call that allows them; each hop is checked like the first, and credentials are sent only to the origin they are for.
Each call has its own connection: the other side would close an idle one before a job that runs hourly uses it again.
"""

import asyncio
import codecs
import email.utils
import json
import logging
import os
import re
import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from encodings import normalize_encoding
from encodings.aliases import aliases
from http import HTTPStatus
from typing import Any

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from jobs.actions import host_names, secret_variants, slow_work, success, tls, uris
from jobs.actions.address_keys import keys_of, mask_keys_in_text, texts_of
from jobs.actions.addresses import CheckedResolver, ClosedAddress, checked_socket
from jobs.actions.headers import HARMLESS_HEADERS, HEADER_NAME, HEADER_VALUE, RESERVED_HEADER, RUN_HEADERS
from jobs.actions.result import AttemptResult, CallRefused
from jobs.encryption import MASK

logger = logging.getLogger(__name__)

USER_AGENT = "Quando"
CONNECT_LIMIT_S = 10.0  # name lookup, connection and TLS handshake
CALL_LIMIT_S = 60.0  # elapsed time of the whole call, redirects included
BODY_LIMIT = 1_048_576  # bytes of a response body, both as received and decompressed
KEPT_LIMIT = 2048  # bytes of a response's text that history stores
HEADER_LINE_LIMIT = 8190  # bytes
HEADERS_LIMIT = 65_536  # bytes
HEADERS_COUNT_LIMIT = 128
REDIRECTS_LIMIT = 5
QUICK_SEARCH = 5_000_000  # search cost up to which a response is evaluated in the event loop; takes 5 ms
STORED_SEARCH_LIMIT = 50_000_000  # highest search cost of all texts of a response that history stores
HIDDEN_HEADERS = ("set-cookie", "set-cookie2")  # history stores their names, not their values
CHARSET = re.compile(r"""charset\s*=\s*["']?([a-z0-9._:-]{1,40})""", re.IGNORECASE)  # in Content-Type
CODECS = frozenset(aliases.values())  # a search for other names would read files, and remember each name
REDIRECTS = (301, 302, 303, 307, 308)
DEFAULT_TRUST = tls.Trust()


@dataclass(frozen=True, slots=True)
class Call:
    """A request ready to be sent.

    `hidden` holds the credentials that must not appear in anything stored or shown, as returned by
    `secret_variants.search_forms`.  `private` holds the names, in lower case, of headers that are credentials.
    `secret_query` holds names of query members whose values are credentials.
    """

    method: str
    url: URL
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    hidden: tuple[str, ...] = ()
    private: frozenset[str] = frozenset()
    secret_query: tuple[str, ...] = ()
    trust: tls.Trust = DEFAULT_TRUST
    follows_redirects: bool = False
    success: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Call of host {self.host!r}>"

    @property
    def host(self) -> str:
        """The host for messages.  An international name is in both forms, because it may look like another name."""
        return host_names.in_both_forms(self.url.raw_host or "")

    def hide(self, text: str, end: int | None = None) -> str:
        """Return `text` up to `end` with the mask instead of credentials."""
        return secret_variants.mask_secrets(text, self.hidden, end)

    def redacted(self, text: str, end: int | None = None) -> str:
        """Do the same as `hide`, and mask the keys in other addresses too."""
        return mask_keys_in_text(self.hide(text, end), self.secret_query)

    def with_hidden_keys(self, *addresses: str) -> "Call":
        """Return a copy of the call that also hides the keys in these addresses."""
        keys = texts_of([key for address in addresses for key in keys_of(address, self.secret_query)])
        return replace(self, hidden=(*self.hidden, *secret_variants.search_forms(*keys))) if keys else self

    def as_redacted_dict(self) -> dict[str, Any]:
        """Return the request without credentials, for people: `method`, `uri`, `headers` as pairs, `body`."""
        return {
            "method": self.method,
            "uri": self.redacted(str(self.url)),
            "headers": [
                (name, MASK if name.lower() in self.private else self.hide(text))
                for name, text in _headers(self).items()
            ],
            "body": self.hide(self.body or ""),
        }

    @property
    def margin(self) -> int:
        """The number of bytes to read beyond the stored text, so that a secret at its end is complete."""
        return secret_variants.longest(self.hidden)


@dataclass(frozen=True, slots=True)
class Response:
    """A response; its body is decompressed and cut off after the requested number of bytes."""

    call: Call  # the answered call, after redirects
    status: int
    headers: "CIMultiDictProxy[str]" = field(repr=False)
    raw_headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def headers_size(self) -> int:
        return sum(len(name) + len(value) for name, value in self.raw_headers)

    @property
    def status_text(self) -> str:
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return str(self.status)


class CallFailed(Exception):
    """No response was received.  The message is a sentence that names only the host, because a path may hold a key."""


def open_session() -> aiohttp.ClientSession:
    """Return a session for `send`; needs a running event loop.  The caller closes the session."""
    connector = aiohttp.TCPConnector(
        resolver=CheckedResolver(),
        use_dns_cache=False,
        socket_factory=checked_socket,
        force_close=True,
        limit=0,  # the caller limits the number of concurrent calls
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


def evaluate(response: Response) -> AttemptResult:
    """Return the result of a response according to the success test of its call."""
    call, host = response.call, response.call.host
    if has_too_many_headers(response):
        return AttemptResult(
            False, f"Host '{host}' answered '{response.status_text}' with more headers than are taken.", response.status
        )
    message = f"Host '{host}' answered '{response.status_text}'."
    problem = success.problem(call.success, response.status, _body_to_test(response))
    if problem and response.status in REDIRECTS and not call.follows_redirects:
        message = f"Host '{host}' answered '{response.status_text}'; redirects are not followed."
    elif problem and problem != success.STATUS:
        message = f"Host '{host}' answered '{response.status_text}', but {problem}."
    result = truncate_for_storage(response, problem is None, message)
    return replace(result, retry_after=retry_after(response.headers)) if problem else result


def has_too_many_headers(response: Response) -> bool:
    return response.headers_size > HEADERS_LIMIT


def truncate_for_storage(response: Response, succeeded: bool, message: str) -> AttemptResult:
    """Return a result with the part of the response that history stores.

    If the search for credentials in all its texts would take too long, each of them is masked as a whole.
    """
    result = AttemptResult(succeeded, message, response.status)
    size = response.headers_size + min(len(response.body), KEPT_LIMIT + response.call.margin)
    if secret_variants.search_cost(response.call.hidden, size) > STORED_SEARCH_LIMIT:
        return replace(result, headers=tuple((MASK, MASK) for _ in response.raw_headers), body=MASK)
    headers = ((_text(name, response.call), _value(name, value, response.call)) for name, value in response.raw_headers)
    return replace(result, headers=tuple(headers), body=_stored_body(response))


Evaluator = Callable[[Response], AttemptResult]


async def send(call: Call, session: aiohttp.ClientSession, evaluator: Evaluator = evaluate) -> AttemptResult:
    """Make the call once and evaluate its response.  Never raises for what the target does.

    A result without a status code means that there was no response.
    """
    size = KEPT_LIMIT + call.margin
    if evaluator is not evaluate or success.needs_body(call.success):
        size = BODY_LIMIT
    try:
        response = await ask(call, session, size)
    except CallRefused as error:
        return AttemptResult(False, str(error), may_retry=False)
    except CallFailed as error:
        return AttemptResult(False, str(error))
    size = response.headers_size + len(response.body)
    is_slow = secret_variants.search_cost(call.hidden, size) > QUICK_SEARCH
    return await slow_work.run(is_slow, evaluator, response)


async def ask(call: Call, session: aiohttp.ClientSession, size: int) -> Response:
    """Make the call and return its response with up to `size` bytes of the body.

    Raises CallRefused when the call must not be made, CallFailed when no response came.
    """
    try:
        async with asyncio.timeout(CALL_LIMIT_S):
            return await _follow(call, session, size)
    except TimeoutError:
        raise CallFailed(f"No complete answer from host '{call.host}' within {CALL_LIMIT_S:.0f} seconds.") from None


async def _follow(call: Call, session: aiohttp.ClientSession, size: int) -> Response:
    for _ in range(REDIRECTS_LIMIT + 1):
        response = await _exchange(call, session, size)
        if not call.follows_redirects or response.status not in REDIRECTS or "Location" not in response.headers:
            return response
        call = _redirected(response)
    raise CallFailed(f"Host '{call.host}' was the end of more than {REDIRECTS_LIMIT} redirects; no more are followed.")


async def _exchange(call: Call, session: aiohttp.ClientSession, size: int) -> Response:
    if problem := _problem(call):
        raise CallRefused(problem)
    host = call.host
    try:
        context = (
            tls.context(DEFAULT_TRUST)
            if call.trust == DEFAULT_TRUST
            else await asyncio.to_thread(tls.context, call.trust)
        )
    except ValueError as error:
        raise CallRefused(f"The certificates of the job cannot be used: {error}.") from None
    try:
        async with session.request(
            call.method,
            call.url,
            headers=_headers(call),
            data=None if call.body is None else call.body.encode(),
            ssl=context,
            allow_redirects=False,
        ) as response:
            body = await _read_body(response, size)
            return Response(call, response.status, response.headers, response.raw_headers, body)
    except aiohttp.ConnectionTimeoutError:
        raise CallFailed(f"No connection to host '{host}' within {CONNECT_LIMIT_S:.0f} seconds.") from None
    except ClosedAddress as error:
        logger.warning("host %s may not be called: %s", host, error)  # only the log for operators names the address
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
    """Return why the call must not be made; None when it may.  Repeats the checks that were made at storing."""
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


def _redirected(response: Response) -> Call:
    """Return the call that a redirect asks for.  Source: RFC 9110, 15.4; POST becomes GET, as in all common clients.

    Raises CallFailed for a redirect from https to http, or to something that is not a plain address.  The IP addresses
    of its host are checked when the call is made.
    """
    call, host, location = response.call, response.call.host, response.headers["Location"]
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
    if (response.status == 303 and call.method != "HEAD") or (response.status in (301, 302) and call.method == "POST"):
        about_body = ("content-", "webhook-")  # webhook headers sign the body
        headers = {name: text for name, text in call.headers.items() if not name.lower().startswith(about_body)}
        call = replace(call, method="GET", body=None, headers=headers)
    call = call.with_hidden_keys(location)
    if uris.origin(str(url)) == uris.origin(str(call.url)):
        return replace(call, url=url)
    public = (HARMLESS_HEADERS | RUN_HEADERS) - call.private
    return replace(
        call,
        url=url,
        headers={name: text for name, text in call.headers.items() if name.lower() in public},
        trust=replace(call.trust, identity=None),
    )


def _body_to_test(response: Response) -> bytes:
    """Return the body for the success test, without credentials: a test could otherwise be used to guess them."""
    if not success.needs_body(response.call.success):
        return b""
    return response.call.hide(_decoded(response.body, _charset(response))).encode()


def retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """Return how long the target asks to wait.  A date counts from the response's own Date.  RFC 9110, 10.2.3."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return timedelta(seconds=int(text))
    try:
        retry_at, sent_at = (email.utils.parsedate_to_datetime(value) for value in (text, headers.get("Date", "")))
        return max(retry_at - sent_at, timedelta(0))
    except (TypeError, ValueError, OverflowError):  # a value is not a date, or has no zone
        return None


async def _read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Receive the body, up to BODY_LIMIT, and return the first `limit` bytes of its decoded form.

    The rest is received too: if the connection were closed, a target that is still writing would assume that the
    client has given up.
    """
    decode = _decoder(response.headers.get("Content-Encoding", ""))
    body = bytearray()
    received = 0
    async for chunk in response.content.iter_any():
        received += len(chunk)
        if len(body) < limit:
            body += decode(chunk, limit - len(body))
        if received >= BODY_LIMIT:
            break
    return bytes(body)


def _decoder(encoding: str):
    """Return a function of a chunk and a number of bytes.  It decompresses at most that many bytes of the chunk."""
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        return lambda chunk, size: chunk[:size]
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # 32: detect gzip or zlib by the header

    def decode(chunk: bytes, size: int) -> bytes:
        try:
            return unpacker.decompress(unpacker.unconsumed_tail + chunk, size)
        except zlib.error:
            return b""

    return decode


def _stored_body(response: Response) -> str:
    """Return the beginning of a response's text.  It is cut after the masking, so no part of a credential is left."""
    body, call, charset = response.body, response.call, _charset(response)
    beginning = _decoded(body[: KEPT_LIMIT + call.margin], charset)
    end = len(_decoded(body[:KEPT_LIMIT], charset))  # the text behind it is needed for credentials that begin before it
    return _decoded(call.redacted(beginning, end).encode()[:KEPT_LIMIT])


def _charset(response: Response) -> str:
    """Return the Python codec by which to read the body, according to its beginning.

    It is UTF-8 unless the body begins with a byte order mark or with two ASCII characters in UTF-16 or UTF-32, or is
    not UTF-8 and declares a charset.
    It is UTF-8 also if only UTF-8 shows a credential: a reader could turn the characters of another charset back into
    bytes.
    """
    call, size = response.call, KEPT_LIMIT + response.call.margin
    beginning = response.body[:size]
    declared = CHARSET.search(response.headers.get("Content-Type", ""))
    if wide := _wide_charset(beginning):
        charset = wide
    elif declared and not _is_utf_8(beginning, is_complete=len(beginning) < size):
        charset = _codec(declared[1])
    else:
        return "utf-8"
    in_utf_8, text = _decoded(beginning), _decoded(beginning, charset)
    return "utf-8" if call.hide(in_utf_8) != in_utf_8 and call.hide(text) == text else charset


def _wide_charset(data: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if the data begins like it: with a mark, or with ASCII as in RFC 4627, 3."""
    charset = json.detect_encoding(data)
    if charset in ("utf-16", "utf-32"):  # these codecs read the mark
        return charset
    is_wide = charset.startswith(("utf-16", "utf-32")) and _decoded(data[:8], charset)[:2].isascii()
    return charset if is_wide else None


def _is_utf_8(data: bytes, is_complete: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, is_complete)
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _codec(charset: str) -> str:
    """Return the Python codec for a charset; UTF-8 for a name that Python does not know as a charset."""
    name = normalize_encoding(charset).lower()
    codec = aliases.get(name, name)
    if codec in ("utf_16", "utf_32"):
        return f"{codec}_le"  # without a byte order mark, as browsers read it
    if codec not in CODECS:
        return "utf-8"
    try:
        b" ".decode(codec, "replace")
    except LookupError:  # a codec that is no charset, such as rot13, or one of another operating system
        return "utf-8"
    return codec


def _value(name: bytes, value: bytes, call: Call) -> str:
    return MASK if name.decode("latin-1").lower() in HIDDEN_HEADERS else _text(value, call)


def _text(data: bytes, call: Call) -> str:
    return call.redacted(_decoded(data))


def _decoded(data: bytes, charset: str = "utf-8") -> str:
    """Decode for a text column: without an incomplete last character, and with replacements for NUL and surrogates."""
    text = codecs.getincrementaldecoder(charset)("replace").decode(data)
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def _reason(error: BaseException) -> str:
    """Return the message of OpenSSL or of the operating system for `error`, without addresses and other details."""
    if verdict := getattr(error, "verify_message", ""):
        return verdict
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else type(error).__name__
