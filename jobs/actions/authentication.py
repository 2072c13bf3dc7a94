"""The authentication of an HTTP action: Basic, a client certificate, or a token of an authority."""

import base64
from collections.abc import Mapping
from typing import Any

from jobs.actions import host_names, oauth, pfx, tls, uris
from jobs.actions.previous import NAME_OF_HOST, SHORT_LIMIT, PreviousAction, keep_secret, present, secret_text
from jobs.encryption import MASK, Secrets
from jobs.members import PRINTABLE, JsonObject, collected, shorten_repr

NONE = ("None", "NotSpecified")
TYPES = (*NONE, "Basic", "ClientCertificate", "ActiveDirectoryOAuth")
ADDRESS_LIMIT = 2048  # characters


@collected
def parse(members: JsonObject, previous: PreviousAction, secrets: Secrets) -> dict[str, Any] | None:
    """Return the public part of the authentication; None without one.  Secrets are moved into `secrets`."""
    match members.required_choice("type", TYPES):
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
    username = members.required_text("username", SHORT_LIMIT, r"[^\x00-\x1f\x7f:]*", "printable, without colons")
    public = {"type": "Basic", "username": username}
    keep_secret(members, "password", public, previous, secrets)
    return public


def _oauth(members: JsonObject, previous: PreviousAction, secrets: Secrets) -> dict[str, Any]:
    authority = members.text("authority", ADDRESS_LIMIT)
    if authority is not None:
        authority = host_names.read_address(members, "authority", authority)
    if authority is not None and (problem := _problem_of_authority(authority)):
        members.fault("authority", problem, "malformed")
        authority = None
    public = present(
        type="ActiveDirectoryOAuth",
        tenant=members.required_text("tenant", SHORT_LIMIT, NAME_OF_HOST, "a domain name or a GUID"),
        audience=members.text("audience", ADDRESS_LIMIT, PRINTABLE, "printable"),
        clientId=members.required_text("clientId", SHORT_LIMIT, PRINTABLE, "printable"),
        authority=authority,
    )
    identity_members = [name for name in ("authority", "audience") if name not in members.refused]
    if any(previous.document.get(name) != public.get(name) for name in identity_members):
        previous = previous.without_content()  # also when the member was removed
    keep_secret(members, "secret", public, previous, secrets)
    return public


def _problem_of_authority(address: str) -> str | None:
    """Return why an address cannot be an authority; None if it can.

    A path will be appended to the address, and the secret is sent there.
    """
    if problem := uris.problem_of(address):
        return problem
    if not address.lower().startswith("https://") or "?" in address or "#" in address:
        return f"must begin with https:// and have no query, not {shorten_repr(address)}"
    return None


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
