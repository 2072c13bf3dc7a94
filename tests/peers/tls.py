"""Certificates of the tests' own authority.  `authority = Authority()`; a job trusts it with `authority.pem`.

`Target(tls=authority.server())` speaks HTTPS, `Target(tls=authority.server(demands_certificate=True))` only with
clients that send a certificate of the authority (`Call.certificate`).  `authority.client("name")` creates one of
`CN=name`.
"""

import base64
import ssl
from dataclasses import dataclass
from datetime import datetime

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    NoEncryption,
    load_pem_private_key,
    pkcs12,
)

from tests.peers.server import HOST


@dataclass(frozen=True)
class ClientCertificate:
    pfx: str  # base64, as in the document of a job
    password: str
    thumbprint: str
    subject: str
    expires_at: datetime


class Authority:
    def __init__(self):
        self._authority = trustme.CA()
        self.pem = self._authority.cert_pem.bytes().decode()

    def server(self, *names: str, demands_certificate: bool = False) -> ssl.SSLContext:
        """Return the TLS context of a server with the given names, by default the loopback address."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(*(names or (HOST,))).configure_cert(context)
        if demands_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            self._authority.configure_trust(context)
        return context

    def client(
        self, name: str = "quando", password: str = "opensesame", expires_at: datetime | None = None
    ) -> ClientCertificate:
        """Create a certificate of `CN=name` with its key; without a `password` the PFX is not encrypted."""
        issued = self._authority.issue_cert(common_name=name, not_after=expires_at)
        certificate = x509.load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
        pfx = pkcs12.serialize_key_and_certificates(
            name.encode(),
            load_pem_private_key(issued.private_key_pem.bytes(), None),
            certificate,
            None,
            BestAvailableEncryption(password.encode()) if password else NoEncryption(),
        )
        return ClientCertificate(
            pfx=base64.b64encode(pfx).decode(),
            password=password,
            thumbprint=thumbprint(certificate),
            subject=certificate.subject.rfc4514_string(),
            expires_at=certificate.not_valid_after_utc,
        )


def thumbprint(certificate: x509.Certificate) -> str:
    return certificate.fingerprint(hashes.SHA1()).hex().upper()
