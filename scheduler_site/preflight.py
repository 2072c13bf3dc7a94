"""Check what could prevent a start, before anything is changed.  Each check raises PreflightError."""

import errno
import fcntl
import os
import re
import secrets
import socket
import tempfile
from pathlib import Path
from urllib.parse import quote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from scheduler_site import data_dir
from scheduler_site.broker import socket_fits

BASE_DIR = Path(__file__).resolve().parent.parent
BROKER_SCHEMES = ("redis", "rediss", "redis+socket", "amqp", "amqps")


class PreflightError(Exception):
    """Something prevents the start; the message is the one line that is shown."""


def address() -> tuple[str, int]:
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise PreflightError(f"PORT must be a number from 1 to 65535, not {port!r}")
    return host, int(port)


def refuse_taken_port(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, endpoint = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(endpoint)
    except socket.gaierror:
        raise PreflightError(f"HOST {host!r} is not an address of this machine") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"port {port} on {host} is in use: stop what uses it, or choose another with PORT"
        else:
            message = f"cannot listen on {host}, port {port}: {error.strerror}"
        raise PreflightError(message) from None


def data_folder() -> Path:
    """Return DATA_DIR.  The folder exists, is writable, and others cannot read it."""
    folder = Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve()
    try:
        data_dir.protect(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except ImproperlyConfigured as error:
        raise PreflightError(str(error)) from None
    except OSError as error:
        raise PreflightError(f"cannot write to DATA_DIR {folder}: {error.strerror}") from None
    return folder


def lock_data_folder(folder: Path) -> int:
    """Lock the folder against a second start, until the returned file is closed or this process ends."""
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PreflightError(f"Quando is running with DATA_DIR {folder} already") from None
    return lock


def broker_url(folder: Path) -> tuple[str, bool]:
    """Return the broker's address, and True if it is the embedded broker's.

    The embedded broker has a socket in the folder.  If the folder's path is too long for a socket, the broker has a
    loopback port and a password.
    """
    url = os.environ.get("BROKER_URL")
    if url:
        if urlsplit(url).scheme not in BROKER_SCHEMES:
            raise PreflightError(f"BROKER_URL must begin with redis:// or amqp://, not {url.partition(':')[0]!r}")
        return url, False
    path = folder / "broker.sock"
    if socket_fits(path):
        return f"redis+socket://{quote(str(path))}", True
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"redis://:{secrets.token_urlsafe(24)}@127.0.0.1:{free.getsockname()[1]}/0", True
