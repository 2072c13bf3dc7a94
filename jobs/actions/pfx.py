"""Open a client certificate: a PFX (PKCS #12) sent as base64 with its password.

A PFX itself defines how much work its password takes.  A count of two thousand million rounds, or scrypt with a large
parallelism, keeps a processor busy for hours, and the library blocks all other threads.  These numbers can be inside an
encrypted part, so they cannot be checked first.  A process with limits opens the file.
"""

import json
import secrets
import subprocess
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.x509 import Certificate, load_pem_x509_certificate

PROGRAM = Path(__file__).with_name("pfx_process.py")
WAIT_LIMIT_S = 30.0  # for the process, whose CPU time is limited: other processes may be busy


@dataclass(frozen=True, slots=True)
class LoadedPfx:
    """`pem` is the private key, encrypted with `password`, and the certificate with its chain."""

    certificate: Certificate
    pem: str = field(repr=False)
    password: str = field(repr=False)


@lru_cache(maxsize=256)
def load(pfx: str, password: str | None) -> LoadedPfx:
    """Return the content of a PFX.  Raises ValueError unless `pfx` is base64 of a certificate and its key."""
    key_password = secrets.token_bytes(32).hex()
    given = json.dumps({"pfx": pfx, "password": password, "key_password": key_password})
    command = [sys.executable, "-I", str(PROGRAM)]
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=WAIT_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise ValueError("must be a PFX that is opened in less time") from None
    if done.returncode:
        raise ValueError("must be a PFX that is opened in less time and memory")
    answer = json.loads(done.stdout)
    if "problem" in answer:
        raise ValueError(answer["problem"])
    return LoadedPfx(load_pem_x509_certificate(answer["certificate"].encode()), answer["pem"], key_password)


def public_members(pfx: str, password: str | None) -> dict[str, str]:
    """Return the members that responses show of the certificate.  Raises ValueError in the same cases as `load`."""
    certificate = load(pfx, password).certificate
    expiry = certificate.not_valid_after_utc.isoformat().replace("+00:00", "Z")
    return {
        "certificateThumbprint": certificate.fingerprint(hashes.SHA1()).hex().upper(),
        "certificateSubjectName": certificate.subject.rfc4514_string(),
        # the original service wrote the first name; its published description and its client use the second
        "certificateExpirationDate": expiry,
        "certificateExpiration": expiry,
    }
