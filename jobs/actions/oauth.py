"""Tokens of an authority by the client credentials grant.  The runs of a worker process share them.

Runs in several threads, each with its own event loop, may need the same token at the same time.  The first one requests
it, the others wait for its result.
"""

import asyncio
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from threading import Lock
from urllib.parse import quote, urlencode

import aiohttp
import orjson
from django.conf import settings
from yarl import URL

from jobs.actions import http, tls
from jobs.actions.result import AttemptResult, CallRefused
from jobs.actions.secret_variants import search_forms
from jobs.actions.text import shorten

DEFAULT_AUDIENCE = "https://management.core.windows.net/"
FLOW_LIMIT_S = 80.0  # for tokens and calls together; an attempt may take a little longer
ANSWER_LIMIT = 65_536  # bytes of an authority's response
# RFC 6749, appendix A.12, without spaces; the characters that a header can hold
TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
ERROR = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]{1,64}")  # RFC 6749, 5.2
DESCRIPTION_LIMIT = 200  # characters of an authority's error description that history stores
KEPT_LIMIT = 1000  # tokens that a process stores
EXPIRY_MARGIN_S = (
    300.0  # a token is not used in the last seconds of its life: this, or a tenth of its life if that is less
)
LIFE_LIMIT_S = 86_400.0  # after a day a new token is requested, whatever the authority says


@dataclass(frozen=True, slots=True)
class Grant:
    """The parameters of a token request."""

    authority: str | None  # address; None: OAUTH_AUTHORITY of the installation
    tenant: str
    client_id: str
    audience: str
    secret: str

    def __repr__(self) -> str:
        return f"<Grant of client {self.client_id!r}>"


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    valid_for_s: float  # how long it may be used after the request

    def __repr__(self) -> str:
        return "<Token>"


@dataclass(frozen=True, slots=True)
class TokenError:
    """The reason why there is no token; `message` is a sentence."""

    message: str
    may_retry: bool = True
    retry_after: timedelta | None = None


async def send(
    call: http.Call, grant: Grant, session: aiohttp.ClientSession, evaluator: http.Evaluator = http.evaluate
) -> AttemptResult:
    """Make the call with a token.  After a 401 response, make it once more with a new token."""
    request = _token_request(grant, call.trust)
    try:
        async with asyncio.timeout(FLOW_LIMIT_S):
            return await _send(call, request, _key(grant, call.trust), session, evaluator)
    except TimeoutError:
        host = call.host
        return AttemptResult(
            False, f"No complete answer from host '{host}', tokens included, within {FLOW_LIMIT_S:.0f} seconds."
        )


async def _send(
    call: http.Call, request: http.Call, key: bytes, session: aiohttp.ClientSession, evaluator: http.Evaluator
) -> AttemptResult:
    result = AttemptResult(False, "")
    for _ in range(2):
        token = await TOKENS.get(key, request, session)
        if isinstance(token, TokenError):
            return AttemptResult(False, token.message, may_retry=token.may_retry, retry_after=token.retry_after)
        result = await http.send(_with_token(call, token), session, evaluator)
        if result.succeeded or result.status_code != 401:
            return result
        TOKENS.forget(key, token)
    return result


def _with_token(call: http.Call, token: Token) -> http.Call:
    headers = {name: text for name, text in call.headers.items() if name.lower() != "authorization"}
    return replace(
        call,
        headers={**headers, "Authorization": f"Bearer {token.text}"},
        hidden=(*call.hidden, *search_forms(token.text)),
        private=call.private | {"authorization"},
    )


