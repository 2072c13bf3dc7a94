"""Tokens of an authority, by the client credentials grant; each is shared by the runs of a worker process.

Runs of several threads, each with an event loop of its own, may need the same token at once: the first of them asks
for it, the others wait for what it gets.
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
from jobs.actions.echoes import spellings
from jobs.actions.lines import shortened
from jobs.actions.outcome import Outcome, Refused

DEFAULT_AUDIENCE = "https://management.core.windows.net/"
FLOW_LIMIT_S = 80.0  # tokens and calls together; an attempt may take a little longer
ANSWER_LIMIT = 65_536  # bytes of an authority's answer
TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")  # RFC 6749, appendix A.12, without spaces; what a header can hold
ERROR = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]{1,64}")  # RFC 6749, 5.2
DESCRIPTION_LIMIT = 200  # characters of an authority's words that history keeps
KEPT_LIMIT = 1000  # tokens of a process
RESERVE_S = 300.0  # a token is not used in the last minutes of its life, a tenth of it if that is less
LIFE_LIMIT_S = 86_400.0  # whatever an authority says, it is asked again after a day


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token is asked for with."""

    authority: str | None  # its address; None: the installation's, OAUTH_AUTHORITY
    tenant: str
    client_id: str
    audience: str
    secret: str

    def __repr__(self) -> str:
        return f"<Grant of client {self.client_id!r}>"


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    use_s: float  # how long it is used, from when it was asked for

    def __repr__(self) -> str:
        return "<Token>"


@dataclass(frozen=True, slots=True)
class NoToken:
    """Why there is no token; `message` is a sentence."""

    message: str
    may_retry: bool = True
    retry_after: timedelta | None = None


async def send(
    call: http.Call, grant: Grant, session: aiohttp.ClientSession, judge: http.Judge = http.judged
) -> Outcome:
    """Make the call with a token; when that is refused with a 401, once more with a new one."""
    asking = _asking(grant, call.trust)
    try:
        async with asyncio.timeout(FLOW_LIMIT_S):
            return await _send(call, asking, _key(grant, call.trust), session, judge)
    except TimeoutError:
        host = call.host
        return Outcome(
            False, f"No complete answer from host '{host}', tokens included, within {FLOW_LIMIT_S:.0f} seconds."
        )


async def _send(
    call: http.Call, asking: http.Call, key: bytes, session: aiohttp.ClientSession, judge: http.Judge
) -> Outcome:
    outcome = Outcome(False, "")
    for _ in range(2):
        token = await TOKENS.get(key, asking, session)
        if isinstance(token, NoToken):
            return Outcome(False, token.message, may_retry=token.may_retry, retry_after=token.retry_after)
        outcome = await http.send(_with_token(call, token), session, judge)
        if outcome.succeeded or outcome.status_code != 401:
            return outcome
        TOKENS.forget(key, token)
    return outcome


def _with_token(call: http.Call, token: Token) -> http.Call:
    headers = {name: text for name, text in call.headers.items() if name.lower() != "authorization"}
    return replace(
        call,
        headers={**headers, "Authorization": f"Bearer {token.text}"},
        hidden=(*call.hidden, *spellings(token.text)),
        private=call.private | {"authorization"},
    )


