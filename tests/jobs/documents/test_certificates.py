"""Client certificates: how they are described, stored and refused."""

import base64

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from api.errors import Invalid
from jobs.actions import documents
from tests.jobs.documents.conftest import pfx_of
from tests.jobs.documents.samples import http, refusal, stored


@pytest.mark.parametrize("password", ["pw", None])
def test_stored_certificate_is_described_by_its_public_members(certificate, password):
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


def test_stored_certificate_is_preserved_when_it_is_left_out(certificate):
    action = stored(http({"type": "ClientCertificate", "pfx": pfx_of(certificate, "pw"), "password": "pw"}))

    again = documents.parse(documents.render(action), action)

    assert again == documents.ParsedAction(action.document, action.secrets)


@pytest.mark.parametrize("password", ["wrong", None])
def test_certificate_with_a_wrong_password_is_refused(certificate, password):
    authentication = {"type": "ClientCertificate", "pfx": pfx_of(certificate, "pw"), "password": password}

    assert refusal(http(authentication)) == ("action.request.authentication.pfx", "malformed")


def test_stored_certificate_is_not_reused_for_another_host(certificate):
    action = stored(http({"type": "ClientCertificate", "pfx": pfx_of(certificate, None)}))

    path, code = refusal(http({"type": "ClientCertificate"}, uri="https://evil.example"), action)

    assert (path, code) == ("action.request.authentication.pfx", "required")


# A PFX written by hand (RFC 7292): no library writes one that takes long to decrypt


def element(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = (len(content).bit_length() + 7) // 8
    length = bytes([len(content)]) if len(content) < 0x80 else bytes([0x80 | size]) + len(content).to_bytes(size, "big")
    return bytes([tag]) + length + content


def sequence(*parts: bytes) -> bytes:
    return element(0x30, *parts)


def octets(content: bytes) -> bytes:
    return element(0x04, content)


def integer(number: int) -> bytes:
    return element(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def object_id(digits: str) -> bytes:
    return element(0x06, bytes.fromhex(digits))


def encrypted_by(derivation: bytes) -> bytes:
    """Return the parameters of PBES2 with AES-256-CBC and an initial vector of zeros."""
    cipher = sequence(object_id("60864801650304012a"), octets(bytes(16)))
    return sequence(object_id("2a864886f70d01050d"), sequence(derivation, cipher))


def pbkdf2(rounds: int) -> bytes:
    function = sequence(object_id("2a864886f70d0209"), element(0x05))  # HMAC with SHA-256
    return sequence(object_id("2a864886f70d01050c"), sequence(octets(b"saltsalt"), integer(rounds), function))


def scrypt(parallelism: int) -> bytes:
    numbers = (integer(16_384), integer(1), integer(parallelism))
    return sequence(object_id("2b06010401da47040b"), sequence(octets(b"saltsalt"), *numbers))


def key_bag(derivation: bytes) -> bytes:
    """Return SafeContents with a key that nobody can decrypt."""
    key = sequence(encrypted_by(derivation), octets(bytes(64)))
    return sequence(sequence(object_id("2a864886f70d010c0a0102"), element(0xA0, key)))


DATA = object_id("2a864886f70d010701")


def plain(contents: bytes) -> bytes:
    return sequence(DATA, element(0xA0, octets(contents)))


def sealed(contents: bytes, password: bytes) -> bytes:
    """Return the contents as EncryptedData, which only the password decrypts."""
    key = PBKDF2HMAC(hashes.SHA256(), 32, b"saltsalt", 1).derive(password)
    padding = 16 - len(contents) % 16
    encryptor = Cipher(algorithms.AES256(key), modes.CBC(bytes(16))).encryptor()
    ciphertext = encryptor.update(contents + bytes([padding]) * padding) + encryptor.finalize()
    data = sequence(integer(0), sequence(DATA, encrypted_by(pbkdf2(1)), element(0x80, ciphertext)))
    return sequence(object_id("2a864886f70d010706"), element(0xA0, data))


def pfx_with(*safes: bytes) -> str:
    return base64.b64encode(sequence(integer(3), plain(sequence(*safes)))).decode()


@pytest.mark.parametrize(
    "safe",
    [
        plain(key_bag(pbkdf2(2**31 - 1))),
        plain(key_bag(scrypt(131_072))),
        sealed(key_bag(pbkdf2(2**31 - 1)), b"pw"),
        sealed(key_bag(scrypt(131_072)), b"pw"),
    ],
    ids=["rounds", "scrypt", "hidden rounds", "hidden scrypt"],
)
def test_certificate_that_takes_too_long_to_decrypt_is_refused(safe):
    authentication = {"type": "ClientCertificate", "pfx": pfx_with(safe), "password": "pw"}

    with pytest.raises(Invalid, match="in less time"):
        documents.parse(http(authentication))
