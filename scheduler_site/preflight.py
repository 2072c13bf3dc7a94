"""What could stand in the way of a start, checked before anything is changed.  Each check raises Refused."""

import errno
import fcntl
import os
import re
import secrets
import socket
import tempfile
from pathlib import Path
from urllib.parse import quote, urlsplit

from scheduler_site.broker import socket_fits

BASE_DIR = Path(__file__).resolve().parent.parent
BROKER_SCHEMES = ("redis", "rediss", "redis+socket", "amqp", "amqps")


class Refused(Exception):
    """Something stands in the way; the message is the one line that is shown."""


def address() -> tuple[str, int]:
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise Refused(f"PORT must be a number from 1 to 65535, not {port!r}")
    return host, int(port)


def refuse_taken_port(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except socket.gaierror:
        raise Refused(f"HOST {host!r} is not an address of this machine") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"port {port} on {host} is in use: stop what uses it, or choose another with PORT"
        else:
            message = f"cannot listen on {host}, port {port}: {error.strerror}"
        raise Refused(message) from None


def data_folder() -> Path:
    """Return DATA_DIR, which exists and can be written."""
    folder = Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Refused(f"cannot write to DATA_DIR {folder}: {error.strerror}") from None
    return folder


def hold(folder: Path) -> int:
    """Keep others from starting with the same folder for as long as this process, or the returned file, is open."""
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(f"Quando is running with DATA_DIR {folder} already") from None
    return lock


def broker_url(folder: Path) -> tuple[str, bool]:
    """Return the broker's address and whether it is the embedded one's.

    That is a socket in the folder, or a loopback port and a password when the folder's path is too long for a socket.
    """
    url = os.environ.get("BROKER_URL")
    if url:
        if urlsplit(url).scheme not in BROKER_SCHEMES:
            raise Refused(f"BROKER_URL must begin with redis:// or amqp://, not {url.partition(':')[0]!r}")
        return url, False
    path = folder / "broker.sock"
    if socket_fits(path):
        return f"redis+socket://{quote(str(path))}", True
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"redis://:{secrets.token_urlsafe(24)}@127.0.0.1:{free.getsockname()[1]}/0", True
