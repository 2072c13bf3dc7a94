"""Keys that the embedded default makes for itself and keeps under DATA_DIR."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured


def kept(path: Path, make: Callable[[], str], embedded: bool) -> str:
    """Return the key in the file, which is made, readable by its owner only, when it is missing.

    Raises ImproperlyConfigured outside the embedded default: there, keys come from the environment.
    """
    if not embedded:
        raise ImproperlyConfigured("with DATABASE_URL, set SECRET_KEY and ENCRYPTION_KEYS in the environment as well")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(make())
        with suppress(FileExistsError):  # another process was faster: its key is the one
            os.link(draft, path)
        draft.unlink()
    return path.read_text().strip()


def usable(encryption_keys: list[str]) -> list[str]:
    """Return the keys.  Raises ImproperlyConfigured, without showing it, when one is none."""
    for key in encryption_keys:
        try:
            Fernet(key)
        except ValueError:
            raise ImproperlyConfigured("ENCRYPTION_KEYS must list keys of 32 bytes in URL-safe base64") from None
    return encryption_keys


def new_secret_key() -> str:
    return secrets.token_urlsafe(50)


def new_encryption_key() -> str:
    return Fernet.generate_key().decode()