class Tokens:
    """The tokens of a process, and the token requests in progress.  Safe for all threads and event loops."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()  # never held across an await
        # with the time until which each may be used; least recently used first
        self._tokens: OrderedDict[bytes, tuple[Token, float]] = OrderedDict()
        self._requests: dict[bytes, Future[Token | TokenError | None]] = {}

    async def get(self, key: bytes, request: http.Call, session: aiohttp.ClientSession) -> Token | TokenError:
        while True:
            with self._lock:
                token, used_until = self._tokens.get(key, (None, 0.0))
                if token and self._clock() < used_until:
                    self._tokens.move_to_end(key)
                    return token
                pending = self._requests.get(key)
                if pending is None:
                    own = self._requests[key] = Future()
                    break
            if result := await _result(pending):
                return result
        return await self._ask(key, own, request, session)

    def forget(self, key: bytes, token: Token) -> None:
        """Remove a token that was refused, unless another one has replaced it."""
        with self._lock:
            if key in self._tokens and self._tokens[key][0] == token:
                del self._tokens[key]

    async def _ask(
        self, key: bytes, future: Future[Token | TokenError | None], request: http.Call, session: aiohttp.ClientSession
    ) -> Token | TokenError:
        # None if this run is cancelled: then one of the waiting runs sends the request
        requested_at, result = self._clock(), None
        try:
            result = await _ask(request, session)
            return result
        finally:
            with self._lock:
                del self._requests[key]
                if isinstance(result, Token):
                    self._store(key, result, requested_at + result.valid_for_s)
            future.set_result(result)

    def _store(self, key: bytes, token: Token, until: float) -> None:
        self._tokens[key] = token, until
        self._tokens.move_to_end(key)
        while len(self._tokens) > KEPT_LIMIT:
            self._tokens.popitem(last=False)


TOKENS = Tokens()


async def _result(future: Future[Token | TokenError | None]) -> Token | TokenError | None:
    """Wait for the request of another run, perhaps in another event loop; None if that run was cancelled."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def notify(_: object) -> None:
        with suppress(RuntimeError):  # this loop is closed, so no run waits in it any more
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(notify)
    await done.wait()
    return future.result()


def _key(grant: Grant, trust: tls.Trust) -> bytes:
    """Return a hash that is equal for runs that may share a token.  The secret cannot be read from it."""
    parts = (grant.authority or settings.OAUTH_AUTHORITY, grant.tenant, grant.client_id, grant.audience, grant.secret)
    return hashlib.sha256(repr((*parts, trust.authority)).encode()).digest()


def _token_request(grant: Grant, trust: tls.Trust) -> http.Call:
    """Return the token request.  Source: RFC 6749, 4.4, with the member `resource` of the original's authority."""
    form = {
        "grant_type": "client_credentials",
        "client_id": grant.client_id,
        "client_secret": grant.secret,
        "resource": grant.audience,
    }
    address = (grant.authority or settings.OAUTH_AUTHORITY).rstrip("/")
    return http.Call(
        method="POST",
        url=URL(f"{address}/{quote(grant.tenant, safe='')}/oauth2/token", encoded=True),
        headers={"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
        body=urlencode(form),
        hidden=search_forms(grant.secret),
        trust=tls.Trust(trust.authority),
    )


async def _ask(request: http.Call, session: aiohttp.ClientSession) -> Token | TokenError:
    try:
        response = await http.ask(request, session, ANSWER_LIMIT)
    except CallRefused as error:
        return TokenError(f"There is no token for the call: {error}", may_retry=False)
    except http.CallFailed as error:
        return TokenError(f"There is no token for the call: {error}")
    document = _members(response.body)
    token = _token(document) if response.status == 200 else None
    return token or _refused(response, document)


def _members(body: bytes) -> Mapping[str, object]:
    try:
        document = orjson.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _token(document: Mapping[str, object]) -> Token | None:
    """Return the token in an authority's response; None without a usable token."""
    text, lifetime_s = document.get("access_token"), _seconds(document.get("expires_in"))
    if not isinstance(text, str) or not TOKEN.fullmatch(text) or lifetime_s is None:
        return None
    if str(document.get("token_type") or "Bearer").lower() != "bearer":
        return None
    return Token(text, lifetime_s - min(EXPIRY_MARGIN_S, lifetime_s / 10))


def _seconds(value: object) -> float | None:
    """Return a lifetime in seconds, which may be written as a text; None if it is invalid.

    A missing lifetime is 0: such a token is used once and not stored.
    """
    if value is None:
        return 0.0
    if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return min(max(float(value), 0.0), LIFE_LIMIT_S)


def _refused(response: http.Response, document: Mapping[str, object]) -> TokenError:
    message = f"Authority '{response.call.host}' answered '{response.status_text}' without a token that can be used"
    error, description = document.get("error"), document.get("error_description")
    if isinstance(error, str) and ERROR.fullmatch(error):
        message = f"Authority '{response.call.host}' refused a token with the error '{response.call.hide(error)}'"
        if isinstance(description, str) and (details := shorten(response.call.hide(description), DESCRIPTION_LIMIT)):
            message = f"{message}: {details}"
    return TokenError(f"{message.rstrip('.')}.", retry_after=http.retry_after(response.headers))
