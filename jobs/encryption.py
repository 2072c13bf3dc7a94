"""Secrets at rest: a model field whose column holds only ciphertext.

The first key of ENCRYPTION_KEYS writes, all of them read (MultiFernet).  Values are JSON objects.
"""

import json
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models

MASK = "********"  # stands for a stored secret wherever one is shown; sent back, it keeps it


@lru_cache(maxsize=8)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


class UnreadableSecret(Exception):
    """None of the configured keys opens a stored secret: a key was taken from ENCRYPTION_KEYS too early."""


class Secrets(dict):
    """Secret texts by the path of the member they belong to; never printed."""

    def __repr__(self) -> str:
        return f"<Secrets {sorted(self)}>"

    __str__ = __repr__


class EncryptedSecretsField(models.TextField):
    """Holds `Secrets`; empty is stored as empty text, so that a row without secrets costs nothing to read."""

    def from_db_value(self, value, expression, connection):
        if not value:
            return Secrets()
        try:
            return Secrets(json.loads(_fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(value.encode())))
        except InvalidToken:
            raise UnreadableSecret("no key in ENCRYPTION_KEYS opens this secret") from None

    def get_prep_value(self, value):
        if not value:
            return ""
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(json.dumps(value).encode()).decode()

    def value_to_string(self, obj):
        """What an export or a fixture says: nothing."""
        return ""

    def to_python(self, value):
        return value if isinstance(value, Secrets) else Secrets(value or {})
