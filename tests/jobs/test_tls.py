"""TLS of calls: which server certificates they accept, and which client certificate they send."""

import base64
import os
import re
import ssl
import stat
import tempfile
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import NoEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from api.errors import Invalid
from jobs.actions import documents, tls
from tests.jobs.attempts import attempt, carry_out
from tests.peers.target import Target
from tests.peers.tls import Authority

AGO = datetime(2020, 1, 1, tzinfo=UTC)  # OpenSSL reads the machine's clock


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8", "::1/128"]


@pytest.fixture(autouse=True)
def clear_context_cache():
    tls.context.cache_clear()


@pytest.fixture
def strict(peer, authority):
    """A server that demands a certificate of the authority."""
    return peer(Target, tls=authority.server(demands_certificate=True))


def document(uri: str, authority: Authority | None = None, client=None, **request) -> dict:
    if authority:
        request["certificateAuthority"] = authority.pem
    if client:
        request["authentication"] = {"type": "ClientCertificate", "pfx": client.pfx, "password": client.password}
    return {"type": "Https", "request": {"uri": uri, "method": "GET", **request}}


# Which servers calls trust


def test_certificate_of_the_certificate_authority_of_the_job_is_accepted(peer, authority):
    server = peer(Target, tls=authority.server())

    assert attempt(document(server.url, authority)).succeeded


@pytest.mark.parametrize("other", [None, Authority()])
def test_a_certificate_of_another_authority_is_not_accepted(peer, authority, other):
    server = peer(Target, tls=authority.server())

    outcome = attempt(document(server.url, other))

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, None, True)
    assert outcome.message.startswith("The certificate of host '127.0.0.1' is not accepted: ")
    assert "issuer" in outcome.message
    assert server.calls == []


def test_several_authorities_may_be_trusted(peer, authority):
    servers = [peer(Target, tls=authority.server()), peer(Target, tls=(other := Authority()).server())]
    both = {"certificateAuthority": authority.pem + other.pem}

    assert all(attempt(document(server.url, **both)).succeeded for server in servers)


def test_a_certificate_for_another_name_is_not_accepted(peer, authority):
    server = peer(Target, tls=authority.server("elsewhere.example"))

    outcome = attempt(document(server.url, authority))

    assert "is not accepted" in outcome.message
    assert server.calls == []


def test_certificate_is_checked_against_the_called_name(peer, authority):
    server = peer(Target, tls=authority.server("localhost"))
    uri = f"https://localhost:{server.port}/"

    assert attempt(document(uri, authority)).succeeded
    assert not attempt(document(server.url, authority)).succeeded


def test_an_expired_certificate_of_the_server_is_not_accepted(peer):
    authority = Expired()
    server = peer(Target, tls=authority.server())

    outcome = attempt(document(server.url, authority))

    assert outcome.message == "The certificate of host '127.0.0.1' is not accepted: certificate has expired."


class Expired(Authority):
    def server(self, *names, **fields):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert("127.0.0.1", not_after=AGO).configure_cert(context)
        return context


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_current_tls_versions_are_supported(peer, authority, version):
    context = authority.server()
    context.minimum_version = context.maximum_version = version

    assert attempt(document(peer(Target, tls=context).url, authority)).succeeded


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_outdated_tls_version_is_not_supported(peer, authority):
    context = authority.server()
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1

    assert not attempt(document(peer(Target, tls=context).url, authority)).succeeded


@pytest.mark.parametrize(
    "text",
    [
        "no certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n",
        "MIIB",
        "x" * 16_385,
    ],
)
def test_certificate_authority_without_a_valid_certificate_is_refused(text):
    with pytest.raises(Invalid) as caught:
        documents.parse(document("https://example.com", certificateAuthority=text))

    assert caught.value.path == "action.request.certificateAuthority"


def test_certificate_authority_with_a_private_key_is_refused(authority):
    issued = authority._authority.issue_cert("example.com")
    text = issued.cert_chain_pems[0].bytes().decode() + issued.private_key_pem.bytes().decode()

    with pytest.raises(Invalid, match="no private key") as caught:
        documents.parse(document("https://example.com", certificateAuthority=text))

    assert "BEGIN" not in caught.value.message


def test_stored_invalid_certificate_authority_fails_without_a_retry(target):
    (outcome,) = carry_out([(document("https://127.0.0.1:1/", certificateAuthority="no certificate"), {})])

    assert (outcome.succeeded, outcome.may_retry) == (False, False)
    assert "certificates of the job" in outcome.message