class Tokens:
    """The tokens of a process, and the requests for one that are under way.  For all threads and event loops."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()  # never held across an await
        self._kept: OrderedDict[bytes, tuple[Token, float]] = OrderedDict()  # used until; least recently used first
        self._promises: dict[bytes, Future[Token | NoToken | None]] = {}

    async def get(self, key: bytes, asking: http.Call, session: aiohttp.ClientSession) -> Token | NoToken:
        while True:
            with self._lock:
                token, used_until = self._kept.get(key, (None, 0.0))
                if token and self._clock() < used_until:
                    self._kept.move_to_end(key)
                    return token
                promise = self._promises.get(key)
                if promise is None:
                    own = self._promises[key] = Future()
                    break
            if answer := await _result(promise):
                return answer
        return await self._ask(key, own, asking, session)

    def forget(self, key: bytes, token: Token) -> None:
        """Drop a token that is good for nothing, unless another one has taken its place."""
        with self._lock:
            if key in self._kept and self._kept[key][0] == token:
                del self._kept[key]

    async def _ask(
        self, key: bytes, own: Future[Token | NoToken | None], asking: http.Call, session: aiohttp.ClientSession
    ) -> Token | NoToken:
        asked_at, answer = self._clock(), None  # None when this run is cancelled: then one of those that wait asks
        try:
            answer = await _ask(asking, session)
            return answer
        finally:
            with self._lock:
                del self._promises[key]
                if isinstance(answer, Token):
                    self._keep(key, answer, asked_at + answer.use_s)
            own.set_result(answer)

    def _keep(self, key: bytes, token: Token, until: float) -> None:
        self._kept[key] = token, until
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_LIMIT:
            self._kept.popitem(last=False)


TOKENS = Tokens()


async def _result(promise: Future[Token | NoToken | None]) -> Token | NoToken | None:
    """Wait for what somebody else asked for, perhaps in another event loop; None: it was given up."""
    loop, settled = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: object) -> None:
        with suppress(RuntimeError):  # our loop is closed: nobody waits there any more
            loop.call_soon_threadsafe(settled.set)

    promise.add_done_callback(wake)
    await settled.wait()
    return promise.result()


def _key(grant: Grant, trust: tls.Trust) -> bytes:
    """The same for runs that may share a token; it does not tell the secret."""
    parts = (grant.authority or settings.OAUTH_AUTHORITY, grant.tenant, grant.client_id, grant.audience, grant.secret)
    return hashlib.sha256(repr((*parts, trust.authority)).encode()).digest()


def _asking(grant: Grant, trust: tls.Trust) -> http.Call:
    """The request for a token.  Source: RFC 6749, 4.4, with the member `resource` of the original's authority."""
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
        hidden=spellings(grant.secret),
        trust=tls.Trust(trust.authority),
    )


async def _ask(asking: http.Call, session: aiohttp.ClientSession) -> Token | NoToken:
    try:
        answer = await http.ask(asking, session, ANSWER_LIMIT)
    except Refused as refusal:
        return NoToken(f"There is no token for the call: {refusal}", may_retry=False)
    except http.CallFailed as failure:
        return NoToken(f"There is no token for the call: {failure}")
    document = _members(answer.body)
    token = _token(document) if answer.status == 200 else None
    return token or _refused(answer, document)


def _members(body: bytes) -> Mapping[str, object]:
    try:
        document = orjson.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _token(document: Mapping[str, object]) -> Token | None:
    """The token in an authority's answer; None when there is none that can be used."""
    text, life = document.get("access_token"), _seconds(document.get("expires_in"))
    if not isinstance(text, str) or not TOKEN.fullmatch(text) or life is None:
        return None
    if str(document.get("token_type") or "Bearer").lower() != "bearer":
        return None
    return Token(text, life - min(RESERVE_S, life / 10))


def _seconds(value: object) -> float | None:
    """A life that may be written as a text.  One that is not told is none: such a token is used, but not kept."""
    if value is None:
        return 0.0
    if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return min(max(float(value), 0.0), LIFE_LIMIT_S)


def _refused(answer: http.Answer, document: Mapping[str, object]) -> NoToken:
    message = f"Authority '{answer.call.host}' answered '{answer.word}' without a token that can be used"
    error, description = document.get("error"), document.get("error_description")
    if isinstance(error, str) and ERROR.fullmatch(error):
        message = f"Authority '{answer.call.host}' refused a token with the error '{answer.call.hide(error)}'"
        if isinstance(description, str) and (words := shortened(answer.call.hide(description), DESCRIPTION_LIMIT)):
            message = f"{message}: {words}"
    return NoToken(f"{message.rstrip('.')}.", retry_after=http.retry_after(answer.headers))
