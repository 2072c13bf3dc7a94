"""A client certificate, and the PFX file in which it is sent."""

import base64
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, NoEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates


@pytest.fixture(scope="module")
def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "job.example")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def pfx_of(certificate, password: str | None) -> str:
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return base64.b64encode(serialize_key_and_certificates(b"job", *certificate, None, encryption)).decode()