def test_environment_variables_of_http_clients_add_no_certificate_authorities(peer, authority, monkeypatch, tmp_path):
    """SSL_CERT_FILE does replace the default ones of OpenSSL; the operator of a worker sets it, not a job."""
    server = peer(Target, tls=authority.server())
    (tmp_path / "authority.pem").write_text(authority.pem)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "authority.pem"))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "authority.pem"))

    assert not attempt(document(server.url)).succeeded


# Client certificates


@pytest.mark.parametrize("password", ["opensesame", "", "pässwörd", "x" * 100])
def test_client_certificate_is_sent(strict, authority, password):
    client = authority.client("backup", password=password)

    assert attempt(document(strict.url, authority, client)).succeeded
    assert strict.calls[0].certificate.subject.rfc4514_string() == client.subject


def test_server_that_requires_a_client_certificate_refuses_a_call_without_one(strict, authority):
    outcome = attempt(document(strict.url, authority))

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, None, True)
    assert strict.calls == []
    assert strict.refused


def test_expired_client_certificate_is_sent_and_refused_by_the_server(strict, authority):
    client = authority.client(expires_at=AGO)

    assert not attempt(document(strict.url, authority, client)).succeeded
    assert strict.calls == []
    assert "expired" in strict.refused[0]


def test_client_certificate_of_another_authority_is_refused_by_the_server(strict, authority):
    assert not attempt(document(strict.url, authority, Authority().client())).succeeded
    assert strict.calls == []


def test_each_job_sends_its_own_client_certificate(strict, authority):
    for name in ("first", "second", "first"):
        attempt(document(strict.url, authority, authority.client(name)))

    names = [re.match("CN=([a-z]+)", call.certificate.subject.rfc4514_string())[1] for call in strict.calls]
    assert names == ["first", "second", "first"]


def test_server_that_requires_no_client_certificate_is_called(peer, authority):
    server = peer(Target, tls=authority.server())

    assert attempt(document(server.url, authority, authority.client())).succeeded


def test_no_client_certificate_is_sent_over_http(target, authority):
    assert attempt(document(target.url, None, authority.client())).succeeded


# Where private keys are stored


@pytest.mark.parametrize("password", ["opensesame", ""])
def test_private_key_is_only_briefly_on_disk_and_encrypted(authority, monkeypatch, password):
    """`ssl` can read a key only from a file."""
    seen = []
    real = ssl.SSLContext.load_cert_chain

    def watching(context, certfile, keyfile=None, password=None):
        with open(certfile, "rb") as file:
            seen.append((certfile, stat.S_IMODE(os.stat(certfile).st_mode), file.read(), password))
        return real(context, certfile, keyfile, password)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watching)
    client = authority.client(password=password)

    tls.context(tls.Trust(identity=tls.Identity(client.pfx, client.password)))

    ((path, mode, content, once),) = seen
    assert not os.path.exists(path)
    assert mode == 0o600
    assert b"ENCRYPTED PRIVATE KEY" in content
    assert not re.search(b"BEGIN (RSA |EC |)PRIVATE KEY", content)
    assert len(once) >= 32
    assert once != client.password


def test_private_key_that_is_too_short_is_refused_and_leaves_no_file(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    weak = weak_pfx()
    authentication = {"type": "ClientCertificate", "pfx": weak}

    with pytest.raises(Invalid, match="KEY_TOO_SMALL") as caught:
        documents.parse(document("https://example.com", authentication=authentication))
    secrets = {"request.authentication.pfx": weak}
    (outcome,) = carry_out([(document("https://127.0.0.1:1/", authentication={"type": "ClientCertificate"}), secrets)])

    assert caught.value.path == "action.request.authentication.pfx"
    assert (outcome.succeeded, outcome.may_retry) == (False, False)  # as stored before keys were checked
    assert "KEY_TOO_SMALL" in outcome.message
    assert list(tmp_path.iterdir()) == []


def weak_pfx() -> str:
    key = rsa.generate_private_key(65_537, 1024)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "weak")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    certificate = builder.serial_number(7).not_valid_before(AGO).not_valid_after(AGO + timedelta(days=36_500))
    signed = certificate.sign(key, hashes.SHA256())
    return base64.b64encode(serialize_key_and_certificates(b"weak", key, signed, None, NoEncryption())).decode()


def test_repr_of_trust_contains_no_key(authority):
    client = authority.client()
    trust = tls.Trust(authority.pem, tls.Identity(client.pfx, client.password))

    assert client.pfx not in repr(trust)
    assert client.password not in repr(trust)


def test_tls_context_is_created_once_for_the_same_trust(authority):
    client = authority.client()

    first, second = (tls.context(tls.Trust(authority.pem, tls.Identity(client.pfx, client.password))) for _ in range(2))
    other = tls.context(tls.Trust(authority.pem))

    assert first is second
    assert other is not first
