"""How calls agree on TLS: always verified, with a job's own authority and client certificate where it has them."""

import secrets
import ssl
import tempfile
from dataclasses import dataclass
from functools import lru_cache

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.x509 import load_pem_x509_certificates

from jobs.actions import pfx


@dataclass(frozen=True, slots=True)
class Identity:
    """A client certificate with its key: base64 of a PFX, and what opens it."""

    pfx: str
    password: str | None

    def __repr__(self) -> str:
        return "<Identity>"


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom a call trusts besides the usual authorities (PEM), and as whom it presents itself."""

    authority: str | None = None
    identity: Identity | None = None


@lru_cache(maxsize=32)
def context(trust: Trust) -> ssl.SSLContext:
    """Raises ValueError when the authority or the identity is of no use; both are checked when they are stored."""
    made = ssl.create_default_context()
    if trust.authority:
        refuse_unusable(trust.authority)
        made.load_verify_locations(cadata=trust.authority)
    if trust.identity:
        _load_identity(made, trust.identity)
    return made


def refuse_unusable(authority: str) -> None:
    """Raise ValueError, saying what is expected, unless `authority` is PEM of certificates and nothing else."""
    if "PRIVATE KEY" in authority:
        raise ValueError("must hold certificates only, and no private key")
    try:
        load_pem_x509_certificates(authority.encode())
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=authority)
    except (ValueError, ssl.SSLError):
        raise ValueError("must be certificates in PEM: -----BEGIN CERTIFICATE----- and so on") from None


def refuse_unusable_identity(identity: Identity) -> None:
    """Raise ValueError, saying what is wrong, unless OpenSSL takes the certificate: its key may be too short."""
    _load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), identity)


def _load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    """Hand the key over by way of a file, which is all that `ssl` takes: encrypted with a password used this once."""
    opened = pfx.load(identity.pfx, identity.password)
    assert opened.key is not None and opened.cert is not None
    password = secrets.token_bytes(32).hex()
    key = opened.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
    chain = [opened.cert, *opened.additional_certs]
    with tempfile.NamedTemporaryFile() as file:
        file.write(key + b"".join(link.certificate.public_bytes(Encoding.PEM) for link in chain))
        file.flush()
        try:
            context.load_cert_chain(file.name, password=password)
        except ssl.SSLError as error:
            raise ValueError(f"must hold a certificate that TLS can use, not one with {error.reason}") from None
