"""The authentication of an HTTP action: Basic, a client certificate, or a token of an authority."""

import base64
from collections.abc import Mapping
from typing import Any

from api.json_object import JsonObject, collected, shorten_repr
from jobs.actions import host_names, oauth, pfx, tls, uris
from jobs.actions.members import AUTHENTICATION, BASIC, OAUTH
from jobs.actions.previous import PreviousAction, keep_secret, secret_text
from jobs.encryption import MASK, Secrets


@collected
def parse(members: JsonObject, previous: PreviousAction, secrets: Secrets) -> dict[str, Any] | None:
    """Return the public part of the authentication; None without one.  Secrets are moved into `secrets`."""
    match AUTHENTICATION.type.read(members):
        case "Basic":
            return _basic(members, previous, secrets)
        case "ActiveDirectoryOAuth":
            return _oauth(members, previous, secrets)
        case "ClientCertificate":
            return _client_certificate(members, previous, secrets)
        case _:
            return None


def basic_credential(authentication: Mapping[str, Any], secrets: Mapping[str, str]) -> str | None:
    """Return the credential that Basic authentication sends after its name; None for other types."""
    if authentication.get("type") != "Basic":
        return None
    pair = f"{authentication.get('username', '')}:{secrets.get('authentication.password', '')}"
    return base64.b64encode(pair.encode()).decode("ascii")


def identity(authentication: Mapping[str, Any], secrets: Mapping[str, str]) -> tls.Identity | None:
    """Return the client certificate; None for other types."""
    if authentication.get("type") != "ClientCertificate":
        return None
    return tls.Identity(secrets.get("authentication.pfx", ""), secrets.get("authentication.password"))


def grant(authentication: Mapping[str, Any], secrets: Mapping[str, str]) -> oauth.Grant | None:
    """Return the parameters of a token request; None for other types."""
    if authentication.get("type") != "ActiveDirectoryOAuth":
        return None
    return oauth.Grant(
        authority=authentication.get("authority"),
        tenant=authentication["tenant"],
        client_id=authentication["clientId"],
        audience=authentication.get("audience") or oauth.DEFAULT_AUDIENCE,
        secret=secrets.get("authentication.secret", ""),
    )


def _basic(members: JsonObject, previous: PreviousAction, secrets: Secrets) -> dict[str, Any]:
    public = BASIC.read(members)
    keep_secret(members, "password", public, previous, secrets)
    return public


def _oauth(members: JsonObject, previous: PreviousAction, secrets: Secrets) -> dict[str, Any]:
    public = OAUTH.read(members)
    if "authority" in public:
        public["authority"] = _authority(members, public["authority"])
    identity_members = [name for name in ("authority", "audience") if name not in members.refused]
    if any(previous.document.get(name) != public.get(name) for name in identity_members):
        previous = previous.without_content()  # also when the member was removed
    keep_secret(members, "secret", public, previous, secrets)
    return public


@collected
def _authority(members: JsonObject, text: str) -> str | None:
    """Return the checked address.  A path will be appended to it, and the secret is sent there."""
    address = host_names.read_address(members, "authority", text)
    if address is None:
        return None
    if problem := uris.problem_of(address):
        members.refuse("authority", problem, "malformed")
    if not address.lower().startswith("https://") or "?" in address or "#" in address:
        problem = f"must begin with https:// and have no query, not {shorten_repr(address)}"
        members.refuse("authority", problem, "malformed")
    return address


def _client_certificate(members: JsonObject, previous: PreviousAction, secrets: Secrets) -> dict[str, Any]:
    """Return the public part of a PFX.

    A new PFX that comes without a password has none.  A PFX that is not replaced keeps its stored password.
    """
    is_stored = previous.document.get("type") == "ClientCertificate"
    password = collected(secret_text)(members, "password")
    data = secret_text(members, "pfx")
    keeps_pfx = data in (None, MASK)
    if keeps_pfx:
        data = previous.secret("pfx") if is_stored else None
    if data is None:
        members.refuse("pfx", "is required: none is stored for this place and host", "required")
    if "password" in members.refused:
        return {}  # without the password the file cannot be checked
    if password == MASK or (password is None and keeps_pfx):
        password = previous.secret("password") if is_stored else None
    try:
        public = {"type": "ClientCertificate", **pfx.public_members(data, password)}
        tls.refuse_unusable_identity(tls.Identity(data, password))
    except ValueError as error:
        members.refuse("pfx", str(error), "malformed")
    secrets[previous.path_of("pfx")] = data
    if password is not None:
        secrets[previous.path_of("password")] = password
    return public
