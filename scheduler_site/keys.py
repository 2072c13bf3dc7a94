"""The keys that the embedded default generates and stores under DATA_DIR."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured


def load_or_create(path: Path, make: Callable[[], str], embedded: bool) -> str:
    """Return the key in the file.  A missing file is created with a new key; only its owner may read it.

    Raises ImproperlyConfigured outside the embedded default, because keys come from the environment there.
    """
    if not embedded:
        raise ImproperlyConfigured("with DATABASE_URL, set SECRET_KEY and ENCRYPTION_KEYS in the environment as well")
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(make())
        with suppress(FileExistsError):  # another process was faster, and its key is used
            os.link(draft, path)
        draft.unlink()
    return path.read_text().strip()


def validated_encryption_keys(encryption_keys: list[str]) -> list[str]:
    """Return the keys.  Raises ImproperlyConfigured if one is not valid; the message does not show the key."""
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
