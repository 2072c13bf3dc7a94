"""Open a client certificate: a PFX (PKCS #12) sent as base64 with its password.

A PFX says itself how often its password is hashed.  The library obeys a count of two thousand millions, which keeps a
processor busy for a quarter of an hour, and lets no other thread in meanwhile, so the counts are read first.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates, load_pkcs12

ITERATIONS_LIMIT = 2_000_000  # of all password derivations in one file; a usual file has three of 2,000 to 600,000
DEPTH_LIMIT = 32

INTEGER, OCTET_STRING, CONSTRUCTED = 0x02, 0x04, 0x20


@lru_cache(maxsize=256)
def load(pfx: str, password: str | None) -> PKCS12KeyAndCertificates:
    """Raise ValueError, saying what is wrong, unless `pfx` is base64 of a certificate and its key."""
    try:
        data = base64.b64decode(re.sub(r"[\r\n]", "", pfx), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("must be base64") from None
    _refuse_costly(data)
    try:
        loaded = load_pkcs12(data, password.encode() if password else None)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("must be a PFX that its password opens") from None
    if loaded.key is None or loaded.cert is None:
        raise ValueError("must hold a certificate and its private key")
    return loaded


def public_members(pfx: str, password: str | None) -> dict[str, str]:
    """What answers say of the certificate.  Raises ValueError as `load` does."""
    loaded = load(pfx, password)
    assert loaded.cert is not None
    certificate = loaded.cert.certificate
    expiry = certificate.not_valid_after_utc.isoformat().replace("+00:00", "Z")
    return {
        "certificateThumbprint": certificate.fingerprint(hashes.SHA1()).hex().upper(),
        "certificateSubjectName": certificate.subject.rfc4514_string(),
        # the service wrote the one, its published description and its client read the other
        "certificateExpirationDate": expiry,
        "certificateExpiration": expiry,
    }


def _refuse_costly(data: bytes) -> None:
    if sum(_iteration_counts(data, 0)) > ITERATIONS_LIMIT:
        raise ValueError(f"must be a PFX with at most {ITERATIONS_LIMIT} iterations")


def _iteration_counts(data: bytes, depth: int) -> Iterator[int]:
    """Every number that follows an octet string: in all schemes of a PFX that is the count, after its salt."""
    if depth > DEPTH_LIMIT:
        raise ValueError("must be a PFX: it is nested too deeply")
    after_salt = False
    for tag, content in _elements(data):
        if tag == INTEGER and after_salt:
            yield int.from_bytes(content, "big")
        if tag == OCTET_STRING | CONSTRUCTED:  # cut into pieces
            content = b"".join(piece for _, piece in _elements(content))
        after_salt = tag & ~CONSTRUCTED == OCTET_STRING
        if after_salt:
            with suppress(ValueError):  # not a structure, or an encrypted one
                yield from _iteration_counts(content, depth + 1)
        elif tag & CONSTRUCTED:
            yield from _iteration_counts(content, depth + 1)


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of the elements that make up `data`.  Raises ValueError where it is none."""
    position = 0
    while position < len(data):
        tag, start, end, after = _bounds(data, position)
        yield tag, data[start:end]
        position = after


def _bounds(data: bytes, position: int, depth: int = 0) -> tuple[int, int, int, int]:
    """The tag of the element at `position`, start and end of its content, and where the next one begins."""
    if position + 2 > len(data) or data[position] & 0x1F == 0x1F or depth > DEPTH_LIMIT:
        raise ValueError("must be a PFX")
    tag, length, start = data[position], data[position + 1], position + 2
    if length == 0x80:  # of unknown length: it ends with two zero bytes
        end = start
        while data[end : end + 2] != b"\0\0":
            end = _bounds(data, end, depth + 1)[3]
        return tag, start, end, end + 2
    if length > 0x80:
        size = length & 0x7F
        length, start = int.from_bytes(data[start : start + size], "big"), start + size
    if start + length > len(data):
        raise ValueError("must be a PFX")
    return tag, start, start + length, start + length
