"""How an HTTP action says who it is: Basic, a client certificate, or a token of an authority."""

import base64
from collections.abc import Mapping
from typing import Any

from jobs.actions import oauth, pfx, tls, uris
from jobs.actions.stored import NAME_OF_HOST, SHORT_LIMIT, Stored, keep_secret, present, secret_text
from jobs.encryption import MASK, Secrets
from jobs.members import PRINTABLE, Members, shown

NONE = ("None", "NotSpecified")
TYPES = (*NONE, "Basic", "ClientCertificate", "ActiveDirectoryOAuth")
ADDRESS_LIMIT = 2048  # characters


def parse(members: Members, stored: Stored, secrets: Secrets) -> dict[str, Any] | None:
    """The public part; None without authentication."""
    match members.required_choice("type", TYPES):
        case "Basic":
            return _basic(members, stored, secrets)
        case "ActiveDirectoryOAuth":
            return _oauth(members, stored, secrets)
        case "ClientCertificate":
            return _client_certificate(members, stored, secrets)
        case _:
            return None


def basic_credential(authentication: Mapping[str, Any], secrets: Mapping[str, str]) -> str | None:
    """What Basic authentication sends after its name; None for other types."""
    if authentication.get("type") != "Basic":
        return None
    pair = f"{authentication.get('username', '')}:{secrets.get('authentication.password', '')}"
    return base64.b64encode(pair.encode()).decode("ascii")


def identity(authentication: Mapping[str, Any], secrets: Mapping[str, str]) -> tls.Identity | None:
    """The client certificate; None for other types."""
    if authentication.get("type") != "ClientCertificate":
        return None
    return tls.Identity(secrets.get("authentication.pfx", ""), secrets.get("authentication.password"))


def grant(authentication: Mapping[str, Any], secrets: Mapping[str, str]) -> oauth.Grant | None:
    """What a token is asked for with; None for other types."""
    if authentication.get("type") != "ActiveDirectoryOAuth":
        return None
    return oauth.Grant(
        authority=authentication.get("authority"),
        tenant=authentication["tenant"],
        client_id=authentication["clientId"],
        audience=authentication.get("audience") or oauth.DEFAULT_AUDIENCE,
        secret=secrets.get("authentication.secret", ""),
    )


def _basic(members: Members, stored: Stored, secrets: Secrets) -> dict[str, Any]:
    username = members.required_text("username", SHORT_LIMIT, r"[^\x00-\x1f\x7f:]*", "printable, without colons")
    public = {"type": "Basic", "username": username}
    keep_secret(members, "password", public, stored, secrets)
    return public


def _oauth(members: Members, stored: Stored, secrets: Secrets) -> dict[str, Any]:
    authority = members.text("authority", ADDRESS_LIMIT)
    if authority is not None and (problem := _problem_of_authority(authority)):
        members.refuse("authority", problem, "malformed")
    public = present(
        type="ActiveDirectoryOAuth",
        tenant=members.required_text("tenant", SHORT_LIMIT, NAME_OF_HOST, "a domain name or a GUID"),
        audience=members.text("audience", ADDRESS_LIMIT, PRINTABLE, "printable"),
        clientId=members.required_text("clientId", SHORT_LIMIT, PRINTABLE, "printable"),
        authority=authority,
    )
    if any(stored.document.get(name) != public.get(name) for name in ("authority", "audience")):
        stored = stored.emptied()  # also when one was there and is not any more
    keep_secret(members, "secret", public, stored, secrets)
    return public


def _problem_of_authority(address: str) -> str | None:
    """A path is added to it, and the secret is sent there."""
    if problem := uris.problem_of(address):
        return problem
    if not address.lower().startswith("https://") or "?" in address or "#" in address:
        return f"must begin with https:// and have no query, not {shown(address)}"
    return None


def _client_certificate(members: Members, stored: Stored, secrets: Secrets) -> dict[str, Any]:
    """A PFX with its password.  A new PFX without a password has none; a kept PFX keeps its own."""
    is_stored = stored.document.get("type") == "ClientCertificate"
    data, password = secret_text(members, "pfx"), secret_text(members, "password")
    keeps_pfx = data in (None, MASK)
    if keeps_pfx:
        data = stored.secret("pfx") if is_stored else None
    if data is None:
        members.refuse("pfx", "is required: none is stored for this place and host", "required")
    if password == MASK or (password is None and keeps_pfx):
        password = stored.secret("password") if is_stored else None
    try:
        public = {"type": "ClientCertificate", **pfx.public_members(data, password)}
        tls.refuse_unusable_identity(tls.Identity(data, password))
    except ValueError as error:
        members.refuse("pfx", str(error), "malformed")
    secrets[stored.place_of("pfx")] = data
    if password is not None:
        secrets[stored.place_of("password")] = password
    return public
