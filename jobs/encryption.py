"""Secrets at rest: a model field whose column holds only ciphertext.

The first key of ENCRYPTION_KEYS writes, all of them read (MultiFernet).  Values are JSON objects.
"""

import json
import re
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models

CIPHERTEXT = re.compile(r"gAAAA[A-Za-z0-9_-]+={0,2}", re.ASCII)  # a token of Fernet; the prefix is its version
MASK = "********"  # shown instead of a stored secret; a client that sends it back keeps the secret


@lru_cache(maxsize=8)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


class UnreadableSecret(Exception):
    """No configured key decrypts a stored secret: a key was removed from ENCRYPTION_KEYS too early."""


class Secrets(dict):
    """Secret texts by the path of their member; never printed."""

    def __repr__(self) -> str:
        return f"<Secrets {sorted(self)}>"

    __str__ = __repr__


class SealedSecrets(Secrets):
    """Secrets of a fixture: only the ciphertext, which is stored unchanged.  Perhaps no key here decrypts it."""

    def __init__(self, ciphertext: str):
        super().__init__()
        self.ciphertext = ciphertext


class EncryptedSecretsField(models.TextField):
    """A field for `Secrets`.  No secrets are stored as an empty text, so such a row needs no decryption.

    A fixture (`dumpdata`, `loaddata`) holds the ciphertext.
    """

    def from_db_value(self, value, expression, connection):
        if not value:
            return Secrets()
        try:
            return Secrets(json.loads(_fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(value.encode())))
        except InvalidToken:
            raise UnreadableSecret("no key in ENCRYPTION_KEYS opens this secret") from None

    def get_prep_value(self, value):
        """Return the ciphertext.

        Raises ValueError for a fixture's text that is not encrypted; neither this message nor Django repeats the text.
        """
        if isinstance(value, SealedSecrets):
            if not CIPHERTEXT.fullmatch(value.ciphertext):
                raise ValueError("secrets in a fixture must be encrypted, as dumpdata writes them")
            return value.ciphertext
        if not value:
            return ""
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(json.dumps(value).encode()).decode()

    def value_to_string(self, obj):
        return self.get_prep_value(self.value_from_object(obj))

    def to_python(self, value):
        if isinstance(value, str) and value:
            return SealedSecrets(value)
        return value if isinstance(value, Secrets) else Secrets(value or {})
