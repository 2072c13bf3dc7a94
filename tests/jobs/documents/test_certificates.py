"""Certificates of clients: described, kept, and refused."""

import base64

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import PBES, serialize_key_and_certificates

from jobs.actions import documents, pfx
from jobs.errors import Invalid
from tests.jobs.documents.conftest import pfx_of
from tests.jobs.documents.samples import http, refusal, stored


@pytest.mark.parametrize("password", ["pw", None])
def test_a_certificate_is_described(certificate, password):
    authentication = {"type": "clientcertificate", "pfx": pfx_of(certificate, password), "password": password}

    parsed = documents.parse(http(authentication))

    assert parsed.document["request"]["authentication"] == {
        "type": "ClientCertificate",
        "certificateThumbprint": certificate[1].fingerprint(hashes.SHA1()).hex().upper(),
        "certificateSubjectName": "CN=job.example",
        "certificateExpirationDate": "2031-02-03T04:05:06Z",
        "certificateExpiration": "2031-02-03T04:05:06Z",
    }
    assert set(parsed.secrets) == {"request.authentication.pfx"} | (
        {"request.authentication.password"} if password else set()
    )


def test_a_stored_certificate_is_kept(certificate):
    action = stored(http({"type": "ClientCertificate", "pfx": pfx_of(certificate, "pw"), "password": "pw"}))

    again = documents.parse(documents.render(action), action)

    assert again == documents.ParsedAction(action.document, action.secrets)


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_certificate_that_its_password_does_not_open_is_refused(certificate, password):
    authentication = {"type": "ClientCertificate", "pfx": pfx_of(certificate, "pw"), "password": password}

    assert refusal(http(authentication)) == ("action.request.authentication.pfx", "malformed")


def test_a_stored_certificate_stays_with_its_host(certificate):
    action = stored(http({"type": "ClientCertificate", "pfx": pfx_of(certificate, None)}))

    path, code = refusal(http({"type": "ClientCertificate"}, uri="https://evil.example"), action)

    assert (path, code) == ("action.request.authentication.pfx", "required")


def test_a_certificate_made_to_keep_a_processor_busy_is_refused(certificate):
    costly = (
        PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(pfx.ITERATIONS_LIMIT // 2)  # more than that for its certificate, its key and its seal together
        .key_cert_algorithm(PBES.PBESv2SHA256AndAES256CBC)
        .hmac_hash(hashes.SHA256())
        .build(b"pw")
    )
    data = serialize_key_and_certificates(b"job", *certificate, None, costly)
    authentication = {"type": "ClientCertificate", "pfx": base64.b64encode(data).decode(), "password": "pw"}

    with pytest.raises(Invalid, match="at most 2000000 iterations"):
        documents.parse(http(authentication))
