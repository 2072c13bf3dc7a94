"""The queue service of azurite, a storage emulator: the fixture `storage`.

STORAGE_QUEUE_URL is `storage.address`; `storage.queue("inbox")` creates a queue and returns its client.  Without node
the tests that use it are skipped.
"""

import base64
import logging
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from azure.storage.queue import (
    AccountSasPermissions,
    QueueClient,
    QueueSasPermissions,
    ResourceTypes,
    generate_account_sas,
    generate_queue_sas,
)

from tests.peers.server import HOST, eventually

FOLDER = Path(__file__).parent
MAIN = FOLDER / "node_modules" / "azurite" / "dist" / "src" / "queue" / "main.js"
OPTIONS = ("--disableTelemetry", "--silent", "--inMemoryPersistence", "--skipApiVersionCheck")
LISTENS = "successfully listens"
HOUR = timedelta(hours=1)

logging.getLogger("azure").setLevel(logging.WARNING)  # its client logs every request


@dataclass(frozen=True)
class Storage:
    port: int
    account: str
    key: str = field(repr=False)

    @property
    def address(self) -> str:
        return address(self.port)

    def queue(self, name: str, **policies) -> QueueClient:
        """Create a queue and return the client of its owner."""
        credential = {"account_name": self.account, "account_key": self.key}
        client = QueueClient(self.address.format(account=self.account), name, credential=credential, **policies)
        client.create_queue()
        return client

    def account_sas(self, lifetime: timedelta = HOUR) -> str:
        """Return a token that adds messages to every queue of the account."""
        until = datetime.now(UTC) + lifetime
        return generate_account_sas(
            self.account, self.key, ResourceTypes(object=True), AccountSasPermissions(add=True), until
        )

    def queue_sas(self, name: str, lifetime: timedelta = HOUR) -> str:
        """Return a token that adds messages to one queue."""
        until = datetime.now(UTC) + lifetime
        return generate_queue_sas(self.account, name, self.key, QueueSasPermissions(add=True), until)


def address(port: int) -> str:
    return f"http://{HOST}:{port}/{{account}}"


@contextmanager
def azurite(port: int, log: Path) -> Iterator[Storage]:
    """Run azurite with an account with a random secret key, and keep its messages in memory."""
    account, key = "quandotests", base64.b64encode(secrets.token_bytes(32)).decode()
    command = [node(), str(MAIN), *OPTIONS, "--queuePort", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=log.parent,
            env=os.environ | {"AZURITE_ACCOUNTS": f"{account}:{key}"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        eventually(lambda: LISTENS in log.read_text() or process.poll() is not None, within=60)
        assert LISTENS in log.read_text(), log.read_text()
        yield Storage(port, account, key)
    finally:
        process.terminate()
        process.wait(timeout=20)


def node() -> str:
    """Return the path of node; skip the test if node is missing, and fail if only azurite is missing."""
    found = shutil.which("node")
    if not found or not (MAIN.exists() or shutil.which("npm")):
        pytest.skip("node and npm are missing, so there is no azurite to send to")
    if not MAIN.exists():
        pytest.fail("azurite is not installed: `make test` does it, or npm ci --ignore-scripts in tests/peers")
    return found
