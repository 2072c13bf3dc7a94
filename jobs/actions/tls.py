"""TLS contexts for calls: always verified, with the authority and the client certificate of a job if it has them."""

import ssl
import tempfile
from dataclasses import dataclass
from functools import lru_cache

from cryptography.x509 import load_pem_x509_certificates

from jobs.actions import pfx

KEPT_LIMIT = 128  # cached contexts of a process, 1 MB each; creating one takes 30 ms or more


@dataclass(frozen=True, slots=True)
class Identity:
    """A client certificate with its key: a PFX in base64, and its password."""

    pfx: str
    password: str | None

    def __repr__(self) -> str:
        return "<Identity>"


@dataclass(frozen=True, slots=True)
class Trust:
    """The authority (PEM) that a call trusts in addition to the usual ones, and its client certificate."""

    authority: str | None = None
    identity: Identity | None = None


@lru_cache(maxsize=KEPT_LIMIT)
def context(trust: Trust) -> ssl.SSLContext:
    """Return the TLS context for calls with this trust.

    Raises ValueError for an unusable authority or identity; both are also checked when they are stored.
    """
    result = ssl.create_default_context()
    if trust.authority:
        refuse_unusable(trust.authority)
        result.load_verify_locations(cadata=trust.authority)
    if trust.identity:
        _load_identity(result, trust.identity)
    return result


def refuse_unusable(authority: str) -> None:
    """Raise ValueError unless `authority` is PEM with certificates only; the message states the requirement."""
    if "PRIVATE KEY" in authority:
        raise ValueError("must contain certificates only, and no private key")
    try:
        load_pem_x509_certificates(authority.encode())
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=authority)
    except (ValueError, ssl.SSLError):
        raise ValueError("must be certificates in PEM: -----BEGIN CERTIFICATE----- and so on") from None


def refuse_unusable_identity(identity: Identity) -> None:
    """Raise ValueError with the reason unless OpenSSL accepts the certificate: its key may be too short."""
    _load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), identity)


def _load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    """Hand the key over by way of a file, which is all that `ssl` takes; it is encrypted."""
    opened = pfx.load(identity.pfx, identity.password)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(opened.pem)
        file.flush()
        try:
            context.load_cert_chain(file.name, password=opened.password)
        except ssl.SSLError as error:
            raise ValueError(f"must hold a certificate that TLS can use, not one with {error.reason}") from None
