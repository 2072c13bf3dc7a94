"""The program of the process that opens a PFX, see `jobs.actions.pfx`.

It reads a JSON object with `pfx`, `password` and `key_password` from its input, and writes one with `problem`, or with
`certificate` and `pem`.  It imports nothing of the project, so that it starts quickly.
"""

import base64
import binascii
import json
import resource
import sys

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

CPU_LIMIT_S = 2  # a usual file takes less than a tenth of it
MEMORY_LIMIT = 1 << 30  # bytes of address space


def opened(pfx: str, password: str | None, key_password: str) -> dict[str, str]:
    try:
        data = base64.b64decode(pfx.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return {"problem": "must be base64"}
    try:
        loaded = load_pkcs12(data, password.encode() if password else None)
    except (ValueError, UnsupportedAlgorithm):
        return {"problem": "must be a PFX that its password opens"}
    if loaded.key is None or loaded.cert is None:
        return {"problem": "must hold a certificate and its private key"}
    encryption = BestAvailableEncryption(key_password.encode())
    key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    certificate, *others = [
        link.certificate.public_bytes(Encoding.PEM) for link in (loaded.cert, *loaded.additional_certs)
    ]
    return {"certificate": certificate.decode(), "pem": b"".join([key, certificate, *others]).decode()}


def limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold the key


if __name__ == "__main__":
    limit_resources()
    json.dump(opened(**json.load(sys.stdin)), sys.stdout)
