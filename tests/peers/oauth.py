"""An authority that issues tokens, and a target that accepts only its tokens.

`authority = TokenAuthority({"client": "its secret"}); protected = ProtectedTarget(authority)`.  A token is valid for
`authority.lifetime` seconds, or until `authority.revoke()`; `authority.issued` has all of them, oldest first.
"""

import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from tests.peers.server import Answer, Call, Server
from tests.peers.target import Target

TOKEN_PATH = re.compile(r"/[^/]+/oauth2/token")


@dataclass(frozen=True)
class Token:
    text: str
    tenant: str
    client_id: str
    resource: str
    expires_at: float


class TokenAuthority(Server):
    """An authority with clients and their secrets, in every tenant, for the client credentials grant only."""

    def __init__(self, clients: Mapping[str, str], lifetime: int = 3600, **fields):
        self.clients = dict(clients)
        self.lifetime = lifetime
        self.issued: list[Token] = []
        self._revoked: set[str] = set()
        super().__init__(**fields)

    def answer(self, call: Call) -> Answer:
        path = urlsplit(call.path).path
        if call.method != "POST" or not TOKEN_PATH.fullmatch(path):
            return refusal(404, "invalid_request", "no such address")
        if call.headers.get_content_type() != "application/x-www-form-urlencoded":
            return refusal(400, "invalid_request", "a form is needed")
        form = parse_qs(call.body, keep_blank_values=True, strict_parsing=True)
        return self._answer_form(path.split("/")[1], {name: values[-1] for name, values in form.items()})

    def _answer_form(self, tenant: str, form: dict[str, str]) -> Answer:
        if missing := {"client_id", "client_secret", "resource"} - set(form):
            return refusal(400, "invalid_request", f"missing: {', '.join(sorted(missing))}")
        if form.get("grant_type") != "client_credentials":
            return refusal(400, "unsupported_grant_type", "client_credentials is taken, nothing else")
        if self.clients.get(form["client_id"]) != form["client_secret"]:
            return refusal(401, "invalid_client", "the client secret is not the one of this client")
        token = Token(
            secrets.token_urlsafe(32), tenant, form["client_id"], form["resource"], time.time() + self.lifetime
        )
        self.issued.append(token)
        members = {
            "token_type": "Bearer",
            "access_token": token.text,
            "resource": token.resource,
            # texts in the first version of the service's protocol
            "expires_in": str(self.lifetime),
            "expires_on": str(int(token.expires_at)),
        }
        return Answer(200, {"Content-Type": "application/json"}, json.dumps(members))

    def revoke(self) -> None:
        """Revoke all tokens that have been issued so far."""
        self._revoked |= {token.text for token in self.issued}

    def good(self, text: str) -> Token | None:
        now = time.time()
        return next((token for token in self.issued if token.text == text and self._is_good(token, now)), None)

    def _is_good(self, token: Token, now: float) -> bool:
        return now < token.expires_at and token.text not in self._revoked


class ProtectedTarget(Target):
    """A target that returns 401 to a call without a valid token of `authority`, and of `audience` if one is given."""

    def __init__(self, authority: TokenAuthority, audience: str | None = None, **fields):
        self.authority = authority
        self.audience = audience
        super().__init__(**fields)

    def answer(self, call: Call) -> Answer:
        scheme, _, text = call.headers.get("Authorization", "").partition(" ")
        token = self.authority.good(text) if scheme == "Bearer" else None
        if token is None or self.audience not in (None, token.resource):
            return Answer(401, {"WWW-Authenticate": 'Bearer error="invalid_token"'}, "no good token")
        return super().answer(call)


def refusal(status: int, error: str, description: str) -> Answer:
    body = json.dumps({"error": error, "error_description": description})
    return Answer(status, {"Content-Type": "application/json"}, body)
