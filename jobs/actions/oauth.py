"""Tokens of an authority, by the client credentials grant; each is shared by the runs of a worker process."""

from dataclasses import dataclass

import aiohttp

from jobs.actions import http
from jobs.actions.outcome import Outcome

DEFAULT_AUDIENCE = "https://management.core.windows.net/"


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


async def send(call: http.Call, grant: Grant, session: aiohttp.ClientSession) -> Outcome:
    """Make the call with a token; when that is refused with a 401, once more with a new one."""
    raise NotImplementedError
